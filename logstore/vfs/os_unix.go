//go:build unix

package vfs

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// syncDir opens the directory and syncs it. Some network and user-space file
// systems cannot sync a directory and say EINVAL; there is nothing more to do
// there, and Kafka goes on too.
func syncDir(name string) (err error) {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() {
		if e := d.Close(); err == nil {
			err = e
		}
	}()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

func diskUsage(name string) (total, usable int64, err error) {
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Statfs(name, &st) }); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	blockBytes := uint64(st.Bsize)
	return clampBytes(uint64(st.Blocks) * blockBytes), clampBytes(uint64(st.Bavail) * blockBytes), nil
}

func clampBytes(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// retry repeats a system call that a signal interrupted. The Go runtime sends
// itself signals all the time, to preempt goroutines.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR { //nolint:errorlint // A bare errno from the call itself.
			return err
		}
	}
}
