package coordinator

import (
	"errors"
	"fmt"
	"time"
)

// Within is the producer in whose transaction a step's records are written: they
// count when a Marker commits them, and never if one aborts them.
type Within struct {
	ProducerID int64
	Epoch      int16
	// Guard proves to the log that the transaction's coordinator knows of this
	// partition (KIP-890). What it is, is between the log and who asked for it.
	Guard uint64
}

// Marker ends a producer's transaction in a shard's log. As an input it is the
// runtime's own: it is written as any record is, and given to ReplayMarker instead
// of Step. The reply is nil, or the error with which the log refused it.
type Marker struct {
	ProducerID int64
	Epoch      int16
	Commit     bool
	// CoordinatorEpoch is that of the transaction's coordinator, and Version that of
	// the transaction.
	CoordinatorEpoch int32
	Version          int16
}

// TxnLog is a Log that takes part in transactions. Only shards whose steps set
// Effects.Within, or that are given Markers, need one.
type TxnLog interface {
	Log

	// AppendWithin is Append in a producer's transaction.
	AppendWithin(now time.Time, w Within, recs []Record) (base int64, err error)

	// AppendEnd writes a marker.
	AppendEnd(now time.Time, m Marker) error
}

// txnLog is the actor's log, which has to be one.
func (a *actor) txnLog() TxnLog {
	l, ok := a.log.(TxnLog)
	if !ok {
		panic(fmt.Sprintf("BUG: a shard of the %s coordinator takes part in a transaction, and its log cannot", a.rt.opts.Name))
	}
	return l
}

// append appends a step's records.
func (a *actor) append(now time.Time, eff Effects) (base int64, err error) {
	if eff.Within != nil {
		return a.txnLog().AppendWithin(now, *eff.Within, eff.Records)
	}
	return a.log.Append(now, eff.Records)
}

// mark ends a transaction.
func (a *actor) mark(t Ticket, m Marker) error {
	err := a.txnLog().AppendEnd(a.moment().Now, m)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		a.rt.opts.Metrics.Refused.Inc()
		a.carryOut(Effects{Replies: []Reply{{To: t, Err: refused.Err}}})
		return nil
	}
	if err != nil {
		return fmt.Errorf("append the marker of producer %d: %w", m.ProducerID, err)
	}
	a.shard.ReplayMarker(m.ProducerID, m.Epoch, m.Commit)
	a.carryOut(Effects{Replies: []Reply{{To: t}}})
	return nil
}
