package state

import (
	"fmt"
	"time"
)

// fetchState is where a follower stands with its leader. The offset to fetch is
// always the end of its log.
type fetchState struct {
	status fetchStatus
	after  time.Time // Not before: a pause after a failure.

	// Of the response that is being written.
	leaderHW, leaderStart int64
	// What the truncation under way began from: it must lead somewhere.
	cutEnd   int64
	cutEpoch int32
}

type fetchStatus int8

const (
	notFetching fetchStatus = iota // Nobody to fetch from.
	fetching
	writing // A response is being appended.
	cutting // The log is being truncated.
	asking  // For the leader's bounds.
	failed  // Until the next leader epoch.
)

// follow makes this broker a follower, or takes in what changed while it is one.
func (s *State) follow(a Assigned) Effects {
	eff := nothing()
	eff.View = true
	newEpoch := a.LeaderEpoch > s.known.LeaderEpoch || s.role != Follower
	s.role = Follower
	s.known = a
	s.isr, s.pending, s.followers, s.epochStart = nil, nil, nil, -1
	for _, w := range s.waits.all() {
		eff.Answers = append(eff.Answers, Answer{Ticket: w.ticket, Err: s.notLeader()})
	}
	for _, w := range s.lows.all() {
		eff.Answers = append(eff.Answers, Answer{Ticket: w.ticket, Err: s.notLeader(), LowWatermark: -1})
	}
	if !newEpoch {
		return eff
	}
	eff.Fetch = true
	s.fetch = fetchState{status: fetching}
	if a.Leader < 0 {
		s.fetch.status = notFetching
		return eff
	}
	if s.epochs.LastEpoch() < 0 && s.end > s.hw {
		// A log without epochs cannot be compared with the leader's. Only what
		// is known to be committed is kept.
		s.cut(To, s.hw, &eff)
	}
	return eff
}

// NextFetch returns what is to be asked of the leader now, if anything.
func (s *State) NextFetch(now time.Time) (Fetch, bool) {
	if s.role != Follower || s.fetch.status != fetching || now.Before(s.fetch.after) || s.counted() < s.end {
		return Fetch{}, false
	}
	return Fetch{
		Leader:        s.known.Leader,
		CurrentEpoch:  s.known.LeaderEpoch,
		Offset:        s.end,
		LastEpoch:     s.epochs.LastEpoch(),
		LogStart:      s.start,
		HighWatermark: s.hw,
	}, true
}

// NotBefore is when NextFetch, having returned nothing, may return something
// without another event; the zero time if never.
func (s *State) NotBefore() time.Time {
	if s.role != Follower || s.fetch.status != fetching {
		return time.Time{}
	}
	return s.fetch.after
}

// fetched takes the leader's answer. One to a question that would not be asked
// the same way any more is discarded: since it was asked the leader changed, or
// the log was cut (B-11).
func (s *State) fetched(now time.Time, ev Fetched) Effects {
	eff := nothing()
	if ask, ok := s.NextFetch(now); !ok || ask.CurrentEpoch != ev.Request.CurrentEpoch ||
		ask.Offset != ev.Request.Offset || ask.LastEpoch != ev.Request.LastEpoch {
		return eff
	}
	switch ev.Failure {
	case OK:
	case OutOfRange:
		s.fetch.status = asking
		eff.AskBounds = true
		return eff
	case Fenced:
		s.fetch.status = failed
		return eff
	default:
		s.pause(now)
		return eff
	}
	if ev.Diverging != nil {
		// The watermark and log start that came along are taken with the next
		// response, when the logs agree.
		s.cut(To, s.agreement(*ev.Diverging), &eff)
		return eff
	}
	s.fetch.leaderHW, s.fetch.leaderStart = ev.HighWatermark, ev.LogStart
	if ev.Records {
		s.fetch.status = writing
		eff.Append = true
		return eff
	}
	s.caught(&eff)
	return eff
}

