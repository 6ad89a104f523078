package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Op is a kind of call to a file system.
type Op int8

// The kinds of calls. OpAny stands for all of them in a Rule.
const (
	OpAny Op = iota
	OpOpen
	OpRead
	OpWrite
	OpTruncate
	OpSync
	OpAllocate
	OpClose
	OpRemove
	OpRemoveAll
	OpRename
	OpMkdir
	OpReadDir
	OpStat
	OpSyncDir
	OpLock

	ops // How many there are.
)

func (o Op) String() string {
	names := [ops]string{
		"any", "open", "read", "write", "truncate", "sync", "allocate", "close",
		"remove", "removeall", "rename", "mkdir", "readdir", "stat", "syncdir", "lock",
	}
	if o < 0 || o >= ops {
		return "unknown"
	}
	return names[o]
}

// Event is one call, seen before it is carried out.
type Event struct {
	Op   Op
	Path string
	To   string // OpRename: the new name.
	Off  int64  // OpRead, OpWrite, OpAllocate: where. OpTruncate: the new size in bytes.
	Len  int64  // OpRead, OpWrite, OpAllocate: how many bytes.
	// Creates is set for an OpOpen that may create the file, Cuts for one that
	// truncates it.
	Creates, Cuts bool
}

// Mutates says whether the call can change what a power cut leaves behind.
func (e Event) Mutates() bool {
	switch e.Op {
	case OpOpen:
		return e.Creates || e.Cuts
	case OpWrite, OpTruncate, OpSync, OpRemove, OpRemoveAll, OpRename, OpMkdir, OpSyncDir:
		return true
	}
	return false
}

// Rule makes some calls fail.
type Rule struct {
	// Op is the kind of call; OpAny matches all.
	Op Op
	// Path is a pattern as in path.Match, held against as many last elements of the
	// path as the pattern has: "*.log" any such file, "a-0/*.log" those in a-0. Empty
	// matches all. A rename matches by either name.
	Path string
	// Skip is how many matching calls succeed first.
	Skip int
	// Times is how many calls then fail; 0 means one, negative all from there on.
	Times int
	// Err is what the calls fail with, such as syscall.EIO or syscall.ENOSPC.
	Err error
	// PartialBytes is how many bytes a failing write still writes, at most all but one.
	PartialBytes int
	// Discard makes a failing sync of a file lose what was unsynced for good, while
	// reads still show it and the next sync succeeds: what Linux does. It needs a
	// Mem below.
	Discard bool
}

func (r Rule) matches(e Event) bool {
	if r.Op != OpAny && r.Op != e.Op {
		return false
	}
	return r.Path == "" || matchTail(r.Path, e.Path) || (e.To != "" && matchTail(r.Path, e.To))
}

// matchTail holds a pattern against as many last elements of name as it has.
func matchTail(pattern, name string) bool {
	elems := split(name)
	n := strings.Count(pattern, "/") + 1
	if len(elems) < n {
		return false
	}
	ok, err := path.Match(pattern, strings.Join(elems[len(elems)-n:], "/"))
	if err != nil {
		panic(fmt.Sprintf("BUG: pattern %q of a fault rule: %v", pattern, err))
	}
	return ok
}

// Fault wraps a file system for tests: it fails chosen calls, calls a hook before
// each of them, and writes a trace. Any goroutine may use it; a trace of several
// at once is in no fixed order.
type Fault struct {
	inner FS

	mu struct {
		sync.Mutex

		rules   []*armed
		hook    func(Event)
		tracing func(Event) bool // Nil: no trace.
		root    string
		trace   strings.Builder
	}
}

// armed is a rule with its count of matching calls.
type armed struct {
	Rule
	seen int
}

// NewFault wraps a file system. Without rules it changes nothing.
func NewFault(inner FS) *Fault { return &Fault{inner: inner} }

// Inject adds a rule. The first rule that fails a call decides; every rule counts
// the calls that it matches.
func (f *Fault) Inject(r Rule) {
	if r.Err == nil {
		panic("BUG: a fault rule needs an error")
	}
	matchTail(r.Path, "x") // A bad pattern shows here, not at some later call.
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.rules = append(f.mu.rules, &armed{Rule: r})
}

// Heal removes all rules.
func (f *Fault) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.rules = nil
}

// Hook has fn called before every call, on the caller's goroutine with no lock
// held: a test may take Mem.Crash there, or block to make the disk slow.
// Nil removes it.
func (f *Fault) Hook(fn func(Event)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.hook = fn
}

// BeforeSync is a Hook for the syncs of files and directories alone: just before
// each of them the most is at stake.
func (f *Fault) BeforeSync(fn func(Event)) {
	f.Hook(func(e Event) {
		if e.Op == OpSync || e.Op == OpSyncDir {
			fn(e)
		}
	})
}

// StartTrace begins to record calls of the given kinds, or of those that mutate
// if none is given. Paths are written relative to root if they lie in it.
func (f *Fault) StartTrace(root string, kinds ...Op) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.root = root
	f.mu.trace.Reset()
	f.mu.tracing = Event.Mutates
	if len(kinds) > 0 {
		f.mu.tracing = func(e Event) bool {
			return slices.Contains(kinds, e.Op) || slices.Contains(kinds, OpAny)
		}
	}
}

