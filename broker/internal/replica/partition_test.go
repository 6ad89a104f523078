package replica

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

func TestProduceToASingleReplica(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	a, err := p.Produce(time.Now(), values("a", "b"), ProduceOptions{Acks: AcksAll})
	if diff := cmp.Diff(Appended{Base: 0, Last: 1, AppendTimeMs: -1}, a); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	// It is committed at once: nobody else is needed.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.WaitCommitted(ctx, a.Last+1); err != nil {
		t.Error(err)
	}
	if err := p.WaitCommitted(ctx, a.Last+2); !errors.Is(err, context.Canceled) {
		t.Error("committed beyond the end:", err)
	}
}

func TestProduceDuplicate(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	meta := batch.Plain(0, -1)
	meta.ProducerID, meta.ProducerEpoch, meta.BaseSequence = 7, 0, 0
	send := func() batch.Batch {
		b := batch.NewBuilder(meta)
		b.Append(time.Now().UnixMilli(), nil, []byte("once"))
		return b.Build()
	}
	first := send()
	again := append(batch.Batch(nil), first...)
	mustProduce(t, p, "before")
	if _, err := p.Produce(time.Now(), first, ProduceOptions{}); err != nil {
		t.Fatal(err)
	}
	a, err := p.Produce(time.Now(), again, ProduceOptions{})
	if err != nil || !a.Duplicate || a.Base != 1 || a.AppendTimeMs != first.MaxTimestamp() {
		t.Errorf("%+v, %v", a, err)
	}
	if got := contents(t, p, 0, Uncommitted); got != "before once" {
		t.Errorf("log holds %q", got)
	}
	if entries := p.Producers(); len(entries) != 1 || entries[0].ProducerID != 7 {
		t.Errorf("producers %+v", entries)
	}
}

func TestProduceIsAdmitted(t *testing.T) {
	h := one(t)
	cfg := defaults()
	cfg.Rules.LogAppendTime = true
	h.cfg["t"] = cfg
	h.c.create()
	p := h.partition()
	now := time.UnixMilli(1_700_000_000_123)
	a, err := p.Produce(now, valuesAt(now.Add(-time.Hour), "a"), ProduceOptions{})
	if err != nil || a.AppendTimeMs != now.UnixMilli() {
		t.Errorf("%+v, %v", a, err)
	}
	bad := values("x")
	bad[len(bad)-1] ^= 1
	var corrupt *batch.CorruptError
	if _, err := p.Produce(now, bad, ProduceOptions{}); !errors.As(err, &corrupt) {
		t.Error("damaged batch:", err)
	}
}

// Whether we lead is asked before the batch is looked at.
func TestNotLeaderComesBeforeABadBatch(t *testing.T) {
	c := newCluster(t, 2)
	c.create()
	p := c.homes[1].partition()
	var lost *NotLeaderError
	if _, err := p.Produce(time.Now(), []byte("rubbish"), ProduceOptions{}); !errors.As(err, &lost) || lost.Leader != 1 {
		t.Error(err)
	}
}

// replicated is a bubble with two brokers, of which the first leads.
func replicated(t *testing.T, f func(t *testing.T, c *cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		c.create()
		f(t, c)
	})
}

func TestWaitCommitted(t *testing.T) {
	replicated(t, func(t *testing.T, c *cluster) {
		p := c.homes[0].partition()
		a := mustProduce(t, p, "a")
		errs := make(chan error, 3)
		go func() { errs <- p.WaitCommitted(t.Context(), a.Last+1) }()
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			errs <- p.WaitCommitted(ctx, a.Last+1)
		}()
		time.Sleep(1001 * time.Millisecond)
		synctest.Wait()
		if err := <-errs; !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal("nobody has it yet:", err)
		}
		pump(t, c.homes[0], c.homes[1]) // Takes the record,
		synctest.Wait()
		if len(errs) != 0 {
			t.Fatal("answered before the follower has it:", <-errs)
		}
		pump(t, c.homes[0], c.homes[1]) // and says so.
		if err := <-errs; err != nil {
			t.Error(err)
		}
		if n := len(p.owner.waits); n != 0 {
			t.Errorf("%d waits left", n)
		}
	})
}

