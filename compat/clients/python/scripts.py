"""The scripts, written once for every client in Python. See ../README.md.

A client is an adapter with the methods that are called here; what it has not it
says by raising NotApplicable.
"""

import threading
import time
from dataclasses import dataclass, field

from harness import Failure, NotApplicable, payload

# How many records of each size: 1 byte to 300 kB.
SIZES = {1: 20, 100: 20, 10_000: 6, 300_000: 2}


@dataclass
class Record:
    value: bytes | None
    key: bytes | None = None
    headers: list = field(default_factory=list)
    partition: int | None = None
    timestamp: int | None = None
    offset: int | None = None


class Member:
    """A member of a group: a thread that polls, and commits what it has read."""

    def __init__(self, client, group, topics, protocol="classic"):
        self.records = []
        self.held = set()
        self.error = None
        self._stop = threading.Event()
        self._ready = client.member(group, topics, protocol)
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self):
        consumer = self._ready
        try:
            while not self._stop.is_set():
                got = consumer.poll(0.2)
                self.held = set(consumer.assignment())
                if got:
                    consumer.commit()
                    self.records.extend(got)
        except Exception as e:
            self.error = e
        finally:
            try:
                consumer.close()
            except Exception as e:
                self.error = self.error or e

    def leave(self):
        self._stop.set()
        self._thread.join(30)
        if self._thread.is_alive():
            raise Failure("a member did not leave within 30 s")
        if self.error:
            raise self.error


def check(*members):
    for m in members:
        if m.error:
            raise m.error
    return True


def numbered(n, prefix, partitions=1):
    return [Record(value=f"{prefix}-{i}".encode(), partition=i % partitions) for i in range(n)]


def produce(client, topic, records, **kwargs):
    producer = client.producer(**kwargs)
    try:
        return producer.send(topic, records)
    finally:
        producer.close()


def read(client, run, topic, want, partitions=1, committed=False):
    """Reads a whole topic: want records, and then to see that no more come."""
    reader = client.reader(topic, list(range(partitions)), committed)
    try:
        got = []

        def more():
            got.extend(reader.poll(0.2))
            return len(got) >= want

        run.until(f"{want} records of {topic}", 30, more)
        ends = {p: client.offsets(topic, p)[1] for p in range(partitions)}

        def at_end():
            got.extend(reader.poll(0.1))
            return all(reader.position(p) >= ends[p] for p in ends)

        run.until(f"the end of {topic} ({ends})", 10, at_end)
        return got
    finally:
        reader.close()


def codecs(client, run):
    """Every codec and size comes back byte for byte."""
    topic = run.name("codecs")
    client.create_topic(topic, 1)
    sent = []
    for n, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        if codec not in client.codecs:
            run.without.append(codec)
            continue
        records = []
        for size, count in SIZES.items():
            records += [Record(value=payload(n * 1000 + i, size)) for i in range(count)]
        run.waits_for = f"the acknowledgement of {len(records)} records in {codec}"
        places = produce(client, topic, records, codec=codec)
        run.same(f"offsets of {codec}", [o for _, o in places], list(range(len(sent), len(sent) + len(records))))
        sent += records
    got = read(client, run, topic, len(sent))
    run.same("offsets", [r.offset for r in got], list(range(len(sent))))
    for g, s in zip(got, sent):
        run.same(f"value at offset {g.offset}", g.value, s.value)


def headers(client, run):
    """Headers, nulls, empty values and timestamps come back as they were."""
    topic = run.name("headers")
    client.create_topic(topic, 1)
    every_byte = bytes(range(256))
    records = [
        Record(value=b"v", key=b"k", headers=[("a", b"1"), ("b", b"2"), ("a", b"3")]),
        Record(value=None, key=b"tombstone"),
        Record(value=b"no key"),
        Record(value=b"", key=b""),
        Record(value=every_byte, key=every_byte, headers=[("bytes", every_byte), ("ключ", b"utf-8")]),
        Record(value=b"v", key=b"k", headers=[("empty", b"")]),
    ]
    if client.null_headers:
        records.append(Record(value=b"v", headers=[("null", None)]))
    else:
        run.without.append("headers whose value is null")
    for i, r in enumerate(records):
        r.timestamp = 1_700_000_000_000 + i
    run.waits_for = "the acknowledgements"
    produce(client, topic, records)
    got = read(client, run, topic, len(records))
    for what in ("value", "key", "headers", "timestamp"):
        run.same(f"{what} of the records", [getattr(r, what) for r in got], [getattr(r, what) for r in records])


