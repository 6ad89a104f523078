package groups

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// joinScenarios are about how classic groups form.
var joinScenarios = []scenario.Scenario{
	{ID: "groups.join.member-id-required", Says: "Up to version 3 a member joins at once; from 4 it gets an id first and joins with it.", Refs: []string{"KIP-394", "kafka-node#1355", "case G01"}, Run: joinMemberIDRequired},
	{ID: "groups.join.empty-group", Says: "An empty group id is INVALID_GROUP_ID.", Run: joinEmptyGroup},
	{ID: "groups.join.session-timeout", Says: "A session timeout outside of the broker's bounds is INVALID_SESSION_TIMEOUT.", Run: joinSessionTimeout},
	{ID: "groups.join.unknown-member", Says: "A member id that the group did not give is UNKNOWN_MEMBER_ID.", Run: joinUnknownMember},
	{ID: "groups.join.protocols", Says: "A member with another protocol type, or no protocol in common, is INCONSISTENT_GROUP_PROTOCOL.", Refs: []string{"franz-go kfake@7825098b", "case G13"}, Run: joinProtocols},
	{ID: "groups.join.no-protocols", Says: "A member needs a protocol type and a protocol.", Run: joinNoProtocols},
	{ID: "groups.join.elects-protocol", Says: "The protocol that most members prefer of those that all know is chosen.", Refs: []string{"franz-go kfake@7825098b", "case G13"}, Run: joinElects},
	{ID: "groups.join.leader", Says: "The first member leads and alone is told of the members, with the metadata of the chosen protocol.", Run: joinLeader},
	{ID: "groups.join.follower-again", Says: "A follower that joins a stable group again unchanged is told the same generation.", Run: joinFollowerAgain},
	{ID: "groups.join.leader-again", Says: "A leader that joins again begins a rebalance.", Run: joinLeaderAgain},
	{ID: "groups.join.changed-metadata", Says: "A follower that joins again with other metadata begins a rebalance.", Run: joinChanged},
	{ID: "groups.join.protocol-in-response", Says: "From version 7 the response tells protocol type and name, null where there is none.", Refs: []string{"KIP-559"}, Run: joinProtocolInResponse},
	{ID: "groups.join.static", Says: "A static member that joins again gets a new id, and the old one is FENCED_INSTANCE_ID.", Refs: []string{"KIP-345", "KAFKA-8500", "case G11"}, Run: joinStatic},
	{ID: "groups.join.static-no-rebalance", Says: "A static member that comes back to a stable group does not cause a rebalance.", Refs: []string{"KIP-345"}, Run: joinStaticQuietly},
	{ID: "groups.join.static-leader", Says: "A static leader that comes back is told to skip the assignment from version 9; before, another leads on paper.", Refs: []string{"KIP-814"}, Since: "3.2", Run: joinStaticLeader},
	{ID: "groups.join.static-unknown-instance", Says: "An instance id with a member id that does not belong to it is refused.", Refs: []string{"KIP-345"}, Run: joinStaticMismatch},
	{ID: "groups.join.generations", Says: "Each rebalance raises the generation by one.", Run: joinGenerations},
	{ID: "groups.join.vanished-members", Says: "Members whose connections drop in a rebalance are removed, and the group is Empty at last.", Refs: []string{"redpanda#3300", "case G09"}, Limit: groupWait, Slow: true, Run: joinVanished},
	{ID: "groups.join.session-expires", Says: "A member that does not heartbeat within its session timeout is removed.", Limit: groupWait, Slow: true, Run: joinSessionExpires},
	{ID: "groups.join.whole-answer", Says: "JoinGroup tells the leader all members in every version, and the others none.", Run: joinAnswers},
}

