package producer

import (
	"fmt"
	"math"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// Origin says who appends a batch, and with it how much must be checked.
type Origin int8

const (
	// Client is a producer: epoch, sequence and transaction are checked.
	Client Origin = iota
	// Coordinator is the group coordinator writing offsets inside a transaction, or
	// the transaction coordinator writing markers: there are no sequences, and epochs
	// are checked.
	Coordinator
	// Replica is the log itself, copied from a leader that has checked it, or read
	// again at start: nothing is checked.
	Replica
)

func (o Origin) String() string {
	switch o {
	case Client:
		return "client"
	case Coordinator:
		return "coordinator"
	case Replica:
		return "replica"
	}
	return "unknown"
}

// Verdict is what is to be done with a batch that may be appended. If it is a
// Duplicate it must not be appended again: the other fields then tell where and
// when the first one was. The answer must wait for replication all the same.
type Verdict struct {
	Duplicate   bool
	Base, Last  int64 // Offsets, the last one included.
	TimestampMs int64
}

// EpochError says that a producer was replaced by one with a newer epoch. Kafka's
// INVALID_PRODUCER_EPOCH, never PRODUCER_FENCED, when it answers a produce: the
// client then aborts and goes on (KIP-588).
type EpochError struct {
	ProducerID     int64
	Epoch, Current int16
	// Strict is set if the batch is a marker of a version 2 transaction, which must
	// have a larger epoch than Current, not just no smaller one.
	Strict bool
}

func (e *EpochError) Error() string {
	if e.Strict {
		return fmt.Sprintf("transaction marker of producer %d has epoch %d, must be above the last seen %d", e.ProducerID, e.Epoch, e.Current)
	}
	return fmt.Sprintf("producer %d has epoch %d, older than the last seen %d", e.ProducerID, e.Epoch, e.Current)
}

// SequenceError says that a batch does not follow the producer's last one: one was
// lost, or a retry came too late to be told from it. Kafka's
// OUT_OF_ORDER_SEQUENCE_NUMBER.
type SequenceError struct {
	ProducerID int64
	Epoch      int16
	First      int32 // The batch's first sequence.
	Want       int32 // What it should have been.
}

func (e *SequenceError) Error() string {
	return fmt.Sprintf("producer %d of epoch %d sent sequence %d, expected %d", e.ProducerID, e.Epoch, e.First, e.Want)
}

// TxnStateError says that a producer with an open transaction sent a batch outside
// of it. Kafka's INVALID_TXN_STATE.
type TxnStateError struct {
	ProducerID int64
	TxnFirst   int64 // The first offset of the open transaction.
}

func (e *TxnStateError) Error() string {
	return fmt.Sprintf("producer %d sent a batch outside its transaction, which is open since offset %d", e.ProducerID, e.TxnFirst)
}

// CoordinatorFencedError says that a marker comes from a transaction coordinator
// that has been replaced. Kafka's TRANSACTION_COORDINATOR_FENCED.
type CoordinatorFencedError struct {
	ProducerID     int64
	Epoch, Current int32
}

func (e *CoordinatorFencedError) Error() string {
	return fmt.Sprintf("transaction marker of producer %d comes from coordinator epoch %d, replaced by %d", e.ProducerID, e.Epoch, e.Current)
}

// Check says whether a data batch may be appended, or need not be because it has
// been already. Its offsets are not looked at. Batches without a producer id
// always may; markers are for CheckMarker. The guard is that of Verify. The errors
// are *EpochError, *SequenceError, *TxnStateError and *UnverifiedError.
func (s *State) Check(h batch.Batch, o Origin, g Guard) (Verdict, error) {
	if h.ProducerID() < 0 || h.Control() || o == Replica {
		return Verdict{}, nil
	}
	e, ok := s.producers[h.ProducerID()]
	if ok && o == Client {
		if a, ok := e.duplicate(h); ok {
			return Verdict{Duplicate: true, Base: a.firstOffset(), Last: a.lastOffset, TimestampMs: a.timestampMs}, nil
		}
	}
	if err := s.checkGuard(h, g); err != nil {
		return Verdict{}, err
	}
	if ok && h.ProducerEpoch() < e.epoch {
		return Verdict{}, &EpochError{ProducerID: h.ProducerID(), Epoch: h.ProducerEpoch(), Current: e.epoch}
	}
	if o == Client {
		if err := s.checkFirst(h); err != nil {
			return Verdict{}, err
		}
	}
	if !ok {
		// Its records were deleted or it has expired, or it is new: there is nothing to
		// hold it against, so any sequence will do (KIP-360).
		return Verdict{}, nil
	}
	return Verdict{}, e.checkData(h, o)
}

// duplicate finds a batch of the window that the incoming one repeats. Only an
// exact match counts.
func (e *entry) duplicate(h batch.Batch) (appended, bool) {
	if h.ProducerEpoch() != e.epoch || h.BaseSequence() < 0 {
		return appended{}, false
	}
	for _, a := range e.window[:e.n] {
		if a.lastSeq >= 0 && a.firstSeq() == h.BaseSequence() && a.lastSeq == h.LastSequence() {
			return a, true
		}
	}
	return appended{}, false
}

func (e *entry) checkData(h batch.Batch, o Origin) error {
	if o == Client {
		if want, any := e.nextSeq(h.ProducerEpoch()); !any && h.BaseSequence() != want {
			return &SequenceError{ProducerID: h.ProducerID(), Epoch: h.ProducerEpoch(), First: h.BaseSequence(), Want: want}
		}
	}
	if e.txnFirst >= 0 && !h.Transactional() {
		return &TxnStateError{ProducerID: h.ProducerID(), TxnFirst: e.txnFirst}
	}
	return nil
}

// nextSeq is the sequence that must come next from the producer, or any. A new
// epoch starts at 0, and so does one of which only a marker is known.
func (e *entry) nextSeq(epoch int16) (want int32, any bool) {
	if e.epoch == batch.NoProducerEpoch {
		return 0, true
	}
	last, ok := e.last()
	if epoch != e.epoch || !ok {
		return 0, false
	}
	return batch.AddSequence(last.lastSeq, 1), false
}

// CheckMarker says whether the control batch that ends a transaction may be
// appended. The version of the transaction, from WriteTxnMarkers, decides how
// strict it is: from version 2 on (KIP-890) the coordinator raises the epoch for
// every marker, so one that does not is late. An equal epoch without an open
// transaction is that same marker sent again, and is appended again; at the
// largest epoch there is no higher one. It is not stored, so a Replica has none.
// The errors are *EpochError and *CoordinatorFencedError.
func (s *State) CheckMarker(h batch.Batch, m Marker, o Origin, txnVersion int16) error {
	e, ok := s.producers[h.ProducerID()]
	if !ok || o == Replica {
		return nil
	}
	epoch, strict := h.ProducerEpoch(), txnVersion >= 2
	resent := epoch == e.epoch && (e.txnFirst < 0 || epoch == math.MaxInt16)
	if epoch < e.epoch || (strict && epoch == e.epoch && !resent) {
		return &EpochError{ProducerID: h.ProducerID(), Epoch: epoch, Current: e.epoch, Strict: strict}
	}
	if m.CoordinatorEpoch < e.coordinatorEpoch {
		return &CoordinatorFencedError{ProducerID: h.ProducerID(), Epoch: m.CoordinatorEpoch, Current: e.coordinatorEpoch}
	}
	return nil
}