def order(client, run):
    """Keys stay in their partition, in order, at the offsets that were acknowledged."""
    topic = run.name("order")
    client.create_topic(topic, 3)
    records = [Record(value=f"{i}".encode(), key=f"key-{i % 60}".encode()) for i in range(3000)]
    run.waits_for = "3000 acknowledgements"
    places = produce(client, topic, records)
    got = read(client, run, topic, 3000, partitions=3)
    run.same("records", len(got), 3000)
    run.same(
        "the records where they were acknowledged",
        sorted((r.partition, r.offset, r.value) for r in got),
        sorted((p, o, r.value) for (p, o), r in zip(places, records)),
    )
    for p in range(3):
        mine = [r for r in got if r.partition == p]
        run.same(f"offsets in partition {p}", [r.offset for r in mine], list(range(len(mine))))
        numbers = [int(r.value) for r in mine]
        run.same(f"order in partition {p}", numbers, sorted(numbers))
    home = {}
    for r in got:
        run.same(f"the partition of {r.key}", r.partition, home.setdefault(r.key, r.partition))
    run.same("partitions in use", set(home.values()), {0, 1, 2})


def large(client, run):
    """A record of 3 MiB comes back; one that the topic forbids is refused."""
    topic = run.name("large")
    client.create_topic(topic, 1, {"max.message.bytes": str(4 << 20)})
    big = Record(value=payload(7, 3 << 20))
    run.waits_for = "the acknowledgement of 3 MiB"
    produce(client, topic, [big], max_bytes=10 << 20)
    run.waits_for = "the refusal of 5 MiB"
    try:
        produce(client, topic, [Record(value=payload(9, 5 << 20))], max_bytes=10 << 20)
        refused = "accepted"
    except Exception as e:
        refused = client.error_name(e)
    run.same("what became of 5 MiB", refused, "MESSAGE_TOO_LARGE")
    produce(client, topic, [Record(value=b"after")])
    got = read(client, run, topic, 2)
    run.same("sizes", [len(r.value) for r in got], [3 << 20, 5])
    run.same("3 MiB", got[0].value, big.value)


def share(run, members, partitions):
    """Waits until the members hold all partitions, each a part and none twice."""

    def done():
        check(*members)
        held = [h for m in members for h in m.held]
        return all(m.held for m in members) and sorted(held) == sorted(partitions)

    what = f"{len(members)} members that share {len(partitions)} partitions"
    run.until(what, 40, done, lambda: [sorted(m.held) for m in members])


def group(client, run):
    """Two groups read two topics; the members of one share, and nothing comes twice."""
    topics = [run.name("group-a"), run.name("group-b")]
    every = [(t, p) for t in topics for p in range(2)]
    for t in topics:
        client.create_topic(t, 2)
    pair = [Member(client, run.name("pair"), topics) for _ in range(2)]
    alone = Member(client, run.name("alone"), topics)
    try:
        share(run, pair, every)
        share(run, [alone], every)
        for t in topics:
            produce(client, t, numbered(1000, t, 2))
        run.until("2000 records in the pair", 20, lambda: check(*pair) and sum(len(m.records) for m in pair) >= 2000)
        run.until("2000 records alone", 20, lambda: check(alone) and len(alone.records) >= 2000)
    finally:
        for m in (*pair, alone):
            m.leave()
    want = sorted(f"{t}-{i}".encode() for t in topics for i in range(1000))
    run.same("what the pair read", sorted(r.value for m in pair for r in m.records), want)
    run.same("what the other read", sorted(r.value for r in alone.records), want)
    for g in ("pair", "alone"):
        for t, p in every:
            run.same(f"committed by {g}", client.committed(run.name(g), t, p), 500)


