package logstore

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestPlanSettle goes through the states in which a crash can leave a compaction that
// replaces segments 0, 10 and 20 by 0 and 15, and a removal.
func TestPlanSettle(t *testing.T) {
	name := segment.FileName
	ends := map[int64]int64{0: 15, 15: 30, 40: 44, 50: 50}
	for what, tc := range map[string]struct {
		names []string
		want  settlement
	}{
		"still cleaning": {
			[]string{name(0, ".log"), name(0, ".log.cleaned"), name(10, ".log"), name(20, ".log"), name(30, ".log")},
			settlement{remove: []string{name(0, ".log.cleaned")}},
		},
		"renaming, from the highest base down": {
			[]string{name(0, ".log"), name(0, ".log.cleaned"), name(10, ".log"), name(15, ".log.swap"), name(20, ".log"), name(30, ".log")},
			settlement{remove: []string{name(0, ".log.cleaned"), name(15, ".log.swap")}},
		},
		"all renamed, sources still there": {
			[]string{name(0, ".index.swap"), name(0, ".log"), name(0, ".log.swap"), name(10, ".log"), name(10, ".timeindex"), name(15, ".log.swap"), name(20, ".log"), name(30, ".log")},
			settlement{
				remove: []string{name(0, ".log"), name(10, ".log"), name(10, ".timeindex"), name(20, ".log")},
				adopt:  []string{name(0, ".index.swap"), name(0, ".log.swap"), name(15, ".log.swap")},
			},
		},
		"sources being removed": {
			[]string{name(0, ".log.deleted"), name(0, ".log.swap"), name(10, ".log.deleted"), name(15, ".log.swap"), name(20, ".log"), name(30, ".log")},
			settlement{
				remove: []string{name(0, ".log.deleted"), name(10, ".log.deleted"), name(20, ".log")},
				adopt:  []string{name(0, ".log.swap"), name(15, ".log.swap")},
			},
		},
		"a swap of an earlier group is complete though a later group is being cleaned": {
			[]string{name(0, ".log.swap"), name(10, ".log"), name(30, ".log"), name(30, ".log.cleaned")},
			settlement{remove: []string{name(30, ".log.cleaned"), name(10, ".log")}, adopt: []string{name(0, ".log.swap")}},
		},
		"an empty segment says how far the sources went": {
			[]string{name(40, ".log.swap"), name(45, ".log"), name(50, ".index"), name(50, ".log"), name(50, ".log.swap"), name(60, ".log")},
			settlement{
				remove: []string{name(45, ".log"), name(50, ".index"), name(50, ".log")},
				adopt:  []string{name(40, ".log.swap"), name(50, ".log.swap")},
			},
		},
		"other files are left alone": {
			[]string{"leader-epoch-checkpoint", name(5, ".snapshot"), "x.swap"},
			settlement{},
		},
	} {
		t.Run(what, func(t *testing.T) {
			m := vfs.NewMem()
			if err := m.MkdirAll("/d", 0o755); err != nil {
				t.Fatal(err)
			}
			for _, n := range tc.names {
				if f, err := m.OpenFile("/d/"+n, os.O_CREATE|os.O_RDWR, 0o644); err != nil {
					t.Fatal(err)
				} else if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			entries, err := m.ReadDir("/d")
			if err != nil {
				t.Fatal(err)
			}
			got, err := planSettle(entries, func(base int64) (int64, error) { return ends[base], nil })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(settlement{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSettleCompletesCompaction opens a directory in which the swap files are complete.
func TestSettleCompletesCompaction(t *testing.T) {
	disk := vfs.NewMem()
	s, l := openLog(t, disk, Config{SegmentBytes: 200})
	for range 6 {
		mustAppend(t, l, records(2, t0, "x"))
	}
	closeStore(t, s)
	dir := l.Dir()
	// Segment 0 is its own replacement; the others are said to be its sources.
	for _, kind := range []string{".log", ".index", ".timeindex"} {
		from := dir + "/00000000000000000000" + kind
		if err := disk.Rename(from, from+".swap"); err != nil {
			t.Fatal(err)
		}
	}
	for _, extra := range []string{"00000000000000000000.log", "00000000000000000001.log"} {
		if err := vfs.WriteFileAtomic(disk, dir+"/"+extra, []byte("source")); err != nil {
			t.Fatal(err)
		}
	}
	s, l = openLog(t, disk, Config{SegmentBytes: 200})
	if l.Start() != 0 || l.End().Offset != 12 {
		t.Errorf("log [%d, %d)", l.Start(), l.End().Offset)
	}
	drain(t, l, 0, 100)
	closeStore(t, s)
	if err := Verify(disk, dir, true); err != nil {
		t.Error(err)
	}
}
