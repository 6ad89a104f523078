package producer

import (
	"fmt"
	"math"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// Guard is the proof that a transaction's coordinator knew of this partition when
// it was asked (KIP-890). It is made before the coordinator is asked, and holds
// until the producer's transaction has begun or ended here: an answer that is
// overtaken by the end of the transaction opens none. No two are alike, so that an
// old answer cannot pass for a new one.
type Guard uint64

const (
	// NoGuard proves nothing: the batch must belong to a transaction that is open.
	NoGuard Guard = 0
	// Trusted says that nobody asks for a proof: verification is off (Kafka's
	// transaction.partition.verification.enable), or the batch was judged before.
	Trusted Guard = math.MaxUint64
)

// Verification is a producer who wants to begin its transaction in a partition.
type Verification struct {
	ProducerID int64
	Epoch      int16
	// FirstSequence is that of its batch, or -1 if it has none.
	FirstSequence int32
	// EpochBump says that the producer gets a new epoch for each transaction, so that
	// each begins at sequence 0.
	EpochBump bool
}

// verification is a producer whose coordinator is being asked.
type verification struct {
	guard       Guard
	epoch       int16
	lowest      int32 // The lowest sequence seen in epoch: a higher one must not come first.
	epochBump   bool
	timestampMs int64
}

// Verify says which guard the producer's next batch needs: NoGuard if its
// transaction is open already. Otherwise the coordinator is to be asked, and the
// batch appended with the guard if it knows. The error is *EpochError.
func (s *State) Verify(v Verification, nowMs int64) (Guard, error) {
	if e, ok := s.producers[v.ProducerID]; ok {
		switch {
		case v.Epoch < e.epoch:
			return NoGuard, &EpochError{ProducerID: v.ProducerID, Epoch: v.Epoch, Current: e.epoch}
		case s.open(v.ProducerID, v.Epoch):
			return NoGuard, nil
		}
	}
	if s.verifying == nil {
		s.verifying = make(map[int64]*verification)
	}
	p := s.verifying[v.ProducerID]
	switch {
	case p == nil:
		p = &verification{guard: s.nextGuard(), epoch: v.Epoch, lowest: v.FirstSequence, epochBump: v.EpochBump, timestampMs: nowMs}
		s.verifying[v.ProducerID] = p
	case v.Epoch > p.epoch:
		p.epoch, p.lowest = v.Epoch, v.FirstSequence
	case v.Epoch == p.epoch:
		p.lowest = min(p.lowest, v.FirstSequence)
	}
	return p.guard, nil
}

func (s *State) nextGuard() Guard {
	s.lastGuard++
	return s.lastGuard
}

// Replaces makes s go on where old leaves off: no guard of s is one of old's. A log
// may replace its state while a coordinator is being asked.
func (s *State) Replaces(old *State) { s.lastGuard = max(s.lastGuard, old.lastGuard) }

// endVerification makes the producer's guard invalid, for its transaction has ended.
// A producer that got a new epoch for the next one may be verified for that already,
// while the marker of the last, which bears the same epoch, is still on its way.
func (s *State) endVerification(marker batch.Batch) {
	id := marker.ProducerID()
	if v := s.verifying[id]; v != nil && !(v.epochBump && v.epoch == marker.ProducerEpoch()) {
		delete(s.verifying, id)
	}
}

// open says whether the producer has a transaction open in that epoch.
func (s *State) open(producerID int64, epoch int16) bool {
	e, ok := s.producers[producerID]
	return ok && e.txnFirst >= 0 && e.epoch == epoch
}

// checkGuard says whether a transactional batch may continue a transaction, or
// begin one.
func (s *State) checkGuard(h batch.Batch, g Guard) error {
	if !h.Transactional() || g == Trusted || s.open(h.ProducerID(), h.ProducerEpoch()) {
		return nil
	}
	if e, ok := s.producers[h.ProducerID()]; ok && h.ProducerEpoch() < e.epoch {
		return &EpochError{ProducerID: h.ProducerID(), Epoch: h.ProducerEpoch(), Current: e.epoch}
	}
	if p := s.verifying[h.ProducerID()]; p == nil || p.guard != g {
		return &UnverifiedError{ProducerID: h.ProducerID(), Epoch: h.ProducerEpoch()}
	}
	return nil
}

// checkFirst checks the sequence of a batch whose producer is being verified.
func (s *State) checkFirst(h batch.Batch) error {
	p := s.verifying[h.ProducerID()]
	if p == nil {
		return nil
	}
	wrong := &SequenceError{ProducerID: h.ProducerID(), Epoch: h.ProducerEpoch(), First: h.BaseSequence()}
	_, known := s.producers[h.ProducerID()]
	switch {
	case p.epochBump && !known && h.BaseSequence() != 0:
		return wrong
	case h.BaseSequence() > p.lowest:
		wrong.Want = p.lowest
		return wrong
	}
	return nil
}

// UnverifiedError says that a batch would begin a transaction in a partition that
// its coordinator was not proved to know of, or that has ended meanwhile. Kafka's
// INVALID_TXN_STATE.
type UnverifiedError struct {
	ProducerID int64
	Epoch      int16
}

func (e *UnverifiedError) Error() string {
	return fmt.Sprintf("batch of producer %d epoch %d is not part of an open transaction", e.ProducerID, e.Epoch)
}
