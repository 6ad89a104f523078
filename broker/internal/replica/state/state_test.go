package state

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var epoch0 = time.Unix(5000, 0)

var alive = Brokers{{ID: 1, Epoch: 11}, {ID: 2, Epoch: 12}, {ID: 3, Epoch: 13}}

func testConfig() Config {
	return Config{MinISR: 1, LagTime: 30 * time.Second, Backoff: time.Second}
}

// leading returns broker 1 as leader of epoch 1 over an empty log, replicas 1 to
// n, with the given ISR.
func leading(t *testing.T, cfg Config, n int, isr ...int32) *State {
	t.Helper()
	s := New(1, cfg, &memLog{}, Log{})
	s.Step(epoch0, alive)
	var replicas []int32
	for i := range n {
		replicas = append(replicas, int32(i+1))
	}
	eff := s.Step(epoch0, Assigned{Leader: 1, LeaderEpoch: 1, PartitionEpoch: 1, Replicas: replicas, ISR: isr})
	if eff.AssignEpoch != 1 || !eff.View {
		t.Fatalf("effects of becoming leader: %+v", eff)
	}
	return s
}

func fetchOf(id int32, offset, leaderEnd int64) FollowerFetched {
	return FollowerFetched{Replica: id, BrokerEpoch: int64(10 + id), Offset: offset, LeaderEnd: leaderEnd, HasEpoch: true}
}

func TestFlushedOnlyLeaderCommitsWhatIsFlushed(t *testing.T) {
	cfg := testConfig()
	cfg.FlushedOnly = true
	s := leading(t, cfg, 1, 1)
	if eff := s.Step(epoch0, Appended{End: 5}); eff.HighWatermark != -1 || eff.Flush {
		t.Errorf("append: %+v", eff)
	}
	if eff := s.Step(epoch0, Flushed{To: 3}); eff.HighWatermark != 3 {
		t.Errorf("flushed to 3: high watermark %d", eff.HighWatermark)
	}
	// The switch back counts everything at once; forward, it asks for a flush.
	if eff := s.Step(epoch0, Tuned{testConfig()}); eff.HighWatermark != 5 {
		t.Errorf("flush.messages unset: high watermark %d", eff.HighWatermark)
	}
	s.Step(epoch0, Appended{End: 6})
	if eff := s.Step(epoch0, Tuned{cfg}); !eff.Flush {
		t.Error("flush.messages=1 set: no flush asked for")
	}
}

func TestFlushedOnlyFollowerFetchesAfterFlush(t *testing.T) {
	cfg := testConfig()
	cfg.FlushedOnly = true
	s := New(2, cfg, &memLog{}, Log{})
	s.Step(epoch0, Assigned{Leader: 1, LeaderEpoch: 1, PartitionEpoch: 1, Replicas: []int32{1, 2}, ISR: []int32{1, 2}})
	ask, ok := s.NextFetch(epoch0)
	if !ok {
		t.Fatal("nothing to fetch")
	}
	if eff := s.Step(epoch0, Fetched{Request: ask, HighWatermark: 4, Records: true}); !eff.Append {
		t.Fatalf("response with records: %+v", eff)
	}
	eff := s.Step(epoch0, Written{End: 4})
	if !eff.Flush || eff.HighWatermark != -1 {
		t.Errorf("written: %+v", eff)
	}
	if _, ok := s.NextFetch(epoch0); ok {
		t.Error("fetches before the flush: the leader would count what may be lost")
	}
	if eff := s.Step(epoch0, Flushed{To: 4}); eff.HighWatermark != 4 {
		t.Errorf("flushed: high watermark %d", eff.HighWatermark)
	}
	if next, ok := s.NextFetch(epoch0); !ok || next.Offset != 4 {
		t.Errorf("next fetch %+v %v", next, ok)
	}
}

func TestEligible(t *testing.T) {
	for name, tc := range map[string]struct {
		brokers Brokers
		epoch   int64
		want    bool
	}{
		"registered":             {alive, 12, true},
		"without a broker epoch": {alive, -1, true},
		"newer than we know":     {alive, 99, false},
		"fenced":                 {Brokers{{ID: 2, Epoch: 12, Fenced: true}}, 12, false},
		"shutting down":          {Brokers{{ID: 2, Epoch: 12, ShuttingDown: true}}, 12, false},
		"unregistered":           {Brokers{}, 12, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := leading(t, testConfig(), 2, 1)
			s.Step(epoch0, tc.brokers)
			f := fetchOf(2, 0, 0)
			f.BrokerEpoch = tc.epoch
			if eff := s.Step(epoch0, f); (eff.Propose != nil) != tc.want {
				t.Errorf("proposal %+v", eff.Propose)
			}
		})
	}
}

