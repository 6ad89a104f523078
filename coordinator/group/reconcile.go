package group

import (
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// course is what a member has to follow: the target and what stands in its way.
type course struct {
	epoch  int32 // Of the target.
	target assign.Partitions
	// reads says whether the member subscribes to a topic, and it exists.
	reads func(assign.TopicID) bool
	// resubscribed says that what the member subscribes to has just changed.
	resubscribed bool
	// owner is the member that has a partition; empty: nobody.
	owner func(assign.TopicID, int32) string
	// owned is what the member says that it has; nil: it did not say.
	owned assign.Partitions
}

// follow takes a member one step towards its target, and returns what it is then;
// m itself if it has to wait, or is there. A member in a state that is not known
// cannot be taken anywhere.
func (c course) follow(m *consumer) (next *consumer, ok bool) {
	if !c.resubscribed && m.reached(c.epoch) {
		return m, true
	}
	switch m.state {
	case settled:
		switch {
		case m.epoch != c.epoch:
			return c.advance(m), true
		case c.resubscribed:
			return c.drop(m), true
		}
		return m, true
	case unrevoked:
		switch {
		case !c.holds(m.revoking):
			return c.advance(m), true
		case c.resubscribed:
			return c.drop(m), true
		}
		return m, true
	case unreleased:
		return c.advance(m), true
	}
	if c.owned == nil || len(c.owned) > 0 {
		return nil, false
	}
	fresh := *m
	fresh.epoch, fresh.state = c.epoch, settled
	return c.advance(&fresh), true
}

// holds says whether the member may still read some of p: it does until it lists
// what it has, and that is not in the list.
func (c course) holds(p assign.Partitions) bool {
	return c.owned == nil || c.owned.Overlaps(p)
}

// advance compares what a member has with its target. First it gives up what is
// not in there, at the epoch that it has; then it is at the target's epoch, and
// gets what nobody else has.
func (c course) advance(m *consumer) *consumer {
	keep, revoke, add := make(assign.Partitions), make(assign.Partitions), make(assign.Partitions)
	for topic, list := range m.assigned {
		wanted := c.reads(topic)
		for _, n := range list {
			if wanted && c.target.Has(topic, n) {
				keep[topic] = append(keep[topic], n)
			} else {
				revoke[topic] = append(revoke[topic], n)
			}
		}
	}
	waits := false
	for topic, list := range c.target {
		if !c.reads(topic) {
			continue
		}
		for _, n := range list {
			if keep.Has(topic, n) {
				continue
			}
			// What the member itself is giving up it may have again.
			if owner := c.owner(topic, n); owner != "" && !m.revoking.Has(topic, n) {
				waits = true
			} else {
				add[topic] = append(add[topic], n)
			}
		}
	}
	next := *m
	next.previousEpoch = m.epoch
	if len(revoke) > 0 && c.holds(revoke) {
		next.state, next.assigned, next.revoking = unrevoked, keep, revoke
		return &next
	}
	for topic, list := range add {
		for _, n := range list {
			keep.Add(topic, n)
		}
	}
	next.epoch, next.state, next.assigned, next.revoking = c.epoch, settled, keep, nil
	if waits {
		next.state = unreleased
	}
	return &next
}

// drop takes from a member what it no longer subscribes to, without waiting for a
// new target.
func (c course) drop(m *consumer) *consumer {
	keep, revoke := make(assign.Partitions), m.revoking.Clone()
	for topic, list := range m.assigned {
		if c.reads(topic) {
			keep[topic] = list
			continue
		}
		for _, n := range list {
			revoke.Add(topic, n)
		}
	}
	if len(keep) == len(m.assigned) {
		return m
	}
	next := *m
	next.previousEpoch, next.assigned = m.epoch, keep
	if c.holds(revoke) {
		next.state, next.revoking = unrevoked, revoke
	}
	return &next
}
