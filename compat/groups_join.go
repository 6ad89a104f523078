package compat

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// joinScenarios are about how classic groups form.
var joinScenarios = []Scenario{
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
}

func joinMemberIDRequired(t *T) {
	t.each(kmsg.JoinGroup, 0, 9, func(v int16) {
		m := t.member(t.Group())
		resp := m.tryJoin(v)
		if v >= 4 {
			t.code("without an id", resp.ErrorCode, kerr.MemberIDRequired)
			equal(t, "generation", resp.Generation, -1)
			if !strings.HasPrefix(resp.MemberID, "moldau-compat-") {
				t.Fatalf("member id %q, want the client id and a unique part", resp.MemberID)
			}
			m.id = resp.MemberID
			resp = m.tryJoin(v)
			equal(t, "member id", resp.MemberID, m.id)
		}
		m.leaveAtEnd()
		t.ok("join", resp.ErrorCode)
		equal(t, "generation", resp.Generation, 1)
		equal(t, "leader", resp.LeaderID, resp.MemberID)
		m.id = resp.MemberID
	})
}

func joinEmptyGroup(t *T) {
	t.Group()
	m := t.member("")
	t.each(kmsg.JoinGroup, 0, 9, func(v int16) { t.code("JoinGroup", m.tryJoin(v).ErrorCode, kerr.InvalidGroupID) })
	t.each(kmsg.Heartbeat, 0, 4, func(v int16) { t.code("Heartbeat", m.heartbeat(v), kerr.InvalidGroupID) })
	t.each(kmsg.SyncGroup, 0, 5, func(v int16) {
		t.code("SyncGroup", askOn[*kmsg.SyncGroupResponse](t, m.c, v, m.syncRequest(nil)).ErrorCode, kerr.InvalidGroupID)
	})
}

func joinSessionTimeout(t *T) {
	group := t.Group()
	t.each(kmsg.JoinGroup, 0, 9, func(v int16) {
		for _, ms := range []int32{-1, 0, 5999, 1800001} {
			m := t.member(group)
			m.session = ms
			t.code("join", m.tryJoin(v).ErrorCode, kerr.InvalidSessionTimeout)
		}
	})
}

func joinUnknownMember(t *T) {
	t.each(kmsg.JoinGroup, 0, 9, func(v int16) {
		m := t.member(t.Group())
		m.id = "nobody"
		t.code("join of a group that is not", m.tryJoin(v).ErrorCode, kerr.UnknownMemberID)
	})
	m := t.stable(t.Group())
	other := t.member(m.group)
	other.id = "nobody"
	t.each(kmsg.JoinGroup, 0, 9, func(v int16) {
		t.code("join of a stable group", other.tryJoin(v).ErrorCode, kerr.UnknownMemberID)
	})
}

func joinProtocols(t *T) {
	group := t.Group()
	t.stable(group, "range", "roundrobin")
	other := t.member(group, "sticky")
	t.each(kmsg.JoinGroup, 0, 9, func(v int16) {
		t.code("nothing in common", other.tryJoin(v).ErrorCode, kerr.InconsistentGroupProtocol)
	})
	other = t.member(group, "range")
	other.kind = "connect"
	t.each(kmsg.JoinGroup, 0, 9, func(v int16) {
		t.code("another type", other.tryJoin(v).ErrorCode, kerr.InconsistentGroupProtocol)
	})
}

func joinNoProtocols(t *T) {
	m := t.member(t.Group())
	m.protocols = nil
	t.each(kmsg.JoinGroup, 0, 9, func(v int16) { t.code("no protocol", m.tryJoin(v).ErrorCode, kerr.InconsistentGroupProtocol) })
	m = t.member(t.Group())
	m.kind = ""
	t.each(kmsg.JoinGroup, 0, 9, func(v int16) { t.code("no type", m.tryJoin(v).ErrorCode, kerr.InconsistentGroupProtocol) })
}

func joinElects(t *T) {
	group := t.Group()
	first := t.member(group, "range", "roundrobin").settle()
	waiting := []*member{t.member(group, "roundrobin").leaveAtEnd(), t.member(group, "range", "roundrobin").leaveAtEnd()}
	var pending []Pending
	for _, m := range waiting {
		pending = append(pending, m.sendJoin())
	}
	// The rebalance ends when all have joined: the first must be the last.
	t.until("three members", func() bool {
		return len(t.describe(t.newest(kmsg.DescribeGroups, 5), group).Members) == 3
	})
	t.text("protocol for the leader", first.join().Protocol, "roundrobin")
	for i, m := range waiting {
		t.text("protocol", m.joined(pending[i]).Protocol, "roundrobin")
	}
}

func joinLeader(t *T) {
	group := t.Group()
	leader, follower := t.member(group, "a", "b").settle(), t.member(group, "b").leaveAtEnd()
	p := follower.sendJoin()
	t.until("the rebalance", func() bool { return leader.beat() == kerr.RebalanceInProgress.Code })
	got := leader.join()
	other := follower.joined(p)
	equal(t, "leader", other.LeaderID, leader.id)
	equal(t, "members told to the follower", len(other.Members), 0)
	var ids []string
	for _, m := range got.Members {
		ids = append(ids, m.MemberID)
		equal(t, "metadata", string(m.ProtocolMetadata), "metadata of b")
	}
	want := []string{leader.id, follower.id}
	slices.Sort(ids)
	slices.Sort(want)
	equals(t, "members", ids, want)
	equal(t, "generations", other.Generation, got.Generation)
}

