package compat

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupWait is the limit of scenarios that wait for session timeouts, of which
// six seconds is the lowest that Kafka takes.
const groupWait = 30 * time.Second

// memberScenarios are about members of classic groups that are there.
var memberScenarios = []Scenario{
	{ID: "groups.sync.follower-waits", Says: "A follower that syncs first waits, and gets the leader's bytes as they are.", Refs: []string{"nisshi#679", "case G03"}, Run: syncFollowerWaits},
	{ID: "groups.sync.no-assignment", Says: "A member that the leader forgot is assigned empty bytes.", Run: syncNoAssignment},
	{ID: "groups.sync.again", Says: "A member of a stable group that syncs again gets its assignment again.", Run: syncAgain},
	{ID: "groups.sync.errors", Says: "SyncGroup of an unknown group, member or generation is refused.", Run: syncErrors},
	{ID: "groups.sync.rebalancing", Says: "SyncGroup while the group rebalances is REBALANCE_IN_PROGRESS.", Run: syncRebalancing},
	{ID: "groups.sync.protocol", Says: "From version 5 a protocol that is not the group's is INCONSISTENT_GROUP_PROTOCOL.", Refs: []string{"KIP-559"}, Run: syncProtocol},
	{ID: "groups.heartbeat.errors", Says: "A heartbeat of an unknown group, member or generation is refused.", Run: heartbeatErrors},
	{ID: "groups.heartbeat.states", Says: "A heartbeat is answered NONE in a stable and in a completing group and REBALANCE_IN_PROGRESS in a preparing one.", Run: heartbeatStates},
	{ID: "groups.leave.versions", Says: "LeaveGroup takes one member before version 3 and several from it, each with a code.", Refs: []string{"KIP-345"}, Run: leaveVersions},
	{ID: "groups.leave.by-instance", Says: "A static member may be removed by its instance id alone.", Refs: []string{"KIP-345"}, Run: leaveByInstance},
	{ID: "groups.leave.rebalances", Says: "A member that leaves begins a rebalance; the last one leaves the group Empty.", Run: leaveRebalances},
}

func syncFollowerWaits(t *T) {
	leader, follower := t.pair(t.Group())
	p := t.send(follower.c, t.newest(kmsg.SyncGroup, 4), follower.syncRequest(nil))
	t.pause(50 * time.Millisecond)
	assignment := "\x00\xffbytes of the leader's"
	mine := leader.sync(map[string]string{leader.id: "mine", follower.id: assignment})
	t.ok("leader's sync", mine.ErrorCode)
	equal(t, "the leader's assignment", string(mine.MemberAssignment), "mine")
	resp := receive[*kmsg.SyncGroupResponse](t, follower.c, p)
	t.ok("follower's sync", resp.ErrorCode)
	equal(t, "assignment", string(resp.MemberAssignment), assignment)
}

func syncNoAssignment(t *T) {
	leader, follower := t.pair(t.Group())
	t.ok("leader's sync", leader.sync(map[string]string{leader.id: "mine"}).ErrorCode)
	resp := follower.sync(nil)
	t.ok("follower's sync", resp.ErrorCode)
	equal(t, "assignment is not null", resp.MemberAssignment != nil, true)
	equal(t, "assignment", len(resp.MemberAssignment), 0)
}

func syncAgain(t *T) {
	m := t.stable(t.Group())
	t.each(kmsg.SyncGroup, 0, 5, func(v int16) {
		resp := askOn[*kmsg.SyncGroupResponse](t, m.c, v, m.syncRequest(map[string]string{m.id: "something else"}))
		t.ok("sync", resp.ErrorCode)
		equal(t, "assignment", string(resp.MemberAssignment), "assigned to "+m.id)
		if v >= 5 {
			t.text("protocol type", resp.ProtocolType, "compat")
			t.text("protocol", resp.Protocol, "range")
		}
	})
}

func syncErrors(t *T) {
	m := t.stable(t.Group())
	t.each(kmsg.SyncGroup, 0, 5, func(v int16) {
		ask := func(other member) int16 {
			return askOn[*kmsg.SyncGroupResponse](t, m.c, v, other.syncRequest(nil)).ErrorCode
		}
		other := *m
		other.group = m.group + "-missing"
		t.code("unknown group", ask(other), kerr.UnknownMemberID)
		other = *m
		other.id = "nobody"
		t.code("unknown member", ask(other), kerr.UnknownMemberID)
		other = *m
		other.generation++
		t.code("wrong generation", ask(other), kerr.IllegalGeneration)
	})
}

func syncRebalancing(t *T) {
	leader, follower := t.settledPair(t.Group())
	p := leader.sendJoin()
	t.until("the rebalance", func() bool { return follower.beat() == kerr.RebalanceInProgress.Code })
	t.each(kmsg.SyncGroup, 0, 5, func(v int16) {
		resp := askOn[*kmsg.SyncGroupResponse](t, follower.c, v, follower.syncRequest(nil))
		t.code("sync", resp.ErrorCode, kerr.RebalanceInProgress)
	})
	q := follower.sendJoin()
	leader.joined(p)
	follower.joined(q)
}

func syncProtocol(t *T) {
	m := t.stable(t.Group())
	t.each(kmsg.SyncGroup, 5, 5, func(v int16) {
		req := m.syncRequest(nil)
		req.Protocol = new("sticky")
		t.code("other protocol", askOn[*kmsg.SyncGroupResponse](t, m.c, v, req).ErrorCode, kerr.InconsistentGroupProtocol)
		req = m.syncRequest(nil)
		req.ProtocolType = new("connect")
		t.code("other type", askOn[*kmsg.SyncGroupResponse](t, m.c, v, req).ErrorCode, kerr.InconsistentGroupProtocol)
		req = m.syncRequest(nil)
		req.ProtocolType, req.Protocol = nil, nil
		t.code("none", askOn[*kmsg.SyncGroupResponse](t, m.c, v, req).ErrorCode, kerr.InconsistentGroupProtocol)
	})
}

