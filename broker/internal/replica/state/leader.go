package state

import (
	"fmt"
	"slices"
	"time"
)

// Progress is how far a follower has come, as its leader knows.
type Progress struct {
	ID int32
	// End is the follower's end: the offset of its last fetch; -1 if it has not
	// fetched since this broker became leader.
	End int64
	// LogStart is the follower's log start; -1 if unknown.
	LogStart int64
	// LastFetch is when it last fetched, LeaderEnd what the leader's end was
	// then.
	LastFetch time.Time
	LeaderEnd int64
	// LastCaughtUp is when it last had everything that the leader had.
	LastCaughtUp time.Time
	// BrokerEpoch of its last fetch; HasEpoch is false before that.
	BrokerEpoch int64
	HasEpoch    bool
}

// caughtUp reports whether the follower has all of the leader's log, or had not
// longer than lag ago.
func (p *Progress) caughtUp(now time.Time, leaderEnd int64, lag time.Duration) bool {
	return p.End == leaderEnd || now.Sub(p.LastCaughtUp) <= lag
}

// fetched notes a fetch. A follower under constant load never stands exactly at
// the leader's end, so reaching the end as it was at the fetch before counts as
// having been caught up at that time (B-5).
func (p *Progress) fetched(now time.Time, ev FollowerFetched) {
	switch {
	case ev.Offset >= ev.LeaderEnd:
		p.LastCaughtUp = later(p.LastCaughtUp, now)
	case ev.Offset >= p.LeaderEnd:
		p.LastCaughtUp = later(p.LastCaughtUp, p.LastFetch)
	}
	p.End, p.LogStart = ev.Offset, ev.LogStart
	p.LeaderEnd = max(p.LeaderEnd, ev.LeaderEnd)
	p.LastFetch = now
	p.BrokerEpoch, p.HasEpoch = ev.BrokerEpoch, true
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// lead makes this broker the leader, or takes in what changed while it leads.
func (s *State) lead(now time.Time, a Assigned) Effects {
	eff := nothing()
	eff.View = true
	anew := s.role != Leader
	same := a.PartitionEpoch == s.known.PartitionEpoch && a.LeaderEpoch == s.known.LeaderEpoch && !anew
	newEpoch := a.LeaderEpoch > s.known.LeaderEpoch

	s.role = Leader
	s.known = a
	s.fetch = fetchState{}
	s.isr = slices.Clone(a.ISR)
	if !same {
		// Either this is what was proposed, or the proposal, made on an older
		// partition epoch, will be refused.
		s.pending = nil
	}
	s.setFollowers(a.Replicas)
	if newEpoch || anew {
		// The epoch is noted even if nothing is ever written in it: a follower
		// with records of a later epoch than any of ours must be told where to
		// cut (B-9).
		s.epochStart = s.end
		eff.AssignEpoch = a.LeaderEpoch
		s.resetFollowers(now, anew)
	}
	s.advance(now, &eff)
	s.answerLows(&eff)
	return eff
}

// setFollowers keeps the progress of those who stay.
func (s *State) setFollowers(replicas []int32) {
	old := s.followers
	s.followers = make([]Progress, 0, len(replicas))
	for _, id := range replicas {
		if id == s.node {
			continue
		}
		p := Progress{ID: id, End: -1, LogStart: -1, LeaderEnd: -1}
		if i := indexOf(old, id); i >= 0 {
			p = old[i]
		}
		s.followers = append(s.followers, p)
	}
}

// resetFollowers begins a leader epoch: who is in sync has the lag time to show
// up. What a new leader knew of followers when it last led is void; one that is
// elected again still serves the same logs (B-10).
func (s *State) resetFollowers(now time.Time, anew bool) {
	for i := range s.followers {
		p := &s.followers[i]
		if anew {
			*p = Progress{ID: p.ID, End: -1, LogStart: -1, LeaderEnd: -1}
		} else {
			p.LeaderEnd = s.end
			p.LastFetch, p.LastCaughtUp = time.Time{}, time.Time{}
		}
		if slices.Contains(s.isr, p.ID) {
			p.LastCaughtUp = now
			if !anew {
				p.LastFetch = now
			}
		}
	}
}

func indexOf(ps []Progress, id int32) int {
	return slices.IndexFunc(ps, func(p Progress) bool { return p.ID == id })
}

// CheckAppend says whether records may be appended with the given acks: at the
// leader only, and with acks=all only while enough replicas are in sync. The
// committed ISR counts: a pending one may never come (B-2).
func (s *State) CheckAppend(acksAll bool) error {
	if s.role != Leader {
		return s.notLeader()
	}
	if acksAll && len(s.isr) < s.minISR() {
		return &NotEnoughReplicasError{InSync: len(s.isr), Min: s.minISR()}
	}
	return nil
}

// minISR is the effective min.insync.replicas: not more than there are replicas.
// As in Kafka, those being added count.
func (s *State) minISR() int {
	return min(max(s.cfg.MinISR, 1), len(s.followers)+1)
}

func (s *State) appended(now time.Time, ev Appended) Effects {
	if s.role != Leader || ev.End < s.end {
		panic(fmt.Sprintf("BUG: %s appended to %d, log ended at %d", s.role, ev.End, s.end))
	}
	s.end = ev.End
	return s.recount(now)
}

// recount does what follows from any change of what the high watermark depends
// on.
func (s *State) recount(now time.Time) Effects {
	eff := nothing()
	if s.role == Leader {
		s.advance(now, &eff)
		s.answerLows(&eff)
	}
	return eff
}

// advance moves the high watermark up as far as every replica has come that is
// in sync, or may be before we hear of it, and answers who waited for it.
//
// A follower that has caught up and could join the ISR holds the watermark back
// too: else it would outrun the follower, which could then never join. While
// fewer are in sync than min.insync.replicas asks for, nothing more is committed
// (KIP-966).
func (s *State) advance(now time.Time, eff *Effects) {
	if len(s.isr) >= s.minISR() {
		hw := s.counted()
		for i := range s.followers {
			p := &s.followers[i]
			if p.End < hw && (s.maybeInSync(p.ID) || p.caughtUp(now, s.end, s.cfg.LagTime) && s.eligible(p)) {
				hw = p.End
			}
		}
		if hw > s.hw {
			s.hw = hw
			eff.HighWatermark = hw
		}
	}
	for _, w := range s.waits.take(s.hw) {
		eff.Answers = append(eff.Answers, Answer{Ticket: w.ticket, Err: s.settled()})
	}
}

// settled is the answer to a produce whose records are committed: the ISR may
// have shrunk below the minimum since they were appended.
func (s *State) settled() error {
	if n := s.maximalISR(); n < s.minISR() {
		return &NotEnoughReplicasError{InSync: n, Min: s.minISR(), Appended: true}
	}
	return nil
}

func (s *State) wait(ev Wait) Effects {
	eff := nothing()
	switch {
	case s.role != Leader:
		eff.Answers = []Answer{{Ticket: ev.Ticket, Err: s.notLeader()}}
	case ev.Offset <= s.hw:
		eff.Answers = []Answer{{Ticket: ev.Ticket, Err: s.settled()}}
	default:
		s.waits.put(ev.Ticket, ev.Offset)
	}
	return eff
}

// Committed is wait without a ticket: it reports whether a produce up to offset
// can be answered at once, and with what.
func (s *State) Committed(offset int64) (done bool, err error) {
	if s.role != Leader {
		return true, s.notLeader()
	}
	if offset > s.hw {
		return false, nil
	}
	return true, s.settled()
}

func (s *State) followerFetched(now time.Time, ev FollowerFetched) Effects {
	eff := nothing()
	if s.role != Leader {
		eff.Err = s.notLeader()
		return eff
	}
	i := indexOf(s.followers, ev.Replica)
	if i < 0 {
		eff.Err = &UnknownReplicaError{Replica: ev.Replica, Epoch: s.known.LeaderEpoch, HasEpoch: ev.HasEpoch}
		return eff
	}
	b, ok := s.brokers.find(ev.Replica)
	if ok && !b.Fenced && ev.BrokerEpoch != -1 && b.Epoch > ev.BrokerEpoch {
		eff.Err = &StaleBrokerError{Replica: ev.Replica, Got: ev.BrokerEpoch, Have: b.Epoch}
		return eff
	}
	p := &s.followers[i]
	before := p.End
	p.fetched(now, ev)
	s.expand(p, &eff)
	if p.End != before {
		s.advance(now, &eff)
	}
	s.answerLows(&eff)
	return eff
}

// LowWatermark is the least log start of the live replicas: what DeleteRecords
// has deleted everywhere. Dead replicas do not count (B-17).
func (s *State) LowWatermark() int64 {
	low := s.start
	for i := range s.followers {
		p := &s.followers[i]
		if b, ok := s.brokers.find(p.ID); ok && !b.Fenced {
			low = min(low, p.LogStart)
		}
	}
	return low
}

func (s *State) waitLow(ev WaitLow) Effects {
	eff := nothing()
	if s.role != Leader {
		eff.Answers = []Answer{{Ticket: ev.Ticket, Err: s.notLeader(), LowWatermark: -1}}
		return eff
	}
	s.lows.put(ev.Ticket, ev.Offset)
	s.answerLows(&eff)
	return eff
}

func (s *State) answerLows(eff *Effects) {
	if len(s.lows) == 0 || s.role != Leader {
		return
	}
	low := s.LowWatermark()
	for _, w := range s.lows.take(low) {
		eff.Answers = append(eff.Answers, Answer{Ticket: w.ticket, LowWatermark: low})
	}
}

// Followers tells how far the followers have come; none if this broker does not
// lead.
func (s *State) Followers() []Progress { return slices.Clone(s.followers) }