func joinFollowerAgain(t *T) {
	leader, follower := t.settledPair(t.Group())
	generation := follower.generation
	equal(t, "generation", follower.join().Generation, generation)
	t.ok("the leader does not notice", leader.beat())
}

func joinLeaderAgain(t *T) {
	leader, follower := t.settledPair(t.Group())
	generation := leader.generation
	p := leader.sendJoin()
	t.until("the follower to hear of it", func() bool { return follower.beat() == kerr.RebalanceInProgress.Code })
	q := follower.sendJoin()
	equal(t, "generation", leader.joined(p).Generation, generation+1)
	equal(t, "generation", follower.joined(q).Generation, generation+1)
}

func joinChanged(t *T) {
	leader, follower := t.settledPair(t.Group())
	follower.metadata = func(string) []byte { return []byte("other") }
	p := follower.sendJoin()
	t.until("the leader to hear of it", func() bool { return leader.beat() == kerr.RebalanceInProgress.Code })
	leader.join()
	follower.joined(p)
}

func joinProtocolInResponse(t *T) {
	t.each(kmsg.JoinGroup, 7, 9, func(v int16) {
		m := t.member(t.Group())
		resp := m.tryJoin(v)
		if resp.ProtocolType != nil || resp.Protocol != nil {
			t.Fatalf("an error has a protocol: %s", plain(resp))
		}
		m.id = resp.MemberID
		resp = m.leaveAtEnd().tryJoin(v)
		t.text("protocol type", resp.ProtocolType, "compat")
		t.text("protocol", resp.Protocol, "range")
	})
	t.each(kmsg.JoinGroup, 0, 6, func(v int16) {
		m := t.member(t.Group())
		m.session = 1
		t.text("protocol", m.tryJoin(v).Protocol, "")
	})
}

func joinStatic(t *T) {
	group := t.Group()
	old := t.member(group)
	old.instance = new("instance-a")
	old.join()
	if !strings.HasPrefix(old.id, "instance-a-") {
		t.Fatalf("member id %q, want the instance id and a unique part", old.id)
	}
	t.ok("sync", old.sync(map[string]string{old.id: "x"}).ErrorCode)
	again := t.member(group)
	again.instance = old.instance
	again.leaveAtEnd().join()
	if again.id == old.id {
		t.Fatalf("the new member has the old one's id")
	}
	t.each(kmsg.Heartbeat, 3, 4, func(v int16) { t.code("the old one's heartbeat", old.heartbeat(v), kerr.FencedInstanceID) })
	t.code("the old one's sync", old.sync(nil).ErrorCode, kerr.FencedInstanceID)
	topic := t.Topic(1)
	t.each(kmsg.OffsetCommit, 7, 10, func(v int16) { t.code("the old one's commit", old.commitAs(v, topic, 1), kerr.FencedInstanceID) })
	old.name()
	t.code("the old one's join", old.tryJoin(old.version()).ErrorCode, kerr.FencedInstanceID)
}

func joinStaticQuietly(t *T) {
	group := t.Group()
	leader := t.member(group).settle()
	follower := t.member(group).leaveAtEnd()
	follower.instance = new("instance-b")
	p := follower.sendJoin()
	t.until("the rebalance", func() bool { return leader.beat() == kerr.RebalanceInProgress.Code })
	leader.join()
	follower.joined(p)
	t.ok("leader's sync", leader.sync(map[string]string{leader.id: "1", follower.id: "2"}).ErrorCode)
	t.ok("follower's sync", follower.sync(nil).ErrorCode)

	generation := follower.generation
	follower.id = ""
	equal(t, "generation", follower.join().Generation, generation)
	t.ok("the leader does not notice", leader.beat())
	resp := follower.sync(nil)
	t.ok("sync", resp.ErrorCode)
	equal(t, "assignment", string(resp.MemberAssignment), "2")
}

func joinStaticLeader(t *T) {
	group := t.Group()
	m := t.member(group).leaveAtEnd()
	m.instance = new("instance-c")
	m.join()
	t.ok("sync", m.sync(map[string]string{m.id: "1"}).ErrorCode)
	old := m.id
	t.each(kmsg.JoinGroup, 5, 9, func(v int16) {
		m.id = ""
		resp := m.tryJoin(v)
		t.ok("join", resp.ErrorCode)
		if v >= 9 {
			equal(t, "skip assignment", resp.SkipAssignment, true)
			equal(t, "leader", resp.LeaderID, resp.MemberID)
			equal(t, "members", len(resp.Members), 1)
		} else {
			equal(t, "leader", resp.LeaderID, old)
			equal(t, "members", len(resp.Members), 0)
		}
		old, m.id = resp.MemberID, resp.MemberID
	})
}

func joinStaticMismatch(t *T) {
	group := t.Group()
	m := t.member(group).leaveAtEnd()
	m.instance = new("instance-d")
	m.join()
	t.ok("sync", m.sync(map[string]string{m.id: "1"}).ErrorCode)
	other := t.member(group)
	other.instance, other.id = m.instance, "nobody"
	t.each(kmsg.JoinGroup, 5, 9, func(v int16) { t.code("join", other.tryJoin(v).ErrorCode, kerr.FencedInstanceID) })
	other.instance = new("instance-e")
	t.each(kmsg.JoinGroup, 5, 9, func(v int16) { t.code("join", other.tryJoin(v).ErrorCode, kerr.UnknownMemberID) })
}

func joinGenerations(t *T) {
	m := t.member(t.Group()).leaveAtEnd()
	for want := int32(1); want <= 3; want++ {
		equal(t, "generation", m.join().Generation, want)
		t.ok("sync", m.sync(nil).ErrorCode)
	}
}
