import java.io.File;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The scripts of Kafka Connect: a worker in distributed mode, as a process of its own,
 * with Apache's file source and sink. */
final class Connect {
    /** The worker of all scripts, which the last one stops and starts again. */
    private static Worker worker;

    private Connect() {}

    private static final class Worker {
        final Path dir = Files.createTempDirectory("clients-connect");
        final String url;
        private Process process;

        Worker(Run run, String bootstrap) throws Exception {
            int port;
            try (ServerSocket free = new ServerSocket(0)) {
                port = free.getLocalPort();
            }
            url = "http://127.0.0.1:" + port;
            String name = run.name("connect");
            Files.write(dir.resolve("worker.properties"), List.of(
                "bootstrap.servers=" + bootstrap, "group.id=" + name, "listeners=" + url,
                "config.storage.topic=" + name + "-configs", "offset.storage.topic=" + name + "-offsets",
                "status.storage.topic=" + name + "-status", "config.storage.replication.factor=1",
                "offset.storage.replication.factor=1", "offset.storage.partitions=5", "status.storage.replication.factor=1",
                "key.converter=org.apache.kafka.connect.storage.StringConverter",
                "value.converter=org.apache.kafka.connect.storage.StringConverter",
                "plugin.discovery=service_load", "offset.flush.interval.ms=500",
                "heartbeat.interval.ms=500", "session.timeout.ms=10000", "scheduled.rebalance.max.delay.ms=0"));
            Runtime.getRuntime().addShutdownHook(new Thread(this::kill));
        }

