package differential

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var consumerActions = []action{
	{kmsg.ConsumerGroupHeartbeat, 12, (*gen).consumerHeartbeat},
	{kmsg.ConsumerGroupDescribe, 4, (*gen).consumerDescribe},
}

func (g *gen) consumerHeartbeat() {
	group, name := g.group(consumerNames), pick(g, memberNames[:2]...)
	key := group + "/" + name
	join := !g.joined[key] || g.one(8)
	leave := !join && g.one(6)
	g.joined[key] = !leave
	off := g.off()
	topics := unique(some(g, 2, func() string { return pick(g, topicNames...) }))
	subscribe, own := join || g.one(4), g.one(2)
	var assignor *string
	if g.one(12) {
		assignor = pick(g, new("range"), new("uniform"), new("odd"))
	}
	static, regex, timeout := g.one(10), g.one(10), int32(60000)
	if g.one(20) {
		timeout = pick(g, int32(-1), 0)
	}
	g.ask(kmsg.ConsumerGroupHeartbeat, func(v *view, version int16) kmsg.Request {
		m := v.member(group, name)
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = v.name(group), m.id, m.generation+off, -1
		if m.id == "" && version >= 1 {
			req.MemberID = v.name(name) // Since version 1 members name themselves.
		}
		req.InstanceID = instance(v, name, static)
		switch {
		case join:
			req.MemberEpoch, req.RebalanceTimeoutMillis = 0, timeout
			req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
			req.ServerAssignor = assignor
		case leave:
			req.MemberEpoch = -1
			if static {
				req.MemberEpoch = -2
			}
			return req
		case own:
			req.Topics = slices.Clone(m.owned)
		}
		if subscribe {
			req.SubscribedTopicNames = []string{}
			for _, t := range topics {
				req.SubscribedTopicNames = append(req.SubscribedTopicNames, v.name(t))
			}
		}
		if regex && version >= 1 {
			pattern := v.name("t.*")
			req.SubscribedTopicNames, req.SubscribedTopicRegex = nil, &pattern
		}
		return req
	}, func(v *view, resp kmsg.Response) {
		r := resp.(*kmsg.ConsumerGroupHeartbeatResponse)
		if r.ErrorCode != 0 || r.MemberID == nil {
			return
		}
		if r.MemberEpoch < 0 {
			delete(v.members, key)
			return
		}
		m := v.member(group, name)
		m.id, m.generation = *r.MemberID, r.MemberEpoch
		if r.Assignment != nil {
			m.owned = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
			for _, t := range r.Assignment.Topics {
				m.owned = append(m.owned, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.TopicID, Partitions: t.Partitions})
			}
			slices.SortFunc(m.owned, func(a, b kmsg.ConsumerGroupHeartbeatRequestTopic) int {
				return slices.Compare([]byte(v.uuidName(a.TopicID)), []byte(v.uuidName(b.TopicID)))
			})
		}
		v.members[key] = m
	})
}

// uuidName is the world's name of a topic's id.
func (v *view) uuidName(id [16]byte) string { return v.symbol("topic", string(id[:])) }

func (g *gen) consumerDescribe() {
	names := unique(some(g, 2, func() string { return g.group(consumerNames) }))
	operations := g.one(5)
	g.ask(kmsg.ConsumerGroupDescribe, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.IncludeAuthorizedOperations = operations
		for _, n := range names {
			req.Groups = append(req.Groups, v.name(n))
		}
		return req
	}, nil)
}
