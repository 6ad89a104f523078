package txn

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// endEpochBump is the first EndTxn version whose client goes on with the epoch of
// the response.
const endEpochBump = 5

// ending is what a client asks of EndTxn.
type ending struct {
	producer
	commit bool
}

// verdict says what becomes of an EndTxn: the transaction ends, or the client is
// told a code, which is 0 if it has ended just so.
type verdict struct {
	end  bool
	code int16
}

// endTxn serves EndTxn (26), versions 0 to 5. The answer means that the outcome is
// decided; the markers follow.
func (s *Shard) endTxn(q question, req *kmsg.EndTxnRequest) {
	e, ask := s.get(req.TransactionalID), ending{producer{req.ProducerID, req.ProducerEpoch}, req.Commit}
	var v verdict
	var version int16
	switch {
	case req.TransactionalID == "":
		v.code = kerr.InvalidRequest.Code
	case e == nil:
		v.code = kerr.InvalidProducerIDMapping.Code
	case req.Version >= endEpochBump:
		version, v = epochBump, e.judge(ask)
	default:
		v = e.judgeV1(ask)
	}
	switch {
	case v.end:
		done, ok := s.prepare(e, req.Commit, version)
		if !ok {
			s.park(q)
			return
		}
		s.replyEnd(q, req, done.producerID, done.epoch, 0)
	case v.code == 0:
		s.replyEnd(q, req, e.producerID, e.epoch, 0)
	default:
		s.replyEnd(q, req, noID, noEpoch, v.code)
	}
}

// judgeV1 is for clients that keep their epoch from one transaction to the next. It
// cannot tell a late EndTxn of the last transaction from an early one of this.
func (e *entry) judgeV1(ask ending) verdict {
	switch {
	case ask.id != e.producerID:
		return verdict{code: kerr.InvalidProducerIDMapping.Code}
	case ask.epoch != e.epoch:
		return verdict{code: kerr.ProducerFenced.Code}
	case e.preparing():
		return verdict{code: kerr.ConcurrentTransactions.Code}
	case e.status == ongoing:
		return verdict{end: true}
	case e.status != empty && e.commits() == ask.commit:
		return verdict{}
	}
	return verdict{code: kerr.InvalidTxnState.Code}
}

// judge is for clients whose epoch rises with every end (KIP-890): the epoch before
// the present one is that of a client who did not hear the answer. A client that
// does not know whether it has begun a transaction may abort it at any time.
func (e *entry) judge(ask ending) verdict {
	bumped := int(ask.epoch)+1 == int(e.epoch) && e.epoch != maxEpoch // That one was a fence.
	rotated := ask.id == e.prevProducerID && ask.epoch == lastEpoch && e.epoch == 0
	switch {
	case e.preparing():
		return verdict{code: kerr.ConcurrentTransactions.Code}
	case ask.id != e.producerID && !rotated:
		return verdict{code: kerr.InvalidProducerIDMapping.Code}
	}
	complete := e.status == completeCommit || e.status == completeAbort
	switch {
	case complete && (bumped || rotated):
		if e.commits() == ask.commit {
			return verdict{}
		}
		return verdict{code: kerr.InvalidTxnState.Code}
	case ask.epoch != e.epoch:
		return verdict{code: kerr.ProducerFenced.Code}
	case e.status != ongoing && ask.commit:
		return verdict{code: kerr.InvalidTxnState.Code}
	}
	return verdict{end: true}
}

// prepare writes the outcome of e's transaction down and sends the markers that are
// owed then. It returns the entry as it will be when all are written. Not ok: a
// producer id is needed for that, and there is none.
func (s *Shard) prepare(e *entry, commit bool, version int16) (done *entry, ok bool) {
	next := *e
	next.status = prepareAbort
	if commit {
		next.status = prepareCommit
	}
	next.prevProducerID, next.nextProducerID = noID, noID
	next.clientVersion, next.updateMs = version, s.nowMs()
	if e.status != ongoing {
		next.startMs = s.nowMs() // Of a transaction without partitions nothing else is known.
	}
	if version >= epochBump {
		if e.exhausted() {
			if next.nextProducerID, ok = s.takeID(); !ok {
				return nil, false
			}
		}
		next.epoch, next.last = e.nextEpoch(), e.epoch
	}
	s.write(&next)
	if len(next.topics) == 0 {
		return s.complete(&next), true
	}
	s.eff.Sends = append(s.eff.Sends, next.markers())
	return next.completed(s.nowMs()), true
}

// fence aborts e's transaction with an epoch that no client has, so that its
// producer is out. Not ok: a producer id is needed for that, and there is none.
func (s *Shard) fence(e *entry) (ok bool) {
	if version := s.cfg.Version(); version >= epochBump {
		_, ok = s.prepare(e, false, version)
		return ok
	}
	fenced := *e
	fenced.epoch, fenced.last = e.nextEpoch(), noEpoch
	_, ok = s.prepare(&fenced, false, 0)
	return ok
}

func (s *Shard) replyEnd(q question, req *kmsg.EndTxnRequest, id int64, epoch, code int16) {
	resp := req.ResponseKind().(*kmsg.EndTxnResponse)
	resp.ProducerID, resp.ProducerEpoch = id, epoch
	resp.ErrorCode = fenced(code, req.Version, endFenced)
	s.reply(q.ticket, resp)
}