func TestWaitersHearOfLostLeadership(t *testing.T) {
	replicated(t, func(t *testing.T, c *cluster) {
		p := c.homes[0].partition()
		a := mustProduce(t, p, "a")
		errs := make(chan error, 1)
		go func() { errs <- p.WaitCommitted(t.Context(), a.Last+1) }()
		synctest.Wait()
		c.commit(&metadata.PartitionChange{TopicID: id1, Leader: 2})
		var lost *NotLeaderError
		if err := <-errs; !errors.As(err, &lost) || lost.Leader != 2 || lost.Epoch != 1 {
			t.Error(err)
		}
		if want := []string{"t-0 epoch 0 leads true", "t-0 epoch 0 leads false"}; !cmp.Equal(want, c.homes[0].led) {
			t.Errorf("leadership %q", c.homes[0].led)
		}
	})
}

// Whatever happens in which order, nobody waits for ever.
func TestManyWaiters(t *testing.T) {
	replicated(t, func(t *testing.T, c *cluster) {
		p := c.homes[0].partition()
		var ok, late atomic.Int32
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%7)*time.Second)
				defer cancel()
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				a, err := p.Produce(time.Now(), values(fmt.Sprint(i)), ProduceOptions{Acks: AcksAll})
				if err != nil {
					t.Error(err)
				}
				switch err := p.WaitCommitted(ctx, a.Last+1); {
				case err == nil:
					ok.Add(1)
				case errors.Is(err, context.DeadlineExceeded):
					late.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		time.Sleep(3500 * time.Millisecond)
		pump(t, c.homes[0], c.homes[1])
		pump(t, c.homes[0], c.homes[1])
		all.Wait()
		if ok.Load() == 0 || late.Load() == 0 || ok.Load()+late.Load() != 50 {
			t.Errorf("%d committed, %d late", ok.Load(), late.Load())
		}
	})
}

func TestFollowerSeesOnlyWhatIsCommitted(t *testing.T) {
	replicated(t, func(t *testing.T, c *cluster) {
		l, f := c.homes[0], c.homes[1]
		mustProduce(t, l.partition(), "a")
		pump(t, l, f)
		if got := contents(t, f.partition(), 0, Uncommitted); got != "" {
			t.Errorf("follower shows %q", got)
		}
		if got := contents(t, f.partition(), 0, LogEnd); got != "a" {
			t.Errorf("follower holds %q", got)
		}
		pump(t, l, f)
		mustProduce(t, l.partition(), "b")
		pump(t, l, f)
		if got := contents(t, f.partition(), 0, Uncommitted); got != "a" {
			t.Errorf("follower shows %q", got)
		}
		var lost *NotLeaderError
		_, err := f.partition().Read(time.Now(), ReadRequest{CurrentEpoch: -1, LastFetchedEpoch: -1})
		if !errors.As(err, &lost) {
			t.Error("an old consumer is served by a follower:", err)
		}
	})
}

// KIP-101 on real logs: the old leader has a record that nobody else has, and
// another takes its place.
func TestOldLeaderCutsWhatNobodyElseHas(t *testing.T) {
	replicated(t, func(t *testing.T, c *cluster) {
		a, b := c.homes[0], c.homes[1]
		mustProduce(t, a.partition(), "both")
		pump(t, a, b)
		pump(t, a, b)
		mustProduce(t, a.partition(), "lost1", "lost2")
		c.commit(&metadata.PartitionChange{TopicID: id1, Leader: 2})
		mustProduce(t, b.partition(), "new")
		for range 3 {
			pump(t, b, a)
		}
		for _, h := range c.homes {
			if got := contents(t, h.partition(), 0, LogEnd); got != "both new" {
				t.Errorf("broker %d holds %q", h.node, got)
			}
		}
		if got := contents(t, b.partition(), 0, Uncommitted); got != "both new" {
			t.Errorf("committed: %q", got)
		}
	})
}

