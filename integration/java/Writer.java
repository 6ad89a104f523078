import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A transactional producer, written as Kafka's documentation says one is.
 *
 * <p>Arguments: bootstrap, topic, partitions, transactional id, transactions, records of each.
 * Record K of transaction I has the value "ID/I/K" and goes to partition K modulo partitions.
 * Every fifth transaction, I modulo 5 = 4, is aborted; every other is committed, however often
 * that has to be tried. A line "committed I" or "aborted I" tells of each.
 */
public final class Writer {
    private final KafkaProducer<String, String> producer;
    private final String topic;
    private final int partitions;
    private final String id;
    private final int size;

    private Writer(String bootstrap, String topic, int partitions, String id, int size) {
        Properties p = new Properties();
        p.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        p.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        p.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        p.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, id);
        this.producer = new KafkaProducer<>(p);
        this.topic = topic;
        this.partitions = partitions;
        this.id = id;
        this.size = size;
    }

    public static void main(String[] args) {
        int transactions = Integer.parseInt(args[4]);
        Writer w = new Writer(args[0], args[1], Integer.parseInt(args[2]), args[3], Integer.parseInt(args[5]));
        w.producer.initTransactions();
        for (int i = 0; i < transactions; i++) {
            boolean commit = i % 5 != 4;
            while (!w.transaction(i, commit)) {
                System.err.println("transaction " + i + " is tried again");
            }
            System.out.println((commit ? "committed " : "aborted ") + i);
        }
        w.producer.close();
    }

    /** Writes one transaction; false if it was aborted and must be tried again. */
    private boolean transaction(int i, boolean commit) {
        try {
            producer.beginTransaction();
            for (int k = 0; k < size; k++) {
                producer.send(new ProducerRecord<>(topic, k % partitions, null, id + "/" + i + "/" + k));
            }
            if (commit) {
                commit();
            } else {
                producer.flush(); // So that there is something to abort.
                abort();
            }
            return true;
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException e) {
            throw e; // Nothing that a broker's restart may do to a lone producer.
        } catch (KafkaException e) {
            System.err.println("transaction " + i + ": " + e);
            abort();
            return false;
        }
    }

    /** After a timeout the outcome is not known; only the same call may be made again. */
    private void commit() {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException e) {
                System.err.println("commit: " + e);
            }
        }
    }

    private void abort() {
        while (true) {
            try {
                producer.abortTransaction();
                return;
            } catch (TimeoutException e) {
                System.err.println("abort: " + e);
            }
        }
    }
}
