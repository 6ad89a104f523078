package logstore

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestFullDisk: an append that does not fit leaves the log as it was, on disk too, and
// the next one that fits is appended.
func TestFullDisk(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	s, l := openLog(t, fs, Config{})
	mustAppend(t, l, records(3, t0, "first"))
	fs.Inject(vfs.Rule{Op: vfs.OpWrite, Path: "*.log", Err: syscall.ENOSPC, PartialBytes: 40})
	_, err := l.Append(t0, records(3, t0, "second"), 1, producer.Client)
	var storage *StorageError
	if !errors.As(err, &storage) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("append on a full disk: %v", err)
	}
	if l.End().Offset != 3 || l.Err() != nil {
		t.Fatalf("end %d, failed: %v", l.End().Offset, l.Err())
	}
	if a := mustAppend(t, l, records(1, t0, "third")); a.Base != 3 {
		t.Errorf("append after the disk was full at %d", a.Base)
	}
	closeStore(t, s)
	if err := Verify(disk, l.Dir(), true); err != nil {
		t.Error(err)
	}
}

// TestFullDiskIsTold: once when it begins, with the directory, and once when it is over.
func TestFullDiskIsTold(t *testing.T) {
	fs := vfs.NewFault(vfs.NewMem())
	var text strings.Builder
	s, err := Open(Options{Dir: "/data", FS: fs, Logger: slog.New(slog.NewTextHandler(&text, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	l, err := s.Create("t", 0, testID, Config{})
	if err != nil {
		t.Fatal(err)
	}
	fs.Inject(vfs.Rule{Op: vfs.OpWrite, Path: "*.log", Err: syscall.ENOSPC, Times: 3})
	for range 3 {
		if _, err := l.Append(t0, records(1, t0, "x"), 1, producer.Client); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	mustAppend(t, l, records(1, t0, "y"))
	mustAppend(t, l, records(1, t0, "z"))
	for line, want := range map[string]int{"log cannot be written": 1, "log is written again": 1, "dir=" + l.Dir(): 2, "no space left": 1} {
		if got := strings.Count(text.String(), line); got != want {
			t.Errorf("%q stands %d times in the log, want %d:\n%s", line, got, want, text.String())
		}
	}
}

// TestTornWrite: what was half written and could not be cut off must not be appended to.
func TestTornWrite(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	s, l := openLog(t, fs, Config{})
	want := mustAppend(t, l, records(3, t0, "first"))
	fs.Inject(vfs.Rule{Op: vfs.OpWrite, Path: "*.log", Err: syscall.EIO, PartialBytes: 40})
	fs.Inject(vfs.Rule{Op: vfs.OpTruncate, Path: "*.log", Err: syscall.EIO})
	for range 2 {
		var failed *FailedError
		if _, err := l.Append(t0, records(3, t0, "second"), 1, producer.Client); !errors.As(err, &failed) {
			t.Fatalf("append: %v", err)
		}
	}
	if got := drain(t, l, 0, 1000); len(got) == 0 {
		t.Error("a failed log is not read")
	}
	if err := s.Close(1); err == nil {
		t.Error("a store with a failed log was closed as if it were clean")
	}
	s, l = openLog(t, disk, Config{})
	if _, clean := s.CleanShutdown(); clean || l.End().Offset != want.Last+1 {
		t.Errorf("after restart: clean %v, end %d", clean, l.End().Offset)
	}
}

// TestFailedSync: after a sync failed, what it covered may be lost while a second one
// would report success. The log stays failed and nothing more counts as durable.
func TestFailedSync(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	_, l := openLog(t, fs, Config{FlushMessages: 1})
	mustAppend(t, l, records(1, t0, "x"))
	if err := l.Flush(); err != nil || l.Flushed() != 1 {
		t.Fatal(err, l.Flushed())
	}
	fs.Inject(vfs.Rule{Op: vfs.OpSync, Path: "*.log", Err: syscall.EIO, Discard: true})
	if a := mustAppend(t, l, records(1, t0, "x")); !a.FlushDue {
		t.Error("flush.messages=1 asks for no flush")
	}
	for range 2 {
		var failed *FailedError
		if err := l.Flush(); !errors.As(err, &failed) {
			t.Errorf("flush: %v", err)
		}
	}
	if l.Flushed() != 1 {
		t.Errorf("flushed up to %d", l.Flushed())
	}
	if _, err := l.Append(t0, records(1, t0, "x"), 1, producer.Client); err == nil {
		t.Error("a failed log took an append")
	}
}

// TestFailedRoll: when the next segment cannot be made the append fails, and the log
// goes on when it can.
func TestFailedRoll(t *testing.T) {
	for _, rule := range []vfs.Rule{
		{Op: vfs.OpOpen, Path: "00000000000000000003.log"},
		{Op: vfs.OpWrite, Path: "*.snapshot", PartialBytes: 5},
		{Op: vfs.OpWrite, Path: "*.timeindex"},
		{Op: vfs.OpOpen, Path: "*.index"},
	} {
		t.Run(rule.Op.String()+" "+rule.Path, func(t *testing.T) {
			rule.Err = syscall.ENOSPC
			disk := vfs.NewMem()
			fs := vfs.NewFault(disk)
			s, l := openLog(t, fs, Config{SegmentBytes: 150})
			mustAppend(t, l, records(3, t0, "x"))
			fs.Inject(rule)
			if _, err := l.Append(t0, records(3, t0, "x"), 1, producer.Client); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("append: %v", err)
			}
			if a := mustAppend(t, l, records(3, t0, "x")); a.Base != 3 || l.Segments() != 2 {
				t.Errorf("appended at %d, %d segments", a.Base, l.Segments())
			}
			closeStore(t, s)
			if err := Verify(disk, l.Dir(), true); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSharedFlush: while a sync runs, all who want the next one share it.
func TestSharedFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewFault(vfs.NewMem())
		_, l := openLog(t, fs, Config{})
		mustAppend(t, l, records(1, t0, "x"))
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		syncs, release := 0, make(chan struct{})
		fs.BeforeSync(func(vfs.Event) {
			mu.Lock()
			syncs++
			mu.Unlock()
			<-release
		})
		mustAppend(t, l, records(1, t0, "x"))
		var wg sync.WaitGroup
		flush := func() {
			if err := l.Flush(); err != nil {
				t.Error(err)
			}
		}
		wg.Go(flush)
		synctest.Wait() // It hangs in the sync of offset 1.
		mustAppend(t, l, records(1, t0, "x"))
		for range 20 {
			wg.Go(flush)
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		if syncs != 2 || l.Flushed() != 3 {
			t.Errorf("%d syncs for 21 flushes, flushed up to %d", syncs, l.Flushed())
		}
	})
}

// TestReadersDoNotWait: a disk that hangs in a write holds up nobody who reads, moves
// the high watermark or asks for the end.
func TestReadersDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewFault(vfs.NewMem())
		_, l := openLog(t, fs, Config{})
		b := records(3, t0, "x")
		mustAppend(t, l, b)
		release := make(chan struct{})
		fs.Hook(func(e vfs.Event) {
			if e.Op == vfs.OpWrite {
				<-release
			}
		})
		var wg sync.WaitGroup
		wg.Go(func() { mustAppend(t, l, records(1, t0, "x")) })
		synctest.Wait()
		if got := drain(t, l, 0, 1000); !bytes.Equal(got, b) {
			t.Error("read while a write hangs differs")
		}
		if !l.SetHighWatermark(3) || l.HighWatermark().Offset != 3 || l.End().Offset != 3 {
			t.Error("high watermark did not move")
		}
		close(release)
		wg.Wait()
	})
}

// TestFailedSyncAtStop: a stop that cannot make a log durable says why, and is no clean
// one.
func TestFailedSyncAtStop(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	s, l := openLog(t, fs, Config{})
	mustAppend(t, l, records(1, t0, "value"))
	fs.Inject(vfs.Rule{Op: vfs.OpSync, Path: "*.log", Err: syscall.EIO, Discard: true})
	if err := s.Close(1); !errors.Is(err, syscall.EIO) {
		t.Errorf("stop with a disk that fails: %v", err)
	}
	fs.Heal()
	if _, clean := openStore(t, disk, Config{}).CleanShutdown(); clean {
		t.Error("the stop counts as clean")
	}
}