func TestProposalCarriesBrokerEpochs(t *testing.T) {
	s := leading(t, testConfig(), 3, 1, 3)
	eff := s.Step(epoch0, fetchOf(2, 0, 0))
	want := &Proposal{ID: 1, LeaderEpoch: 1, PartitionEpoch: 1, ISR: []Member{{1, 11}, {3, -1}, {2, 12}}}
	if diff := cmp.Diff(want, eff.Propose); diff != "" {
		t.Error(diff)
	}
	if eff := s.Step(epoch0, fetchOf(2, 0, 0)); eff.Propose != nil {
		t.Error("a second proposal while one is pending")
	}
}

func TestAnswered(t *testing.T) {
	for name, tc := range map[string]struct {
		ans     Answered
		pending bool
		isr     []int32
	}{
		"accepted":                {Answered{Proposal: 1, LeaderEpoch: 1, PartitionEpoch: 2, ISR: []int32{1, 2}}, false, []int32{1, 2}},
		"accepted, no change":     {Answered{Proposal: 1, LeaderEpoch: 1, PartitionEpoch: 1, ISR: []int32{1, 2}}, false, []int32{1, 2}},
		"of another leader epoch": {Answered{Proposal: 1, LeaderEpoch: 2, PartitionEpoch: 2, ISR: []int32{1, 2}}, true, []int32{1}},
		"older than known":        {Answered{Proposal: 1, LeaderEpoch: 1, PartitionEpoch: 0, ISR: []int32{1, 2}}, true, []int32{1}},
		"to another proposal":     {Answered{Proposal: 7, LeaderEpoch: 1, PartitionEpoch: 2, ISR: []int32{1, 2}}, true, []int32{1}},
		"reverted":                {Answered{Proposal: 1, Verdict: Reverted}, false, []int32{1}},
		"unsettled":               {Answered{Proposal: 1, Verdict: Unsettled}, true, []int32{1}},
		"unanswered":              {Answered{Proposal: 1, Verdict: Unanswered}, true, []int32{1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := leading(t, testConfig(), 2, 1)
			first := s.Step(epoch0, fetchOf(2, 0, 0)).Propose
			eff := s.Step(epoch0, tc.ans)
			if again := eff.Propose; (again != nil) != (tc.ans.Verdict == Unanswered) || again != nil && !cmp.Equal(again, first) {
				t.Errorf("proposed again: %+v", again)
			}
			if (s.pending != nil) != tc.pending || !slices.Equal(s.isr, tc.isr) {
				t.Errorf("pending %v, isr %v", s.pending, s.isr)
			}
		})
	}
}

// The answer to a proposal may tell the partition epoch before the metadata does.
// What was proposed after it, on that epoch, must survive the metadata.
func TestMetadataOfKnownEpochKeepsPending(t *testing.T) {
	s := leading(t, testConfig(), 3, 1)
	s.Step(epoch0, fetchOf(2, 0, 0))
	s.Step(epoch0, Answered{Proposal: 1, LeaderEpoch: 1, PartitionEpoch: 2, ISR: []int32{1, 2}})
	s.Step(epoch0, fetchOf(3, 0, 0))
	a := Assigned{Leader: 1, LeaderEpoch: 1, PartitionEpoch: 2, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2}}
	s.Step(epoch0, a)
	if s.pending == nil {
		t.Error("lost by metadata of the same partition epoch")
	}
	a.PartitionEpoch, a.ISR = 3, []int32{1, 2, 3}
	s.Step(epoch0, a)
	if s.pending != nil || !slices.Equal(s.isr, []int32{1, 2, 3}) {
		t.Errorf("after newer metadata: pending %v, isr %v", s.pending, s.isr)
	}
	a.PartitionEpoch, a.ISR = 2, []int32{1}
	if eff := s.Step(epoch0, a); eff.View {
		t.Error("older metadata taken")
	}
}