func joinMemberIDRequired(t *scenario.T) {
	t.Each(kmsg.JoinGroup, 0, 9, func(v int16) {
		m := t.Member(t.Group())
		resp := m.TryJoin(v)
		if v >= 4 {
			t.Code("without an id", resp.ErrorCode, kerr.MemberIDRequired)
			scenario.Equal(t, "generation", resp.Generation, -1)
			if !strings.HasPrefix(resp.MemberID, "moldau-compat-") {
				t.Fatalf("member id %q, want the client id and a unique part", resp.MemberID)
			}
			m.ID = resp.MemberID
			resp = m.TryJoin(v)
			scenario.Equal(t, "member id", resp.MemberID, m.ID)
		}
		m.LeaveAtEnd()
		t.OK("join", resp.ErrorCode)
		scenario.Equal(t, "generation", resp.Generation, 1)
		scenario.Equal(t, "leader", resp.LeaderID, resp.MemberID)
		m.ID = resp.MemberID
	})
}

func joinEmptyGroup(t *scenario.T) {
	t.Group()
	m := t.Member("")
	t.Each(kmsg.JoinGroup, 0, 9, func(v int16) { t.Code("JoinGroup", m.TryJoin(v).ErrorCode, kerr.InvalidGroupID) })
	t.Each(kmsg.Heartbeat, 0, 4, func(v int16) { t.Code("Heartbeat", m.Heartbeat(v), kerr.InvalidGroupID) })
	t.Each(kmsg.SyncGroup, 0, 5, func(v int16) {
		t.Code("SyncGroup", scenario.AskOn[*kmsg.SyncGroupResponse](t, m.Conn, v, m.SyncRequest(nil)).ErrorCode, kerr.InvalidGroupID)
	})
}

func joinSessionTimeout(t *scenario.T) {
	group := t.Group()
	t.Each(kmsg.JoinGroup, 0, 9, func(v int16) {
		for _, ms := range []int32{-1, 0, 5999, 1800001} {
			m := t.Member(group)
			m.Session = ms
			t.Code("join", m.TryJoin(v).ErrorCode, kerr.InvalidSessionTimeout)
		}
	})
}

func joinUnknownMember(t *scenario.T) {
	t.Each(kmsg.JoinGroup, 0, 9, func(v int16) {
		m := t.Member(t.Group())
		m.ID = "nobody"
		t.Code("join of a group that is not", m.TryJoin(v).ErrorCode, kerr.UnknownMemberID)
	})
	m := t.Stable(t.Group())
	other := t.Member(m.Group)
	other.ID = "nobody"
	t.Each(kmsg.JoinGroup, 0, 9, func(v int16) {
		t.Code("join of a stable group", other.TryJoin(v).ErrorCode, kerr.UnknownMemberID)
	})
}

func joinProtocols(t *scenario.T) {
	group := t.Group()
	t.Stable(group, "range", "roundrobin")
	other := t.Member(group, "sticky")
	t.Each(kmsg.JoinGroup, 0, 9, func(v int16) {
		t.Code("nothing in common", other.TryJoin(v).ErrorCode, kerr.InconsistentGroupProtocol)
	})
	other = t.Member(group, "range")
	other.Kind = "connect"
	t.Each(kmsg.JoinGroup, 0, 9, func(v int16) {
		t.Code("another type", other.TryJoin(v).ErrorCode, kerr.InconsistentGroupProtocol)
	})
}

func joinNoProtocols(t *scenario.T) {
	m := t.Member(t.Group())
	m.Protocols = nil
	t.Each(kmsg.JoinGroup, 0, 9, func(v int16) { t.Code("no protocol", m.TryJoin(v).ErrorCode, kerr.InconsistentGroupProtocol) })
	m = t.Member(t.Group())
	m.Kind = ""
	t.Each(kmsg.JoinGroup, 0, 9, func(v int16) { t.Code("no type", m.TryJoin(v).ErrorCode, kerr.InconsistentGroupProtocol) })
}

func joinElects(t *scenario.T) {
	group := t.Group()
	first := t.Member(group, "range", "roundrobin").Settle()
	waiting := []*scenario.Member{t.Member(group, "roundrobin").LeaveAtEnd(), t.Member(group, "range", "roundrobin").LeaveAtEnd()}
	var pending []scenario.Pending
	for _, m := range waiting {
		pending = append(pending, m.SendJoin())
	}
	// The rebalance ends when all have joined: the first must be the last.
	t.Until("three members", func() bool {
		return len(t.DescribeGroup(t.Newest(kmsg.DescribeGroups, 5), group).Members) == 3
	})
	t.Text("protocol for the leader", first.Join().Protocol, "roundrobin")
	for i, m := range waiting {
		t.Text("protocol", m.Joined(pending[i]).Protocol, "roundrobin")
	}
}

