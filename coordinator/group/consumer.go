package group

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// consumers is a group of the consumer protocol (KIP-848): the coordinator itself
// decides who reads what, and each member follows by heartbeats. All of it is hard
// state: what its records (consumerrecords.go) say, and nothing else.
//
// A member comes in three steps to what it is meant to have (target): it is told
// what to give up, it says that it has, and it is given what others gave up. Its
// epoch says how far it is: at assignmentEpoch it has given up all that the target
// takes from it.
//
// Invariants, checked by check in tests:
//
//	no partition is assigned to, or still being revoked from, two members
//	owners says the same as the members do
//	assignmentEpoch is never above epoch, no member's epoch above assignmentEpoch
type consumers struct {
	// epoch grows when members must be assigned anew. assignmentEpoch is the epoch
	// that target was made for.
	epoch, assignmentEpoch int32
	// hash is of the topics that members subscribe to, as they were at epoch.
	hash    int64
	members map[string]*consumer
	target  map[string]assign.Partitions // By member id.
	regexes map[string]resolved          // What regular expressions matched.
	// oldMetadata says that there is a record of a type that Kafka no longer writes.
	oldMetadata bool

	// What follows from the members.
	statics  map[string]string                   // Member ids by instance id.
	owners   map[assign.TopicID]map[int32]string // Who has, or gives up, a partition.
	patterns map[string]int                      // How many subscribe to each pattern,
	votes    map[string]int                      // and ask for each assignor.
}

// resolved is what a regular expression matched when it was last looked at.
type resolved struct {
	topics  []string // In order.
	version int64    // Of the Topics.
	atMs    int64
}

// memberState is how far a member is on its way to its target.
type memberState int8

const (
	settled    memberState = 0 // It has all that it is meant to have.
	unrevoked  memberState = 1 // It has not given up everything yet.
	unreleased memberState = 2 // Others have not given up what it is meant to have.
	unknown    memberState = 127
)

// consumer is one member. It is never changed: a step makes a copy, which counts
// from when its records are written.
type consumer struct {
	id          string
	instance    *string // Not nil: a static member.
	rack        *string
	clientID    string
	clientHost  string
	topics      []string // Subscribed to by name; in order, each once.
	regex       string   // Subscribed to by pattern; empty: none.
	rebalanceMs int32
	assignor    *string        // The one that it would like.
	classic     *classicMember // Not nil: it speaks the classic protocol.

	epoch, previousEpoch int32
	state                memberState
	assigned             assign.Partitions
	revoking             assign.Partitions // To be given up; it may still read them.
}

// classicMember is what a member that speaks the classic protocol said of itself.
type classicMember struct {
	sessionMs int32
	protocols []kmsg.JoinGroupRequestProtocol
}

// The epochs by which a member says that it leaves: for good, or to come back
// under its instance id.
const (
	epochJoins       = 0
	epochLeaves      = -1
	epochLeavesFor   = -2
	noRebalanceLimit = -1
)

func newConsumers() *consumers {
	return &consumers{
		members: make(map[string]*consumer),
		target:  make(map[string]assign.Partitions),
		regexes: make(map[string]resolved),
		statics: make(map[string]string),
		owners:  make(map[assign.TopicID]map[int32]string),

		patterns: make(map[string]int),
		votes:    make(map[string]int),
	}
}

// newConsumer is a member of whom nothing is known yet.
func newConsumer(id string) *consumer {
	return &consumer{id: id, rebalanceMs: noRebalanceLimit}
}

// state is what ListGroups and ConsumerGroupDescribe say.
func (c *consumers) state() string {
	switch {
	case len(c.members) == 0:
		return "Empty"
	case c.epoch > c.assignmentEpoch:
		return "Assigning"
	}
	for _, m := range c.members {
		if !m.reached(c.assignmentEpoch) {
			return "Reconciling"
		}
	}
	return "Stable"
}

// reached says whether a member has all that the target of an epoch gives it.
func (m *consumer) reached(epoch int32) bool { return m.state == settled && m.epoch == epoch }

// holds is what a member may be reading: what it is still to give up, too.
func (m *consumer) holds() assign.Partitions {
	has := m.assigned.Clone()
	for topic, list := range m.revoking {
		for _, n := range list {
			has.Add(topic, n)
		}
	}
	return has
}

// static finds the member that holds an instance id.
func (c *consumers) static(instance *string) *consumer {
	if instance == nil {
		return nil
	}
	return c.members[c.statics[*instance]]
}