func TestFollowerBeginsAtTheLeadersStart(t *testing.T) {
	replicated(t, func(t *testing.T, c *cluster) {
		a, b := c.homes[0], c.homes[1]
		c.commit(&metadata.PartitionChange{TopicID: id1, Leader: metadata.LeaderAsBefore, ISR: []int32{1}})
		mustProduce(t, a.partition(), "gone")
		mustProduce(t, a.partition(), "in the middle", "kept")
		if _, err := a.partition().DeleteRecords(expired(t), 2); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		for range 4 {
			pump(t, a, b)
			time.Sleep(2 * time.Second)
		}
		if got := b.partition(); got.LogStart() != 2 || got.End() != 3 {
			t.Errorf("follower holds [%d, %d)", got.LogStart(), got.End())
		}
	})
}

func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestISRIsProposed(t *testing.T) {
	replicated(t, func(t *testing.T, c *cluster) {
		a, b := c.homes[0], c.homes[1]
		p := a.partition()
		mustProduce(t, p, "x")
		time.Sleep(31 * time.Second)
		a.m.Tick(time.Now())
		want := []state.Proposal{{ID: 1, PartitionEpoch: 0, ISR: []state.Member{{ID: 1, BrokerEpoch: 10}}}}
		if diff := cmp.Diff(want, a.asked); diff != "" {
			t.Fatal(diff)
		}
		p.Answered(time.Now(), state.Answered{Proposal: 1, PartitionEpoch: 1, ISR: []int32{1}})
		if got := p.HighWatermark(); got != 1 {
			t.Error("high watermark after the shrinking:", got)
		}
		pump(t, a, b)
		pump(t, a, b)
		if len(a.asked) != 2 || len(a.asked[1].ISR) != 2 {
			t.Errorf("the follower is back: %+v", a.asked)
		}
		if got := p.Followers(); len(got) != 1 || got[0].End != 1 {
			t.Errorf("followers %+v", got)
		}
	})
}

func TestReadErrors(t *testing.T) {
	c := newCluster(t, 2)
	c.commit(topic("t", id1, []int32{1, 2}, []int32{1})...)
	c.commit(&metadata.PartitionChange{TopicID: id1, Leader: 2, ISR: []int32{2}})
	c.commit(&metadata.PartitionChange{TopicID: id1, Leader: 1, ISR: []int32{1}})
	p := c.homes[0].partition() // Epoch 2.
	mustProduce(t, p, "a", "b")
	if _, err := p.DeleteRecords(expired(t), 1); err == nil {
		t.Fatal("the other broker has deleted nothing")
	}
	for name, tc := range map[string]struct {
		q    ReadRequest
		want string
	}{
		"older epoch":        {ReadRequest{Offset: 1, CurrentEpoch: 1, LastFetchedEpoch: -1}, "*state.EpochError"},
		"newer epoch":        {ReadRequest{Offset: 1, CurrentEpoch: 3, LastFetchedEpoch: -1}, "*state.EpochError"},
		"below the start":    {ReadRequest{Offset: 0, CurrentEpoch: -1, LastFetchedEpoch: -1}, "*logstore.OffsetError"},
		"above the end":      {ReadRequest{Offset: 3, CurrentEpoch: -1, LastFetchedEpoch: -1}, "*logstore.OffsetError"},
		"epoch never heard":  {ReadRequest{Offset: 1, CurrentEpoch: 2, LastFetchedEpoch: 9}, "*logstore.OffsetError"},
		"a stranger":         {ReadRequest{Offset: 1, CurrentEpoch: 2, LastFetchedEpoch: -1, Follower: &FollowerRead{ID: 5}}, "*state.UnknownReplicaError"},
		"an old incarnation": {ReadRequest{Offset: 1, CurrentEpoch: 2, LastFetchedEpoch: -1, Isolation: LogEnd, Follower: &FollowerRead{ID: 2, BrokerEpoch: 3}}, "*state.StaleBrokerError"},
		"good":               {ReadRequest{Offset: 1, CurrentEpoch: 2, LastFetchedEpoch: -1}, "<nil>"},
		"at the end":         {ReadRequest{Offset: 2, CurrentEpoch: 2, LastFetchedEpoch: 2}, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := p.Read(time.Now(), tc.q)
			if got := fmt.Sprintf("%T", err); got != tc.want {
				t.Errorf("%s: %v", got, err)
			}
			r.Span.Release()
		})
	}
}

