import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/** The scripts of Kafka Streams; those of Kafka Connect are in Connect. */
public final class Streams {
    private Streams() {}

    public static void main(String[] args) throws Exception {
        Map<String, Run.Script> scripts = new LinkedHashMap<>();
        if (System.getProperty("connect") == null) {
            scripts.put("count", Streams::count);
            scripts.put("exactly-once", Streams::exactlyOnce);
            scripts.put("restore", Streams::restore);
            scripts.put("join", Streams::join);
        } else {
            scripts.put("source", Connect::source);
            scripts.put("sink", Connect::sink);
            scripts.put("restart", Connect::restart);
        }
        Run.main(args, scripts);
    }

    /** An application that runs until it is closed. */
    private static final class App implements AutoCloseable {
        final KafkaStreams streams;
        private volatile Throwable failed;

        App(Kafka kafka, String id, Topology topology, Path state, Map<String, Object> more) throws Exception {
            Properties config = new Properties();
            config.putAll(Map.of(StreamsConfig.APPLICATION_ID_CONFIG, id, StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, kafka.bootstrap,
                StreamsConfig.STATE_DIR_CONFIG, state.toString(), StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100,
                StreamsConfig.REPLICATION_FACTOR_CONFIG, 1, StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class,
                StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class, "auto.offset.reset", "earliest"));
            config.putAll(Map.of("session.timeout.ms", 10_000, "heartbeat.interval.ms", 500));
            config.putAll(more);
            streams = new KafkaStreams(topology, config);
            streams.setUncaughtExceptionHandler(e -> {
                failed = e;
                return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.start();
            kafka.run.until("the application to run", 40, () -> check() && streams.state() == KafkaStreams.State.RUNNING);
        }

        boolean check() {
            if (failed != null) {
                throw new RuntimeException("the application failed: " + failed, failed);
            }
            return true;
        }

        @Override
        public void close() {
            if (!streams.close(new KafkaStreams.CloseOptions().leaveGroup(true).timeout(Duration.ofSeconds(20)))) {
                throw new Run.Failure("the application did not close within 20 s");
            }
            check();
        }
    }

    private static Path temporary() throws Exception {
        Path dir = Files.createTempDirectory("clients-streams");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(dir)));
        return dir;
    }

    static void delete(Path dir) {
        try (java.util.stream.Stream<Path> all = Files.walk(dir)) {
            all.sorted(java.util.Comparator.reverseOrder()).forEach(p -> p.toFile().delete());
        } catch (Exception e) {
            System.err.println("left behind: " + dir);
        }
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, String key, String value) {
        return new ProducerRecord<>(topic, Kafka.bytes(key), Kafka.bytes(value));
    }

    /** Counts words: the key is in the value, so the records are repartitioned first. */
    private static Topology counting(String in, String out) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(in).groupBy((key, word) -> word).count(Materialized.as("counts"))
            .toStream().to(out, Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }

    private static List<ProducerRecord<byte[], byte[]>> words(String topic, int n) {
        return IntStream.range(0, n).mapToObj(i -> record(topic, "k" + i, "word-" + i % 20)).toList();
    }

