import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** What kafka-clients 2.1 has otherwise than other releases. */
final class Compat {
    static final boolean KIP_848 = false;

    private Compat() {}

    static int partitions(AdminClient admin, String topic) {
        try {
            return Kafka.get(admin.describeTopics(List.of(topic)).values().get(topic)).partitions().size();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                return 0;
            }
            throw new RuntimeException(e.getCause());
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    static void alterConfig(AdminClient admin, ConfigResource resource, String name, String value) throws Exception {
        Kafka.get(admin.alterConfigs(Map.of(resource, new Config(List.of(new ConfigEntry(name, value))))).all());
    }

    static Set<String> groups(AdminClient admin) throws Exception {
        return Kafka.get(admin.listConsumerGroups().all()).stream().map(ConsumerGroupListing::groupId).collect(Collectors.toSet());
    }

    static void sendOffsets(KafkaProducer<?, ?> producer, Map<TopicPartition, OffsetAndMetadata> offsets, KafkaConsumer<?, ?> consumer, String group) {
        producer.sendOffsetsToTransaction(offsets, group);
    }
}
