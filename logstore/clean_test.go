package logstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/codec"
)

// compacted is the configuration of logs that are compacted at every chance.
var compacted = Config{
	Compact: true, SegmentBytes: 600, IndexIntervalBytes: 150, MinCleanableRatio: -1, RetentionAge: -1,
	ProducerIDExpiry: math.MaxInt64, DeleteRetention: time.Hour,
}

// keyed makes a batch of keys with the same value; an empty one is a tombstone.
func keyed(at time.Time, c codec.Codec, value string, keys ...string) batch.Batch {
	m := plainMeta
	m.Codec = c
	return keyedOf(m, at, value, keys...)
}

func keyedOf(m batch.Meta, at time.Time, value string, keys ...string) batch.Batch {
	bl := batch.NewBuilder(m)
	for _, k := range keys {
		var v []byte
		if value != "" {
			v = []byte(value)
		}
		bl.Append(at.UnixMilli(), []byte(k), v, batch.Header{Key: []byte("of"), Value: []byte(k + value)})
	}
	return bl.Build()
}

// commitAll makes all of the log committed.
func commitAll(l *Log) { l.SetHighWatermark(l.End().Offset) }

// compactNow runs the rounds that are due.
func compactNow(s *Store) { s.compactAll(context.Background(), CleanerConfig{}.withDefaults()) }

// latest reads the log from its start as a consumer that replays it does, and returns
// the value of each key, without those whose last record is a tombstone. Headers must be
// those of their records. Aborted transactions are left out.
func latest(t testing.TB, l *Log) map[string]string {
	t.Helper()
	values := make(map[string]string)
	at := int64(-1)
	for rest := drain(t, l, l.Start(), 300); len(rest) > 0; {
		b, after, err := batch.Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		rest = after
		if b.BaseOffset() <= at {
			t.Fatalf("batch at %d after offset %d", b.BaseOffset(), at)
		}
		at = b.LastOffset()
		if b.Control() || isAborted(t, l, b) {
			continue
		}
		it := b.Records(codec.NoLimit)
		for it.Next() {
			r := it.Record()
			if len(r.Headers) > 0 && string(r.Headers[0].Value) != string(r.Key)+string(r.Value) {
				t.Fatalf("record %s=%s at %d has the header of %s", r.Key, r.Value, it.Offset(), r.Headers[0].Value)
			}
			if it.Offset() < l.Start() {
				continue
			}
			if r.Value == nil {
				delete(values, string(r.Key))
			} else {
				values[string(r.Key)] = string(r.Value)
			}
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
		it.Close()
	}
	return values
}

func isAborted(t testing.TB, l *Log, b batch.Batch) bool {
	t.Helper()
	if !b.Transactional() {
		return false
	}
	list, err := l.Aborted(b.BaseOffset(), b.NextOffset())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(list, func(a producer.Aborted) bool {
		return a.ProducerID == b.ProducerID() && a.First <= b.BaseOffset() && b.BaseOffset() < a.Last
	})
}

func TestCompact(t *testing.T) {
	disk := vfs.NewMem()
	s, l := openLog(t, disk, compacted)
	want := map[string]string{}
	for i := range 60 {
		k, v := fmt.Sprint("key", i%7), fmt.Sprint("value", i)
		mustAppend(t, l, keyed(t0, codec.Codec(i%5), v, k, "common"))
		want[k], want["common"] = v, v
	}
	commitAll(l)
	before, end := l.Size(), l.End()
	compactNow(s)
	if l.Size() > before/2 || l.End() != end || l.Start() != 0 {
		t.Errorf("%d of %d bytes, end %v", l.Size(), before, l.End())
	}
	if got := latest(t, l); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// A second look has nothing to do, and touches nothing.
	list, size := l.state.Load().segments, l.Size()
	compactNow(s)
	if !slices.Equal(l.state.Load().segments, list) || l.Size() != size {
		t.Error("compacted again without a reason")
	}
	closeStore(t, s)
	if err := Verify(disk, l.Dir(), false); err != nil {
		t.Error(err)
	}
	offsets, err := checkpoint.ReadOffsets(disk, dataDir+"/"+checkpoint.Cleaned)
	if err != nil || len(offsets) != 1 || offsets[0].Offset != end.Segment {
		t.Errorf("cleaner checkpoint %v, %v; the open segment begins at %d", offsets, err, end.Segment)
	}
	s, l = openLog(t, disk, compacted)
	defer closeStore(t, s)
	if got := latest(t, l); !maps.Equal(got, want) || l.cleaned.Load() != end.Segment {
		t.Errorf("after a restart %v, cleaned %d", got, l.cleaned.Load())
	}
}

// TestCompactSmallMap takes a map that holds two keys: many rounds, the same end.
func TestCompactSmallMap(t *testing.T) {
	s, l := openLog(t, vfs.NewMem(), compacted)
	defer closeStore(t, s)
	want, segments := map[string]string{}, 0
	for i := range 80 {
		k := fmt.Sprint("key", i*i%11)
		mustAppend(t, l, keyed(t0, 0, fmt.Sprint(i), k))
		want[k] = fmt.Sprint(i)
	}
	commitAll(l)
	segments = l.Segments()
	s.compactAll(context.Background(), CleanerConfig{MapBytes: 60}.withDefaults())
	if l.Segments() > segments/2 {
		t.Errorf("%d segments of %d, small ones were not put together", l.Segments(), segments)
	}
	if got := latest(t, l); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := l.cleaned.Load(); got != l.End().Segment {
		t.Errorf("compacted up to %d, the open segment begins at %d", got, l.End().Segment)
	}
}

// TestTombstone is C03: readable until delete.retention.ms has passed since the first
// round that kept it, then gone.
func TestTombstone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := openLog(t, vfs.NewMem(), compacted)
		defer closeStore(t, s)
		present := func() bool {
			for rest := drain(t, l, 0, 1000); len(rest) > 0; {
				b, after, _ := batch.Next(rest)
				rest = after
				it := b.Records(codec.NoLimit)
				for it.Next() {
					if string(it.Record().Key) == "gone" {
						return true
					}
				}
			}
			return false
		}
		round := func() {
			for range 20 {
				mustAppend(t, l, keyed(t0, 0, "filler", "k"))
			}
			commitAll(l)
			compactNow(s)
		}
		mustAppend(t, l, keyed(t0, 0, "v", "gone"))
		mustAppend(t, l, keyed(t0, 0, "", "gone"))
		round()
		time.Sleep(time.Hour - time.Second)
		if round(); !present() {
			t.Error("tombstone went before its time")
		}
		time.Sleep(time.Second)
		if round(); present() {
			t.Error("tombstone stayed beyond its time")
		}
	})
}

