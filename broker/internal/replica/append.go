package replica

import (
	"context"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// Acks is how many replicas must have a batch before it is acknowledged.
type Acks int16

const (
	// AcksNone: nobody waits for an answer.
	AcksNone Acks = 0
	// AcksLeader: the leader.
	AcksLeader Acks = 1
	// AcksAll: all in sync, and enough of them (min.insync.replicas).
	AcksAll Acks = -1
)

// ProduceOptions say how a client produced.
type ProduceOptions struct {
	Acks Acks
	// AllowZstd: the version of the request knows zstd (7 and later).
	AllowZstd bool
	// Guard is what Verify gave for a batch that begins a transaction.
	Guard producer.Guard
}

// AppendOptions say how a batch is appended.
type AppendOptions struct {
	Acks Acks
	// Origin tells whose batch it is, and thereby what the producer state checks.
	Origin producer.Origin
	// Guard is what Verify gave for a batch that begins a transaction.
	Guard producer.Guard
	// TxnVersion is the transaction version of WriteTxnMarkers, for markers.
	TxnVersion int16
}

// Appended says where a batch went.
type Appended struct {
	Base, Last int64
	// AppendTimeMs is when the batch was appended if the topic stamps that time, or
	// if it is a duplicate; else -1.
	AppendTimeMs int64
	// LogStart is the first offset of the log.
	LogStart int64
	// Duplicate: it was appended before, at Base.
	Duplicate bool
}

// Produce appends what a client sent for this partition, if this broker leads it,
// enough replicas are in sync and the batch is as the topic demands. It returns
// when the leader has the batch, on disk if flush.messages asks for it; with
// AcksAll the caller then waits for WaitCommitted(Last+1), also for a duplicate.
// The bytes of in are changed.
//
// Errors are those of this package, of batch.Admit and of logstore.Log.Append.
func (p *Partition) Produce(now time.Time, in []byte, o ProduceOptions) (Appended, error) {
	// Whether we may append is asked before the batch is looked at, as in Kafka,
	// and again when it is appended.
	if err := p.mayAppend(o.Acks); err != nil {
		return Appended{}, err
	}
	rules := p.config.Load().Rules
	rules.NowMs, rules.AllowZstd = now.UnixMilli(), o.AllowZstd
	b, err := batch.Admit(in, rules)
	if err != nil {
		return Appended{}, err
	}
	return p.Append(now, b, AppendOptions{Acks: o.Acks, Origin: producer.Client, Guard: o.Guard})
}

// Verify says which guard the producer's next transactional batch needs, if this
// broker leads the partition: producer.NoGuard if its transaction is open here.
// Otherwise the transaction's coordinator is to be asked, and the batch appended
// with the guard if it knows of this partition (KIP-890). The errors are those of
// this package and *producer.EpochError.
func (p *Partition) Verify(now time.Time, v producer.Verification) (producer.Guard, error) {
	if err := p.mayAppend(AcksLeader); err != nil {
		return producer.NoGuard, err
	}
	return p.log.Verify(now, v)
}

func (p *Partition) mayAppend(acks Acks) error {
	p.owner.Lock()
	defer p.owner.Unlock()
	return p.mayAppendLocked(acks)
}

func (p *Partition) mayAppendLocked(acks Acks) error {
	if err := p.Err(); err != nil {
		return err
	}
	return p.owner.state.CheckAppend(acks == AcksAll)
}

// Append appends one batch as Produce does, which is admitted already or the
// broker's own.
func (p *Partition) Append(now time.Time, b batch.Batch, o AppendOptions) (Appended, error) {
	a, err := p.append(now, b, o, -1)
	if err != nil {
		return Appended{}, err
	}
	if a.FlushDue {
		if err := p.flush(now); err != nil {
			return Appended{}, err
		}
	}
	out := Appended{Base: a.Base, Last: a.Last, AppendTimeMs: -1, LogStart: p.LogStart(), Duplicate: a.Duplicate}
	if a.Duplicate || b.LogAppendTime() {
		out.AppendTimeMs = a.TimestampMs
	}
	return out, nil
}

// append appends to the leader's log and counts it. epoch is the only leader epoch
// in which it may happen; -1 is any. A coordinator's batches, markers among them,
// are nobody's to admit, but the topic's timestamp type is theirs too.
func (p *Partition) append(now time.Time, b batch.Batch, o AppendOptions, epoch int32) (logstore.Appended, error) {
	if o.Origin == producer.Coordinator && p.config.Load().Rules.LogAppendTime {
		b.StampAppendTime(now.UnixMilli())
	}
	p.owner.Lock()
	defer p.owner.Unlock()
	if err := p.mayAppendLocked(o.Acks); err != nil {
		return logstore.Appended{}, err
	}
	v := p.view.Load()
	if epoch >= 0 && epoch != v.LeaderEpoch {
		return logstore.Appended{}, &NotLeaderError{Leader: v.Leader, Epoch: v.LeaderEpoch}
	}
	var a logstore.Appended
	var err error
	if b.Control() {
		a, err = p.log.AppendMarker(now, b, v.LeaderEpoch, o.TxnVersion)
	} else {
		a, err = p.log.AppendGuarded(now, b, v.LeaderEpoch, o.Origin, o.Guard)
	}
	// The log may have failed after the batch was written: then it counts.
	if end := p.End(); end > p.owner.state.End() {
		p.stepLocked(now, state.Appended{End: end})
	}
	if err != nil {
		return logstore.Appended{}, p.failLocked(err)
	}
	return a, nil
}

// WaitCommitted returns when everything below offset is committed: the end of a
// produce with AcksAll. It returns earlier with *NotLeaderError or *OfflineError,
// with *NotEnoughReplicasError if the records are committed but too few replicas
// are in sync by now, and with ctx's error; then nobody knows whether the records
// will be.
func (p *Partition) WaitCommitted(ctx context.Context, offset int64) error {
	p.owner.Lock()
	if err := p.Err(); err != nil {
		p.owner.Unlock()
		return err
	}
	if done, err := p.owner.state.Committed(offset); done {
		p.owner.Unlock()
		return err
	}
	a, err := p.await(ctx, func(t state.Ticket) state.Event { return state.Wait{Ticket: t, Offset: offset} })
	if err != nil {
		return err
	}
	return a.Err
}

// await steps an event that is answered later, and waits for the answer. The owner
// lock is held on entry and released.
func (p *Partition) await(ctx context.Context, ev func(state.Ticket) state.Event) (state.Answer, error) {
	p.owner.tickets++
	t := p.owner.tickets
	ch := make(chan state.Answer, 1)
	if p.owner.waits == nil {
		p.owner.waits = map[state.Ticket]chan state.Answer{}
	}
	p.owner.waits[t] = ch
	p.stepLocked(time.Now(), ev(t))
	p.owner.Unlock()

	select {
	case a := <-ch:
		return a, nil
	case <-ctx.Done():
	}
	p.owner.Lock()
	defer p.owner.Unlock()
	select {
	case a := <-ch: // It came meanwhile.
		return a, nil
	default:
	}
	p.stepLocked(time.Now(), state.Forget{Ticket: t})
	delete(p.owner.waits, t)
	return state.Answer{}, ctx.Err()
}
