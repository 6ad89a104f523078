package group

import (
	"log/slog"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
)

// rebalanceOrComplete is called when a member came, went or changed: it starts a
// rebalance, or ends the one under way if nobody else is awaited.
func (s *Shard) rebalanceOrComplete(g *group, reason string) {
	if g.canRebalance() {
		s.prepareRebalance(g, reason)
	} else {
		s.completeIfJoined(g)
	}
}

// prepareRebalance asks all members to join again.
func (s *Shard) prepareRebalance(g *group, reason string) {
	if g.state == completing {
		s.resetAssignment(g, kerr.RebalanceInProgress.Code)
	}
	g.pendingSync = nil
	s.cancelTimer(timerKey{kind: syncTimer, group: g.id})
	first := g.state == empty
	s.cfg.Logger.Info("group rebalances", slog.String("group", g.id), slog.String("from", g.state.String()),
		slog.Int("generation", int(g.generation)), slog.Int("members", len(g.members)), slog.String("reason", reason))
	g.to(preparing, s.nowMs())
	if !first {
		s.completeOrWait(g)
		return
	}
	g.initial = initialDelay{
		delay:     s.cfg.InitialRebalanceDelay,
		remaining: max(0, g.rebalanceTimeout()-s.cfg.InitialRebalanceDelay),
	}
	s.setTimer(timerKey{kind: joinTimer, group: g.id}, g.initial.delay)
}

// completeOrWait ends the joining if all have joined, or waits as long as the
// slowest member asked for.
func (s *Shard) completeOrWait(g *group) {
	if g.allJoined() {
		s.completeJoin(g)
		return
	}
	s.setTimer(timerKey{kind: joinTimer, group: g.id}, g.rebalanceTimeout())
}

// completeIfJoined ends the joining if all have joined, except in the first
// rebalance, which waits for more members whatever happens.
func (s *Shard) completeIfJoined(g *group) {
	if g.state == preparing && g.previous != empty && g.allJoined() {
		s.completeJoin(g)
	}
}

// joinExpired is called when the members had their time to join.
func (s *Shard) joinExpired(g *group) {
	if in := &g.initial; in.grew && in.remaining > 0 {
		// Members are still coming: give others the same time again.
		delay := min(s.cfg.InitialRebalanceDelay, in.remaining)
		in.remaining = max(0, in.remaining-in.delay)
		in.delay, in.grew = delay, false
		s.setTimer(timerKey{kind: joinTimer, group: g.id}, delay)
		return
	}
	s.completeJoin(g)
}

// completeJoin ends the joining. Dynamic members who did not come are out; static
// ones stay until their session ends.
func (s *Shard) completeJoin(g *group) {
	g.initial = initialDelay{}
	s.cancelTimer(timerKey{kind: joinTimer, group: g.id})
	for _, m := range slices.Clone(g.members) {
		if !m.join.waits() && m.instance == nil {
			g.remove(m.id)
			s.cancelTimer(timerKey{sessionTimer, g.id, m.id})
			s.cfg.Logger.Info("member did not join in time", slog.String("group", g.id), slog.String("member", m.id))
		}
	}
	if len(g.members) > 0 && !g.electLeader() {
		// Only static members are left, and none has come. Wait again, until one
		// comes or their sessions end.
		s.setTimer(timerKey{kind: joinTimer, group: g.id}, g.rebalanceTimeout())
		return
	}
	g.nextGeneration(s.nowMs())
	if g.state == empty {
		// If this is refused, a failover brings the last generation back, and its
		// members expire again: no harm.
		s.cfg.Logger.Info("group is empty", slog.String("group", g.id), slog.Int("generation", int(g.generation)))
		s.write(g.record())
		return
	}
	s.cfg.Logger.Info("group has joined", slog.String("group", g.id), slog.Int("generation", int(g.generation)),
		slog.String("protocol", *g.protocol), slog.String("leader", g.leader), slog.Any("members", memberIDs(g.members)))
	g.pendingSync = make(map[string]struct{})
	for _, m := range g.members {
		if w := g.unpark(m); w.waits() {
			s.reply(w.ticket, s.joined(g, m, w.version))
		}
		m.isNew = false
		s.resetSession(g, m)
		g.pendingSync[m.id] = struct{}{}
	}
	s.setTimer(timerKey{kind: syncTimer, group: g.id}, g.rebalanceTimeout())
}

// resetSession gives a member its full session timeout from now on.
func (s *Shard) resetSession(g *group, m *member) {
	s.setTimer(timerKey{sessionTimer, g.id, m.id}, millis(m.sessionMs))
}

// sessionExpired is called when nothing was heard of a member for its session
// timeout.
func (s *Shard) sessionExpired(g *group, id string) {
	if g.isPending(id) {
		g.remove(id)
		if g.state == preparing && g.allJoined() {
			s.completeJoin(g)
		}
		return
	}
	m := g.byID[id]
	if m == nil || m.satisfied() {
		return
	}
	s.cfg.Logger.Info("member's session expired", slog.String("group", g.id), slog.String("member", id))
	s.answerJoin(g, m, "", kerr.UnknownMemberID.Code)
	s.answerSync(m, kerr.UnknownMemberID.Code)
	g.remove(id)
	switch {
	case g.state == stable || g.state == completing:
		s.rebalanceOrComplete(g, "a member's session expired")
	case g.state == preparing && g.allJoined():
		s.completeJoin(g)
	}
}
