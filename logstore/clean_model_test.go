package logstore

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/codec"
)

// table is a compacted topic as its writer sees it: every record ever written.
type table struct {
	rows    []row
	aborted map[string]bool // Transactions.
	txn     map[int64]string
	count   int
}

type row struct {
	offset     int64
	key, value string
	txn        string // Empty if of none.
}

// draw is where choices come from: chance with a seed, or rapid.
type draw func(n int) int

// newTable returns a table without rows.
func newTable() *table { return &table{aborted: map[string]bool{}, txn: map[int64]string{}} }

// append adds a batch of some kind to the log and the table.
func (m *table) append(t testing.TB, l *Log, pick draw) {
	t.Helper()
	m.count++
	value := fmt.Sprint("v", m.count)
	meta := plainMeta
	meta.Codec = codec.Codec(pick(5))
	pid := int64(-1)
	if kind := pick(10); kind < 4 {
		pid = int64(kind % 2) // 0 is idempotent, 1 transactional.
		meta.ProducerID, meta.ProducerEpoch, meta.BaseSequence = pid, 0, 0
		for _, e := range l.Producers() {
			if e.ProducerID == pid {
				meta.BaseSequence = e.LastSequence + 1
			}
		}
		meta.Transactional = pid == 1
		if pid == 1 && m.txn[pid] != "" && pick(2) == 0 {
			commit := pick(2) == 0
			m.aborted[m.txn[pid]] = !commit
			delete(m.txn, pid)
			mustAppend(t, l, marker(pid, 0, commit, t0))
			return
		}
		if pid == 1 && m.txn[pid] == "" {
			m.txn[pid] = value
		}
	}
	bl := batch.NewBuilder(meta)
	for i := range 1 + pick(4) {
		r := row{l.End().Offset + int64(i), fmt.Sprint("k", pick(6)), value, ""}
		if pick(4) == 0 {
			r.value = ""
		}
		if meta.Transactional {
			r.txn = m.txn[pid]
		}
		v := []byte(r.value)
		if r.value == "" {
			v = nil
		}
		bl.Append(t0.UnixMilli()+int64(m.count), []byte(r.key), v, batch.Header{Key: []byte("of"), Value: []byte(r.key + r.value)})
		m.rows = append(m.rows, r)
	}
	mustAppend(t, l, bl.Build())
}

// checkEmptied fails for a batch without records that compaction had no reason to keep:
// nothing but such batches in an answer makes some clients give up. It is for the moment
// after a round.
func checkEmptied(t testing.TB, l *Log) {
	t.Helper()
	for b, err := range l.Batches(l.Start(), l.cleaned.Load()) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Count() > 0 || b.NextOffset() == l.HighWatermark().Offset {
			continue
		}
		needed := slices.ContainsFunc(l.Producers(), func(e producer.Entry) bool {
			marks := e.LastOffset < 0 && b.Control() && e.Epoch == b.ProducerEpoch()
			return e.ProducerID == b.ProducerID() && (e.LastOffset == b.LastOffset() || marks)
		})
		if !needed {
			t.Fatalf("batch [%d, %d) of producer %d is there without records; compacted up to %d, high watermark %d",
				b.BaseOffset(), b.NextOffset(), b.ProducerID(), l.cleaned.Load(), l.HighWatermark().Offset)
		}
	}
}

// latest is what a consumer that reads from start on must end up with.
func (m *table) latest(start int64) map[string]string {
	values := make(map[string]string)
	for _, r := range m.rows {
		switch {
		case r.offset < start || m.aborted[r.txn]:
		case r.value == "":
			delete(values, r.key)
		default:
			values[r.key] = r.value
		}
	}
	return values
}

