package groups

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// membersScenarios are about members of classic groups that are there.
var membersScenarios = []scenario.Scenario{
	{ID: "groups.heartbeat.errors", Says: "A heartbeat of an unknown group, member or generation is refused.", Run: heartbeatErrors},
	{ID: "groups.heartbeat.states", Says: "A heartbeat is answered NONE in a stable and in a completing group and REBALANCE_IN_PROGRESS in a preparing one.", Run: heartbeatStates},
	{ID: "groups.leave.versions", Says: "LeaveGroup takes one member before version 3 and several from it, each with a code.", Refs: []string{"KIP-345"}, Run: leaveVersions},
	{ID: "groups.leave.by-instance", Says: "A static member may be removed by its instance id alone.", Refs: []string{"KIP-345"}, Run: leaveByInstance},
	{ID: "groups.leave.rebalances", Says: "A member that leaves begins a rebalance; the last one leaves the group Empty.", Run: leaveRebalances},
	{ID: "groups.heartbeat.whole-answer", Says: "Heartbeat answers a code in every version.", Run: heartbeatAnswers},
	{ID: "groups.leave.whole-answer", Says: "LeaveGroup answers one code up to version 2, and from 3 one for each member.", Refs: []string{"KIP-345"}, Run: leaveAnswers},
}

func heartbeatErrors(t *scenario.T) {
	m := t.Stable(t.Group())
	t.Each(kmsg.Heartbeat, 0, 4, func(v int16) {
		t.OK("heartbeat", m.Heartbeat(v))
		other := *m
		other.Group = m.Group + "-missing"
		t.Code("unknown group", other.Heartbeat(v), kerr.UnknownMemberID)
		other = *m
		other.ID = "nobody"
		t.Code("unknown member", other.Heartbeat(v), kerr.UnknownMemberID)
		other = *m
		other.Generation--
		t.Code("wrong generation", other.Heartbeat(v), kerr.IllegalGeneration)
		if v >= 3 {
			other = *m
			other.Instance = new("no-such-instance")
			t.Code("unknown instance", other.Heartbeat(v), kerr.UnknownMemberID)
		}
	})
}

func heartbeatStates(t *scenario.T) {
	leader, follower := t.Pair(t.Group())
	t.OK("completing", follower.Beat())
	t.OK("leader's sync", leader.Sync(nil).ErrorCode)
	t.OK("stable", follower.Beat())
	p := leader.SendJoin()
	t.Until("preparing", func() bool { return follower.Beat() == kerr.RebalanceInProgress.Code })
	q := follower.SendJoin()
	leader.Joined(p)
	follower.Joined(q)
}

func leaveVersions(t *scenario.T) {
	t.Each(kmsg.LeaveGroup, 0, 2, func(v int16) {
		m := t.Member(t.Group())
		m.Join()
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group, req.MemberID = m.Group, m.ID
		t.OK("leave", scenario.Ask[*kmsg.LeaveGroupResponse](t, v, req).ErrorCode)
		t.Code("leave again", scenario.Ask[*kmsg.LeaveGroupResponse](t, v, req).ErrorCode, kerr.UnknownMemberID)
		req.Group = ""
		t.Code("no group", scenario.Ask[*kmsg.LeaveGroupResponse](t, v, req).ErrorCode, kerr.InvalidGroupID)
	})
	t.Each(kmsg.LeaveGroup, 3, 5, func(v int16) {
		m := t.Member(t.Group())
		m.Join()
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group = m.Group
		for _, id := range []string{"nobody", m.ID} {
			lm := kmsg.NewLeaveGroupRequestMember()
			lm.MemberID, lm.Reason = id, new("tired")
			req.Members = append(req.Members, lm)
		}
		resp := scenario.Ask[*kmsg.LeaveGroupResponse](t, v, req)
		t.OK("leave", resp.ErrorCode)
		scenario.Equal(t, "members", len(resp.Members), 2)
		scenario.Equal(t, "first member", resp.Members[0].MemberID, "nobody")
		t.Code("nobody", resp.Members[0].ErrorCode, kerr.UnknownMemberID)
		t.OK("the member", resp.Members[1].ErrorCode)
		scenario.Equal(t, "state", t.GroupState(m.Group), "Empty")
	})
}