func TestReadTellsOfDivergence(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	mustProduce(t, p, "a", "b")
	h.c.commit(&metadata.PartitionChange{TopicID: id1, Leader: 1}) // Epoch 1.
	mustProduce(t, p, "c")
	r, err := p.Read(time.Now(), ReadRequest{Offset: 3, CurrentEpoch: 1, LastFetchedEpoch: 0, MaxBytes: 100})
	if err != nil || r.Diverging == nil || *r.Diverging != (state.EpochEnd{Epoch: 0, End: 2}) || r.Span.Len() != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if got, err := p.EpochEnd(-1, 0, false); err != nil || got != (state.EpochEnd{Epoch: 0, End: 2}) {
		t.Error(got, err)
	}
	if got, err := p.EpochEnd(-1, 5, false); err != nil || got != (state.EpochEnd{Epoch: -1, End: -1}) {
		t.Error(got, err)
	}
	if _, err := p.EpochEnd(0, 0, false); err == nil {
		t.Error("asked in an old epoch")
	}
}

func TestReadLimits(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	mustProduce(t, p, strings.Repeat("x", 1000))
	mustProduce(t, p, "y")
	for name, tc := range map[string]struct {
		max    int
		minOne bool
		want   string
		more   bool
	}{
		"nothing":             {0, false, "", true},
		"one whole batch":     {1, true, strings.Repeat("x", 1000), true},
		"none, cut":           {1000, false, "", true},
		"all there is, twice": {1 << 20, false, strings.Repeat("x", 1000) + " y", true},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := p.Read(time.Now(), ReadRequest{CurrentEpoch: -1, LastFetchedEpoch: -1, MaxBytes: tc.max, MinOne: tc.minOne})
			if err != nil || r.More != tc.more || r.HighWatermark != 2 || r.End != 2 {
				t.Fatalf("%+v, %v", r, err)
			}
			if got := valuesIn(t, bytesOf(t, r)); got != tc.want || (got == "") != (r.Span.Len() == 0) {
				t.Errorf("read %q, %d bytes", got, r.Span.Len())
			}
		})
	}
}

func TestTransactions(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	mustProduce(t, p, "plain")
	if _, err := p.Produce(time.Now(), transactional(5, 0, "undone"), ProduceOptions{Guard: producer.Trusted}); err != nil {
		t.Fatal(err)
	}
	mustProduce(t, p, "after")
	if got := contents(t, p, 0, Committed); got != "plain" {
		t.Errorf("with an open transaction: %q", got)
	}
	if p.Stable() != 1 || p.HighWatermark() != 3 {
		t.Errorf("stable %d, high watermark %d", p.Stable(), p.HighWatermark())
	}
	endTxn(t, p, 5, false)
	r, err := p.Read(time.Now(), ReadRequest{CurrentEpoch: -1, LastFetchedEpoch: -1, MaxBytes: 1 << 20, Isolation: Committed})
	if err != nil || len(r.Aborted) != 1 || r.Aborted[0].ProducerID != 5 || r.Aborted[0].First != 1 {
		t.Errorf("aborted %+v, %v", r.Aborted, err)
	}
	if got := valuesIn(t, bytesOf(t, r)); got != "plain undone after" {
		t.Errorf("read %q", got)
	}
	r, err = p.Read(time.Now(), ReadRequest{Offset: 4, CurrentEpoch: -1, LastFetchedEpoch: -1, Isolation: Committed})
	if err != nil || r.Aborted == nil || len(r.Aborted) != 0 {
		t.Errorf("at the end: aborted %#v, %v", r.Aborted, err)
	}
}
