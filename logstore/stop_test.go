package logstore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// TestStopIsDurable: random work on several logs, of which much is not synced, and a stop.
// A power cut right after it takes nothing: each file that the mark of a clean stop, the
// manifest and the checkpoints speak for is there as it was, and the next start finds the
// same logs without a scan.
func TestStopIsDurable(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newStopWorld(t, seed)
			for range 3 {
				w.work(30)
				if w.rng.IntN(2) == 0 { // The start after it scans, and makes files anew.
					w.must(w.store.Abandon())
					w.open()
					w.work(w.rng.IntN(12))
				}
				want := w.content()
				closeStore(t, w.store)
				tree := readTree(t, w.disk, dataDir)
				for _, mode := range vfs.CrashModes() {
					after := w.disk.Crash(rand.New(rand.NewPCG(seed, 1)), mode)
					if got := readTree(t, after, dataDir); !cmp.Equal(got, tree) {
						t.Fatalf("a power cut after the stop, %v (-stopped +cut)\n%s", mode, cmp.Diff(tree, got))
					}
					w.compareStart(after, want, nil, true)
				}
				w.open()
			}
			closeStore(t, w.store)
		})
	}
}

// TestRestartIsDurable: a log that starts anew, and what is flushed to it, is there after
// a power cut, even if nothing but the batches is written: they bear no leader epoch.
func TestRestartIsDurable(t *testing.T) {
	disk := vfs.NewMem()
	_, l := openLog(t, disk, Config{})
	unled := func() batch.Batch { return replicated(t, l, stamped(l.End().Offset, batch.NoLeaderEpoch, "value")) }
	unled()
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := l.TruncateFully(9); err != nil {
		t.Fatal(err)
	}
	_, after := openLog(t, disk.Crash(nil, vfs.CrashLoseAll), Config{})
	if after.Start() != 9 || after.End().Offset != 9 {
		t.Errorf("log [%d, %d) after a power cut, want [9, 9)", after.Start(), after.End().Offset)
	}
	want := unled()
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	_, after = openLog(t, disk.Crash(nil, vfs.CrashLoseAll), Config{})
	compareBatches(t, after, []batch.Batch{want})
}

// TestFlushAfterKill: a process is killed when it has made a log's first segment, and what
// the next one flushes to it is there after a power cut: with the segment's name.
func TestFlushAfterKill(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	s, l := openLog(t, fs, Config{})
	unled := stamped(0, batch.NoLeaderEpoch, "value") // So that no epoch has to be written.
	fs.Inject(vfs.Rule{Op: vfs.OpWrite, Path: "*.log", Err: syscall.ENOSPC})
	if err := l.AppendReplica(t0, unled); err == nil {
		t.Fatal("appended on a full disk")
	}
	if err := s.Abandon(); err != nil {
		t.Fatal(err)
	}
	_, l = openLog(t, fs, Config{})
	want := replicated(t, l, unled)
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	_, l = openLog(t, disk.Crash(nil, vfs.CrashLoseAll), Config{})
	compareBatches(t, l, []batch.Batch{want})
}

// TestFailedStop: any call to the disk fails in a stop, that one alone or all from there
// on, and the power is cut then. A start that takes the stop for a clean one finds all
// that was there; any other start finds what was flushed.
func TestFailedStop(t *testing.T) {
	for seed := range uint64(4) {
		calls := stopWithFault(t, seed, vfs.Rule{Op: vfs.OpLock, Err: syscall.EIO})
		for n := range calls {
			for _, times := range []int{1, -1} {
				t.Run(fmt.Sprintf("seed %d, call %d, %d times", seed, n, times), func(t *testing.T) {
					stopWithFault(t, seed, vfs.Rule{Op: vfs.OpAny, Skip: n, Times: times, Err: syscall.EIO, Discard: true})
				})
			}
		}
	}
}

// stopWithFault returns how many calls to the disk the stop made.
func stopWithFault(t *testing.T, seed uint64, rule vfs.Rule) (calls int) {
	w := newStopWorld(t, seed)
	w.work(60)
	want, flushed := w.content(), w.flushed
	var made atomic.Int64 // Logs are closed at the same time.
	w.fs.Hook(func(vfs.Event) { made.Add(1) })
	w.fs.Inject(rule)
	_ = w.store.Close(7) // What it says is not to the point: a later call may have failed.
	w.fs.Hook(nil)
	w.fs.Heal()
	for _, mode := range vfs.CrashModes() {
		after := w.disk.Crash(rand.New(rand.NewPCG(seed, 1)), mode)
		s := openStore(t, after, w.cfg)
		_, clean := s.CleanShutdown()
		if err := s.Abandon(); err != nil {
			t.Fatal(err)
		}
		after = w.disk.Crash(rand.New(rand.NewPCG(seed, 1)), mode)
		w.compareStart(after, want, flushed, clean)
	}
	return int(made.Load())
}

