package vfs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// memFile is an open handle on a node of a Mem.
type memFile struct {
	m      *Mem
	n      *node
	name   string
	flag   int
	closed atomic.Bool
}

// editLocked changes a file's bytes and remembers the change until a sync.
func (m *Mem) editLocked(n *node, e edit) {
	m.mu.seq++
	e.seq = m.mu.seq
	n.data = e.apply(n.data)
	if len(n.pending) == 0 {
		m.mu.dirty = append(m.mu.dirty, n)
	}
	n.pending = append(n.pending, e)
	n.modTime = m.mu.now()
}

// cleanLocked forgets the unsynced changes of a file, kept or lost.
func (m *Mem) cleanLocked(n *node) {
	n.pending = nil
	m.mu.dirty = slices.DeleteFunc(m.mu.dirty, func(d *node) bool { return d == n })
}

func (f *memFile) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// check says why an operation that writes or not cannot be done on this handle.
func (f *memFile) check(op string, write bool) error {
	switch {
	case f.closed.Load():
		return f.fail(op, os.ErrClosed)
	case write && f.flag&(os.O_WRONLY|os.O_RDWR) == 0, !write && f.flag&os.O_WRONLY != 0:
		return f.fail(op, syscall.EBADF)
	case f.n.isDir():
		return f.fail(op, syscall.EISDIR)
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.check("read", false); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, f.fail("read", fs.ErrInvalid)
	}
	f.m.mu.RLock()
	defer f.m.mu.RUnlock()
	if off >= int64(len(f.n.data)) && len(p) > 0 {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[min(off, int64(len(f.n.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.check("write", true); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, f.fail("write", fs.ErrInvalid)
	}
	if len(p) == 0 {
		return 0, nil
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.editLocked(f.n, edit{off: off, data: slices.Clone(p)})
	return len(p), nil
}

func (f *memFile) Truncate(size int64) error {
	if err := f.check("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return f.fail("truncate", fs.ErrInvalid)
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.editLocked(f.n, edit{off: size, truncate: true})
	return nil
}

// Sync makes the file's bytes durable; a handle opened for reading may do so too.
func (f *memFile) Sync() error {
	if f.closed.Load() {
		return f.fail("sync", os.ErrClosed)
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	for _, e := range f.n.pending {
		f.n.durable = e.apply(f.n.durable)
	}
	f.m.cleanLocked(f.n)
	return nil
}

// discard does what Linux does to a file whose sync failed: the bytes stay
// readable in the cache, count as clean, and never reach the disk.
func (f *memFile) discard() {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.cleanLocked(f.n)
}

func (f *memFile) Stat() (fs.FileInfo, error) {
	if f.closed.Load() {
		return nil, f.fail("stat", os.ErrClosed)
	}
	f.m.mu.RLock()
	defer f.m.mu.RUnlock()
	return infoOf(f.n, filepath.Base(f.name)), nil
}

// Allocate reserves nothing: the disk of a Mem is never full by itself.
func (f *memFile) Allocate(off, n int64) error {
	if err := f.check("allocate", true); err != nil {
		return err
	}
	if off < 0 || n <= 0 {
		return f.fail("allocate", fs.ErrInvalid)
	}
	return nil
}

func (f *memFile) Fd() (uintptr, bool) { return 0, false }

func (f *memFile) Close() error {
	if f.closed.Swap(true) {
		return f.fail("close", os.ErrClosed)
	}
	return nil
}

// resize cuts buf to size bytes or extends it with zeros.
func resize(buf []byte, size int64) []byte {
	if size <= int64(len(buf)) {
		return buf[:size]
	}
	// What was cut off earlier must not come back when the file grows again.
	grown := slices.Grow(buf, int(size)-len(buf))[:size]
	clear(grown[len(buf):])
	return grown
}

// writeInto copies p into buf at off, extending buf as needed.
func writeInto(buf []byte, off int64, p []byte) []byte {
	if end := off + int64(len(p)); end > int64(len(buf)) {
		buf = resize(buf, end)
	}
	copy(buf[off:], p)
	return buf
}

// info is a snapshot of a node, as fs.FileInfo.
type info struct {
	name    string
	size    int64
	dir     bool
	modTime time.Time
}

func infoOf(n *node, name string) info {
	return info{name: name, size: int64(len(n.data)), dir: n.isDir(), modTime: n.modTime}
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return i.modTime }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }

func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
