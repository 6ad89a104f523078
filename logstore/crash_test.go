package logstore

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// A night's run: go test -run Crash ./logstore -crash.ops=10000 -crash.seed=...
var (
	crashOps  = flag.Int("crash.ops", 60, "operations in TestCrashAtEverySync")
	crashSeed = flag.Uint64("crash.seed", 1, "seed of TestCrashAtEverySync")
)

// TestCrashAtEverySync works on a log and cuts the power before every sync of a file
// or directory, in every way that the model of the disk knows. Each future must open:
// with every acknowledged batch, with nothing that was never appended or was truncated,
// with indexes and producer state that fit, and ready to go on.
func TestCrashAtEverySync(t *testing.T) {
	for seed := *crashSeed; seed < *crashSeed+2; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			c := newCrasher(t, seed)
			for i := range *crashOps {
				c.op = fmt.Sprintf("seed %d, op %d", seed, i)
				c.step()
			}
			closeStore(t, c.store)
			if c.cuts == 0 {
				t.Error("the power was never cut")
			}
		})
	}
}

// crasher works on a log and knows what a crash may leave of it.
type crasher struct {
	t     *testing.T
	rng   *rand.Rand
	disk  *vfs.Mem
	fs    *vfs.Fault
	cfg   Config
	store *Store
	log   *Log
	now   time.Time

	// What a crash now may show: a prefix of one of these.
	timelines [][]batch.Batch
	acked     int64 // Everything below was acknowledged.
	start     int64 // Nothing at or above may be missing at the beginning.
	cuts      int
	op        string
}

func newCrasher(t *testing.T, seed uint64) *crasher {
	c := &crasher{
		t: t, rng: rand.New(rand.NewPCG(seed, 0)), disk: vfs.NewMem(), now: t0,
		cfg: Config{
			SegmentBytes: 900, IndexIntervalBytes: 150, FlushMessages: 1, Delete: true, RetentionBytes: 4000,
			RetentionAge: -1, ProducerIDExpiry: math.MaxInt64, FileDeleteDelay: 3 * time.Second,
		},
		timelines: [][]batch.Batch{nil},
	}
	c.fs = vfs.NewFault(c.disk)
	c.fs.BeforeSync(func(vfs.Event) { c.cut() })
	c.store, c.log = openLog(t, c.fs, c.cfg)
	return c
}

// current is the log as it is in memory.
func (c *crasher) current() *[]batch.Batch { return &c.timelines[len(c.timelines)-1] }

func (c *crasher) step() {
	c.now = c.now.Add(time.Duration(c.rng.IntN(900)) * time.Millisecond)
	switch p := c.rng.IntN(100); {
	case p < 70:
		c.append()
	case p < 78:
		c.truncate()
	case p < 84:
		hw := c.log.HighWatermark().Offset
		c.start = max(c.start, c.log.Start()+c.rng.Int64N(hw-c.log.Start()+1))
		c.must(c.log.AdvanceStart(c.start))
	case p < 90:
		// Retention moves the start by itself; where to is not known before.
		c.start = c.log.HighWatermark().Offset
		_, err := c.log.Retain(c.now)
		c.must(err)
		c.start = c.log.Start()
	case p < 98:
		c.start = c.log.HighWatermark().Offset // It retains, too.
		c.maintain()
		c.start = c.log.Start()
	default:
		closeStore(c.t, c.store)
		c.store, c.log = openLog(c.t, c.fs, c.cfg)
	}
}

// maintain does the upkeep, now and then on a disk that refuses to sync a directory once:
// what was written there is seen, and may be gone after a power cut. A log that takes this
// for its failure is opened anew.
func (c *crasher) maintain() {
	if c.rng.IntN(2) == 0 {
		c.now = c.now.Add(c.store.opt.PointsInterval)
	}
	if c.rng.IntN(2) == 0 {
		c.fs.Inject(vfs.Rule{Op: vfs.OpSyncDir, Skip: c.rng.IntN(3), Err: syscall.EIO})
	}
	err := c.store.Maintain(c.now)
	c.fs.Heal()
	if !errors.Is(err, syscall.EIO) {
		c.must(err)
	}
	if c.log.Err() != nil {
		c.must(c.store.Abandon())
		c.store, c.log = openLog(c.t, c.fs, c.cfg)
	}
}