// stopWorld is a store with some logs: idle and busy ones, one that is compacted, one
// that was made anew, and a metadata log.
type stopWorld struct {
	t       *testing.T
	rng     *rand.Rand
	disk    *vfs.Mem
	fs      *vfs.Fault
	cfg     Config
	store   *Store
	now     time.Time
	flushed map[string]int64 // Everything below was flushed, by directory.
}

func newStopWorld(t *testing.T, seed uint64) *stopWorld {
	disk := vfs.NewMem()
	w := &stopWorld{
		t: t, rng: rand.New(rand.NewPCG(seed, 0)), disk: disk, fs: vfs.NewFault(disk), now: t0, flushed: make(map[string]int64),
		cfg: Config{
			SegmentBytes: 700, IndexIntervalBytes: 150, Delete: true, Compact: seed%2 == 0, MinCleanableRatio: -1,
			RetentionAge: -1, RetentionBytes: 6000, ProducerIDExpiry: math.MaxInt64, Preallocate: seed%3 == 0,
		},
	}
	w.open()
	return w
}

func (w *stopWorld) open() {
	w.store = openStore(w.t, w.fs, w.cfg)
	if _, err := w.store.OpenMetadataLog(Config{SegmentBytes: 700, ProducerIDExpiry: math.MaxInt64}); err != nil {
		w.t.Fatal(err)
	}
	for p := range int32(4) {
		if _, ok := w.store.Log("t", p); !ok {
			w.create(p)
		}
	}
}

func (w *stopWorld) create(p int32) {
	if _, err := w.store.Create("t", p, testID, w.cfg); err != nil {
		w.t.Fatal(err)
	}
}

