package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// The TxnOffsetCommit versions that change what the coordinator does.
const (
	txnCommitHasEpoch  = 2
	txnCommitNamesByID = 6 // As with OffsetCommit: before, no id goes into the record.
)

// txnCommit serves TxnOffsetCommit (28), versions 0 to 5: how far a group will have
// read once a transaction commits. The topics were checked by the caller; the
// producer is checked by the log.
func (s *Shard) txnCommit(t coordinator.Ticket, guard uint64, req *kmsg.TxnOffsetCommitRequest) {
	g := s.groups[req.Group]
	code := kerr.IllegalGeneration.Code
	switch {
	case g != nil && g.consumers != nil:
		code = g.consumers.validateTxnCommit(req.MemberID, req.InstanceID, req.Generation)
	case g != nil:
		code = g.validateTxnCommit(req.MemberID, req.InstanceID, req.Generation)
	case req.Generation < 0:
		code = 0 // A consumer that assigns partitions to itself.
	}
	resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	for _, rt := range req.Topics {
		ot := kmsg.NewTxnOffsetCommitResponseTopic()
		ot.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			op := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			op.Partition, op.ErrorCode = rp.Partition, code
			if code == 0 {
				op.ErrorCode = s.txnCommitOne(req, rt, rp)
			}
			ot.Partitions = append(ot.Partitions, op)
		}
		resp.Topics = append(resp.Topics, ot)
	}
	if g == nil && code == 0 {
		s.keepUnwritten(req.Group)
	}
	s.eff.Within = &coordinator.Within{ProducerID: req.ProducerID, Epoch: req.ProducerEpoch, Guard: guard}
	s.reply(t, resp)
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

// txnCommitOne writes one offset.
func (s *Shard) txnCommitOne(req *kmsg.TxnOffsetCommitRequest, rt kmsg.TxnOffsetCommitRequestTopic, rp kmsg.TxnOffsetCommitRequestTopicPartition) int16 {
	c := committed{offset: rp.Offset, leaderEpoch: -1, commitMs: s.nowMs(), expireMs: -1}
	if req.Version >= txnCommitHasEpoch {
		c.leaderEpoch = rp.LeaderEpoch
	}
	if req.Version >= txnCommitNamesByID {
		c.topicID = rt.TopicID
	}
	if rp.Metadata != nil {
		c.metadata = *rp.Metadata
	}
	if utf16Len(c.metadata) > s.cfg.OffsetMetadataMaxBytes {
		return kerr.OffsetMetadataTooLarge.Code
	}
	s.write(offsetRecord(offsetKey{req.Group, rt.Topic, rp.Partition}, c))
	return 0
}