func (c *crasher) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("%s: %v", c.op, err)
	}
}

// append adds a batch of some kind and acknowledges it, mostly.
func (c *crasher) append() {
	pid := int64(c.rng.IntN(3))
	e := producer.Entry{ProducerID: pid, LastSequence: -1, TxnFirst: -1}
	for _, known := range c.log.Producers() {
		if known.ProducerID == pid {
			e = known
		}
	}
	var b batch.Batch
	switch txn := e.TxnFirst >= 0; c.rng.IntN(4) {
	case 0:
		b = records(1+c.rng.IntN(4), c.now, "plain")
	case 1:
		if txn {
			b = marker(pid, 0, c.rng.IntN(2) == 0, c.now)
			break
		}
		fallthrough
	case 2:
		b = produced(pid, 0, e.LastSequence+1, 1+c.rng.IntN(3), txn, c.now)
	case 3:
		b = produced(pid, 0, e.LastSequence+1, 1+c.rng.IntN(3), true, c.now)
	}
	o := producer.Client
	if b.Control() {
		o = producer.Coordinator
	}
	// A crash may show the batch from its first byte on; its stamps are known before.
	stamped := bytes.Clone(b)
	batch.Batch(stamped).SetBaseOffset(c.log.End().Offset)
	batch.Batch(stamped).SetLeaderEpoch(int32(len(c.op)))
	*c.current() = append(*c.current(), stamped)
	a, err := c.log.Append(c.now, b, int32(len(c.op)), o)
	c.must(err)
	if c.rng.IntN(4) == 0 || !a.FlushDue {
		return
	}
	c.must(c.log.Flush())
	c.acked = a.Last + 1
	c.log.SetHighWatermark(c.acked)
}

func (c *crasher) truncate() {
	end := c.log.End().Offset
	to := max(end-c.rng.Int64N(8), c.log.Start())
	cut := *c.current()
	for len(cut) > 0 && cut[len(cut)-1].LastOffset() >= to {
		cut = cut[:len(cut)-1]
	}
	// While it goes on, the old log may be seen as well as the cut one. A batch that was
	// cut off in whole because to lies inside it leaves a gap that no restart knows of.
	c.acked = min(c.acked, to)
	if n := len(cut); n > 0 {
		c.acked = min(c.acked, cut[n-1].NextOffset())
	} else {
		c.acked = 0
	}
	c.timelines = append(c.timelines, append([]batch.Batch(nil), cut...))
	c.must(c.log.Truncate(to))
	c.timelines = c.timelines[1:]
}

// cut looks at the futures of this moment.
func (c *crasher) cut() {
	for _, mode := range vfs.CrashModes() {
		c.cuts++
		seed := c.rng.Uint64()
		after := c.disk.Crash(rand.New(rand.NewPCG(seed, 0)), mode)
		where := fmt.Sprintf("%s, power cut %d (%v)", c.op, c.cuts, mode)
		s, err := tryOpen(after, c.cfg)
		if err != nil {
			c.t.Fatalf("%s: %v", where, err)
		}
		c.inspect(where, s)
		closeStore(c.t, s)
		if l, ok := s.Log("t", 0); ok && l.onDisk.Load() {
			if err := Verify(after, l.Dir(), false); err != nil {
				c.t.Fatalf("%s: %v", where, err)
			}
		}
	}
}

