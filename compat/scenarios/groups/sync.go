package groups

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// syncScenarios are about how members hear of their assignments.
var syncScenarios = []scenario.Scenario{
	{ID: "groups.sync.follower-waits", Says: "A follower that syncs first waits, and gets the leader's bytes as they are.", Refs: []string{"nisshi#679", "case G03"}, Run: syncFollowerWaits},
	{ID: "groups.sync.no-assignment", Says: "A member that the leader forgot is assigned empty bytes.", Run: syncNoAssignment},
	{ID: "groups.sync.again", Says: "A member of a stable group that syncs again gets its assignment again.", Run: syncAgain},
	{ID: "groups.sync.errors", Says: "SyncGroup of an unknown group, member or generation is refused.", Run: syncErrors},
	{ID: "groups.sync.rebalancing", Says: "SyncGroup while the group rebalances is REBALANCE_IN_PROGRESS.", Run: syncRebalancing},
	{ID: "groups.sync.protocol", Says: "From version 5 a protocol that is not the group's is INCONSISTENT_GROUP_PROTOCOL.", Refs: []string{"KIP-559"}, Run: syncProtocol},
	{ID: "groups.sync.whole-answer", Says: "SyncGroup answers the assignment in every version, from 5 with the protocol.", Refs: []string{"KIP-559"}, Run: syncAnswers},
}

func syncFollowerWaits(t *scenario.T) {
	leader, follower := t.Pair(t.Group())
	p := t.Send(follower.Conn, t.Newest(kmsg.SyncGroup, 4), follower.SyncRequest(nil))
	t.Pause(50 * time.Millisecond)
	assignment := "\x00\xffbytes of the leader's"
	mine := leader.Sync(map[string]string{leader.ID: "mine", follower.ID: assignment})
	t.OK("leader's sync", mine.ErrorCode)
	scenario.Equal(t, "the leader's assignment", string(mine.MemberAssignment), "mine")
	resp := scenario.Receive[*kmsg.SyncGroupResponse](t, follower.Conn, p)
	t.OK("follower's sync", resp.ErrorCode)
	scenario.Equal(t, "assignment", string(resp.MemberAssignment), assignment)
}

func syncNoAssignment(t *scenario.T) {
	leader, follower := t.Pair(t.Group())
	t.OK("leader's sync", leader.Sync(map[string]string{leader.ID: "mine"}).ErrorCode)
	resp := follower.Sync(nil)
	t.OK("follower's sync", resp.ErrorCode)
	scenario.Equal(t, "assignment is not null", resp.MemberAssignment != nil, true)
	scenario.Equal(t, "assignment", len(resp.MemberAssignment), 0)
}

func syncAgain(t *scenario.T) {
	m := t.Stable(t.Group())
	t.Each(kmsg.SyncGroup, 0, 5, func(v int16) {
		resp := scenario.AskOn[*kmsg.SyncGroupResponse](t, m.Conn, v, m.SyncRequest(map[string]string{m.ID: "something else"}))
		t.OK("sync", resp.ErrorCode)
		scenario.Equal(t, "assignment", string(resp.MemberAssignment), "assigned to "+m.ID)
		if v >= 5 {
			t.Text("protocol type", resp.ProtocolType, "compat")
			t.Text("protocol", resp.Protocol, "range")
		}
	})
}

func syncErrors(t *scenario.T) {
	m := t.Stable(t.Group())
	t.Each(kmsg.SyncGroup, 0, 5, func(v int16) {
		ask := func(other scenario.Member) int16 {
			return scenario.AskOn[*kmsg.SyncGroupResponse](t, m.Conn, v, other.SyncRequest(nil)).ErrorCode
		}
		other := *m
		other.Group = m.Group + "-missing"
		t.Code("unknown group", ask(other), kerr.UnknownMemberID)
		other = *m
		other.ID = "nobody"
		t.Code("unknown member", ask(other), kerr.UnknownMemberID)
		other = *m
		other.Generation++
		t.Code("wrong generation", ask(other), kerr.IllegalGeneration)
	})
}

func syncRebalancing(t *scenario.T) {
	leader, follower := t.SettledPair(t.Group())
	p := leader.SendJoin()
	t.Until("the rebalance", func() bool { return follower.Beat() == kerr.RebalanceInProgress.Code })
	t.Each(kmsg.SyncGroup, 0, 5, func(v int16) {
		resp := scenario.AskOn[*kmsg.SyncGroupResponse](t, follower.Conn, v, follower.SyncRequest(nil))
		t.Code("sync", resp.ErrorCode, kerr.RebalanceInProgress)
	})
	q := follower.SendJoin()
	leader.Joined(p)
	follower.Joined(q)
}

func syncProtocol(t *scenario.T) {
	m := t.Stable(t.Group())
	t.Each(kmsg.SyncGroup, 5, 5, func(v int16) {
		req := m.SyncRequest(nil)
		req.Protocol = new("sticky")
		t.Code("other protocol", scenario.AskOn[*kmsg.SyncGroupResponse](t, m.Conn, v, req).ErrorCode, kerr.InconsistentGroupProtocol)
		req = m.SyncRequest(nil)
		req.ProtocolType = new("connect")
		t.Code("other type", scenario.AskOn[*kmsg.SyncGroupResponse](t, m.Conn, v, req).ErrorCode, kerr.InconsistentGroupProtocol)
		req = m.SyncRequest(nil)
		req.ProtocolType, req.Protocol = nil, nil
		t.Code("none", scenario.AskOn[*kmsg.SyncGroupResponse](t, m.Conn, v, req).ErrorCode, kerr.InconsistentGroupProtocol)
	})
}

func syncAnswers(t *scenario.T) {
	t.Each(kmsg.SyncGroup, 0, 5, func(v int16) {
		m := t.Member(t.Group()).LeaveAtEnd()
		m.Join()
		sync := func(what string, change func(req *kmsg.SyncGroupRequest), want func(r *kmsg.SyncGroupResponse)) {
			req := m.SyncRequest(map[string]string{m.ID: "assigned"})
			if change != nil {
				change(req)
			}
			scenario.Whole(t, what, scenario.AskOn[*kmsg.SyncGroupResponse](t, m.Conn, v, req), scenario.FilledPtr(want))
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
			r.ProtocolType, r.Protocol, r.MemberAssignment = &m.Kind, new("range"), []byte("assigned")
		})
	})
}
