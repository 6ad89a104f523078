package logstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

func TestStoreIsLocked(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if _, err := Open(Options{Dir: dir}); !errors.As(err, &locked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second open: %v", err)
	}
	closeStore(t, s)
	s, err = Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Abandon(); err != nil {
		t.Error(err)
	}
}

func TestStoreRefusesNewerFormats(t *testing.T) {
	for file, content := range map[string]string{
		"meta.properties":                  "version=2\ncluster.id=x\nnode.id=1\n",
		"recovery-point-offset-checkpoint": "1\n0\n",
	} {
		fs := vfs.NewMem()
		if err := fs.MkdirAll(dataDir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := vfs.WriteFileAtomic(fs, dataDir+"/"+file, []byte(content)); err != nil {
			t.Fatal(err)
		}
		var newer *NewerFormatError
		if _, err := Open(Options{Dir: dataDir, FS: fs}); !errors.As(err, &newer) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestStoreNotWritable(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var not *NotWritableError
	_, err := Open(Options{Dir: file + "/data"})
	if !errors.As(err, &not) {
		t.Fatalf("below a file: %v", err)
	}
	// Whose permissions are missing is what the owner of a mounted folder has to know.
	if want := fmt.Sprintf("is not writable by uid %d, gid %d: ", os.Getuid(), os.Getgid()); os.Getuid() >= 0 && !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, want %q in it", err, want)
	}
}

func TestFormat(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open(Options{Dir: dataDir, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Meta(); ok {
		t.Error("an empty directory is formatted")
	}
	want := Meta{ClusterID: "abc", NodeID: 3, DirectoryID: testID}
	if err := s.Format(want); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	s, err = Open(Options{Dir: dataDir, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := s.Meta(); !ok || got != want {
		t.Errorf("meta %+v", got)
	}
}

func TestParseDirName(t *testing.T) {
	uuid := strings.Repeat("0a", 16)
	for name, want := range map[string]string{
		"a-0":                      "a 0 0",
		"a.b-c-12":                 "a.b-c 12 0",
		"x-delete-3":               "x-delete 3 0",
		"a-0." + uuid + "-delete":  "a 0 1",
		"a.b-0." + uuid + "-stray": "a.b 0 2",
		"a-7." + uuid + "-future":  "a 7 3",
		"nodash":                   "no dash",
		"-0":                       "no topic",
		"a-x":                      `"x" is not a partition number`,
		"a--1":                     "a- 1 0", // Kafka too takes the last dash.
		"a-4294967296":             `"4294967296" is not a partition number`,
		"a-delete":                 `"delete" is not a partition number`,
	} {
		topic, partition, kind, reason := parseDirName(name)
		got := fmt.Sprintf("%s %d %d", topic, partition, kind)
		if reason != "" {
			got = reason
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	long := leavingName(strings.Repeat("t", 249), 12345, deleteSuffix)
	if len(long) > maxNameBytes {
		t.Errorf("name of %d bytes", len(long))
	}
	if _, partition, kind, reason := parseDirName(long); partition != 12345 || kind != deletedDir || reason != "" {
		t.Errorf("%s: %d %d %s", long, partition, kind, reason)
	}
}

func TestLoadRefusesStrangeDirectories(t *testing.T) {
	fs := vfs.NewMem()
	for _, name := range []string{"lost+found", "remote-log-index-cache", ".snapshots"} {
		if err := fs.MkdirAll(dataDir+"/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, openStore(t, fs, Config{}))
	if err := fs.MkdirAll(dataDir+"/backup", 0o755); err != nil {
		t.Fatal(err)
	}
	var name *DirNameError
	if _, err := tryOpen(fs, Config{}); !errors.As(err, &name) || !strings.Contains(err.Error(), "backup") {
		t.Errorf("strange directory: %v", err)
	}
}

// TestCloseAfterUnfinishedLoad: a store that has not looked at all of its logs does
// not vouch for them, and leaves what is known of them.
func TestCloseAfterUnfinishedLoad(t *testing.T) {
	fs := vfs.NewMem()
	s, l := openLog(t, fs, Config{})
	mustAppend(t, l, records(5, t0, "x"))
	l.SetHighWatermark(4)
	if err := l.AdvanceStart(2); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)

	stop := errors.New("stopped while loading")
	s, err := Open(Options{Dir: dataDir, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	keep := func(string, int32, [16]byte) (Config, Keep) { return Config{}, KeepLog }
	if err := s.Load(ctx, keep); !errors.Is(err, stop) {
		t.Fatal("load:", err)
	}
	closeStore(t, s)

	s, l = openLog(t, fs, Config{})
	if _, clean := s.CleanShutdown(); clean {
		t.Error("the stop was marked as a clean one")
	}
	if l.Start() != 2 || l.HighWatermark().Offset != 4 || l.End().Offset != 5 {
		t.Errorf("the log is [%d, %d), committed below %d", l.Start(), l.End().Offset, l.HighWatermark().Offset)
	}
	closeStore(t, s)
	if _, clean := openStore(t, fs, Config{}).CleanShutdown(); !clean {
		t.Error("the stop after a finished load was not marked as a clean one")
	}
}

func TestDeleteAndCreateAgain(t *testing.T) {
	fs := vfs.NewMem()
	s, l := openLog(t, fs, Config{FileDeleteDelay: time.Minute})
	want := records(3, t0, "old")
	mustAppend(t, l, want)
	span, err := l.Read(0, 1000, l.End(), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(l); err != nil {
		t.Fatal(err)
	}
	var closed *ClosedError
	if _, err := l.Append(t0, records(1, t0, "x"), 1, 0); !errors.As(err, &closed) {
		t.Errorf("append to a deleted log: %v", err)
	}
	again, err := s.Create("t", 0, [16]byte{9}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if a := mustAppend(t, again, records(1, t0, "new")); a.Base != 0 {
		t.Errorf("new log begins at %d", a.Base)
	}
	got := make([]byte, span.Len())
	if err := span.Copy(got); err != nil || string(got) != string(want) {
		t.Errorf("span of the deleted log: %v", err)
	}
	span.Release()
	span.Release() // Does nothing.
	if n := countDirs(t, fs, deleteSuffix); n != 1 {
		t.Errorf("%d directories wait for removal", n)
	}
	if err := s.Maintain(s.now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n := countDirs(t, fs, deleteSuffix); n != 0 {
		t.Errorf("%d directories were not removed", n)
	}
	var exists *ExistsError
	if _, err := s.Create("t", 0, [16]byte{9}, Config{}); !errors.As(err, &exists) {
		t.Errorf("create twice: %v", err)
	}
}

func countDirs(t *testing.T, fs vfs.FS, suffix string) (n int) {
	t.Helper()
	entries, err := fs.ReadDir(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			n++
		}
	}
	return n
}

// TestStrays: what the metadata does not assign here is put aside, and what was deleted
// is deleted again.
func TestStrays(t *testing.T) {
	fs := vfs.NewMem()
	s := openStore(t, fs, Config{})
	for i := range int32(3) {
		l, err := s.Create("t", i, testID, Config{})
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, records(1, t0, "x"))
	}
	closeStore(t, s)
	s, err := Open(Options{Dir: dataDir, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Load(context.Background(), func(_ string, partition int32, id [16]byte) (Config, Keep) {
		if id != testID {
			t.Errorf("topic id %v", id)
		}
		return Config{}, Keep(partition)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Logs()) != 1 || countDirs(t, fs, straySuffix) != 1 || countDirs(t, fs, deleteSuffix) != 1 {
		t.Errorf("%d logs, %d stray, %d deleted", len(s.Logs()), countDirs(t, fs, straySuffix), countDirs(t, fs, deleteSuffix))
	}
	closeStore(t, s)
	s = openStore(t, fs, Config{})
	if err := s.Maintain(s.now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if countDirs(t, fs, straySuffix) != 1 || countDirs(t, fs, deleteSuffix) != 0 {
		t.Errorf("after a restart: %d stray, %d deleted", countDirs(t, fs, straySuffix), countDirs(t, fs, deleteSuffix))
	}
}

// TestCreateTouchesNoDisk: a partition that nobody writes to has no files.
func TestCreateTouchesNoDisk(t *testing.T) {
	fs := vfs.NewFault(vfs.NewMem())
	s := openStore(t, fs, Config{})
	fs.StartTrace(dataDir)
	l, err := s.Create("t", 0, testID, Config{})
	if err != nil {
		t.Fatal(err)
	}
	l.AssignEpoch(5)
	l.SetHighWatermark(0)
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(0, 100, l.End(), true); err != nil {
		t.Fatal(err)
	}
	if trace := fs.TakeTrace(); trace != "" {
		t.Errorf("an empty log did\n%s", trace)
	}
}

// TestDirectoryInTheWay: what lies where a new partition's directory is to be does not
// become part of it.
func TestDirectoryInTheWay(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	s, l := openLog(t, fs, Config{})
	mustAppend(t, l, records(3, t0, "old"))
	fs.Inject(vfs.Rule{Op: vfs.OpRename, Path: "t-0", Err: os.ErrPermission})
	if err := s.Delete(l); err == nil {
		t.Fatal("delete succeeded")
	}
	l, err := s.Create("t", 0, [16]byte{9}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	fs.Inject(vfs.Rule{Op: vfs.OpWrite, Path: "t-0/partition.metadata.tmp", Err: os.ErrPermission})
	if _, err := l.Append(t0, records(1, t0, "new"), 1, 0); err == nil {
		t.Fatal("append without partition.metadata succeeded")
	}
	mustAppend(t, l, records(1, t0, "new"))
	if n := countDirs(t, disk, straySuffix); n != 1 {
		t.Errorf("%d directories were put aside", n)
	}
	closeStore(t, s)
	_, l = openLog(t, disk, Config{})
	if l.End().Offset != 1 || l.TopicID() != [16]byte{9} {
		t.Errorf("log ends at %d, topic id %v", l.End().Offset, l.TopicID())
	}
}

// TestIdleRestartWritesNoOffsets: a start that finds what the stop before it wrote does
// not write the same again.
func TestIdleRestartWritesNoOffsets(t *testing.T) {
	fs := vfs.NewFault(vfs.NewMem())
	s, l := openLog(t, fs, Config{})
	mustAppend(t, l, records(3, t0, "value"))
	l.SetHighWatermark(2)
	closeStore(t, s)

	fs.StartTrace(dataDir)
	s, _ = openLog(t, fs, Config{})
	if err := s.Maintain(t0); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	trace := fs.TakeTrace()
	for _, name := range []string{checkpoint.HighWatermarks, checkpoint.LogStarts} {
		if strings.Contains(trace, name) {
			t.Errorf("%s is written again:\n%s", name, trace)
		}
	}
}
