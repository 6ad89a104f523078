package replica

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

func recordsOf(keys ...string) (out []coordinator.Record) {
	for _, k := range keys {
		out = append(out, coordinator.Record{Key: []byte(k), Value: []byte(strings.ToUpper(k))})
	}
	return out
}

// replayed reads a shard's log back.
func replayed(t *testing.T, l coordinator.Log) string {
	t.Helper()
	var all []byte
	err := l.Replay(t.Context(), func(b batch.Batch) error {
		all = append(all, b...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return valuesIn(t, all)
}

func TestShardLog(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	l := p.ShardLog(0)
	calls := 0
	l.OnCommit(func() { calls++ })
	now := time.UnixMilli(1_700_000_000_000)
	if base, err := l.Append(now, recordsOf("a", "b")); err != nil || base != 0 {
		t.Fatal(base, err)
	}
	if base, err := l.Append(now, []coordinator.Record{{Key: []byte("a")}}); err != nil || base != 2 {
		t.Fatal(base, err)
	}
	if l.End() != 3 || l.Committed() != 3 || calls != 2 {
		t.Errorf("end %d, committed %d, %d calls", l.End(), l.Committed(), calls)
	}
	if got := replayed(t, l); got != "A B " {
		t.Errorf("replayed %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Replay(ctx, func(batch.Batch) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error("replay goes on after its context:", err)
	}
	stop := errors.New("stop")
	if err := l.Replay(t.Context(), func(batch.Batch) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestShardLogBelongsToItsEpoch(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	old := p.ShardLog(0)
	old.OnCommit(func() { t.Error("the election before hears of commits") })
	h.c.commit(&metadata.PartitionChange{TopicID: id1, Leader: 1})
	fresh := p.ShardLog(1)
	calls := 0
	fresh.OnCommit(func() { calls++ })
	old.OnCommit(nil) // It resigns late, and takes away its own only.
	if _, err := old.Append(time.Now(), recordsOf("x")); !errors.Is(err, coordinator.ErrNotCoordinator) {
		t.Error("append of the epoch before:", err)
	}
	if _, err := fresh.Append(time.Now(), recordsOf("y")); err != nil || calls != 1 {
		t.Error(err, calls)
	}
	if got := replayed(t, fresh); got != "Y" {
		t.Errorf("log holds %q", got)
	}
}

func TestShardLogRefuses(t *testing.T) {
	c := newCluster(t, 2)
	h := c.homes[0]
	cfg := defaults()
	cfg.MinISR, cfg.Rules.MaxBytes = 2, 200
	h.cfg["t"] = cfg
	c.create()
	p := h.partition()
	l := p.ShardLog(0)
	var refused *coordinator.RefusedError
	var large *batch.TooLargeError
	if _, err := l.Append(time.Now(), recordsOf(strings.Repeat("k", 200))); !errors.As(err, &refused) || !errors.As(err, &large) {
		t.Error("too large:", err)
	}
	if _, err := l.Append(time.Now(), recordsOf("fits")); err != nil {
		t.Error(err)
	}
	c.commit(&metadata.PartitionChange{TopicID: id1, Leader: metadata.LeaderAsBefore, ISR: []int32{1}})
	var few *NotEnoughReplicasError
	if _, err := l.Append(time.Now(), recordsOf("x")); !errors.As(err, &refused) || !errors.As(err, &few) {
		t.Error("too few in sync:", err)
	}
	if l.End() != 1 {
		t.Error("something was written:", l.End())
	}
}

// With flush.messages=1 a shard does not wait for the disk; those it answers do.
func TestShardLogFlushesBehind(t *testing.T) {
	_, p := flushing(t)
	l := p.ShardLog(0)
	committed := make(chan struct{}, 100)
	l.OnCommit(func() { committed <- struct{}{} })
	for range 10 {
		if _, err := l.Append(time.Now(), recordsOf("x")); err != nil {
			t.Fatal(err)
		}
	}
	for l.Committed() < 10 {
		<-committed
	}
}
