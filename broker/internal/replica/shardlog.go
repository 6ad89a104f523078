package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// shardLog is a partition as the log of a coordinator's shard, for one leader
// epoch.
type shardLog struct {
	p        *Partition
	epoch    int32
	onCommit func() // Set and taken away by the runtime, one call at a time.
}

// ShardLog is the partition as the log of a coordinator's shard, while this broker
// leads it in the given epoch.
func (p *Partition) ShardLog(epoch int32) coordinator.Log { return &shardLog{p: p, epoch: epoch} }

var _ coordinator.TxnLog = (*shardLog)(nil)

// Append writes the records as one batch, as if with AcksAll.
func (l *shardLog) Append(now time.Time, recs []coordinator.Record) (base int64, err error) {
	return l.write(now, recs, batch.Plain(0, l.epoch), producer.NoGuard)
}

// AppendWithin implements coordinator.TxnLog.
func (l *shardLog) AppendWithin(now time.Time, w coordinator.Within, recs []coordinator.Record) (base int64, err error) {
	meta := batch.Plain(0, l.epoch)
	meta.ProducerID, meta.ProducerEpoch, meta.Transactional = w.ProducerID, w.Epoch, true
	return l.write(now, recs, meta, producer.Guard(w.Guard))
}

// AppendEnd implements coordinator.TxnLog.
func (l *shardLog) AppendEnd(now time.Time, m coordinator.Marker) error {
	meta := batch.Plain(0, l.epoch)
	meta.ProducerID, meta.ProducerEpoch = m.ProducerID, m.Epoch
	_, err := l.append(now, batch.EndTxn(meta, m.Commit, m.CoordinatorEpoch, now.UnixMilli()), AppendOptions{TxnVersion: m.Version})
	return err
}

// write makes a batch of the records and appends it.
func (l *shardLog) write(now time.Time, recs []coordinator.Record, meta batch.Meta, g producer.Guard) (base int64, err error) {
	cfg := l.p.config.Load()
	b := batch.NewBuilder(meta)
	for _, r := range recs {
		b.Append(now.UnixMilli(), r.Key, r.Value)
	}
	if limit := cfg.Rules.MaxBytes; limit > 0 && b.Len() > limit {
		return 0, &coordinator.RefusedError{Err: &batch.TooLargeError{Size: int64(b.Len()), Max: int64(limit)}}
	}
	return l.append(now, b.Build(), AppendOptions{Guard: g})
}

// append appends a batch of the coordinator's, as if with AcksAll.
func (l *shardLog) append(now time.Time, b batch.Batch, o AppendOptions) (base int64, err error) {
	o.Acks, o.Origin = AcksAll, producer.Coordinator
	a, err := l.p.append(now, b, o, l.epoch)
	if err != nil {
		return 0, refused(err)
	}
	if a.FlushDue {
		// The shard goes on; who waits is answered when the records are committed,
		// which is after the sync.
		l.p.flushSoon()
	}
	return a.Base, nil
}

// refused tells a coordinator what an error means for its shard.
func refused(err error) error {
	if _, ok := errors.AsType[*NotLeaderError](err); ok {
		return fmt.Errorf("%w: %w", coordinator.ErrNotCoordinator, err)
	}
	if _, ok := errors.AsType[*OfflineError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*logstore.FailedError](err); ok {
		return err
	}
	return &coordinator.RefusedError{Err: err}
}

// End implements coordinator.Log.
func (l *shardLog) End() int64 { return l.p.End() }

// Committed implements coordinator.Log.
func (l *shardLog) Committed() int64 { return l.p.HighWatermark() }

// OnCommit implements coordinator.Log. A partition has one such function, that of
// the last election: the one before takes away its own only.
func (l *shardLog) OnCommit(f func()) {
	if f == nil {
		l.p.onCommit.CompareAndSwap(&l.onCommit, nil)
		return
	}
	l.onCommit = f
	l.p.onCommit.Store(&l.onCommit)
}

// Replay implements coordinator.Log.
func (l *shardLog) Replay(ctx context.Context, f func(batch.Batch) error) error {
	for b, err := range l.p.log.Batches(l.p.LogStart(), l.p.End()) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = f(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
