import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The traffic behind the golden directories: small topics that between them hold
 * every kind of thing that Apache Kafka leaves on disk. The script "golden"
 * starts the control, runs the phases and copies what they leave.
 *
 * Usage: GoldenTraffic BOOTSTRAP first|again|last
 */
public class GoldenTraffic {
    /** Timestamps count from here, so that they are the same in every remake. */
    static final long T0 = 1_750_000_000_000L;

    static String bootstrap;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        switch (args[1]) {
            case "first" -> first();
            case "again" -> again();
            case "last" -> last();
            default -> throw new IllegalArgumentException("phase " + args[1]);
        }
    }

    /** Everything once, on an empty cluster. */
    static void first() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            topic(admin, "segments", 2, "internal.segment.bytes", "8192", "index.interval.bytes", "1024");
            topic(admin, "codecs", 1);
            topic(admin, "recompressed", 1, "compression.type", "lz4");
            topic(admin, "appendtime", 1, "message.timestamp.type", "LogAppendTime");
            topic(admin, "idempotent", 1);
            topic(admin, "transactions", 1, "internal.segment.bytes", "2048", "index.interval.bytes", "256");
            topic(admin, "compacted", 1, "cleanup.policy", "compact", "internal.segment.bytes", "1024",
                "min.cleanable.dirty.ratio", "0.01");
            topic(admin, "epochs", 1);
            topic(admin, "cut", 1, "internal.segment.bytes", "1024", "file.delete.delay.ms", "100");
            topic(admin, "empty", 1);
            topic(admin, "doomed", 1);

            plain();
            codecs();
            idempotent();
            transactions();
            compacted();
            cut(admin);
            groups(admin);
            metadata(admin);
        }
    }

    /** A few records more, after a restart: another leader epoch. */
    static void again() throws Exception {
        try (KafkaProducer<byte[], byte[]> p = producer("acks", "all", "enable.idempotence", "false")) {
            for (int i = 0; i < 3; i++) {
                send(p, "epochs", 0, T0 + 50_000 + i, "k" + i, "epoch record " + i);
            }
        }
        consume("golden-classic", "classic", 20);
    }

    /** What stands open when the broker is killed. */
    static void last() throws Exception {
        again();
        idempotent();
        transactions();
        try (KafkaProducer<byte[], byte[]> p = producer("transactional.id", "golden-open", "transaction.timeout.ms", "900000")) {
            p.initTransactions();
            p.beginTransaction();
            for (int i = 0; i < 4; i++) {
                send(p, "transactions", 0, T0 + 90_000 + i, "open" + i, "never decided");
                p.flush();
            }
            Runtime.getRuntime().halt(0); // The transaction stays open: no close, no abort.
        }
    }

    static void topic(Admin admin, String name, int partitions, String... configs) throws Exception {
        Map<String, String> map = new HashMap<>(Map.of("retention.ms", "-1", "segment.index.bytes", "4096"));
        for (int i = 0; i < configs.length; i += 2) {
            map.put(configs[i], configs[i + 1]);
        }
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(map))).all().get();
    }

    static KafkaProducer<byte[], byte[]> producer(String... configs) {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("client.id", "golden");
        p.put("key.serializer", ByteArraySerializer.class.getName());
        p.put("value.serializer", ByteArraySerializer.class.getName());
        p.put("linger.ms", "20");
        for (int i = 0; i < configs.length; i += 2) {
            p.put(configs[i], configs[i + 1]);
        }
        return new KafkaProducer<>(p);
    }

    static void send(KafkaProducer<byte[], byte[]> p, String topic, int partition, long timestamp, String key, String value) {
        p.send(new ProducerRecord<>(topic, partition, timestamp, bytes(key), bytes(value)));
    }

    static byte[] bytes(String s) {
        return s == null ? null : s.getBytes();
    }

    /** Several segments; null and empty keys and values, headers, timestamps out of order. */
    static void plain() throws Exception {
        try (KafkaProducer<byte[], byte[]> p = producer("enable.idempotence", "false", "acks", "1")) {
            for (int i = 0; i < 120; i++) {
                int partition = i % 3 == 0 ? 1 : 0;
                long timestamp = T0 + i * 10L + (i % 7 == 0 ? -500 : 0);
                ProducerRecord<byte[], byte[]> r = new ProducerRecord<>("segments", partition, timestamp,
                    i % 11 == 0 ? null : i % 13 == 0 ? new byte[0] : bytes("key-" + i),
                    i % 17 == 0 ? null : i % 19 == 0 ? new byte[0] : bytes(("value-" + i + " ").repeat(20)));
                if (i % 5 == 0) {
                    r.headers().add("number", bytes(Integer.toString(i))).add("", null).add("empty", new byte[0]);
                }
                p.send(r);
                if (i % 4 == 3) {
                    p.flush();
                }
            }
        }
    }

    static void codecs() throws Exception {
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            try (KafkaProducer<byte[], byte[]> p = producer("enable.idempotence", "false", "compression.type", codec)) {
                for (int i = 0; i < 10; i++) {
                    send(p, "codecs", 0, T0 + i, codec, (codec + " " + i + " ").repeat(10));
                    send(p, "recompressed", 0, T0 + i, codec, (codec + " " + i + " ").repeat(10));
                    send(p, "appendtime", 0, T0 + i, codec, codec + " " + i);
                }
            }
        }
    }

    static void idempotent() throws Exception {
        for (int n = 0; n < 2; n++) {
            try (KafkaProducer<byte[], byte[]> p = producer()) {
                for (int i = 0; i < 14; i++) {
                    send(p, "idempotent", 0, T0 + 100 * n + i, "p" + n, "idempotent " + i);
                    if (i % 2 == 1) {
                        p.flush(); // Seven batches: more than a window holds.
                    }
                }
            }
        }
    }

    /** Two producers interleaved, so that aborted ranges overlap with committed ones and span segments. */
    static void transactions() throws Exception {
        try (KafkaProducer<byte[], byte[]> a = producer("transactional.id", "golden-a");
             KafkaProducer<byte[], byte[]> b = producer("transactional.id", "golden-b")) {
            a.initTransactions();
            b.initTransactions();
            for (int round = 0; round < 6; round++) {
                a.beginTransaction();
                b.beginTransaction();
                for (int i = 0; i < 3; i++) {
                    send(a, "transactions", 0, T0 + round * 100 + i, "a" + round, ("a " + round + "." + i + " ").repeat(15));
                    a.flush();
                    send(b, "transactions", 0, T0 + round * 100 + i, "b" + round, ("b " + round + "." + i + " ").repeat(15));
                    b.flush();
                }
                if (round % 2 == 0) {
                    a.commitTransaction();
                    b.abortTransaction();
                } else {
                    b.commitTransaction();
                    a.abortTransaction();
                }
            }
        }
    }

    /** Keys written over and over, tombstones, a producer whose last batch is shadowed, an aborted transaction. */
    static void compacted() throws Exception {
        try (KafkaProducer<byte[], byte[]> p = producer()) {
            for (int round = 0; round < 12; round++) {
                for (int key = 0; key < 6; key++) {
                    String value = round == 8 && key < 2 ? null : ("round " + round + " ").repeat(4);
                    if (round > 8 && key < 2) {
                        continue; // Keys 0 and 1 end with their tombstone.
                    }
                    send(p, "compacted", 0, T0 + round * 10 + key, "key-" + key, value);
                }
                p.flush();
            }
        }
        try (KafkaProducer<byte[], byte[]> p = producer("transactional.id", "golden-compact")) {
            p.initTransactions();
            p.beginTransaction();
            send(p, "compacted", 0, T0 + 500, "key-2", "committed");
            p.commitTransaction();
            p.beginTransaction();
            send(p, "compacted", 0, T0 + 501, "key-3", "aborted");
            p.flush();
            p.abortTransaction();
        }
        try (KafkaProducer<byte[], byte[]> p = producer()) {
            for (int i = 0; i < 8; i++) { // Rolls what is above out of the active segment.
                send(p, "compacted", 0, T0 + 600 + i, "key-9", ("last " + i + " ").repeat(30));
                p.flush();
            }
        }
    }

    /** A log whose start was moved by DeleteRecords, into the middle of a segment. */
    static void cut(Admin admin) throws Exception {
        try (KafkaProducer<byte[], byte[]> p = producer("enable.idempotence", "false")) {
            for (int i = 0; i < 40; i++) {
                send(p, "cut", 0, T0 + i, "k" + i, ("cut " + i + " ").repeat(10));
                if (i % 2 == 1) {
                    p.flush();
                }
            }
        }
        admin.deleteRecords(Map.of(new TopicPartition("cut", 0), RecordsToDelete.beforeOffset(21))).all().get();
    }

    static void consume(String group, String protocol, int atLeast, String... configs) {
        Properties c = new Properties();
        c.put("bootstrap.servers", bootstrap);
        c.put("group.id", group);
        c.put("client.id", "golden");
        c.put("group.protocol", protocol);
        c.put("auto.offset.reset", "earliest");
        c.put("enable.auto.commit", "false");
        c.put("max.poll.records", "7");
        c.put("key.deserializer", ByteArrayDeserializer.class.getName());
        c.put("value.deserializer", ByteArrayDeserializer.class.getName());
        for (int i = 0; i < configs.length; i += 2) {
            c.put(configs[i], configs[i + 1]);
        }
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(c)) {
            consumer.subscribe(List.of("segments", "codecs"));
            int seen = 0;
            while (seen < atLeast) {
                ConsumerRecords<byte[], byte[]> got = consumer.poll(Duration.ofMillis(500));
                seen += got.count();
                Map<TopicPartition, OffsetAndMetadata> at = new HashMap<>();
                for (TopicPartition tp : got.partitions()) {
                    at.put(tp, new OffsetAndMetadata(consumer.position(tp), Optional.of(0), "seen " + seen));
                }
                if (!at.isEmpty()) {
                    consumer.commitSync(at);
                }
                if (got.isEmpty() && seen > 0) {
                    break;
                }
            }
        }
    }

    static void groups(Admin admin) throws Exception {
        consume("golden-classic", "classic", 40);
        consume("golden-static", "classic", 20, "group.instance.id", "member-1");
        consume("golden-modern", "consumer", 20);
        consume("golden-gone", "classic", 20);
        admin.deleteConsumerGroups(List.of("golden-gone")).all().get();
        consume("golden-deleted", "classic", 20);
        admin.deleteConsumerGroupOffsets("golden-deleted", Set.of(new TopicPartition("codecs", 0))).all().get();
        // Offsets committed within a transaction, and without a member.
        try (KafkaProducer<byte[], byte[]> p = producer("transactional.id", "golden-offsets")) {
            p.initTransactions();
            for (int i = 0; i < 2; i++) {
                p.beginTransaction();
                p.sendOffsetsToTransaction(Map.of(new TopicPartition("codecs", 0), new OffsetAndMetadata(11 + i)),
                    new org.apache.kafka.clients.consumer.ConsumerGroupMetadata("golden-transactional"));
                if (i == 0) {
                    p.commitTransaction();
                } else {
                    p.abortTransaction();
                }
            }
        }
    }

    /** One of each kind of metadata record that a cluster of one can be made to write. */
    static void metadata(Admin admin) throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "empty");
        Collection<AlterConfigOp> set = List.of(
            new AlterConfigOp(new ConfigEntry("max.message.bytes", "2000000"), AlterConfigOp.OpType.SET),
            new AlterConfigOp(new ConfigEntry("flush.ms", "1000"), AlterConfigOp.OpType.SET));
        admin.incrementalAlterConfigs(Map.of(topic, set)).all().get();
        admin.incrementalAlterConfigs(Map.of(topic, List.of(
            new AlterConfigOp(new ConfigEntry("flush.ms", ""), AlterConfigOp.OpType.DELETE)))).all().get();
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.BROKER, ""), List.of(
            new AlterConfigOp(new ConfigEntry("message.max.bytes", "1500000"), AlterConfigOp.OpType.SET)))).all().get();
        admin.createPartitions(Map.of("empty", NewPartitions.increaseTo(3))).all().get();
        admin.deleteTopics(List.of("doomed")).all().get();
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(
            new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "alice")),
            List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1024.0))))).all().get();
        admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion("alice",
            new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), "secret"))).all().get();
        List<AclBinding> acls = new ArrayList<>();
        for (AclOperation op : List.of(AclOperation.READ, AclOperation.DESCRIBE)) {
            acls.add(new AclBinding(new ResourcePattern(ResourceType.TOPIC, "seg", PatternType.PREFIXED),
                new AccessControlEntry("User:alice", "*", op, AclPermissionType.ALLOW)));
        }
        admin.createAcls(acls).all().get();
        admin.deleteAcls(List.of(acls.get(1).toFilter())).all().get();
    }
}
