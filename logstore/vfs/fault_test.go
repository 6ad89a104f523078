package vfs

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFaultFailsTheChosenCalls(t *testing.T) {
	for name, tc := range map[string]struct {
		rule Rule
		want []bool // Which of the writes a.log, b.log, a.log, a.index, a.log fail.
	}{
		"the first":           {Rule{Op: OpWrite}, []bool{true, false, false, false, false}},
		"the third":           {Rule{Op: OpWrite, Skip: 2}, []bool{false, false, true, false, false}},
		"two from the second": {Rule{Op: OpWrite, Skip: 1, Times: 2}, []bool{false, true, true, false, false}},
		"all of a kind":       {Rule{Op: OpWrite, Path: "*.log", Times: -1}, []bool{true, true, true, false, true}},
		"by directory":        {Rule{Op: OpAny, Path: "d/a.*", Skip: 1, Times: -1}, []bool{false, false, true, true, true}},
		"another directory":   {Rule{Op: OpWrite, Path: "e/*", Times: -1}, []bool{false, false, false, false, false}},
		"a deeper pattern":    {Rule{Op: OpWrite, Path: "*/*/*/*/*", Times: -1}, []bool{false, false, false, false, false}},
		"another operation":   {Rule{Op: OpSync, Times: -1}, []bool{false, false, false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMem()
			must(t, m.MkdirAll("/d", 0o755))
			f := NewFault(m)
			files := map[string]File{}
			for _, n := range []string{"a.log", "b.log", "a.index"} {
				files[n] = open(t, f, "/d/"+n, os.O_CREATE|os.O_RDWR)
			}
			tc.rule.Err = syscall.EIO
			f.Inject(tc.rule)
			var got []bool
			for _, n := range []string{"a.log", "b.log", "a.log", "a.index", "a.log"} {
				_, err := files[n].WriteAt([]byte("x"), 0)
				if err != nil && !errors.Is(err, syscall.EIO) {
					t.Fatal(err)
				}
				got = append(got, err != nil)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			f.Heal()
			write(t, files["a.log"], 0, "x")
		})
	}
}

func TestFaultWritesAPart(t *testing.T) {
	for want, partial := range map[string]int{"": 0, "ab": 2, "abc": 99} {
		f := NewFault(NewMem())
		file := open(t, f, "/f", os.O_CREATE|os.O_RDWR)
		f.Inject(Rule{Op: OpWrite, Err: syscall.ENOSPC, PartialBytes: partial})
		n, err := file.WriteAt([]byte("abcd"), 0)
		if n != len(want) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("partial %d: wrote %d, %v", partial, n, err)
		}
		if got := read(t, f, "/f"); got != want {
			t.Errorf("partial %d: content %q, want %q", partial, got, want)
		}
	}
}

// TestFaultSyncThatLies is what programs that retry a failed sync fall for.
func TestFaultSyncThatLies(t *testing.T) {
	m := NewMem()
	f := NewFault(m)
	file := open(t, f, "/f", os.O_CREATE|os.O_RDWR)
	must(t, f.SyncDir("/"))
	write(t, file, 0, "durable")
	must(t, file.Sync())
	write(t, file, 7, " lost")
	f.Inject(Rule{Op: OpSync, Err: syscall.EIO, Discard: true})
	if err := file.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("first sync: %v", err)
	}
	must(t, file.Sync())
	if got := read(t, f, "/f"); got != "durable lost" {
		t.Errorf("the cache holds %q", got)
	}
	write(t, file, 12, " more")
	must(t, file.Sync())
	after := m.Crash(rand.New(rand.NewPCG(1, 1)), CrashKeepAll)
	if got := read(t, after, "/f"); got != "durable\x00\x00\x00\x00\x00 more" {
		t.Errorf("the disk holds %q", got)
	}
}