def moving(client, run, protocol):
    topic, name = run.name("moving"), run.name(protocol)
    every = [(topic, p) for p in range(4)]
    client.create_topic(topic, 4)
    first = Member(client, name, [topic], protocol)
    members = [first]
    try:
        share(run, [first], every)
        produce(client, topic, numbered(200, "one", 4))
        run.until("200 records", 20, lambda: check(first) and len(first.records) >= 200)

        second = Member(client, name, [topic], protocol)
        members.append(second)
        share(run, members, every)
        run.same("partitions of each", [len(m.held) for m in members], [2, 2])
        produce(client, topic, numbered(200, "two", 4))
        run.until("400 records", 20, lambda: check(*members) and sum(len(m.records) for m in members) >= 400)
        run.same("records of the second", len(second.records), 100)

        first.leave()
        share(run, [second], every)
        produce(client, topic, numbered(200, "three", 4))
        run.until("600 records", 20, lambda: check(second) and len(first.records) + len(second.records) >= 600)
    finally:
        for m in members:
            m.leave()
    got = [r for m in members for r in m.records]
    want = [f"{w}-{i}".encode() for w in ("one", "two", "three") for i in range(200)]
    run.same("what was read", sorted(r.value for r in got), sorted(want))
    for m in members:
        for p in range(4):
            offsets = [r.offset for r in m.records if r.partition == p]
            run.same(f"order in partition {p}", offsets, sorted(offsets))
    for p in range(4):
        run.same(f"committed in partition {p}", client.committed(name, topic, p), 150)


def rebalance(client, run):
    """A member joins and the other leaves; every record is read once and committed."""
    moving(client, run, "classic")


def kip848(client, run):
    """The same in the consumer group protocol of KIP-848."""
    if "kip848" in client.lacks:
        raise NotApplicable(client.lacks["kip848"])
    moving(client, run, "consumer")


def resume(client, run):
    """A group goes on exactly where it committed."""
    topic, name = run.name("resume"), run.name("resume")
    client.create_topic(topic, 1)
    produce(client, topic, numbered(100, "r"))

    def take(want):
        consumer, got = client.member(name, [topic], "classic"), []

        def more():
            got.extend(consumer.poll(0.2))
            return len(got) >= want

        run.until(f"{want} records", 40, more)
        return consumer, got

    consumer, got = take(37)
    run.same("first offset", got[0].offset, 0)
    consumer.commit_at(topic, 0, 37)
    consumer.close()
    run.same("committed", client.committed(name, topic, 0), 37)
    consumer, got = take(63)
    consumer.commit_at(topic, 0, 100)
    consumer.close()
    run.same("what came after", [r.value for r in got], [f"r-{i}".encode() for i in range(37, 100)])
    run.same("committed at the end", client.committed(name, topic, 0), 100)


def offsets(client, run):
    """Beginning, end, look-up by timestamp, and reading from there."""
    topic = run.name("offsets")
    client.create_topic(topic, 1)
    start = 1_700_000_000_000
    produce(client, topic, [Record(value=f"o-{i}".encode(), timestamp=start + i * 1000) for i in range(20)])
    run.same("beginning and end", client.offsets(topic, 0), (0, 20))
    run.same("offset for a time between", client.offset_for_time(topic, 0, start + 5500), 6)
    run.same("offset for a time exactly", client.offset_for_time(topic, 0, start + 5000), 5)
    run.same("offset for a time after all", client.offset_for_time(topic, 0, start + 50_000), None)
    reader = client.reader(topic, [0], False, start=12)
    try:
        got = []

        def more():
            got.extend(reader.poll(0.2))
            return len(got) >= 8

        run.until("8 records from offset 12", 30, more)
    finally:
        reader.close()
    run.same("records from offset 12", [r.value for r in got], [f"o-{i}".encode() for i in range(12, 20)])


def idempotent(client, run):
    """An idempotent producer of many batches: nothing lost, nothing twice, in order."""
    if "idempotent" in client.lacks:
        raise NotApplicable(client.lacks["idempotent"])
    topic = run.name("idempotent")
    client.create_topic(topic, 2)
    producer = client.producer(idempotent=True)
    run.waits_for = "5000 acknowledgements"
    for n in range(10):
        producer.send(topic, [Record(value=f"{n * 500 + i}".encode(), partition=i % 2) for i in range(500)])
    producer.close()
    got = read(client, run, topic, 5000, partitions=2)
    for p in range(2):
        mine = [int(r.value) for r in got if r.partition == p]
        run.same(f"partition {p}", mine, list(range(p, 5000, 2)))


