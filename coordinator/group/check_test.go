package group

import (
	"bytes"
	"fmt"
)

// check says what of the shard's invariants does not hold.
func (s *Shard) check() error {
	for id, g := range s.groups {
		if g.id != id {
			return fmt.Errorf("group %q is kept as %q", g.id, id)
		}
		for _, err := range []error{g.checkMembers(), g.checkState(), g.checkStored(), s.checkOpen(g), g.checkConsumers()} {
			if err != nil {
				return fmt.Errorf("group %q, %v, generation %d: %w", id, g.state, g.generation, err)
			}
		}
	}
	for producer, offsets := range s.pending {
		if len(offsets) == 0 {
			return fmt.Errorf("producer %d has no offsets pending, and is kept", producer)
		}
		for k := range offsets {
			if _, ok := s.groups[k.group].open[k.topic][k.partition][producer]; !ok {
				return fmt.Errorf("producer %d has an offset pending for %v, and the group does not know", producer, k)
			}
		}
	}
	return nil
}

func (g *group) checkMembers() error {
	if len(g.members) != len(g.byID) {
		return fmt.Errorf("%d members, %d by id", len(g.members), len(g.byID))
	}
	joining, static := 0, 0
	supports := make(map[string]int)
	for _, m := range g.members {
		if g.byID[m.id] != m {
			return fmt.Errorf("member %q is not found by its id", m.id)
		}
		if m.instance != nil {
			static++
			if g.statics[*m.instance] != m.id {
				return fmt.Errorf("instance %q is %q, want %q", *m.instance, g.statics[*m.instance], m.id)
			}
		}
		if m.join.waits() {
			joining++
		}
		if g.isPending(m.id) {
			return fmt.Errorf("member %q is pending", m.id)
		}
		if m.assignment == nil {
			return fmt.Errorf("member %q has a null assignment", m.id)
		}
		known := make(map[string]bool)
		for _, p := range m.protocols {
			if !known[p.Name] {
				known[p.Name] = true
				supports[p.Name]++
			}
		}
	}
	switch {
	case joining != g.joining:
		return fmt.Errorf("%d joins are parked, counted %d", joining, g.joining)
	case static != len(g.statics):
		return fmt.Errorf("%d static members, %d instances", static, len(g.statics))
	case fmt.Sprint(supports) != fmt.Sprint(g.supports) && len(supports)+len(g.supports) > 0:
		return fmt.Errorf("members support %v, counted %v", supports, g.supports)
	case len(g.members) > 0 && !g.has(g.leader):
		return fmt.Errorf("leader %q is not a member", g.leader)
	case len(g.members) == 0 && g.leader != "":
		return fmt.Errorf("leader %q of nobody", g.leader)
	}
	return nil
}

func (g *group) checkState() error {
	shared := false
	for _, n := range g.supports {
		shared = shared || n == len(g.members)
	}
	if len(g.members) > 0 && !shared {
		return fmt.Errorf("no protocol is shared by all: %v", g.supports)
	}
	for id := range g.pendingSync {
		if !g.has(id) {
			return fmt.Errorf("sync of %q is awaited, who is not a member", id)
		}
	}
	for _, m := range g.members {
		switch {
		case m.join.waits() && g.state != preparing:
			return fmt.Errorf("%q waits for a join", m.id)
		case m.sync.waits() && g.state != completing:
			return fmt.Errorf("%q waits for a sync", m.id)
		}
	}
	switch g.state {
	case empty:
		if len(g.members) > 0 {
			return fmt.Errorf("%d members", len(g.members))
		}
	case preparing:
		if g.previous != empty && g.allJoined() {
			return fmt.Errorf("all have joined, and nothing happens")
		}
	default:
		if len(g.members) == 0 || g.protocol == nil || g.supports[*g.protocol] != len(g.members) {
			return fmt.Errorf("protocol %v of %v, %d members", g.protocol, g.supports, len(g.members))
		}
	}
	return nil
}

// checkStored: a failover of a stable group changes nothing.
func (g *group) checkStored() error {
	if g.state != stable {
		return nil
	}
	if g.stored == nil || g.stored.Generation != g.generation || len(g.stored.Members) != len(g.members) {
		return fmt.Errorf("stored is %+v", g.stored)
	}
	for i, m := range g.members {
		sm := g.stored.Members[i]
		if sm.MemberID != m.id || !bytes.Equal(sm.Assignment, m.assignment) || !bytes.Equal(sm.Subscription, g.metadata(m)) {
			return fmt.Errorf("member %+v is stored as %+v", m, sm)
		}
	}
	return nil
}

func (s *Shard) checkOpen(g *group) error {
	for topic, parts := range g.open {
		for p, producers := range parts {
			for producer := range producers {
				if _, ok := s.pending[producer][offsetKey{g.id, topic, p}]; !ok {
					return fmt.Errorf("%s/%d waits for producer %d, who has nothing pending", topic, p, producer)
				}
			}
			if len(producers) == 0 {
				return fmt.Errorf("%s/%d waits for nobody", topic, p)
			}
		}
		if len(parts) == 0 {
			return fmt.Errorf("%s waits for nobody", topic)
		}
	}
	return nil
}
