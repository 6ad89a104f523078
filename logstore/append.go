package logstore

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// Appended says where a batch went.
type Appended struct {
	Base, Last int64 // Offsets of its first and last record.
	// TimestampMs is the batch's newest timestamp, which is the time of the append on a
	// topic with LogAppendTime.
	TimestampMs int64
	// Duplicate says that the batch was appended before, and that the other fields tell
	// of then. The answer must wait for replication as if it were new.
	Duplicate bool
	// FlushDue says that Config.FlushMessages records wait to be synced: the owner calls
	// Flush, outside its own lock so that others can join, before it acknowledges.
	FlushDue bool
}

// Append appends one batch of a leader: it assigns the next offsets, stamps them and
// the leader epoch into b, which must have been admitted, and writes it.
//
// Errors of the producer state (see producer.Check) and *BatchTooLargeError refuse the
// batch; a *StorageError means that the disk did, and that the log is as it was; a
// *FailedError that the log takes no more writes.
//
// A batch that begins a transaction is trusted to be known to its coordinator.
func (l *Log) Append(now time.Time, b batch.Batch, epoch int32, o producer.Origin) (Appended, error) {
	return l.append(now, b, epoch, o, producer.Trusted, 0)
}

// AppendGuarded is Append for a batch that may begin a transaction, with the guard
// that Verify gave for it.
func (l *Log) AppendGuarded(now time.Time, b batch.Batch, epoch int32, o producer.Origin, g producer.Guard) (Appended, error) {
	return l.append(now, b, epoch, o, g, 0)
}

// Verify says which guard a transactional batch of the producer needs: see
// producer.State.Verify. Any goroutine may ask.
func (l *Log) Verify(now time.Time, v producer.Verification) (producer.Guard, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.producers.Verify(v, now.UnixMilli())
}

// AppendMarker is Append for the control batch that ends a transaction. txnVersion is
// the version of the transaction protocol from WriteTxnMarkers: from 2 on the marker
// must bear a newer epoch than the data (KIP-890).
func (l *Log) AppendMarker(now time.Time, b batch.Batch, epoch int32, txnVersion int16) (Appended, error) {
	return l.append(now, b, epoch, producer.Coordinator, producer.Trusted, txnVersion)
}

func (l *Log) append(now time.Time, b batch.Batch, epoch int32, o producer.Origin, g producer.Guard, txnVersion int16) (Appended, error) {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usableLocked(); err != nil {
		return Appended{}, err
	}
	if limit := l.config.Load().SegmentBytes; int64(len(b)) > limit {
		return Appended{}, &BatchTooLargeError{int64(len(b)), limit}
	}
	marker, err := markerOf(b)
	if err != nil {
		return Appended{}, err
	}
	switch v, err := l.checkProducer(b, marker, o, g, txnVersion); {
	case err != nil:
		return Appended{}, err
	case v.Duplicate:
		// No side effect but this: what the duplicate answers for must be as durable.
		return Appended{Base: v.Base, Last: v.Last, TimestampMs: v.TimestampMs, Duplicate: true, FlushDue: l.FlushDue()}, nil
	}
	b.SetBaseOffset(l.End().Offset)
	b.SetLeaderEpoch(epoch)
	if err := l.write(now, b, extentOf(b)); err != nil {
		return Appended{}, err
	}
	l.note(now, b, marker)
	return Appended{Base: b.BaseOffset(), Last: b.LastOffset(), TimestampMs: b.MaxTimestamp(), FlushDue: l.FlushDue()}, l.Err()
}

func (l *Log) checkProducer(b batch.Batch, m *producer.Marker, o producer.Origin, g producer.Guard, txnVersion int16) (producer.Verdict, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m != nil {
		return producer.Verdict{}, l.mu.producers.CheckMarker(b, *m, o, txnVersion)
	}
	return l.mu.producers.Check(b, o, g)
}

// AppendReplica appends whole batches as a leader stamped them: offsets and epochs are
// kept, gaps between them too. Their checksums and order are checked before anything is
// written. *AppendOffsetError says that they begin below the end of this log.
//
// When a follower's log is empty because it began at a leader's log start, and that
// lies inside the leader's first batch, the log starts again at the batch's base: the
// start stays where it was.
func (l *Log) AppendReplica(now time.Time, batches []byte) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	x, err := l.inspect(batches)
	if err != nil || x.sizeBytes == 0 {
		return err
	}
	batches = batches[:x.sizeBytes] // A batch cut off at the end is for the next fetch.
	start, end := l.Start(), l.End().Offset
	if x.first < end {
		if end != start || x.last < end {
			return &AppendOffsetError{x.first, end}
		}
		if err := l.restart(now, x.first); err != nil {
			return err
		}
	}
	if err := l.write(now, batches, x); err != nil {
		return err
	}
	for rest := batches; len(rest) > 0; {
		b, after, _ := batch.Next(rest) // Checked by inspect.
		marker, err := markerOf(b)
		if err != nil {
			marker = nil // The leader took it; consumers will judge it too.
		}
		l.note(now, b, marker)
		rest = after
	}
	if l.Start() < start {
		l.publish(func(s *state) {
			s.start = start
			s.hw = Mark{start, s.end.Segment, 0}
		})
	}
	return l.Err()
}

// AppendMetadata is AppendReplica for the metadata log, whose offsets and epochs the
// quorum assigns.
func (l *Log) AppendMetadata(now time.Time, batches []byte) error {
	return l.AppendReplica(now, batches)
}