// inspect compares the log of a future with what may be there.
func (c *crasher) inspect(where string, s *Store) {
	l, ok := s.Log("t", 0)
	if !ok {
		if c.acked > c.start {
			c.t.Fatalf("%s: the log is gone, %d was acknowledged", where, c.acked)
		}
		return
	}
	var got []batch.Batch
	for b, err := range l.Batches(l.Start(), math.MaxInt64) {
		if err != nil {
			c.t.Fatalf("%s: %v", where, err)
		}
		got = append(got, bytes.Clone(b))
	}
	if end := l.End().Offset; end < c.acked {
		c.t.Fatalf("%s: log ends at %d, %d was acknowledged", where, end, c.acked)
	}
	if l.Start() > c.start && l.Start() > 0 {
		c.t.Fatalf("%s: log starts at %d, nothing above %d was removed", where, l.Start(), c.start)
	}
	if !c.possible(got, l.Start()) {
		c.t.Fatalf("%s: log [%d, %d) of %d batches was never there", where, l.Start(), l.End().Offset, len(got))
	}
	c.inspectProducers(where, l, got)
	// It must be ready to go on.
	if _, err := l.Append(c.now, records(2, c.now, "after"), math.MaxInt32, producer.Client); err != nil {
		c.t.Fatalf("%s: append: %v", where, err)
	}
	if err := l.Flush(); err != nil {
		c.t.Fatalf("%s: flush: %v", where, err)
	}
}

// possible says whether the batches are a piece of a timeline, without a hole.
func (c *crasher) possible(got []batch.Batch, start int64) bool {
	if len(got) == 0 {
		return true
	}
	for _, line := range c.timelines {
		i := 0
		for i < len(line) && line[i].LastOffset() < start {
			i++
		}
		if len(line)-i < len(got) {
			continue
		}
		same := true
		for j, b := range got {
			same = same && bytes.Equal(b, line[i+j])
		}
		if same {
			return true
		}
	}
	return false
}

// inspectProducers compares the producer state with one made from the batches alone.
func (c *crasher) inspectProducers(where string, l *Log, got []batch.Batch) {
	p := producer.New(math.MaxInt64)
	var aborted []producer.Aborted
	for _, b := range got {
		m, err := markerOf(b)
		c.must(err)
		if done := p.Apply(b, m); done != nil && done.Aborted {
			aborted = append(aborted, done.Index())
		}
	}
	if l.Start() == 0 { // Else it knows of more than is left to read.
		if diff := cmp.Diff(p.Entries(), l.Producers()); diff != "" {
			c.t.Fatalf("%s: producers (-batches +log)\n%s", where, diff)
		}
		have, err := l.Aborted(0, math.MaxInt64)
		c.must(err)
		if diff := cmp.Diff(aborted, have); diff != "" {
			c.t.Fatalf("%s: aborted transactions (-batches +log)\n%s", where, diff)
		}
	}
	for _, want := range p.Entries() {
		found := false
		for _, e := range l.Producers() {
			// A marker alone tells less than what was known when the data was removed.
			known := want.LastOffset < 0 || e.LastSequence == want.LastSequence && e.LastOffset == want.LastOffset
			found = found || e.ProducerID == want.ProducerID && known
		}
		if !found {
			c.t.Fatalf("%s: producer %+v is not in %+v", where, want, l.Producers())
		}
	}
}

// TestFlushWhileNamesAreSynced: a flush that comes while a truncation is syncing the
// directory must not be done before the names of its own segments are durable.
func TestFlushWhileNamesAreSynced(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	s, l := openLog(t, fs, Config{SegmentBytes: 300})
	mustAppend(t, l, records(1, t0, "value"))
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	for l.Segments() < 4 {
		mustAppend(t, l, records(1, t0, "value"))
	}
	to := l.state.Load().active().Base() - 1
	flushes := 0
	fs.BeforeSync(func(e vfs.Event) {
		if e.Op != vfs.OpSyncDir || flushes > 0 {
			return
		}
		flushes++
		if err := l.Flush(); err != nil {
			t.Errorf("flush: %v", err)
		}
		_, after := openLog(t, disk.Crash(nil, vfs.CrashLoseAll), Config{SegmentBytes: 300})
		if got := after.End().Offset; got < to {
			t.Errorf("a power cut after the flush left a log up to %d, want %d", got, to)
		}
	})
	if err := l.Truncate(to); err != nil { // Syncs the directory as the last segment goes.
		t.Fatal(err)
	}
	if flushes == 0 {
		t.Error("the truncation synced no directory")
	}
	closeStore(t, s)
}

