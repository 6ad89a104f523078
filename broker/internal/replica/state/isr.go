package state

import (
	"slices"
	"time"
)

// pending is a proposed change of the ISR that is not known to be committed.
type pending struct {
	Proposal
	adds int32 // The replica that an expansion adds; -1 for a shrinking.
}

// maybeInSync reports whether a replica is in the maximal ISR: in the committed
// one, or in a larger one that the controller may have committed already. A
// replica about to be dropped still counts, for the controller may not drop it
// (B-1); one about to be added counts already, for it may be elected.
func (s *State) maybeInSync(id int32) bool {
	return slices.Contains(s.isr, id) || s.pending != nil && s.pending.adds == id
}

// maximalISR is the size of the maximal ISR.
func (s *State) maximalISR() int {
	n := len(s.isr)
	if s.pending != nil && s.pending.adds >= 0 && !slices.Contains(s.isr, s.pending.adds) {
		n++
	}
	return n
}

// eligible reports whether a follower may join the ISR: alive, staying, and the
// incarnation that fetched is the one registered (KIP-903, B-6).
func (s *State) eligible(p *Progress) bool {
	b, ok := s.brokers.find(p.ID)
	return ok && !b.Fenced && !b.ShuttingDown && p.HasEpoch && (p.BrokerEpoch == -1 || p.BrokerEpoch == b.Epoch)
}

// expand proposes a follower for the ISR that has every committed record. It
// must have reached this leader epoch too: between our high watermark and the
// epoch's start may lie records that the last leader had committed (B-3).
func (s *State) expand(p *Progress, eff *Effects) {
	if s.pending != nil || slices.Contains(s.isr, p.ID) || !s.eligible(p) || p.End < s.hw || p.End < s.epochStart {
		return
	}
	s.propose(append(slices.Clone(s.isr), p.ID), p.ID, eff)
}

// tick drops followers from the ISR that have lagged too long.
func (s *State) tick(now time.Time) Effects {
	if s.role != Leader {
		return nothing()
	}
	// A follower outside of the ISR that held the high watermark back may have
	// stopped to.
	eff := s.recount(now)
	if s.pending != nil {
		return eff
	}
	stay := slices.Clone(s.isr)
	stay = slices.DeleteFunc(stay, func(id int32) bool {
		if id == s.node {
			return false
		}
		i := indexOf(s.followers, id)
		return i < 0 || !s.followers[i].caughtUp(now, s.end, s.cfg.LagTime)
	})
	if len(stay) < len(s.isr) {
		s.propose(stay, -1, &eff)
	}
	return eff
}

func (s *State) propose(isr []int32, adds int32, eff *Effects) {
	s.proposals++
	p := &pending{adds: adds, Proposal: Proposal{
		ID:             s.proposals,
		LeaderEpoch:    s.known.LeaderEpoch,
		PartitionEpoch: s.known.PartitionEpoch,
	}}
	for _, id := range isr {
		m := Member{ID: id, BrokerEpoch: -1}
		if id == s.node {
			if b, ok := s.brokers.find(id); ok {
				m.BrokerEpoch = b.Epoch
			}
		} else if i := indexOf(s.followers, id); i >= 0 && s.followers[i].HasEpoch {
			m.BrokerEpoch = s.followers[i].BrokerEpoch
		}
		p.ISR = append(p.ISR, m)
	}
	s.pending = p
	eff.Propose = &p.Proposal
}

// answered takes the controller's answer to a proposal. One to a proposal that
// is not pending any more is out of date, whatever it says.
func (s *State) answered(now time.Time, ev Answered) Effects {
	if s.pending == nil || s.pending.ID != ev.Proposal {
		return nothing()
	}
	switch ev.Verdict {
	case Accepted:
		if ev.LeaderEpoch != s.known.LeaderEpoch || ev.PartitionEpoch < s.known.PartitionEpoch {
			return nothing()
		}
		s.pending = nil
		s.isr = slices.Clone(ev.ISR)
		s.known.ISR = s.isr
		s.known.PartitionEpoch = ev.PartitionEpoch
	case Reverted:
		s.pending = nil
	case Unsettled:
		return nothing()
	case Unanswered:
		eff := nothing()
		eff.Propose = &s.pending.Proposal
		return eff
	}
	eff := s.recount(now)
	eff.View = true
	return eff
}
