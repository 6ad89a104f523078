package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// startFloor runs a probe for the time of a test.
func startFloor(t *testing.T) (Target, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := NewFloor("127.0.0.1:0", dir, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return Target{Bootstrap: []string{f.Addr().String()}, Partitions: 3}, dir
}

// TestDriversAgainstFloor plays every driver against the probe, and counts.
func TestDriversAgainstFloor(t *testing.T) {
	target, dir := startFloor(t)
	target.PID = os.Getpid()
	for name, tc := range map[string]struct {
		drive          func(ctx context.Context, t Target) (Result, error)
		records, bytes int64
		samples        uint64
	}{
		"produce": {func(ctx context.Context, t Target) (Result, error) {
			return Produce(ctx, t, ProduceLoad{RecordBytes: 100, Acks: -1, Connections: 3, Count: 5000})
		}, 5000, 500_000, 313},
		"produce one by one with acks 1": {func(ctx context.Context, t Target) (Result, error) {
			return Produce(ctx, t, ProduceLoad{RecordBytes: 100, Acks: 1, OneByOne: true, Count: 50})
		}, 50, 5000, 50},
		"produce with fsync": {func(ctx context.Context, t Target) (Result, error) {
			t.TopicConfigs = map[string]string{"flush.messages": "1"}
			return Produce(ctx, t, ProduceLoad{RecordBytes: 100, Acks: -1, OneByOne: true, Connections: 2, Count: 10})
		}, 10, 1000, 10},
		"two consume compressed, twice": {func(ctx context.Context, t Target) (Result, error) {
			return Consume(ctx, t, ConsumeLoad{Consumers: 2, Passes: 2, Fill: ProduceLoad{RecordBytes: 1000, Acks: -1, Compression: "zstd", Count: 999}})
		}, 4 * (999 + 3), 4 * (999*1000 + 3*int64(len("first"))), 0},
		"consume by sendfile": {func(ctx context.Context, t Target) (Result, error) {
			return Consume(ctx, t, ConsumeLoad{Fill: ProduceLoad{RecordBytes: 10_000, Acks: -1, Count: 400}})
		}, 400 + 3, 400*10_000 + 3*int64(len("first")), 0},
		"end to end": {func(ctx context.Context, t Target) (Result, error) {
			return EndToEnd(ctx, t, EndToEndLoad{RecordBytes: 100, RatePerSecond: 200, Duration: 200 * time.Millisecond, Acks: -1})
		}, 240, 24_000, 40},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			r, err := tc.drive(ctx, target)
			if err != nil {
				t.Fatal(err)
			}
			if r.Records != tc.records || r.Bytes != tc.bytes || r.Elapsed <= 0 || r.Broker == nil {
				t.Errorf("%+v, want %d records of %d bytes", r, tc.records, tc.bytes)
			}
			if l := r.Latency; l.Samples < max(tc.samples, 1) || l.P50 <= 0 || l.P999 < l.P50 || l.Max < l.P999 {
				t.Errorf("latency %+v, want %d samples", l, tc.samples)
			}
		})
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("topics were not deleted: %v, %v", left, err)
	}
}

// TestFloorKeepsOrderAndBytes reads back what was produced.
func TestFloorKeepsOrderAndBytes(t *testing.T) {
	target, _ := startFloor(t)
	target.Partitions = 1
	topic, remove, err := target.topic(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	cl, err := target.client(kgo.DefaultProduceTopic(topic), kgo.ConsumeTopics(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.CloseAllowingRebalance()
	values := payloads(3000, 7)
	for _, v := range values {
		cl.Produce(t.Context(), &kgo.Record{Value: v}, nil)
	}
	if err := cl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for seen := 0; seen < len(values); {
		got := cl.PollFetches(t.Context())
		if err := got.Err(); err != nil {
			t.Fatal(err)
		}
		got.EachRecord(func(rec *kgo.Record) {
			if rec.Offset != int64(seen) || string(rec.Value) != string(values[seen]) {
				t.Fatalf("record %d differs", rec.Offset)
			}
			seen++
		})
	}
}

// TestFloorRefusesDamage holds the probe to the one check that it does: of a
// batch that it takes, no byte behind the offset and epoch may be changed.
func TestFloorRefusesDamage(t *testing.T) {
	good := make([]byte, batchHeaderLen)
	good[batchMagicAt] = 2
	good[batchLengthAt+3] = batchHeaderLen - batchLengthFrom
	binary.BigEndian.PutUint32(good[batchCRCAt:], crc32.Checksum(good[batchCheckedAt:], castagnoli))
	p := &floorPartition{path: filepath.Join(t.TempDir(), "x.log")}
	defer p.close()
	const leaderEpochAt = 12
	for i := batchLengthAt; i < len(good); i++ {
		if leaderEpochAt <= i && i < batchMagicAt {
			continue
		}
		bad := bytes.Clone(good)
		bad[i] ^= 0x40
		if _, err := p.append(bad); !errors.Is(err, errBadBatch) {
			t.Errorf("a batch damaged at byte %d: %v", i, err)
		}
	}
	if _, err := p.append(good[:batchHeaderLen-1]); !errors.Is(err, errBadBatch) {
		t.Errorf("half a batch: %v", err)
	}
	if base, err := p.append(good); base != 0 || err != nil || p.endOffset() != 1 {
		t.Errorf("the batch itself goes to %d (end %d): %v", base, p.endOffset(), err)
	}
}

func TestBudget(t *testing.T) {
	b := newBudget(20, 0)
	var got []int64
	for n := b.take(16); n > 0; n = b.take(16) {
		got = append(got, n)
	}
	if len(got) != 2 || got[0] != 16 || got[1] != 4 || b.take(1) != 0 {
		t.Errorf("20 records are handed out as %v", got)
	}
	b = newBudget(0, time.Hour)
	if b.take(16) != 16 {
		t.Error("an hour has passed")
	}
	b.until = time.Now().Add(-time.Second)
	if b.take(16) != 0 {
		t.Error("a time that is over gives more")
	}
}
