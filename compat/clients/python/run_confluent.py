"""confluent-kafka-python, which is librdkafka."""

from confluent_kafka import (
    Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, OFFSET_END, Producer as Rd,
    TopicPartition, TIMESTAMP_CREATE_TIME,
)
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic

import scripts
from harness import main
from scripts import Record

WAIT = 30


class Producer:
    def __init__(self, bootstrap, codec="none", idempotent=False, max_bytes=1_000_000, transactional_id=None):
        config = {
            "bootstrap.servers": bootstrap, "compression.codec": codec, "linger.ms": 5,
            "message.max.bytes": max_bytes, "message.timeout.ms": 20_000, "log_level": 0,
        }
        if idempotent:
            config["enable.idempotence"] = True
        elif not transactional_id:
            config["max.in.flight"] = 1  # Without idempotence, a retry must not overtake.
        if transactional_id:
            config["transactional.id"] = transactional_id
            config["transaction.timeout.ms"] = 20_000
        self.rd = Rd(config)
        self.transactional = transactional_id is not None
        if self.transactional:
            self.rd.init_transactions(WAIT)

    def send(self, topic, records):
        places, errors = [None] * len(records), []
        for i, r in enumerate(records):
            def acked(err, msg, i=i):
                if err:
                    errors.append(err)
                else:
                    places[i] = (msg.partition(), msg.offset())

            kwargs = {}
            if r.partition is not None:
                kwargs["partition"] = r.partition
            if r.timestamp is not None:
                kwargs["timestamp"] = r.timestamp
            self.rd.produce(topic, value=r.value, key=r.key, headers=r.headers, on_delivery=acked, **kwargs)
            self.rd.poll(0)
        left = self.rd.flush(WAIT)
        if errors:
            raise KafkaException(errors[0])
        if left:
            raise TimeoutError(f"{left} records without an answer after {WAIT} s")
        return places

    def begin(self):
        self.rd.begin_transaction()

    def commit(self):
        self.rd.commit_transaction(WAIT)

    def abort(self):
        self.rd.abort_transaction(WAIT)

    def send_offsets(self, consumer, topic, partition, offset):
        self.rd.send_offsets_to_transaction(
            [TopicPartition(topic, partition, offset)], consumer.rd.consumer_group_metadata(), WAIT
        )

    def close(self):
        self.rd.flush(WAIT)

    def abandon(self):
        self.rd = None


def base(bootstrap, group):
    return {
        "bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "log_level": 0, "fetch.wait.max.ms": 100,
        "fetch.message.max.bytes": 8 << 20,
    }


class Reader:
    def __init__(self, config):
        self.rd = Consumer(config)

    def poll(self, seconds):
        got = []
        for m in self.rd.consume(500, seconds):
            if m.error():
                raise KafkaException(m.error())
            kind, stamp = m.timestamp()
            assert kind == TIMESTAMP_CREATE_TIME, kind
            got.append(Record(m.value(), m.key(), m.headers() or [], m.partition(), stamp, m.offset()))
        return got

    def position(self, partition):
        topics = [a for a in self.rd.assignment() if a.partition == partition]
        return self.rd.position(topics)[0].offset

    def assignment(self):
        return [(a.topic, a.partition) for a in self.rd.assignment()]

    def commit(self):
        self.rd.commit(asynchronous=False)

    def commit_at(self, topic, partition, offset):
        self.rd.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)

    def close(self):
        self.rd.close()


class Client:
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    null_headers = True
    lacks = {}

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self.asker = Consumer(base(bootstrap, "clients-asks"))

    def producer(self, **kwargs):
        return Producer(self.bootstrap, **kwargs)

    def reader(self, topic, partitions, committed, start=0):
        config = base(self.bootstrap, "clients-reads")
        config["isolation.level"] = "read_committed" if committed else "read_uncommitted"
        reader = Reader(config)
        reader.rd.assign([TopicPartition(topic, p, start) for p in partitions])
        return reader

    def member(self, group, topics, protocol):
        config = base(self.bootstrap, group)
        if protocol == "consumer":
            config["group.protocol"] = "consumer"
        else:
            config.update({"session.timeout.ms": 10_000, "heartbeat.interval.ms": 500})
        reader = Reader(config)
        reader.rd.subscribe(topics)
        return reader

    def committed(self, group, topic, partition):
        future = self.admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition)])]
        )[group]
        return future.result(WAIT).topic_partitions[0].offset

    def offsets(self, topic, partition):
        return self.asker.get_watermark_offsets(TopicPartition(topic, partition), timeout=WAIT)

    def offset_for_time(self, topic, partition, ms):
        found = self.asker.offsets_for_times([TopicPartition(topic, partition, ms)], timeout=WAIT)[0].offset
        return None if found == OFFSET_END else found

    def create_topic(self, topic, partitions, config=None):
        self.admin.create_topics([NewTopic(topic, partitions, 1, config=config or {})])[topic].result(WAIT)

    def topics(self):
        return set(self.admin.list_topics(timeout=WAIT).topics)

    def partitions(self, topic):
        return len(self.admin.list_topics(topic, timeout=WAIT).topics[topic].partitions)

    def config(self, topic, name):
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        return self.admin.describe_configs([resource])[resource].result(WAIT)[name].value

    def alter_config(self, topic, name, value):
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(WAIT)

    def add_partitions(self, topic, total):
        self.admin.create_partitions([NewPartitions(topic, total)])[topic].result(WAIT)

    def delete_records(self, topic, partition, before):
        for future in self.admin.delete_records([TopicPartition(topic, partition, before)]).values():
            future.result(WAIT)

    def groups(self):
        return {g.group_id for g in self.admin.list_consumer_groups().result(WAIT).valid}

    def delete_group(self, group):
        self.admin.delete_consumer_groups([group])[group].result(WAIT)

    def delete_topic(self, topic):
        self.admin.delete_topics([topic])[topic].result(WAIT)

    def error_name(self, e):
        code = e.args[0].code() if isinstance(e, KafkaException) else None
        return {
            KafkaError.MSG_SIZE_TOO_LARGE: "MESSAGE_TOO_LARGE",
            KafkaError.TOPIC_ALREADY_EXISTS: "TOPIC_ALREADY_EXISTS",
        }.get(code, repr(e))

    def is_fenced(self, e):
        return isinstance(e, KafkaException) and e.args[0].code() in (
            KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH,
        )


if __name__ == "__main__":
    main(Client, scripts.ALL)
