package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// The simulation of package state, once more with real logs: three brokers
// replicate a partition through kills, power cuts and elections, and what was
// acknowledged is still there. It finds what is wrong between a state, its log and
// the disk.

type simulation struct {
	*cluster
	rng     *rand.Rand
	ctl     *controller.Replica // As the controller sees it.
	down    [4]bool             // By node.
	values  int
	acked   map[int64]string // By offset.
	exposed map[int64]string // What was ever below a high watermark.
	waiting map[int64]string // Appended, and not acknowledged yet; at the leader of epoch.
	epoch   int32
	power   bool // Power cuts happen: then flush.messages is 1.
	kills   int
}

func newSimulation(t testing.TB, seed uint64, power bool) *simulation {
	s := &simulation{
		cluster: newCluster(t, 3), rng: rand.New(rand.NewPCG(seed, 5)), ctl: controller.NewReplica("cluster", nil),
		acked: map[int64]string{}, exposed: map[int64]string{}, waiting: map[int64]string{}, power: power,
	}
	for _, h := range s.homes {
		cfg := defaults()
		cfg.MinISR = 2
		cfg.Log.SegmentBytes = 700
		if power {
			cfg.Log.FlushMessages = 1
		}
		h.cfg["t"] = cfg
	}
	s.create()
	return s
}

// part is the partition as the controller has it.
func (s *simulation) part() *controller.Partition {
	for i := s.applied(); i < len(s.log); i++ {
		if err := s.ctl.Replay(coordinator.At{Offset: int64(i)}, s.log[i]); err != nil {
			s.t.Fatal(err)
		}
	}
	im, _ := s.ctl.Image(int64(len(s.log)), 1, 1)
	s.offset = int64(len(s.log))
	p, ok := im.Partition("t", 0)
	if !ok {
		s.t.Fatal("no partition")
	}
	return p
}

func (s *simulation) applied() int { return int(s.offset) }

// change is a decision of the controller that nobody has heard of yet. It works on
// the assumption that s.part was asked before.
func (s *simulation) change(leader int32, isr []int32) {
	r := metadata.NewPartitionChange(id1, 0)
	r.Leader, r.ISR = leader, isr
	s.commitTo(nil, r)
}

func (s *simulation) hear(h *home) {
	if !s.down[h.node] {
		if err := h.m.Apply(h.image(), h.topicConfig); err != nil {
			s.t.Fatal(err)
		}
	}
}

// stop kills a broker; with power, what its disk had not synced may be gone.
func (s *simulation) stop(h *home) {
	s.down[h.node] = true
	s.kills++
	h.asked = nil
	if err := h.m.Abandon(); err != nil {
		s.t.Fatal(err)
	}
	if s.power {
		modes := vfs.CrashModes()
		h.mem = h.mem.Crash(s.rng, modes[s.rng.IntN(len(modes))])
		h.fault = vfs.NewFault(h.mem)
	}
	p := s.part()
	isr := slices.DeleteFunc(slices.Clone(p.ISR), func(id int32) bool { return id == h.node && len(p.ISR) > 1 })
	leader := metadata.LeaderAsBefore
	if p.Leader == h.node {
		leader = metadata.NoLeader
		for _, id := range isr {
			if !s.down[id] {
				leader = id
			}
		}
	}
	s.change(leader, isr)
}

// revive starts a broker again; it leads if nobody else can.
func (s *simulation) revive(h *home) {
	p := s.part()
	if p.Leader < 0 && slices.Contains(p.ISR, h.node) {
		s.change(h.node, p.ISR)
	}
	s.down[h.node] = false
	h.start()
}

// settle answers a proposal as the controller does, or loses the answer.
func (s *simulation) settle(h *home) {
	if len(h.asked) == 0 {
		return
	}
	q := h.asked[len(h.asked)-1]
	h.asked = nil
	p := s.part()
	ans := state.Answered{Proposal: q.ID, Verdict: state.Unsettled}
	var isr []int32
	dead := false
	for _, m := range q.ISR {
		isr = append(isr, m.ID)
		dead = dead || s.down[m.ID]
	}
	switch {
	case q.LeaderEpoch != p.LeaderEpoch || q.PartitionEpoch != p.PartitionEpoch || p.Leader != h.node:
	case dead:
		ans.Verdict = state.Reverted
	default:
		s.change(metadata.LeaderAsBefore, isr)
		p = s.part()
		ans.Verdict, ans.LeaderEpoch, ans.PartitionEpoch, ans.ISR = state.Accepted, p.LeaderEpoch, p.PartitionEpoch, p.ISR
	}
	if s.rng.IntN(10) > 0 {
		h.partition().Answered(time.Now(), ans)
	}
}

func (s *simulation) produce(h *home) {
	p := h.partition()
	s.values++
	v := fmt.Sprintf("v%d", s.values)
	a, err := p.Produce(time.Now(), values(v), ProduceOptions{Acks: AcksAll})
	if err != nil {
		return
	}
	if e := p.View().LeaderEpoch; e != s.epoch {
		s.epoch, s.waiting = e, map[int64]string{} // What waits elsewhere is forgotten.
	}
	s.waiting[a.Base] = v
}

