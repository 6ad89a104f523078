package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// each runs a test on every implementation: they must not be told apart.
func each(t *testing.T, test func(t *testing.T, fsys FS, dir string)) {
	t.Run("os", func(t *testing.T) { test(t, OS, t.TempDir()) })
	t.Run("mem", func(t *testing.T) {
		dir := filepath.FromSlash("/data")
		m := NewMem()
		must(t, m.MkdirAll(dir, 0o755))
		test(t, m, dir)
	})
	t.Run("fault", func(t *testing.T) { test(t, NewFault(OS), t.TempDir()) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, fsys FS, path string, flag int) File {
	t.Helper()
	f, err := fsys.OpenFile(path, flag, 0o644)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func write(t *testing.T, f File, off int64, s string) {
	t.Helper()
	n, err := f.WriteAt([]byte(s), off)
	if n != len(s) || err != nil {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(s), err)
	}
}

func read(t *testing.T, fsys FS, path string) string {
	t.Helper()
	b, err := ReadFile(fsys, path)
	must(t, err)
	return string(b)
}

func TestFileKeepsPositionsAndLength(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		path := filepath.Join(dir, "f")
		f := open(t, fsys, path, os.O_CREATE|os.O_RDWR)
		write(t, f, 3, "abc")
		write(t, f, 1, "xy")
		must(t, f.Truncate(5))
		must(t, f.Truncate(7))
		if got, want := read(t, fsys, path), "\x00xyab\x00\x00"; got != want {
			t.Errorf("read %q, want %q", got, want)
		}
		p := make([]byte, 4)
		if n, err := f.ReadAt(p, 5); n != 2 || !errors.Is(err, io.EOF) {
			t.Errorf("ReadAt over the end: %d, %v; want 2, EOF", n, err)
		}
		if n, err := f.ReadAt(p, 70); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("ReadAt behind the end: %d, %v; want 0, EOF", n, err)
		}
		if info, err := f.Stat(); err != nil || info.Size() != 7 || info.Name() != "f" {
			t.Errorf("Stat: %v, %v", info, err)
		}
		must(t, f.Sync())
		must(t, f.Close())
		if _, err := f.WriteAt(p, 0); !errors.Is(err, os.ErrClosed) {
			t.Errorf("write after close: %v", err)
		}
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("second close: %v", err)
		}
	})
}

func TestAllocateKeepsLength(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		f := open(t, fsys, filepath.Join(dir, "f"), os.O_CREATE|os.O_RDWR)
		write(t, f, 0, "abc")
		if err := f.Allocate(0, 1<<16); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		}
		if info, err := f.Stat(); err != nil || info.Size() != 3 {
			t.Errorf("size %d after Allocate, %v; want 3", info.Size(), err)
		}
	})
}

func TestOpenFlags(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		path := filepath.Join(dir, "f")
		if _, err := fsys.OpenFile(path, os.O_RDWR, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open of nothing: %v", err)
		}
		if _, err := fsys.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); !errors.Is(err, errAppend) {
			t.Errorf("open for appending: %v", err)
		}
		f := open(t, fsys, path, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
		write(t, f, 0, "abc")
		if _, err := f.ReadAt(make([]byte, 1), 0); err == nil {
			t.Error("read through a handle for writing only")
		}
		if _, err := fsys.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644); !errors.Is(err, fs.ErrExist) {
			t.Errorf("exclusive creation of a file that exists: %v", err)
		}
		r := open(t, fsys, path, os.O_RDONLY)
		if _, err := r.WriteAt([]byte("x"), 0); err == nil {
			t.Error("write through a handle for reading only")
		}
		if err := r.Truncate(0); err == nil {
			t.Error("truncate through a handle for reading only")
		}
		if _, err := fsys.OpenFile(dir, os.O_RDWR, 0); err == nil {
			t.Error("opened a directory for writing")
		}
		open(t, fsys, path, os.O_CREATE|os.O_TRUNC|os.O_RDWR)
		if got := read(t, fsys, path); got != "" {
			t.Errorf("truncating open left %q", got)
		}
	})
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		at := func(elems ...string) string { return filepath.Join(append([]string{dir}, elems...)...) }
		must(t, fsys.MkdirAll(at("a", "b"), 0o755))
		must(t, fsys.MkdirAll(at("a", "b"), 0o755))
		f := open(t, fsys, at("a", "b", "f"), os.O_CREATE|os.O_RDWR)
		write(t, f, 0, "old")
		must(t, WriteFileAtomic(fsys, at("a", "g"), []byte("new")))
		if err := fsys.Remove(at("a", "b")); err == nil {
			t.Error("removed a directory that is not empty")
		}
		if err := fsys.Rename(at("a", "none"), at("a", "x")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("rename of nothing: %v", err)
		}
		if err := fsys.Rename(at("a"), at("a", "b", "c")); err == nil {
			t.Error("moved a directory into itself")
		}
		must(t, fsys.Rename(at("a", "g"), at("a", "b", "f"))) // Replaces.
		must(t, fsys.Rename(at("a"), at("z")))
		must(t, fsys.SyncDir(dir))
		if got := read(t, fsys, at("z", "b", "f")); got != "new" {
			t.Errorf("after the renames: %q", got)
		}
		p := make([]byte, 3)
		if _, err := f.ReadAt(p, 0); err != nil || string(p) != "old" {
			t.Errorf("the replaced file through its handle: %q, %v", p, err)
		}
		if _, err := fsys.Stat(at("a")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("stat of the old name: %v", err)
		}
		must(t, fsys.RemoveAll(at("z", "b")))
		must(t, fsys.RemoveAll(at("z", "b")))
		if err := fsys.Remove(at("z", "b")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("remove of nothing: %v", err)
		}
		must(t, fsys.Remove(at("z")))
		if left := names(t, fsys, dir); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	})
}

func names(t *testing.T, fsys FS, dir string) []string {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	must(t, err)
	var list []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		list = append(list, name)
	}
	return list
}

func TestReadDirIsSorted(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		for _, name := range []string{"b", "a", "c"} {
			open(t, fsys, filepath.Join(dir, name), os.O_CREATE|os.O_RDWR)
		}
		must(t, fsys.MkdirAll(filepath.Join(dir, "aa"), 0o755))
		if diff := cmp.Diff([]string{"a", "aa/", "b", "c"}, names(t, fsys, dir)); diff != "" {
			t.Error(diff)
		}
		if _, err := fsys.ReadDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ReadDir of nothing: %v", err)
		}
	})
}

func TestLockIsExclusive(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		path := filepath.Join(dir, ".lock")
		l, err := fsys.Lock(path)
		must(t, err)
		if _, err := fsys.Lock(path); !errors.Is(err, ErrLocked) {
			t.Errorf("second lock: %v", err)
		}
		must(t, l.Close())
		l, err = fsys.Lock(path)
		must(t, err)
		must(t, l.Close())
	})
}

func TestUsage(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		total, usable, err := Usage(fsys, dir)
		if err != nil || total <= 0 || usable < 0 || usable > total {
			t.Errorf("Usage: %d of %d, %v", usable, total, err)
		}
	})
}

func TestWriteFileAtomicReplacesAndCleansUp(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		path := filepath.Join(dir, "f")
		must(t, WriteFileAtomic(fsys, path, bytes.Repeat([]byte("long"), 100)))
		must(t, WriteFileAtomic(fsys, path, []byte("short")))
		if got := read(t, fsys, path); got != "short" {
			t.Errorf("content %q", got)
		}
		if diff := cmp.Diff([]string{"f"}, names(t, fsys, dir)); diff != "" {
			t.Error(diff)
		}
	})
}
