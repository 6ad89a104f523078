package differential

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var offsetActions = []action{
	{kmsg.OffsetCommit, 6, (*gen).offsetCommit},
	{kmsg.OffsetFetch, 6, (*gen).offsetFetch},
	{kmsg.OffsetDelete, 2, (*gen).offsetDelete},
}

func (g *gen) offsetCommit() {
	group, places := g.group(groupNames), g.places(3)
	as, off, offset := "", g.off(), g.Int64N(30)
	if g.one(2) {
		as = pick(g, memberNames...)
	}
	if g.one(20) {
		offset = -1
	}
	metadata := g.maybe("said")
	if g.one(15) {
		long := strings.Repeat("m", 5000)
		metadata = &long
	}
	retention, epoch := pick(g, int64(-1), -1, 1000), pick(g, int32(-1), 0, 3)
	g.ask(kmsg.OffsetCommit, func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Generation, req.RetentionTimeMillis = v.name(group), -1, -1
		if version <= 4 {
			req.RetentionTimeMillis = retention
		}
		if as != "" {
			m := v.member(group, as)
			req.MemberID, req.Generation = m.id, m.generation+off
		}
		for _, topic := range v.told(topicsIn(places), version >= 10) {
			t := kmsg.NewOffsetCommitRequestTopic()
			if version >= 10 {
				t.TopicID = v.topicID(topic)
			} else {
				t.Topic = v.name(topic)
			}
			for _, n := range partitionsIn(places, topic) {
				p := kmsg.NewOffsetCommitRequestTopicPartition()
				p.Partition, p.Offset, p.Metadata, p.LeaderEpoch = n, offset, metadata, epoch
				t.Partitions = append(t.Partitions, p)
			}
			req.Topics = append(req.Topics, t)
		}
		return req
	}, nil)
}

func (g *gen) offsetFetch() {
	groups := unique(some(g, 2, func() string { return g.group(groupNames) }))
	places, all, stable := g.places(3), g.one(4), g.one(2)
	as, off := "", g.off()
	if g.one(5) {
		as = pick(g, memberNames...)
	}
	g.ask(kmsg.OffsetFetch, func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.RequireStable = stable && version >= 7
		if version < 8 {
			req.Group = v.name(groups[0])
			for _, topic := range topicsIn(places) {
				t := kmsg.NewOffsetFetchRequestTopic()
				t.Topic, t.Partitions = v.name(topic), partitionsIn(places, topic)
				req.Topics = append(req.Topics, t)
			}
			if all && version >= 2 {
				req.Topics = nil
			}
			return req
		}
		for _, name := range groups {
			r := kmsg.NewOffsetFetchRequestGroup()
			r.Group, r.MemberEpoch = v.name(name), -1
			if as != "" && version >= 9 {
				m := v.member(name, as)
				r.MemberID, r.MemberEpoch = &m.id, m.generation+off
			}
			for _, topic := range v.told(topicsIn(places), version >= 10) {
				t := kmsg.NewOffsetFetchRequestGroupTopic()
				t.Partitions = partitionsIn(places, topic)
				if version >= 10 {
					t.TopicID = v.topicID(topic)
				} else {
					t.Topic = v.name(topic)
				}
				r.Topics = append(r.Topics, t)
			}
			if all {
				r.Topics = nil
			}
			req.Groups = append(req.Groups, r)
		}
		return req
	}, nil)
}

func (g *gen) offsetDelete() {
	group, places := g.group(groupNames), g.places(2)
	g.ask(kmsg.OffsetDelete, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = v.name(group)
		for _, topic := range topicsIn(places) {
			t := kmsg.NewOffsetDeleteRequestTopic()
			t.Topic = v.name(topic)
			for _, n := range partitionsIn(places, topic) {
				p := kmsg.NewOffsetDeleteRequestTopicPartition()
				p.Partition = n
				t.Partitions = append(t.Partitions, p)
			}
			req.Topics = append(req.Topics, t)
		}
		return req
	}, nil)
}