func (w *stopWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// work does n things. The last partition is seldom touched.
func (w *stopWorld) work(n int) {
	for range n {
		logs := w.store.allLogs()
		slices.SortFunc(logs, func(a, b *Log) int { return strings.Compare(a.Dir(), b.Dir()) })
		l := logs[w.rng.IntN(len(logs))]
		if l.partition == 3 && w.rng.IntN(8) > 0 {
			continue
		}
		switch p := w.rng.IntN(100); {
		case p < 60:
			w.append(l)
		case p < 66:
			w.must(l.Flush())
			w.flushed[l.Dir()] = l.writer.tail // A cut batch leaves a gap behind it.
		case p < 72:
			l.SetHighWatermark(l.End().Offset)
		case p < 78:
			to := max(l.Start(), l.End().Offset-w.rng.Int64N(12))
			w.must(l.Truncate(to))
			w.flushed[l.Dir()] = min(w.flushed[l.Dir()], l.writer.tail)
		case p < 81:
			w.flushed[l.Dir()] = 0
			w.must(l.TruncateFully(l.Start() + w.rng.Int64N(20)))
		case p < 85 && l.topic != metadataTopic: // The quorum keeps the start of that one.
			w.must(l.AdvanceStart(l.Start() + w.rng.Int64N(l.HighWatermark().Offset-l.Start()+1)))
		case p < 89 && p > 84:
			l.AssignEpoch(l.LastEpoch() + 1)
		case p < 93:
			w.now = w.now.Add(time.Duration(w.rng.IntN(400)) * time.Second)
			w.must(w.store.Maintain(w.now))
		case p < 96:
			compactNow(w.store)
		case p < 98 && l.topic != metadataTopic:
			delete(w.flushed, l.Dir())
			w.must(w.store.Delete(l))
			w.create(l.partition)
		}
	}
}

// append adds a batch of some kind.
func (w *stopWorld) append(l *Log) {
	pid, next, open := int64(w.rng.IntN(3)), int32(0), false
	for _, e := range l.Producers() {
		if e.ProducerID == pid {
			next, open = e.LastSequence+1, e.TxnFirst >= 0
		}
	}
	b := keyed(t0, 0, "value", fmt.Sprint("k", w.rng.IntN(5)), "k")
	switch w.rng.IntN(4) {
	case 0:
		b = produced(pid, 0, next, 1+w.rng.IntN(3), open, w.now)
	case 1:
		b = produced(pid, 0, next, 1, true, w.now)
	case 2:
		if open {
			b = marker(pid, 0, w.rng.IntN(2) == 0, w.now)
		}
	}
	if l.config.Load().Compact && !b.Control() && b.ProducerID() >= 0 {
		b = keyedOf(batch.Meta{ProducerID: pid, BaseSequence: next, Transactional: open}, w.now, "value", fmt.Sprint("k", w.rng.IntN(5)))
	}
	mustAppendAs(w.t, l, b, max(l.LastEpoch(), 0))
}

func mustAppendAs(t *testing.T, l *Log, b batch.Batch, epoch int32) {
	t.Helper()
	b.SetBaseOffset(l.End().Offset)
	b.SetLeaderEpoch(epoch)
	if err := l.AppendReplica(t0, b); err != nil {
		t.Fatal(err)
	}
}

// stopped is what a start must find of a log after a stop.
type stopped struct {
	Start, End, HW int64
	Batches        string
	Epochs         string
	Producers      string
	Aborted        string
}

// content is what the logs hold, by directory.
func (w *stopWorld) content() map[string]stopped {
	all := make(map[string]stopped)
	for _, l := range w.store.allLogs() {
		if !l.onDisk.Load() {
			continue
		}
		aborted, err := l.Aborted(l.Start(), math.MaxInt64)
		w.must(err)
		producers := ""
		for _, e := range l.Producers() {
			producers += fmt.Sprintf("%+v\n", e)
		}
		// A truncation through a batch leaves a gap at the end that no restart knows of.
		end := max(l.writer.tail, l.Start())
		all[l.Dir()] = stopped{
			l.Start(), end, min(l.HighWatermark().Offset, end), showBatches(batchesOf(w.t, l)),
			fmt.Sprint(epochsBelow(l, end)), producers, fmt.Sprint(aborted),
		}
	}
	return all
}

func showBatches(bs []batch.Batch) string {
	var text strings.Builder
	for _, b := range bs {
		fmt.Fprintf(&text, "%d-%d %d bytes, sum %x\n", b.BaseOffset(), b.LastOffset(), len(b), sha256.Sum256(b))
	}
	return text.String()
}

// epochsBelow are the leader epochs that begin below an offset: the file need not have
// one without a batch.
func epochsBelow(l *Log, end int64) (list checkpoint.Epochs) {
	for _, e := range l.mu.epochs {
		if e.Start < end {
			list = append(list, e)
		}
	}
	return list
}

// compareStart opens the store. After a clean stop all is as it was, but for the high
// watermark of the metadata log, which is in no checkpoint; else what was flushed is.
func (w *stopWorld) compareStart(disk *vfs.Mem, want map[string]stopped, flushed map[string]int64, clean bool) {
	w.t.Helper()
	reads := 0
	fs := vfs.NewFault(disk)
	fs.Hook(func(e vfs.Event) {
		if e.Op == vfs.OpRead && strings.HasSuffix(e.Path, ".log") && e.Len > 64<<10 {
			reads++
		}
	})
	after := *w
	after.fs = fs
	after.open()
	defer func() { w.must(after.store.Abandon()) }()
	if _, got := after.store.CleanShutdown(); got != clean {
		w.t.Fatalf("clean stop: %v, want %v", got, clean)
	}
	got := after.content()
	for dir, is := range got {
		was := want[dir]
		if filepath.Base(dir) == metadataTopic+"-0" {
			was.HW, is.HW, was.Start, is.Start = 0, 0, 0, 0
		}
		if clean {
			if diff := cmp.Diff(was, is); diff != "" {
				w.t.Fatalf("%s after a clean stop (-before +after)\n%s", dir, diff)
			}
			continue
		}
		if is.End < min(flushed[dir], was.End) || is.Start > max(was.Start, is.End) {
			w.t.Fatalf("%s is [%d, %d), was [%d, %d), flushed up to %d", dir, is.Start, is.End, was.Start, was.End, flushed[dir])
		}
	}
	for dir, was := range want {
		if _, ok := got[dir]; !ok && (clean || flushed[dir] > was.Start) {
			w.t.Fatalf("%s is gone, flushed up to %d", dir, flushed[dir])
		}
	}
	if clean && reads > 0 {
		w.t.Fatalf("%d large reads of batches in a start after a clean stop", reads)
	}
}

// readTree returns the files below a directory, by path, but for those on their way out.
func readTree(t *testing.T, disk vfs.FS, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	entries, err := disk.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasSuffix(path, ".deleted"), strings.HasSuffix(path, deleteSuffix), e.Name() == lockName:
		case e.IsDir():
			for name, content := range readTree(t, disk, path) {
				files[name] = content
			}
		default:
			b, err := vfs.ReadFile(disk, path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			files[path] = string(b)
		}
	}
	return files
}
