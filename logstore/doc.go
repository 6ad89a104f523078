// Package logstore keeps partitions on disk: a Store is one data directory, a Log
// one partition in it. The files are Kafka's, byte for byte, so that Kafka's own
// tools can judge what is written here and a directory of Kafka's can be read.
//
// # The walk of a record
//
// Append is given one batch that was already admitted (protocol/batch.Admit). It
// asks the producer state whether the batch continues its sequence, stamps offset
// and leader epoch into the header, which the checksum does not cover, and writes
// the bytes with one pwrite at the end of the newest segment. Then it notes the
// batch in the sparse indexes and in the producer state, both in memory, and
// publishes the new end. Nothing is synced: Flush does that, once for all who wait.
//
// Read finds the segment by binary search, the nearest index entry below the
// offset, and from there walks batch headers with pread. It answers with a Span: a
// range of the segment file, pinned, which the network layer sends from a read-only
// mapping or with sendfile. Go code never loads a mapped byte (a truncated file
// would turn the load into a fatal signal); who wants the bytes copies them by pread.
//
// # Marks
//
// A Log publishes one immutable value that holds the segment list, the start and
// three marks {offset, segment, position}: end, high watermark and last stable
// offset. A reader takes the value once and sees a log that does not move; a span
// runs from the batch found to the mark without a second look-up. Appending and
// reading therefore never wait for each other.
//
// # Who may call
//
// Append, AppendReplica, Truncate, TruncateFully, AssignEpoch, SetHighWatermark and
// AdvanceStart belong to the partition's owner, one at a time. Retain is called by
// Store.Maintain and takes its turn behind the owner's calls. Everything else may be
// called from any goroutine.
//
// # Crash safety
//
// A write that fails half way is cut off again before the next one. After kill -9
// nothing is lost: the page cache has it. After a power cut the segments at and
// above the recovery point are scanned batch by batch, cut at the first byte that
// is not a valid batch, and their indexes and the producer state rebuilt; below it
// everything was synced, with its indexes. A clean stop leaves a marker, written
// last, and the next start then scans nothing; with the manifest (manifest.go) it does
// not even list the directories. A sync that fails makes the log refuse writes until
// the process restarts, because the kernel may have dropped the pages that it could
// not write.
//
// Three orders keep a crash from leaving a hole, which no checksum would show. A
// truncation takes segments from the end, each durably before the next. Retention
// removes files only when the new start is durable. A segment is named by the end of
// the batches before it, so one that lost its end to a crash is found out, and what
// follows it is cut; only behind a gap of 2^31 offsets, which a leader's compaction may
// leave, it is named by its first batch. Checkpoints never stand above the truth: who lowers a start or a
// recovery point writes it before he returns.
//
// # Invariants
//
// Checked after every change in builds with the tag invariants (see check.go):
//
//	start <= stable <= high watermark <= end
//	there is always a segment; their bases strictly increase; the first is <= start
//	only the last segment is open for writing
//	flushed <= end
//	leader epochs and their start offsets strictly increase, and lie below or at end
//
// # Where to begin
//
// log.go has the Log and what it publishes, append.go and read.go the two walks
// above; load.go opens one partition and recovers it; store.go is the directory.
// verify.go is an independent reading of the files by the rules of Kafka's dump
// tool, for tests and for whoever doubts a directory.
//
// Not here: replication and the decision how far readers may see (broker), the
// checks on a client's batch (protocol/batch), the rules of idempotence
// (logstore/producer), which records compaction keeps (logstore/compact).
package logstore
