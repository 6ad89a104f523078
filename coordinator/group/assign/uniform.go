package assign

// Uniform spreads the partitions evenly and moves as few as it can. When all
// members subscribe to the same topics, none has more than one partition more
// than another; otherwise as nearly so as their subscriptions allow.
func Uniform(g Group) map[string]Partitions {
	if len(g.Members) == 0 {
		return nil
	}
	if g.alike() {
		return uniformAlike(g)
	}
	return uniformMixed(g)
}

// quota is a member who has room for more.
type quota struct {
	member string
	room   int
}

// uniformAlike assigns where all members subscribe to the same topics: each keeps
// what it has up to its share, and the rest fills up those who have less.
func uniformAlike(g Group) map[string]Partitions {
	members := g.byID()
	topics := sorted(func(yield func(TopicID) bool) {
		for _, id := range members[0].Topics {
			if !yield(id) {
				return
			}
		}
	})
	total := 0
	for _, id := range topics {
		total += int(g.Counts[id])
	}
	a := alike{
		share: total / len(members), larger: total % len(members),
		out: make(map[string]Partitions, len(members)), taken: make(Partitions),
	}
	if total == 0 {
		return a.out
	}
	for i, m := range members {
		a.keep(m, g.Counts, subscribed(topics), len(members)-i)
	}
	a.fill(topics, g.Counts)
	return a.out
}

// alike is the work of uniformAlike.
type alike struct {
	share  int // What everybody gets,
	larger int // and how many get one more, still to be found.
	room   []quota
	out    map[string]Partitions
	taken  Partitions
}

// keep leaves a member what it had, up to its share. left is how many members are
// still to come, this one included.
func (a *alike) keep(m Member, counts map[TopicID]int32, topics map[TopicID]bool, left int) {
	room, one := a.share, a.larger > 0
	if one {
		room++
	}
	kept := make(Partitions, len(m.Assigned))
	for _, topic := range m.Assigned.Topics() {
		if !topics[topic] {
			continue
		}
		for _, n := range m.Assigned[topic] {
			// A target may hold what another has by now; who comes first keeps it.
			if room == 0 || n >= counts[topic] || a.taken.Has(topic, n) {
				continue
			}
			kept[topic] = append(kept[topic], n)
			a.taken.Add(topic, n)
			room--
		}
	}
	if room > 0 && one && left > a.larger {
		// Somebody else may have one more, so that less has to move.
		room--
		one = false
	}
	if one {
		a.larger--
	}
	if room > 0 {
		a.room = append(a.room, quota{m.ID, room})
	}
	a.out[m.ID] = kept
}

// fill gives out what nobody kept.
func (a *alike) fill(topics []TopicID, counts map[TopicID]int32) {
	for _, topic := range topics {
		for n := range counts[topic] {
			if a.taken.Has(topic, n) {
				continue
			}
			if len(a.room) == 0 {
				panic("BUG: partitions are left, and no member has room")
			}
			next := &a.room[0]
			a.out[next.member].Add(topic, n)
			if next.room--; next.room == 0 {
				a.room = a.room[1:]
			}
		}
	}
}

func subscribed(topics []TopicID) map[TopicID]bool {
	set := make(map[TopicID]bool, len(topics))
	for _, id := range topics {
		set[id] = true
	}
	return set
}
