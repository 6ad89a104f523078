import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidRegularExpression;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A member of a KIP-848 group that subscribes to a regular expression. It leaves when standard
 * input is closed.
 *
 * <p>Arguments: bootstrap, group, expression. Lines, with tabs between: "record", topic,
 * partition, offset, value; "owns" and how many partitions, each time that changes; "refused" when
 * the expression is none.
 */
public final class Member implements ConsumerRebalanceListener {
    private final KafkaConsumer<String, String> consumer;

    private Member(String bootstrap, String group) {
        Properties p = new Properties();
        p.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        p.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        p.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        p.put(ConsumerConfig.GROUP_ID_CONFIG, group);
        p.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "consumer");
        p.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        p.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        p.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 20);
        this.consumer = new KafkaConsumer<>(p);
    }

    public static void main(String[] args) {
        Stdin.watch();
        Member m = new Member(args[0], args[1]);
        try (KafkaConsumer<String, String> consumer = m.consumer) {
            consumer.subscribe(new SubscriptionPattern(args[2]), m);
            while (!Stdin.closed()) {
                m.step();
            }
        } catch (InvalidRegularExpression e) {
            System.out.println("refused\t" + e.getMessage());
        }
    }

    /** Takes some records, and commits them before it takes others. */
    private void step() {
        ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        for (ConsumerRecord<String, String> r : records) {
            System.out.println("record\t" + r.topic() + "\t" + r.partition() + "\t" + r.offset() + "\t" + r.value());
            next.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
        }
        if (next.isEmpty()) {
            return;
        }
        while (true) { // However long the broker is away.
            try {
                consumer.commitSync(next);
                return;
            } catch (TimeoutException e) {
                System.err.println("commit: " + e);
            }
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        owns(consumer.assignment());
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        Set<TopicPartition> rest = new HashSet<>(consumer.assignment());
        rest.removeAll(partitions);
        owns(rest);
    }

    private static void owns(Set<TopicPartition> partitions) {
        System.out.println("owns\t" + partitions.size());
    }
}