func heartbeatErrors(t *T) {
	m := t.stable(t.Group())
	t.each(kmsg.Heartbeat, 0, 4, func(v int16) {
		t.ok("heartbeat", m.heartbeat(v))
		other := *m
		other.group = m.group + "-missing"
		t.code("unknown group", other.heartbeat(v), kerr.UnknownMemberID)
		other = *m
		other.id = "nobody"
		t.code("unknown member", other.heartbeat(v), kerr.UnknownMemberID)
		other = *m
		other.generation--
		t.code("wrong generation", other.heartbeat(v), kerr.IllegalGeneration)
		if v >= 3 {
			other = *m
			other.instance = new("no-such-instance")
			t.code("unknown instance", other.heartbeat(v), kerr.UnknownMemberID)
		}
	})
}

func heartbeatStates(t *T) {
	leader, follower := t.pair(t.Group())
	t.ok("completing", follower.beat())
	t.ok("leader's sync", leader.sync(nil).ErrorCode)
	t.ok("stable", follower.beat())
	p := leader.sendJoin()
	t.until("preparing", func() bool { return follower.beat() == kerr.RebalanceInProgress.Code })
	q := follower.sendJoin()
	leader.joined(p)
	follower.joined(q)
}

func leaveVersions(t *T) {
	t.each(kmsg.LeaveGroup, 0, 2, func(v int16) {
		m := t.member(t.Group())
		m.join()
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group, req.MemberID = m.group, m.id
		t.ok("leave", ask[*kmsg.LeaveGroupResponse](t, v, req).ErrorCode)
		t.code("leave again", ask[*kmsg.LeaveGroupResponse](t, v, req).ErrorCode, kerr.UnknownMemberID)
		req.Group = ""
		t.code("no group", ask[*kmsg.LeaveGroupResponse](t, v, req).ErrorCode, kerr.InvalidGroupID)
	})
	t.each(kmsg.LeaveGroup, 3, 5, func(v int16) {
		m := t.member(t.Group())
		m.join()
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group = m.group
		for _, id := range []string{"nobody", m.id} {
			lm := kmsg.NewLeaveGroupRequestMember()
			lm.MemberID, lm.Reason = id, new("tired")
			req.Members = append(req.Members, lm)
		}
		resp := ask[*kmsg.LeaveGroupResponse](t, v, req)
		t.ok("leave", resp.ErrorCode)
		equal(t, "members", len(resp.Members), 2)
		equal(t, "first member", resp.Members[0].MemberID, "nobody")
		t.code("nobody", resp.Members[0].ErrorCode, kerr.UnknownMemberID)
		t.ok("the member", resp.Members[1].ErrorCode)
		equal(t, "state", t.state(m.group), "Empty")
	})
}

func leaveByInstance(t *T) {
	t.each(kmsg.LeaveGroup, 3, 5, func(v int16) {
		m := t.member(t.Group())
		m.instance = new("instance-f")
		m.join()
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group = m.group
		for _, instance := range []string{"no-such-instance", "instance-f"} {
			lm := kmsg.NewLeaveGroupRequestMember()
			lm.InstanceID = &instance
			req.Members = append(req.Members, lm)
		}
		fenced := kmsg.NewLeaveGroupRequestMember()
		fenced.MemberID, fenced.InstanceID = "nobody", m.instance
		req.Members = append([]kmsg.LeaveGroupRequestMember{fenced}, req.Members...)
		resp := ask[*kmsg.LeaveGroupResponse](t, v, req)
		t.ok("leave", resp.ErrorCode)
		equal(t, "members", len(resp.Members), 3)
		t.code("another's instance", resp.Members[0].ErrorCode, kerr.FencedInstanceID)
		t.code("no such instance", resp.Members[1].ErrorCode, kerr.UnknownMemberID)
		t.ok("the instance", resp.Members[2].ErrorCode)
		equal(t, "state", t.state(m.group), "Empty")
	})
}

func leaveRebalances(t *T) {
	leader, follower := t.settledPair(t.Group())
	t.ok("the follower leaves", follower.leave())
	t.code("the leader hears", leader.beat(), kerr.RebalanceInProgress)
	resp := leader.join()
	equal(t, "members", len(resp.Members), 1)
	t.ok("the leader leaves", leader.leave())
	equal(t, "state", t.state(leader.group), "Empty")
}

func joinVanished(t *T) {
	leader, follower := t.settledPair(t.Group())
	group := leader.group
	for _, m := range []*member{leader, follower} {
		m.session, m.rebalance = 6000, 6000
	}
	leader.sendJoin()
	t.until("the rebalance", func() bool { return follower.beat() == kerr.RebalanceInProgress.Code })
	_ = leader.c.Close()
	_ = follower.c.Close()
	t.until("the group to be Empty", func() bool { return t.state(group) == "Empty" })
}

func joinSessionExpires(t *T) {
	m := t.member(t.Group())
	m.session = 6000
	m.join()
	t.ok("sync", m.sync(nil).ErrorCode)
	began := time.Now()
	t.until("the group to be Empty", func() bool { return t.state(m.group) == "Empty" })
	if took := time.Since(began); took < 5*time.Second {
		t.Fatalf("the member was removed after %v, its session timeout is 6 s", took)
	}
	t.code("its heartbeat", m.beat(), kerr.UnknownMemberID)
}
