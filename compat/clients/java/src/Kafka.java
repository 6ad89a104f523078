import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What the scripts ask of kafka-clients, in all its releases. What differs is in Compat. */
final class Kafka implements AutoCloseable {
    static final int WAIT_SECONDS = 30;

    final Run run;
    final String bootstrap;
    final AdminClient admin;

    Kafka(Run run, String bootstrap) {
        this.run = run;
        this.bootstrap = bootstrap;
        this.admin = AdminClient.create(Map.of("bootstrap.servers", bootstrap, "request.timeout.ms", "20000",
            "default.api.timeout.ms", "30000"));
    }

    @Override
    public void close() {
        admin.close();
    }

    static <T> T get(Future<T> future) throws Exception {
        return future.get(WAIT_SECONDS, TimeUnit.SECONDS);
    }

    void createTopic(String topic, int partitions, Map<String, String> config) throws Exception {
        get(admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1).configs(config))).all());
    }

    void createTopic(String topic, int partitions) throws Exception {
        createTopic(topic, partitions, Map.of());
    }

    KafkaProducer<byte[], byte[]> producer(Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "acks", "all", "linger.ms", 5,
            "delivery.timeout.ms", 20_000, "request.timeout.ms", 15_000, "max.block.ms", 20_000));
        // Without idempotence, a retry must not overtake.
        config.put("enable.idempotence", false);
        config.put("max.in.flight.requests.per.connection", 1);
        config.putAll(more);
        return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static List<RecordMetadata> send(KafkaProducer<byte[], byte[]> producer, List<ProducerRecord<byte[], byte[]>> records) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (ProducerRecord<byte[], byte[]> record : records) {
            sent.add(producer.send(record));
        }
        producer.flush();
        List<RecordMetadata> places = new ArrayList<>();
        for (Future<RecordMetadata> future : sent) {
            places.add(get(future));
        }
        return places;
    }

    List<RecordMetadata> produce(List<ProducerRecord<byte[], byte[]>> records, Map<String, Object> config) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer(config)) {
            return send(producer, records);
        }
    }

    void produce(List<ProducerRecord<byte[], byte[]>> records) throws Exception {
        produce(records, Map.of());
    }

    KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "enable.auto.commit", false,
            "auto.offset.reset", "earliest", "fetch.max.wait.ms", 100, "max.partition.fetch.bytes", 8 << 20));
        config.putAll(more);
        return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    KafkaConsumer<byte[], byte[]> member(String group, Collection<String> topics, boolean classic) {
        Map<String, Object> config = new HashMap<>(Map.of("group.id", group));
        if (classic) {
            config.putAll(Map.of("session.timeout.ms", 10_000, "heartbeat.interval.ms", 500));
        } else {
            config.put("group.protocol", "consumer");
        }
        KafkaConsumer<byte[], byte[]> consumer = consumer(config);
        consumer.subscribe(topics);
        return consumer;
    }

    static List<ConsumerRecord<byte[], byte[]>> poll(KafkaConsumer<byte[], byte[]> consumer, int ms) {
        List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        consumer.poll(Duration.ofMillis(ms)).forEach(records::add);
        return records;
    }

    List<ConsumerRecord<byte[], byte[]>> take(KafkaConsumer<byte[], byte[]> consumer, int want, String what) throws Exception {
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        run.until(want + " records of " + what, 40, () -> {
            got.addAll(poll(consumer, 200));
            return got.size() >= want;
        });
        return got;
    }

    /** Reads a whole topic: want records, and on to the end that it has. */
    List<ConsumerRecord<byte[], byte[]>> read(String topic, int want, int partitions, boolean committed) throws Exception {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(
                Map.of("isolation.level", committed ? "read_committed" : "read_uncommitted"))) {
            List<TopicPartition> parts = new ArrayList<>();
            for (int p = 0; p < partitions; p++) {
                parts.add(new TopicPartition(topic, p));
            }
            consumer.assign(parts);
            consumer.seekToBeginning(parts);
            List<ConsumerRecord<byte[], byte[]>> got = take(consumer, want, topic);
            Map<TopicPartition, Long> ends = consumer.endOffsets(parts);
            run.until("the end of " + topic + " " + ends, 10, () -> {
                got.addAll(poll(consumer, 100));
                return parts.stream().allMatch(p -> consumer.position(p) >= ends.get(p));
            });
            return got;
        }
    }

    long committed(String group, String topic, int partition) throws Exception {
        OffsetAndMetadata at = get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata())
            .get(new TopicPartition(topic, partition));
        return at == null ? -1 : at.offset();
    }

    /** A member of a group: a thread that polls, and commits what it has read. */
    static final class Member {
        final List<ConsumerRecord<byte[], byte[]>> records = Collections.synchronizedList(new ArrayList<>());
        volatile Set<String> held = Set.of();
        private volatile boolean stop;
        private volatile Throwable failed;
        private final Thread thread;

        Member(Kafka kafka, String group, Collection<String> topics, boolean classic) {
            thread = new Thread(() -> {
                try (KafkaConsumer<byte[], byte[]> consumer = kafka.member(group, topics, classic)) {
                    while (!stop) {
                        List<ConsumerRecord<byte[], byte[]>> got = poll(consumer, 200);
                        Set<String> now = new HashSet<>();
                        consumer.assignment().forEach(p -> now.add(p.toString()));
                        held = now;
                        if (!got.isEmpty()) {
                            consumer.commitSync();
                            records.addAll(got);
                        }
                    }
                } catch (Throwable e) {
                    failed = e;
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        /** Fails if the member has. */
        int count() {
            if (failed != null) {
                throw new RuntimeException("a member failed: " + failed, failed);
            }
            return records.size();
        }

        void leave() throws InterruptedException {
            stop = true;
            thread.join(WAIT_SECONDS * 1000L);
            if (thread.isAlive()) {
                throw new Run.Failure("a member did not leave within " + WAIT_SECONDS + " s");
            }
            count();
        }
    }

    /** Waits until the members hold all partitions, each a part and none twice. */
    void share(List<Member> members, Collection<String> partitions) throws InterruptedException {
        run.until(members.size() + " members that share " + partitions.size() + " partitions", 40, () -> {
            List<String> held = new ArrayList<>();
            for (Member m : members) {
                m.count();
                if (m.held.isEmpty()) {
                    return false;
                }
                held.addAll(m.held);
            }
            return held.size() == partitions.size() && new HashSet<>(held).equals(new HashSet<>(partitions));
        });
    }

    void await(List<Member> members, int want) throws InterruptedException {
        run.until(want + " records in " + members.size() + " members", 20,
            () -> members.stream().mapToInt(Member::count).sum() >= want);
    }

    static byte[] bytes(String text) {
        return text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
    }

    static List<ProducerRecord<byte[], byte[]>> numbered(String topic, int n, String prefix, int partitions) {
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            records.add(new ProducerRecord<>(topic, i % partitions, null, bytes(prefix + "-" + i)));
        }
        return records;
    }

    static List<String> texts(List<ConsumerRecord<byte[], byte[]>> records) {
        return records.stream().map(r -> text(r.value())).toList();
    }

    /** Bytes that a codec can shrink where seed is even, and cannot where it is odd. */
    static byte[] payload(int seed, int size) {
        byte[] value = new byte[size];
        if (seed % 2 == 1) {
            new Random(seed).nextBytes(value);
            return value;
        }
        byte[] unit = bytes("record " + seed + ", ");
        for (int i = 0; i < size; i++) {
            value[i] = unit[i % unit.length];
        }
        return value;
    }

    /** The simple name of the error behind what a future or a call throws. */
    static String error(Throwable e) {
        Throwable cause = e instanceof ExecutionException && e.getCause() != null ? e.getCause() : e;
        while (cause.getClass() == org.apache.kafka.common.KafkaException.class && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause.getClass().getSimpleName();
    }

    static <T extends Comparable<T>> List<T> sorted(Collection<T> list) {
        List<T> copy = new ArrayList<>(list);
        Collections.sort(copy);
        return copy;
    }

    static List<Long> count(long from, long end) {
        Long[] list = new Long[(int) (end - from)];
        Arrays.setAll(list, i -> from + i);
        return List.of(list);
    }
}