    /** Waits until the last count of each of 20 words is want. */
    private static void counted(Run run, Kafka kafka, App app, String topic, long want) throws Exception {
        Map<String, Long> expected = new TreeMap<>();
        IntStream.range(0, 20).forEach(i -> expected.put("word-" + i, want));
        Map<String, Long> last = new TreeMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = kafka.consumer(Map.of("isolation.level", "read_committed"));
                LongDeserializer decoder = new LongDeserializer()) {
            List<TopicPartition> parts = List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1));
            consumer.assign(parts);
            consumer.seekToBeginning(parts);
            run.until("20 words that were counted to " + want, 40, () -> {
                for (ConsumerRecord<byte[], byte[]> r : Kafka.poll(consumer, 200)) {
                    String word = Kafka.text(r.key());
                    long n = decoder.deserialize(topic, r.value());
                    if (n < last.getOrDefault(word, 0L)) {
                        throw new Run.Failure(word + " was counted to " + n + " after " + last.get(word));
                    }
                    last.put(word, n);
                }
                return app.check() && last.size() == 20 && last.values().stream().allMatch(n -> n >= want);
            });
        }
        run.same("the counts", last, expected);
    }

    static void count(Run run, String bootstrap) throws Exception {
        String in = run.name("in");
        String out = run.name("out");
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(in, 3);
            kafka.createTopic(out, 2);
            kafka.produce(words(in, 600));
            String id = run.name("count");
            try (App app = new App(kafka, id, counting(in, out), temporary(), Map.of())) {
                counted(run, kafka, app, out, 30);
            }
            java.util.Set<String> internal = new java.util.TreeSet<>();
            for (String t : Kafka.get(kafka.admin.listTopics().names())) {
                if (t.startsWith(id + "-")) {
                    internal.add(t.substring(id.length() + 1));
                }
            }
            run.same("internal topics", internal.toString(), "[counts-changelog, counts-repartition]");
        }
    }

    static void exactlyOnce(Run run, String bootstrap) throws Exception {
        String in = run.name("in");
        String out = run.name("out");
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(in, 3);
            kafka.createTopic(out, 1);
            StreamsBuilder builder = new StreamsBuilder();
            builder.<String, String>stream(in).mapValues(v -> "out-" + v).to(out);
            Map<String, Object> config = Map.of("processing.guarantee", "exactly_once_v2");
            List<String> want = new ArrayList<>();
            Path state = temporary();
            for (int round = 0; round < 2; round++) {
                List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
                for (int i = round * 500; i < (round + 1) * 500; i++) {
                    records.add(record(in, "k" + i, "" + i));
                    want.add("out-" + i);
                }
                kafka.produce(records);
                try (App app = new App(kafka, run.name("once"), builder.build(), state, config)) {
                    List<String> got = Kafka.texts(kafka.read(out, want.size(), 1, true));
                    run.same("records after round " + round, Kafka.sorted(got), Kafka.sorted(want));
                }
                long committed = 0;
                for (int p = 0; p < 3; p++) {
                    committed += Math.max(0, kafka.committed(run.name("once"), in, p));
                }
                run.same("offsets committed after round " + round, committed, (long) want.size());
            }
        }
    }

    static void restore(Run run, String bootstrap) throws Exception {
        String in = run.name("in");
        String out = run.name("out");
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(in, 3);
            kafka.createTopic(out, 2);
            kafka.produce(words(in, 200));
            try (App app = new App(kafka, run.name("restore"), counting(in, out), temporary(), Map.of())) {
                counted(run, kafka, app, out, 10);
            }
            kafka.produce(words(in, 20));
            // Another directory: what was counted is in the changelog alone.
            try (App app = new App(kafka, run.name("restore"), counting(in, out), temporary(), Map.of())) {
                counted(run, kafka, app, out, 11);
            }
        }
    }

    static void join(Run run, String bootstrap) throws Exception {
        String table = run.name("table");
        String in = run.name("in");
        String out = run.name("out");
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(table, 2, Map.of("cleanup.policy", "compact"));
            kafka.createTopic(in, 2);
            kafka.createTopic(out, 1);
            List<ProducerRecord<byte[], byte[]>> rows = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                rows.add(record(table, "k" + i, "old"));
                rows.add(record(table, "k" + i, "row-" + i));
            }
            rows.add(new ProducerRecord<>(table, Kafka.bytes("k0"), null));
            kafka.produce(rows);
            StreamsBuilder builder = new StreamsBuilder();
            builder.<String, String>stream(in).join(builder.table(table, Consumed.with(Serdes.String(), Serdes.String())), (v, row) -> v + "+" + row).to(out);
            // The table's rows are older, so that they come first whatever is fetched first.
            List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
            List<String> want = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                records.add(record(in, "k" + i % 20, "" + i));
                if (i % 20 != 0) {
                    want.add(i + "+row-" + i % 20);
                }
            }
            kafka.produce(records);
            try (App app = new App(kafka, run.name("join"), builder.build(), temporary(), Map.of("max.task.idle.ms", 2000))) {
                List<String> got = Kafka.texts(kafka.read(out, want.size(), 1, false));
                run.same("what was joined", Kafka.sorted(got), Kafka.sorted(want));
            }
        }
    }
}