        void start(Run run) throws Exception {
            process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m",
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
                "org.apache.kafka.connect.cli.ConnectDistributed", dir.resolve("worker.properties").toString())
                .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.appendTo(dir.resolve("log").toFile())).start();
            run.until("the worker to answer", 50, () -> {
                if (!process.isAlive()) {
                    throw new Run.Failure("the worker ended with " + process.exitValue() + ": " + said());
                }
                try {
                    return send("GET", "/connectors", null).statusCode() == 200;
                } catch (java.io.IOException e) {
                    return false; // It does not listen yet.
                } catch (InterruptedException e) {
                    throw new RuntimeException(e);
                }
            });
        }

        /** What the worker said last that is an error. */
        private String said() {
            return read(dir.resolve("log")).stream().filter(l -> l.contains("ERROR") || l.contains("Exception")).limit(3).toList().toString();
        }

        void stop(Run run) throws Exception {
            run.waitsFor = "the worker to stop";
            process.destroy();
            if (!process.waitFor(30, TimeUnit.SECONDS)) {
                throw new Run.Failure("the worker did not stop within 30 s");
            }
        }

        private void kill() {
            if (process != null) {
                process.destroyForcibly();
            }
            Streams.delete(dir);
        }

        HttpResponse<String> send(String method, String path, String body) throws java.io.IOException, InterruptedException {
            HttpRequest.BodyPublisher content = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
            HttpRequest request = HttpRequest.newBuilder(URI.create(url + path)).timeout(java.time.Duration.ofSeconds(30))
                .header("Content-Type", "application/json").method(method, content).build();
            return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        }

        /** Makes a connector and waits until its task runs. */
        void connect(Run run, String name, Map<String, String> config) throws Exception {
            List<String> entries = new ArrayList<>();
            config.forEach((k, v) -> entries.add("\"" + k + "\":\"" + v + "\""));
            run.waitsFor = "the connector to be made";
            HttpResponse<String> answer = send("PUT", "/connectors/" + name + "/config", "{" + String.join(",", entries) + "}");
            if (answer.statusCode() != 201) {
                throw new Run.Failure("the connector was answered with " + answer.statusCode() + ": " + answer.body());
            }
            runs(run, name);
        }

        void runs(Run run, String name) throws Exception {
            run.until("the task of " + name + " to run", 40, () -> {
                try {
                    String status = send("GET", "/connectors/" + name + "/status", null).body();
                    if (status.contains("FAILED")) {
                        throw new Run.Failure("the connector failed: " + status);
                    }
                    return status.split("\"RUNNING\"", -1).length == 3; // The connector and its task.
                } catch (java.io.IOException | InterruptedException e) {
                    throw new RuntimeException(e);
                }
            });
        }
    }

    private static Worker worker(Run run, String bootstrap) throws Exception {
        if (worker == null) {
            Worker made = new Worker(run, bootstrap);
            made.start(run);
            worker = made;
        }
        return worker;
    }

    private static List<String> lines(int from, int end) {
        return IntStream.range(from, end).mapToObj(i -> "line " + i + (i % 7 == 0 ? "" : " ünïcode")).toList();
    }

    /** Lines in ASCII: the file source counts characters, and takes them for bytes when it
     * goes on, so that it would read some lines again. */
    private static List<String> plain(int from, int end) {
        return IntStream.range(from, end).mapToObj(i -> "line " + i).toList();
    }

    private static Map<String, String> sourceOf(String topic, File file) {
        return Map.of("connector.class", "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max", "1",
            "file", file.toString(), "topic", topic);
    }

    static void source(Run run, String bootstrap) throws Exception {
        String topic = run.name("source");
        Worker connect = worker(run, bootstrap);
        Path file = connect.dir.resolve(topic);
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(topic, 1);
            Files.write(file, lines(0, 500));
            connect.connect(run, topic, sourceOf(topic, file.toFile()));
            run.same("lines in the topic", Kafka.texts(kafka.read(topic, 500, 1, false)), lines(0, 500));
            Files.write(file, lines(500, 600), StandardOpenOption.APPEND);
            run.same("lines that were appended", Kafka.texts(kafka.read(topic, 600, 1, false)), lines(0, 600));
            run.same("the connector's deletion", connect.send("DELETE", "/connectors/" + topic, null).statusCode(), 204);
        }
    }

    static void sink(Run run, String bootstrap) throws Exception {
        String topic = run.name("sink");
        Worker connect = worker(run, bootstrap);
        Path file = connect.dir.resolve(topic);
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(topic, 1);
            kafka.produce(lines(0, 500).stream().map(l -> new org.apache.kafka.clients.producer.ProducerRecord<byte[], byte[]>(topic, Kafka.bytes(l))).toList());
            connect.connect(run, topic, Map.of("connector.class", "org.apache.kafka.connect.file.FileStreamSinkConnector",
                "tasks.max", "1", "file", file.toString(), "topics", topic));
            run.until("500 lines in the file", 30, () -> file.toFile().exists() && read(file).size() >= 500);
            run.same("lines in the file", read(file), lines(0, 500));
            run.until("500 to be committed by the sink", 20, () -> {
                try {
                    return kafka.committed("connect-" + topic, topic, 0) == 500;
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            });
            run.same("the connector's deletion", connect.send("DELETE", "/connectors/" + topic, null).statusCode(), 204);
        }
    }

    private static List<String> read(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** A worker that starts again finds its connectors, and goes on where they were. */
    static void restart(Run run, String bootstrap) throws Exception {
        String topic = run.name("restart");
        Worker connect = worker(run, bootstrap);
        Path file = connect.dir.resolve(topic);
        try (Kafka kafka = new Kafka(run, bootstrap)) {
            kafka.createTopic(topic, 1);
            Files.write(file, plain(0, 300));
            connect.connect(run, topic, sourceOf(topic, file.toFile()));
            run.same("lines before", Kafka.texts(kafka.read(topic, 300, 1, false)), plain(0, 300));
            connect.stop(run);
            Files.write(file, plain(300, 500), StandardOpenOption.APPEND);
            connect.start(run);
            connect.runs(run, topic);
            List<ConsumerRecord<byte[], byte[]>> got = kafka.read(topic, 500, 1, false);
            run.same("lines after", Kafka.texts(got), plain(0, 500));
            connect.stop(run);
        }
    }
}
