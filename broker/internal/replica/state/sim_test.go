package state

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// op is one thing that happens in a simulated run. A run is a list of them, so
// that a failing one can be shortened and kept.
type op struct {
	Kind opKind
	Who  int // A member, or which of the messages on their way.
	N    int // How much.
}

type opKind int

const (
	opProduce   opKind = iota // Who appends, if it takes itself for the leader.
	opAsk                     // Who sends a fetch.
	opServe                   // A request arrives, maybe late, maybe for a second time.
	opTake                    // A response arrives.
	opDrop                    // A message is lost.
	opTime                    // Time passes for N tenths of a second.
	opPublish                 // Who hears what the controller knows.
	opSettle                  // The controller answers Who's proposal.
	opForgetISR               // That answer is lost.
	opKill                    // kill -9 of Who: nothing written is lost.
	opPower                   // Who loses power, and what it had not flushed.
	opStart                   // Who comes back.
	opElect                   // The controller moves the leadership to Who.
	opDelete                  // DeleteRecords at Who.
	opBounds                  // Who learns of the leader's offsets.
	opSave                    // Who writes down its high watermark.
	opKinds
)

// Much more is done than broken: else nothing is ever committed.
var weights = [opKinds]int{
	opProduce: 16, opAsk: 40, opServe: 40, opTake: 40, opDrop: 1, opTime: 8, opPublish: 40,
	opSettle: 20, opForgetISR: 1, opKill: 2, opPower: 1, opStart: 16, opElect: 2, opDelete: 1, opBounds: 8, opSave: 3,
}

// bag holds each kind as often as it weighs.
var bag = func() (bag []opKind) {
	for k, w := range weights {
		for range w {
			bag = append(bag, opKind(k))
		}
	}
	return bag
}()

// simulation runs ops on three replicas and checks the invariants of semantics
// B.9 after each.
type simulation struct {
	*cluster
	asks    []request
	answers []response
	damaged int32              // Who lost records and is not back in the ISR; 0.
	exposed map[int64]record   // Everything ever below a high watermark.
	top     map[[2]int32]int64 // High watermark by member and leader epoch.
	starts  map[int32]int64
	values  int
}

func newSimulation(flushedOnly bool) *simulation {
	cfg := Config{MinISR: 2, LagTime: 10 * time.Second, Backoff: 500 * time.Millisecond, FlushedOnly: flushedOnly}
	s := &simulation{
		cluster: newCluster(3, cfg),
		exposed: map[int64]record{}, top: map[[2]int32]int64{}, starts: map[int32]int64{},
	}
	s.batch = 3
	s.elect(1)
	s.publish()
	return s
}

func (s *simulation) run(o op) error {
	m := s.members[o.Who%3]
	up := m.state != nil
	switch {
	case o.Kind == opTime:
		s.now = s.now.Add(time.Duration(o.N) * 100 * time.Millisecond)
		for _, m := range s.members {
			if m.state != nil {
				s.step(m, Tick{})
			}
		}
	case o.Kind == opServe && len(s.asks) > 0:
		i := o.Who % len(s.asks)
		q := s.asks[i]
		if o.N%8 != 0 { // Else it will come again, as from a connection thought dead.
			s.asks = slices.Delete(s.asks, i, i+1)
		}
		s.answers = append(s.answers, s.serve(q))
	case o.Kind == opTake && len(s.answers) > 0:
		i := o.Who % len(s.answers)
		r := s.answers[i]
		s.answers = slices.Delete(s.answers, i, i+1)
		s.take(r)
	case o.Kind == opDrop && len(s.answers) > 0:
		s.answers = s.answers[1:]
	case o.Kind == opStart && !up:
		s.comeBack(m, o.N)
	case !up:
	case o.Kind == opProduce:
		s.values++
		_ = s.produce(m, fmt.Sprint("v", s.values), o.N%3 != 0)
	case o.Kind == opAsk:
		if q, ok := s.ask(m); ok && len(s.asks) < 20 {
			s.asks = append(s.asks, q)
		}
	case o.Kind == opPublish:
		s.step(m, s.brokers)
		s.step(m, s.part)
	case o.Kind == opSettle && m.proposal != nil:
		before := len(s.part.ISR)
		if s.settle(m) == Accepted {
			s.sometime[map[bool]string{true: "expand", false: "shrink"}[len(s.part.ISR) > before]]++
		}
		if slices.Contains(s.part.ISR, s.damaged) {
			s.damaged = 0
		}
	case o.Kind == opForgetISR && m.proposal != nil:
		id := m.proposal.ID
		m.proposal = nil
		s.step(m, Answered{Proposal: id, Verdict: Unanswered})
	case o.Kind == opKill:
		s.crash(m, 0)
		if o.N%2 == 0 {
			s.fence(m)
		}
	case o.Kind == opPower:
		s.powerLoss(m, o.N)
	case o.Kind == opElect && slices.Contains(s.part.ISR, m.id):
		s.elect(m.id)
	case o.Kind == opDelete && m.state.Role() == Leader && m.view.LeaderEpoch == s.part.LeaderEpoch:
		if to := m.log.start + int64(o.N%4); to <= m.log.hw {
			m.log.advanceStart(max(to, m.log.start))
			s.step(m, Started{Start: m.log.start})
		}
	case o.Kind == opBounds && m.asked:
		s.bounds(m)
	case o.Kind == opSave:
		m.savedHW = m.log.hw
	}
	return s.check()
}

