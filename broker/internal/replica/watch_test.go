package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// heard tells whether a waiter was woken, and whose watches changed.
func heard(w *Waiter) (woken bool, tags []any) {
	select {
	case <-w.C():
		woken = true
	default:
	}
	for _, c := range w.Take(nil) {
		tags = append(tags, c.Tag)
	}
	return woken, tags
}

func TestWhatWakesWhom(t *testing.T) {
	c := newCluster(t, 2)
	c.create()
	a, b := c.homes[0], c.homes[1]
	p := a.partition()
	uncommitted, committed, logEnd := NewWaiter(), NewWaiter(), NewWaiter()
	p.Watch(uncommitted, Uncommitted, "u")
	p.Watch(committed, Committed, "c")
	p.Watch(logEnd, LogEnd, "l")
	check := func(what string, want ...string) {
		t.Helper()
		for i, w := range []*Waiter{uncommitted, committed, logEnd} {
			woken, tags := heard(w)
			got := "quiet"
			if woken {
				got = "woken"
			} else if len(tags) > 0 {
				got = "marked"
			}
			if got != want[i] {
				t.Errorf("%s: waiter %d is %s, want %s", what, i, got, want[i])
			}
		}
	}
	check("nothing", "quiet", "quiet", "quiet")
	if _, err := p.Produce(time.Now(), transactional(5, 0, "x"), ProduceOptions{Guard: producer.Trusted}); err != nil {
		t.Fatal(err)
	}
	check("append", "quiet", "quiet", "woken")
	pump(t, a, b)
	pump(t, a, b)
	check("committed in an open transaction", "woken", "marked", "marked")
	endTxn(t, p, 5, true)
	check("marker", "quiet", "quiet", "woken")
	pump(t, a, b)
	pump(t, a, b)
	check("transaction over", "woken", "woken", "marked")
	if _, err := p.DeleteRecords(expired(t), 1); err == nil {
		t.Fatal("the follower has deleted already")
	}
	check("log start", "marked", "marked", "marked")
	c.commit(&metadata.PartitionChange{TopicID: id1, Leader: 2})
	check("leadership", "woken", "woken", "woken")
	c.commit(&metadata.RemoveTopic{TopicID: id1})
	check("deleted", "woken", "woken", "woken")
	late := NewWaiter()
	p.Watch(late, Uncommitted, "late").Stop()
	if woken, _ := heard(late); !woken {
		t.Error("who comes to a partition that has gone waits for ever")
	}
}

func TestRetentionIsNoticed(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	mustProduce(t, p, "a")
	w := NewWaiter()
	p.Watch(w, Uncommitted, "u")
	if err := p.log.AdvanceStart(1); err != nil { // As Maintain does.
		t.Fatal(err)
	}
	h.m.refresh(time.Now())
	if _, tags := heard(w); len(tags) != 1 {
		t.Error("the log start moved unnoticed")
	}
	h.m.refresh(time.Now())
	if _, tags := heard(w); len(tags) != 0 {
		t.Error("nothing moved, and it was noticed")
	}
}

// One waiter for many partitions: only those that changed are in its set, each
// once, and none after Stop.
func TestOneWaiterManyPartitions(t *testing.T) {
	h := one(t)
	h.c.commit(&metadata.Topic{Name: "t", TopicID: id1})
	var parts []*Partition
	var watches []*Watch
	w := NewWaiter()
	for n := range int32(10) {
		h.c.commit(partitionOf(id1, n, []int32{1}, []int32{1}, 0))
		p, err := h.m.Partition("t", n)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
		watches = append(watches, p.Watch(w, Uncommitted, n))
	}
	mustProduce(t, parts[3], "a")
	mustProduce(t, parts[7], "b")
	mustProduce(t, parts[3], "c")
	woken, tags := heard(w)
	if !woken || len(tags) != 2 || tags[0] != int32(3) || tags[1] != int32(7) {
		t.Errorf("woken %v, changed %v", woken, tags)
	}
	watches[3].Stop()
	watches[3].Stop()
	mustProduce(t, parts[3], "d")
	if woken, tags := heard(w); woken || len(tags) != 0 {
		t.Errorf("after Stop: woken %v, changed %v", woken, tags)
	}
}

// A reader that registers first and reads then misses nothing.
func TestWatchAndRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := one(t)
		h.c.create()
		p := h.partition()
		const total = 200
		done := make(chan int64)
		go func() {
			w := NewWaiter()
			defer p.Watch(w, Uncommitted, nil).Stop()
			var next int64
			for next < total {
				r, err := p.Read(time.Now(), ReadRequest{Offset: next, CurrentEpoch: -1, LastFetchedEpoch: -1, MaxBytes: 1 << 20})
				if err != nil {
					t.Error(err)
					break
				}
				if next += int64(len(batchesIn(t, bytesOf(t, r)))); next < total && next == p.HighWatermark() {
					<-w.C()
					w.Take(nil)
				}
			}
			done <- next
		}()
		for i := range total {
			mustProduce(t, p, "x")
			if i%10 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		if got := <-done; got != total {
			t.Errorf("read %d", got)
		}
	})
}

func BenchmarkMarkHundredConsumers(b *testing.B) {
	h := one(b)
	h.c.create()
	p := h.partition()
	for range 100 {
		p.Watch(NewWaiter(), Uncommitted, nil)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.watches.mark(changedWatermark)
	}
}
