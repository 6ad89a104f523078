package replica

import (
	"time"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/producer"
)

// ReadRequest is one partition of a fetch.
type ReadRequest struct {
	Offset int64
	// CurrentEpoch is the leader epoch that the reader knows, LastFetchedEpoch that
	// of the last record it has; -1 if not told.
	CurrentEpoch, LastFetchedEpoch int32
	// MaxBytes bounds the records; MinOne makes the first batch whole even so.
	MaxBytes int
	MinOne   bool

	Isolation Isolation
	// AnyReplica lets a follower serve the read (version 11 and later).
	AnyReplica bool
	// Follower is set if a replica fetches.
	Follower *FollowerRead
}

// FollowerRead is what a fetch tells of the follower that makes it.
type FollowerRead struct {
	ID          int32
	BrokerEpoch int64 // -1 if not told.
	LogStart    int64
	// Again: the same fetch was read before and waited; it does not count twice.
	Again bool
}

// ReadResult is the answer. Span must be released.
type ReadResult struct {
	Span logstore.Span
	// As they were before the read.
	HighWatermark, Stable, LogStart, End int64
	// Aborted are the aborted transactions that a Committed reader of Span must
	// skip; not nil for one, unless his first batch did not fit, nil for others.
	Aborted []producer.Aborted
	// Diverging is set if the reader's log is not a prefix of this one: where they
	// part. There are no records then.
	Diverging *state.EpochEnd
	// More: there are records that the limit held back.
	More bool
}

// Read finds records for a consumer or follower; it does not wait for any.
//
// Errors: *OfflineError, *EpochError, *NotLeaderError, *UnknownReplicaError,
// *StaleBrokerError, and *OffsetError for an offset below the log start or above
// the log's end. An offset between the high watermark and the end is none: a
// consumer that knew more of the watermark than a new leader does must not be sent
// away (B-18).
func (p *Partition) Read(now time.Time, q ReadRequest) (ReadResult, error) {
	if err := p.readable(q.CurrentEpoch, q.AnyReplica && q.Follower == nil); err != nil {
		return ReadResult{}, err
	}
	if q.Follower != nil {
		if err := p.view.Load().CheckReplica(q.Follower.ID, q.CurrentEpoch >= 0); err != nil {
			return ReadResult{}, err
		}
	}
	// Taken before the read: what is appended during it must not make a follower
	// look late.
	end, hw, stable := p.log.End(), p.log.HighWatermark(), p.log.Stable()
	r := ReadResult{HighWatermark: hw.Offset, Stable: stable.Offset, LogStart: p.log.Start(), End: end.Offset}
	if q.LastFetchedEpoch >= 0 {
		d, ok := state.Compare(p.log, q.LastFetchedEpoch, q.Offset, r.LogStart)
		if !ok {
			return ReadResult{}, &OffsetError{Want: q.Offset, Start: r.LogStart, End: r.End}
		}
		if d != nil {
			r.Diverging = d
			return r, nil
		}
	}
	upTo := [...]logstore.Mark{Uncommitted: hw, Committed: stable, LogEnd: end}[q.Isolation]
	span, err := p.log.Read(q.Offset, q.MaxBytes, upTo, q.MinOne)
	if err != nil {
		return ReadResult{}, p.fail(err)
	}
	r.Span = span
	r.More = q.Offset < upTo.Offset
	tooLong := q.MaxBytes > 0 && span.Len() == 0 && r.More // Kafka tells of no transactions then.
	if q.Isolation == Committed && !tooLong {
		if r.Aborted, err = p.aborted(q.Offset, span, upTo); err != nil {
			span.Release()
			return ReadResult{}, err
		}
	}
	if q.Follower != nil && !q.Follower.Again {
		if err := p.followerRead(now, q, r.End); err != nil {
			span.Release()
			return ReadResult{}, err
		}
	}
	return r, nil
}

// readable says whether a read may be served: by this replica, in that epoch.
func (p *Partition) readable(epoch int32, anyReplica bool) error {
	if err := p.Err(); err != nil {
		return err
	}
	v := p.view.Load()
	if err := v.CheckEpoch(epoch); err != nil {
		return err
	}
	if anyReplica && v.Role == state.Follower {
		return nil
	}
	return v.CheckLeader()
}

// aborted are the aborted transactions that a reader of span, from an offset on, is told
// of: also one whom the limits left no room for records.
func (p *Partition) aborted(from int64, span logstore.Span, upTo logstore.Mark) (found []producer.Aborted, err error) {
	if span.Len() == 0 && from < upTo.Offset {
		found, err = p.log.AbortedAt(from, upTo)
	} else {
		found, err = p.log.AbortedIn(span)
	}
	if err != nil {
		return nil, p.fail(err)
	}
	if found == nil {
		found = []producer.Aborted{}
	}
	return found, nil
}

// followerRead counts what a follower has.
func (p *Partition) followerRead(now time.Time, q ReadRequest, leaderEnd int64) error {
	p.owner.Lock()
	defer p.owner.Unlock()
	return p.stepLocked(now, state.FollowerFetched{
		Replica: q.Follower.ID, BrokerEpoch: q.Follower.BrokerEpoch,
		Offset: q.Offset, LogStart: q.Follower.LogStart, LeaderEnd: leaderEnd,
		HasEpoch: q.CurrentEpoch >= 0,
	}).Err
}