// elect is any election: the leader epoch goes up even if the leader stays.
func (s *simulation) elect(id int32) {
	s.part.Leader = -2
	s.change(id, s.part.ISR)
}

// fence takes a broker out: of the leadership, and of the ISR unless it is the
// last in it.
func (s *simulation) fence(m *member) {
	s.setBroker(m.id, Broker{Epoch: m.brokerEpoch, Fenced: true})
	isr := slices.Clone(s.part.ISR)
	if i := slices.Index(isr, m.id); i >= 0 && len(isr) > 1 {
		isr = slices.Delete(isr, i, i+1)
	}
	leader := s.part.Leader
	if leader == m.id {
		leader = -1
		for _, id := range isr {
			if !s.broker(id).Fenced {
				leader = id
				break
			}
		}
	}
	s.change(leader, isr)
}

// powerLoss is only survived by records that another machine has: it comes when
// another replica in the ISR is up and nobody else has lost records.
func (s *simulation) powerLoss(m *member, lose int) {
	others := slices.ContainsFunc(s.part.ISR, func(id int32) bool {
		return id != m.id && s.member(id).state != nil
	})
	if s.damaged != 0 || !others {
		return
	}
	s.crash(m, lose)
	s.fence(m)
	s.damaged = m.id
	s.sometime["power loss"]++
}

func (s *simulation) comeBack(m *member, n int) {
	if s.part.Leader == m.id || n%2 == 0 && slices.Contains(s.part.ISR, m.id) {
		s.fence(m) // A new incarnation ends the session of the old one.
	}
	s.start(m)
	if s.part.Leader < 0 && slices.Contains(s.part.ISR, m.id) {
		s.elect(m.id)
	}
}

func (s *simulation) check() error {
	for _, m := range s.members {
		if err := s.checkMember(m); err != nil {
			return err
		}
		for _, o := range s.members[:m.id-1] {
			if err := checkMatching(m, o); err != nil {
				return err
			}
		}
	}
	return s.checkLeader()
}

// checkMember: what was ever below a high watermark stays as it is (I3, I9), and
// watermark and log start only rise while a replica lives (I3, I7).
func (s *simulation) checkMember(m *member) error {
	if m.log.start > m.log.end() || m.log.start < s.starts[m.id] {
		return fmt.Errorf("%s: log start %d was %d, end %d", m.name(), m.log.start, s.starts[m.id], m.log.end())
	}
	s.starts[m.id] = m.log.start
	if m.state == nil {
		return nil
	}
	if m.log.hw != m.state.HighWatermark() || m.log.end() != m.state.End() {
		return fmt.Errorf("%s: log %d %d, state %d %d", m.name(), m.log.hw, m.log.end(), m.state.HighWatermark(), m.state.End())
	}
	if m.view != nil {
		key := [2]int32{int32(m.brokerEpoch), m.view.LeaderEpoch}
		if m.log.hw < s.top[key] {
			return fmt.Errorf("%s: high watermark fell from %d to %d in epoch %d", m.name(), s.top[key], m.log.hw, m.view.LeaderEpoch)
		}
		s.top[key] = m.log.hw
	}
	for o := m.log.start; o < m.log.hw; o++ {
		r := m.log.records[o-m.log.base]
		if was, ok := s.exposed[o]; ok && was != r {
			return fmt.Errorf("%s: offset %d is %v, was exposed as %v", m.name(), o, r, was)
		}
		s.exposed[o] = r
	}
	return nil
}

// checkMatching: logs that have the same epoch at an offset are the same up to
// there (I1), which two leaders in one epoch would break too (I5).
func checkMatching(a, b *member) error {
	from := max(a.log.start, b.log.start)
	same := false
	for o := min(a.log.end(), b.log.end()) - 1; o >= from; o-- {
		x, y := a.log.records[o-a.log.base], b.log.records[o-b.log.base]
		same = same || x.epoch == y.epoch
		if same && x != y {
			return fmt.Errorf("%s has %v at %d, %s has %v, and they match above", a.name(), x, o, b.name(), y)
		}
	}
	return nil
}

