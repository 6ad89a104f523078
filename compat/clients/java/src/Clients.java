import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/** The scripts through kafka-clients. See ../../README.md. */
public final class Clients {
    private Clients() {}

    public static void main(String[] args) throws Exception {
        Map<String, Run.Script> scripts = new LinkedHashMap<>();
        scripts.put("codecs", Clients::codecs);
        scripts.put("headers", Clients::headers);
        scripts.put("order", Clients::order);
        scripts.put("large", Clients::large);
        scripts.put("group", Clients::group);
        scripts.put("rebalance", (run, bootstrap) -> moving(run, bootstrap, true));
        scripts.put("resume", Clients::resume);
        scripts.put("offsets", Clients::offsets);
        scripts.put("idempotent", Clients::idempotent);
        scripts.put("transactions", Clients::transactions);
        scripts.put("admin", Clients::admin);
        scripts.put("kip848", (run, bootstrap) -> {
            if (!Compat.KIP_848) {
                throw new Run.NotApplicable("this release speaks the classic protocol alone");
            }
            moving(run, bootstrap, false);
        });
        Run.main(args, scripts);
    }

    static void codecs(Run run, String bootstrap) throws Exception {
        String topic = run.name("codecs");
        Map<Integer, Integer> sizes = new LinkedHashMap<>();
        sizes.put(1, 20);
        sizes.put(100, 20);
        sizes.put(10_000, 6);
        sizes.put(300_000, 2);
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(topic, 1);
            List<ProducerRecord<byte[], byte[]>> sent = new ArrayList<>();
            List<String> codecs = List.of("none", "gzip", "snappy", "lz4", "zstd");
            for (String codec : codecs) {
                List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
                sizes.forEach((size, count) -> {
                    for (int i = 0; i < count; i++) {
                        records.add(new ProducerRecord<>(topic, Kafka.payload(codecs.indexOf(codec) * 1000 + i, size)));
                    }
                });
                run.waitsFor = "the acknowledgement of " + records.size() + " records in " + codec;
                List<Long> at = kafka.produce(records, Map.of("compression.type", codec)).stream().map(RecordMetadata::offset).toList();
                run.same("offsets of " + codec, at, Kafka.count(sent.size(), sent.size() + records.size()));
                sent.addAll(records);
            }
            List<ConsumerRecord<byte[], byte[]>> got = kafka.read(topic, sent.size(), 1, false);
            run.same("offsets", got.stream().map(ConsumerRecord::offset).toList(), Kafka.count(0, sent.size()));
            for (int i = 0; i < got.size(); i++) {
                run.same("value at offset " + i, got.get(i).value(), sent.get(i).value());
            }
        }
    }

    static void headers(Run run, String bootstrap) throws Exception {
        String topic = run.name("headers");
        byte[] every = new byte[256];
        for (int i = 0; i < every.length; i++) {
            every[i] = (byte) i;
        }
        List<Header> several = List.of(new RecordHeader("a", Kafka.bytes("1")), new RecordHeader("b", Kafka.bytes("2")), new RecordHeader("a", Kafka.bytes("3")));
        List<Header> odd = List.of(new RecordHeader("bytes", every), new RecordHeader("ключ", Kafka.bytes("utf-8")),
            new RecordHeader("empty", new byte[0]), new RecordHeader("null", (byte[]) null));
        long at = 1_700_000_000_000L;
        List<ProducerRecord<byte[], byte[]>> records = List.of(
            new ProducerRecord<>(topic, 0, at, Kafka.bytes("k"), Kafka.bytes("v"), several),
            new ProducerRecord<>(topic, 0, at + 1, Kafka.bytes("tombstone"), (byte[]) null),
            new ProducerRecord<>(topic, 0, at + 2, null, Kafka.bytes("no key")),
            new ProducerRecord<>(topic, 0, at + 3, new byte[0], new byte[0]),
            new ProducerRecord<>(topic, 0, at + 4, every, every, odd));
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(topic, 1);
            run.waitsFor = "the acknowledgements";
            kafka.produce(records);
            List<ConsumerRecord<byte[], byte[]>> got = kafka.read(topic, records.size(), 1, false);
            run.same("records", got.size(), records.size());
            for (int i = 0; i < records.size(); i++) {
                ConsumerRecord<byte[], byte[]> g = got.get(i);
                ProducerRecord<byte[], byte[]> want = records.get(i);
                run.same("value at offset " + i, g.value(), want.value());
                run.same("key at offset " + i, g.key(), want.key());
                run.same("timestamp at offset " + i, g.timestamp(), want.timestamp());
                run.same("headers at offset " + i, Arrays.asList(g.headers().toArray()), Arrays.asList(want.headers().toArray()));
            }
        }
    }

    static void order(Run run, String bootstrap) throws Exception {
        String topic = run.name("order");
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(topic, 3);
            List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
            for (int i = 0; i < 3000; i++) {
                records.add(new ProducerRecord<>(topic, Kafka.bytes("key-" + i % 60), Kafka.bytes("" + i)));
            }
            run.waitsFor = "3000 acknowledgements";
            List<RecordMetadata> places = kafka.produce(records, Map.of());
            List<ConsumerRecord<byte[], byte[]>> got = kafka.read(topic, 3000, 3, false);
            run.same("records", got.size(), 3000);
            Map<String, String> at = new HashMap<>();
            Map<String, Integer> home = new HashMap<>();
            for (ConsumerRecord<byte[], byte[]> r : got) {
                at.put(r.partition() + "@" + r.offset(), Kafka.text(r.value()));
                home.putIfAbsent(Kafka.text(r.key()), r.partition());
                run.same("the partition of a key", r.partition(), home.get(Kafka.text(r.key())));
            }
            for (int i = 0; i < 3000; i++) {
                String place = places.get(i).partition() + "@" + places.get(i).offset();
                run.same("the record at " + place, at.get(place), "" + i);
            }
            run.same("partitions in use", Set.copyOf(home.values()), Set.of(0, 1, 2));
            for (int p = 0; p < 3; p++) {
                int partition = p;
                List<ConsumerRecord<byte[], byte[]>> mine = got.stream().filter(r -> r.partition() == partition).toList();
                run.same("offsets in partition " + p, mine.stream().map(ConsumerRecord::offset).toList(), Kafka.count(0, mine.size()));
                List<Integer> numbers = Kafka.texts(mine).stream().map(Integer::parseInt).toList();
                run.same("order in partition " + p, numbers, Kafka.sorted(numbers));
            }
        }
    }

    static void large(Run run, String bootstrap) throws Exception {
        String topic = run.name("large");
        byte[] big = Kafka.payload(7, 3 << 20);
        Map<String, Object> wide = Map.of("max.request.size", 10 << 20);
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(topic, 1, Map.of("max.message.bytes", "" + (4 << 20)));
            run.waitsFor = "the acknowledgement of 3 MiB";
            kafka.produce(List.of(new ProducerRecord<>(topic, big)), wide);
            run.waitsFor = "the refusal of 5 MiB";
            String refused = "accepted";
            try {
                kafka.produce(List.of(new ProducerRecord<>(topic, Kafka.payload(9, 5 << 20))), wide);
            } catch (Exception e) {
                refused = Kafka.error(e);
            }
            run.same("what became of 5 MiB", refused, "RecordTooLargeException");
            kafka.produce(List.of(new ProducerRecord<>(topic, Kafka.bytes("after"))));
            List<ConsumerRecord<byte[], byte[]>> got = kafka.read(topic, 2, 1, false);
            run.same("records", got.size(), 2);
            run.same("3 MiB", got.get(0).value(), big);
            run.same("the record after", Kafka.text(got.get(1).value()), "after");
        }
    }

    static void group(Run run, String bootstrap) throws Exception {
        List<String> topics = List.of(run.name("group-a"), run.name("group-b"));
        List<String> every = topics.stream().flatMap(t -> Stream.of(t + "-0", t + "-1")).toList();
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            for (String t : topics) {
                kafka.createTopic(t, 2);
            }
            List<Kafka.Member> pair = List.of(new Kafka.Member(kafka, run.name("pair"), topics, true), new Kafka.Member(kafka, run.name("pair"), topics, true));
            List<Kafka.Member> alone = List.of(new Kafka.Member(kafka, run.name("alone"), topics, true));
            List<String> want = new ArrayList<>();
            try {
                kafka.share(pair, every);
                kafka.share(alone, every);
                for (String t : topics) {
                    kafka.produce(Kafka.numbered(t, 1000, t, 2));
                    Kafka.numbered(t, 1000, t, 2).forEach(r -> want.add(Kafka.text(r.value())));
                }
                kafka.await(pair, 2000);
                kafka.await(alone, 2000);
            } finally {
                for (Kafka.Member m : List.of(pair.get(0), pair.get(1), alone.get(0))) {
                    m.leave();
                }
            }
            run.same("what the pair read", read(pair), Kafka.sorted(want));
            run.same("what the other read", read(alone), Kafka.sorted(want));
            for (String g : List.of("pair", "alone")) {
                for (String t : topics) {
                    for (int p = 0; p < 2; p++) {
                        run.same("committed by " + g, kafka.committed(run.name(g), t, p), 500L);
                    }
                }
            }
        }
    }

    static List<String> read(List<Kafka.Member> members) {
        return Kafka.sorted(members.stream().flatMap(m -> Kafka.texts(m.records).stream()).toList());
    }

    static void moving(Run run, String bootstrap, boolean classic) throws Exception {
        String topic = run.name("moving");
        String name = run.name("moving");
        List<String> every = IntStream.range(0, 4).mapToObj(p -> topic + "-" + p).toList();
        List<Kafka.Member> members = new ArrayList<>();
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(topic, 4);
            try {
                Kafka.Member first = new Kafka.Member(kafka, name, List.of(topic), classic);
                members.add(first);
                kafka.share(members, every);
                kafka.produce(Kafka.numbered(topic, 200, "one", 4));
                kafka.await(members, 200);

                Kafka.Member second = new Kafka.Member(kafka, name, List.of(topic), classic);
                members.add(second);
                kafka.share(members, every);
                run.same("partitions of the first", first.held.size(), 2);
                kafka.produce(Kafka.numbered(topic, 200, "two", 4));
                kafka.await(members, 400);
                run.same("records of the second", second.count(), 100);

                first.leave();
                kafka.share(List.of(second), every);
                kafka.produce(Kafka.numbered(topic, 200, "three", 4));
                kafka.await(members, 600);
            } finally {
                for (Kafka.Member m : members) {
                    m.leave();
                }
            }
            List<String> want = Stream.of("one", "two", "three").flatMap(w -> IntStream.range(0, 200).mapToObj(i -> w + "-" + i)).toList();
            run.same("what was read", read(members), Kafka.sorted(want));
            for (int p = 0; p < 4; p++) {
                int partition = p;
                for (Kafka.Member m : members) {
                    List<Long> at = m.records.stream().filter(r -> r.partition() == partition).map(ConsumerRecord::offset).toList();
                    run.same("order in partition " + p, at, Kafka.sorted(at));
                }
                run.same("committed in partition " + p, kafka.committed(name, topic, p), 150L);
            }
        }
    }

    static void resume(Run run, String bootstrap) throws Exception {
        String topic = run.name("resume");
        String name = run.name("resume");
        TopicPartition part = new TopicPartition(topic, 0);
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(topic, 1);
            kafka.produce(Kafka.numbered(topic, 100, "r", 1));
            try (KafkaConsumer<byte[], byte[]> consumer = kafka.member(name, List.of(topic), true)) {
                run.same("first offset", kafka.take(consumer, 37, topic).get(0).offset(), 0L);
                consumer.commitSync(Map.of(part, new OffsetAndMetadata(37, "half")));
            }
            OffsetAndMetadata at = Kafka.get(kafka.admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata()).get(part);
            run.same("committed", at.offset() + " " + at.metadata(), "37 half");
            try (KafkaConsumer<byte[], byte[]> consumer = kafka.member(name, List.of(topic), true)) {
                List<String> want = IntStream.range(37, 100).mapToObj(i -> "r-" + i).toList();
                run.same("what came after", Kafka.texts(kafka.take(consumer, 63, topic)), want);
                consumer.commitSync();
            }
            run.same("committed at the end", kafka.committed(name, topic, 0), 100L);
        }
    }

    static void offsets(Run run, String bootstrap) throws Exception {
        String topic = run.name("offsets");
        TopicPartition part = new TopicPartition(topic, 0);
        long start = 1_700_000_000_000L;
        try (Kafka kafka = new Kafka(run, bootstrap); KafkaConsumer<byte[], byte[]> consumer = kafka.consumer(Map.of())) {
            kafka.createTopic(topic, 1);
            List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                records.add(new ProducerRecord<>(topic, 0, start + i * 1000, null, Kafka.bytes("o-" + i)));
            }
            kafka.produce(records);
            run.same("beginning", consumer.beginningOffsets(List.of(part)).get(part), 0L);
            run.same("end", consumer.endOffsets(List.of(part)).get(part), 20L);
            for (long[] ask : new long[][] {{start + 5500, 6}, {start + 5000, 5}, {start + 50_000, -1}}) {
                OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(part, ask[0])).get(part);
                run.same("offset for the time " + ask[0], found == null ? -1L : found.offset(), ask[1]);
            }
            consumer.assign(List.of(part));
            consumer.seek(part, 12);
            List<String> want = IntStream.range(12, 20).mapToObj(i -> "o-" + i).toList();
            run.same("records from offset 12", Kafka.texts(kafka.take(consumer, 8, topic)), want);
        }
    }

    static void idempotent(Run run, String bootstrap) throws Exception {
        String topic = run.name("idempotent");
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(topic, 2);
            run.waitsFor = "5000 acknowledgements";
            List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
            for (int i = 0; i < 5000; i++) {
                records.add(new ProducerRecord<>(topic, i % 2, null, Kafka.bytes("" + i)));
            }
            kafka.produce(records, Map.of("enable.idempotence", true, "max.in.flight.requests.per.connection", 5, "batch.size", 500));
            List<ConsumerRecord<byte[], byte[]>> got = kafka.read(topic, 5000, 2, false);
            for (int p = 0; p < 2; p++) {
                int partition = p;
                List<String> mine = Kafka.texts(got.stream().filter(r -> r.partition() == partition).toList());
                run.same("partition " + p, mine, IntStream.range(0, 2500).mapToObj(i -> "" + (2 * i + partition)).toList());
            }
        }
    }

    static void transactions(Run run, String bootstrap) throws Exception {
        String source = run.name("txn-in");
        String topic = run.name("txn-out");
        String name = run.name("txn");
        TopicPartition part = new TopicPartition(source, 0);
        Map<String, Object> config = Map.of("transactional.id", name, "enable.idempotence", true, "transaction.timeout.ms", 20_000);
        try (Kafka kafka = new Kafka(run, bootstrap); KafkaProducer<byte[], byte[]> producer = kafka.producer(config)) {
            kafka.createTopic(source, 1);
            kafka.createTopic(topic, 1);
            kafka.produce(Kafka.numbered(source, 10, "in", 1));
            run.waitsFor = "a first transaction";
            producer.initTransactions();
            producer.beginTransaction();
            Kafka.send(producer, Kafka.numbered(topic, 10, "committed", 1));
            producer.commitTransaction();
            run.waitsFor = "an aborted transaction";
            producer.beginTransaction();
            Kafka.send(producer, Kafka.numbered(topic, 10, "aborted", 1));
            producer.abortTransaction();

            try (KafkaConsumer<byte[], byte[]> consumer = kafka.member(name, List.of(source), true)) {
                List<ConsumerRecord<byte[], byte[]>> got = kafka.take(consumer, 10, source);
                run.waitsFor = "a transaction with offsets";
                producer.beginTransaction();
                Kafka.send(producer, got.stream().map(r -> new ProducerRecord<byte[], byte[]>(topic, Kafka.bytes("out-" + Kafka.text(r.value())))).toList());
                Compat.sendOffsets(producer, Map.of(part, new OffsetAndMetadata(7)), consumer, name);
                producer.commitTransaction();
            }
            run.same("offset committed in the transaction", kafka.committed(name, source, 0), 7L);
            try (KafkaConsumer<byte[], byte[]> consumer = kafka.member(name, List.of(source), true)) {
                List<Long> at = kafka.take(consumer, 3, source).stream().map(ConsumerRecord::offset).toList();
                run.same("where the group went on", at, List.of(7L, 8L, 9L));
                run.waitsFor = "an aborted transaction with offsets";
                producer.beginTransaction();
                Kafka.send(producer, Kafka.numbered(topic, 1, "aborted-too", 1));
                Compat.sendOffsets(producer, Map.of(part, new OffsetAndMetadata(10)), consumer, name);
                producer.abortTransaction();
            }
            run.same("offset after the abort", kafka.committed(name, source, 0), 7L);

            List<String> committed = new ArrayList<>();
            IntStream.range(0, 10).forEach(i -> committed.add("committed-" + i));
            IntStream.range(0, 10).forEach(i -> committed.add("out-in-" + i));
            List<String> everything = new ArrayList<>(committed.subList(0, 10));
            IntStream.range(0, 10).forEach(i -> everything.add("aborted-" + i));
            everything.addAll(committed.subList(10, 20));
            everything.add("aborted-too-0");
            run.same("read committed", Kafka.texts(kafka.read(topic, 20, 1, true)), committed);
            run.same("read uncommitted", Kafka.texts(kafka.read(topic, 31, 1, false)), everything);

            run.waitsFor = "a second producer with the same id";
            try (KafkaProducer<byte[], byte[]> second = kafka.producer(config)) {
                second.initTransactions();
                run.waitsFor = "the first producer to be fenced";
                String outcome = "not fenced";
                try {
                    producer.beginTransaction();
                    Kafka.send(producer, Kafka.numbered(topic, 1, "fenced", 1));
                    producer.commitTransaction();
                } catch (Exception e) {
                    outcome = Kafka.error(e);
                }
                run.same("the first producer", outcome.replace("InvalidProducerEpoch", "ProducerFenced"), "ProducerFencedException");
                second.beginTransaction();
                Kafka.send(second, Kafka.numbered(topic, 1, "second", 1));
                second.commitTransaction();
            }
            committed.add("second-0");
            run.same("read committed at last", Kafka.texts(kafka.read(topic, 21, 1, true)), committed);
        }
    }

    static void admin(Run run, String bootstrap) throws Exception {
        String topic = run.name("admin");
        String name = run.name("admin");
        TopicPartition part = new TopicPartition(topic, 0);
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(topic, 2, Map.of("retention.ms", "86400001"));
            run.until("two partitions", 10, () -> Compat.partitions(kafka.admin, topic) == 2);
            run.same("a topic of that name", Kafka.get(kafka.admin.listTopics().names()).contains(topic), true);
            String again = "created";
            try {
                kafka.createTopic(topic, 2);
            } catch (Exception e) {
                again = Kafka.error(e);
            }
            run.same("a second topic of that name", again, "TopicExistsException");
            run.same("retention.ms", config(kafka, resource), "86400001");
            Compat.alterConfig(kafka.admin, resource, "retention.ms", "86400002");
            run.until("the new retention.ms", 10, () -> config(kafka, resource).equals("86400002"));
            Kafka.get(kafka.admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(4))).all());
            run.until("four partitions", 10, () -> Compat.partitions(kafka.admin, topic) == 4);

            kafka.produce(Kafka.numbered(topic, 10, "a", 1));
            Kafka.get(kafka.admin.deleteRecords(Map.of(part, RecordsToDelete.beforeOffset(4))).all());
            Kafka.Member member = new Kafka.Member(kafka, name, List.of(topic), true);
            try {
                kafka.await(List.of(member), 6);
            } finally {
                member.leave();
            }
            run.same("records that are left", member.records.stream().map(ConsumerRecord::offset).toList(), Kafka.count(4, 10));
            run.same("the group in the list", Compat.groups(kafka.admin).contains(name), true);
            Kafka.get(kafka.admin.deleteConsumerGroups(List.of(name)).all());
            run.same("the group in the list after its deletion", Compat.groups(kafka.admin).contains(name), false);
            Kafka.get(kafka.admin.deleteTopics(List.of(topic)).all());
            run.until("the topic to be gone", 10, () -> Compat.partitions(kafka.admin, topic) == 0);
        }
    }

    static String config(Kafka kafka, ConfigResource resource) {
        try {
            return Kafka.get(kafka.admin.describeConfigs(List.of(resource)).all()).get(resource).get("retention.ms").value();
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }
}