// A new leader whose ISR is below the minimum tells who waits for records that
// are committed, and commits nothing more.
func TestMinISRAfterAppend(t *testing.T) {
	s := leading(t, testConfig(), 2, 1)
	s.Step(epoch0, Appended{End: 2})
	cfg := testConfig()
	cfg.MinISR = 2
	s.Step(epoch0, Tuned{cfg})
	eff := s.Step(epoch0, Wait{Ticket: 1, Offset: 2})
	want := []Answer{{Ticket: 1, Err: &NotEnoughReplicasError{InSync: 1, Min: 2, Appended: true}}}
	if diff := cmp.Diff(want, eff.Answers); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Committed(2); err == nil {
		t.Error("Committed does not tell of it")
	}
	if eff := s.Step(epoch0, Appended{End: 3}); eff.HighWatermark != -1 {
		t.Errorf("high watermark %d with too few in sync", eff.HighWatermark)
	}
	if eff := s.Step(epoch0, Tuned{testConfig()}); eff.HighWatermark != 3 {
		t.Errorf("minimum lowered: high watermark %d", eff.HighWatermark)
	}
}

func TestWaitsAreAnsweredInOrder(t *testing.T) {
	s := leading(t, testConfig(), 2, 1, 2)
	s.Step(epoch0, Appended{End: 9})
	for ticket, offset := range map[Ticket]int64{1: 5, 2: 3, 3: 9, 4: 4} {
		s.Step(epoch0, Wait{Ticket: ticket, Offset: offset})
	}
	s.Step(epoch0, Forget{Ticket: 4})
	tickets := func(eff Effects) (ts []Ticket) {
		for _, a := range eff.Answers {
			ts = append(ts, a.Ticket)
		}
		return ts
	}
	if got := tickets(s.Step(epoch0, fetchOf(2, 5, 9))); !slices.Equal(got, []Ticket{2, 1}) {
		t.Errorf("at 5 answered %v", got)
	}
	eff := s.Step(epoch0, Assigned{Leader: 2, LeaderEpoch: 2, PartitionEpoch: 2, Replicas: []int32{1, 2}, ISR: []int32{1, 2}})
	var lost *NotLeaderError
	if got := tickets(eff); !slices.Equal(got, []Ticket{3}) || !errors.As(eff.Answers[0].Err, &lost) || lost.Leader != 2 {
		t.Errorf("leadership lost: %+v", eff.Answers)
	}
	if eff := s.Step(epoch0, Wait{Ticket: 5, Offset: 1}); !errors.As(eff.Answers[0].Err, &lost) {
		t.Errorf("wait at a follower: %+v", eff.Answers)
	}
}

// A follower outside of the ISR that is caught up holds the watermark back, but
// not for ever.
func TestFollowerStopsHoldingBack(t *testing.T) {
	s := leading(t, testConfig(), 2, 1)
	s.Step(epoch0, fetchOf(2, 0, 0))
	s.Step(epoch0, Answered{Proposal: 1, Verdict: Reverted})
	if eff := s.Step(epoch0, Appended{End: 1}); eff.HighWatermark != -1 {
		t.Fatalf("high watermark %d, though broker 2 may join", eff.HighWatermark)
	}
	if eff := s.Step(epoch0.Add(30*time.Second), Tick{}); eff.HighWatermark != -1 {
		t.Error("let go exactly at the limit")
	}
	if eff := s.Step(epoch0.Add(30*time.Second+1), Tick{}); eff.HighWatermark != 1 {
		t.Errorf("high watermark %d after the lag time", eff.HighWatermark)
	}
}

func TestShrinkBoundary(t *testing.T) {
	s := leading(t, testConfig(), 2, 1, 2)
	s.Step(epoch0, Appended{End: 1})
	if eff := s.Step(epoch0.Add(30*time.Second), Tick{}); eff.Propose != nil {
		t.Error("dropped exactly at the limit")
	}
	eff := s.Step(epoch0.Add(30*time.Second+1), Tick{})
	if eff.Propose == nil || !cmp.Equal(eff.Propose.ISR, []Member{{1, 11}}) {
		t.Errorf("proposal %+v", eff.Propose)
	}
}

