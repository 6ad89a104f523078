package vfs

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// syncDir does nothing: Windows cannot flush a directory, and NTFS journals names.
func syncDir(string) error { return nil }

func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

func diskUsage(name string) (total, usable int64, err error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	var mine, all uint64
	if err := windows.GetDiskFreeSpaceEx(path, &mine, &all, nil); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	return int64(min(all, math.MaxInt64)), int64(min(mine, math.MaxInt64)), nil
}
