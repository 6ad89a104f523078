package scenario

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ConsumerMember is a member of a consumer group (KIP-848), which has what it was
// last told to have.
type ConsumerMember struct {
	t         *T
	Conn      *Conn
	group, ID string
	Instance  *string
	Topics    []string
	Regex     *string
	Assignor  *string
	Rebalance int32 // ms
	Epoch     int32
	Has       []kmsg.ConsumerGroupHeartbeatRequestTopic
}

// ConsumerMember makes a member that has not joined. It leaves at the end.
func (t *T) ConsumerMember(group, id string, topics ...string) *ConsumerMember {
	t.Newest(kmsg.ConsumerGroupHeartbeat, 1)
	m := &ConsumerMember{t: t, Conn: t.Dial(), group: group, ID: id, Topics: topics, Rebalance: 30000}
	t.Cleanup(func() {
		m.Conn = t.Dial()
		m.TryBeat(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = -1 })
	})
	return m
}

// version is the newest of ConsumerGroupHeartbeat that members make their id in.
func (m *ConsumerMember) version() int16 {
	return max(1, m.t.Newest(kmsg.ConsumerGroupHeartbeat, 1))
}

// TryBeat sends a heartbeat as a client that says everything each time, or what
// change makes of it, and returns what comes, whatever it is.
func (m *ConsumerMember) TryBeat(change func(r *kmsg.ConsumerGroupHeartbeatRequest)) *kmsg.ConsumerGroupHeartbeatResponse {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch, req.InstanceID = m.group, m.ID, m.Epoch, m.Instance
	req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.SubscribedTopicRegex, req.ServerAssignor = m.Rebalance, m.Topics, m.Regex, m.Assignor
	req.Topics = append([]kmsg.ConsumerGroupHeartbeatRequestTopic{}, m.Has...)
	if change != nil {
		change(req)
	}
	return AskOn[*kmsg.ConsumerGroupHeartbeatResponse](m.t, m.Conn, m.version(), req)
}

// Beat is a heartbeat that must succeed. What the member is told to have, it is said
// whether it was told anything; it does not have it before take.
func (m *ConsumerMember) Beat() (told *kmsg.ConsumerGroupHeartbeatResponseAssignment) {
	resp := m.TryBeat(nil)
	m.t.OK("heartbeat of "+m.ID, resp.ErrorCode)
	m.Epoch = resp.MemberEpoch
	return resp.Assignment
}

// Take has a member have what it was told.
func (m *ConsumerMember) Take(told *kmsg.ConsumerGroupHeartbeatResponseAssignment) {
	if told == nil {
		return
	}
	m.Has = nil
	for _, rt := range told.Topics {
		m.Has = append(m.Has, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: rt.TopicID, Partitions: rt.Partitions})
	}
}

// Holds is how many partitions the member has.
func (m *ConsumerMember) Holds() (n int) {
	for _, rt := range m.Has {
		n += len(rt.Partitions)
	}
	return n
}

// SettleAll has members beat and do as they are told, until each has as many
// partitions as is wanted and they have all come to one epoch.
func SettleAll(t *T, members []*ConsumerMember, want ...int) {
	t.Until(fmt.Sprint("members with ", want, " partitions"), func() bool {
		var have []int
		one := true
		for _, m := range members {
			m.Take(m.Beat())
			have = append(have, m.Holds())
			one = one && m.Epoch == members[0].Epoch
		}
		return one && slices.Equal(have, want)
	})
}

// Leave leaves the group, for good unless epoch is -2.
func (m *ConsumerMember) Leave(epoch int32) {
	resp := m.TryBeat(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = epoch })
	m.t.OK("leave of "+m.ID, resp.ErrorCode)
	Equal(m.t, "epoch of the one who leaves", resp.MemberEpoch, epoch)
	m.Has = nil
}

// Refused fails unless a heartbeat is refused with a code.
func (m *ConsumerMember) Refused(what string, want *kerr.Error, change func(r *kmsg.ConsumerGroupHeartbeatRequest)) {
	m.t.Code(what, m.TryBeat(change).ErrorCode, want)
}

// DescribeConsumers describes a consumer group.
func (t *T) DescribeConsumers(group string) kmsg.ConsumerGroupDescribeResponseGroup {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	g := One(t, "groups", Ask[*kmsg.ConsumerGroupDescribeResponse](t, t.Newest(kmsg.ConsumerGroupDescribe, 1), req).Groups)
	t.OK("ConsumerGroupDescribe", g.ErrorCode)
	return g
}
