"""kafka-python."""

import logging

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

import scripts
from harness import main
from scripts import Record

WAIT = 30
logging.disable(logging.CRITICAL)


class Producer:
    def __init__(self, bootstrap, codec="none", idempotent=False, max_bytes=1 << 20, transactional_id=None):
        config = {"compression_type": None if codec == "none" else codec, "linger_ms": 5, "max_request_size": max_bytes}
        if transactional_id:
            config.update(transactional_id=transactional_id, transaction_timeout_ms=20_000)
        elif idempotent:
            config.update(enable_idempotence=True)
        else:
            # Without idempotence, a retry must not overtake.
            config.update(enable_idempotence=False, max_in_flight_requests_per_connection=1)
        self.py = KafkaProducer(bootstrap_servers=bootstrap, acks="all", delivery_timeout_ms=20_000,
                                request_timeout_ms=15_000, **config)
        if transactional_id:
            self.py.init_transactions()

    def send(self, topic, records):
        futures = [
            self.py.send(topic, value=r.value, key=r.key, headers=r.headers, partition=r.partition,
                         timestamp_ms=r.timestamp)
            for r in records
        ]
        self.py.flush(WAIT)
        sent = [f.get(WAIT) for f in futures]
        return [(s.partition, s.offset) for s in sent]

    def begin(self):
        self.py.begin_transaction()

    def commit(self):
        self.py.commit_transaction()

    def abort(self):
        self.py.abort_transaction()

    def send_offsets(self, consumer, topic, partition, offset):
        self.py.send_offsets_to_transaction(
            {TopicPartition(topic, partition): OffsetAndMetadata(offset)}, consumer.py.group_metadata()
        )

    def close(self):
        self.py.close(timeout=WAIT)

    def abandon(self):
        self.py.close(timeout=0)


class Reader:
    def __init__(self, bootstrap, **config):
        self.py = KafkaConsumer(
            bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="earliest",
            fetch_max_wait_ms=100, max_partition_fetch_bytes=8 << 20, **config,
        )

    def poll(self, seconds):
        # With short polls, a member sometimes never gets its assignment in this release,
        # with either broker: one in ten. It comes back at once where there are records.
        batches = self.py.poll(timeout_ms=max(1000, int(seconds * 1000)))
        return [
            Record(m.value, m.key, [(k, v) for k, v in m.headers], m.partition, m.timestamp, m.offset)
            for batch in batches.values() for m in batch
        ]

    def position(self, partition):
        tp = next(a for a in self.py.assignment() if a.partition == partition)
        return self.py.position(tp)

    def assignment(self):
        return [(a.topic, a.partition) for a in self.py.assignment()]

    def commit(self):
        self.py.commit()

    def commit_at(self, topic, partition, offset):
        self.py.commit({TopicPartition(topic, partition): OffsetAndMetadata(offset)})

    def close(self):
        self.py.close(autocommit=False)


class Client:
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    null_headers = False
    lacks = {"kip848": "kafka-python speaks the classic protocol alone"}

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        self.asker = KafkaConsumer(bootstrap_servers=bootstrap)

    def producer(self, **kwargs):
        return Producer(self.bootstrap, **kwargs)

    def reader(self, topic, partitions, committed, start=0):
        reader = Reader(self.bootstrap, isolation_level="read_committed" if committed else "read_uncommitted")
        reader.py.assign([TopicPartition(topic, p) for p in partitions])
        for p in partitions:
            reader.py.seek(TopicPartition(topic, p), start)
        return reader

    def member(self, group, topics, protocol):
        reader = Reader(self.bootstrap, group_id=group, session_timeout_ms=10_000, heartbeat_interval_ms=500,
                        metadata_max_age_ms=2000)
        reader.py.subscribe(topics)
        return reader

    def committed(self, group, topic, partition):
        tp = TopicPartition(topic, partition)
        return self.admin.list_group_offsets({group: [tp]})[group][tp].offset

    def offsets(self, topic, partition):
        tp = TopicPartition(topic, partition)
        return self.asker.beginning_offsets([tp])[tp], self.asker.end_offsets([tp])[tp]

    def offset_for_time(self, topic, partition, ms):
        tp = TopicPartition(topic, partition)
        found = self.asker.offsets_for_times({tp: ms})[tp]
        return found and found.offset

    def create_topic(self, topic, partitions, config=None):
        self.admin.create_topics(
            {topic: {"num_partitions": partitions, "replication_factor": 1, "configs": config or {}}}
        )

    def topics(self):
        return set(self.admin.list_topics())

    def partitions(self, topic):
        return len(self.admin.describe_topics([topic])[0]["partitions"])

    def config(self, topic, name):
        found = self.admin.describe_configs([ConfigResource("topic", topic)], config_filter="all")
        return found["topic"][topic][name]["value"]

    def alter_config(self, topic, name, value):
        self.admin.alter_configs([ConfigResource("topic", topic, {name: value})])

    def add_partitions(self, topic, total):
        self.admin.create_partitions({topic: total})

    def delete_records(self, topic, partition, before):
        self.admin.delete_records({TopicPartition(topic, partition): before})

    def groups(self):
        return {g["group_id"] for g in self.admin.list_groups()}

    def delete_group(self, group):
        self.admin.delete_groups([group])

    def delete_topic(self, topic):
        self.admin.delete_topics([topic])

    def error_name(self, e):
        return {"MessageSizeTooLargeError": "MESSAGE_TOO_LARGE", "TopicAlreadyExistsError": "TOPIC_ALREADY_EXISTS"}.get(
            type(e).__name__, repr(e)
        )

    def is_fenced(self, e):
        return isinstance(e, KafkaError) and ("Fenced" in type(e).__name__ or "InvalidProducerEpoch" in type(e).__name__
                                              or "fenced" in str(e).lower())


if __name__ == "__main__":
    main(Client, scripts.ALL)