// following returns broker 2 as follower of 1 in epoch 3, its log holding
// [start, end) of epoch 2, committed up to hw.
func following(start, hw, end int64) *State {
	l := &memLog{base: start, start: start}
	for range end - start {
		l.append(record{epoch: 2})
	}
	s := New(2, testConfig(), l, Log{Start: start, End: end, Flushed: end, HighWatermark: hw})
	s.Step(epoch0, Assigned{Leader: 1, LeaderEpoch: 3, PartitionEpoch: 7, Replicas: []int32{1, 2}, ISR: []int32{1, 2}})
	return s
}

func TestBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		bounds Bounds
		want   Truncation
		next   bool // Fetches again at once, after the truncation.
	}{
		"leader ends below us":        {Bounds{CurrentEpoch: 3, Start: 0, End: 15}, Truncation{Kind: To, Offset: 15}, true},
		"leader ends below our start": {Bounds{CurrentEpoch: 3, Start: 0, End: 5}, Truncation{Kind: Fully, Offset: 5, BelowHW: true}, true},
		"leader begins above us":      {Bounds{CurrentEpoch: 3, Start: 30, End: 40}, Truncation{Kind: Fully, Offset: 30}, true},
		"leader begins at our end":    {Bounds{CurrentEpoch: 3, Start: 20, End: 40}, Truncation{}, false},
		"not answered":                {Bounds{CurrentEpoch: 3, Failure: Later}, Truncation{}, false},
		"fenced":                      {Bounds{CurrentEpoch: 3, Failure: Fenced}, Truncation{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := following(10, 12, 20)
			ask, _ := s.NextFetch(epoch0)
			if eff := s.Step(epoch0, Fetched{Request: ask, Failure: OutOfRange}); !eff.AskBounds {
				t.Fatalf("out of range: %+v", eff)
			}
			if eff := s.Step(epoch0, Bounds{CurrentEpoch: 2, End: 1}); eff.Truncate.Kind != Keep {
				t.Fatal("answer of another epoch taken")
			}
			eff := s.Step(epoch0, tc.bounds)
			if diff := cmp.Diff(tc.want, eff.Truncate); diff != "" {
				t.Fatal(diff)
			}
			switch eff.Truncate.Kind {
			case To:
				s.Step(epoch0, Truncated{Start: 10, End: eff.Truncate.Offset})
			case Fully:
				s.Step(epoch0, Truncated{Start: eff.Truncate.Offset, End: eff.Truncate.Offset})
			}
			if _, ok := s.NextFetch(epoch0); ok != tc.next {
				t.Errorf("fetches at once: %v", ok)
			}
			if _, ok := s.NextFetch(epoch0.Add(time.Second)); ok != (tc.bounds.Failure != Fenced) {
				t.Errorf("fetches after the pause: %v", ok)
			}
		})
	}
}

// A log without epochs, of a foreign broker, cannot be compared: only what is
// committed stays.
func TestNoEpochsTruncatesToHighWatermark(t *testing.T) {
	s := New(2, testConfig(), &memLog{}, Log{End: 9, HighWatermark: 4})
	eff := s.Step(epoch0, Assigned{Leader: 1, LeaderEpoch: 1, PartitionEpoch: 1, Replicas: []int32{1, 2}, ISR: []int32{1}})
	if want := (Truncation{Kind: To, Offset: 4}); eff.Truncate != want {
		t.Errorf("truncation %+v", eff.Truncate)
	}
}

func TestFollowerTakesStartOnlyBelowWatermark(t *testing.T) {
	s := following(0, 0, 5)
	ask, _ := s.NextFetch(epoch0)
	if eff := s.Step(epoch0, Fetched{Request: ask, HighWatermark: 2, LogStart: 3}); eff.AdvanceStart != -1 || eff.HighWatermark != 2 {
		t.Errorf("start 3 at watermark 2: %+v", eff)
	}
	if eff := s.Step(epoch0, Fetched{Request: ask, HighWatermark: 3, LogStart: 3}); eff.AdvanceStart != 3 {
		t.Errorf("start 3 at watermark 3: %+v", eff)
	}
}