func joinLeader(t *scenario.T) {
	group := t.Group()
	leader, follower := t.Member(group, "a", "b").Settle(), t.Member(group, "b").LeaveAtEnd()
	p := follower.SendJoin()
	t.Until("the rebalance", func() bool { return leader.Beat() == kerr.RebalanceInProgress.Code })
	got := leader.Join()
	other := follower.Joined(p)
	scenario.Equal(t, "leader", other.LeaderID, leader.ID)
	scenario.Equal(t, "members told to the follower", len(other.Members), 0)
	var ids []string
	for _, m := range got.Members {
		ids = append(ids, m.MemberID)
		scenario.Equal(t, "metadata", string(m.ProtocolMetadata), "metadata of b")
	}
	want := []string{leader.ID, follower.ID}
	slices.Sort(ids)
	slices.Sort(want)
	scenario.EqualLists(t, "members", ids, want)
	scenario.Equal(t, "generations", other.Generation, got.Generation)
}

func joinFollowerAgain(t *scenario.T) {
	leader, follower := t.SettledPair(t.Group())
	generation := follower.Generation
	scenario.Equal(t, "generation", follower.Join().Generation, generation)
	t.OK("the leader does not notice", leader.Beat())
}

func joinLeaderAgain(t *scenario.T) {
	leader, follower := t.SettledPair(t.Group())
	generation := leader.Generation
	p := leader.SendJoin()
	t.Until("the follower to hear of it", func() bool { return follower.Beat() == kerr.RebalanceInProgress.Code })
	q := follower.SendJoin()
	scenario.Equal(t, "generation", leader.Joined(p).Generation, generation+1)
	scenario.Equal(t, "generation", follower.Joined(q).Generation, generation+1)
}

func joinChanged(t *scenario.T) {
	leader, follower := t.SettledPair(t.Group())
	follower.Metadata = func(string) []byte { return []byte("other") }
	p := follower.SendJoin()
	t.Until("the leader to hear of it", func() bool { return leader.Beat() == kerr.RebalanceInProgress.Code })
	leader.Join()
	follower.Joined(p)
}

func joinProtocolInResponse(t *scenario.T) {
	t.Each(kmsg.JoinGroup, 7, 9, func(v int16) {
		m := t.Member(t.Group())
		resp := m.TryJoin(v)
		if resp.ProtocolType != nil || resp.Protocol != nil {
			t.Fatalf("an error has a protocol: %s", scenario.Plain(resp))
		}
		m.ID = resp.MemberID
		resp = m.LeaveAtEnd().TryJoin(v)
		t.Text("protocol type", resp.ProtocolType, "compat")
		t.Text("protocol", resp.Protocol, "range")
	})
	t.Each(kmsg.JoinGroup, 0, 6, func(v int16) {
		m := t.Member(t.Group())
		m.Session = 1
		t.Text("protocol", m.TryJoin(v).Protocol, "")
	})
}

func joinStatic(t *scenario.T) {
	group := t.Group()
	old := t.Member(group)
	old.Instance = new("instance-a")
	old.Join()
	if !strings.HasPrefix(old.ID, "instance-a-") {
		t.Fatalf("member id %q, want the instance id and a unique part", old.ID)
	}
	t.OK("sync", old.Sync(map[string]string{old.ID: "x"}).ErrorCode)
	again := t.Member(group)
	again.Instance = old.Instance
	again.LeaveAtEnd().Join()
	if again.ID == old.ID {
		t.Fatalf("the new member has the old one's id")
	}
	t.Each(kmsg.Heartbeat, 3, 4, func(v int16) { t.Code("the old one's heartbeat", old.Heartbeat(v), kerr.FencedInstanceID) })
	t.Code("the old one's sync", old.Sync(nil).ErrorCode, kerr.FencedInstanceID)
	topic := t.Topic(1)
	t.Each(kmsg.OffsetCommit, 7, 10, func(v int16) { t.Code("the old one's commit", old.CommitAs(v, topic, 1), kerr.FencedInstanceID) })
	old.Name()
	t.Code("the old one's join", old.TryJoin(old.Version()).ErrorCode, kerr.FencedInstanceID)
}