// Reserve makes sure that the next append of up to n bytes will not fail for want of
// space, as far as the file system can promise that: for an owner who cannot take back
// what he is about to append. Called by the owner.
func (l *Log) Reserve(n int) error {
	if err := l.Err(); err != nil {
		return err
	}
	if !l.onDisk.Load() {
		return nil // There is no file yet to reserve in.
	}
	if err := l.state.Load().active().Reserve(int64(n)); err != nil {
		return &StorageError{Op: "reserve space", Dir: l.Dir(), Err: err}
	}
	return nil
}

// extent is what is written at once.
type extent struct {
	first, last int64 // Offsets.
	newest      int64 // Timestamp.
	sizeBytes   int64
}

func extentOf(b batch.Batch) extent {
	return extent{b.BaseOffset(), b.LastOffset(), b.MaxTimestamp(), int64(len(b))}
}

// inspect checks the batches that a replica is given. Bytes at the end that are the
// beginning of a batch are not counted.
func (l *Log) inspect(batches []byte) (extent, error) {
	x := extent{newest: segment.NoTimestamp}
	for rest := batches; len(rest) > 0; {
		b, after, err := batch.Next(rest)
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			return extent{}, err
		}
		if err := b.CheckCRC(); err != nil {
			return extent{}, err
		}
		if b.LastOffsetDelta() < 0 || x.sizeBytes > 0 && b.BaseOffset() <= x.last {
			return extent{}, &batch.CorruptError{Offset: b.BaseOffset(), Reason: fmt.Sprintf("offset follows %d in one append", x.last)}
		}
		if x.sizeBytes == 0 {
			x.first = b.BaseOffset()
		}
		if b.LastOffset()-x.first > maxRelative { // No segment of a leader holds both.
			return extent{}, &batch.CorruptError{Offset: b.BaseOffset(), Reason: fmt.Sprintf("offset is too far above %d for one append", x.first)}
		}
		x.last, x.newest = b.LastOffset(), max(x.newest, b.MaxTimestamp())
		x.sizeBytes += int64(len(b))
		rest = after
	}
	return x, nil
}

// write puts batches at the end of the active segment, or of a new one if it is time,
// and tells when the disk begins to refuse them and when it takes them again.
func (l *Log) write(now time.Time, batches []byte, x extent) error {
	err := l.tryWrite(now, batches, x)
	switch refused := err != nil; {
	case refused == l.writer.refused:
	case refused:
		l.logger.Error("log cannot be written, appends are refused until it can", slog.String("dir", l.Dir()),
			slog.Int64("end_offset", l.End().Offset), slog.Any("err", err))
	default:
		l.logger.Info("log is written again", slog.String("dir", l.Dir()))
	}
	l.writer.refused = err != nil
	return err
}

func (l *Log) tryWrite(now time.Time, batches []byte, x extent) error {
	l.writer.touched = true
	if err := l.materialize(); err != nil {
		return l.ioError("append", err)
	}
	before := l.state.Load()
	due, err := l.rollDue(now, x)
	if err == nil && due {
		base := l.writer.tail
		if x.last-base > maxRelative {
			base = x.first // A gap as wide as that is a leader's, by compaction.
		}
		err = l.roll(now, base)
	}
	if err != nil {
		return l.ioError("roll", err)
	}
	active := l.state.Load().active()
	if err := active.Append(batches); err != nil {
		if torn, ok := errors.AsType[*segment.TornError](err); ok {
			return l.fail(torn)
		}
		if active.Base() > l.writer.tail {
			if undo := l.unroll(now, before); undo != nil {
				return l.fail(errors.Join(err, undo))
			}
		}
		return l.ioError("append", err)
	}
	l.store.metrics.appended(len(batches))
	return nil
}

// note takes in a batch that was written: in the leader epochs, the producer state,
// the transaction index and the published end.
func (l *Log) note(now time.Time, b batch.Batch, m *producer.Marker) {
	st := l.state.Load()
	active := st.active()
	at := Mark{b.BaseOffset(), active.Base(), st.end.Position}
	if st.end.Segment != active.Base() {
		at.Position = 0
	}
	end := Mark{b.NextOffset(), active.Base(), at.Position + int64(len(b))}
	l.writer.tail = end.Offset

	l.mu.Lock()
	if b.LeaderEpoch() >= 0 && l.mu.epochs.Assign(b.LeaderEpoch(), b.BaseOffset()) || l.mu.epochWaits {
		l.mu.epochsDirty, l.mu.epochWaits = true, false
	}
	done := l.mu.producers.Apply(b, m)
	l.mu.recent.push(place{at, end.Offset, int64(len(b))})
	l.mu.unflushed += end.Offset - at.Offset
	if l.mu.dirtySince.IsZero() {
		l.mu.dirtySince = now
	}
	l.mu.Unlock()

	if done != nil && done.Aborted {
		l.sync.names.change() // The index may be new.
		// The batch is in the log, so the end must move whatever becomes of the index. A
		// missing entry would show aborted records as committed: the log stops here, and
		// the scan at the next start makes the index again.
		if err := active.AppendAborted(done.Index()); err != nil {
			_ = l.fail(fmt.Errorf("transaction index of segment %d: %w", active.Base(), err))
		}
	}
	l.publish(func(s *state) { s.end = end })
	l.wantMaintain()
}