func TestFetchFailures(t *testing.T) {
	s := following(0, 0, 5)
	ask, _ := s.NextFetch(epoch0)
	s.Step(epoch0, Fetched{Request: ask, Failure: Later})
	if _, ok := s.NextFetch(epoch0.Add(time.Second - 1)); ok || !s.NotBefore().Equal(epoch0.Add(time.Second)) {
		t.Error("no pause after a failure")
	}
	now := epoch0.Add(time.Second)
	s.Step(now, Fetched{Request: ask, Records: true})
	s.Step(now, WriteFailed{End: 5, Corrupt: true})
	now = now.Add(time.Second)
	if _, ok := s.NextFetch(now); !ok {
		t.Error("corrupt records are not fetched again")
	}
	s.Step(now, Fetched{Request: ask, Failure: Fenced})
	if _, ok := s.NextFetch(now.Add(time.Hour)); ok {
		t.Error("fetches on, though fenced")
	}
	s.Step(now, Assigned{Leader: 1, LeaderEpoch: 4, PartitionEpoch: 8, Replicas: []int32{1, 2}, ISR: []int32{1, 2}})
	if f, ok := s.NextFetch(now); !ok || f.CurrentEpoch != 4 {
		t.Error("does not fetch in the new epoch")
	}
}

func TestCompare(t *testing.T) {
	// Epoch 1 at 0, 3 at 10, 5 at 20; the log ends at 30.
	l := &memLog{records: make([]record, 30), epochs: []EpochEnd{{1, 0}, {3, 10}, {5, 20}}}
	for name, tc := range map[string]struct {
		last      int32
		offset    int64
		start     int64
		diverging *EpochEnd
		ok        bool
	}{
		"same epoch, inside":       {3, 15, 0, nil, true},
		"same epoch, at its end":   {3, 20, 0, nil, true},
		"same epoch, past its end": {3, 21, 0, &EpochEnd{3, 20}, true},
		"newest, at the end":       {5, 30, 0, nil, true},
		"newest, past the end":     {5, 31, 0, &EpochEnd{5, 30}, true},
		"an epoch we never had":    {4, 15, 0, &EpochEnd{3, 20}, true},
		"newer than any":           {6, 30, 0, nil, false},
		"older than any":           {0, 0, 0, nil, true},
		"below the start":          {4, 5, 8, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, ok := Compare(l, tc.last, tc.offset, tc.start)
			if diff := cmp.Diff(tc.diverging, d); diff != "" {
				t.Error(diff)
			}
			if ok != tc.ok {
				t.Errorf("in range %v, want %v", ok, tc.ok)
			}
		})
	}
}

func TestViewChecks(t *testing.T) {
	v := leading(t, testConfig(), 2, 1).View()
	var e *EpochError
	if err := v.CheckEpoch(0); !errors.As(err, &e) || !e.Fenced() {
		t.Error("older epoch:", err)
	}
	if err := v.CheckEpoch(2); !errors.As(err, &e) || e.Fenced() {
		t.Error("newer epoch:", err)
	}
	if v.CheckEpoch(1) != nil || v.CheckEpoch(-1) != nil || v.CheckLeader() != nil || v.CheckReplica(2, true) != nil {
		t.Error("a good request is refused")
	}
	if v.CheckReplica(3, true) == nil || v.CheckReplica(1, true) == nil {
		t.Error("a stranger, or the leader itself, may fetch as a follower")
	}
	if following(0, 0, 1).View().CheckLeader() == nil {
		t.Error("a follower takes itself for the leader")
	}
}

// The hot path costs no allocation.
func TestAppendedDoesNotAllocate(t *testing.T) {
	s := leading(t, testConfig(), 2, 1, 2)
	end := int64(1000) // Small integers would not be put on the heap anyway.
	if n := testing.AllocsPerRun(100, func() {
		end++
		s.Step(epoch0, Appended{End: end})
		s.Step(epoch0, fetchOf(2, end, end))
		s.Committed(end)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppendedThreeReplicas(b *testing.B) {
	s := New(1, testConfig(), &memLog{}, Log{})
	s.Step(epoch0, alive)
	s.Step(epoch0, Assigned{Leader: 1, LeaderEpoch: 1, PartitionEpoch: 1, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2, 3}})
	b.ReportAllocs()
	var end int64
	for b.Loop() {
		end++
		s.Step(epoch0, Appended{End: end})
		s.Step(epoch0, fetchOf(2, end, end))
		s.Step(epoch0, fetchOf(3, end, end))
	}
}
