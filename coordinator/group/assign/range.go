package assign

import (
	"cmp"
	"slices"
)

// Range gives each member a run of consecutive partitions of each topic. Topics
// with the same number of partitions and the same subscribers line up: who has
// partition 3 of one has it of all. Static members come first, in the order of
// their instance ids, so that they keep their partitions when they come back under
// another member id.
func Range(g Group) map[string]Partitions {
	members := slices.Clone(g.Members)
	slices.SortFunc(members, func(a, b Member) int {
		switch {
		case a.Instance != nil && b.Instance != nil:
			return cmp.Compare(*a.Instance, *b.Instance)
		case a.Instance != nil:
			return -1
		case b.Instance != nil:
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	readers := make(map[TopicID]int32)
	for _, m := range members {
		for topic := range subscribed(m.Topics) {
			readers[topic]++
		}
	}
	given := make(map[TopicID]struct{ next, larger int32 }, len(readers))
	out := make(map[string]Partitions, len(members))
	for _, m := range members {
		has := make(Partitions)
		for _, topic := range sorted(slices.Values(m.Topics)) {
			count, n := g.Counts[topic], readers[topic]
			run := given[topic]
			end := run.next + count/n
			if run.larger < count%n {
				end++
				run.larger++
			}
			for p := run.next; p < end; p++ {
				has[topic] = append(has[topic], p)
			}
			run.next = end
			given[topic] = run
		}
		out[m.ID] = has
	}
	return out
}
