package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// cycles: operations can be put in an order in which each reads only what was
// written before it (G1c), and which is that of real time (G1c-realtime). Writes
// over writes are left out: Kafka isolates them only by fencing.
func (c *checker) cycles() {
	reads := simple.NewDirectedGraph()
	for n := range c.ops {
		reads.AddNode(simple.Node(n))
	}
	number := make(map[*Op]int64, len(c.ops))
	for n, op := range c.ops {
		number[op] = int64(n)
	}
	for n, op := range c.ops {
		for _, r := range op.Polls {
			if w := c.writer[r.Value]; w != nil && w != op { // Its own: precommitted-read.
				reads.SetEdge(simple.Edge{F: simple.Node(number[w]), T: simple.Node(n)})
			}
		}
	}
	if c.cycle("G1c", reads) {
		return
	}
	c.realtime(reads)
	c.cycle("G1c-realtime", reads)
}

// cycle tells of each group of operations that wait for each other.
func (c *checker) cycle(name string, g *simple.DirectedGraph) bool {
	found := false
	for _, component := range topo.TarjanSCC(g) {
		if len(component) < 2 {
			continue
		}
		var text []string
		for _, node := range component {
			if n := node.ID(); n < int64(len(c.ops)) {
				op := c.ops[n]
				text = append(text, fmt.Sprintf("process %d from %v to %v", op.Process, op.Begin, op.End))
			}
		}
		slices.Sort(text)
		c.add(name, "each read from another: %s", strings.Join(text, "; "))
		found = true
	}
	return found
}

// realtime adds that what ended before another began is before it, by one chain of
// moments instead of an edge for each two.
func (c *checker) realtime(g *simple.DirectedGraph) {
	type moment struct {
		at    time.Duration
		begin bool
		op    int
	}
	var moments []moment
	for n, op := range c.ops {
		moments = append(moments, moment{op.Begin, true, n}, moment{op.End, false, n})
	}
	slices.SortFunc(moments, func(a, b moment) int {
		if a.at == b.at && a.begin != b.begin { // Those of one moment overlap.
			if a.begin {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.op, b.op))
	})
	barrier := int64(len(c.ops))
	g.AddNode(simple.Node(barrier))
	for _, m := range moments {
		op := simple.Node(m.op)
		if m.begin {
			g.SetEdge(simple.Edge{F: simple.Node(barrier), T: op})
			continue
		}
		next := barrier + 1
		g.AddNode(simple.Node(next))
		g.SetEdge(simple.Edge{F: simple.Node(barrier), T: simple.Node(next)})
		g.SetEdge(simple.Edge{F: op, T: simple.Node(next)})
		barrier = next
	}
}
