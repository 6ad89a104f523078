package broker

import (
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/moldau-broker/moldau/broker/internal/memnet"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestFailedSnapshotIsTriedAgain: a snapshot that could not be written comes later,
// also when nothing more is written to the metadata log.
func TestFailedSnapshotIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		fault := vfs.NewFault(disk)
		w := startWith(t, memnet.New(), disk, fault, map[string]string{
			"metadata.log.max.record.bytes.between.snapshots": "1",
		})
		wait := func(ticks time.Duration) {
			time.Sleep(ticks * 10 * time.Second)
			synctest.Wait()
		}
		wait(1)
		cl := w.client()
		defer cl.Close()
		if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), 1, 1, nil, "lines"); err != nil {
			t.Fatal(err)
		}
		fault.Inject(vfs.Rule{Op: vfs.OpSync, Path: "*.checkpoint.part", Times: 2, Err: syscall.ENOSPC})
		before := snapshotsOf(t, disk)
		wait(2)
		if n := strings.Count(w.log.String(), "metadata snapshot failed"); n != 1 {
			t.Errorf("the failure is said %d times, want once:\n%s", n, w.log)
		}
		if got := snapshotsOf(t, disk); got != before {
			t.Errorf("%d snapshots, %d before the disk was full", got, before)
		}
		wait(1)
		if got := snapshotsOf(t, disk); got != before+1 {
			t.Errorf("%d snapshots once the disk has room, want %d:\n%s", got, before+1, w.log)
		}
		// What is covered is not written again.
		wait(3)
		if got := snapshotsOf(t, disk); got != before+1 {
			t.Errorf("%d snapshots when nothing more was written, want %d", got, before+1)
		}
		w.end()
	})
}

// snapshotsOf counts the snapshots of the metadata log.
func snapshotsOf(t *testing.T, disk *vfs.Mem) int {
	t.Helper()
	files, err := disk.ReadDir("/data/" + metadataDir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".checkpoint") {
			n++
		}
	}
	return n
}
