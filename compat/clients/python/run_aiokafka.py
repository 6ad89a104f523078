"""aiokafka. Its event loop runs in a thread of its own, so that heartbeats go on."""

import asyncio
import logging
import threading

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code

import scripts
from harness import NotApplicable, main
from scripts import Record

WAIT = 30
logging.disable(logging.CRITICAL)
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()


def wait(coroutine, seconds=WAIT):
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result(seconds)


async def made(kind, **config):
    """Makes something of aiokafka's in its loop, as it must be, and starts it."""
    client = kind(**config)
    await client.start()
    return client


def raised(code, message):
    if code:
        raise for_code(code)(message)


class Producer:
    def __init__(self, bootstrap, codec="none", idempotent=False, max_bytes=1 << 20, transactional_id=None):
        config = {"compression_type": None if codec == "none" else codec, "linger_ms": 5,
                  "max_request_size": max_bytes, "max_batch_size": max(1 << 19, max_bytes - 4096)}
        if transactional_id:
            config.update(transactional_id=transactional_id, transaction_timeout_ms=20_000)
        else:
            config.update(enable_idempotence=idempotent)
        self.aio = wait(made(AIOKafkaProducer, bootstrap_servers=bootstrap, acks="all", **config))

    def send(self, topic, records):
        async def all_of_them():
            futures = [
                await self.aio.send(topic, value=r.value, key=r.key, headers=r.headers, partition=r.partition,
                                    timestamp_ms=r.timestamp)
                for r in records
            ]
            return await asyncio.gather(*futures)

        return [(s.partition, s.offset) for s in wait(all_of_them())]

    def begin(self):
        wait(self.aio.begin_transaction())

    def commit(self):
        wait(self.aio.commit_transaction())

    def abort(self):
        wait(self.aio.abort_transaction())

    def send_offsets(self, consumer, topic, partition, offset):
        wait(self.aio.send_offsets_to_transaction({TopicPartition(topic, partition): offset}, consumer.group))

    def close(self):
        wait(self.aio.stop())

    def abandon(self):
        try:
            wait(self.aio.stop(), 5)
        except Exception:  # It is fenced.
            pass


class Reader:
    def __init__(self, bootstrap, group=None, topics=(), **config):
        self.group = group

        async def start():
            aio = AIOKafkaConsumer(
                bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False,
                auto_offset_reset="earliest", fetch_max_wait_ms=100, max_partition_fetch_bytes=8 << 20, **config,
            )
            if topics:
                aio.subscribe(topics)
            await aio.start()
            return aio

        self.aio = wait(start())

    def poll(self, seconds):
        batches = wait(self.aio.getmany(timeout_ms=int(seconds * 1000)))
        return [
            Record(m.value, m.key, list(m.headers), m.partition, m.timestamp, m.offset)
            for batch in batches.values() for m in batch
        ]

    def position(self, partition):
        tp = next(a for a in self.aio.assignment() if a.partition == partition)
        return wait(self.aio.position(tp))

    def assignment(self):
        return [(a.topic, a.partition) for a in self.aio.assignment()]

    def commit(self):
        wait(self.aio.commit())

    def commit_at(self, topic, partition, offset):
        wait(self.aio.commit({TopicPartition(topic, partition): offset}))

    def close(self):
        wait(self.aio.stop())


class Client:
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    null_headers = True
    lacks = {"kip848": "aiokafka speaks the classic protocol alone"}

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.admin = wait(made(AIOKafkaAdminClient, bootstrap_servers=bootstrap))
        self.asker = wait(made(AIOKafkaConsumer, bootstrap_servers=bootstrap))

    def producer(self, **kwargs):
        return Producer(self.bootstrap, **kwargs)

    def reader(self, topic, partitions, committed, start=0):
        reader = Reader(self.bootstrap, isolation_level="read_committed" if committed else "read_uncommitted")

        async def assign():
            reader.aio.assign([TopicPartition(topic, p) for p in partitions])
            for p in partitions:
                reader.aio.seek(TopicPartition(topic, p), start)

        wait(assign())
        return reader

    def member(self, group, topics, protocol):
        return Reader(self.bootstrap, group, topics, session_timeout_ms=10_000, heartbeat_interval_ms=500)

    def committed(self, group, topic, partition):
        tp = TopicPartition(topic, partition)
        return wait(self.admin.list_consumer_group_offsets(group, partitions=[tp]))[tp].offset

    def offsets(self, topic, partition):
        tp = TopicPartition(topic, partition)
        return wait(self.asker.beginning_offsets([tp]))[tp], wait(self.asker.end_offsets([tp]))[tp]

    def offset_for_time(self, topic, partition, ms):
        tp = TopicPartition(topic, partition)
        found = wait(self.asker.offsets_for_times({tp: ms}))[tp]
        return found and found.offset

    def create_topic(self, topic, partitions, config=None):
        answer = wait(self.admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=config or {})]))
        for _, code, *message in answer.topic_errors:
            raised(code, message)

    def topics(self):
        return set(wait(self.admin.list_topics()))

    def partitions(self, topic):
        return len(wait(self.admin.describe_topics([topic]))[0]["partitions"])

    def config(self, topic, name):
        answer = wait(self.admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]))[0]
        code, message, _, _, entries = answer.resources[0]
        raised(code, message)
        return next(e[1] for e in entries if e[0] == name)

    def alter_config(self, topic, name, value):
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {name: value})
        for answer in wait(self.admin.alter_configs([resource])):
            for code, message, *_ in answer.resources:
                raised(code, message)

    def add_partitions(self, topic, total):
        wait(self.admin.create_partitions({topic: NewPartitions(total)}))

    def delete_records(self, topic, partition, before):
        wait(self.admin.delete_records({TopicPartition(topic, partition): RecordsToDelete(before)}))

    def groups(self):
        return {g[0] for g in wait(self.admin.list_consumer_groups())}

    def delete_group(self, group):
        raise NotApplicable("aiokafka deletes no groups")

    def delete_topic(self, topic):
        for _, code in wait(self.admin.delete_topics([topic])).topic_error_codes:
            raised(code, topic)

    def error_name(self, e):
        return {"MessageSizeTooLargeError": "MESSAGE_TOO_LARGE", "TopicAlreadyExistsError": "TOPIC_ALREADY_EXISTS"}.get(
            type(e).__name__, repr(e)
        )

    def is_fenced(self, e):
        return isinstance(e, KafkaError) and "Fenced" in type(e).__name__ or "InvalidProducerEpoch" in type(e).__name__


if __name__ == "__main__":
    main(Client, scripts.ALL)