func joinStaticQuietly(t *scenario.T) {
	group := t.Group()
	leader := t.Member(group).Settle()
	follower := t.Member(group).LeaveAtEnd()
	follower.Instance = new("instance-b")
	p := follower.SendJoin()
	t.Until("the rebalance", func() bool { return leader.Beat() == kerr.RebalanceInProgress.Code })
	leader.Join()
	follower.Joined(p)
	t.OK("leader's sync", leader.Sync(map[string]string{leader.ID: "1", follower.ID: "2"}).ErrorCode)
	t.OK("follower's sync", follower.Sync(nil).ErrorCode)

	generation := follower.Generation
	follower.ID = ""
	scenario.Equal(t, "generation", follower.Join().Generation, generation)
	t.OK("the leader does not notice", leader.Beat())
	resp := follower.Sync(nil)
	t.OK("sync", resp.ErrorCode)
	scenario.Equal(t, "assignment", string(resp.MemberAssignment), "2")
}

func joinStaticLeader(t *scenario.T) {
	group := t.Group()
	m := t.Member(group).LeaveAtEnd()
	m.Instance = new("instance-c")
	m.Join()
	t.OK("sync", m.Sync(map[string]string{m.ID: "1"}).ErrorCode)
	old := m.ID
	t.Each(kmsg.JoinGroup, 5, 9, func(v int16) {
		m.ID = ""
		resp := m.TryJoin(v)
		t.OK("join", resp.ErrorCode)
		if v >= 9 {
			scenario.Equal(t, "skip assignment", resp.SkipAssignment, true)
			scenario.Equal(t, "leader", resp.LeaderID, resp.MemberID)
			scenario.Equal(t, "members", len(resp.Members), 1)
		} else {
			scenario.Equal(t, "leader", resp.LeaderID, old)
			scenario.Equal(t, "members", len(resp.Members), 0)
		}
		old, m.ID = resp.MemberID, resp.MemberID
	})
}

func joinStaticMismatch(t *scenario.T) {
	group := t.Group()
	m := t.Member(group).LeaveAtEnd()
	m.Instance = new("instance-d")
	m.Join()
	t.OK("sync", m.Sync(map[string]string{m.ID: "1"}).ErrorCode)
	other := t.Member(group)
	other.Instance, other.ID = m.Instance, "nobody"
	t.Each(kmsg.JoinGroup, 5, 9, func(v int16) { t.Code("join", other.TryJoin(v).ErrorCode, kerr.FencedInstanceID) })
	other.Instance = new("instance-e")
	t.Each(kmsg.JoinGroup, 5, 9, func(v int16) { t.Code("join", other.TryJoin(v).ErrorCode, kerr.UnknownMemberID) })
}

func joinGenerations(t *scenario.T) {
	m := t.Member(t.Group()).LeaveAtEnd()
	for want := int32(1); want <= 3; want++ {
		scenario.Equal(t, "generation", m.Join().Generation, want)
		t.OK("sync", m.Sync(nil).ErrorCode)
	}
}

// groupWait is the limit of scenarios that wait for session timeouts, of which
// six seconds is the lowest that Kafka takes.
const groupWait = 30 * time.Second

func joinVanished(t *scenario.T) {
	leader, follower := t.SettledPair(t.Group())
	group := leader.Group
	for _, m := range []*scenario.Member{leader, follower} {
		m.Session, m.Rebalance = 6000, 6000
	}
	leader.SendJoin()
	t.Until("the rebalance", func() bool { return follower.Beat() == kerr.RebalanceInProgress.Code })
	_ = leader.Conn.Close()
	_ = follower.Conn.Close()
	t.Until("the group to be Empty", func() bool { return t.GroupState(group) == "Empty" })
}

