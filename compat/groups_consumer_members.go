package compat

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerMember is a member of a consumer group (KIP-848), which has what it was
// last told to have.
type consumerMember struct {
	t         *T
	c         *Conn
	group, id string
	instance  *string
	topics    []string
	regex     *string
	assignor  *string
	rebalance int32 // ms
	epoch     int32
	has       []kmsg.ConsumerGroupHeartbeatRequestTopic
}

// consumerMember makes a member that has not joined. It leaves at the end.
func (t *T) consumerMember(group, id string, topics ...string) *consumerMember {
	t.newest(kmsg.ConsumerGroupHeartbeat, 1)
	m := &consumerMember{t: t, c: t.Dial(), group: group, id: id, topics: topics, rebalance: 30000}
	t.cleanup(func() {
		m.c = t.Dial()
		m.tryBeat(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = -1 })
	})
	return m
}

// version is the newest of ConsumerGroupHeartbeat that members make their id in.
func (m *consumerMember) version() int16 {
	return max(1, m.t.newest(kmsg.ConsumerGroupHeartbeat, 1))
}

// tryBeat sends a heartbeat as a client that says everything each time, or what
// change makes of it, and returns what comes, whatever it is.
func (m *consumerMember) tryBeat(change func(r *kmsg.ConsumerGroupHeartbeatRequest)) *kmsg.ConsumerGroupHeartbeatResponse {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch, req.InstanceID = m.group, m.id, m.epoch, m.instance
	req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.SubscribedTopicRegex, req.ServerAssignor = m.rebalance, m.topics, m.regex, m.assignor
	req.Topics = append([]kmsg.ConsumerGroupHeartbeatRequestTopic{}, m.has...)
	if change != nil {
		change(req)
	}
	return askOn[*kmsg.ConsumerGroupHeartbeatResponse](m.t, m.c, m.version(), req)
}

// beat is a heartbeat that must succeed. What the member is told to have, it is said
// whether it was told anything; it does not have it before take.
func (m *consumerMember) beat() (told *kmsg.ConsumerGroupHeartbeatResponseAssignment) {
	resp := m.tryBeat(nil)
	m.t.ok("heartbeat of "+m.id, resp.ErrorCode)
	m.epoch = resp.MemberEpoch
	return resp.Assignment
}

// take has a member have what it was told.
func (m *consumerMember) take(told *kmsg.ConsumerGroupHeartbeatResponseAssignment) {
	if told == nil {
		return
	}
	m.has = nil
	for _, rt := range told.Topics {
		m.has = append(m.has, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: rt.TopicID, Partitions: rt.Partitions})
	}
}

// holds is how many partitions the member has.
func (m *consumerMember) holds() (n int) {
	for _, rt := range m.has {
		n += len(rt.Partitions)
	}
	return n
}

// settleAll has members beat and do as they are told, until each has as many
// partitions as is wanted and they have all come to one epoch.
func settleAll(t *T, members []*consumerMember, want ...int) {
	t.until(fmt.Sprint("members with ", want, " partitions"), func() bool {
		var have []int
		one := true
		for _, m := range members {
			m.take(m.beat())
			have = append(have, m.holds())
			one = one && m.epoch == members[0].epoch
		}
		return one && slices.Equal(have, want)
	})
}

// leave leaves the group, for good unless epoch is -2.
func (m *consumerMember) leave(epoch int32) {
	resp := m.tryBeat(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = epoch })
	m.t.ok("leave of "+m.id, resp.ErrorCode)
	equal(m.t, "epoch of the one who leaves", resp.MemberEpoch, epoch)
	m.has = nil
}

// refused fails unless a heartbeat is refused with a code.
func (m *consumerMember) refused(what string, want *kerr.Error, change func(r *kmsg.ConsumerGroupHeartbeatRequest)) {
	m.t.code(what, m.tryBeat(change).ErrorCode, want)
}

// describeConsumers describes a consumer group.
func (t *T) describeConsumers(group string) kmsg.ConsumerGroupDescribeResponseGroup {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	g := one(t, "groups", ask[*kmsg.ConsumerGroupDescribeResponse](t, t.newest(kmsg.ConsumerGroupDescribe, 1), req).Groups)
	t.ok("ConsumerGroupDescribe", g.ErrorCode)
	return g
}