// TestCrashInRecovery: the power goes while a start cuts a log in the middle. The start
// after that must find a prefix of the log as well, in a compacted topic too, where a
// segment that ends before the next one begins is nothing unusual.
func TestCrashInRecovery(t *testing.T) {
	disk := vfs.NewMem()
	cfg := Config{SegmentBytes: 300, Compact: true}
	s, l := openLog(t, disk, cfg)
	for l.Segments() < 4 {
		mustAppend(t, l, records(1, t0, "value"))
	}
	if err := s.Abandon(); err != nil {
		t.Fatal(err)
	}
	f, err := disk.OpenFile(l.state.Load().segments[1].Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff}, l.state.Load().segments[1].Size()-1); err != nil {
		t.Fatal(err)
	}
	disk = disk.Crash(nil, vfs.CrashKeepAll)
	fs, cuts := vfs.NewFault(disk), uint64(0)
	fs.BeforeSync(func(vfs.Event) {
		for _, mode := range vfs.CrashModes() {
			cuts++
			_, after := openLog(t, disk.Crash(rand.New(rand.NewPCG(cuts, 0)), mode), cfg)
			next := int64(0)
			for b, err := range after.Batches(0, math.MaxInt64) {
				if err != nil {
					t.Fatal(err)
				}
				if b.BaseOffset() != next {
					t.Fatalf("cut %d, %v: batch at %d follows %d", cuts, mode, b.BaseOffset(), next-1)
				}
				next = b.NextOffset()
			}
		}
	})
	s, _ = openLog(t, fs, cfg)
	fs.Hook(nil)
	closeStore(t, s)
}

// TestSealedAgainWhileSynced: a segment that waits to be synced becomes the newest by a
// truncation, and is sealed once more while a flush syncs it. The flush must not take
// what was written to its indexes after for synced.
func TestSealedAgainWhileSynced(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	s, l := openLog(t, fs, Config{SegmentBytes: 600, IndexIntervalBytes: 1})
	add := func() { mustAppend(t, l, records(1, t0.Add(time.Duration(l.End().Offset)*time.Second), "value")) }
	for l.Segments() < 2 {
		add()
	}
	if err := l.Truncate(3); err != nil {
		t.Fatal(err)
	}
	add()
	sealedAgain := false
	fs.BeforeSync(func(e vfs.Event) {
		if strings.HasSuffix(e.Path, ".snapshot") && !sealedAgain { // The indexes are synced.
			sealedAgain = true
			for l.Segments() < 2 {
				add()
			}
		}
	})
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if !sealedAgain {
		t.Fatal("no snapshot was synced")
	}
	if err := l.flushSealed(); err != nil {
		t.Fatal(err)
	}
	if l.recoveryPoint() == 0 {
		t.Fatal("the recovery point has not passed the segment")
	}
	want := readNames(t, disk, l.Dir())
	got := readNames(t, disk.Crash(nil, vfs.CrashLoseAll), l.Dir())
	for _, name := range []string{"00000000000000000000.index", "00000000000000000000.timeindex"} {
		if got[name] != want[name] {
			t.Errorf("%s has %d bytes after a power cut, want %d", name, len(got[name]), len(want[name]))
		}
	}
	closeStore(t, s)
}

// TestCrashWhileRecovering is the disk's half of case ST03: the power is cut, and cut
// again at every change that the recovery makes to the disk. No future of that is taken
// for a clean stop, and each opens as one of the first cut does.
func TestCrashWhileRecovering(t *testing.T) {
	c := newCrasher(t, *crashSeed)
	c.fs.Hook(nil)
	for i := range *crashOps {
		c.op = fmt.Sprintf("op %d", i)
		if c.step(); i%10 != 9 {
			continue
		}
		for _, mode := range vfs.CrashModes() {
			c.recover(mode)
		}
	}
	closeStore(t, c.store)
	if c.cuts == 0 {
		t.Error("the power was never cut in a recovery")
	}
}

