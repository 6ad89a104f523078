package differential

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The names of a world.
var (
	topicNames         = []string{"t0", "t1", "t2", "t3"}
	badTopics          = []string{"!", "!.", "!..", "!a/b", "!" + strings.Repeat("x", 250), "!a b"}
	groupNames         = []string{"g0", "g1", "c0", "c1"} // The last two are of the consumer protocol.
	classicNames       = groupNames[:2]
	consumerNames      = groupNames[2:]
	memberNames        = []string{"m0", "m1", "m2"}
	idempotentNames    = []string{"p0", "p1"}
	transactionalNames = []string{"x0", "x1"}
)

// gen draws one world. It keeps only what makes the next request likely to be
// valid; what is so is known when it is asked.
type gen struct {
	*rand.Rand
	offered versions
	steps   []Step
	made    map[string]int32 // Partitions of the topics that were made, most likely.
	began   map[string]bool  // Producers that have an identity.
	joined  map[string]bool  // Members that have joined.
}

// action draws a few steps.
type action struct {
	api    kmsg.Key // The one that it is about.
	weight int
	draw   func(g *gen)
}

// actions are all that a world is made of.
func actions() []action {
	return slices.Concat(topicActions, configActions, dataActions, transactionActions, groupActions, consumerActions, offsetActions, otherActions)
}

// Draw makes the steps of a world.
func (f Fuzzer) Draw(world int, offered versions) []Step {
	g := &gen{Rand: f.source(world), offered: offered, made: map[string]int32{}, began: map[string]bool{}, joined: map[string]bool{}}
	var all []action
	total := 0
	for _, a := range actions() {
		_, ok := offered[a.api]
		if ok && (len(f.APIs) == 0 || slices.Contains(f.APIs, a.api.Name())) {
			all, total = append(all, a), total+a.weight
		}
	}
	g.createSome(topicNames[:1+g.IntN(3)])
	for len(g.steps) < f.Steps && total > 0 {
		at := g.IntN(total)
		for _, a := range all {
			if at -= a.weight; at < 0 {
				a.draw(g)
				break
			}
		}
	}
	return g.steps
}

// version draws one of an API's versions, most often a new one.
func (g *gen) version(api kmsg.Key) int16 {
	lo, hi := g.offered[api][0], g.offered[api][1]
	if api == kmsg.Produce {
		lo = max(lo, 3) // Below, Kafka advertises what it does not serve.
	}
	if g.one(3) {
		return hi
	}
	return lo + int16(g.IntN(int(hi-lo)+1))
}

// ask adds a step. Build is told the version.
func (g *gen) ask(api kmsg.Key, build func(v *view, version int16) kmsg.Request, learn func(*view, kmsg.Response)) {
	g.askAt(api, g.version(api), build, learn)
}

func (g *gen) askAt(api kmsg.Key, version int16, build func(v *view, version int16) kmsg.Request, learn func(*view, kmsg.Response)) {
	if _, ok := g.offered[api]; !ok {
		return
	}
	g.steps = append(g.steps, Step{
		Number: len(g.steps) + 1, API: api, Version: version, Reads: reads[api],
		build: func(v *view) kmsg.Request { return build(v, version) }, learn: learn,
	})
}

// reads are the APIs that change nothing.
var reads = map[kmsg.Key]bool{
	kmsg.Metadata: true, kmsg.DescribeTopicPartitions: true, kmsg.ListOffsets: true, kmsg.OffsetForLeaderEpoch: true,
	kmsg.DescribeConfigs: true, kmsg.DescribeProducers: true, kmsg.DescribeTransactions: true, kmsg.ListTransactions: true,
	kmsg.FindCoordinator: true, kmsg.DescribeGroups: true, kmsg.ListGroups: true, kmsg.ConsumerGroupDescribe: true,
	kmsg.OffsetFetch: true, kmsg.DescribeCluster: true, kmsg.ApiVersions: true, kmsg.DescribeLogDirs: true,
	kmsg.DescribeACLs: true,
}

// one is true once in n times.
func (g *gen) one(n int) bool { return g.IntN(n) == 0 }

// pick draws one of several.
func pick[V any](g *gen, all ...V) V { return all[g.IntN(len(all))] }

// some draws between one and n of several, rarely one of them twice.
func some[V any](g *gen, n int, draw func() V) []V {
	all := make([]V, 1+g.IntN(n))
	for i := range all {
		all[i] = draw()
	}
	return all
}

// unique leaves out what comes again.
func unique[V comparable](all []V) []V {
	var left []V
	for _, v := range all {
		if !slices.Contains(left, v) {
			left = append(left, v)
		}
	}
	return left
}

// topic draws a topic: most often one that is there.
func (g *gen) topic() string {
	switch {
	case g.one(25):
		return pick(g, badTopics...)
	case g.one(10) || len(g.made) == 0:
		return pick(g, topicNames...)
	}
	names := make([]string, 0, len(g.made))
	for _, n := range topicNames {
		if g.made[n] > 0 {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return topicNames[0]
	}
	return pick(g, names...)
}

func (g *gen) topicsOf(n int) []string { return unique(some(g, n, g.topic)) }

// partition draws one of a topic's, or one past them.
func (g *gen) partition(topic string) int32 {
	switch {
	case g.one(25):
		return -1
	case g.one(15):
		return max(1, g.made[topic])
	}
	return g.Int32N(max(1, g.made[topic]))
}

func (g *gen) partitions(topic string) []int32 {
	return unique(some(g, 2, func() int32 { return g.partition(topic) }))
}

// off is most often 0, sometimes one more or one less.
func (g *gen) off() int32 {
	if g.one(8) {
		return pick(g, int32(-1), 1)
	}
	return 0
}

// offset draws an offset near the few that logs have.
func (g *gen) offset() int64 {
	if g.one(8) {
		return pick(g, int64(-1), -2, 1000)
	}
	return g.Int64N(12)
}

// maybe is a text or null.
func (g *gen) maybe(s string) *string {
	if g.one(2) {
		return nil
	}
	return &s
}
