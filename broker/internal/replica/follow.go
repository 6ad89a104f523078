package replica

import (
	"errors"
	"log/slog"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// NextFetch returns what this replica, as a follower, wants of its leader now.
func (p *Partition) NextFetch(now time.Time) (state.Fetch, bool) {
	p.owner.Lock()
	defer p.owner.Unlock()
	if p.owner.closed || p.Err() != nil {
		return state.Fetch{}, false
	}
	return p.owner.state.NextFetch(now)
}

// Deliver gives a follower the leader's answer to a fetch, with the records that
// came along. It returns true if the leader must be asked for its bounds, which
// DeliverBounds then gives.
func (p *Partition) Deliver(now time.Time, f state.Fetched, records []byte) (askBounds bool) {
	records = upToEpoch(records, f.Request.CurrentEpoch)
	f.Records = len(records) > 0
	p.owner.Lock()
	if p.owner.closed || p.Err() != nil {
		p.owner.Unlock()
		return false
	}
	eff := p.stepLocked(now, f)
	flush := eff.Flush
	if eff.Append {
		flush = p.writeLocked(now, records)
	}
	p.owner.Unlock()
	if flush {
		_ = p.flush(now) // A failure has taken the replica offline.
	}
	return eff.AskBounds
}

// DeliverBounds gives a follower its leader's earliest and latest offset.
func (p *Partition) DeliverBounds(now time.Time, b state.Bounds) {
	if p.step(now, b) {
		_ = p.flush(now)
	}
}

// writeLocked appends what a leader sent.
func (p *Partition) writeLocked(now time.Time, records []byte) (flush bool) {
	err := p.log.AppendReplica(now, records)
	end := p.End()
	if err == nil {
		return p.stepLocked(now, state.Written{End: end}).Flush
	}
	_ = p.failLocked(err)
	_, corrupt := errors.AsType[*batch.CorruptError](err)
	_, offset := errors.AsType[*logstore.AppendOffsetError](err)
	p.logger.Error("records of the leader could not be appended", slog.String("topic", p.topic),
		slog.Int("partition", int(p.number)), slog.Int64("log_end", end), slog.Any("err", err))
	return p.stepLocked(now, state.WriteFailed{End: end, Corrupt: corrupt || offset}).Flush
}

// upToEpoch cuts off batches of a later leader epoch than the one that was asked in:
// the leader has moved on, and what follows may not fit what we have (KAFKA-18723).
func upToEpoch(records []byte, epoch int32) []byte {
	for rest := records; len(rest) > 0; {
		b, after, err := batch.Next(rest)
		if err != nil {
			break // For the log to judge.
		}
		if b.LeaderEpoch() > epoch {
			return records[:len(records)-len(rest)]
		}
		rest = after
	}
	return records
}

// Answered gives a leader the controller's answer to a proposal.
func (p *Partition) Answered(now time.Time, a state.Answered) {
	if p.step(now, a) {
		p.flushSoon()
	}
}
