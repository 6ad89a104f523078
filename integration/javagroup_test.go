package integration

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// memberPattern is RE2's syntax, which Java's own does not know: the broker has to
// match it, and against whole names.
const memberPattern = `orders-(?P<region>[a-z]{2})`

const (
	memberGroup      = "regions"
	memberPartitions = 3 // Of each topic.
)

// TestJavaPatternGroupAcrossKill: three members of a KIP-848 group read what a
// regular expression matches. The broker is killed twice, a topic that matches is
// made meanwhile, one member leaves and another joins. Since a member commits what
// it has taken before it takes more, and none is killed, each record is taken once.
func TestJavaPatternGroupAcrossKill(t *testing.T) {
	requireJava(t)
	b := newBroker(t)
	b.Start(t)
	adm := admin(t, b.Addr())
	g := &patternGroup{t: t, addr: b.Addr(), taken: map[taken]int{}, want: map[string][]string{}}
	for _, topic := range []string{"orders-eu", "orders-us", "orders-eur", "orders-e1", "old-orders-eu"} {
		createTopic(t, adm, topic, memberPartitions)
	}
	for _, topic := range []string{"orders-eur", "orders-e1", "old-orders-eu"} {
		g.produce(topic, 30)
		delete(g.want, topic) // It does not match.
	}
	members := []*member{g.join(), g.join(), g.join()}
	g.until("each member to own two partitions", func() bool { return owns(members) == "2 2 2" })

	g.produce("orders-eu", 1500)
	g.produce("orders-us", 1500)
	g.until("a third to be taken", func() bool { return g.count() >= 1000 })
	b.Kill(t)
	b.Start(t)
	createTopic(t, adm, "orders-as", memberPartitions)
	g.produce("orders-as", 900)
	g.until("each member to own three partitions", func() bool { return owns(members) == "3 3 3" })
	g.until("all to be taken", func() bool { return g.count() >= 3900 })

	members[1].program.end(t)
	members = append(members[:1], members[2])
	g.until("the rest of the members to own all", func() bool { s := owns(members); return s == "4 5" || s == "5 4" })
	g.produce("orders-eu", 1500)
	members = append(members, g.join())
	g.until("some more to be taken", func() bool { return g.count() >= 4000 })
	b.Kill(t)
	b.Start(t)
	g.produce("orders-us", 600)
	g.until("the newcomer to own its share", func() bool { return owns(members) == "3 3 3" })
	g.until("the rest to be taken", func() bool { return g.count() >= 6000 })
	for _, m := range members {
		m.program.end(t)
	}
	g.check(adm)
}

// TestJavaPatternRefused: what Java would take for a regular expression and RE2 does
// not is refused by the broker, and the client told so.
func TestJavaPatternRefused(t *testing.T) {
	requireJava(t)
	b := newBroker(t)
	b.Start(t)
	g := &patternGroup{t: t, addr: b.Addr()}
	m := g.joinBy(`orders-(?!eu)[a-z]+`)
	m.program.wait(t, programEndsIn)
	if !m.refused() {
		t.Errorf("the member was not told that its expression is none; it wrote\n%s", m.program.stderr.String())
	}
}

// taken is a record as a member took it.
type taken struct {
	topic     string
	partition int32
	offset    int64
	value     string
}

// patternGroup is the group under test and what it should read.
type patternGroup struct {
	t    *testing.T
	addr string
	want map[string][]string // By topic, the values in the order produced.

	mu    sync.Mutex
	taken map[taken]int // How often.
	bad   []string
}

// member is one member as a process.
type member struct {
	program *program
	mu      struct {
		sync.Mutex
		partitions string // How many it owns.
		refused    bool
	}
}

func (g *patternGroup) join() *member { return g.joinBy(memberPattern) }

func (g *patternGroup) joinBy(pattern string) *member {
	g.t.Helper()
	m := &member{}
	m.program = startProgram(g.t, func(line string) { g.line(m, line) }, "Member", g.addr, memberGroup, pattern)
	return m
}

// line takes a line of a member's output.
func (g *patternGroup) line(m *member, line string) {
	what, rest, _ := strings.Cut(line, "\t")
	switch what {
	case "owns", "refused":
		m.mu.Lock()
		defer m.mu.Unlock()
		m.mu.refused = what == "refused"
		m.mu.partitions = rest
	case "record":
		g.mu.Lock()
		defer g.mu.Unlock()
		var r taken
		if _, err := fmt.Sscan(rest, &r.topic, &r.partition, &r.offset, &r.value); err != nil {
			g.bad = append(g.bad, line)
			return
		}
		g.taken[r]++
	default:
		g.mu.Lock()
		defer g.mu.Unlock()
		g.bad = append(g.bad, line)
	}
}

func (m *member) refused() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.refused
}

// owns is how many partitions each member owns.
func owns(members []*member) string {
	var all []string
	for _, m := range members {
		m.mu.Lock()
		all = append(all, m.mu.partitions)
		m.mu.Unlock()
	}
	return strings.Join(all, " ")
}

// count is how many records were taken, each counted once.
func (g *patternGroup) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.taken)
}

func (g *patternGroup) until(what string, ok func() bool) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 4*time.Minute)
	defer cancel()
	if err := until(ctx, what, ok); err != nil {
		g.t.Fatalf("%v; %d records are taken", err, g.count())
	}
}

// produce adds n values to a topic, over its partitions in turn.
func (g *patternGroup) produce(topic string, n int) {
	g.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(g.addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		g.t.Fatal(err)
	}
	defer cl.Close()
	var rs []*kgo.Record
	for range n {
		i := len(g.want[topic])
		value := topic + "/" + strconv.Itoa(i)
		g.want[topic] = append(g.want[topic], value)
		rs = append(rs, &kgo.Record{Partition: int32(i % memberPartitions), Value: []byte(value)})
	}
	if err := cl.ProduceSync(g.t.Context(), rs...).FirstErr(); err != nil {
		g.t.Fatal(err)
	}
}

// check compares what was taken with what was produced, and what is committed with
// the ends of the partitions.
func (g *patternGroup) check(adm *kadm.Client) {
	g.t.Helper()
	for _, line := range g.bad {
		g.t.Errorf("a member wrote %q", line)
	}
	total := 0
	committed, err := adm.FetchOffsets(g.t.Context(), memberGroup)
	if err != nil {
		g.t.Fatal(err)
	}
	for topic, values := range g.want {
		var ends [memberPartitions]int64
		for i, value := range values {
			total++
			p := i % memberPartitions
			r := taken{topic, int32(p), ends[p], value}
			ends[p]++
			if n := g.taken[r]; n != 1 {
				g.t.Errorf("%s was taken %d times from partition %d, offset %d", value, n, p, r.offset)
			}
		}
		for p, end := range ends {
			if o, ok := committed.Lookup(topic, int32(p)); !ok || o.At != end {
				g.t.Errorf("%s-%d: offset %d is committed, want %d", topic, p, o.At, end)
			}
		}
	}
	if len(g.taken) != total {
		g.t.Errorf("%d records were taken, want %d", len(g.taken), total)
	}
}
