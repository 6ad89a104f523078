package state

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the scripts under testdata with what they print now")

// TestScripts plays the histories under testdata. A script's commands stand at
// the beginning of a line, what they print is indented below. Each is played
// twice and must print the same.
//
//	cluster N [min M] [flushed]  N brokers A, B, ...; the partition has no leader yet
//	elect A [ABC]                the controller makes A the leader, with that ISR; all hear of it
//	publish                      what the controller knows is told again
//	cut A / mend A               A does not hear the controller / hears it again
//	produce A x y [acks=1]       x, y are appended at A
//	fetch B                      B fetches once: request, answer, and what follows
//	ask B / serve / take         the same in three steps
//	batch N                      a fetch returns at most N records
//	commit A / lose A            the controller answers A's proposal / the answer is lost
//	wait 31s                     time passes, and every leader ticks
//	crash A [N] / start A        A stops, losing its last N records / comes back
//	checkpoint A                 A's high watermark is written down
//	delete A N                   DeleteRecords up to N at A, waiting for the others
//	fence B                      the controller fences B
//	state                        logs, watermarks and roles
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts:", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := playScript(string(want))
			if again := playScript(string(want)); got != again {
				t.Errorf("played again, it prints otherwise:\n%s", cmp.Diff(got, again))
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("-want +got:\n%s", cmp.Diff(string(want), got))
			}
		})
	}
}

type player struct {
	c    *cluster
	out  bytes.Buffer
	asks []request
	got  []response
}

func playScript(script string) string {
	p := &player{}
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue
		}
		p.out.WriteString(line + "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		p.play(strings.Fields(line))
	}
	return p.out.String()
}

func (p *player) print(format string, args ...any) { fmt.Fprintf(&p.out, "  "+format+"\n", args...) }

func (p *player) play(words []string) {
	cmd, args := words[0], words[1:]
	if cmd == "cluster" {
		p.cluster(args)
		return
	}
	c := p.c
	one := func() *member { return c.members[args[0][0]-'A'] }
	num := func(i int) int {
		if i >= len(args) {
			return 0
		}
		n, err := strconv.Atoi(args[i])
		if err != nil {
			panic(err)
		}
		return n
	}
	switch cmd {
	case "elect":
		isr := c.part.ISR
		if len(args) > 1 {
			isr = ids(args[1])
		}
		c.change(one().id, isr)
		c.publish()
	case "publish":
		c.publish()
	case "cut":
		one().cut = true
	case "mend":
		one().cut = false
		c.publish()
	case "produce":
		p.produce(one(), args[1:])
	case "fetch":
		c.fetch(one())
	case "ask":
		if q, ok := c.ask(one()); ok {
			p.asks = append(p.asks, q)
			p.print("%s: ask %s for %d in epoch %d, last epoch %d", one().name(), c.member(q.Leader).name(), q.Offset, q.CurrentEpoch, q.LastEpoch)
		}
	case "serve":
		p.got = append(p.got, c.serve(p.asks[0]))
		p.asks = p.asks[1:]
	case "take":
		c.take(p.got[0])
		p.got = p.got[1:]
	case "batch":
		c.batch = num(0)
	case "commit":
		c.settle(one())
	case "lose":
		id := one().proposal.ID
		one().proposal = nil
		c.step(one(), Answered{Proposal: id, Verdict: Unanswered})
	case "wait":
		p.wait(args[0])
	case "crash":
		c.crash(one(), num(1))
	case "start":
		c.start(one())
		c.publish()
	case "checkpoint":
		one().savedHW = one().log.hw
	case "delete":
		p.deleteRecords(one(), int64(num(1)))
	case "fence":
		c.setBroker(one().id, Broker{Epoch: one().brokerEpoch, Fenced: true})
		c.publish()
	case "state":
		p.printState()
	default:
		panic("unknown command " + cmd)
	}
}

func (p *player) cluster(args []string) {
	n, _ := strconv.Atoi(args[0])
	cfg := Config{MinISR: 1, LagTime: 30 * time.Second, Backoff: time.Second, FlushedOnly: slices.Contains(args, "flushed")}
	if i := slices.Index(args, "min"); i > 0 {
		cfg.MinISR, _ = strconv.Atoi(args[i+1])
	}
	p.c, p.asks, p.got = newCluster(n, cfg), nil, nil
	p.c.trace = p.print
}

func (p *player) produce(m *member, values []string) {
	all := !slices.Contains(values, "acks=1")
	for _, v := range values {
		if v == "acks=1" {
			continue
		}
		if err := p.c.produce(m, v, all); err != nil {
			p.print("%s: %s refused: %v", m.name(), v, err)
		}
	}
}

func (p *player) wait(d string) {
	took, err := time.ParseDuration(d)
	if err != nil {
		panic(err)
	}
	p.c.now = p.c.now.Add(took)
	for _, m := range p.c.members {
		if m.state != nil {
			p.c.step(m, Tick{})
		}
	}
}

func (p *player) deleteRecords(m *member, to int64) {
	m.log.advanceStart(to)
	p.c.step(m, Started{Start: to})
	p.c.tickets++
	m.tickets[p.c.tickets] = ""
	p.c.step(m, WaitLow{Ticket: p.c.tickets, Offset: to})
}

func (p *player) printState() {
	c := p.c
	leader := "nobody"
	if c.part.Leader > 0 {
		leader = c.member(c.part.Leader).name()
	}
	p.print("controller: leader %s epoch %d isr %s", leader, c.part.LeaderEpoch, names(c.part.ISR))
	for _, m := range c.members {
		switch {
		case m.state == nil:
			p.print("%s down %v", m.name(), &m.log)
		case m.state.Role() == Leader:
			p.print("%s leader epoch %d hw %d %v isr %s", m.name(), m.view.LeaderEpoch, m.log.hw, &m.log, names(m.state.isr))
		default:
			p.print("%s %s hw %d %v", m.name(), m.state.Role(), m.log.hw, &m.log)
		}
	}
}

func ids(names string) []int32 {
	var ids []int32
	for _, r := range names {
		ids = append(ids, r-'A'+1)
	}
	return ids
}
