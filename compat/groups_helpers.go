package compat

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Group makes a name for a group and waits until its coordinator serves it. What
// becomes of the group is deleted at the end.
func (t *T) Group() string {
	name := t.name("g")
	t.until("a coordinator for "+name, func() bool {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey = name
		resp := ask[*kmsg.FindCoordinatorResponse](t, t.newest(kmsg.FindCoordinator, 1), req)
		if resp.ErrorCode == kerr.CoordinatorNotAvailable.Code {
			return false
		}
		t.ok("FindCoordinator", resp.ErrorCode)
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Group = name
		switch ask[*kmsg.OffsetFetchResponse](t, t.newest(kmsg.OffsetFetch, 2), fetch).ErrorCode {
		case kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code, kerr.CoordinatorLoadInProgress.Code:
			return false
		}
		return true
	})
	t.cleanup(func() {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{name}
		askOn[*kmsg.DeleteGroupsResponse](t, t.Dial(), t.newest(kmsg.DeleteGroups, 1), req)
	})
	return name
}

// member is a member of a classic group, on a connection of its own.
type member struct {
	t          *T
	c          *Conn
	group      string
	kind       string // Protocol type.
	id         string
	instance   *string
	protocols  []string
	metadata   func(protocol string) []byte
	generation int32
	session    int32 // ms
	rebalance  int32 // ms
}

// member makes a member that has not joined. Its protocols are [range] unless
// others are named.
func (t *T) member(group string, protocols ...string) *member {
	if len(protocols) == 0 {
		protocols = []string{"range"}
	}
	return &member{
		t: t, c: t.Dial(), group: group, kind: "compat", protocols: protocols, generation: -1,
		metadata: func(p string) []byte { return []byte("metadata of " + p) }, session: 10000, rebalance: 5000,
	}
}

// joinRequest is a JoinGroup of the member as it is.
func (m *member) joinRequest() *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType = m.group, m.id, m.instance, m.kind
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = m.session, m.rebalance
	for _, p := range m.protocols {
		jp := kmsg.NewJoinGroupRequestProtocol()
		jp.Name, jp.Metadata = p, m.metadata(p)
		req.Protocols = append(req.Protocols, jp)
	}
	return req
}

// version is the newest version of JoinGroup up to 8 that has static members.
func (m *member) version() int16 { return m.t.newest(kmsg.JoinGroup, 8) }

// tryJoin sends one JoinGroup and returns what comes, whatever it is.
func (m *member) tryJoin(version int16) *kmsg.JoinGroupResponse {
	return askOn[*kmsg.JoinGroupResponse](m.t, m.c, version, m.joinRequest())
}

// name gets the member an id if it needs one (KIP-394).
func (m *member) name() {
	if m.id != "" || m.instance != nil || m.version() < 4 {
		return
	}
	resp := m.tryJoin(m.version())
	m.t.code("the first join", resp.ErrorCode, kerr.MemberIDRequired)
	m.id = resp.MemberID
}

// sendJoin sends a JoinGroup whose response may have to wait for others.
func (m *member) sendJoin() Pending {
	m.name()
	return m.t.send(m.c, m.version(), m.joinRequest())
}

// joined reads the response of sendJoin, which must be a success.
func (m *member) joined(p Pending) *kmsg.JoinGroupResponse {
	resp := receive[*kmsg.JoinGroupResponse](m.t, m.c, p)
	m.t.ok("join", resp.ErrorCode)
	m.id, m.generation = resp.MemberID, resp.Generation
	return resp
}

// join joins and waits for the generation.
func (m *member) join() *kmsg.JoinGroupResponse { return m.joined(m.sendJoin()) }

// syncRequest is a SyncGroup of the member with what a leader assigns, nil for others.
func (m *member) syncRequest(assign map[string]string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = m.group, m.generation, m.id, m.instance
	req.ProtocolType, req.Protocol = &m.kind, &m.protocols[0]
	for id, a := range assign {
		ga := kmsg.NewSyncGroupRequestGroupAssignment()
		ga.MemberID, ga.MemberAssignment = id, []byte(a)
		req.GroupAssignment = append(req.GroupAssignment, ga)
	}
	return req
}

// sync sends a SyncGroup and waits for the assignment.
func (m *member) sync(assign map[string]string) *kmsg.SyncGroupResponse {
	return askOn[*kmsg.SyncGroupResponse](m.t, m.c, m.t.newest(kmsg.SyncGroup, 4), m.syncRequest(assign))
}

// heartbeat sends a Heartbeat of a version and returns its code.
func (m *member) heartbeat(version int16) int16 {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = m.group, m.generation, m.id, m.instance
	return askOn[*kmsg.HeartbeatResponse](m.t, m.c, version, req).ErrorCode
}

// beat is a heartbeat of the newest version.
func (m *member) beat() int16 { return m.heartbeat(m.t.newest(kmsg.Heartbeat, 3)) }

// leave leaves the group; the code is the member's.
func (m *member) leave() int16 {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = m.group
	lm := kmsg.NewLeaveGroupRequestMember()
	lm.MemberID, lm.InstanceID = m.id, m.instance
	req.Members = append(req.Members, lm)
	resp := askOn[*kmsg.LeaveGroupResponse](m.t, m.c, m.t.newest(kmsg.LeaveGroup, 4), req)
	m.t.ok("leave", resp.ErrorCode)
	return one(m.t, "members", resp.Members).ErrorCode
}

