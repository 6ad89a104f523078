package scenario

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Group makes a name for a group and waits until its coordinator serves it. What
// becomes of the group is deleted at the end.
func (t *T) Group() string {
	name := t.Name("g")
	t.Until("a coordinator for "+name, func() bool {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey = name
		resp := Ask[*kmsg.FindCoordinatorResponse](t, t.Newest(kmsg.FindCoordinator, 1), req)
		if resp.ErrorCode == kerr.CoordinatorNotAvailable.Code {
			return false
		}
		t.OK("FindCoordinator", resp.ErrorCode)
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Group = name
		switch Ask[*kmsg.OffsetFetchResponse](t, t.Newest(kmsg.OffsetFetch, 2), fetch).ErrorCode {
		case kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code, kerr.CoordinatorLoadInProgress.Code:
			return false
		}
		return true
	})
	t.Cleanup(func() {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{name}
		AskOn[*kmsg.DeleteGroupsResponse](t, t.Dial(), t.Newest(kmsg.DeleteGroups, 1), req)
	})
	return name
}

// Member is a member of a classic group, on a connection of its own.
type Member struct {
	T          *T
	Conn       *Conn
	Group      string
	Kind       string // Protocol type.
	ID         string
	Instance   *string
	Protocols  []string
	Metadata   func(protocol string) []byte
	Generation int32
	Session    int32 // ms
	Rebalance  int32 // ms
}

// Member makes a member that has not joined. Its protocols are [range] unless
// others are named.
func (t *T) Member(group string, protocols ...string) *Member {
	if len(protocols) == 0 {
		protocols = []string{"range"}
	}
	return &Member{
		T: t, Conn: t.Dial(), Group: group, Kind: "compat", Protocols: protocols, Generation: -1,
		Metadata: func(p string) []byte { return []byte("metadata of " + p) }, Session: 10000, Rebalance: 5000,
	}
}

// JoinRequest is a JoinGroup of the member as it is.
func (m *Member) JoinRequest() *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType = m.Group, m.ID, m.Instance, m.Kind
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = m.Session, m.Rebalance
	for _, p := range m.Protocols {
		jp := kmsg.NewJoinGroupRequestProtocol()
		jp.Name, jp.Metadata = p, m.Metadata(p)
		req.Protocols = append(req.Protocols, jp)
	}
	return req
}

// Version is the newest version of JoinGroup up to 8 that has static members.
func (m *Member) Version() int16 { return m.T.Newest(kmsg.JoinGroup, 8) }

// TryJoin sends one JoinGroup and returns what comes, whatever it is.
func (m *Member) TryJoin(version int16) *kmsg.JoinGroupResponse {
	return AskOn[*kmsg.JoinGroupResponse](m.T, m.Conn, version, m.JoinRequest())
}

// Name gets the member an id if it needs one (KIP-394).
func (m *Member) Name() {
	if m.ID != "" || m.Instance != nil || m.Version() < 4 {
		return
	}
	resp := m.TryJoin(m.Version())
	m.T.Code("the first join", resp.ErrorCode, kerr.MemberIDRequired)
	m.ID = resp.MemberID
}

// SendJoin sends a JoinGroup whose response may have to wait for others.
func (m *Member) SendJoin() Pending {
	m.Name()
	return m.T.Send(m.Conn, m.Version(), m.JoinRequest())
}

// Joined reads the response of SendJoin, which must be a success.
func (m *Member) Joined(p Pending) *kmsg.JoinGroupResponse {
	resp := Receive[*kmsg.JoinGroupResponse](m.T, m.Conn, p)
	m.T.OK("join", resp.ErrorCode)
	m.ID, m.Generation = resp.MemberID, resp.Generation
	return resp
}

// Join joins and waits for the generation.
func (m *Member) Join() *kmsg.JoinGroupResponse { return m.Joined(m.SendJoin()) }

