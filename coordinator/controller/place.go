package controller

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// placer deals replicas out to brokers: leaders evenly over racks and over the
// brokers of a rack, the replicas of one partition on different racks as long as
// there are any, on active brokers before fenced ones. It walks around the racks
// and around the brokers of each, from a random start, one place further for each
// partition; after one round it shuffles both, lest the same brokers always stand
// beside each other.
type placer struct {
	rand  *rand.Rand
	racks []*rack
	live  int // Active brokers.
	total int
	dealt int // Partitions since the last shuffle.
	first int // The rack that the next leader is looked for first.
}

type rack struct {
	name         string
	live, fenced ring
}

// ring is brokers around a table.
type ring struct {
	ids   []int32
	start int // Who is asked first for the partition at hand.
	taken int // How many were asked for it.
}

func (r *ring) next() (int32, bool) {
	if r.taken == len(r.ids) {
		return 0, false
	}
	id := r.ids[(r.start+r.taken)%len(r.ids)]
	r.taken++
	return id, true
}

// nextPartition begins a new partition: who was asked first moves back one place.
func (r *ring) nextPartition() {
	if r.taken > 0 {
		r.start = (r.start + 1) % len(r.ids)
	}
	r.taken = 0
}

// newPlacer takes the brokers on which a replica may be put. Brokers without a rack
// share one.
func newPlacer(rnd *rand.Rand, brokers []*Broker) *placer {
	p := &placer{rand: rnd}
	byName := map[string]*rack{}
	for _, b := range brokers {
		var name string
		if b.Rack != nil {
			name = "r" + *b.Rack // An empty rack is one, too.
		}
		r := byName[name]
		if r == nil {
			r = &rack{name: name}
			byName[name] = r
			p.racks = append(p.racks, r)
		}
		if b.Fenced {
			r.fenced.ids = append(r.fenced.ids, b.ID)
		} else {
			r.live.ids = append(r.live.ids, b.ID)
			p.live++
		}
		p.total++
	}
	slices.SortFunc(p.racks, func(a, b *rack) int { return cmp.Compare(a.name, b.name) })
	for _, r := range p.racks {
		for _, ring := range []*ring{&r.live, &r.fenced} {
			slices.Sort(ring.ids)
			if n := len(ring.ids); n > 0 {
				ring.start = rnd.IntN(n)
			}
		}
	}
	if n := len(p.racks); n > 0 {
		p.first = rnd.IntN(n)
	}
	return p
}

// deal returns the replicas of one more partition, the leader first. There must be
// that many brokers, and one of them active.
func (p *placer) deal(factor int) []int32 {
	if p.live > 1 && p.dealt == p.live {
		p.shuffle()
	}
	for _, r := range p.racks {
		r.live.nextPartition()
		r.fenced.nextPartition()
	}
	n := len(p.racks)
	replicas := make([]int32, 0, factor)
	leaders := p.first
	for len(replicas) == 0 {
		if id, ok := p.racks[leaders].live.next(); ok {
			replicas = append(replicas, id)
		} else {
			leaders = (leaders + 1) % n
		}
	}
	// The first walk around the racks passes the leader's by.
	for i := p.first; len(replicas) < factor; i = (i + 1) % n {
		if i == leaders {
			leaders = -1
			continue
		}
		if id, ok := p.racks[i].next(); ok {
			replicas = append(replicas, id)
		}
	}
	p.first = (p.first + 1) % n
	p.dealt++
	return replicas
}

func (r *rack) next() (int32, bool) {
	if id, ok := r.live.next(); ok {
		return id, true
	}
	return r.fenced.next()
}

func (p *placer) shuffle() {
	p.rand.Shuffle(len(p.racks), func(i, j int) { p.racks[i], p.racks[j] = p.racks[j], p.racks[i] })
	for _, r := range p.racks {
		for _, ids := range [][]int32{r.live.ids, r.fenced.ids} {
			p.rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		}
	}
	p.dealt = 0
}

// place decides where the replicas of new partitions are, or says in Kafka's words
// why it cannot.
func (s *Shard) place(rnd *rand.Rand, partitions, factor int) ([][]int32, string) {
	var usable []*Broker
	for b := range values(s.brokers) {
		if !b.ShuttingDown && b.takesReplicas() {
			usable = append(usable, b)
		}
	}
	p := newPlacer(rnd, usable)
	switch {
	case factor <= 0:
		return nil, fmt.Sprintf("Invalid replication factor %d: the replication factor must be positive.", factor)
	case p.live == 0:
		return nil, "All brokers are currently fenced."
	case factor > p.total:
		return nil, fmt.Sprintf("The target replication factor of %d cannot be reached because only %d broker(s) are registered.", factor, p.total)
	}
	placed := make([][]int32, partitions)
	for i := range placed {
		placed[i] = p.deal(factor)
	}
	return placed, ""
}
