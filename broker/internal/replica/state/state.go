package state

import (
	"fmt"
	"time"
)

// Config are the settings of a partition's replication.
type Config struct {
	// MinISR is how many replicas must be in sync for acks=all; at least 1.
	// Kafka's min.insync.replicas. More than the replicas there are counts as
	// all of them (B-16).
	MinISR int
	// LagTime is how long a follower may lag and stay in sync. Kafka's
	// replica.lag.time.max.ms, default 30 s.
	LagTime time.Duration
	// Backoff is the pause after a fetch that failed. Kafka's
	// replica.fetch.backoff.ms, default 1 s.
	Backoff time.Duration
	// FlushedOnly counts and reports only what is on stable storage, so that
	// nothing unflushed is ever read: flush.messages=1.
	FlushedOnly bool
}

// Epochs are the leader epochs of the replica's log. It is only read.
type Epochs interface {
	// LastEpoch is the newest epoch; -1 if there is none.
	LastEpoch() int32
	// EpochEnd returns the largest epoch at or below the one asked for, and
	// where it ends; -1, -1 if that cannot be told.
	EpochEnd(epoch int32) (found int32, end int64)
}

// Log is where the replica's log stands when the State is made.
type Log struct {
	Start, End    int64
	Flushed       int64
	HighWatermark int64
}

// Role is what this broker is for the partition.
type Role int8

const (
	// Idle: not assigned yet.
	Idle Role = iota
	// Leader: takes records and serves followers.
	Leader
	// Follower: copies the leader, or waits for one.
	Follower
)

func (r Role) String() string { return [...]string{"idle", "leader", "follower"}[r] }

// State is the replication of one partition on one broker. Its owner only may
// call it, one call at a time.
//
// Invariants, checked after every step:
//
//	start <= hw <= end, flushed <= end
//	hw never falls, except by truncation
//	a proposal is on its way only at a leader
type State struct {
	node   int32
	cfg    Config
	epochs Epochs
	known  Assigned // Epochs are -1 before the first.
	role   Role

	start, end, flushed, hw int64

	// Of a leader.
	isr        []int32 // As committed by the controller.
	pending    *pending
	epochStart int64 // End of the log when this leader epoch began; -1.
	followers  []Progress
	brokers    Brokers
	waits      queue // For the high watermark.
	lows       queue // For the low watermark.
	proposals  uint64

	fetch fetchState // Of a follower.
}

// New returns the state of a partition of which this broker, node, holds a
// replica whose log stands at log and has the given epochs.
func New(node int32, cfg Config, epochs Epochs, log Log) *State {
	return &State{
		node: node, cfg: cfg, epochs: epochs,
		known: Assigned{Leader: -1, LeaderEpoch: -1, PartitionEpoch: -1},
		start: log.Start, end: log.End, flushed: log.Flushed, hw: log.HighWatermark,
		epochStart: -1,
	}
}

// Step takes one event and returns what is to be done.
func (s *State) Step(now time.Time, ev Event) Effects {
	eff := s.step(now, ev)
	s.check()
	return eff
}

func (s *State) step(now time.Time, ev Event) Effects {
	switch ev := ev.(type) {
	case Appended:
		return s.appended(now, ev)
	case Flushed:
		return s.onFlush(now, ev)
	case Wait:
		return s.wait(ev)
	case FollowerFetched:
		return s.followerFetched(now, ev)
	case Assigned:
		return s.assigned(now, ev)
	case Brokers:
		s.brokers = ev
		return s.recount(now)
	case Tuned:
		s.cfg = ev.Config
		eff := s.recount(now)
		eff.Flush = s.wantsFlush()
		return eff
	case Started:
		return s.started(ev)
	case WaitLow:
		return s.waitLow(ev)
	case Forget:
		s.waits.drop(ev.Ticket)
		s.lows.drop(ev.Ticket)
		return nothing()
	case Tick:
		return s.tick(now)
	case Answered:
		return s.answered(now, ev)
	case Fetched:
		return s.fetched(now, ev)
	case Bounds:
		return s.bounds(now, ev)
	case Written:
		return s.written(ev)
	case WriteFailed:
		return s.writeFailed(now, ev)
	case Truncated:
		return s.truncated(now, ev)
	}
	panic("BUG: replication state stepped with an unknown event") // To print ev would put every event on the heap.
}

// assigned takes over what the controller published.
func (s *State) assigned(now time.Time, a Assigned) Effects {
	if a.PartitionEpoch < s.known.PartitionEpoch || a.LeaderEpoch < s.known.LeaderEpoch {
		return nothing()
	}
	var eff Effects
	if a.Leader == s.node {
		eff = s.lead(now, a)
	} else {
		eff = s.follow(a)
	}
	eff.Flush = s.wantsFlush()
	return eff
}

// wantsFlush reports whether something is not counted only because it is not
// durable yet. After an append of a leader that goes without saying.
func (s *State) wantsFlush() bool { return s.counted() < s.end }

// counted is how far this replica vouches for its own log.
func (s *State) counted() int64 {
	if s.cfg.FlushedOnly {
		return s.flushed
	}
	return s.end
}

func (s *State) started(ev Started) Effects {
	if ev.Start <= s.start {
		return nothing()
	}
	s.start = ev.Start
	eff := nothing()
	s.answerLows(&eff)
	return eff
}

func (s *State) onFlush(now time.Time, ev Flushed) Effects {
	s.flushed = max(s.flushed, min(ev.To, s.end))
	if !s.cfg.FlushedOnly {
		return nothing()
	}
	if s.role == Leader {
		return s.recount(now)
	}
	eff := nothing()
	s.followHighWatermark(&eff)
	eff.Fetch = true
	return eff
}

// notLeader is the error for those who take this broker for the leader.
func (s *State) notLeader() error {
	return &NotLeaderError{Leader: s.known.Leader, Epoch: s.known.LeaderEpoch}
}

// Role tells what this broker is for the partition.
func (s *State) Role() Role { return s.role }

// HighWatermark is the first offset not known to be committed.
func (s *State) HighWatermark() int64 { return s.hw }

// End is the end of the log as the State knows it.
func (s *State) End() int64 { return s.end }

func (s *State) check() {
	if s.start > s.hw || s.hw > s.end || s.flushed > s.end {
		panic(fmt.Sprintf("BUG: start %d, high watermark %d, end %d, flushed %d", s.start, s.hw, s.end, s.flushed))
	}
	if s.pending != nil && s.role != Leader {
		panic("BUG: a change of the in-sync replicas is pending at a " + s.role.String())
	}
}