func TestFaultOfEveryKind(t *testing.T) {
	m := NewMem()
	must(t, m.MkdirAll("/d", 0o755))
	f := NewFault(m)
	file := open(t, f, "/d/f", os.O_CREATE|os.O_RDWR)
	calls := map[Op]func() error{
		OpOpen:      func() error { _, err := f.OpenFile("/d/f", os.O_RDWR, 0); return err },
		OpRead:      func() error { _, err := file.ReadAt(make([]byte, 0), 0); return err },
		OpWrite:     func() error { _, err := file.WriteAt([]byte("x"), 0); return err },
		OpTruncate:  func() error { return file.Truncate(0) },
		OpSync:      func() error { return file.Sync() },
		OpAllocate:  func() error { return file.Allocate(0, 1) },
		OpClose:     func() error { g, _ := f.OpenFile("/d/f", os.O_RDWR, 0); return g.Close() },
		OpRemove:    func() error { return f.Remove("/d/f") },
		OpRemoveAll: func() error { return f.RemoveAll("/d/none") },
		OpRename:    func() error { return f.Rename("/d/f", "/d/f") },
		OpMkdir:     func() error { return f.MkdirAll("/d", 0o755) },
		OpReadDir:   func() error { _, err := f.ReadDir("/d"); return err },
		OpStat:      func() error { _, err := f.Stat("/d/f"); return err },
		OpSyncDir:   func() error { return f.SyncDir("/d") },
		OpLock:      func() error { _, err := f.Lock("/d/f"); return err },
	}
	for op := OpOpen; op < ops; op++ {
		t.Run(op.String(), func(t *testing.T) {
			f.Heal()
			f.Inject(Rule{Op: op, Err: syscall.EIO})
			if err := calls[op](); !errors.Is(err, syscall.EIO) {
				t.Errorf("failing call: %v", err)
			}
			if err := calls[op](); err != nil {
				t.Errorf("next call: %v", err)
			}
			if op == OpRemove {
				open(t, f, "/d/f", os.O_CREATE|os.O_RDWR)
			}
		})
	}
}

func TestFaultTrace(t *testing.T) {
	m := NewMem()
	root := filepath.FromSlash("/root")
	must(t, m.MkdirAll(root, 0o755))
	f := NewFault(m)
	f.StartTrace(root)
	must(t, WriteFileAtomic(f, filepath.Join(root, "check"), []byte("0\n0\n")))
	f.Inject(Rule{Op: OpSync, Err: syscall.EIO})
	if err := WriteFileAtomic(f, filepath.Join(root, "check"), []byte("0\n1\n")); err == nil {
		t.Error("no error from a failed sync")
	}
	if _, err := ReadFile(f, filepath.Join(root, "check")); err != nil {
		t.Error(err)
	}
	const want = `open check.tmp create truncate
write check.tmp 0+4
sync check.tmp
rename check.tmp -> check
syncdir .
open check.tmp create truncate
write check.tmp 0+4
sync check.tmp ! input/output error
remove check.tmp
`
	if diff := cmp.Diff(want, f.TakeTrace()); diff != "" {
		t.Error(diff)
	}
	if got := f.TakeTrace(); got != "" {
		t.Errorf("taken twice: %q", got)
	}
}

// TestWriteFileAtomicAtEveryCall cuts the power before every call of an atomic
// write: the old content or the new must be there, whole.
func TestWriteFileAtomicAtEveryCall(t *testing.T) {
	m := NewMem()
	must(t, WriteFileAtomic(m, "/f", []byte("the old content")))
	f := NewFault(m)
	rng := rand.New(rand.NewPCG(1, 2))
	moments, seen := 0, map[string]bool{}
	f.Hook(func(e Event) {
		moments++
		for _, mode := range CrashModes() {
			for range 20 {
				after := m.Crash(rng, mode)
				got := read(t, after, "/f")
				if seen[got] = true; got != "the old content" && got != "new" {
					t.Fatalf("%v before %v of %s: %q", mode, e.Op, e.Path, got)
				}
			}
		}
	})
	must(t, WriteFileAtomic(f, "/f", []byte("new")))
	if moments != 6 || len(seen) != 2 {
		t.Errorf("%d moments, %d outcomes; want 6 and 2", moments, len(seen))
	}
}

func TestBeforeSync(t *testing.T) {
	f := NewFault(NewMem())
	var got []string
	f.BeforeSync(func(e Event) { got = append(got, e.Op.String()+" "+e.Path) })
	must(t, WriteFileAtomic(f, "/f", []byte("x")))
	if diff := cmp.Diff([]string{"sync /f.tmp", "syncdir " + filepath.Dir("/f")}, got); diff != "" {
		t.Error(diff)
	}
}
