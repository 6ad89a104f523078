package controller

import (
	"slices"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// election says how far a change may go to find a leader.
type election int8

const (
	electOnline    election = iota // A leader that has everything; the present one if it can.
	electPreferred                 // The same, but the preferred replica before the present one.
	electUnclean                   // Any replica, rather than none.
)

// change works out how one partition changes: given the ISR, the replicas and the
// directories that are wanted, it completes a reassignment that is done, keeps the
// eligible leaders (KIP-966), elects, and says all of it in one record.
//
// Make one with Shard.change, set what shall differ, then call record.
type change struct {
	p     *Partition
	topic [16]byte
	// acceptable reports whether a replica may lead: its broker is active and its
	// directory online.
	acceptable func(broker int32) bool
	defaultDir func(broker int32) [16]byte
	level      metadata.Level
	elr        bool
	minISR     int // The bound below which eligible leaders are kept.

	election   election
	isr        []int32
	replicas   []int32
	removing   []int32
	adding     []int32
	eligible   []int32
	recovering bool
	unclean    int32 // A broker that lost what it had not flushed; -1: none.
	dirs       map[int32][16]byte
}

// change begins the change of a partition, with nothing changed yet.
func (s *Shard) change(t *Topic, p *Partition, minISR int) *change {
	c := &change{
		p: p, topic: t.ID, defaultDir: s.defaultDir, level: s.level, elr: s.elr(), minISR: minISR,
		isr: p.ISR, replicas: p.Replicas, removing: p.Removing, adding: p.Adding, eligible: p.ELR,
		recovering: p.Recovering, unclean: metadata.NoLeader,
	}
	c.acceptable = s.acceptor(p, s.active)
	return c
}

// acceptor narrows what brokers may lead to those whose directory of the partition
// is online.
func (s *Shard) acceptor(p *Partition, active func(int32) bool) func(int32) bool {
	return func(broker int32) bool {
		b, registered := s.brokers.Get(broker)
		dir, assigned := p.directory(broker)
		return registered && assigned && active(broker) && b.hasDir(dir)
	}
}

// record is the change as a record; nil if nothing changes.
func (c *change) record() *metadata.PartitionChange {
	r := metadata.NewPartitionChange(c.topic, c.p.ID)
	c.completeReassignment()
	c.keepEligible()
	c.elect(r)
	if r.Leader == metadata.LeaderAsBefore && !containsAll(c.replicas, c.p.Replicas) {
		// A replica goes: the new leader epoch keeps it from fetching and counting.
		r.Leader = c.p.Leader
	}
	c.recordISR(r)
	c.recordLastKnown(r)
	c.recordAssignment(r)
	if c.recovering != c.p.Recovering {
		r.LeaderRecoveryState = metadata.Recovered
		if c.recovering {
			r.LeaderRecoveryState = metadata.Recovering
		}
	}
	if r.Empty() {
		return nil
	}
	return r
}

// completeReassignment ends a reassignment once the ISR allows it: it holds all that
// were to be added, and, where the replication factor shrinks, all that stay.
func (c *change) completeReassignment() {
	if len(c.adding) == 0 && len(c.removing) == 0 {
		return
	}
	isr, replicas := without(c.isr, c.removing), without(c.replicas, c.removing)
	if len(c.removing) > 0 && (len(isr) == 0 || len(replicas) == 0) || !containsAll(isr, c.adding) {
		return
	}
	if len(c.adding) < len(c.removing) && !containsAll(isr, replicas) {
		return
	}
	c.isr, c.replicas, c.adding, c.removing = isr, replicas, nil, nil
}

// keepEligible keeps who left the ISR while it is below its bound: such a replica
// has all that was acknowledged, unless it shut down uncleanly.
func (c *change) keepEligible() {
	if !c.elr {
		return
	}
	if len(c.isr) >= c.minISR {
		c.eligible = nil
		return
	}
	var eligible []int32
	for _, ids := range [][]int32{c.eligible, c.p.ISR} {
		for _, id := range ids {
			if !slices.Contains(c.isr, id) && id != c.unclean && !slices.Contains(eligible, id) {
				eligible = append(eligible, id)
			}
		}
	}
	slices.Sort(eligible)
	c.eligible = eligible
}

// elect looks for a leader, and says in the record if it is another one.
func (c *change) elect(r *metadata.PartitionChange) {
	leader, unclean := c.leader()
	if leader == c.p.Leader {
		return
	}
	r.Leader = leader
	if slices.Contains(c.eligible, leader) {
		c.isr = []int32{leader}
		c.eligible = without(c.eligible, c.isr)
	}
	if unclean {
		// What the others have and the leader has not is lost.
		r.ISR = []int32{leader}
		if !c.p.Recovering {
			r.LeaderRecoveryState = metadata.Recovering
		}
	}
}

// leader finds who shall lead.
func (c *change) leader() (broker int32, unclean bool) {
	if c.election == electPreferred && len(c.replicas) > 0 && c.valid(c.replicas[0]) {
		return c.replicas[0], false
	}
	if c.valid(c.p.Leader) {
		return c.p.Leader, false
	}
	if i := slices.IndexFunc(c.replicas, c.valid); i >= 0 {
		return c.replicas[i], false
	}
	if c.elr && len(c.eligible) == 0 && len(c.isr) == 0 && len(c.p.LastKnownELR) == 1 && c.acceptable(c.p.LastKnownELR[0]) {
		return c.p.LastKnownELR[0], true
	}
	if c.election == electUnclean {
		if i := slices.IndexFunc(c.replicas, c.acceptable); i >= 0 {
			return c.replicas[i], true
		}
	}
	return metadata.NoLeader, false
}

// valid reports whether a replica may lead and has everything.
func (c *change) valid(broker int32) bool {
	has := slices.Contains(c.isr, broker) || len(c.isr) == 0 && slices.Contains(c.eligible, broker)
	return has && c.acceptable(broker)
}

// recordISR says how the ISR and the eligible leaders change.
func (c *change) recordISR(r *metadata.PartitionChange) {
	if r.ISR != nil || !c.elr {
		c.eligible = nil
	}
	if !slices.Equal(c.eligible, c.p.ELR) {
		r.ELR = filled(c.eligible)
	}
	// Without ELR the last member stays in the ISR, as the only one that may lead.
	if r.ISR == nil && (len(c.isr) > 0 || c.elr) && !slices.Equal(c.isr, c.p.ISR) {
		r.ISR = filled(c.isr)
	}
	if c.level < metadata.Level36IV0 && r.Leader == metadata.LeaderAsBefore && r.ISR != nil && !containsAll(r.ISR, c.p.ISR) {
		// Brokers of that age need it when the ISR shrinks (KAFKA-15021).
		r.Leader = c.p.Leader
	}
}

// recordLastKnown remembers the leader that was lost, until there is one.
func (c *change) recordLastKnown(r *metadata.PartitionChange) {
	switch {
	case !c.elr:
	case r.Leader == metadata.NoLeader && len(c.p.LastKnownELR) == 0:
		r.LastKnownELR = []int32{c.p.Leader}
	case r.Leader >= 0 && len(c.p.LastKnownELR) > 0:
		r.LastKnownELR = []int32{}
	}
}

func (c *change) recordAssignment(r *metadata.PartitionChange) {
	if len(c.replicas) > 0 {
		if !slices.Equal(c.replicas, c.p.Replicas) {
			r.Replicas = c.replicas
		}
		if dirs := c.directories(); c.level.Directories() && !slices.Equal(dirs, c.p.Directories) {
			r.Directories = dirs
		}
	}
	if !slices.Equal(c.removing, c.p.Removing) {
		r.RemovingReplicas = filled(c.removing)
	}
	if !slices.Equal(c.adding, c.p.Adding) {
		r.AddingReplicas = filled(c.adding)
	}
}

func (c *change) directories() [][16]byte {
	dirs := make([][16]byte, len(c.replicas))
	for i, id := range c.replicas {
		var ok bool
		if dirs[i], ok = c.dirs[id]; ok {
			continue
		}
		if dirs[i], ok = c.p.directory(id); !ok {
			dirs[i] = c.defaultDir(id)
		}
	}
	return dirs
}

// filled makes nil an empty list: in a record nil means no change.
func filled(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}

func containsAll(in, want []int32) bool {
	for _, id := range want {
		if !slices.Contains(in, id) {
			return false
		}
	}
	return true
}

// without is a without what is in b; a itself is not changed.
func without(a, b []int32) []int32 {
	var out []int32
	for _, id := range a {
		if !slices.Contains(b, id) {
			out = append(out, id)
		}
	}
	return out
}
