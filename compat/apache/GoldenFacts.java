import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.FileLogInputStream;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.storage.internals.log.AbortedTxn;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.OffsetIndex;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.TimeIndex;
import org.apache.kafka.storage.internals.log.TransactionIndex;

/**
 * What Apache Kafka's own classes read from a data directory, as JSON: the
 * expectation against which the golden directories are read.
 *
 * Usage: GoldenFacts DATA_DIR
 */
public class GoldenFacts {
    public static void main(String[] args) throws Exception {
        Path data = Path.of(args[0]);
        Map<String, Object> partitions = new TreeMap<>();
        try (Stream<Path> dirs = Files.list(data)) {
            for (Path dir : dirs.filter(Files::isDirectory).sorted().toList()) {
                String name = dir.getFileName().toString();
                if (!name.endsWith("-delete")) {
                    partitions.put(name, partition(data, dir));
                }
            }
        }
        // A line per partition, batch and record, so that a difference can be read.
        System.out.println(new ObjectMapper().writeValueAsString(partitions)
            .replace("]},\"", "]},\n\"")
            .replace("{\"base_offset\"", "\n {\"base_offset\"")
            .replace("{\"offset\"", "\n  {\"offset\""));
    }

    static Map<String, Object> partition(Path data, Path dir) throws Exception {
        String name = dir.getFileName().toString();
        Map<String, Object> facts = new LinkedHashMap<>();
        List<Object> segments = new ArrayList<>();
        List<Object> batches = new ArrayList<>();
        long end = 0;
        List<File> logs;
        try (Stream<Path> files = Files.list(dir)) {
            logs = files.filter(f -> f.toString().endsWith(".log")).sorted().map(Path::toFile).toList();
        }
        for (File log : logs) {
            long base = Long.parseLong(log.getName().split("\\.")[0]);
            end = Math.max(end, base);
            try (FileRecords records = FileRecords.open(log, false)) {
                for (FileLogInputStream.FileChannelRecordBatch batch : records.batches()) {
                    batches.add(batch(base, batch));
                    end = batch.nextOffset();
                }
                segments.add(segment(base, log, records.sizeInBytes()));
            }
        }
        facts.put("log_start_offset", checkpoint(data.resolve("log-start-offset-checkpoint"), name,
            logs.isEmpty() ? 0L : Long.parseLong(logs.get(0).getName().split("\\.")[0])));
        facts.put("log_end_offset", end);
        facts.put("recovery_point", checkpoint(data.resolve("recovery-point-offset-checkpoint"), name, null));
        facts.put("high_watermark", checkpoint(data.resolve("replication-offset-checkpoint"), name, null));
        facts.put("leader_epochs", epochs(dir.resolve("leader-epoch-checkpoint")));
        facts.put("producers", newestProducers(dir));
        facts.put("segments", segments);
        facts.put("batches", batches);
        return facts;
    }

    static Map<String, Object> batch(long segment, FileLogInputStream.FileChannelRecordBatch b) throws Exception {
        Map<String, Object> m = new LinkedHashMap<>();
        m.put("base_offset", b.baseOffset());
        m.put("last_offset", b.lastOffset());
        m.put("segment", segment);
        m.put("position", b.position());
        m.put("bytes", b.sizeInBytes());
        m.put("leader_epoch", b.partitionLeaderEpoch());
        m.put("crc", b.checksum());
        m.put("valid", b.isValid());
        m.put("codec", b.compressionType().name);
        m.put("timestamp_type", b.timestampType().toString());
        m.put("max_timestamp", b.maxTimestamp());
        m.put("producer_id", b.producerId());
        m.put("producer_epoch", b.producerEpoch());
        m.put("base_sequence", b.baseSequence());
        m.put("last_sequence", b.lastSequence());
        m.put("transactional", b.isTransactional());
        m.put("control", b.isControlBatch());
        m.put("delete_horizon", b.deleteHorizonMs().isPresent() ? b.deleteHorizonMs().getAsLong() : null);
        m.put("count", b.countOrNull());
        List<Object> records = new ArrayList<>();
        for (Record r : b) {
            records.add(record(r));
        }
        m.put("records", records);
        return m;
    }

    static Map<String, Object> record(Record r) throws Exception {
        Map<String, Object> m = new LinkedHashMap<>();
        m.put("offset", r.offset());
        m.put("timestamp", r.timestamp());
        m.put("key", base64(r.key()));
        m.put("value_sha256", r.value() == null ? null : sha256(r.value()));
        if (r.headers().length > 0) {
            List<Object> headers = new ArrayList<>();
            for (Header h : r.headers()) {
                Map<String, Object> header = new LinkedHashMap<>();
                header.put("key", h.key());
                header.put("value", h.value() == null ? null : Base64.getEncoder().encodeToString(h.value()));
                headers.add(header);
            }
            m.put("headers", headers);
        }
        return m;
    }

