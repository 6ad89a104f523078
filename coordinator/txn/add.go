package txn

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// add serves one transaction of AddPartitionsToTxn (24), versions 0 to 5, and
// AddOffsetsToTxn (25), versions 0 to 4. All partitions are added or none; they
// exist, and the caller has seen to the rights.
func (s *Shard) add(t coordinator.Ticket, in Add) {
	if in.VerifyOnly {
		s.reply(t, s.verify(in))
		return
	}
	e := s.get(in.TransactionalID)
	if code := e.admit(in); code != 0 {
		s.reply(t, addResult(in, func(string, int32) int16 { return code }))
		return
	}
	next := *e
	for _, topic := range in.Topics {
		next.topics = union(next.topics, []Topic{{topic.Topic, topic.Partitions}})
	}
	if e.status != ongoing || !e.covers(in) {
		if e.status != ongoing {
			next.status, next.startMs = ongoing, s.nowMs()
		}
		next.prevProducerID, next.updateMs, next.clientVersion = noID, s.nowMs(), in.ClientVersion
		s.write(&next)
		s.startScanning()
	}
	s.reply(t, addResult(in, func(string, int32) int16 { return 0 }))
}

// admit says whether the producer may add to the transaction now. A preparing
// transaction is told of first: while a used-up producer id is exchanged, the
// client has the new one already.
func (e *entry) admit(in Add) int16 {
	switch {
	case in.TransactionalID == "":
		return kerr.InvalidRequest.Code
	case e == nil:
		return kerr.InvalidProducerIDMapping.Code
	case e.preparing():
		return kerr.ConcurrentTransactions.Code
	case e.producerID != in.ProducerID:
		return kerr.InvalidProducerIDMapping.Code
	case e.epoch != in.ProducerEpoch:
		return kerr.ProducerFenced.Code
	}
	return 0
}

func (e *entry) covers(in Add) bool {
	for _, topic := range in.Topics {
		for _, p := range topic.Partitions {
			if !e.contains(topic.Topic, p) {
				return false
			}
		}
	}
	return true
}

// verify says which partitions are in the producer's open transaction (KIP-890). A
// leader asks before it lets the first batch of a transaction in, so that none is
// left open which the coordinator knows nothing of.
func (s *Shard) verify(in Add) *kmsg.AddPartitionsToTxnResponseTransaction {
	e := s.get(in.TransactionalID)
	var code int16
	switch {
	case in.TransactionalID == "":
		code = kerr.InvalidRequest.Code
	case e == nil || e.producerID != in.ProducerID:
		code = kerr.InvalidProducerIDMapping.Code
	case e.epoch != in.ProducerEpoch:
		code = kerr.ProducerFenced.Code
	case e.preparing():
		code = kerr.ConcurrentTransactions.Code
	}
	return addResult(in, func(topic string, partition int32) int16 {
		if code == 0 && !e.contains(topic, partition) {
			return kerr.TransactionAbortable.Code
		}
		return code
	})
}

// addResult answers each partition with its code.
func addResult(in Add, code func(topic string, partition int32) int16) *kmsg.AddPartitionsToTxnResponseTransaction {
	resp := kmsg.NewAddPartitionsToTxnResponseTransaction()
	resp.TransactionalID = in.TransactionalID
	for _, topic := range in.Topics {
		rt := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
		rt.Topic = topic.Topic
		for _, p := range topic.Partitions {
			rp := kmsg.NewAddPartitionsToTxnResponseTransactionTopicPartition()
			rp.Partition, rp.ErrorCode = p, code(topic.Topic, p)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return &resp
}