// checkLeader: the leader has everything acknowledged (I2), and each replica in
// the controller's ISR has everything below its high watermark (I3).
func (s *simulation) checkLeader() error {
	if s.part.Leader < 0 {
		return nil
	}
	l := s.member(s.part.Leader)
	for value, at := range s.acked {
		if at < l.log.start {
			continue
		}
		if at >= l.log.end() || l.log.records[at-l.log.base].value != value {
			return fmt.Errorf("%s, leader of epoch %d, lacks %s, acknowledged at %d", l.name(), s.part.LeaderEpoch, value, at)
		}
	}
	if l.state == nil || l.view == nil || l.view.LeaderEpoch != s.part.LeaderEpoch {
		return nil
	}
	for _, id := range s.part.ISR {
		if m := s.member(id); m.log.end() < l.log.hw {
			return fmt.Errorf("high watermark is %d, but %s in the ISR ends at %d", l.log.hw, m.name(), m.log.end())
		}
	}
	return nil
}

// heal ends all faults; soon every replica must be in sync with the same log.
func (s *simulation) heal() error {
	s.asks, s.answers = nil, nil
	for range 3 { // The last of the ISR may have to come back first.
		for _, m := range s.members {
			if m.state == nil {
				s.comeBack(m, 1)
			}
		}
	}
	if s.part.Leader < 0 {
		return fmt.Errorf("no leader, isr %s", names(s.part.ISR))
	}
	for range 60 {
		s.now = s.now.Add(600 * time.Millisecond)
		s.publish()
		for _, m := range s.members {
			s.step(m, Tick{})
			if m.proposal != nil {
				s.settle(m)
			}
			s.fetch(m)
			if err := s.check(); err != nil {
				return err
			}
		}
	}
	l := s.member(s.part.Leader)
	if err := s.produce(l, "last", true); err != nil {
		return err
	}
	for range 4 {
		for _, m := range s.members {
			s.fetch(m)
		}
	}
	if _, ok := s.acked["last"]; !ok || len(s.part.ISR) != 3 {
		return fmt.Errorf("after healing: isr %s, last acknowledged: %v", names(s.part.ISR), ok)
	}
	for _, m := range s.members {
		if m.log.end() != l.log.end() || m.log.hw != l.log.end() || m.log.start < l.log.start {
			return fmt.Errorf("after healing %s is %v, %s is %v", l.name(), &l.log, m.name(), &m.log)
		}
	}
	return nil
}

func simulate(ops []op, flushedOnly bool) (*simulation, error) {
	s := newSimulation(flushedOnly)
	var lost string
	s.trace = func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); len(line) > 3 && line[3:] == "COMMITTED RECORDS LOST" {
			lost = line
		}
	}
	for i, o := range ops {
		if err := s.run(o); err != nil {
			return s, fmt.Errorf("op %d %+v: %w", i, o, err)
		}
		if lost != "" {
			return s, fmt.Errorf("op %d %+v: %s", i, o, lost)
		}
	}
	return s, s.heal()
}

// TestSimulation throws random faults at three replicas. A failure is shortened
// by rapid, which prints how to repeat it.
func TestSimulation(t *testing.T) {
	gen := rapid.Custom(func(t *rapid.T) op {
		return op{
			Kind: rapid.SampledFrom(bag).Draw(t, "kind"),
			Who:  rapid.IntRange(0, 11).Draw(t, "who"),
			N:    rapid.IntRange(0, 40).Draw(t, "n"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		ops := rapid.SliceOfN(gen, 1, 300).Draw(t, "ops")
		if _, err := simulate(ops, rapid.Bool().Draw(t, "flushed")); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSimulationReaches runs long histories from fixed seeds: each must hold, and
// together they must reach the rare branches, or the simulation shows little.
func TestSimulationReaches(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 0))
		ops := make([]op, 2000)
		for i := range ops {
			ops[i] = op{bag[rng.IntN(len(bag))], rng.IntN(12), rng.IntN(41)}
		}
		s, err := simulate(ops, seed%2 == 1)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for k, n := range s.sometime {
			seen[k] += n
		}
		seen["acknowledged"] += len(s.acked)
	}
	for _, want := range []string{"acknowledged", "diverging", "truncate", "truncate fully", "bounds", "expand", "shrink", "power loss"} {
		if seen[want] == 0 {
			t.Errorf("never happened: %s", want)
		}
	}
	t.Log(seen)
}
