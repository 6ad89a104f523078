package group

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// fetchBatchVersion is the OffsetFetch version that asks for several groups at
// once; the caller has split it, for groups live on different shards.
const fetchBatchVersion = 8

// fetch serves OffsetFetch (9), versions 0 to 10, for one group. Null topics are
// all topics (from version 2 on). What is not known has offset -1.
func (s *Shard) fetch(t coordinator.Ticket, req *kmsg.OffsetFetchRequest) {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	if req.Version >= fetchBatchVersion {
		if len(req.Groups) != 1 {
			panic(fmt.Sprintf("BUG: OffsetFetch for %d groups reached one shard", len(req.Groups)))
		}
		rg := req.Groups[0]
		og := kmsg.NewOffsetFetchResponseGroup()
		og.Group = rg.Group
		if code := s.validateFetch(rg); code != 0 {
			og.ErrorCode = code
			resp.Groups = []kmsg.OffsetFetchResponseGroup{og}
			s.reply(t, resp)
			return
		}
		og.Topics = s.fetchGroup(rg.Group, rg.Topics, req.RequireStable)
		resp.Groups = []kmsg.OffsetFetchResponseGroup{og}
		s.reply(t, resp)
		return
	}
	var topics []kmsg.OffsetFetchRequestGroupTopic // nil: all.
	if req.Topics != nil {
		topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for _, rt := range req.Topics {
		topics = append(topics, kmsg.OffsetFetchRequestGroupTopic{Topic: rt.Topic, Partitions: rt.Partitions})
	}
	for _, gt := range s.fetchGroup(req.Group, topics, req.RequireStable) {
		ot := kmsg.NewOffsetFetchResponseTopic()
		ot.Topic = gt.Topic
		for _, gp := range gt.Partitions {
			ot.Partitions = append(ot.Partitions, kmsg.OffsetFetchResponseTopicPartition{
				Partition: gp.Partition, Offset: gp.Offset, LeaderEpoch: gp.LeaderEpoch,
				Metadata: gp.Metadata, ErrorCode: gp.ErrorCode,
			})
		}
		resp.Topics = append(resp.Topics, ot)
	}
	s.reply(t, resp)
}

// fetchGroup looks a group's offsets up.
func (s *Shard) fetchGroup(id string, topics []kmsg.OffsetFetchRequestGroupTopic, stable bool) []kmsg.OffsetFetchResponseGroupTopic {
	g := s.groups[id]
	if g == nil {
		g = newGroup(id, 0) // It has no offsets.
	}
	if topics == nil {
		for _, topic := range sortedKeys(g.offsets) {
			topics = append(topics, kmsg.OffsetFetchRequestGroupTopic{
				Topic: topic, Partitions: slices.Sorted(maps.Keys(g.offsets[topic])),
			})
		}
	}
	found := make([]kmsg.OffsetFetchResponseGroupTopic, 0, len(topics))
	for _, rt := range topics {
		ot := kmsg.NewOffsetFetchResponseGroupTopic()
		ot.Topic, ot.TopicID = rt.Topic, rt.TopicID
		for _, p := range rt.Partitions {
			ot.Partitions = append(ot.Partitions, g.fetchOne(rt, p, stable))
		}
		found = append(found, ot)
	}
	return found
}

// fetchOne looks one offset up. An offset that was committed for a topic of the
// same name but another id is not that topic's.
func (g *group) fetchOne(rt kmsg.OffsetFetchRequestGroupTopic, partition int32, stable bool) kmsg.OffsetFetchResponseGroupTopicPartition {
	op := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	op.Partition, op.Offset, op.LeaderEpoch, op.Metadata = partition, -1, -1, new("")
	if stable && g.isOpen(rt.Topic, partition) {
		op.ErrorCode = kerr.UnstableOffsetCommit.Code
		return op
	}
	var none [16]byte
	c, ok := g.offsets[rt.Topic][partition]
	if !ok || c.topicID != none && rt.TopicID != none && c.topicID != rt.TopicID {
		return op
	}
	op.Offset, op.LeaderEpoch, op.Metadata = c.offset, c.leaderEpoch, new(c.metadata)
	return op
}
