package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// OS is the file system of the machine.
var OS FS = osFS{}

type osFS struct{}

func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	if flag&os.O_APPEND != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errAppend}
	}
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Remove(name string) error                     { return os.Remove(name) }
func (osFS) RemoveAll(name string) error                  { return os.RemoveAll(name) }
func (osFS) Rename(oldName, newName string) error         { return os.Rename(oldName, newName) }
func (osFS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (osFS) SyncDir(name string) error                    { return syncDir(name) }

// Usage implements the optional method behind the function Usage.
func (osFS) Usage(name string) (total, usable int64, err error) { return diskUsage(name) }

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "lock", Path: name, Err: err}, f.Close())
	}
	return f, nil // Closing the file gives the lock back.
}

// osFile adds to *os.File what File has and it has not.
type osFile struct{ *os.File }

func (f osFile) Fd() (uintptr, bool) { return f.File.Fd(), true }

func (f osFile) Allocate(off, n int64) error {
	if err := allocate(f.File, off, n); err != nil {
		return &fs.PathError{Op: "allocate", Path: f.Name(), Err: err}
	}
	return nil
}

var errAppend = errors.New("files are written by position: O_APPEND is not supported")