// SyncRequest is a SyncGroup of the member with what a leader assigns, nil for others.
func (m *Member) SyncRequest(assign map[string]string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = m.Group, m.Generation, m.ID, m.Instance
	req.ProtocolType, req.Protocol = &m.Kind, &m.Protocols[0]
	for id, a := range assign {
		ga := kmsg.NewSyncGroupRequestGroupAssignment()
		ga.MemberID, ga.MemberAssignment = id, []byte(a)
		req.GroupAssignment = append(req.GroupAssignment, ga)
	}
	return req
}

// Sync sends a SyncGroup and waits for the assignment.
func (m *Member) Sync(assign map[string]string) *kmsg.SyncGroupResponse {
	return AskOn[*kmsg.SyncGroupResponse](m.T, m.Conn, m.T.Newest(kmsg.SyncGroup, 4), m.SyncRequest(assign))
}

// Heartbeat sends a Heartbeat of a version and returns its code.
func (m *Member) Heartbeat(version int16) int16 {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = m.Group, m.Generation, m.ID, m.Instance
	return AskOn[*kmsg.HeartbeatResponse](m.T, m.Conn, version, req).ErrorCode
}

// Beat is a heartbeat of the newest version.
func (m *Member) Beat() int16 { return m.Heartbeat(m.T.Newest(kmsg.Heartbeat, 3)) }

// Leave leaves the group; the code is the member's.
func (m *Member) Leave() int16 {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = m.Group
	lm := kmsg.NewLeaveGroupRequestMember()
	lm.MemberID, lm.InstanceID = m.ID, m.Instance
	req.Members = append(req.Members, lm)
	resp := AskOn[*kmsg.LeaveGroupResponse](m.T, m.Conn, m.T.Newest(kmsg.LeaveGroup, 4), req)
	m.T.OK("leave", resp.ErrorCode)
	return One(m.T, "members", resp.Members).ErrorCode
}

// LeaveAtEnd empties the group before it is deleted.
func (m *Member) LeaveAtEnd() *Member {
	m.T.Cleanup(func() {
		m.Conn = m.T.Dial()
		m.Leave()
	})
	return m
}

// Stable makes a group of one member that has its assignment.
func (t *T) Stable(group string, protocols ...string) *Member {
	m := t.Member(group, protocols...)
	return m.Settle()
}

// Settle joins and syncs a member that is alone in its group.
func (m *Member) Settle() *Member {
	m.LeaveAtEnd()
	m.Join()
	m.T.OK("sync", m.Sync(map[string]string{m.ID: "assigned to " + m.ID}).ErrorCode)
	return m
}

// Pair makes a group of two members, leader first, that wait to be synced.
func (t *T) Pair(group string) (leader, follower *Member) {
	leader, follower = t.Member(group), t.Member(group)
	leader.LeaveAtEnd()
	follower.LeaveAtEnd()
	leader.Join()
	t.OK("sync of the first", leader.Sync(map[string]string{leader.ID: "all"}).ErrorCode)
	waiting := follower.SendJoin()
	t.Until("the leader to hear of the second", func() bool { return leader.Beat() == kerr.RebalanceInProgress.Code })
	again := leader.SendJoin()
	resp := leader.Joined(again)
	follower.Joined(waiting)
	Equal(t, "leader", resp.LeaderID, leader.ID)
	return leader, follower
}

// SettledPair makes a group of two members that have their assignments.
func (t *T) SettledPair(group string) (leader, follower *Member) {
	leader, follower = t.Pair(group)
	t.OK("leader's sync", leader.Sync(map[string]string{leader.ID: "for the leader", follower.ID: "for the follower"}).ErrorCode)
	t.OK("follower's sync", follower.Sync(nil).ErrorCode)
	return leader, follower
}