    static String base64(ByteBuffer b) {
        if (b == null) {
            return null;
        }
        byte[] bytes = new byte[b.remaining()];
        b.duplicate().get(bytes);
        return Base64.getEncoder().encodeToString(bytes);
    }

    static String sha256(ByteBuffer b) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        digest.update(b.duplicate());
        return HexFormat.of().formatHex(digest.digest());
    }

    static Map<String, Object> segment(long base, File log, int bytes) throws Exception {
        String stem = log.getPath().substring(0, log.getPath().length() - ".log".length());
        Map<String, Object> m = new LinkedHashMap<>();
        m.put("base", base);
        m.put("bytes", bytes);
        // Pairs, stopping at the zeros that preallocation leaves after a kill.
        List<Object> offsets = new ArrayList<>();
        if (new File(stem + ".index").exists()) {
            try (OffsetIndex index = new OffsetIndex(new File(stem + ".index"), base, -1, false)) {
                for (int i = 0; i < index.entries() && (i == 0 || index.entry(i).offset() != base); i++) {
                    if (index.entry(i).offset() != base || index.entry(i).position() != 0 || i > 0) {
                        offsets.add(List.of(index.entry(i).offset(), index.entry(i).position()));
                    }
                }
            }
        }
        m.put("index", offsets);
        List<Object> times = new ArrayList<>();
        if (new File(stem + ".timeindex").exists()) {
            try (TimeIndex index = new TimeIndex(new File(stem + ".timeindex"), base, -1, false)) {
                for (int i = 0; i < index.entries() && index.entry(i).timestamp() != 0; i++) {
                    times.add(List.of(index.entry(i).timestamp(), index.entry(i).offset()));
                }
            }
        }
        m.put("timeindex", times);
        List<Object> aborted = new ArrayList<>();
        if (new File(stem + ".txnindex").exists()) {
            try (TransactionIndex index = new TransactionIndex(base, new File(stem + ".txnindex"))) {
                for (AbortedTxn t : index.allAbortedTxns()) {
                    Map<String, Object> txn = new LinkedHashMap<>();
                    txn.put("producer_id", t.producerId());
                    txn.put("first_offset", t.firstOffset());
                    txn.put("marker_offset", t.lastOffset());
                    txn.put("last_stable_offset", t.lastStableOffset());
                    aborted.add(txn);
                }
            }
        }
        m.put("aborted", aborted);
        return m;
    }

    static List<Object> newestProducers(Path dir) throws Exception {
        try (Stream<Path> files = Files.list(dir)) {
            List<Path> snapshots = files.filter(f -> f.toString().endsWith(".snapshot")).sorted().toList();
            if (snapshots.isEmpty()) {
                return null;
            }
            List<Object> producers = new ArrayList<>();
            for (ProducerStateEntry e : ProducerStateManager.readSnapshot(snapshots.get(snapshots.size() - 1).toFile())) {
                Map<String, Object> m = new LinkedHashMap<>();
                m.put("producer_id", e.producerId());
                m.put("producer_epoch", e.producerEpoch());
                m.put("coordinator_epoch", e.coordinatorEpoch());
                m.put("txn_first_offset", e.currentTxnFirstOffset().isPresent() ? e.currentTxnFirstOffset().getAsLong() : null);
                m.put("last_timestamp", e.lastTimestamp());
                if (!e.batchMetadata().isEmpty()) {
                    BatchMetadata b = e.batchMetadata().iterator().next();
                    m.put("first_sequence", b.firstSeq());
                    m.put("last_sequence", b.lastSeq());
                    m.put("last_offset", b.lastOffset());
                    m.put("offset_delta", b.offsetDelta());
                    m.put("batch_timestamp", b.timestamp());
                }
                producers.add(m);
            }
            return producers;
        }
    }

    static List<Object> epochs(Path file) throws Exception {
        List<Object> epochs = new ArrayList<>();
        if (Files.exists(file)) {
            for (String line : Files.readAllLines(file).stream().skip(2).toList()) {
                String[] parts = line.split(" ");
                epochs.add(List.of(Integer.parseInt(parts[0]), Long.parseLong(parts[1])));
            }
        }
        return epochs;
    }

    /** The offset that a checkpoint of the data directory names for a partition. */
    static Long checkpoint(Path file, String partition, Long otherwise) throws Exception {
        if (Files.exists(file)) {
            int dash = partition.lastIndexOf('-');
            String prefix = partition.substring(0, dash) + " " + partition.substring(dash + 1) + " ";
            for (String line : Files.readAllLines(file)) {
                if (line.startsWith(prefix)) {
                    return Long.parseLong(line.substring(prefix.length()));
                }
            }
        }
        return otherwise;
    }
}
