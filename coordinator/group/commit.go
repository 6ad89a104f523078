package group

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// The OffsetCommit versions that change what the coordinator does.
const (
	commitFirstRetention = 2 // The client may say how long the offset is kept,
	commitLastRetention  = 4 // up to this version.
	commitHasEpoch       = 6
	commitNotFound       = 9  // A missing group has an error of its own.
	commitNamesByID      = 10 // Topics have ids, which go into the record.
)

// commit serves OffsetCommit (8), versions 0 to 10. The topics were checked by
// the caller, who has the image; in version 10 he has put the names beside the
// ids.
func (s *Shard) commit(t coordinator.Ticket, req *kmsg.OffsetCommitRequest) {
	g := s.groups[req.Group]
	if g == nil && req.Generation >= 0 {
		code := kerr.IllegalGeneration.Code
		if req.Version >= commitNotFound {
			code = kerr.GroupIDNotFound.Code
		}
		s.reply(t, commitError(req, code))
		return
	}
	if g != nil && g.consumers != nil {
		if code := g.consumers.validateCommit(req.MemberID, req.Generation, req.Version); code != 0 {
			s.reply(t, commitError(req, code))
			return
		}
	} else if g != nil {
		if code := g.validateCommit(req.MemberID, req.InstanceID, req.Generation); code != 0 {
			s.reply(t, commitError(req, code))
			return
		}
		// A commit is a sign of life, for the poll that caused it may be late.
		if m := g.byID[req.MemberID]; m != nil {
			s.resetSession(g, m)
		}
	}
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	for _, rt := range req.Topics {
		ot := kmsg.NewOffsetCommitResponseTopic()
		ot.Topic, ot.TopicID = rt.Topic, rt.TopicID
		for _, rp := range rt.Partitions {
			op := kmsg.NewOffsetCommitResponseTopicPartition()
			op.Partition = rp.Partition
			op.ErrorCode = s.commitOne(req, rt, rp)
			ot.Partitions = append(ot.Partitions, op)
		}
		resp.Topics = append(resp.Topics, ot)
	}
	if g == nil {
		s.keepUnwritten(req.Group)
	}
	s.reply(t, resp)
}

// keepUnwritten makes the new group of a commit of which nothing was written, as
// Kafka does: the group is there for what changes groups at once, for who reads
// from the shard's next record on. It is soft state, until it is cleaned up.
func (s *Shard) keepUnwritten(id string) {
	if len(s.eff.Records) > 0 {
		return // The first of them makes the group.
	}
	g := newGroup(id, s.nowMs())
	g.shownFrom = s.replayed + 1
	s.groups[id] = g
}

// shown is the group of that id for requests that only read; nil: there is none.
func (s *Shard) shown(id string) *group {
	if g := s.groups[id]; g != nil && g.shownFrom <= s.replayed {
		return g
	}
	return nil
}

// validateCommit says whether offsets may be committed by who says to be this
// member, in this generation.
func (g *classic) validateCommit(id string, instance *string, generation int32) int16 {
	switch {
	case generation < 0 && g.state == empty:
		return 0 // A tool, or a consumer that assigns partitions to itself.
	case generation < 0 && id == "" && instance == nil:
		return kerr.UnknownMemberID.Code
	}
	if code := g.validate(id, instance); code != 0 {
		return code
	}
	switch {
	case generation != g.generation:
		return kerr.IllegalGeneration.Code
	case g.state == completing:
		// The member has joined the new generation, and its partitions may be
		// another's already. While members still join, the old owner may commit.
		return kerr.RebalanceInProgress.Code
	}
	return 0
}

