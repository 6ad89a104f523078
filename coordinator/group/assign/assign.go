// Package assign holds the assignors of consumer groups (KIP-848): they decide
// which member of a group reads which partition.
//
// An assignor is a pure function of a Group. The same group gives the same
// assignment, in whatever order its members are listed, and every partition of a
// topic with a subscriber goes to exactly one of them. Begin with Uniform, which
// is what Kafka uses when no member asks for another.
//
// Not here: when an assignment is made and how the members get there (package
// group). No assignor of Kafka 4.2 looks at racks; a change of racks only makes the
// group assign again.
package assign

import (
	"bytes"
	"maps"
	"slices"
)

// TopicID is a topic's id.
type TopicID = [16]byte

// Partitions is a set of partitions: sorted and never empty lists by topic.
type Partitions map[TopicID][]int32

// Has says whether a partition is in the set.
func (p Partitions) Has(topic TopicID, partition int32) bool {
	_, found := slices.BinarySearch(p[topic], partition)
	return found
}

// Add puts a partition into the set.
func (p Partitions) Add(topic TopicID, partition int32) {
	list := p[topic]
	if i, found := slices.BinarySearch(list, partition); !found {
		p[topic] = slices.Insert(list, i, partition)
	}
}

// Remove takes a partition out of the set.
func (p Partitions) Remove(topic TopicID, partition int32) {
	list := p[topic]
	i, found := slices.BinarySearch(list, partition)
	if !found {
		return
	}
	if len(list) == 1 {
		delete(p, topic)
		return
	}
	p[topic] = slices.Delete(list, i, i+1)
}

// Topics lists the topics in order.
func (p Partitions) Topics() []TopicID { return sorted(maps.Keys(p)) }

// Len is how many partitions there are.
func (p Partitions) Len() (n int) {
	for _, list := range p {
		n += len(list)
	}
	return n
}

// Clone copies the set.
func (p Partitions) Clone() Partitions {
	out := make(Partitions, len(p))
	for topic, list := range p {
		out[topic] = slices.Clone(list)
	}
	return out
}

// Equal says whether both sets hold the same.
func (p Partitions) Equal(q Partitions) bool {
	return maps.EqualFunc(p, q, slices.Equal[[]int32])
}

// Within says whether all of p is in q.
func (p Partitions) Within(q Partitions) bool {
	for topic, list := range p {
		for _, n := range list {
			if !q.Has(topic, n) {
				return false
			}
		}
	}
	return true
}

// Overlaps says whether some of p is in q.
func (p Partitions) Overlaps(q Partitions) bool {
	for topic, list := range p {
		for _, n := range list {
			if q.Has(topic, n) {
				return true
			}
		}
	}
	return false
}

// Member is what an assignor knows of one member.
type Member struct {
	ID string
	// Instance is the group.instance.id of a static member.
	Instance *string
	// Topics are those that the member subscribes to, as far as they exist.
	Topics []TopicID
	// Assigned is what the member was meant to have by the assignment before; it may
	// hold topics that are gone.
	Assigned Partitions
}

// Group is what an assignor is given. It does not change it.
type Group struct {
	Members []Member
	// Counts holds how many partitions each topic has to which a member subscribes.
	Counts map[TopicID]int32
}

// Assignor makes an assignment: for each member the partitions that it is meant to
// have. Who is missing in it gets none.
type Assignor func(Group) map[string]Partitions

// Names of Kafka's assignors.
const (
	UniformName = "uniform"
	RangeName   = "range"
)

// ByName finds an assignor.
func ByName(name string) (Assignor, bool) {
	switch name {
	case UniformName:
		return Uniform, true
	case RangeName:
		return Range, true
	}
	return nil, false
}

// alike says whether all members subscribe to the same topics.
func (g Group) alike() bool {
	if len(g.Members) == 0 {
		return true
	}
	first := sorted(slices.Values(g.Members[0].Topics))
	for _, m := range g.Members[1:] {
		if slices.Equal(m.Topics, g.Members[0].Topics) {
			continue // Most often.
		}
		if !slices.Equal(first, sorted(slices.Values(m.Topics))) {
			return false
		}
	}
	return true
}

// byID lists the members by id, so that nothing depends on the order given.
func (g Group) byID() []Member {
	return slices.SortedFunc(slices.Values(g.Members), func(a, b Member) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	})
}

func compareTopics(a, b TopicID) int { return bytes.Compare(a[:], b[:]) }

// sorted collects topic ids in order, each once.
func sorted(ids func(func(TopicID) bool)) []TopicID {
	return slices.Compact(slices.SortedFunc(ids, compareTopics))
}
