package quorum

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// maxRecords and maxBytes bound one atomic append, as Kafka's controller does.
const (
	maxRecords = 10_000
	maxBytes   = 8 << 20
)

// errNotLeader says that another node leads, or none.
var errNotLeader = fmt.Errorf("%w: this node does not lead the metadata quorum", coordinator.ErrNotCoordinator)

// Leadership is the metadata log in the hands of the leader of one epoch. It is
// the coordinator.Log of the controller's shard.
type Leadership struct {
	node  *Node
	epoch int32
}

var _ coordinator.Log = (*Leadership)(nil)

// Epoch is the epoch of this leadership: Raft's term.
func (l *Leadership) Epoch() int32 { return l.epoch }

// Append implements coordinator.Log. The records are stored and synced when it
// returns.
func (l *Leadership) Append(now time.Time, recs []coordinator.Record) (int64, error) {
	size := 0
	for _, r := range recs {
		size += len(r.Key) + len(r.Value)
	}
	if len(recs) > maxRecords || size > maxBytes {
		return 0, &coordinator.RefusedError{Err: fmt.Errorf(
			"%d metadata records of %d bytes are too many for one change; at most %d of %d bytes", len(recs), size, maxRecords, maxBytes)}
	}
	return l.Propose(func(base int64) []byte {
		b := batch.NewBuilder(batch.Meta{
			BaseOffset: base, LeaderEpoch: l.epoch, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
		})
		for _, r := range recs {
			b.Append(now.UnixMilli(), r.Key, r.Value)
		}
		return b.Build()
	})
}

// Propose stores the batch that build makes, given the offset that it will have.
func (l *Leadership) Propose(build func(base int64) []byte) (base int64, err error) {
	n := l.node
	derr := n.do(context.Background(), func() {
		if n.leadership != l {
			err = errNotLeader
			return
		}
		base = n.store.log.End().Offset
		b := build(base)
		// What Raft has taken cannot be taken back: a full disk is found before.
		if err = n.store.log.Reserve(len(b)); err != nil {
			err = &coordinator.RefusedError{Err: err}
			return
		}
		if err = n.raft.Propose(b); err == nil {
			err = n.ready()
			n.failed = err
		}
	})
	if derr != nil {
		return 0, fmt.Errorf("%w: %w", coordinator.ErrNotCoordinator, derr)
	}
	return base, err
}

// End implements coordinator.Log.
func (l *Leadership) End() int64 { return l.node.Status().End }

// Committed implements coordinator.Log.
func (l *Leadership) Committed() int64 { return l.node.Status().Committed }

// OnCommit implements coordinator.Log.
func (l *Leadership) OnCommit(f func()) {
	n := l.node
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.watch = nil
	if f != nil {
		n.mu.watch = []func(){f}
	}
}

// Replay implements coordinator.Log: the newest snapshot, then the log after it.
func (l *Leadership) Replay(ctx context.Context, f func(batch.Batch) error) error {
	batches, err := l.node.batches(ctx)
	if err != nil {
		return err
	}
	for b, err := range batches {
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

// batches lists the newest snapshot's batches and then the log's. The snapshot
// that formatting wrote only holds what the first leader writes into the log.
func (n *Node) batches(ctx context.Context) (iter.Seq2[batch.Batch, error], error) {
	var id snapshotID
	if err := n.do(ctx, func() { id = n.store.snap.id }); err != nil {
		return nil, err
	}
	return func(yield func(batch.Batch, error) bool) {
		if id != bootstrapID {
			s, err := readSnapshot(n.store.fs, n.store.dir, id)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, b := range s.batches {
				if !yield(b, nil) {
					return
				}
			}
		}
		log := n.opts.Log
		for b, err := range log.Batches(id.Offset, log.End().Offset) {
			if !yield(b, err) || err != nil {
				return
			}
		}
	}, nil
}
