package txn

import (
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// producer is a producer id with an epoch, as a client says it has. noID: it says
// nothing.
type producer struct {
	id    int64
	epoch int16
}

// initProducerID serves InitProducerId (22), versions 0 to 5, with a transactional
// id: whoever asks is the producer from now on, and an open transaction of another
// is aborted first. From version 3 on (KIP-360) a producer may say who it was, and
// is fenced if it is that no more.
func (s *Shard) initProducerID(q question, req *kmsg.InitProducerIDRequest) {
	id, was := *req.TransactionalID, producer{req.ProducerID, req.ProducerEpoch}
	switch timeout := millis(req.TransactionTimeoutMillis); {
	case (was.id == noID) != (was.epoch == noEpoch), id == "":
		s.replyInit(q, req, noID, noEpoch, kerr.InvalidRequest.Code)
		return
	case timeout <= 0 || timeout > s.cfg.MaxTimeout:
		s.replyInit(q, req, noID, noEpoch, kerr.InvalidTransactionTimeout.Code)
		return
	}
	e := s.get(id)
	next, code, ok := s.initialized(e, id, was)
	switch {
	case !ok:
		s.park(q)
		return
	case code != 0:
		s.replyInit(q, req, noID, noEpoch, code)
		return
	}
	next.status, next.topics = empty, nil
	next.timeoutMs = req.TransactionTimeoutMillis
	next.startMs, next.updateMs = -1, s.nowMs()
	s.write(next)
	s.replyInit(q, req, next.producerID, next.epoch, 0)
	s.cfg.Logger.Debug("producer was initialized", slog.String("transactional_id", id),
		slog.Int64("producer_id", next.producerID), slog.Int("epoch", int(next.epoch)))
}

// initialized decides who the producer of id is from now on; e is who it was. Not
// ok: there is no producer id to decide with.
func (s *Shard) initialized(e *entry, id string, was producer) (next *entry, code int16, ok bool) {
	switch {
	case e == nil:
		// Whoever the producer says it was: an id that expired begins anew.
		pid, ok := s.takeID()
		return &entry{
			transaction: transaction{id: id, producerID: pid, prevProducerID: noID, nextProducerID: noID},
			last:        noEpoch,
		}, 0, ok
	case e.preparing():
		// Asked before anything else: while a used-up producer id is exchanged, the
		// client has the new one already, and would be fenced for it.
		return nil, kerr.ConcurrentTransactions.Code, true
	case !e.knows(was):
		return nil, kerr.ProducerFenced.Code, true
	case e.status == ongoing:
		if !s.fence(e) {
			return nil, 0, false
		}
		// The epoch of the abort is nobody's. The client asks until it is over, and
		// then gets one above.
		return nil, kerr.ConcurrentTransactions.Code, true
	case e.exhausted() && (was.id == noID || was.epoch == e.epoch):
		next, ok = s.rotated(e, was)
		return next, 0, ok
	}
	next, code = e.renewed(was)
	return next, code, true
}

// knows says whether the producer may go on from who it says it was: it has the
// producer id, or had the one before and may not have heard that it was used up.
func (e *entry) knows(was producer) bool {
	return was.id == noID || was.id == e.producerID || was.id == e.prevProducerID && was.epoch >= lastEpoch
}

// rotated gives e a new producer id, for the old one has no epoch left.
func (s *Shard) rotated(e *entry, was producer) (*entry, bool) {
	pid, ok := s.takeID()
	if !ok {
		return nil, false
	}
	next := *e
	next.producerID, next.prevProducerID, next.epoch = pid, e.producerID, 0
	next.last = noEpoch
	if was.id != noID {
		next.last = e.epoch
	}
	return &next, true
}

// renewed gives e its next epoch, unless the producer asks for the last one again.
func (e *entry) renewed(was producer) (*entry, int16) {
	next := *e
	switch {
	case was.id != noID && was.epoch == e.last && was.epoch != e.epoch:
		return &next, 0 // The answer was lost.
	case was.id != noID && was.epoch != e.epoch:
		return nil, kerr.ProducerFenced.Code
	}
	next.prevProducerID = noID
	next.epoch, next.last = e.nextEpoch(), noEpoch
	if was.id != noID {
		next.last = e.epoch
	}
	return &next, 0
}

func (s *Shard) replyInit(q question, req *kmsg.InitProducerIDRequest, id int64, epoch, code int16) {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = id, epoch
	resp.ErrorCode = fenced(code, req.Version, initFenced)
	s.reply(q.ticket, resp)
}