// recover opens the log as a power cut leaves it, and looks at the futures of every
// change on the way.
func (c *crasher) recover(first vfs.CrashMode) {
	disk := c.disk.Crash(rand.New(rand.NewPCG(c.rng.Uint64(), 0)), first)
	fs := vfs.NewFault(disk)
	fs.Hook(func(e vfs.Event) {
		if !e.Mutates() {
			return
		}
		for _, mode := range vfs.CrashModes() {
			c.cuts++
			where := fmt.Sprintf("%s, %v, %v %s in recovery, %v", c.op, first, e.Op, e.Path, mode)
			after := disk.Crash(rand.New(rand.NewPCG(c.rng.Uint64(), 0)), mode)
			s, err := tryOpen(after, c.cfg)
			if err != nil {
				c.t.Fatalf("%s: %v", where, err)
			}
			if _, clean := s.CleanShutdown(); clean {
				c.t.Fatalf("%s: taken for a clean stop", where)
			}
			c.inspect(where, s)
			closeStore(c.t, s)
		}
	})
	s, err := tryOpen(fs, c.cfg)
	fs.Hook(nil)
	if err != nil {
		c.t.Fatalf("%s, %v: %v", c.op, first, err)
	}
	c.must(s.Abandon())
}

// TestStopSyncsSealedIndexes: a log that was cut to where its last segment begins has
// nothing to flush, and still the indexes of the one before must be durable when it
// stops, for the next start trusts them.
func TestStopSyncsSealedIndexes(t *testing.T) {
	disk := vfs.NewMem()
	cfg := Config{SegmentBytes: 300, IndexIntervalBytes: 1}
	s, l := openLog(t, disk, cfg)
	for l.state.Load().active().Base() == 0 {
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, records(1, t0.Add(time.Duration(l.End().Offset)), "value"))
	}
	if err := l.Truncate(l.state.Load().active().Base()); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)

	want := readNames(t, disk, l.Dir())
	if got := readNames(t, disk.Crash(nil, vfs.CrashLoseAll), l.Dir()); !cmp.Equal(got, want) {
		t.Errorf("a power cut after the stop changed files (-stopped +cut)\n%s", cmp.Diff(want, got))
	}
}

// TestStopSyncsRepairedIndexes: indexes that a start made anew are trusted by the one
// after the next stop, and by the manifest, so their names must be durable then.
func TestStopSyncsRepairedIndexes(t *testing.T) {
	disk := vfs.NewMem()
	cfg := Config{SegmentBytes: 300, IndexIntervalBytes: 1}
	s, l := openLog(t, disk, cfg)
	for l.Segments() < 3 {
		mustAppend(t, l, records(1, t0.Add(time.Duration(l.End().Offset)), "value"))
	}
	closeStore(t, s)
	for _, name := range []string{"00000000000000000000.index", "00000000000000000000.timeindex"} {
		if err := disk.Remove(l.Dir() + "/" + name); err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.SyncDir(l.Dir()); err != nil {
		t.Fatal(err)
	}
	s, l = openLog(t, disk, cfg)
	closeStore(t, s)

	want := readNames(t, disk, l.Dir())
	if got := readNames(t, disk.Crash(nil, vfs.CrashLoseAll), l.Dir()); !cmp.Equal(got, want) {
		t.Errorf("a power cut after the stop changed files (-stopped +cut)\n%s", cmp.Diff(want, got))
	}
}

// readNames returns the files of a directory.
func readNames(t *testing.T, fs vfs.FS, dir string) map[string]string {
	t.Helper()
	entries, err := fs.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for _, e := range entries {
		b, err := vfs.ReadFile(fs, dir+"/"+e.Name())
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}
