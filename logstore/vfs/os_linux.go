package vfs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// allocate reserves real blocks. FALLOC_FL_KEEP_SIZE leaves the length alone, so
// that a reader and a recovery see the end of what was written, not of what was
// reserved. EOPNOTSUPP and ENOSYS are errors.ErrUnsupported by errors.Is.
func allocate(f *os.File, off, n int64) error {
	return retry(func() error {
		return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
}

// lockFile takes a lock on the whole file that belongs to the open file, so that a
// second open in the same process is refused too. It is of the fcntl kind because
// that is what Java's FileLock is: a Kafka broker on the same directory is kept
// out, and keeps us out. A flock would see nothing of it.
func lockFile(f *os.File) error {
	all := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err := retry(func() error { return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &all) })
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrLocked
	}
	return err
}