// agreement is up to where this log certainly agrees with the leader's, of whom
// we know that d.Epoch is its largest epoch not above our last one, and where it
// ends there.
//
// If we have that epoch too, both logs agree up to where it ends first (KIP-101).
// If we do not, they agree at most to the end of our largest epoch below it: we
// cut there and ask again with that epoch (KIP-279). Cutting at the high
// watermark, or at an offset without its epoch, loses records or keeps wrong
// ones (B-7).
func (s *State) agreement(d EpochEnd) int64 {
	if d.End < 0 {
		return s.end
	}
	if d.Epoch < 0 {
		return min(d.End, s.end)
	}
	epoch, end := s.epochs.EpochEnd(d.Epoch)
	switch {
	case end < 0:
		return min(d.End, s.end)
	case epoch != d.Epoch:
		return min(end, s.end)
	}
	return min(end, d.End, s.end)
}

// cut asks for a truncation. Even one that removes no record is done, since it
// removes epochs that begin at the end.
func (s *State) cut(kind TruncationKind, offset int64, eff *Effects) {
	s.fetch.status = cutting
	s.fetch.cutEnd, s.fetch.cutEpoch = s.end, s.epochs.LastEpoch()
	eff.Truncate = Truncation{Kind: kind, Offset: offset, BelowHW: offset < s.hw}
}

func (s *State) truncated(now time.Time, ev Truncated) Effects {
	if s.fetch.status != cutting {
		panic("BUG: log truncated, which was not asked for")
	}
	s.start, s.end = ev.Start, ev.End
	s.flushed = min(s.flushed, s.end)
	s.hw = max(min(s.hw, s.end), s.start)
	s.fetch.status = fetching
	if s.fetch.cutEnd == s.end && s.fetch.cutEpoch == s.epochs.LastEpoch() {
		// The leader would answer the same again.
		s.pause(now)
	}
	eff := nothing()
	eff.Fetch = true
	return eff
}

func (s *State) pause(now time.Time) { s.fetch.after = now.Add(s.cfg.Backoff) }

// bounds takes the leader's offsets after it told that ours is outside them.
func (s *State) bounds(now time.Time, ev Bounds) Effects {
	eff := nothing()
	if s.fetch.status != asking || ev.CurrentEpoch != s.known.LeaderEpoch {
		return eff
	}
	switch {
	case ev.Failure == Fenced:
		s.fetch.status = failed
	case ev.Failure != OK:
		s.fetch.status = fetching
		s.pause(now)
		eff.Fetch = true
	case ev.End < s.start:
		s.cut(Fully, ev.End, &eff)
	case ev.End < s.end:
		// What lies beyond was never committed, or an unclean election made it
		// void.
		s.cut(To, ev.End, &eff)
	case ev.Start > s.end:
		// The leader has deleted everything that we lack.
		s.cut(Fully, ev.Start, &eff)
	default:
		s.fetch.status = fetching
		s.pause(now)
		eff.Fetch = true
	}
	return eff
}

func (s *State) written(ev Written) Effects {
	if s.fetch.status != writing || ev.End < s.end {
		panic(fmt.Sprintf("BUG: follower wrote up to %d, log ended at %d", ev.End, s.end))
	}
	eff := nothing()
	s.end = ev.End
	s.fetch.status = fetching
	eff.Flush = s.wantsFlush()
	s.caught(&eff)
	return eff
}

func (s *State) writeFailed(now time.Time, ev WriteFailed) Effects {
	if s.fetch.status != writing || ev.End < s.end {
		panic(fmt.Sprintf("BUG: follower failed to write, log ends at %d and ended at %d", ev.End, s.end))
	}
	s.end = ev.End
	s.fetch.status = failed
	eff := nothing()
	if ev.Corrupt {
		s.fetch.status = fetching
		eff.Flush = s.wantsFlush()
		s.pause(now)
		eff.Fetch = true
	}
	return eff
}

// caught takes over the leader's watermark and log start, as far as our log
// reaches.
func (s *State) caught(eff *Effects) {
	s.followHighWatermark(eff)
	// Never past the watermark: what is not committed here may yet be cut.
	if s.fetch.leaderStart > s.start && s.fetch.leaderStart <= s.hw {
		s.start = s.fetch.leaderStart
		eff.AdvanceStart = s.start
	}
	eff.Fetch = true
}

// followHighWatermark never goes back: a new leader may know less than we do of
// what is committed, but has it (B.9).
func (s *State) followHighWatermark(eff *Effects) {
	if hw := min(s.fetch.leaderHW, s.counted()); hw > s.hw {
		s.hw = hw
		eff.HighWatermark = hw
	}
}