// TestCompactModel works on a log in all ways beside compaction: whatever was done, a
// consumer that reads it from its start sees the latest value of every key, and the
// producers are those that wrote.
func TestCompactModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := compacted
		cfg.DeleteRetention = rapid.SampledFrom([]time.Duration{1, time.Hour}).Draw(rt, "delete retention")
		cfg.SegmentBytes = rapid.Int64Range(400, 1500).Draw(rt, "segment bytes")
		disk, m := vfs.NewMem(), newTable()
		s, l := openLog(t, disk, cfg)
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") }
		check := func() {
			if diff := cmp.Diff(m.latest(l.Start()), latest(t, l)); diff != "" {
				rt.Fatalf("values (-written +read)\n%s", diff)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(*rapid.T) { m.append(t, l, pick) },
			"append many": func(*rapid.T) {
				for range 10 {
					m.append(t, l, pick)
				}
			},
			"commit": func(*rapid.T) { commitAll(l) },
			"compact": func(*rapid.T) {
				before := l.cleaned.Load()
				s.compactAll(context.Background(), CleanerConfig{MapBytes: int64(24 * (1 + pick(12)))}.withDefaults())
				if l.cleaned.Load() != before {
					checkEmptied(t, l)
				}
			},
			"delete records": func(*rapid.T) {
				if hw := l.HighWatermark().Offset; pick(4) == 0 {
					if err := l.AdvanceStart(l.Start() + int64(pick(int(hw-l.Start())+1))); err != nil {
						rt.Fatal(err)
					}
				}
			},
			"maintain": func(*rapid.T) {
				if err := s.Maintain(t0.Add(time.Duration(m.count) * time.Hour)); err != nil {
					rt.Fatal(err)
				}
			},
			"restart": func(*rapid.T) {
				before := known(l.Producers())
				if pick(2) == 0 {
					closeStore(t, s)
				} else if err := s.Abandon(); err != nil { // kill -9: the page cache survives.
					rt.Fatal(err)
				}
				s, l = openLog(t, disk, cfg)
				if diff := cmp.Diff(before, known(l.Producers())); diff != "" {
					rt.Fatalf("producers (-before +after)\n%s", diff)
				}
			},
			"": func(*rapid.T) { check() },
		})
		closeStore(t, s)
		if l.onDisk.Load() {
			if err := Verify(disk, l.Dir(), false); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// known is what a log must know of its producers even if it has to read them from its
// batches: the last marker of one that has written data since may go, and with it the
// epoch of the coordinator, as in Kafka.
func known(list []producer.Entry) []producer.Entry {
	for i := range list {
		list[i].CoordinatorEpoch, list[i].TimestampMs = -1, 0
	}
	return list
}

// TestCrashWhileCompacting cuts the power before every call that changes the disk, but
// for some writes, while a log is compacted, in every way that the model of the disk knows. Each future must
// open with the old segments or the new, with every key and producer, and go on.
func TestCrashWhileCompacting(t *testing.T) {
	for seed := *crashSeed; seed < *crashSeed+1+uint64(*crashOps/100); seed++ {
		rng := rand.New(rand.NewPCG(seed, 9))
		disk, m := vfs.NewMem(), newTable()
		fault := vfs.NewFault(disk)
		cfg := compacted
		cfg.DeleteRetention, cfg.FileDeleteDelay = 1, 1
		s, l := openLog(t, fault, cfg)
		cuts := 0
		for round := range 2 {
			for range 25 {
				m.append(t, l, rng.IntN)
			}
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			commitAll(l)
			want, producers, end := m.latest(0), known(l.Producers()), l.End().Offset
			fault.Hook(func(e vfs.Event) {
				// Of the many small writes a few will do: none is synced yet.
				if !e.Mutates() || (e.Op == vfs.OpWrite || e.Op == vfs.OpOpen) && rng.IntN(8) > 0 {
					return
				}
				for _, mode := range vfs.CrashModes() {
					cuts++
					after := disk.Crash(rand.New(rand.NewPCG(rng.Uint64(), 0)), mode)
					inspectFuture(t, fmt.Sprintf("seed %d, round %d, %v, before %v %s", seed, round, mode, e.Op, e.Path),
						after, cfg, rng.IntN(2) == 0, want, producers, end)
				}
				if strings.HasSuffix(e.To, ".log.deleted") && rng.IntN(3) == 0 {
					crashAgain(t, rng, disk, cfg, want, producers, end)
				}
			})
			compactNow(s)
			if err := s.Maintain(t0.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			fault.Hook(nil)
			if got := l.cleaned.Load(); got == 0 || got > l.Stable().Offset {
				t.Errorf("compacted up to %d of %d", got, l.Stable().Offset)
			}
		}
		closeStore(t, s)
		if cuts < 200 {
			t.Errorf("the power was cut %d times", cuts)
		}
	}
}

// crashAgain cuts the power while a start completes a swap.
func crashAgain(t *testing.T, rng *rand.Rand, disk *vfs.Mem, cfg Config, want map[string]string, producers []producer.Entry, end int64) {
	t.Helper()
	first := disk.Crash(rng, vfs.CrashKeepAll)
	fault := vfs.NewFault(first)
	fault.Hook(func(e vfs.Event) {
		if !e.Mutates() {
			return
		}
		for _, mode := range vfs.CrashModes() {
			inspectFuture(t, fmt.Sprintf("second cut, %v, before %v %s", mode, e.Op, e.Path),
				first.Crash(rand.New(rand.NewPCG(rng.Uint64(), 0)), mode), cfg, rng.IntN(2) == 0, want, producers, end)
		}
	})
	s, err := tryOpen(fault, cfg)
	if err != nil {
		t.Fatal(err)
	}
	fault.Hook(nil)
	if err := s.Abandon(); err != nil {
		t.Fatal(err)
	}
}

// inspectFuture opens what a power cut left.
func inspectFuture(t *testing.T, where string, disk *vfs.Mem, cfg Config, compacts bool, want map[string]string, producers []producer.Entry, end int64) {
	t.Helper()
	if !compacts { // The policy was changed before the power came back.
		cfg.Compact, cfg.Delete = false, true
	}
	s, err := tryOpen(disk, cfg)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	l, ok := s.Log("t", 0)
	if !ok || l.End().Offset != end || l.Start() != 0 {
		t.Fatalf("%s: log is there: %v, [%d, %d), want [0, %d)", where, ok, l.Start(), l.End().Offset, end)
	}
	for i, segs := 0, l.state.Load().segments; i+1 < len(segs); i++ {
		// Both of a source and its replacement would show here only: a reader from the
		// beginning passes the source by.
		if end, err := segs[i].End(); err != nil || end > segs[i+1].Base() {
			t.Fatalf("%s: segment %d ends at %d, the next begins at %d: %v", where, segs[i].Base(), end, segs[i+1].Base(), err)
		}
	}
	if diff := cmp.Diff(want, latest(t, l)); diff != "" {
		t.Fatalf("%s: values (-want +got)\n%s", where, diff)
	}
	if diff := cmp.Diff(producers, known(l.Producers())); diff != "" {
		t.Fatalf("%s: producers (-want +got)\n%s", where, diff)
	}
	l.SetHighWatermark(math.MaxInt64)
	compactNow(s) // What was interrupted is done again.
	if compacts {
		checkEmptied(t, l)
	}
	if got := latest(t, l); !maps.Equal(want, got) {
		t.Fatalf("%s: after another round %v, want %v", where, got, want)
	}
	closeStore(t, s)
	if err := Verify(disk, l.Dir(), false); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
}