// TestCrashRevivesNothing cuts the power while a round takes a value away together with
// its tombstone, whose time is over, and nothing that lies above them in the same new
// segment: whichever of the files that go are still there, the value must not be back.
func TestCrashRevivesNothing(t *testing.T) {
	for seed := range uint64(8) {
		disk := vfs.NewMem()
		fault := vfs.NewFault(disk)
		cfg := compacted
		cfg.SegmentBytes = 100
		s, l := openLog(t, fault, cfg)
		for i, b := range []batch.Batch{
			keyed(t0, 0, "stays", "other"), keyed(t0, 0, "old", "k"), tombstone(t0, "k"), keyed(t0, 0, "v", "open"),
		} {
			b.SetBaseOffset(int64(i))
			b.SetLeaderEpoch(0)
			if err := l.AppendReplica(t0, b); err != nil {
				t.Fatal(err)
			}
		}
		cfg.SegmentBytes = 1 << 20 // What was four segments becomes two.
		l.SetConfig(cfg)
		commitAll(l)
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		fault.Hook(func(e vfs.Event) {
			if !e.Mutates() {
				return
			}
			for _, mode := range vfs.CrashModes() {
				after := disk.Crash(rand.New(rand.NewPCG(rng.Uint64(), 0)), mode)
				inspectFuture(t, fmt.Sprintf("seed %d, %v, before %v %s", seed, mode, e.Op, e.Path), after, cfg, true,
					map[string]string{"other": "stays", "open": "v"}, known(l.Producers()), 4)
			}
		})
		compactNow(s)
		fault.Hook(nil)
		if n := l.Segments(); n != 3 { // What is left, an empty one that ends it, and the open one.
			t.Errorf("%d segments", n)
		}
		closeStore(t, s)
	}
}