// commitOne writes one offset. Any offset goes, backwards or beyond the end.
func (s *Shard) commitOne(req *kmsg.OffsetCommitRequest, rt kmsg.OffsetCommitRequestTopic, rp kmsg.OffsetCommitRequestTopicPartition) int16 {
	c := committed{
		offset:      rp.Offset,
		leaderEpoch: -1,
		commitMs:    s.nowMs(),
		expireMs:    -1,
	}
	if req.Version >= commitHasEpoch {
		c.leaderEpoch = rp.LeaderEpoch
	}
	if req.Version >= commitNamesByID {
		c.topicID = rt.TopicID
	}
	if rp.Metadata != nil {
		c.metadata = *rp.Metadata
	}
	if utf16Len(c.metadata) > s.cfg.OffsetMetadataMaxBytes {
		return kerr.OffsetMetadataTooLarge.Code
	}
	if req.Version >= commitFirstRetention && req.Version <= commitLastRetention && req.RetentionTimeMillis != -1 {
		c.expireMs = s.nowMs() + req.RetentionTimeMillis
	}
	s.write(offsetRecord(offsetKey{req.Group, rt.Topic, rp.Partition}, c))
	return 0
}

// commitError answers a whole commit with one error.
func commitError(req *kmsg.OffsetCommitRequest, code int16) *kmsg.OffsetCommitResponse {
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	for _, rt := range req.Topics {
		ot := kmsg.NewOffsetCommitResponseTopic()
		ot.Topic, ot.TopicID = rt.Topic, rt.TopicID
		for _, rp := range rt.Partitions {
			op := kmsg.NewOffsetCommitResponseTopicPartition()
			op.Partition, op.ErrorCode = rp.Partition, code
			ot.Partitions = append(ot.Partitions, op)
		}
		resp.Topics = append(resp.Topics, ot)
	}
	return resp
}

// utf16Len is Java's String.length.
func utf16Len(s string) (n int) {
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// deleteOffsets serves OffsetDelete (47), version 0.
func (s *Shard) deleteOffsets(t coordinator.Ticket, req *kmsg.OffsetDeleteRequest) {
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	g := s.groups[req.Group]
	switch {
	case req.Group == "":
		resp.ErrorCode = kerr.InvalidGroupID.Code
	case g == nil:
		resp.ErrorCode = kerr.GroupIDNotFound.Code
	case g.consumers == nil && g.state != empty && !g.usesConsumerProtocol():
		resp.ErrorCode = kerr.NonEmptyGroup.Code
	default:
		for _, rt := range req.Topics {
			resp.Topics = append(resp.Topics, s.deleteTopicOffsets(g, rt))
		}
	}
	s.reply(t, resp)
}

func (s *Shard) deleteTopicOffsets(g *group, rt kmsg.OffsetDeleteRequestTopic) kmsg.OffsetDeleteResponseTopic {
	ot := kmsg.OffsetDeleteResponseTopic{Topic: rt.Topic}
	subscribed := g.reads(rt.Topic)
	for _, rp := range rt.Partitions {
		op := kmsg.OffsetDeleteResponseTopicPartition{Partition: rp.Partition}
		_, has := g.offsets[rt.Topic][rp.Partition]
		switch {
		case subscribed:
			op.ErrorCode = kerr.GroupSubscribedToTopic.Code
		case has || g.isOpen(rt.Topic, rp.Partition):
			s.write(offsetTombstone(offsetKey{g.id, rt.Topic, rp.Partition}))
		}
		ot.Partitions = append(ot.Partitions, op)
	}
	return ot
}

// everyOffset lists the partitions for which the group has an offset, or will
// have one when a transaction commits, in order.
func (g *group) everyOffset() (keys []offsetKey) {
	topics := slices.AppendSeq(slices.Collect(maps.Keys(g.offsets)), maps.Keys(g.open))
	slices.Sort(topics)
	for _, topic := range slices.Compact(topics) {
		for _, p := range g.partitions(topic) {
			keys = append(keys, offsetKey{g.id, topic, p})
		}
	}
	return keys
}

// partitions lists those of everyOffset that are of one topic.
func (g *group) partitions(topic string) []int32 {
	ps := slices.AppendSeq(slices.Collect(maps.Keys(g.offsets[topic])), maps.Keys(g.open[topic]))
	slices.Sort(ps)
	return slices.Compact(ps)
}
