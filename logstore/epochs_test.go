package logstore

import (
	"testing"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestOlderEpochAfterCrash: a follower cuts off what it wrote as a leader and goes on
// with records of an epoch before that one. When it is killed before the epoch file is
// written, the file tells of the newer epoch; the scan must take that out of the history
// and nothing else, for by it the replica finds where its log and another's part.
func TestOlderEpochAfterCrash(t *testing.T) {
	fs := vfs.NewMem()
	s, l := openLog(t, fs, Config{})
	appendAt := func(epoch int32) {
		t.Helper()
		if _, err := l.Append(t0, records(1, t0, "v"), epoch, 0); err != nil {
			t.Fatal(err)
		}
	}
	appendAt(1)
	appendAt(3)
	appendAt(3)
	appendAt(5)
	if err := l.Flush(); err != nil { // Writes the file.
		t.Fatal(err)
	}
	if err := l.Truncate(3); err != nil {
		t.Fatal(err)
	}
	b := records(1, t0, "of the new leader")
	b.SetBaseOffset(3)
	b.SetLeaderEpoch(3)
	if err := l.AppendReplica(t0, b); err != nil {
		t.Fatal(err)
	}
	if err := s.Abandon(); err != nil {
		t.Fatal(err)
	}

	s, l = openLog(t, fs, Config{})
	defer closeStore(t, s)
	for offset, want := range []int32{1, 3, 3, 3} {
		if got := l.EpochAt(int64(offset)); got != want {
			t.Errorf("epoch at offset %d is %d, want %d", offset, got, want)
		}
	}
	if epoch, end := l.EpochEnd(2); epoch != 1 || end != 1 {
		t.Errorf("epoch 2 ends at %d, epoch %d; want 1, epoch 1", end, epoch)
	}
}

// TestEpochOfTailThatWasCut: the file still tells of an epoch that began where a batch of
// an older one has its middle now, when the process is killed. Every record of the batch
// has the epoch that the batch bears.
func TestEpochOfTailThatWasCut(t *testing.T) {
	disk := vfs.NewMem()
	s, l := openLog(t, disk, Config{})
	for epoch := range int32(2) {
		if _, err := l.Append(t0, records(1, t0, "cut off"), epoch, producer.Client); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Maintain(t0); err != nil { // It writes the epochs.
		t.Fatal(err)
	}
	if err := l.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t0, records(2, t0, "new"), 0, producer.Client); err != nil {
		t.Fatal(err)
	}
	if err := s.Abandon(); err != nil {
		t.Fatal(err)
	}
	s, l = openLog(t, disk.Crash(nil, vfs.CrashKeepAll), Config{})
	defer closeStore(t, s)
	for offset := range int64(2) {
		if got := l.EpochAt(offset); got != 0 {
			t.Errorf("record %d is of epoch %d, the batch bears 0", offset, got)
		}
	}
	if epoch, end := l.EpochEnd(0); l.LastEpoch() != 0 || epoch != 0 || end != 2 {
		t.Errorf("epoch %d ends at %d, the newest is %d", epoch, end, l.LastEpoch())
	}
}
