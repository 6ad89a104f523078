package group

import (
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

const (
	leaveBatchVersion  = 3 // From here on several members leave at once.
	leaveReasonVersion = 5
)

// heartbeat serves Heartbeat (12), versions 0 to 4.
func (s *Shard) heartbeat(t coordinator.Ticket, req *kmsg.HeartbeatRequest) {
	resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
	g := s.groups[req.Group]
	switch {
	case req.Group == "":
		resp.ErrorCode = kerr.InvalidGroupID.Code
	case g == nil:
		resp.ErrorCode = kerr.UnknownMemberID.Code
	case g.consumers != nil:
		resp.ErrorCode = s.beatConsumer(g, req)
	default:
		resp.ErrorCode = s.beat(g, req)
	}
	s.reply(t, resp)
}

func (s *Shard) beat(g *group, req *kmsg.HeartbeatRequest) int16 {
	if code := g.validate(req.MemberID, req.InstanceID); code != 0 {
		return code
	}
	if req.Generation != g.generation {
		return kerr.IllegalGeneration.Code
	}
	s.resetSession(g, g.byID[req.MemberID])
	if g.state == preparing {
		return kerr.RebalanceInProgress.Code
	}
	return 0
}

// leave serves LeaveGroup (13), versions 0 to 5. A tool may make a static member
// leave by its instance id alone.
func (s *Shard) leave(t coordinator.Ticket, req *kmsg.LeaveGroupRequest) {
	resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	if req.Group == "" {
		resp.ErrorCode = kerr.InvalidGroupID.Code
		s.reply(t, resp)
		return
	}
	leaving := req.Members
	if req.Version < leaveBatchVersion {
		leaving = []kmsg.LeaveGroupRequestMember{{MemberID: req.MemberID}}
	}
	g := s.groups[req.Group]
	var codes []int16
	if g != nil && g.consumers != nil {
		codes = s.leaveConsumers(g, leaving)
	}
	left := false
	for i, l := range leaving {
		code := kerr.UnknownMemberID.Code
		if codes != nil {
			code = codes[i]
		} else if g != nil {
			code = s.leaveOne(g, l)
		}
		left = left || code == 0
		if req.Version < leaveBatchVersion {
			resp.ErrorCode = code
			break
		}
		resp.Members = append(resp.Members, kmsg.LeaveGroupResponseMember{
			MemberID: l.MemberID, InstanceID: l.InstanceID, ErrorCode: code,
		})
	}
	s.reply(t, resp)
	if !left || codes != nil {
		return
	}
	switch g.state {
	case stable, completing:
		s.rebalanceOrComplete(g, "a member left"+because(req.Version, leaveReasonVersion, leaving[0].Reason))
	case preparing:
		s.completeIfJoined(g)
	}
}

// leaveOne removes one member.
func (s *Shard) leaveOne(g *group, l kmsg.LeaveGroupRequestMember) int16 {
	id := l.MemberID
	switch {
	case id == "" && l.InstanceID == nil:
		return kerr.UnknownMemberID.Code
	case id == "":
		var ok bool
		if id, ok = g.statics[*l.InstanceID]; !ok {
			return kerr.UnknownMemberID.Code
		}
	case g.isPending(id):
	default:
		if code := g.validate(id, l.InstanceID); code != 0 {
			return code
		}
	}
	if m := g.byID[id]; m != nil {
		s.answerJoin(g, m, "", kerr.UnknownMemberID.Code)
		s.answerSync(m, kerr.UnknownMemberID.Code)
	}
	g.remove(id)
	s.cancelTimer(timerKey{sessionTimer, g.id, id})
	s.cfg.Logger.Info("member left", slog.String("group", g.id), slog.String("member", id))
	return 0
}