func joinSessionExpires(t *scenario.T) {
	m := t.Member(t.Group())
	m.Session = 6000
	m.Join()
	t.OK("sync", m.Sync(nil).ErrorCode)
	began := time.Now()
	t.Until("the group to be Empty", func() bool { return t.GroupState(m.Group) == "Empty" })
	if took := time.Since(began); took < 5*time.Second {
		t.Fatalf("the member was removed after %v, its session timeout is 6 s", took)
	}
	t.Code("its heartbeat", m.Beat(), kerr.UnknownMemberID)
}

func joinAnswers(t *scenario.T) {
	t.Each(kmsg.JoinGroup, 0, 9, func(v int16) {
		m := t.Member(t.Group(), "range", "other").LeaveAtEnd()
		if v >= 4 {
			first := t.Member(t.Group())
			resp := first.TryJoin(v)
			memberID(t, resp.MemberID)
			scenario.Whole(t, "the first join", resp, scenario.FilledPtr(func(r *kmsg.JoinGroupResponse) {
				r.ErrorCode, r.Generation, r.MemberID, r.Protocol = kerr.MemberIDRequired.Code, -1, resp.MemberID, protocolOfNone(v)
			}))
		}
		switch {
		case v == 4:
			m.Name()
		case v >= 5:
			m.Instance = new(t.Name("instance"))
		}
		resp := m.TryJoin(v)
		memberID(t, resp.MemberID)
		m.ID, m.Generation = resp.MemberID, 1
		want := scenario.FilledPtr(func(r *kmsg.JoinGroupResponse) {
			r.Generation, r.ProtocolType, r.Protocol, r.LeaderID, r.MemberID = 1, &m.Kind, new("range"), m.ID, m.ID
			r.Members = []kmsg.JoinGroupResponseMember{scenario.Filled(func(jm *kmsg.JoinGroupResponseMember) {
				jm.MemberID, jm.InstanceID, jm.ProtocolMetadata = m.ID, m.Instance, []byte("metadata of range")
			})}
		})
		scenario.Whole(t, "the leader", resp, want)
		t.OK("sync", m.Sync(map[string]string{m.ID: "all"}).ErrorCode)

		other := t.Member(m.Group, "range").LeaveAtEnd()
		waiting := sendJoinAs(other, v)
		t.Until("the leader to hear of the second", func() bool { return m.Beat() == kerr.RebalanceInProgress.Code })
		again := t.Send(m.Conn, v, m.JoinRequest())
		follower := scenario.Receive[*kmsg.JoinGroupResponse](t, other.Conn, waiting)
		leader := scenario.Receive[*kmsg.JoinGroupResponse](t, m.Conn, again)
		other.ID, other.Generation, m.Generation = follower.MemberID, 2, 2
		memberID(t, other.ID)
		want.Generation = 2
		want.Members = append(want.Members, scenario.Filled(func(jm *kmsg.JoinGroupResponseMember) {
			jm.MemberID, jm.ProtocolMetadata = other.ID, []byte("metadata of range")
		}))
		for _, r := range []*kmsg.JoinGroupResponse{leader, want} {
			slices.SortFunc(r.Members, func(a, b kmsg.JoinGroupResponseMember) int { return cmp.Compare(a.MemberID, b.MemberID) })
		}
		scenario.Whole(t, "the leader of two", leader, want)
		scenario.Whole(t, "the follower", follower, scenario.FilledPtr(func(r *kmsg.JoinGroupResponse) {
			r.Generation, r.ProtocolType, r.Protocol, r.LeaderID, r.MemberID = 2, &m.Kind, new("range"), m.ID, other.ID
		}))
		stranger := t.Member(m.Group, "range")
		stranger.ID = "nobody"
		scenario.Whole(t, "an id that nobody gave", stranger.TryJoin(v), scenario.FilledPtr(func(r *kmsg.JoinGroupResponse) {
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

// sendJoinAs is SendJoin in a version.
func sendJoinAs(m *scenario.Member, v int16) scenario.Pending {
	if v >= 4 {
		m.Name()
	}
	return m.T.Send(m.Conn, v, m.JoinRequest())
}

func memberID(t *scenario.T, id string) {
	if len(id) < 36 || strings.Count(id[len(id)-36:], "-") != 4 {
		t.Fatalf("a member id does not end with a UUID: %q", id)
	}
}
