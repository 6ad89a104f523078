package replica

import (
	"context"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
)

// Timestamps of ListOffsets that are none.
const (
	Latest          int64 = -1 // The end, for consumers as far as they may read.
	Earliest        int64 = -2 // The log start.
	MaxTimestamp    int64 = -3 // The first record that bears the newest timestamp.
	EarliestLocal   int64 = -4 // The first offset on this disk.
	LatestTiered    int64 = -5 // The last offset in tiered storage.
	EarliestPending int64 = -6 // The first offset not yet in tiered storage.
)

// ListOptions say who lists an offset.
type ListOptions struct {
	CurrentEpoch int32 // -1 if not told.
	// Client is a consumer, who sees as far as Isolation says; others see all.
	Client    bool
	Isolation Isolation
	// AnyReplica lets a follower answer: Kafka's debugging replica, -2.
	AnyReplica bool
}

// Listed is an offset that was found; fields are -1 where there is none.
type Listed struct {
	Offset, TimestampMs int64
	Epoch               int32
}

var notListed = Listed{-1, -1, -1}

// ListOffset finds the offset that a timestamp stands for: one of the constants,
// or the first record at or after it.
//
// Beyond the errors of Read there is *OffsetNotAvailableError: a new leader that
// does not know yet how far its predecessor had committed gives no consumer an
// answer that might be lower than one before (KIP-207, B-8).
func (p *Partition) ListOffset(timestampMs int64, o ListOptions) (Listed, error) {
	if err := p.readable(o.CurrentEpoch, o.AnyReplica); err != nil {
		return notListed, err
	}
	v := p.view.Load()
	limit := p.End()
	var lagging error
	if o.Client {
		limit = p.HighWatermark()
		if v.EpochStart > limit {
			lagging = &OffsetNotAvailableError{HighWatermark: limit, EpochStart: v.EpochStart}
		}
		if o.Isolation == Committed {
			limit = p.Stable()
		}
	}
	var found Listed
	var ok bool
	var err error
	switch timestampMs {
	case Latest:
		if lagging != nil {
			return notListed, lagging
		}
		return Listed{limit, -1, v.LeaderEpoch}, nil
	case Earliest, EarliestLocal:
		start := p.LogStart()
		return Listed{start, -1, p.log.EpochAt(start)}, nil
	case LatestTiered, EarliestPending:
		return notListed, nil
	case MaxTimestamp:
		f, has, e := p.log.OffsetOfMaxTime()
		found, ok, err = Listed{f.Offset, f.TimestampMs, f.Epoch}, has, e
	default:
		f, has, e := p.log.OffsetByTime(timestampMs)
		found, ok, err = Listed{f.Offset, f.TimestampMs, f.Epoch}, has, e
	}
	if err != nil {
		return notListed, p.fail(err)
	}
	if !ok || found.Offset >= limit {
		return notListed, lagging
	}
	return found, nil
}

// EpochEnd tells where the records of a leader epoch end: those of the largest
// epoch not above the one asked for. It is -1, -1 if that is not known.
func (p *Partition) EpochEnd(currentEpoch, epoch int32, anyReplica bool) (state.EpochEnd, error) {
	if err := p.readable(currentEpoch, anyReplica); err != nil {
		return state.EpochEnd{Epoch: -1, End: -1}, err
	}
	found, end := p.log.EpochEnd(epoch)
	return state.EpochEnd{Epoch: found, End: end}, nil
}

// DeleteRecords makes the records below offset unreadable, on all live replicas
// when it returns; -1 is up to the high watermark. It returns the least log start
// of the live replicas.
//
// Errors: *OfflineError, *NotLeaderError, *PolicyError, *OffsetError, and ctx's:
// then the leader's records are gone, and the others' will be.
func (p *Partition) DeleteRecords(ctx context.Context, offset int64) (lowWatermark int64, err error) {
	p.owner.Lock()
	if err := p.deleteLocked(&offset); err != nil {
		p.owner.Unlock()
		return -1, err
	}
	a, err := p.await(ctx, func(t state.Ticket) state.Event { return state.WaitLow{Ticket: t, Offset: offset} })
	if err != nil {
		return -1, err
	}
	return a.LowWatermark, a.Err
}

// deleteLocked moves the leader's log start up, and replaces an offset of -1 by
// what it means.
func (p *Partition) deleteLocked(offset *int64) error {
	if err := p.Err(); err != nil {
		return err
	}
	if err := p.view.Load().CheckLeader(); err != nil {
		return err
	}
	if cfg := p.config.Load(); cfg.Log.Compact && !cfg.Log.Delete {
		return &PolicyError{Topic: p.topic}
	}
	hw := p.HighWatermark()
	if *offset == -1 {
		*offset = hw
	}
	if *offset < 0 || *offset > hw {
		return &OffsetError{Want: *offset, Start: p.LogStart(), End: hw}
	}
	if err := p.log.AdvanceStart(*offset); err != nil {
		return p.failLocked(err)
	}
	p.started.Store(p.LogStart())
	p.stepLocked(time.Now(), state.Started{Start: p.LogStart()})
	return nil
}
