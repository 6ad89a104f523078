package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Mem is a file system in memory that knows which of its bytes and names are
// durable. What a process sees is always everything it wrote; only Crash shows
// the difference. Any goroutine may use it.
//
// Names keep the order in which they were changed, over all directories, because
// a rename may touch two of them.
type Mem struct {
	mu struct {
		sync.RWMutex

		root   *node
		seq    uint64   // Numbers the unsynced changes, to names and bytes alike.
		names  []nameOp // Unsynced changes of names, oldest first.
		dirty  []*node  // Files with unsynced bytes, in the order they became so.
		locked map[string]bool
		now    func() time.Time
	}
}

// node is one file or directory. Handles hold it, so it outlives its name.
type node struct {
	entries map[string]*node // The directory as the process sees it; nil for a file.
	synced  map[string]*node // The directory as a power cut finds it.

	data    []byte // The file as the process sees it.
	durable []byte // The file as a power cut finds it, before pending.
	pending []edit // Writes and truncations since the last sync, oldest first.

	modTime time.Time
}

func (n *node) isDir() bool { return n.entries != nil }

// edit is one unsynced change to a file's bytes.
type edit struct {
	seq      uint64
	off      int64
	data     []byte
	truncate bool // To off bytes; data is nil.
}

// apply gives buf as the edit leaves it. A gap reads as zeros.
func (e edit) apply(buf []byte) []byte {
	if e.truncate {
		return resize(buf, e.off)
	}
	return writeInto(buf, e.off, e.data)
}

// place is a name in a directory.
type place struct {
	dir  *node
	name string
}

// nameOp is one unsynced change to the tree: a creation (no from), a removal
// (no to) or a rename.
type nameOp struct {
	seq      uint64
	node     *node
	from, to place
}

func (o nameOp) places() []place {
	var ps []place
	for _, p := range []place{o.from, o.to} {
		if p.dir != nil {
			ps = append(ps, p)
		}
	}
	return ps
}

// NewMem makes an empty file system. Its root and the current directory are one.
func NewMem() *Mem {
	m := &Mem{}
	m.mu.now = time.Now
	m.mu.root = newDir(time.Time{})
	m.mu.locked = map[string]bool{}
	return m
}

func newDir(t time.Time) *node {
	return &node{entries: map[string]*node{}, synced: map[string]*node{}, modTime: t}
}

// SetClock sets where modification times come from; the default is time.Now.
func (m *Mem) SetClock(now func() time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.now = now
}

// split turns a path of the operating system into its elements from the root.
func split(name string) []string {
	clean := filepath.Clean(name)
	clean = strings.TrimPrefix(clean, filepath.VolumeName(clean))
	return strings.FieldsFunc(path.Clean("/"+filepath.ToSlash(clean)), func(r rune) bool { return r == '/' })
}

// findLocked returns the node at name.
func (m *Mem) findLocked(name string) (*node, error) {
	n := m.mu.root
	for _, elem := range split(name) {
		if !n.isDir() {
			return nil, syscall.ENOTDIR
		}
		next, ok := n.entries[elem]
		if !ok {
			return nil, fs.ErrNotExist
		}
		n = next
	}
	return n, nil
}

// placeLocked returns the directory and last element of name; the directory must exist.
func (m *Mem) placeLocked(name string) (place, error) {
	elems := split(name)
	if len(elems) == 0 {
		return place{}, fs.ErrInvalid // The root itself.
	}
	last := len(elems) - 1
	dir, err := m.findLocked(strings.Join(elems[:last], "/"))
	if err != nil {
		return place{}, err
	}
	if !dir.isDir() {
		return place{}, syscall.ENOTDIR
	}
	return place{dir, elems[last]}, nil
}

// moveLocked carries out a change of names and remembers it until a SyncDir.
func (m *Mem) moveLocked(n *node, from, to place) {
	if from.dir != nil {
		delete(from.dir.entries, from.name)
		from.dir.modTime = m.mu.now()
	}
	if to.dir != nil {
		to.dir.entries[to.name] = n
		to.dir.modTime = m.mu.now()
	}
	m.mu.seq++
	m.mu.names = append(m.mu.names, nameOp{seq: m.mu.seq, node: n, from: from, to: to})
}

// OpenFile implements FS. Permissions are not kept.
func (m *Mem) OpenFile(name string, flag int, _ fs.FileMode) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.openLocked(name, flag)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &memFile{m: m, n: n, name: name, flag: flag}, nil
}

