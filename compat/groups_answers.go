package compat

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupAnswers are about every field of what the APIs of groups answer.
var groupAnswers = []Scenario{
	{ID: "groups.coordinator.whole-answer", Says: "FindCoordinator tells node, host and port of a group's and of a transactional id's coordinator, of several from version 4 in order.", Refs: []string{"KIP-699"}, Run: coordinatorAnswers},
	{ID: "groups.join.whole-answer", Says: "JoinGroup tells the leader all members in every version, and the others none.", Run: joinAnswers},
	{ID: "groups.sync.whole-answer", Says: "SyncGroup answers the assignment in every version, from 5 with the protocol.", Refs: []string{"KIP-559"}, Run: syncAnswers},
	{ID: "groups.heartbeat.whole-answer", Says: "Heartbeat answers a code in every version.", Run: heartbeatAnswers},
	{ID: "groups.leave.whole-answer", Says: "LeaveGroup answers one code up to version 2, and from 3 one for each member.", Refs: []string{"KIP-345"}, Run: leaveAnswers},
	{ID: "groups.describe.whole-answer", Says: "DescribeGroups tells state, protocol, members and what they said in every version.", Run: describeGroupAnswers},
	{ID: "groups.list.whole-answer", Says: "ListGroups tells protocol type, state and type of groups, of those whose state and type was asked for.", Refs: []string{"KIP-518", "KIP-848"}, Run: listGroupAnswers},
	{ID: "groups.delete.whole-answer", Says: "DeleteGroups answers for each group once: those with members and those that are not there stay as they are.", Run: deleteGroupAnswers},
	{ID: "groups.commit.whole-answer", Says: "OffsetCommit answers each partition in every version, also those one behind the last.", Run: commitAnswers},
	{ID: "groups.offset-fetch.whole-answer", Says: "OffsetFetch tells each field of what was committed in every version, and of what was not.", Run: offsetFetchAnswers},
	{ID: "groups.offset-delete.whole-answer", Says: "OffsetDelete answers each partition, also those one behind the last.", Run: offsetDeleteAnswers},
	{ID: "groups.consumer.whole-answer", Says: "ConsumerGroupHeartbeat assigns partitions, and ConsumerGroupDescribe tells all of the group.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerAnswers},
}

func coordinatorAnswers(t *T) {
	group, txnID, b := t.Group(), t.transactionalID(), t.broker()
	t.each(kmsg.FindCoordinator, 0, 6, func(v int16) {
		for kind, key := range []string{group, txnID} {
			if kind == 1 && v == 0 {
				continue
			}
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = int8(kind), key, []string{key, key + ".2"}
			want := kmsg.NewPtrFindCoordinatorResponse()
			want.ErrorMessage, want.NodeID, want.Host, want.Port = new("NONE"), b.NodeID, b.Host, b.Port
			for _, k := range req.CoordinatorKeys {
				want.Coordinators = append(want.Coordinators, filled(func(c *kmsg.FindCoordinatorResponseCoordinator) {
					c.Key, c.NodeID, c.Host, c.Port, c.ErrorMessage = k, b.NodeID, b.Host, b.Port, new("")
				}))
			}
			whole(t, "the coordinator of "+key, ask[*kmsg.FindCoordinatorResponse](t, v, req), want)
			if v < 1 {
				continue
			}
			req.CoordinatorType, req.CoordinatorKeys = 9, []string{key}
			refused := kmsg.NewPtrFindCoordinatorResponse()
			refused.ErrorCode, refused.ErrorMessage, refused.NodeID, refused.Port = kerr.InvalidRequest.Code, new(invalidRequest), -1, -1
			refused.Coordinators = []kmsg.FindCoordinatorResponseCoordinator{filled(func(c *kmsg.FindCoordinatorResponseCoordinator) {
				c.Key, c.ErrorCode, c.ErrorMessage, c.NodeID, c.Port = key, kerr.InvalidRequest.Code, new(invalidRequest), -1, -1
			})}
			whole(t, "a kind that is none", ask[*kmsg.FindCoordinatorResponse](t, v, req), refused)
		}
	})
}

const invalidRequest = "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details."

func joinAnswers(t *T) {
	t.each(kmsg.JoinGroup, 0, 9, func(v int16) {
		m := t.member(t.Group(), "range", "other").leaveAtEnd()
		if v >= 4 {
			first := t.member(t.Group())
			resp := first.tryJoin(v)
			t.memberID(resp.MemberID)
			whole(t, "the first join", resp, filledPtr(func(r *kmsg.JoinGroupResponse) {
				r.ErrorCode, r.Generation, r.MemberID, r.Protocol = kerr.MemberIDRequired.Code, -1, resp.MemberID, protocolOfNone(v)
			}))
		}
		switch {
		case v == 4:
			m.name()
		case v >= 5:
			m.instance = new(t.name("instance"))
		}
		resp := m.tryJoin(v)
		t.memberID(resp.MemberID)
		m.id, m.generation = resp.MemberID, 1
		want := filledPtr(func(r *kmsg.JoinGroupResponse) {
			r.Generation, r.ProtocolType, r.Protocol, r.LeaderID, r.MemberID = 1, &m.kind, new("range"), m.id, m.id
			r.Members = []kmsg.JoinGroupResponseMember{filled(func(jm *kmsg.JoinGroupResponseMember) {
				jm.MemberID, jm.InstanceID, jm.ProtocolMetadata = m.id, m.instance, []byte("metadata of range")
			})}
		})
		whole(t, "the leader", resp, want)
		t.ok("sync", m.sync(map[string]string{m.id: "all"}).ErrorCode)

		other := t.member(m.group, "range").leaveAtEnd()
		waiting := other.sendJoinAs(v)
		t.until("the leader to hear of the second", func() bool { return m.beat() == kerr.RebalanceInProgress.Code })
		again := t.send(m.c, v, m.joinRequest())
		follower := receive[*kmsg.JoinGroupResponse](t, other.c, waiting)
		leader := receive[*kmsg.JoinGroupResponse](t, m.c, again)
		other.id, other.generation, m.generation = follower.MemberID, 2, 2
		t.memberID(other.id)
		want.Generation = 2
		want.Members = append(want.Members, filled(func(jm *kmsg.JoinGroupResponseMember) {
			jm.MemberID, jm.ProtocolMetadata = other.id, []byte("metadata of range")
		}))
		for _, r := range []*kmsg.JoinGroupResponse{leader, want} {
			slices.SortFunc(r.Members, func(a, b kmsg.JoinGroupResponseMember) int { return cmp.Compare(a.MemberID, b.MemberID) })
		}
		whole(t, "the leader of two", leader, want)
		whole(t, "the follower", follower, filledPtr(func(r *kmsg.JoinGroupResponse) {
			r.Generation, r.ProtocolType, r.Protocol, r.LeaderID, r.MemberID = 2, &m.kind, new("range"), m.id, other.id
		}))
		stranger := t.member(m.group, "range")
		stranger.id = "nobody"
		whole(t, "an id that nobody gave", stranger.tryJoin(v), filledPtr(func(r *kmsg.JoinGroupResponse) {
			r.ErrorCode, r.Generation, r.MemberID, r.Protocol = kerr.UnknownMemberID.Code, -1, "nobody", protocolOfNone(v)
		}))
	})
}

// protocolOfNone is the protocol of a refused join: null from version 7.
func protocolOfNone(v int16) *string {
	if v >= 7 {
		return nil
	}
	return new("")
}

// sendJoinAs is sendJoin in a version.
func (m *member) sendJoinAs(v int16) Pending {
	if v >= 4 {
		m.name()
	}
	return m.t.send(m.c, v, m.joinRequest())
}

func (t *T) memberID(id string) {
	if len(id) < 36 || strings.Count(id[len(id)-36:], "-") != 4 {
		t.Fatalf("a member id does not end with a UUID: %q", id)
	}
}

// filledPtr is filled, as a pointer.
func filledPtr[V any, P interface {
	*V
	Default()
}](set func(v P)) P {
	v := filled[V, P](set)
	return &v
}

func syncAnswers(t *T) {
	t.each(kmsg.SyncGroup, 0, 5, func(v int16) {
		m := t.member(t.Group()).leaveAtEnd()
		m.join()
		sync := func(what string, change func(req *kmsg.SyncGroupRequest), want func(r *kmsg.SyncGroupResponse)) {
			req := m.syncRequest(map[string]string{m.id: "assigned"})
			if change != nil {
				change(req)
			}
			whole(t, what, askOn[*kmsg.SyncGroupResponse](t, m.c, v, req), filledPtr(want))
		}
		refused := func(e *kerr.Error) func(r *kmsg.SyncGroupResponse) {
			return func(r *kmsg.SyncGroupResponse) { r.ErrorCode, r.MemberAssignment = e.Code, []byte{} }
		}
		sync("an id that nobody gave", func(req *kmsg.SyncGroupRequest) { req.MemberID = "nobody" }, refused(kerr.UnknownMemberID))
		sync("the generation after", func(req *kmsg.SyncGroupRequest) { req.Generation++ }, refused(kerr.IllegalGeneration))
		sync("the generation before", func(req *kmsg.SyncGroupRequest) { req.Generation-- }, refused(kerr.IllegalGeneration))
		if v >= 5 {
			sync("another protocol", func(req *kmsg.SyncGroupRequest) { req.Protocol = new("other") }, refused(kerr.InconsistentGroupProtocol))
		}
		sync("the leader", nil, func(r *kmsg.SyncGroupResponse) {
			r.ProtocolType, r.Protocol, r.MemberAssignment = &m.kind, new("range"), []byte("assigned")
		})
	})
}

func heartbeatAnswers(t *T) {
	m := t.stable(t.Group())
	t.each(kmsg.Heartbeat, 0, 4, func(v int16) {
		for _, c := range []struct {
			what       string
			id         string
			generation int32
			want       *kerr.Error
		}{
			{"the member", m.id, m.generation, nil},
			{"an id that nobody gave", "nobody", m.generation, kerr.UnknownMemberID},
			{"the generation before", m.id, m.generation - 1, kerr.IllegalGeneration},
			{"the generation after", m.id, m.generation + 1, kerr.IllegalGeneration},
		} {
			req := kmsg.NewPtrHeartbeatRequest()
			req.Group, req.Generation, req.MemberID = m.group, c.generation, c.id
			want := kmsg.NewPtrHeartbeatResponse()
			if c.want != nil {
				want.ErrorCode = c.want.Code
			}
			whole(t, c.what, askOn[*kmsg.HeartbeatResponse](t, m.c, v, req), want)
		}
	})
}

func leaveAnswers(t *T) {
	t.each(kmsg.LeaveGroup, 0, 5, func(v int16) {
		m := t.stable(t.Group())
		leave := func(what string, want *kmsg.LeaveGroupResponse, ids ...string) {
			req := kmsg.NewPtrLeaveGroupRequest()
			req.Group, req.MemberID = m.group, ids[0]
			for _, id := range ids {
				lm := kmsg.NewLeaveGroupRequestMember()
				lm.MemberID = id
				if v >= 5 {
					lm.Reason = new("enough")
				}
				req.Members = append(req.Members, lm)
			}
			whole(t, what, askOn[*kmsg.LeaveGroupResponse](t, m.c, v, req), want)
		}
		left := func(id string, code int16) kmsg.LeaveGroupResponseMember {
			return filled(func(lm *kmsg.LeaveGroupResponseMember) { lm.MemberID, lm.ErrorCode = id, code })
		}
		unknown := kerr.UnknownMemberID.Code
		if v < 3 {
			leave("an id that nobody gave", &kmsg.LeaveGroupResponse{ErrorCode: unknown}, "nobody")
			leave("the member", &kmsg.LeaveGroupResponse{}, m.id)
			leave("the member again", &kmsg.LeaveGroupResponse{ErrorCode: unknown}, m.id)
			return
		}
		leave("the member and another", &kmsg.LeaveGroupResponse{Members: []kmsg.LeaveGroupResponseMember{left("nobody", unknown), left(m.id, 0)}}, "nobody", m.id)
		leave("the member again", &kmsg.LeaveGroupResponse{Members: []kmsg.LeaveGroupResponseMember{left(m.id, unknown)}}, m.id)
	})
}

// groupOperations on groups as bits: read, delete, describe, describe configs and
// alter configs.
const groupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

func describeGroupAnswers(t *T) {
	m := t.member(t.Group())
	m.instance = new(t.name("instance"))
	m.settle()
	missing := t.name("missing")
	t.each(kmsg.DescribeGroups, 0, 6, func(v int16) {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{m.group, missing}
		describe := func() *kmsg.DescribeGroupsResponse {
			got := ask[*kmsg.DescribeGroupsResponse](t, v, req)
			slices.SortFunc(got.Groups, func(a, b kmsg.DescribeGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
			return got
		}
		got := describe()
		equal(t, "groups", len(got.Groups), 2)
		host := one(t, "members", got.Groups[0].Members).ClientHost
		if !strings.HasPrefix(host, "/") || len(host) < 2 {
			t.Fatalf("host of a member: %q", host)
		}
		stable := filled(func(g *kmsg.DescribeGroupsResponseGroup) {
			g.Group, g.State, g.ProtocolType, g.Protocol = m.group, "Stable", m.kind, "range"
			g.Members = []kmsg.DescribeGroupsResponseGroupMember{filled(func(gm *kmsg.DescribeGroupsResponseGroupMember) {
				gm.MemberID, gm.InstanceID, gm.ClientID, gm.ClientHost = m.id, m.instance, "moldau-compat", host
				gm.ProtocolMetadata, gm.MemberAssignment = []byte("metadata of range"), []byte("assigned to "+m.id)
			})}
			g.AuthorizedOperations = math.MinInt32
		})
		dead := filled(func(g *kmsg.DescribeGroupsResponseGroup) {
			g.Group, g.State, g.AuthorizedOperations = missing, "Dead", math.MinInt32
			if v >= 6 {
				g.ErrorCode, g.ErrorMessage = kerr.GroupIDNotFound.Code, new("Group "+missing+" not found.")
			}
		})
		want := &kmsg.DescribeGroupsResponse{Groups: []kmsg.DescribeGroupsResponseGroup{stable, dead}}
		whole(t, "without operations", got, want)
		if v >= 3 {
			req.IncludeAuthorizedOperations = true
			want.Groups[0].AuthorizedOperations = groupOperations
			if v < 6 {
				want.Groups[1].AuthorizedOperations = groupOperations
			}
			whole(t, "with operations", describe(), want)
		}
	})
}

func listGroupAnswers(t *T) {
	m := t.stable(t.Group())
	empty := t.Group()
	topic := t.Topic(1)
	t.commit(t.newest(kmsg.OffsetCommit, 8), empty, topic, committing{offset: 1})
	t.each(kmsg.ListGroups, 0, 5, func(v int16) {
		list := func(what string, states, types []string, want ...kmsg.ListGroupsResponseGroup) {
			req := kmsg.NewPtrListGroupsRequest()
			req.StatesFilter, req.TypesFilter = states, types
			got := ask[*kmsg.ListGroupsResponse](t, v, req)
			got.Groups = slices.DeleteFunc(got.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return g.Group != m.group && g.Group != empty })
			resp := &kmsg.ListGroupsResponse{Groups: want}
			for _, r := range []*kmsg.ListGroupsResponse{got, resp} {
				slices.SortFunc(r.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
			}
			if len(got.Groups) == 0 {
				got.Groups = nil // As an answer without groups is read.
			}
			whole(t, what, got, resp)
		}
		stable := filled(func(g *kmsg.ListGroupsResponseGroup) {
			g.Group, g.ProtocolType, g.GroupState, g.GroupType = m.group, m.kind, "Stable", "classic"
		})
		simple := filled(func(g *kmsg.ListGroupsResponseGroup) { g.Group, g.GroupState, g.GroupType = empty, "Empty", "classic" })
		list("all", nil, nil, stable, simple)
		if v >= 4 {
			list("stable ones", []string{"stable"}, nil, stable)
			list("two states", []string{"Stable", "Empty"}, nil, stable, simple)
			list("a state of none", []string{"Dead"}, nil)
		}
		if v >= 5 {
			list("classic ones", nil, []string{"Classic"}, stable, simple)
			list("consumer groups", nil, []string{"consumer"})
			list("empty classic ones", []string{"Empty"}, []string{"classic"}, simple)
		}
	})
}

func deleteGroupAnswers(t *T) {
	m, missing, topic := t.stable(t.Group()), t.name("missing"), t.Topic(1)
	t.each(kmsg.DeleteGroups, 0, 2, func(v int16) {
		empty := t.Group()
		t.commit(t.newest(kmsg.OffsetCommit, 8), empty, topic, committing{offset: 1})
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{m.group, missing, empty, empty, missing}
		want := kmsg.NewPtrDeleteGroupsResponse()
		for group, code := range map[string]int16{m.group: kerr.NonEmptyGroup.Code, missing: kerr.GroupIDNotFound.Code, empty: 0} {
			want.Groups = append(want.Groups, kmsg.DeleteGroupsResponseGroup{Group: group, ErrorCode: code})
		}
		got := ask[*kmsg.DeleteGroupsResponse](t, v, req)
		for _, r := range []*kmsg.DeleteGroupsResponse{got, want} {
			slices.SortFunc(r.Groups, func(a, b kmsg.DeleteGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
		}
		whole(t, "DeleteGroups", got, want)
		equal(t, "state of the group with a member", t.state(m.group), "Stable")
	})
}

func commitAnswers(t *T) {
	group, topic, missing := t.Group(), t.Topic(2), t.name("missing")
	t.each(kmsg.OffsetCommit, 0, 10, func(v int16) {
		req := t.commitRequest(v, group, topic, committing{offset: 1}, committing{partition: 1, offset: 2}, committing{partition: 2}, committing{partition: -1})
		gone := kmsg.NewOffsetCommitRequestTopic()
		gone.Topic, gone.TopicID, gone.Partitions = missing, [16]byte{7, 7}, req.Topics[0].Partitions[:1]
		req.Topics = append(req.Topics, gone)
		got := ask[*kmsg.OffsetCommitResponse](t, v, req)
		unknown, missed := kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicOrPartition.Code
		if v >= 10 {
			missed = kerr.UnknownTopicID.Code
		}
		answered := func(topic string, id [16]byte, codes map[int32]int16) kmsg.OffsetCommitResponseTopic {
			rt := kmsg.NewOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = topic, id
			for _, n := range slices.Sorted(maps.Keys(codes)) {
				rt.Partitions = append(rt.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: n, ErrorCode: codes[n]})
			}
			return rt
		}
		want := &kmsg.OffsetCommitResponse{Topics: []kmsg.OffsetCommitResponseTopic{
			answered(topic, t.topicID(topic), map[int32]int16{-1: unknown, 0: 0, 1: 0, 2: unknown}),
			answered(missing, [16]byte{7, 7}, map[int32]int16{0: missed}),
		}}
		for _, r := range []*kmsg.OffsetCommitResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.OffsetCommitResponseTopic) int {
				return cmp.Compare(len(a.Partitions), len(b.Partitions))
			})
			for _, rt := range r.Topics {
				slices.SortFunc(rt.Partitions, func(a, b kmsg.OffsetCommitResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
			}
		}
		whole(t, "OffsetCommit", got, want)
	})
}

func offsetFetchAnswers(t *T) {
	group, topic, other, missing := t.Group(), t.Topic(2), t.Topic(1), t.name("missing")
	req := t.commitRequest(8, group, topic, committing{offset: 5, metadata: new("m")})
	req.Topics[0].Partitions[0].LeaderEpoch = 3
	t.ok("commit", one(t, "partitions", t.commitCodes(t.newest(kmsg.OffsetCommit, 8), req)))
	t.each(kmsg.OffsetFetch, 0, 10, func(v int16) {
		type told struct {
			partition, epoch int32
			offset           int64
			metadata         string
			code             int16
		}
		answer := func(group string, topics map[string][]told) *kmsg.OffsetFetchResponse {
			want := kmsg.NewPtrOffsetFetchResponse()
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group = group
			for name, parts := range topics {
				old, rt := kmsg.NewOffsetFetchResponseTopic(), kmsg.NewOffsetFetchResponseGroupTopic()
				old.Topic, rt.Topic = name, name
				if v >= 10 { // Before, it would be left out, but not from how they are sorted.
					rt.TopicID = [16]byte{7, 7}
					if name != missing {
						rt.TopicID = t.topicID(name)
					}
				}
				for _, p := range parts {
					old.Partitions = append(old.Partitions, kmsg.OffsetFetchResponseTopicPartition{Partition: p.partition, Offset: p.offset, LeaderEpoch: p.epoch, Metadata: &p.metadata, ErrorCode: p.code})
					rt.Partitions = append(rt.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition{Partition: p.partition, Offset: p.offset, LeaderEpoch: p.epoch, Metadata: &p.metadata, ErrorCode: p.code})
				}
				want.Topics, rg.Topics = append(want.Topics, old), append(rg.Topics, rt)
			}
			if v >= 8 {
				want.Topics, want.Groups = nil, []kmsg.OffsetFetchResponseGroup{rg}
			}
			return offsetsInOrder(want)
		}
		fetch := t.offsetFetchRequest(v, group, topic, 0, 1, 2)
		if v < 8 {
			for _, name := range []string{other, missing} {
				fetch.Topics = append(fetch.Topics, kmsg.OffsetFetchRequestTopic{Topic: name, Partitions: []int32{0}})
			}
		} else {
			fetch.Groups[0].Topics = append(fetch.Groups[0].Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: other, TopicID: t.topicID(other), Partitions: []int32{0}},
				kmsg.OffsetFetchRequestGroupTopic{Topic: missing, TopicID: [16]byte{7, 7}, Partitions: []int32{0}})
		}
		code := int16(0)
		if v >= 10 {
			code = kerr.UnknownTopicID.Code
		}
		whole(t, "some", offsetsInOrder(ask[*kmsg.OffsetFetchResponse](t, v, fetch)), answer(group, map[string][]told{
			topic:   {{offset: 5, epoch: 3, metadata: "m"}, {partition: 1, offset: -1, epoch: -1}, {partition: 2, offset: -1, epoch: -1}},
			other:   {{offset: -1, epoch: -1}},
			missing: {{offset: -1, epoch: -1, code: code}},
		}))
		if v < 2 {
			return
		}
		all := t.offsetFetchRequest(v, group, topic)
		if all.Topics = nil; v >= 8 {
			all.Groups[0].Topics = nil
		}
		whole(t, "all", offsetsInOrder(ask[*kmsg.OffsetFetchResponse](t, v, all)), answer(group, map[string][]told{topic: {{offset: 5, epoch: 3, metadata: "m"}}}))
	})
}

func offsetsInOrder(resp *kmsg.OffsetFetchResponse) *kmsg.OffsetFetchResponse {
	slices.SortFunc(resp.Topics, func(a, b kmsg.OffsetFetchResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
	for _, rt := range resp.Topics {
		slices.SortFunc(rt.Partitions, func(a, b kmsg.OffsetFetchResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	}
	for _, g := range resp.Groups {
		slices.SortFunc(g.Topics, func(a, b kmsg.OffsetFetchResponseGroupTopic) int {
			return cmp.Or(cmp.Compare(len(a.Partitions), len(b.Partitions)), slices.Compare(a.TopicID[:], b.TopicID[:]), cmp.Compare(a.Topic, b.Topic))
		})
		for _, rt := range g.Topics {
			slices.SortFunc(rt.Partitions, func(a, b kmsg.OffsetFetchResponseGroupTopicPartition) int {
				return cmp.Compare(a.Partition, b.Partition)
			})
		}
	}
	return resp
}

func offsetDeleteAnswers(t *T) {
	group, topic, missing := t.Group(), t.Topic(2), t.name("missing")
	version := t.newest(kmsg.OffsetCommit, 8)
	t.commit(version, group, topic, committing{offset: 5}, committing{partition: 1, offset: 6})
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	topics := map[string][]int32{topic: {0, 2, -1}, missing: {0}}
	for name, partitions := range topics {
		rt := kmsg.NewOffsetDeleteRequestTopic()
		rt.Topic = name
		for _, n := range partitions {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: n})
		}
		req.Topics = append(req.Topics, rt)
	}
	empty := t.name("missing") // Is told without partitions, and one that is there not at all.
	for _, name := range []string{t.Topic(1), empty} {
		req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{Topic: name})
	}
	want := kmsg.NewPtrOffsetDeleteResponse()
	unknown := kerr.UnknownTopicOrPartition.Code
	for name, codes := range map[string]map[int32]int16{topic: {0: 0, 2: unknown, -1: unknown}, missing: {0: unknown}, empty: nil} {
		rt := kmsg.NewOffsetDeleteResponseTopic()
		rt.Topic = name
		for n, code := range codes {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: n, ErrorCode: code})
		}
		want.Topics = append(want.Topics, rt)
	}
	got := ask[*kmsg.OffsetDeleteResponse](t, 0, req)
	for _, r := range []*kmsg.OffsetDeleteResponse{got, want} {
		slices.SortFunc(r.Topics, func(a, b kmsg.OffsetDeleteResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
		for _, rt := range r.Topics {
			slices.SortFunc(rt.Partitions, func(a, b kmsg.OffsetDeleteResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
		}
	}
	whole(t, "OffsetDelete", got, want)
	equal(t, "the offset that was deleted", t.committed(t.newest(kmsg.OffsetFetch, 7), group, topic, 0).Offset, -1)
	equal(t, "the offset that was not", t.committed(t.newest(kmsg.OffsetFetch, 7), group, topic, 1).Offset, 6)
}

func consumerAnswers(t *T) {
	t.each(kmsg.ConsumerGroupHeartbeat, 0, 1, func(v int16) {
		group, topic := t.Group(), t.Topic(2)
		probe := t.consumerMember(group, "probe", topic) // The coordinator may hear of a topic later than its clients.
		settleAll(t, []*consumerMember{probe}, 2)
		probe.leave(-1)
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch = group, "a-"+group, 0
		if v == 0 {
			req.MemberID = ""
		}
		req.InstanceID, req.RackID = new("i-"+group), new("here")
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.ServerAssignor = 45000, []string{topic}, new("range")
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		got := ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, req)
		if v == 0 {
			if got.MemberID == nil || len(*got.MemberID) != 22 {
				t.Fatalf("member id: got %s", plain(got.MemberID))
			}
			req.MemberID = *got.MemberID
		}
		interval := t.setting(kmsg.ConfigResourceTypeBroker, t.nodeName(), "group.consumer.heartbeat.interval.ms")
		equal(t, "heartbeat interval", strconv.Itoa(int(got.HeartbeatIntervalMillis)), interval)
		epoch := got.MemberEpoch
		if epoch < 1 {
			t.Fatalf("member epoch: got %d", epoch)
		}
		want := filledPtr(func(r *kmsg.ConsumerGroupHeartbeatResponse) {
			r.MemberID, r.MemberEpoch, r.HeartbeatIntervalMillis = &req.MemberID, epoch, got.HeartbeatIntervalMillis
			r.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{
				{TopicID: t.topicID(topic), Partitions: []int32{0, 1}},
			}}
		})
		whole(t, "the first heartbeat", got, want)
		leave := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		leave.Group, leave.MemberID, leave.MemberEpoch, leave.InstanceID, leave.RebalanceTimeoutMillis = group, req.MemberID, -1, req.InstanceID, -1
		left := false
		t.cleanup(func() {
			if !left {
				askOn[*kmsg.ConsumerGroupHeartbeatResponse](t, t.Dial(), v, leave)
			}
		})

		beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		beat.Group, beat.MemberID, beat.MemberEpoch, beat.InstanceID, beat.RebalanceTimeoutMillis = group, req.MemberID, epoch, req.InstanceID, -1
		beat.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{{TopicID: t.topicID(topic), Partitions: []int32{0, 1}}}
		want.Assignment = nil
		whole(t, "the second", ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, beat), want)
		t.each(kmsg.ConsumerGroupDescribe, 0, 1, func(dv int16) { t.describedConsumers(dv, req, epoch) })
		whole(t, "the last", ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, leave), filledPtr(func(r *kmsg.ConsumerGroupHeartbeatResponse) {
			r.MemberID, r.MemberEpoch = &req.MemberID, -1
		}))
		left = true
	})
}

// describedConsumers checks the description of a group of one member.
func (t *T) describedConsumers(version int16, joined *kmsg.ConsumerGroupHeartbeatRequest, epoch int32) {
	topic, missing := joined.SubscribedTopicNames[0], t.name("missing")
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups, req.IncludeAuthorizedOperations = []string{joined.Group, missing}, true
	got := ask[*kmsg.ConsumerGroupDescribeResponse](t, version, req)
	slices.SortFunc(got.Groups, func(a, b kmsg.ConsumerGroupDescribeResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
	equal(t, "groups", len(got.Groups), 2)
	host := one(t, "members", got.Groups[0].Members).ClientHost
	assigned := kmsg.Assignment{TopicPartitions: []kmsg.AssignmentTopicPartition{{TopicID: t.topicID(topic), Topic: topic, Partitions: []int32{0, 1}}}}
	want := &kmsg.ConsumerGroupDescribeResponse{Groups: []kmsg.ConsumerGroupDescribeResponseGroup{
		filled(func(g *kmsg.ConsumerGroupDescribeResponseGroup) {
			g.Group, g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName = joined.Group, "Stable", epoch, epoch, "range"
			g.AuthorizedOperations = groupOperations
			g.Members = []kmsg.ConsumerGroupDescribeResponseGroupMember{filled(func(m *kmsg.ConsumerGroupDescribeResponseGroupMember) {
				m.MemberID, m.InstanceID, m.RackID, m.MemberEpoch = joined.MemberID, joined.InstanceID, joined.RackID, epoch
				m.ClientID, m.ClientHost, m.SubscribedTopics = "moldau-compat", host, []string{topic}
				m.SubscribedTopicRegex = new("")
				m.Assignment, m.TargetAssignment, m.MemberType = assigned, assigned, 1
			})}
		}),
		filled(func(g *kmsg.ConsumerGroupDescribeResponseGroup) {
			g.Group, g.ErrorCode, g.ErrorMessage = missing, kerr.GroupIDNotFound.Code, new("Group "+missing+" not found.")
			g.AuthorizedOperations = math.MinInt32
		}),
	}}
	whole(t, "ConsumerGroupDescribe", got, want)
}
