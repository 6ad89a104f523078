package assign

import (
	"cmp"
	"container/heap"
	"slices"
)

// balanceRounds bounds how often the topics are gone over. Most groups are
// balanced after one or two rounds.
const balanceRounds = 16

// mixed assigns where members subscribe to different topics. Members are numbers
// in the order of their ids.
type mixed struct {
	counts  map[TopicID]int32
	members []Member
	readers map[TopicID][]int // Who subscribes to each topic.
	owners  map[TopicID][]int // Who has each partition; -1: nobody.
	load    []int             // How many partitions each member has.
}

const nobody = -1

// uniformMixed leaves every member what it still subscribes to, gives the rest to
// whoever of a topic's subscribers has the fewest, and then moves partitions from
// those with many to those with few, topic by topic, until that helps no more.
func uniformMixed(g Group) map[string]Partitions {
	b := newMixed(g)
	topics := b.inOrder()
	for _, topic := range topics {
		b.give(topic)
	}
	last := -1 // The last topic of which a partition moved.
	for range balanceRounds {
		for i, topic := range topics {
			if i == last {
				return b.result()
			}
			if b.balance(topic) || last == -1 {
				last = i
			}
		}
	}
	return b.result()
}

func newMixed(g Group) *mixed {
	b := &mixed{
		counts: g.Counts, members: g.byID(),
		readers: make(map[TopicID][]int), owners: make(map[TopicID][]int),
		load: make([]int, len(g.Members)),
	}
	for i, m := range b.members {
		for _, topic := range sorted(slices.Values(m.Topics)) {
			if b.counts[topic] > 0 {
				b.readers[topic] = append(b.readers[topic], i)
			}
		}
	}
	for topic := range b.readers {
		b.owners[topic] = slices.Repeat([]int{nobody}, int(b.counts[topic]))
	}
	for i, m := range b.members {
		topics := subscribed(m.Topics)
		for topic, list := range m.Assigned {
			owners := b.owners[topic]
			for _, n := range list {
				if topics[topic] && int(n) < len(owners) && owners[n] == nobody {
					owners[n] = i
					b.load[i]++
				}
			}
		}
	}
	return b
}

// inOrder lists the topics: first those with the most partitions for each
// subscriber, of those the ones with the fewest subscribers, for they leave the
// least choice.
func (b *mixed) inOrder() []TopicID {
	topics := sorted(func(yield func(TopicID) bool) {
		for topic := range b.readers {
			if !yield(topic) {
				return
			}
		}
	})
	slices.SortStableFunc(topics, func(s, t TopicID) int {
		ns, nt := int64(len(b.readers[s])), int64(len(b.readers[t]))
		return cmp.Or(
			cmp.Compare(int64(b.counts[t])*ns, int64(b.counts[s])*nt),
			cmp.Compare(ns, nt),
		)
	})
	return topics
}

// least is the subscriber with the fewest partitions, of several the first.
func (b *mixed) least(topic TopicID) int {
	return slices.MinFunc(b.readers[topic], func(i, j int) int {
		return cmp.Or(cmp.Compare(b.load[i], b.load[j]), cmp.Compare(i, j))
	})
}

// give hands out the partitions of a topic that nobody has.
func (b *mixed) give(topic TopicID) {
	queue := &byLoad{members: slices.Clone(b.readers[topic]), load: b.load}
	heap.Init(queue)
	for n, owner := range b.owners[topic] {
		if owner == nobody {
			i := queue.members[0]
			b.owners[topic][n] = i
			b.load[i]++
			heap.Fix(queue, 0)
		}
	}
}

// byLoad is a heap of members: who has the fewest partitions is at the top, of
// several the first.
type byLoad struct {
	members []int
	load    []int
}

func (q *byLoad) Len() int      { return len(q.members) }
func (q *byLoad) Swap(i, j int) { q.members[i], q.members[j] = q.members[j], q.members[i] }
func (q *byLoad) Push(any)      {}             // Nobody comes and
func (q *byLoad) Pop() any      { return nil } // nobody goes.

func (q *byLoad) Less(i, j int) bool {
	m, n := q.members[i], q.members[j]
	return cmp.Or(cmp.Compare(q.load[m], q.load[n]), cmp.Compare(m, n)) < 0
}

// balance moves partitions of one topic from the subscriber that has the most to
// the one that has the fewest, while that makes them more equal. It says whether
// any moved.
func (b *mixed) balance(topic TopicID) (moved bool) {
	has := make(map[int][]int) // The topic's partitions by owner, in order.
	for n, owner := range b.owners[topic] {
		has[owner] = append(has[owner], n)
	}
	for {
		to := b.least(topic)
		from := nobody
		for _, i := range b.readers[topic] {
			if len(has[i]) > 0 && (from == nobody || b.load[i] >= b.load[from]) {
				from = i
			}
		}
		if from == nobody || b.load[from]-b.load[to] <= 1 {
			return moved
		}
		list := has[from]
		n := list[len(list)-1]
		has[from], has[to] = list[:len(list)-1], append(has[to], n)
		b.owners[topic][n] = to
		b.load[from]--
		b.load[to]++
		moved = true
	}
}

func (b *mixed) result() map[string]Partitions {
	out := make(map[string]Partitions, len(b.members))
	for _, m := range b.members {
		out[m.ID] = make(Partitions)
	}
	for topic, owners := range b.owners {
		for n, i := range owners {
			has := out[b.members[i].ID]
			has[topic] = append(has[topic], int32(n))
		}
	}
	return out
}