// tombstone makes a batch of a tombstone that may be dropped since a time.
func tombstone(since time.Time, key string) batch.Batch {
	bl := batch.NewBuilder(plainMeta)
	bl.DeleteHorizon(since.UnixMilli())
	bl.AppendAt(0, since.UnixMilli(), []byte(key), nil)
	return bl.Build()
}

// TestCompactedByAnother opens a log that is not compacted any more after a crash that
// left no recovery point, as when another Kafka compacted it: what it knows to be
// compacted has gaps, and none is taken for a loss.
func TestCompactedByAnother(t *testing.T) {
	disk := vfs.NewMem()
	s, l := openLog(t, disk, compacted)
	for range 60 {
		mustAppend(t, l, keyed(t0, 0, "v", "k"))
	}
	commitAll(l)
	compactNow(s)
	end := l.End().Offset
	if err := s.Abandon(); err != nil {
		t.Fatal(err)
	}
	if err := disk.Remove(dataDir + "/" + checkpoint.RecoveryPoints); err != nil {
		t.Fatal(err)
	}
	s, l = openLog(t, disk, Config{SegmentBytes: 600, Delete: true, RetentionAge: -1})
	defer closeStore(t, s)
	if l.End().Offset != end {
		t.Errorf("log ends at %d, was %d", l.End().Offset, end)
	}
}

// TestTruncateIntoGap cuts a log inside of what compaction took away, goes on behind it,
// and follows a leader over the gap that this leaves.
func TestTruncateIntoGap(t *testing.T) {
	disk := vfs.NewMem()
	s, l := openLog(t, disk, compacted)
	for i := range 60 {
		mustAppend(t, l, keyed(t0, 0, fmt.Sprint(i), "k"))
	}
	commitAll(l)
	compactNow(s)
	if err := l.Truncate(20); err != nil {
		t.Fatal(err)
	}
	if at := mustAppend(t, l, keyed(t0, 0, "20", "k")); at.Base != 20 {
		t.Errorf("appended at %d", at.Base)
	}
	far := keyed(t0, 0, "70", "k")
	far.SetBaseOffset(70)
	far.SetLeaderEpoch(firstBatch(t, l, 20).LeaderEpoch())
	if err := l.AppendReplica(t0, far); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if b := firstBatch(t, l, 5); b.BaseOffset() != 20 || l.End().Offset != 71 {
			t.Errorf("batch at %d, end %d", b.BaseOffset(), l.End().Offset)
		}
		if b := firstBatch(t, l, 21); b.BaseOffset() != 70 {
			t.Errorf("batch at %d", b.BaseOffset())
		}
		if err := s.Abandon(); err != nil {
			t.Fatal(err)
		}
		s, l = openLog(t, disk, compacted)
	}
	closeStore(t, s)
	if err := Verify(disk, l.Dir(), false); err != nil {
		t.Error(err)
	}
}

// TestCompactLeavesUndecided is A-12: nothing at or above the last stable offset.
func TestCompactLeavesUndecided(t *testing.T) {
	s, l := openLog(t, vfs.NewMem(), compacted)
	defer closeStore(t, s)
	for range 10 {
		mustAppend(t, l, keyed(t0, 0, "old", "k"))
	}
	m := batch.Meta{ProducerID: 1, Transactional: true}
	open := mustAppend(t, l, keyedOf(m, t0, "open", "k")).Base
	for range 20 {
		mustAppend(t, l, keyed(t0, 0, "new", "k"))
	}
	commitAll(l)
	compactNow(s)
	if got := l.cleaned.Load(); got == 0 || got > open {
		t.Errorf("compacted up to %d, the transaction is open from %d", got, open)
	}
	if b := firstBatch(t, l, open); b.BaseOffset() != open {
		t.Errorf("the open batch became %d", b.BaseOffset())
	}
	mustAppend(t, l, marker(1, 0, false, t0))
	for range 10 {
		mustAppend(t, l, keyed(t0, 0, "newer", "k"))
	}
	commitAll(l)
	compactNow(s)
	// The aborted batch is emptied, as the producer's last; its marker is there, and in the index.
	if b := firstBatch(t, l, open); b.BaseOffset() != open || b.Count() != 0 || b.ProducerID() != 1 {
		t.Errorf("aborted batch: %d at %d", b.Count(), b.BaseOffset())
	}
	if list, err := l.Aborted(0, l.End().Offset); err != nil || len(list) != 1 || list[0].First != open {
		t.Errorf("aborted %v, %v", list, err)
	}
	if got := latest(t, l); !maps.Equal(got, map[string]string{"k": "newer"}) {
		t.Error(got)
	}
}