def transactions(client, run):
    """Commit, abort, offsets in a transaction, and fencing."""
    if "transactions" in client.lacks:
        raise NotApplicable(client.lacks["transactions"])
    source, topic, name = run.name("txn-in"), run.name("txn-out"), run.name("txn")
    for t in (source, topic):
        client.create_topic(t, 1)
    produce(client, source, numbered(10, "in"))

    producer = client.producer(transactional_id=name)
    run.waits_for = "a first transaction"
    producer.begin()
    producer.send(topic, numbered(10, "committed"))
    producer.commit()
    run.waits_for = "an aborted transaction"
    producer.begin()
    producer.send(topic, numbered(10, "aborted"))
    producer.abort()

    run.waits_for = "a member of the group that reads the source"
    consumer, got = client.member(name, [source], "classic"), []

    def more():
        got.extend(consumer.poll(0.2))
        return len(got) >= 10

    run.until("10 records of the source", 40, more)
    run.waits_for = "a transaction with offsets"
    producer.begin()
    producer.send(topic, [Record(value=b"out-" + r.value) for r in got])
    producer.send_offsets(consumer, source, 0, 7)
    producer.commit()
    consumer.close()
    run.same("offset committed in the transaction", client.committed(name, source, 0), 7)

    run.waits_for = "an aborted transaction with offsets"
    consumer, got = client.member(name, [source], "classic"), []
    run.until("the rest of the source", 40, lambda: got.extend(consumer.poll(0.2)) or len(got) >= 3)
    run.same("where the group went on", [r.offset for r in got], [7, 8, 9])
    producer.begin()
    producer.send(topic, numbered(1, "aborted-too"))
    producer.send_offsets(consumer, source, 0, 10)
    producer.abort()
    consumer.close()
    run.same("offset after the abort", client.committed(name, source, 0), 7)

    committed = [f"committed-{i}".encode() for i in range(10)] + [f"out-in-{i}".encode() for i in range(10)]
    everything = committed[:10] + [f"aborted-{i}".encode() for i in range(10)] + committed[10:] + [b"aborted-too-0"]
    got = read(client, run, topic, 20, committed=True)
    run.same("read committed", [r.value for r in got], committed)
    got = read(client, run, topic, 31)
    run.same("read uncommitted", [r.value for r in got], everything)

    run.waits_for = "a second producer with the same id"
    second = client.producer(transactional_id=name)
    run.waits_for = "the first producer to be fenced"
    try:
        producer.begin()
        producer.send(topic, numbered(1, "fenced"))
        producer.commit()
        outcome = "not fenced"
    except Exception as e:
        outcome = "fenced" if client.is_fenced(e) else repr(e)
    run.same("the first producer", outcome, "fenced")
    second.begin()
    second.send(topic, numbered(1, "second"))
    second.commit()
    second.close()
    producer.abandon()
    got = read(client, run, topic, 21, committed=True)
    run.same("read committed at last", [r.value for r in got], committed + [b"second-0"])


def admin(client, run):
    """Topics, partitions, configurations, deletion of records, and groups."""
    topic, name = run.name("admin"), run.name("admin")
    client.create_topic(topic, 2, {"retention.ms": "86400001"})
    run.until("two partitions", 10, lambda: client.partitions(topic) == 2)
    run.same("a topic of that name", topic in client.topics(), True)
    try:
        client.create_topic(topic, 2)
        outcome = "created"
    except Exception as e:
        outcome = client.error_name(e)
    run.same("a second topic of that name", outcome, "TOPIC_ALREADY_EXISTS")
    if run.part("describe configs", lambda: run.same("retention.ms", client.config(topic, "retention.ms"), "86400001") or True):
        if run.part("alter configs", lambda: client.alter_config(topic, "retention.ms", "86400002") or True):
            run.until(
                "the new retention.ms", 10, lambda: client.config(topic, "retention.ms") == "86400002"
            )
    if run.part("create partitions", lambda: client.add_partitions(topic, 4) or True):
        run.until("four partitions", 10, lambda: client.partitions(topic) == 4)

    produce(client, topic, [Record(value=f"a-{i}".encode(), partition=0) for i in range(10)])
    if run.part("delete records", lambda: client.delete_records(topic, 0, 4) or True):
        run.same("beginning after the deletion", client.offsets(topic, 0), (4, 10))

    member = Member(client, name, [topic])
    want = 6 if "delete records" not in run.without else 10
    try:
        run.until(f"{want} records", 40, lambda: check(member) and len(member.records) >= want)
    finally:
        member.leave()
    run.same("records that are left", [r.offset for r in member.records], list(range(10 - want, 10)))
    if run.part("list groups", lambda: run.same("the group in the list", name in client.groups(), True) or True):
        if run.part("delete groups", lambda: client.delete_group(name) or True):
            run.same("the group in the list after its deletion", name in client.groups(), False)
    client.delete_topic(topic)
    run.until("the topic to be gone", 10, lambda: topic not in client.topics())


ALL = [codecs, headers, order, large, group, rebalance, resume, offsets, idempotent, transactions, admin, kip848]