func (m *Mem) openLocked(name string, flag int) (*node, error) {
	if flag&os.O_APPEND != 0 {
		return nil, errAppend
	}
	n, err := m.findLocked(name)
	switch {
	case err == nil && flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return nil, fs.ErrExist
	case err == nil && n.isDir() && flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) != 0:
		return nil, syscall.EISDIR
	case err == nil:
		if flag&os.O_TRUNC != 0 && len(n.data) > 0 {
			m.editLocked(n, edit{truncate: true})
		}
		return n, nil
	case !errors.Is(err, fs.ErrNotExist) || flag&os.O_CREATE == 0:
		return nil, err
	}
	at, err := m.placeLocked(name)
	if err != nil {
		return nil, err
	}
	n = &node{modTime: m.mu.now()}
	m.moveLocked(n, place{}, at)
	return n, nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := func() error {
		at, err := m.placeLocked(name)
		if err != nil {
			return err
		}
		n, ok := at.dir.entries[at.name]
		if !ok {
			return fs.ErrNotExist
		}
		if len(n.entries) > 0 {
			return syscall.ENOTEMPTY
		}
		m.moveLocked(n, at, place{})
		return nil
	}()
	if err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	return nil
}

// RemoveAll implements FS: children go first, each as a change of its own.
func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.placeLocked(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "removeall", Path: name, Err: err}
	}
	if n, ok := at.dir.entries[at.name]; ok {
		m.removeAllLocked(n, at)
	}
	return nil
}

func (m *Mem) removeAllLocked(n *node, at place) {
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		m.removeAllLocked(n.entries[name], place{n, name})
	}
	m.moveLocked(n, at, place{})
}

// Rename implements FS.
func (m *Mem) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.renameLocked(oldName, newName); err != nil {
		return &os.LinkError{Op: "rename", Old: oldName, New: newName, Err: err}
	}
	return nil
}

func (m *Mem) renameLocked(oldName, newName string) error {
	from, err := m.placeLocked(oldName)
	if err != nil {
		return err
	}
	n, ok := from.dir.entries[from.name]
	if !ok {
		return fs.ErrNotExist
	}
	to, err := m.placeLocked(newName)
	if err != nil {
		return err
	}
	if inside(n, to.dir) {
		return fs.ErrInvalid
	}
	target, exists := to.dir.entries[to.name]
	switch {
	case exists && target == n:
		return nil
	case exists && target.isDir() && (!n.isDir() || len(target.entries) > 0):
		return fs.ErrExist
	case exists && n.isDir() && !target.isDir():
		return syscall.ENOTDIR
	}
	m.moveLocked(n, from, to)
	return nil
}

// inside says whether dir is n or lies below it.
func inside(n, dir *node) bool {
	if n == dir {
		return true
	}
	for _, child := range n.entries {
		if child.isDir() && inside(child, dir) {
			return true
		}
	}
	return false
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(name string, _ fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.mu.root
	for _, elem := range split(name) {
		next, ok := n.entries[elem]
		if !ok {
			next = newDir(m.mu.now())
			m.moveLocked(next, place{}, place{n, elem})
		}
		if !next.isDir() {
			return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
		}
		n = next
	}
	return nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.findLocked(name)
	if err == nil && !n.isDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	list := make([]fs.DirEntry, 0, len(n.entries))
	for _, elem := range slices.Sorted(maps.Keys(n.entries)) {
		list = append(list, fs.FileInfoToDirEntry(infoOf(n.entries[elem], elem)))
	}
	return list, nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.findLocked(name)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return infoOf(n, filepath.Base(name)), nil
}

// SyncDir implements FS. Changes to other directories become durable only as far
// as the ones synced rest on them.
func (m *Mem) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findLocked(name)
	if err == nil && !n.isDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: err}
	}
	keep := make([]bool, len(m.mu.names))
	for i, op := range m.mu.names {
		keep[i] = op.from.dir == n || op.to.dir == n
	}
	restsOn(m.mu.names, keep)
	var rest []nameOp
	for i, op := range m.mu.names {
		if keep[i] {
			op.apply(func(dir *node) map[string]*node { return dir.synced })
		} else {
			rest = append(rest, op)
		}
	}
	m.mu.names = rest
	return nil
}

// Usage implements the optional method behind the function Usage. The disk is
// large and never full; Fault makes it so.
func (m *Mem) Usage(string) (total, usable int64, err error) {
	const diskBytes = 1 << 40
	m.mu.RLock()
	defer m.mu.RUnlock()
	return diskBytes, diskBytes - usedBytes(m.mu.root), nil
}

func usedBytes(n *node) int64 {
	sum := int64(len(n.data))
	for _, child := range n.entries {
		sum += usedBytes(child)
	}
	return sum
}

// Lock implements FS. The file system that Crash returns holds no locks.
func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := strings.Join(split(name), "/")
	if m.mu.locked[key] {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: ErrLocked}
	}
	m.mu.locked[key] = true
	return &memLock{m: m, key: key}, nil
}

type memLock struct {
	m    *Mem
	key  string
	once sync.Once
}

func (l *memLock) Close() error {
	l.once.Do(func() {
		l.m.mu.Lock()
		defer l.m.mu.Unlock()
		delete(l.m.mu.locked, l.key)
	})
	return nil
}