// leaveAtEnd empties the group before it is deleted.
func (m *member) leaveAtEnd() *member {
	m.t.cleanup(func() {
		m.c = m.t.Dial()
		m.leave()
	})
	return m
}

// stable makes a group of one member that has its assignment.
func (t *T) stable(group string, protocols ...string) *member {
	m := t.member(group, protocols...)
	return m.settle()
}

// settle joins and syncs a member that is alone in its group.
func (m *member) settle() *member {
	m.leaveAtEnd()
	m.join()
	m.t.ok("sync", m.sync(map[string]string{m.id: "assigned to " + m.id}).ErrorCode)
	return m
}

// pair makes a group of two members, leader first, that wait to be synced.
func (t *T) pair(group string) (leader, follower *member) {
	leader, follower = t.member(group), t.member(group)
	leader.leaveAtEnd()
	follower.leaveAtEnd()
	leader.join()
	t.ok("sync of the first", leader.sync(map[string]string{leader.id: "all"}).ErrorCode)
	waiting := follower.sendJoin()
	t.until("the leader to hear of the second", func() bool { return leader.beat() == kerr.RebalanceInProgress.Code })
	again := leader.sendJoin()
	resp := leader.joined(again)
	follower.joined(waiting)
	equal(t, "leader", resp.LeaderID, leader.id)
	return leader, follower
}

// settledPair makes a group of two members that have their assignments.
func (t *T) settledPair(group string) (leader, follower *member) {
	leader, follower = t.pair(group)
	t.ok("leader's sync", leader.sync(map[string]string{leader.id: "for the leader", follower.id: "for the follower"}).ErrorCode)
	t.ok("follower's sync", follower.sync(nil).ErrorCode)
	return leader, follower
}

// describe describes a group.
func (t *T) describe(version int16, group string) kmsg.DescribeGroupsResponseGroup {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	resp := ask[*kmsg.DescribeGroupsResponse](t, version, req)
	g := one(t, "groups", resp.Groups)
	equal(t, "group", g.Group, group)
	return g
}

// state is the state of a group.
func (t *T) state(group string) string {
	return t.describe(t.newest(kmsg.DescribeGroups, 5), group).State
}

// committing is one partition's offset to commit.
type committing struct {
	partition int32
	offset    int64
	metadata  *string
}

// commitRequest is an OffsetCommit as nobody's member.
func (t *T) commitRequest(version int16, group, topic string, commits ...committing) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.RetentionTimeMillis = group, -1, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	if version >= 10 {
		rt.TopicID = t.topicID(topic)
	}
	for _, c := range commits {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.Metadata = c.partition, c.offset, c.metadata
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// commit commits as nobody's member and returns the codes by partition, in order.
func (t *T) commit(version int16, group, topic string, commits ...committing) []int16 {
	return t.commitCodes(version, t.commitRequest(version, group, topic, commits...))
}

// commitCodes sends an OffsetCommit and returns the codes by partition, in order.
func (t *T) commitCodes(version int16, req *kmsg.OffsetCommitRequest) []int16 {
	var codes []int16
	for _, rt := range ask[*kmsg.OffsetCommitResponse](t, version, req).Topics {
		for _, p := range rt.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	return codes
}

// commitAs is a commit of a member, and its code.
func (m *member) commitAs(version int16, topic string, offset int64) int16 {
	req := m.t.commitRequest(version, m.group, topic, committing{offset: offset})
	req.Generation, req.MemberID, req.InstanceID = m.generation, m.id, m.instance
	return one(m.t, "partitions", m.t.commitCodes(version, req))
}

// committed fetches a committed offset in any version.
func (t *T) committed(version int16, group, topic string, partition int32) kmsg.OffsetFetchResponseTopicPartition {
	req := t.offsetFetchRequest(version, group, topic, partition)
	return one(t, "partitions", t.committedBy(version, req))
}

// offsetFetchRequest is an OffsetFetch of one group and topic in any version.
func (t *T) offsetFetchRequest(version int16, group, topic string, partitions ...int32) *kmsg.OffsetFetchRequest {
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
		rt.TopicID = t.topicID(topic)
	}
	rg.Topics = append(rg.Topics, rt)
	req.Groups = append(req.Groups, rg)
	return req
}

// committedBy sends an OffsetFetch of one group, which must succeed, and returns
// its partitions in the shape of the old versions.
func (t *T) committedBy(version int16, req *kmsg.OffsetFetchRequest) []kmsg.OffsetFetchResponseTopicPartition {
	resp := ask[*kmsg.OffsetFetchResponse](t, version, req)
	t.ok("OffsetFetch", resp.ErrorCode)
	var all []kmsg.OffsetFetchResponseTopicPartition
	for _, rt := range resp.Topics {
		all = append(all, rt.Partitions...)
	}
	for _, g := range resp.Groups {
		t.ok(fmt.Sprint("OffsetFetch of ", g.Group), g.ErrorCode)
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