// TakeTrace returns what was recorded since StartTrace or the last TakeTrace: one
// call a line, as it was made, with its error if it failed.
func (f *Fault) TakeTrace() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.mu.trace.Reset()
	return f.mu.trace.String()
}

// before runs the hook and finds the rule that fails the call, if any.
func (f *Fault) before(e Event) *Rule {
	f.mu.Lock()
	hook := f.mu.hook
	f.mu.Unlock()
	if hook != nil {
		hook(e)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var failing *Rule
	for _, r := range f.mu.rules {
		if !r.matches(e) {
			continue
		}
		r.seen++
		times := r.Times
		if times == 0 {
			times = 1
		}
		if failing == nil && r.seen > r.Skip && (times < 0 || r.seen <= r.Skip+times) {
			failing = &r.Rule
		}
	}
	return failing
}

// after records the call and hands its error on.
func (f *Fault) after(e Event, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.tracing == nil || !f.mu.tracing(e) {
		return err
	}
	f.mu.trace.WriteString(f.lineLocked(e))
	if err != nil {
		fmt.Fprintf(&f.mu.trace, " ! %v", cause(err))
	}
	f.mu.trace.WriteByte('\n')
	return err
}

func (f *Fault) lineLocked(e Event) string {
	line := e.Op.String() + " " + f.shortLocked(e.Path)
	switch e.Op {
	case OpOpen:
		if e.Creates {
			line += " create"
		}
		if e.Cuts {
			line += " truncate"
		}
	case OpRead, OpWrite, OpAllocate:
		line += fmt.Sprintf(" %d+%d", e.Off, e.Len)
	case OpTruncate:
		line += fmt.Sprintf(" %d", e.Off)
	case OpRename:
		line += " -> " + f.shortLocked(e.To)
	}
	return line
}

func (f *Fault) shortLocked(name string) string {
	if rel, err := filepath.Rel(f.mu.root, name); f.mu.root != "" && err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	return filepath.ToSlash(name)
}

// cause is an error without the path around it, which the line has already.
func cause(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok || u.Unwrap() == nil {
			return err
		}
		err = u.Unwrap()
	}
}

// call is the life of every call that fails whole or not at all.
func (f *Fault) call(e Event, do func() error) error {
	if r := f.before(e); r != nil {
		return f.after(e, &fs.PathError{Op: e.Op.String(), Path: e.Path, Err: r.Err})
	}
	return f.after(e, do())
}

// result is call for functions that return a value.
func result[T any](f *Fault, e Event, do func() (T, error)) (v T, err error) {
	err = f.call(e, func() error {
		v, err = do()
		return err
	})
	return v, err
}

// OpenFile implements FS.
func (f *Fault) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	e := Event{Op: OpOpen, Path: name, Creates: flag&os.O_CREATE != 0, Cuts: flag&os.O_TRUNC != 0}
	return result(f, e, func() (File, error) {
		file, err := f.inner.OpenFile(name, flag, perm)
		if err != nil {
			return nil, err
		}
		return &faultFile{File: file, f: f, path: name}, nil
	})
}

// Remove implements FS.
func (f *Fault) Remove(name string) error {
	return f.call(Event{Op: OpRemove, Path: name}, func() error { return f.inner.Remove(name) })
}

// RemoveAll implements FS.
func (f *Fault) RemoveAll(name string) error {
	return f.call(Event{Op: OpRemoveAll, Path: name}, func() error { return f.inner.RemoveAll(name) })
}

// Rename implements FS.
func (f *Fault) Rename(oldName, newName string) error {
	return f.call(Event{Op: OpRename, Path: oldName, To: newName}, func() error { return f.inner.Rename(oldName, newName) })
}

// MkdirAll implements FS.
func (f *Fault) MkdirAll(name string, perm fs.FileMode) error {
	return f.call(Event{Op: OpMkdir, Path: name}, func() error { return f.inner.MkdirAll(name, perm) })
}

// ReadDir implements FS.
func (f *Fault) ReadDir(name string) ([]fs.DirEntry, error) {
	return result(f, Event{Op: OpReadDir, Path: name}, func() ([]fs.DirEntry, error) { return f.inner.ReadDir(name) })
}

// Stat implements FS.
func (f *Fault) Stat(name string) (fs.FileInfo, error) {
	return result(f, Event{Op: OpStat, Path: name}, func() (fs.FileInfo, error) { return f.inner.Stat(name) })
}

// SyncDir implements FS.
func (f *Fault) SyncDir(name string) error {
	return f.call(Event{Op: OpSyncDir, Path: name}, func() error { return f.inner.SyncDir(name) })
}

// Lock implements FS.
func (f *Fault) Lock(name string) (io.Closer, error) {
	return result(f, Event{Op: OpLock, Path: name}, func() (io.Closer, error) { return f.inner.Lock(name) })
}

// Usage implements the optional method behind the function Usage.
func (f *Fault) Usage(name string) (total, usable int64, err error) { return Usage(f.inner, name) }
