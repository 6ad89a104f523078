package logstore

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// unsyncedRename makes the next sync of the data directory fail: a checkpoint that is
// written there has its new content, and nobody can say whether after a power cut, too.
func unsyncedRename(fs *vfs.Fault) {
	fs.Inject(vfs.Rule{Op: vfs.OpSyncDir, Path: "data", Err: syscall.EIO})
}

// pointOf reads what a checkpoint says of the log of the tests.
func pointOf(t *testing.T, fs vfs.FS, name string) int64 {
	t.Helper()
	list, err := checkpoint.ReadOffsets(fs, dataDir+"/"+name)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		if o.Topic == "t" && o.Partition == 0 {
			return o.Offset
		}
	}
	return 0
}

// A checkpoint was renamed into place, and the sync of the directory failed. The tests
// then make smaller what it tells of: no file that a power cut may leave stands above.

// TestUnsyncedRecoveryPoint: what is truncated and written again is scanned.
func TestUnsyncedRecoveryPoint(t *testing.T) {
	for name, cut := range map[string]func(*Log) error{
		"truncate": func(l *Log) error { return l.Truncate(1) },
		"restart":  func(l *Log) error { return l.TruncateFully(1) },
	} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewMem()
			fs := vfs.NewFault(disk)
			s, l := openLog(t, fs, Config{SegmentBytes: 300})
			for l.Segments() < 4 {
				mustAppend(t, l, records(1, t0, "value"))
			}
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			unsyncedRename(fs)
			if err := s.writePoints(); err == nil {
				t.Fatal("points written without a sync of the directory")
			}
			if pointOf(t, disk, checkpoint.RecoveryPoints) == 0 {
				t.Fatal("no recovery point was written")
			}
			if err := cut(l); err != nil {
				t.Fatal(err)
			}
			for _, after := range []*vfs.Mem{disk, disk.Crash(nil, vfs.CrashLoseAll), disk.Crash(nil, vfs.CrashKeepAll)} {
				if got := pointOf(t, after, checkpoint.RecoveryPoints); got > 1 {
					t.Errorf("recovery point %d of a log that ends at 1", got)
				}
			}
		})
	}
}

// TestUnsyncedLogStart: a log that starts anew below its old start keeps its records.
func TestUnsyncedLogStart(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	s, l := openLog(t, fs, Config{})
	for range 20 {
		mustAppend(t, l, records(1, t0, "value"))
	}
	l.SetHighWatermark(20)
	if err := l.AdvanceStart(15); err != nil {
		t.Fatal(err)
	}
	unsyncedRename(fs)
	if err := s.writePoints(); err == nil {
		t.Fatal("points written without a sync of the directory")
	}
	if got := pointOf(t, disk, checkpoint.LogStarts); got != 15 {
		t.Fatalf("log start %d was written", got)
	}
	if err := l.TruncateFully(5); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		mustAppend(t, l, records(1, t0, "value"))
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	_, l = openLog(t, disk.Crash(nil, vfs.CrashLoseAll), Config{})
	if l.Start() != 5 || l.End().Offset != 8 || len(batchesOf(t, l)) != 3 {
		t.Errorf("after a power cut: log [%d, %d), want [5, 8)", l.Start(), l.End().Offset)
	}
}

// TestUnsyncedStartKeepsFiles: segments that retention took out of the log go when the
// new start is durable: not as long as its checkpoint could not be synced, though it was
// written and says the same ever since.
func TestUnsyncedStartKeepsFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		fs := vfs.NewFault(disk)
		cfg := Config{SegmentBytes: 300, Delete: true, RetentionBytes: 1, RetentionAge: -1}
		s, l := openLog(t, fs, cfg)
		for l.Segments() < 4 {
			mustAppend(t, l, records(1, t0, "value"))
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		l.SetHighWatermark(l.End().Offset)
		unsyncedRename(fs)
		if err := s.Maintain(time.Now()); err == nil {
			t.Fatal("retention without a sync of the directory")
		}
		for _, path := range []string{"00000000000000000000.log"} {
			if _, err := disk.Stat(l.join(path)); err != nil {
				t.Errorf("file is gone before the start is durable: %v", err)
			}
		}
		if err := s.Maintain(time.Now().Add(s.opt.RetentionInterval)); err != nil {
			t.Fatal(err)
		}
		after := disk.Crash(nil, vfs.CrashLoseAll)
		if got := pointOf(t, after, checkpoint.LogStarts); got != l.Start() {
			t.Errorf("log start %d is durable, files below %d are gone", got, l.Start())
		}
	})
}

// TestUnsyncedValueComesBack: a checkpoint was written and not synced, and what it tells
// of is again as it was before. The file is written all the same: it says otherwise.
func TestUnsyncedValueComesBack(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	s, l := openLog(t, fs, Config{})
	for range 20 {
		mustAppend(t, l, records(1, t0, "value"))
	}
	l.SetHighWatermark(5)
	if err := s.writeHighWatermarks(); err != nil {
		t.Fatal(err)
	}
	l.SetHighWatermark(10)
	unsyncedRename(fs)
	if err := s.writeHighWatermarks(); err == nil {
		t.Fatal("written without a sync of the directory")
	}
	if err := l.Truncate(5); err != nil {
		t.Fatal(err)
	}
	if err := s.writeHighWatermarks(); err != nil {
		t.Fatal(err)
	}
	for _, after := range []*vfs.Mem{disk, disk.Crash(nil, vfs.CrashLoseAll)} {
		if got := pointOf(t, after, checkpoint.HighWatermarks); got != 5 {
			t.Errorf("high watermark %d on disk, is 5", got)
		}
	}
}
