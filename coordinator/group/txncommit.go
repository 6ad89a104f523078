package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// txnCommit serves TxnOffsetCommit (28), versions 0 to 5: how far a group will have
// read once a transaction commits. The topics were checked by the caller, and so
// was the producer, as far as the log does not check it.
func (s *Shard) txnCommit(t coordinator.Ticket, guard uint64, req *kmsg.TxnOffsetCommitRequest) {
	g := s.groups[req.Group]
	code := kerr.IllegalGeneration.Code
	if g != nil {
		code = g.validateTxnCommit(req.MemberID, req.InstanceID, req.Generation)
	} else if req.Generation < 0 {
		code = 0 // A consumer that assigns partitions to itself.
	}
	if code != 0 {
		s.reply(t, txnCommitResponse(req, func(kmsg.TxnOffsetCommitRequestTopicPartition) int16 { return code }))
		return
	}
	for _, rt := range req.Topics {
		for _, rp := range rt.Partitions {
			if c, code := s.txnCommitted(req, rp); code == 0 {
				s.write(offsetRecord(offsetKey{req.Group, rt.Topic, rp.Partition}, c))
			}
		}
	}
	s.eff.Within = &coordinator.Within{ProducerID: req.ProducerID, Epoch: req.ProducerEpoch, Guard: guard}
	s.reply(t, txnCommitResponse(req, func(rp kmsg.TxnOffsetCommitRequestTopicPartition) int16 {
		_, code := s.txnCommitted(req, rp)
		return code
	}))
}

// validateTxnCommit says whether offsets may be committed in a transaction by who
// says to be this member, in this generation. Who says nothing (up to version 2
// nobody can) is believed: the producer is fenced otherwise. Unlike a plain commit
// it may come while the group waits for its assignment.
func (g *classic) validateTxnCommit(id string, instance *string, generation int32) int16 {
	switch {
	case generation < 0 && g.state == empty:
		return 0
	case generation < 0 && id == "" && instance == nil:
		return 0
	}
	if code := g.validate(id, instance); code != 0 {
		return code
	}
	if generation != g.generation {
		return kerr.IllegalGeneration.Code
	}
	return 0
}

// txnCommitted is one offset as it is to be written.
func (s *Shard) txnCommitted(req *kmsg.TxnOffsetCommitRequest, rp kmsg.TxnOffsetCommitRequestTopicPartition) (committed, int16) {
	c := committed{offset: rp.Offset, leaderEpoch: -1, commitMs: s.nowMs(), expireMs: -1}
	if req.Version >= 2 { // The first with an epoch.
		c.leaderEpoch = max(-1, rp.LeaderEpoch)
	}
	if rp.Metadata != nil {
		c.metadata = *rp.Metadata
	}
	if utf16Len(c.metadata) > s.cfg.OffsetMetadataMaxBytes {
		return c, kerr.OffsetMetadataTooLarge.Code
	}
	return c, 0
}

// txnCommitResponse answers each partition with its code.
func txnCommitResponse(req *kmsg.TxnOffsetCommitRequest, code func(kmsg.TxnOffsetCommitRequestTopicPartition) int16) *kmsg.TxnOffsetCommitResponse {
	resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	for _, rt := range req.Topics {
		ot := kmsg.NewTxnOffsetCommitResponseTopic()
		ot.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			op := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			op.Partition, op.ErrorCode = rp.Partition, code(rp)
			ot.Partitions = append(ot.Partitions, op)
		}
		resp.Topics = append(resp.Topics, ot)
	}
	return resp
}