// acknowledge asks the leader of the last produce what is committed.
func (s *simulation) acknowledge() {
	for _, h := range s.homes {
		if s.down[h.node] || h.partition().View().LeaderEpoch != s.epoch || h.partition().View().Role != state.Leader {
			continue
		}
		for offset, v := range s.waiting {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if h.partition().WaitCommitted(ctx, offset+1) == nil {
				s.acked[offset] = v
				delete(s.waiting, offset)
			}
		}
	}
}

func (s *simulation) step() error {
	h := s.homes[s.rng.IntN(3)]
	other := s.homes[(int(h.node)+s.rng.IntN(2))%3] // Any but h.
	switch n := s.rng.IntN(100); {
	case s.down[h.node]:
		if n < 40 {
			s.revive(h)
		}
	case n < 20:
		s.produce(h)
	case n < 70:
		if leader := h.partition().View().Leader; leader > 0 && leader != h.node && !s.down[leader] {
			pump(s.t, s.homes[leader-1], h)
		}
	case n < 85:
		s.hear(h)
	case n < 92:
		s.settle(h)
	case n < 94:
		h.partition().step(time.Now().Add(time.Minute), state.Tick{})
	case n < 96:
		if p := s.part(); slices.Contains(p.ISR, other.node) && !s.down[other.node] {
			s.change(other.node, p.ISR)
		}
	case n < 97:
		if err := h.store.Maintain(time.Now().Add(time.Duration(s.rng.IntN(20)) * time.Second)); err != nil {
			return err
		}
	case n < 99:
		time.Sleep(time.Second)
	default:
		s.stop(h)
	}
	s.acknowledge()
	if s.rng.IntN(4) > 0 {
		return nil
	}
	return s.check()
}

// check: what is below a high watermark never changes, and the controller's leader
// has all that was acknowledged.
func (s *simulation) check() error {
	for _, h := range s.homes {
		if s.down[h.node] {
			continue
		}
		p := h.partition()
		if err := p.Err(); err != nil {
			return err
		}
		held := s.held(p)
		for offset := range p.HighWatermark() {
			if was, ok := s.exposed[offset]; ok && was != held[offset] {
				return fmt.Errorf("broker %d has %q at %d, %q was committed there", h.node, held[offset], offset, was)
			}
			s.exposed[offset] = held[offset]
		}
		if s.part().Leader != h.node {
			continue
		}
		for offset, v := range s.acked {
			if offset >= int64(len(held)) || held[offset] != v {
				return fmt.Errorf("leader %d lacks %q, acknowledged at %d: %q", h.node, v, offset, held)
			}
		}
	}
	return nil
}

// held are the values of a log by offset.
func (s *simulation) held(p *Partition) (out []string) {
	for b, err := range p.log.Batches(0, p.End()) {
		if err != nil {
			s.t.Fatal(err)
		}
		it := b.Records(1 << 20)
		for it.Next() {
			out = append(out, string(it.Record().Value))
		}
		it.Close()
	}
	return out
}

// heal ends all faults.
func (s *simulation) heal() error {
	for range 2 { // The last of the ISR may have to come back first.
		for _, h := range s.homes {
			if s.down[h.node] {
				s.revive(h)
			}
		}
	}
	for range 20 {
		for _, h := range s.homes {
			s.hear(h)
			s.settle(h)
			if leader := h.partition().View().Leader; leader > 0 && leader != h.node {
				pump(s.t, s.homes[leader-1], h)
			}
		}
		time.Sleep(1100 * time.Millisecond)
		s.acknowledge()
	}
	if err := s.check(); err != nil {
		return err
	}
	p := s.part()
	want := s.held(s.homes[p.Leader-1].partition())
	for _, h := range s.homes {
		if got := s.held(h.partition()); !slices.Equal(got, want) || h.partition().HighWatermark() != int64(len(want)) {
			return fmt.Errorf("broker %d holds %q up to %d, the leader %q", h.node, got, h.partition().HighWatermark(), want)
		}
	}
	if len(p.ISR) != 3 {
		return errors.New("not all are in sync")
	}
	return nil
}

func TestSimulation(t *testing.T) {
	acked, kills := 0, 0
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulation(t, seed, seed%2 == 1)
				for i := range 600 {
					if err := s.step(); err != nil {
						t.Fatalf("step %d: %v", i, err)
					}
				}
				if err := s.heal(); err != nil {
					t.Fatalf("after healing: %v", err)
				}
				acked += len(s.acked)
				kills += s.kills
			})
		})
	}
	t.Logf("%d acknowledged, %d kills", acked, kills)
	if acked < 80 || kills < 20 {
		t.Errorf("%d acknowledged, %d kills: nothing was tried", acked, kills)
	}
}
