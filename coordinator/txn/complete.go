package txn

import (
	"log/slog"
	"time"
)

// completeRetry is how long a refused record that completes a transaction waits
// for its next try. The producer cannot go on meanwhile.
const completeRetry = 100 * time.Millisecond

// markers is what the transaction owes to its partitions.
func (t *transaction) markers() Markers {
	return Markers{
		TransactionalID: t.id,
		ProducerID:      t.producerID,
		Epoch:           t.epoch,
		Commit:          t.commits(),
		Version:         t.clientVersion,
		Topics:          t.topics,
	}
}

// markersWritten completes the transaction that in speaks of, if it is still the
// one at hand.
func (s *Shard) markersWritten(in Written) {
	e := s.ids[in.TransactionalID]
	if e == nil || !e.preparing() || e.producerID != in.ProducerID || e.epoch != in.Epoch {
		return
	}
	e.written = true
	s.complete(e)
}

// complete writes down that a transaction is over, and returns the entry as it is
// then.
func (s *Shard) complete(e *entry) *entry {
	done := e.completed(s.nowMs())
	s.write(done)
	s.cfg.Logger.Debug("transaction was completed", slog.String("transactional_id", e.id),
		slog.Int64("producer_id", e.producerID), slog.Int("epoch", int(e.epoch)), slog.Bool("committed", e.commits()))
	return done
}

// completed is a preparing entry as it will be when all markers are written. A
// used-up producer id gives way to the next only now, for the markers bear the old.
func (e *entry) completed(nowMs int64) *entry {
	done := *e
	done.status = completeAbort
	if e.commits() {
		done.status = completeCommit
	}
	if e.nextProducerID != noID {
		done.prevProducerID, done.producerID = e.producerID, e.nextProducerID
		done.nextProducerID, done.epoch = noID, 0
	}
	done.topics, done.updateMs, done.written = nil, nowMs, false
	return &done
}

// retryCompletion tries a refused completion again, after a pause.
func (s *Shard) retryCompletion(id string) {
	s.setTimer(timerKey{kind: completeTimer, id: id}, completeRetry)
}