// put places a member, as a record says it is now.
func (c *consumers) put(m *consumer) {
	c.take(m.id)
	c.members[m.id] = m
	c.count(m, 1)
	if m.instance != nil {
		c.statics[*m.instance] = m.id
	}
	for _, set := range []assign.Partitions{m.assigned, m.revoking} {
		for topic, list := range set {
			if c.owners[topic] == nil {
				c.owners[topic] = make(map[int32]string)
			}
			for _, n := range list {
				c.owners[topic][n] = m.id
			}
		}
	}
}

// take removes a member; what it had is free.
func (c *consumers) take(id string) {
	m := c.members[id]
	if m == nil {
		return
	}
	delete(c.members, id)
	c.count(m, -1)
	if m.instance != nil && c.statics[*m.instance] == id {
		delete(c.statics, *m.instance)
	}
	for _, set := range []assign.Partitions{m.assigned, m.revoking} {
		for topic, list := range set {
			for _, n := range list {
				if c.owners[topic][n] == id {
					delete(c.owners[topic], n)
				}
			}
			if len(c.owners[topic]) == 0 {
				delete(c.owners, topic)
			}
		}
	}
}

// count adds n to the counts of what m subscribes to and asks for.
func (c *consumers) count(m *consumer, n int) {
	add := func(counts map[string]int, name string) {
		if counts[name] += n; counts[name] == 0 {
			delete(counts, name)
		}
	}
	if m.regex != "" {
		add(c.patterns, m.regex)
	}
	if m.assignor != nil {
		add(c.votes, *m.assignor)
	}
}

// subscribes says whether members' patterns and names cover a topic.
func (c *consumers) subscribes(topic string) bool {
	for _, m := range c.members {
		if slices.Contains(m.topics, topic) || slices.Contains(c.regexes[m.regex].topics, topic) {
			return true
		}
	}
	return false
}

// draft is a group as it will be once the records of a step are written: a copy
// that the step may change.
func (c *consumers) draft() *consumers {
	d := *c
	d.members, d.target, d.regexes = maps.Clone(c.members), maps.Clone(c.target), maps.Clone(c.regexes)
	d.statics, d.patterns, d.votes = maps.Clone(c.statics), maps.Clone(c.patterns), maps.Clone(c.votes)
	d.owners = make(map[assign.TopicID]map[int32]string, len(c.owners))
	for topic, parts := range c.owners {
		d.owners[topic] = maps.Clone(parts)
	}
	return &d
}

// names lists the topics that a member subscribes to, in order: by name, and by
// what its pattern matched. A pattern that was not looked at yet matches nothing.
func (c *consumers) names(m *consumer) []string {
	if m.regex == "" {
		return m.topics
	}
	matched := c.regexes[m.regex].topics
	if len(m.topics) == 0 {
		return matched
	}
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(m.topics, matched))))
}

// allNames lists the topics that anybody subscribes to, in order.
func (c *consumers) allNames() []string {
	set := make(map[string]struct{})
	for _, m := range c.members {
		for _, name := range m.topics {
			set[name] = struct{}{}
		}
		for _, name := range c.regexes[m.regex].topics {
			set[name] = struct{}{}
		}
	}
	return sortedKeys(set)
}

// assignor is the one that most members ask for; if nobody asks, the default. Of uniform
// and range it is uniform if as many ask for either: Kafka takes the one that a table
// by the names' hashes holds first (ConsumerGroup.preferredServerAssignor), whatever
// the order of group.consumer.assignors.
func (c *consumers) assignor(unset string) string {
	best, most := unset, 0
	for name, n := range c.votes {
		if n > most || n == most && name > best {
			best, most = name, n
		}
	}
	return best
}

// sameMember says whether two states of a member are written alike (the record of
// what it said, not of what it has).
func (m *consumer) sameMember(o *consumer) bool {
	same := func(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }
	return same(m.instance, o.instance) && same(m.rack, o.rack) && same(m.assignor, o.assignor) &&
		m.clientID == o.clientID && m.clientHost == o.clientHost && slices.Equal(m.topics, o.topics) &&
		m.regex == o.regex && m.rebalanceMs == o.rebalanceMs && m.classic.equal(o.classic)
}

// sameAssignment says the same of what it has.
func (m *consumer) sameAssignment(o *consumer) bool {
	return m.epoch == o.epoch && m.previousEpoch == o.previousEpoch && m.state == o.state &&
		m.assigned.Equal(o.assigned) && m.revoking.Equal(o.revoking)
}

func (c *classicMember) equal(o *classicMember) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.sessionMs == o.sessionMs && sameProtocols(c.protocols, o.protocols)
}
