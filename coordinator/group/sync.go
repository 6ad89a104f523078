package group

import (
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// syncNamesProtocol is the SyncGroup version from which on the client must say
// what protocol it means (KIP-559).
const syncNamesProtocol = 5

// sync serves SyncGroup (14), versions 0 to 5: the leader brings the assignment,
// everybody gets his part of it.
func (s *Shard) sync(t coordinator.Ticket, req *kmsg.SyncGroupRequest) {
	w := waiter{t, req.Version}
	g := s.groups[req.Group]
	switch {
	case req.Version >= syncNamesProtocol && (req.ProtocolType == nil || req.Protocol == nil):
		s.reply(t, syncFailure(w, kerr.InconsistentGroupProtocol.Code))
		return
	case req.Group == "":
		s.reply(t, syncFailure(w, kerr.InvalidGroupID.Code))
		return
	case g == nil || g.consumers == nil && g.state == empty:
		s.reply(t, syncFailure(w, kerr.UnknownMemberID.Code))
		return
	}
	if g.consumers != nil {
		s.syncConsumer(t, req, g)
		return
	}
	if code := g.validateSync(req); code != 0 {
		s.reply(t, syncFailure(w, code))
		return
	}
	m := g.byID[req.MemberID]
	switch g.state {
	case preparing:
		s.reply(t, syncFailure(w, kerr.RebalanceInProgress.Code))
	case completing:
		// The client gave up on a sync that it sent before.
		s.answerSync(m, kerr.RebalanceInProgress.Code)
		m.sync = w
		delete(g.pendingSync, m.id)
		if g.leader == m.id {
			s.assign(g, req)
		}
	case stable:
		delete(g.pendingSync, m.id)
		s.reply(t, synced(g, m, w))
	}
}

func (g *classic) validateSync(req *kmsg.SyncGroupRequest) int16 {
	if code := g.validate(req.MemberID, req.InstanceID); code != 0 {
		return code
	}
	differs := func(asked, is *string) bool { return asked != nil && is != nil && *asked != *is }
	switch {
	case req.Generation != g.generation:
		return kerr.IllegalGeneration.Code
	case differs(req.ProtocolType, &g.protocolType), differs(req.Protocol, g.protocol):
		return kerr.InconsistentGroupProtocol.Code
	}
	return 0
}

// assign takes the leader's assignment over. The replies wait for its record as
// all replies do; if that is refused, everybody has to join again.
func (s *Shard) assign(g *group, req *kmsg.SyncGroupRequest) {
	parts := make(map[string][]byte, len(req.GroupAssignment))
	for _, a := range req.GroupAssignment {
		parts[a.MemberID] = a.MemberAssignment
	}
	for _, m := range g.members {
		// A member that the leader forgot gets an empty one. Cloned, for the request
		// may alias the frame.
		m.assignment = append([]byte{}, parts[m.id]...)
	}
	waiting := make(map[*member]waiter, len(g.members))
	for _, m := range g.members {
		if m.sync.waits() {
			waiting[m] = m.sync
			s.reply(m.sync.ticket, synced(g, m, m.sync))
			m.sync = waiter{}
			s.resetSession(g, m)
		}
	}
	record, since := g.record(), g.sinceMs
	g.to(stable, s.nowMs())
	s.write(record)
	s.cfg.Logger.Info("group is stable", slog.String("group", g.id), slog.Int("generation", int(g.generation)),
		slog.Int("members", len(g.members)))
	s.undo = func(code int16, _ error) {
		g.state, g.previous, g.sinceMs = completing, preparing, since
		for m, w := range waiting {
			m.sync = w
		}
		s.resetAssignment(g, code)
		s.rebalanceOrComplete(g, "the assignment could not be written")
	}
}

// resetAssignment takes the assignment back, and tells those who wait for it why.
func (s *Shard) resetAssignment(g *group, code int16) {
	for _, m := range g.members {
		m.assignment = []byte{}
		if m.sync.waits() {
			s.answerSync(m, code)
			s.resetSession(g, m)
		}
	}
}

// syncExpired is called when the members of a generation had their time to sync:
// those who did not are out.
func (s *Shard) syncExpired(g *group) {
	if g.state != completing && g.state != stable || len(g.pendingSync) == 0 {
		return
	}
	late := sortedKeys(g.pendingSync)
	for _, id := range late {
		g.remove(id)
		s.cancelTimer(timerKey{sessionTimer, g.id, id})
	}
	s.prepareRebalance(g, "members did not sync in time")
}

// answerSync answers a parked sync with an error.
func (s *Shard) answerSync(m *member, code int16) {
	if m.sync.waits() {
		s.reply(m.sync.ticket, syncFailure(m.sync, code))
		m.sync = waiter{}
	}
}

// synced is the answer with a member's part of the assignment.
func synced(g *group, m *member, w waiter) *kmsg.SyncGroupResponse {
	resp := syncFailure(w, 0)
	resp.ProtocolType, resp.Protocol = new(g.protocolType), g.protocol
	resp.MemberAssignment = m.assignment
	return resp
}

func syncFailure(w waiter, code int16) *kmsg.SyncGroupResponse {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.Version, resp.ErrorCode = w.version, code
	resp.MemberAssignment = []byte{} // Empty, never null.
	return resp
}
