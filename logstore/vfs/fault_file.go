package vfs

import "io/fs"

// faultFile is an open file of a Fault.
type faultFile struct {
	File
	f    *Fault
	path string
}

func (ff *faultFile) ReadAt(p []byte, off int64) (int, error) {
	return result(ff.f, Event{Op: OpRead, Path: ff.path, Off: off, Len: int64(len(p))}, func() (int, error) {
		return ff.File.ReadAt(p, off)
	})
}

// WriteAt may write a part before it fails, as a disk that becomes full does.
func (ff *faultFile) WriteAt(p []byte, off int64) (int, error) {
	e := Event{Op: OpWrite, Path: ff.path, Off: off, Len: int64(len(p))}
	r := ff.f.before(e)
	if r == nil {
		n, err := ff.File.WriteAt(p, off)
		return n, ff.f.after(e, err)
	}
	n := max(0, min(r.PartialBytes, len(p)-1))
	if n > 0 {
		var err error
		if n, err = ff.File.WriteAt(p[:n], off); err != nil {
			return n, ff.f.after(e, err)
		}
	}
	return n, ff.f.after(e, &fs.PathError{Op: "write", Path: ff.path, Err: r.Err})
}

func (ff *faultFile) Truncate(size int64) error {
	return ff.f.call(Event{Op: OpTruncate, Path: ff.path, Off: size}, func() error { return ff.File.Truncate(size) })
}

// Sync may lose what was unsynced as it fails; see Rule.Discard.
func (ff *faultFile) Sync() error {
	e := Event{Op: OpSync, Path: ff.path}
	r := ff.f.before(e)
	if r == nil {
		return ff.f.after(e, ff.File.Sync())
	}
	if r.Discard {
		d, ok := ff.File.(interface{ discard() })
		if !ok {
			panic("BUG: Rule.Discard needs a Mem below the Fault")
		}
		d.discard()
	}
	return ff.f.after(e, &fs.PathError{Op: "sync", Path: ff.path, Err: r.Err})
}

func (ff *faultFile) Allocate(off, n int64) error {
	return ff.f.call(Event{Op: OpAllocate, Path: ff.path, Off: off, Len: n}, func() error { return ff.File.Allocate(off, n) })
}

func (ff *faultFile) Stat() (fs.FileInfo, error) {
	return result(ff.f, Event{Op: OpStat, Path: ff.path}, ff.File.Stat)
}

// Close closes the file below even when it fails: descriptors must not leak.
func (ff *faultFile) Close() error {
	e := Event{Op: OpClose, Path: ff.path}
	if r := ff.f.before(e); r != nil {
		_ = ff.File.Close()
		return ff.f.after(e, &fs.PathError{Op: "close", Path: ff.path, Err: r.Err})
	}
	return ff.f.after(e, ff.File.Close())
}
