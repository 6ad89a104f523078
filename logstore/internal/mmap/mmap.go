// Package mmap maps files read-only into memory, so that the kernel can send their
// bytes to a socket without copying them through the Go heap.
//
// A Map is pinned while its bytes are in use and unmapped when it has been closed
// and the last pin is gone: a segment may be deleted while a response is being
// written from it. Mapped bytes are to be handed to system calls, such as writev.
// Go code should not load them: a page fault blocks a thread without telling the
// scheduler, and one on a page that a truncation has taken away kills the process
// with SIGBUS, where a system call just returns EFAULT.
//
// Where Supported is false, Open fails and callers read the file instead.
//
// Memory is of no file: a large table that is gone soon.
//
// Not here: which files are mapped, and how many at a time (logstore).
package mmap

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// closed is the bit of Map.state that Close sets; the bits below count the pins.
const closed = int64(1) << 62

// Map is a mapped file, from its beginning. All methods may be called from any
// goroutine.
type Map struct {
	data  []byte
	state atomic.Int64
}

// Open maps the first size bytes of a file. The file may be closed afterwards. It
// may be shorter than size, and grow: what is written to it later appears in the
// mapping. The bytes behind its end must not be touched before that. If the file
// has no descriptor or the system no mappings, the error is errors.ErrUnsupported,
// wrapped.
func Open(f vfs.File, size int64) (*Map, error) {
	fd, ok := f.Fd()
	if !ok || !Supported {
		return nil, fmt.Errorf("map file into memory: %w", errors.ErrUnsupported)
	}
	if size <= 0 || int64(int(size)) != size {
		return nil, fmt.Errorf("map file into memory: cannot map %d bytes", size)
	}
	data, err := mapFile(fd, int(size))
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return &Map{data: data}, nil
}

// Len is how many bytes are mapped.
func (m *Map) Len() int64 { return int64(len(m.data)) }

// Pin returns the mapped bytes, which stay mapped until the matching Unpin, or nil
// if the map has been closed.
func (m *Map) Pin() []byte {
	for {
		s := m.state.Load()
		if s&closed != 0 {
			return nil
		}
		if m.state.CompareAndSwap(s, s+1) {
			return m.data
		}
	}
}

// Unpin gives a pin back. The bytes that Pin returned must not be used any more.
func (m *Map) Unpin() {
	s := m.state.Add(-1)
	if s&^closed == closed-1 || s < 0 {
		panic("BUG: mmap: more unpins than pins")
	}
	if s == closed {
		m.unmap()
	}
}

// Close lets no one pin the map any more, and unmaps it now or with the last
// Unpin. Closing again does nothing.
func (m *Map) Close() {
	for {
		s := m.state.Load()
		if s&closed != 0 {
			return
		}
		if m.state.CompareAndSwap(s, s|closed) {
			if s == 0 {
				m.unmap()
			}
			return
		}
	}
}

// unmap is reached once: by whoever leaves the state closed and without pins.
func (m *Map) unmap() {
	if err := unmapFile(m.data); err != nil {
		// Only a wrong address or length can fail here.
		panic(fmt.Sprintf("BUG: mmap: unmap of %d bytes: %v", len(m.data), err))
	}
}

// DontNeed takes the pages that hold the n bytes at off out of this process's page
// tables; the caller holds a pin. The page cache keeps them, and they come back by
// a cheap fault when touched. Without this, all that was ever sent counts as
// resident memory of the process. Pages at both ends go even if the range has only
// a part of them.
func (m *Map) DontNeed(off, n int64) error {
	if off < 0 || n < 0 || off > m.Len()-n {
		panic(fmt.Sprintf("BUG: mmap: range %d+%d outside mapping of %d bytes", off, n, m.Len()))
	}
	if n == 0 {
		return nil
	}
	pageBytes := int64(os.Getpagesize())
	from := off / pageBytes * pageBytes
	to := min((off+n+pageBytes-1)/pageBytes*pageBytes, m.Len())
	return os.NewSyscallError("madvise", dontNeed(m.data[from:to]))
}
