package vfs

import (
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
