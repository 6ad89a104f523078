package group

import (
	"bytes"
	"log/slog"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// The JoinGroup versions that change what the coordinator does; the others change
// the encoding, or defaults that the decoder fills in.
const (
	joinNeedsMemberID     = 4 // KIP-394: a new member is given its id first.
	joinSkipsAssignment   = 9 // KIP-814: a static leader may be told not to assign.
	joinRebalanceTimeout  = 1 // Before, the session timeout was both.
	joinLeaveCauseVersion = 8 // KIP-800: the client says why it joins.
)

// join serves JoinGroup (11), versions 0 to 9.
func (s *Shard) join(t coordinator.Ticket, rq Request, req *kmsg.JoinGroupRequest) {
	session := millis(req.SessionTimeoutMillis)
	switch {
	case req.Group == "":
		s.reply(t, joinError(req, req.MemberID, kerr.InvalidGroupID.Code))
		return
	case session < s.cfg.MinSession || session > s.cfg.MaxSession:
		s.reply(t, joinError(req, req.MemberID, kerr.InvalidSessionTimeout.Code))
		return
	}
	if req.Version < joinRebalanceTimeout {
		req.RebalanceTimeoutMillis = req.SessionTimeoutMillis
	}
	for i := range req.Protocols {
		req.Protocols[i].Metadata = bytes.Clone(req.Protocols[i].Metadata) // It may alias the frame.
	}
	g := s.groups[req.Group]
	if g != nil && g.consumers != nil && !g.isEmpty() {
		s.joinConsumers(t, rq, req, g)
		return
	}
	isNew := g == nil || g.consumers != nil
	if isNew && req.MemberID != "" {
		s.reply(t, joinError(req, req.MemberID, kerr.UnknownMemberID.Code))
		return
	}
	undo := func() { delete(s.groups, req.Group) }
	if g == nil {
		g = newGroup(req.Group, s.nowMs())
		s.groups[req.Group] = g
	} else if isNew { // Consumers had it, and are gone.
		s.write(g.tombstones()...)
		undo = func() { g.classic = classic{sinceMs: s.nowMs()} }
	}
	switch {
	case !s.accepts(g, req.MemberID):
		s.reply(t, joinError(req, "", kerr.GroupMaxSizeReached.Code))
		s.dismiss(g, req.MemberID)
	case !g.compatible(req.ProtocolType, req.Protocols):
		s.reply(t, joinError(req, req.MemberID, kerr.InconsistentGroupProtocol.Code))
	case req.MemberID == "":
		s.joinNew(t, rq, req, g)
	default:
		s.rejoin(t, rq, req, g)
	}
	if isNew {
		// The group must be in the log before anybody is told of it.
		s.write(g.newGroupRecord())
		s.undo = func(int16, error) { undo() }
	}
}

// accepts says whether the group has room for one more, or knows the member.
func (s *Shard) accepts(g *group, id string) bool {
	m := g.byID[id]
	switch g.state {
	case empty:
		return true
	case preparing:
		// Who joins first is in: when the limit was lowered, the last to come back
		// are the ones to go.
		return m != nil && m.join.waits() || g.joining < s.cfg.MaxSize
	}
	return m != nil || len(g.members) < s.cfg.MaxSize
}

// dismiss removes somebody for whom there is no room, so that nobody waits for him.
// (Kafka lets the others wait for the rest of the rebalance timeout.)
func (s *Shard) dismiss(g *group, id string) {
	if g.has(id) || g.isPending(id) {
		g.remove(id)
		s.cancelTimer(timerKey{sessionTimer, g.id, id})
		s.completeIfJoined(g)
	}
}

// joinNew is a join without a member id.
func (s *Shard) joinNew(t coordinator.Ticket, rq Request, req *kmsg.JoinGroupRequest, g *group) {
	if req.InstanceID != nil {
		id := s.newMemberID(*req.InstanceID)
		if old, ok := g.statics[*req.InstanceID]; ok {
			s.replaceStatic(t, req, g, g.byID[old], id)
		} else {
			s.addMember(t, rq, req, g, id)
		}
		return
	}
	id := s.newMemberID(rq.ClientID)
	if req.Version < joinNeedsMemberID {
		s.addMember(t, rq, req, g, id)
		return
	}
	if g.pendingJoin == nil {
		g.pendingJoin = make(map[string]struct{})
	}
	g.pendingJoin[id] = struct{}{}
	s.setTimer(timerKey{sessionTimer, g.id, id}, millis(req.SessionTimeoutMillis))
	s.reply(t, joinError(req, id, kerr.MemberIDRequired.Code))
}

// rejoin is a join with a member id.
func (s *Shard) rejoin(t coordinator.Ticket, rq Request, req *kmsg.JoinGroupRequest, g *group) {
	if g.isPending(req.MemberID) {
		if req.InstanceID != nil { // Only dynamic members are ever pending.
			s.reply(t, joinError(req, req.MemberID, kerr.UnknownMemberID.Code))
			return
		}
		s.addMember(t, rq, req, g, req.MemberID)
		return
	}
	if code := g.validate(req.MemberID, req.InstanceID); code != 0 {
		s.reply(t, joinError(req, req.MemberID, code))
		return
	}
	m := g.byID[req.MemberID]
	same := sameProtocols(m.protocols, req.Protocols)
	switch {
	case g.state == preparing:
		s.updateMember(t, req, g, m, "a member joins")
	case g.state == completing && same, g.state == stable && same && g.leader != m.id:
		// It may not have got the answer: here it is again.
		s.reply(t, s.joined(g, m, req.Version))
	case g.state == stable && g.leader == m.id:
		// The leader sees what no member's metadata shows, such as new partitions.
		s.updateMember(t, req, g, m, "the leader joined again")
	default:
		s.updateMember(t, req, g, m, "a member's metadata changed")
	}
}

// validate says whether a request of a member is from who holds its id now.
func (g *classic) validate(id string, instance *string) (code int16) {
	if instance != nil {
		holder, ok := g.statics[*instance]
		switch {
		case !ok:
			return kerr.UnknownMemberID.Code
		case holder != id:
			return kerr.FencedInstanceID.Code
		}
	}
	if !g.has(id) {
		return kerr.UnknownMemberID.Code
	}
	return 0
}

// addMember makes a new member of who joins, and rebalances.
func (s *Shard) addMember(t coordinator.Ticket, rq Request, req *kmsg.JoinGroupRequest, g *group, id string) {
	m := &member{
		id:          id,
		instance:    req.InstanceID,
		clientID:    rq.ClientID,
		clientHost:  rq.ClientHost,
		rebalanceMs: req.RebalanceTimeoutMillis,
		sessionMs:   req.SessionTimeoutMillis,
		protocols:   req.Protocols,
		assignment:  []byte{},
		join:        waiter{t, req.Version},
		isNew:       true,
	}
	if g.state == preparing && g.previous == empty {
		g.initial.grew = true
	}
	g.add(m, req.ProtocolType)
	s.setTimer(timerKey{sessionTimer, g.id, id}, s.cfg.NewMemberJoinTimeout)
	s.rebalanceOrComplete(g, "a new member joined"+because(req.Version, joinLeaveCauseVersion, req.Reason))
}

// updateMember takes a known member's join in, and rebalances.
func (s *Shard) updateMember(t coordinator.Ticket, req *kmsg.JoinGroupRequest, g *group, m *member, reason string) {
	g.update(m, req.Protocols, req.RebalanceTimeoutMillis, req.SessionTimeoutMillis)
	s.park(g, m, waiter{t, req.Version})
	s.rebalanceOrComplete(g, reason+because(req.Version, joinLeaveCauseVersion, req.Reason))
}

// park parks a join. If the member's last one is parked still, the client gave up
// on it; Kafka leaves that without an answer for ever, here it gets one.
func (s *Shard) park(g *group, m *member, w waiter) {
	if before := g.park(m, w); before.waits() {
		s.reply(before.ticket, joinFailure(before.version, m.id, kerr.RebalanceInProgress.Code))
	}
}

// replaceStatic lets a static member that lost its id, by a restart for one, take
// the place of its old self, which is fenced from now on.
func (s *Shard) replaceStatic(t coordinator.Ticket, req *kmsg.JoinGroupRequest, g *group, m *member, id string) {
	oldID, oldLeader := m.id, g.leader
	old := *m
	s.answerJoin(g, m, oldID, kerr.FencedInstanceID.Code)
	s.answerSync(m, kerr.FencedInstanceID.Code)
	g.rename(m, id)
	m.isNew = false
	s.cancelTimer(timerKey{sessionTimer, g.id, oldID})
	g.update(m, req.Protocols, req.RebalanceTimeoutMillis, req.SessionTimeoutMillis)
	s.resetSession(g, m)
	s.cfg.Logger.Info("static member was replaced", slog.String("group", g.id),
		slog.String("instance", *req.InstanceID), slog.String("member", id), slog.String("fenced", oldID))

	switch {
	case g.state == stable && *g.protocol == g.elect():
		s.persistReplacement(t, req, g, m, old, oldLeader)
		return
	case g.state == stable:
		s.park(g, m, waiter{t, req.Version})
		s.rebalanceOrComplete(g, "a static member changed the group's protocol")
	case g.state == completing:
		// The leader may be assigning to the old id this moment.
		s.park(g, m, waiter{t, req.Version})
		s.prepareRebalance(g, "a static member was replaced while the assignment was awaited")
	default:
		s.park(g, m, waiter{t, req.Version})
		s.completeIfJoined(g)
	}
}

// persistReplacement is replaceStatic where nothing else changes: no rebalance,
// but the new id must be in the log, or the old one comes back with a failover.
func (s *Shard) persistReplacement(t coordinator.Ticket, req *kmsg.JoinGroupRequest, g *group, m *member, old member, oldLeader string) {
	resp := s.joined(g, m, req.Version)
	if leads := g.leader == m.id; req.Version >= joinSkipsAssignment {
		resp.SkipAssignment = leads
	} else {
		// It must not assign, which it would if it saw itself as the leader.
		resp.LeaderID, resp.Members = oldLeader, nil
	}
	s.write(g.record())
	s.reply(t, resp)
	s.undo = func(code int16, _ error) {
		s.cancelTimer(timerKey{sessionTimer, g.id, m.id})
		g.rename(m, old.id)
		g.update(m, old.protocols, old.rebalanceMs, old.sessionMs)
		s.resetSession(g, m)
		failed := s.joined(g, m, req.Version)
		failed.ErrorCode, failed.MemberID, failed.LeaderID, failed.Members = code, "", oldLeader, nil
		s.reply(t, failed)
	}
}

// joined is the answer to a join of this generation; only the leader sees the
// members.
func (s *Shard) joined(g *group, m *member, version int16) *kmsg.JoinGroupResponse {
	resp := joinFailure(version, m.id, 0)
	resp.Generation = g.generation
	resp.ProtocolType = new(g.protocolType)
	resp.Protocol = g.protocol
	resp.LeaderID = g.leader
	if g.leader == m.id {
		for _, x := range g.members {
			resp.Members = append(resp.Members, kmsg.JoinGroupResponseMember{
				MemberID:         x.id,
				InstanceID:       x.instance,
				ProtocolMetadata: g.metadata(x),
			})
		}
	}
	return resp
}

// answerJoin answers a parked join with an error.
func (s *Shard) answerJoin(g *group, m *member, id string, code int16) {
	if w := g.unpark(m); w.waits() {
		s.reply(w.ticket, joinFailure(w.version, id, code))
	}
}

func joinError(req *kmsg.JoinGroupRequest, id string, code int16) *kmsg.JoinGroupResponse {
	return joinFailure(req.Version, id, code)
}

func joinFailure(version int16, id string, code int16) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Version, resp.MemberID, resp.ErrorCode = version, id, code
	return resp
}

// because is the client's reason, for a log line.
func because(version, since int16, reason *string) string {
	if version < since || reason == nil || *reason == "" {
		return ""
	}
	const most = 255 // As Kafka's clients cut it.
	r := []rune(*reason)
	return "; client: " + string(r[:min(len(r), most)])
}

// memberIDs lists ids for a log line.
func memberIDs(members []*member) []string {
	ids := make([]string, 0, len(members))
	for _, m := range members {
		ids = append(ids, m.id)
	}
	return slices.Clip(ids)
}
