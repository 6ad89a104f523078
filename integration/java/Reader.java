import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Reads a topic from its beginning, and after standard input was closed to what is its end then.
 *
 * <p>Arguments: bootstrap, topic, isolation level. Each record is a line of partition, offset, key
 * and value with tabs between.
 */
public final class Reader {
    private Reader() {}

    public static void main(String[] args) throws Exception {
        Stdin.watch();
        Properties p = new Properties();
        p.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        p.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        p.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        p.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, args[2]);
        p.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none"); // An offset that is gone is an error.
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(p)) {
            List<TopicPartition> all = consumer.partitionsFor(args[1]).stream()
                .map(i -> new TopicPartition(i.topic(), i.partition())).collect(Collectors.toList());
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = null;
            while (ends == null || !reached(consumer, ends)) {
                if (ends == null && Stdin.closed()) {
                    ends = ends(p, all);
                }
                for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(100))) {
                    System.out.println(r.partition() + "\t" + r.offset() + "\t" + r.key() + "\t" + r.value());
                }
            }
        }
    }

    private static boolean reached(KafkaConsumer<String, String> consumer, Map<TopicPartition, Long> ends) {
        return ends.entrySet().stream().allMatch(e -> consumer.position(e.getKey()) >= e.getValue());
    }

    /**
     * The high watermarks: the last stable offset, the end to a reader of committed records, may
     * still stand before a transaction whose commit was answered already.
     */
    private static Map<TopicPartition, Long> ends(Properties p, List<TopicPartition> all) throws Exception {
        Map<TopicPartition, Long> ends = new HashMap<>();
        try (Admin admin = Admin.create(p)) {
            admin.listOffsets(all.stream().collect(Collectors.toMap(tp -> tp, tp -> OffsetSpec.latest())))
                .all().get().forEach((tp, o) -> ends.put(tp, o.offset()));
        }
        return ends;
    }
}
