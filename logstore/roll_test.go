package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// rollCase is an append that needs a segment of its own and is refused by the disk, and
// one after it that does not need one.
type rollCase struct {
	refused, next batch.Batch
	base          int64 // Of the segment that the first would begin.
}

var rollCases = map[string]rollCase{
	"full segment": {stamped(3, 1, strings.Repeat("large", 20)), stamped(3, 2, "small"), 3},
	"gap":          {stamped(farOffset, 1, "far"), stamped(10, 2, "near"), farOffset},
}

// TestRollFailsAnywhere: whichever call to the disk fails in an append that begins a
// segment, that one alone or all from there on: the log is as it was, or takes no more
// writes. Then it goes on, and is stopped, or the power is cut.
func TestRollFailsAnywhere(t *testing.T) {
	for name, c := range rollCases {
		calls := c.run(t, vfs.Rule{Op: vfs.OpLock, Err: syscall.EIO}, false)
		for n := range calls {
			for _, times := range []int{1, -1} {
				for _, flushed := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, call %d, %d times, flushed %v", name, n, times, flushed), func(t *testing.T) {
						c.run(t, vfs.Rule{Op: vfs.OpAny, Skip: n, Times: times, Err: syscall.EIO}, flushed)
					})
				}
			}
		}
	}
}

// run returns how many calls to the disk the append made.
func (c rollCase) run(t *testing.T, rule vfs.Rule, flushed bool) (calls int) {
	disk := vfs.NewMem()
	disks := vfs.NewFault(disk)
	cfg := Config{Compact: true, Preallocate: true, SegmentBytes: 450}
	s, l := openLog(t, disks, cfg)
	want := []batch.Batch{replicated(t, l, stamped(0, 1, "first"))}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	disks.Hook(func(vfs.Event) { calls++ })
	disks.Inject(rule)
	disks.Inject(vfs.Rule{Op: vfs.OpWrite, Path: fmt.Sprintf("%020d.log", c.base), Err: syscall.ENOSPC, Times: -1})
	if err := l.AppendReplica(t0, c.refused); err == nil {
		t.Fatal("appended on a full disk")
	}
	disks.Hook(nil)
	disks.Heal()
	sure := len(want)
	if l.Err() == nil {
		want = append(want, replicated(t, l, c.next))
		compareBatches(t, l, want)
		if flushed {
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			sure = len(want)
		}
	}
	for _, mode := range vfs.CrashModes() {
		for seed := range uint64(5) {
			after := disk.Crash(rand.New(rand.NewPCG(seed, 0)), mode)
			c.restart(t, after, cfg, want, sure)
		}
	}
	if failed := l.Err() != nil; failed != (s.Close(1) != nil) {
		t.Errorf("log failed: %v, and the stop does not say so", failed)
	}
	// Without the manifest the start looks at the directory, and finds what is left in it.
	if err := disk.Remove(s.path(manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	c.restart(t, disk, cfg, want, len(want))
	return calls
}

// restart opens the log, which has the first sure batches of want at least, and lets it go
// on.
func (c rollCase) restart(t *testing.T, disk *vfs.Mem, cfg Config, want []batch.Batch, sure int) {
	t.Helper()
	s, l := openLog(t, disk, cfg)
	got := batchesOf(t, l)
	if len(got) < sure || len(got) > len(want) {
		t.Fatalf("%d batches, want %d to %d", len(got), sure, len(want))
	}
	want = want[:len(got)]
	if end := l.End().Offset; len(got) == 1 && end == c.base && sure == 1 {
		// The segment was begun, its batch not written; nothing is missing below.
	} else if end != want[len(want)-1].NextOffset() {
		t.Fatalf("log ends at %d, its last batch at %d", end, want[len(want)-1].NextOffset())
	}
	next := records(1, t0, "next")
	if _, err := l.Append(t0, next, math.MaxInt32, 0); err != nil {
		t.Fatal(err)
	}
	compareBatches(t, l, append(slices.Clip(want), next))
	closeStore(t, s)
	if err := Verify(disk, l.Dir(), false); err != nil {
		t.Fatal(err)
	}
}