// firstBatch reads the batch that a fetch at offset begins with.
func firstBatch(t testing.TB, l *Log, offset int64) batch.Batch {
	t.Helper()
	span, err := l.Read(offset, 1, l.End(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer span.Release()
	buf := make([]byte, span.Len())
	if err := span.Copy(buf); err != nil {
		t.Fatal(err)
	}
	b, _, err := batch.Next(buf)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFetchAtGap is C07: a fetch of an offset whose record went gives the next batch.
func TestFetchAtGap(t *testing.T) {
	s, l := openLog(t, vfs.NewMem(), compacted)
	defer closeStore(t, s)
	for i := range 40 {
		mustAppend(t, l, keyed(t0, 0, fmt.Sprint(i), "k"))
	}
	commitAll(l)
	compactNow(s)
	for offset := range l.End().Offset {
		if b := firstBatch(t, l, offset); b.NextOffset() <= offset {
			t.Errorf("fetch at %d gave a batch that ends at %d", offset, b.NextOffset())
		}
	}
}

// TestPinnedReaderSurvives holds a span of a segment that compaction replaces.
func TestPinnedReaderSurvives(t *testing.T) {
	s, l := openLog(t, vfs.NewMem(), compacted)
	defer closeStore(t, s)
	for i := range 40 {
		mustAppend(t, l, keyed(t0, 0, fmt.Sprint(i), "k"))
	}
	commitAll(l)
	span, err := l.Read(0, 300, l.End(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer span.Release()
	before := make([]byte, span.Len())
	if err := span.Copy(before); err != nil {
		t.Fatal(err)
	}
	compactNow(s)
	after := make([]byte, span.Len())
	if err := span.Copy(after); err != nil || !slices.Equal(before, after) {
		t.Errorf("the span changed: %v", err)
	}
	if b := firstBatch(t, l, 0); b.BaseOffset() == 0 {
		t.Error("nothing was compacted")
	}
}

// TestPolicyChanges is C05, and the other ways round.
func TestPolicyChanges(t *testing.T) {
	s, l := openLog(t, vfs.NewMem(), Config{SegmentBytes: 600, MinCleanableRatio: -1, RetentionAge: -1})
	defer closeStore(t, s)
	fill := func() {
		for range 30 {
			mustAppend(t, l, keyed(t0, 0, "v", "k"))
		}
		commitAll(l)
	}
	fill()
	size := l.Size()
	if compactNow(s); l.Size() != size {
		t.Error("compacted with an empty policy")
	}
	l.SetConfig(compacted)
	if compactNow(s); l.Size() >= size {
		t.Error("not compacted after the policy changed")
	}
	both := compacted
	both.Delete, both.RetentionBytes = true, 1
	l.SetConfig(both)
	if _, err := l.Retain(t0); err != nil || l.Start() == 0 {
		t.Errorf("retention does not run beside compaction: start %d, %v", l.Start(), err)
	}
	l.SetConfig(Config{SegmentBytes: 600, Delete: true, RetentionBytes: 1, RetentionAge: -1, MinCleanableRatio: -1})
	fill()
	before := l.cleaned.Load()
	if compactNow(s); l.cleaned.Load() != before {
		t.Error("compacted though the policy is delete")
	}
	if n, err := l.Retain(t0); err != nil || n == 0 {
		t.Errorf("%d segments removed, %v", n, err)
	}
}

// TestStartInOpenSegment is C11: the start has passed all that could be compacted.
func TestStartInOpenSegment(t *testing.T) {
	s, l := openLog(t, vfs.NewMem(), compacted)
	defer closeStore(t, s)
	fill := func() {
		for range 30 {
			mustAppend(t, l, keyed(t0, 0, "v", "k"))
		}
		commitAll(l)
	}
	fill()
	if err := l.AdvanceStart(l.End().Offset - 1); err != nil {
		t.Fatal(err)
	}
	compactNow(s)
	fill()
	compactNow(s)
	if got := l.cleaned.Load(); got != l.End().Segment || l.damaged.Load() {
		t.Errorf("compacted up to %d, the open segment begins at %d", got, l.End().Segment)
	}
	if got := latest(t, l); got["k"] != "v" {
		t.Error(got)
	}
}

// TestCompactionStops cuts, deletes and closes a log in the middle of its round: the
// round ends, and nothing of it is left.
func TestCompactionStops(t *testing.T) {
	for name, act := range map[string]func(*Store, *Log) error{
		"truncated":   func(_ *Store, l *Log) error { return l.Truncate(25) },
		"emptied":     func(_ *Store, l *Log) error { return l.TruncateFully(100) },
		"deleted":     func(s *Store, l *Log) error { return s.Delete(l) },
		"not compact": func(_ *Store, l *Log) error { l.SetConfig(Config{SegmentBytes: 600}); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewMem()
			fault := vfs.NewFault(disk)
			s, l := openLog(t, fault, compacted)
			for range 60 {
				mustAppend(t, l, keyed(t0, 0, "v", "k"))
			}
			commitAll(l)
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			st := l.state.Load()
			done := false
			fault.BeforeSync(func(e vfs.Event) {
				if !done && segmentFile(e.Path, ".log.cleaned") {
					done = true
					if err := act(s, l); err != nil {
						t.Error(err)
					}
				}
			})
			p, list, err := l.planClean(t0, st)
			if err != nil {
				t.Fatal(err)
			}
			c := cleaning{ctx: t.Context(), log: l, now: t0, st: st, cfg: l.config.Load(), opt: CleanerConfig{}.withDefaults(), pace: &pacer{bytesPerSecond: math.Inf(1)}}
			if _, _, err := c.run(p, list); !errors.Is(err, errCleaningStopped) || !done {
				t.Errorf("done %v: %v", done, err)
			}
			entries, err := disk.ReadDir(l.Dir())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if segmentFile(e.Name(), ".cleaned") || segmentFile(e.Name(), ".swap") {
					t.Errorf("%s was left", e.Name())
				}
			}
			closeStore(t, s)
		})
	}
}

func segmentFile(name, suffix string) bool {
	return len(name) > len(suffix) && name[len(name)-len(suffix):] == suffix
}

// TestPacer holds compaction to its rate, and lets it end in a nap.
func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{bytesPerSecond: 1000}
		began := time.Now()
		for range 500 {
			if err := p.spend(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 4900*time.Millisecond || took > 5*time.Second {
			t.Errorf("5000 bytes took %v", took)
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		if err := p.spend(ctx, 1e6); !errors.Is(err, errCleaningStopped) {
			t.Error(err)
		}
	})
}

// TestCompactLoop runs the loop as the broker does: it finds work by itself, in time.
func TestCompactLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := openLog(t, vfs.NewMem(), compacted)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Compact(ctx, func() CleanerConfig { return CleanerConfig{Backoff: time.Minute} })
		}()
		synctest.Wait()
		for range 40 {
			mustAppend(t, l, keyed(t0, 0, "v", "k"))
		}
		commitAll(l)
		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		if l.cleaned.Load() != 0 {
			t.Error("the cleaner did not wait")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if l.cleaned.Load() != l.End().Segment {
			t.Error("the cleaner did not see the log")
		}
		stop()
		<-done
		closeStore(t, s)
	})
}