// DescribeGroup describes a group.
func (t *T) DescribeGroup(version int16, group string) kmsg.DescribeGroupsResponseGroup {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	resp := Ask[*kmsg.DescribeGroupsResponse](t, version, req)
	g := One(t, "groups", resp.Groups)
	Equal(t, "group", g.Group, group)
	return g
}

// GroupState is the state of a group.
func (t *T) GroupState(group string) string {
	return t.DescribeGroup(t.Newest(kmsg.DescribeGroups, 5), group).State
}

// Committing is one partition's offset to commit.
type Committing struct {
	Partition int32
	Offset    int64
	Metadata  *string
}

// CommitRequest is an OffsetCommit as nobody's member.
func (t *T) CommitRequest(version int16, group, topic string, commits ...Committing) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.RetentionTimeMillis = group, -1, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	if version >= 10 {
		rt.TopicID = t.TopicID(topic)
	}
	for _, c := range commits {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.Metadata = c.Partition, c.Offset, c.Metadata
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// Commit commits as nobody's member and returns the codes by partition, in order.
func (t *T) Commit(version int16, group, topic string, commits ...Committing) []int16 {
	return t.CommitCodes(version, t.CommitRequest(version, group, topic, commits...))
}

// CommitCodes sends an OffsetCommit and returns the codes by partition, in order.
func (t *T) CommitCodes(version int16, req *kmsg.OffsetCommitRequest) []int16 {
	var codes []int16
	for _, rt := range Ask[*kmsg.OffsetCommitResponse](t, version, req).Topics {
		for _, p := range rt.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	return codes
}

// CommitAs is a commit of a member, and its code.
func (m *Member) CommitAs(version int16, topic string, offset int64) int16 {
	req := m.T.CommitRequest(version, m.Group, topic, Committing{Offset: offset})
	req.Generation, req.MemberID, req.InstanceID = m.Generation, m.ID, m.Instance
	return One(m.T, "partitions", m.T.CommitCodes(version, req))
}

// Committed fetches a committed offset in any version.
func (t *T) Committed(version int16, group, topic string, partition int32) kmsg.OffsetFetchResponseTopicPartition {
	req := t.OffsetFetchRequest(version, group, topic, partition)
	return One(t, "partitions", t.CommittedBy(version, req))
}

// OffsetFetchRequest is an OffsetFetch of one group and topic in any version.
func (t *T) OffsetFetchRequest(version int16, group, topic string, partitions ...int32) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	if version < 8 {
		req.Group = group
		rt := kmsg.NewOffsetFetchRequestTopic()
		rt.Topic, rt.Partitions = topic, partitions
		req.Topics = append(req.Topics, rt)
		return req
	}
	rg := kmsg.NewOffsetFetchRequestGroup()
	rg.Group, rg.MemberEpoch = group, -1
	rt := kmsg.NewOffsetFetchRequestGroupTopic()
	rt.Topic, rt.Partitions = topic, partitions
	if version >= 10 {
		rt.TopicID = t.TopicID(topic)
	}
	rg.Topics = append(rg.Topics, rt)
	req.Groups = append(req.Groups, rg)
	return req
}

// CommittedBy sends an OffsetFetch of one group, which must succeed, and returns
// its partitions in the shape of the old versions.
func (t *T) CommittedBy(version int16, req *kmsg.OffsetFetchRequest) []kmsg.OffsetFetchResponseTopicPartition {
	resp := Ask[*kmsg.OffsetFetchResponse](t, version, req)
	t.OK("OffsetFetch", resp.ErrorCode)
	var all []kmsg.OffsetFetchResponseTopicPartition
	for _, rt := range resp.Topics {
		all = append(all, rt.Partitions...)
	}
	for _, g := range resp.Groups {
		t.OK(fmt.Sprint("OffsetFetch of ", g.Group), g.ErrorCode)
		for _, rt := range g.Topics {
			for _, p := range rt.Partitions {
				all = append(all, kmsg.OffsetFetchResponseTopicPartition{
					Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode,
				})
			}
		}
	}
	return all
}
