import io.strimzi.test.container.StrimziKafkaCluster;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.kafka.ConfluentKafkaContainer;
import org.testcontainers.kafka.KafkaContainer;
import org.testcontainers.lifecycle.Startable;
import org.testcontainers.utility.DockerImageName;

/**
 * Starts a broker by each of the classes of Testcontainers' module for Kafka, and by
 * Strimzi's test container, as their documentation shows it, and takes numbers through
 * it: Roundtrip IMAGE. The numbers
 * go in from this machine; they come out here, and in another container, which knows
 * the broker by a listener of its own where the class has such.
 */
public class Roundtrip {
    private static final int NUMBERS = 100;

    public static void main(String[] args) throws Exception {
        DockerImageName image = DockerImageName.parse(args[0]);
        DockerImageName apache = image.asCompatibleSubstituteFor("apache/kafka");
        DockerImageName confluent = image.asCompatibleSubstituteFor("confluentinc/cp-kafka");
        try (Network network = Network.newNetwork(); var other = sleeper(image, network)) {
            other.start();
            try (var kafka = new KafkaContainer(apache)) {
                kafka.withNetwork(network).withListener("apache:19092");
                use("KafkaContainer", kafka, kafka::getBootstrapServers, other, "apache:19092");
            }
            try (var kafka = new ConfluentKafkaContainer(confluent)) {
                kafka.withNetwork(network).withListener("confluent:19092");
                use("ConfluentKafkaContainer", kafka, kafka::getBootstrapServers, other, "confluent:19092");
            }
            older("older, with ZooKeeper", false, confluent, network, other);
            older("older, without", true, confluent, network, other);
        }
        strimzi(args[0]);
    }

    /** A container in which tools can be run. */
    private static GenericContainer<?> sleeper(DockerImageName image, Network network) {
        return new GenericContainer<>(image).withNetwork(network).withCommand("sleep", "600");
    }

    @SuppressWarnings("deprecation")
    private static void older(String what, boolean kraft, DockerImageName image, Network network, GenericContainer<?> other)
            throws Exception {
        try (var kafka = new org.testcontainers.containers.KafkaContainer(image)) {
            if (kraft) {
                kafka.withKraft();
            }
            String alias = kraft ? "kraft" : "zookeeper";
            kafka.withNetwork(network).withNetworkAliases(alias);
            use(what, kafka, kafka::getBootstrapServers, other, alias + ":9092");
        }
    }

    /** Its network is its own, and known only once it runs. */
    private static void strimzi(String image) throws Exception {
        try (var kafka = new StrimziKafkaCluster.StrimziKafkaClusterBuilder().withNumberOfBrokers(1).withImage(image).build()) {
            start("StrimziKafkaCluster", kafka);
            Network network = kafka.getBrokers().iterator().next().getNetwork();
            try (var other = sleeper(DockerImageName.parse(image), network)) {
                other.start();
                take("StrimziKafkaCluster", kafka.getBootstrapServers(), other, kafka.getNetworkBootstrapServers());
            }
        }
    }

    /** The address is known only once the container runs. */
    private interface Address {
        String get();
    }

    private static void use(String what, GenericContainer<?> kafka, Address address, GenericContainer<?> other, String inside)
            throws Exception {
        start(what, kafka);
        take(what, address.get(), other, inside);
    }

    private static void start(String what, Startable kafka) {
        Instant began = Instant.now();
        kafka.start();
        System.err.printf("%s started in %d ms%n", what, Duration.between(began, Instant.now()).toMillis());
    }

    private static void take(String what, String address, GenericContainer<?> other, String inside) throws Exception {
        produce(address);
        int here = consume(address);
        var there = other.execInContainer("kafka-console-consumer", "--bootstrap-server", inside, "--topic", "numbers",
                "--from-beginning", "--max-messages", String.valueOf(NUMBERS), "--timeout-ms", "30000");
        System.out.printf("%s: read %d, in another container %d%n", what, here, there.getStdout().lines().count());
    }

    private static void produce(String address) throws Exception {
        try (var producer = new KafkaProducer<>(Map.<String, Object>of("bootstrap.servers", address),
                new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < NUMBERS; i++) {
                producer.send(new ProducerRecord<>("numbers", String.valueOf(i))).get();
            }
        }
    }

    private static int consume(String address) {
        Map<String, Object> config = Map.of("bootstrap.servers", address, "group.id", "readers", "auto.offset.reset", "earliest");
        try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("numbers"));
            Instant end = Instant.now().plusSeconds(60);
            int next = 0;
            while (next < NUMBERS && Instant.now().isBefore(end)) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                    if (!record.value().equals(String.valueOf(next))) {
                        throw new IllegalStateException("record " + next + " is " + record.value());
                    }
                    next++;
                }
            }
            return next;
        }
    }
}
