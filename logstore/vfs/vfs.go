// Package vfs is the file system as the log store sees it: a seam narrow enough
// to be replaced by a model that loses power at the worst moment.
//
// There are three implementations. OS is the machine's. Mem lives in memory and
// knows, byte by byte, what has been made durable: Crash gives the file system
// that a power cut would leave behind. Fault wraps either and makes chosen calls
// fail, writes a trace of them, or stops the test at each of them. Begin with FS
// and File, then crash.go for the model of a power cut.
//
// The rules of durability are POSIX's and no more. File.Sync makes a file's bytes
// and length durable, not its name. FS.SyncDir makes the names in one directory
// durable, not the contents of the files. A write that was not synced may survive
// wholly, in part or not at all, whatever became of the writes after it.
//
// Not here: memory mapping (logstore/internal/mmap) and the formats of the files.
package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FS opens files and changes names. Paths are those of the operating system.
// Errors are *fs.PathError or *os.LinkError, so they name the file. All methods
// may be called from any goroutine.
type FS interface {
	// OpenFile opens a file as os.OpenFile does. O_APPEND is refused, because files
	// are written by position.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Remove deletes a file or an empty directory.
	Remove(name string) error
	// RemoveAll deletes a file or a whole directory; a missing one is no error.
	RemoveAll(name string) error
	// Rename moves a file or directory, replacing a file of the new name.
	Rename(oldName, newName string) error
	// MkdirAll makes a directory and its missing parents.
	MkdirAll(name string, perm fs.FileMode) error
	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Stat describes a file or directory.
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes the creations, renames and removals in a directory durable.
	SyncDir(name string) error
	// Lock creates the file if needed and takes it for this process alone until the
	// result is closed or the process ends. If another holder has it the error
	// is ErrLocked, wrapped.
	Lock(name string) (io.Closer, error)
}

// File is an open file. Its methods may be called from any goroutine; what two
// overlapping writes leave behind is undefined, as it is in the system.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Truncate cuts or, with zeros, extends the file to size bytes.
	Truncate(size int64) error
	// Sync makes all bytes written so far, and the length, durable. After an error
	// the file must not be trusted: the system may have dropped what was unsynced,
	// and a second Sync may report success over the loss.
	Sync() error
	// Stat describes the file; the size is the logical one.
	Stat() (fs.FileInfo, error)
	// Allocate reserves space for n bytes from off on, so that writing them cannot
	// fail for want of space. The size does not change. Where it cannot be done the
	// error is errors.ErrUnsupported, wrapped; the caller may go on without.
	Allocate(off, n int64) error
	// Fd is the system's descriptor, for mapping and for sendfile, and false when
	// there is none. It is valid until Close.
	Fd() (uintptr, bool)
}

// ErrLocked is the error of FS.Lock when someone else holds the lock.
var ErrLocked = errors.New("locked by another process")

// tmpSuffix marks a file that WriteFileAtomic has not finished, as Kafka names it.
const tmpSuffix = ".tmp"

// WriteFileAtomic replaces the file at path so that at every moment, power cuts
// included, either the old content or the new is there in whole. When it returns
// nil the new content is durable. It writes path.tmp, which a crash may leave
// behind; the next call overwrites it. Calls for one path must not overlap.
func WriteFileAtomic(fsys FS, path string, data []byte) error {
	tmp := path + tmpSuffix
	if err := writeFileSync(fsys, tmp, data); err != nil {
		_ = fsys.Remove(tmp) // Best effort: it is overwritten next time anyhow.
		return err
	}
	if err := fsys.Rename(tmp, path); err != nil {
		_ = fsys.Remove(tmp)
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}

// writeFileSync writes a whole file and syncs its content, not its name.
func writeFileSync(fsys FS, path string, data []byte) (err error) {
	f, err := fsys.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return f.Sync()
}

// ReadFile returns the whole content of a file.
func ReadFile(fsys FS, path string) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// Read by ranges of what is there, so that a length nobody wrote (a sparse
	// file, a special one) does not decide how much memory is taken.
	data, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// Usage returns the size of the file system that holds path and how many bytes
// of it this process may still write, or errors.ErrUnsupported, wrapped.
func Usage(fsys FS, path string) (total, usable int64, err error) {
	u, ok := fsys.(interface {
		Usage(path string) (total, usable int64, err error)
	})
	if !ok {
		return 0, 0, fmt.Errorf("disk usage of %s: %w", path, errors.ErrUnsupported)
	}
	return u.Usage(path)
}