func leaveByInstance(t *scenario.T) {
	t.Each(kmsg.LeaveGroup, 3, 5, func(v int16) {
		m := t.Member(t.Group())
		m.Instance = new("instance-f")
		m.Join()
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group = m.Group
		for _, instance := range []string{"no-such-instance", "instance-f"} {
			lm := kmsg.NewLeaveGroupRequestMember()
			lm.InstanceID = &instance
			req.Members = append(req.Members, lm)
		}
		fenced := kmsg.NewLeaveGroupRequestMember()
		fenced.MemberID, fenced.InstanceID = "nobody", m.Instance
		req.Members = append([]kmsg.LeaveGroupRequestMember{fenced}, req.Members...)
		resp := scenario.Ask[*kmsg.LeaveGroupResponse](t, v, req)
		t.OK("leave", resp.ErrorCode)
		scenario.Equal(t, "members", len(resp.Members), 3)
		t.Code("another's instance", resp.Members[0].ErrorCode, kerr.FencedInstanceID)
		t.Code("no such instance", resp.Members[1].ErrorCode, kerr.UnknownMemberID)
		t.OK("the instance", resp.Members[2].ErrorCode)
		scenario.Equal(t, "state", t.GroupState(m.Group), "Empty")
	})
}

func leaveRebalances(t *scenario.T) {
	leader, follower := t.SettledPair(t.Group())
	t.OK("the follower leaves", follower.Leave())
	t.Code("the leader hears", leader.Beat(), kerr.RebalanceInProgress)
	resp := leader.Join()
	scenario.Equal(t, "members", len(resp.Members), 1)
	t.OK("the leader leaves", leader.Leave())
	scenario.Equal(t, "state", t.GroupState(leader.Group), "Empty")
}

func heartbeatAnswers(t *scenario.T) {
	m := t.Stable(t.Group())
	t.Each(kmsg.Heartbeat, 0, 4, func(v int16) {
		for _, c := range []struct {
			what       string
			id         string
			generation int32
			want       *kerr.Error
		}{
			{"the member", m.ID, m.Generation, nil},
			{"an id that nobody gave", "nobody", m.Generation, kerr.UnknownMemberID},
			{"the generation before", m.ID, m.Generation - 1, kerr.IllegalGeneration},
			{"the generation after", m.ID, m.Generation + 1, kerr.IllegalGeneration},
		} {
			req := kmsg.NewPtrHeartbeatRequest()
			req.Group, req.Generation, req.MemberID = m.Group, c.generation, c.id
			want := kmsg.NewPtrHeartbeatResponse()
			if c.want != nil {
				want.ErrorCode = c.want.Code
			}
			scenario.Whole(t, c.what, scenario.AskOn[*kmsg.HeartbeatResponse](t, m.Conn, v, req), want)
		}
	})
}

func leaveAnswers(t *scenario.T) {
	t.Each(kmsg.LeaveGroup, 0, 5, func(v int16) {
		m := t.Stable(t.Group())
		leave := func(what string, want *kmsg.LeaveGroupResponse, ids ...string) {
			req := kmsg.NewPtrLeaveGroupRequest()
			req.Group, req.MemberID = m.Group, ids[0]
			for _, id := range ids {
				lm := kmsg.NewLeaveGroupRequestMember()
				lm.MemberID = id
				if v >= 5 {
					lm.Reason = new("enough")
				}
				req.Members = append(req.Members, lm)
			}
			scenario.Whole(t, what, scenario.AskOn[*kmsg.LeaveGroupResponse](t, m.Conn, v, req), want)
		}
		left := func(id string, code int16) kmsg.LeaveGroupResponseMember {
			return scenario.Filled(func(lm *kmsg.LeaveGroupResponseMember) { lm.MemberID, lm.ErrorCode = id, code })
		}
		unknown := kerr.UnknownMemberID.Code
		if v < 3 {
			leave("an id that nobody gave", &kmsg.LeaveGroupResponse{ErrorCode: unknown}, "nobody")
			leave("the member", &kmsg.LeaveGroupResponse{}, m.ID)
			leave("the member again", &kmsg.LeaveGroupResponse{ErrorCode: unknown}, m.ID)
			return
		}
		leave("the member and another", &kmsg.LeaveGroupResponse{Members: []kmsg.LeaveGroupResponseMember{left("nobody", unknown), left(m.ID, 0)}}, "nobody", m.ID)
		leave("the member again", &kmsg.LeaveGroupResponse{Members: []kmsg.LeaveGroupResponseMember{left(m.ID, unknown)}}, m.ID)
	})
}
