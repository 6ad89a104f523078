package logstore

import (
	"io"
	"net"
	"sync/atomic"

	"github.com/moldau-broker/moldau/logstore/internal/mmap"
	"github.com/moldau-broker/moldau/logstore/internal/segment"
)

// Span is a range of a segment file: what one fetch of one partition answers. It may
// end inside a batch. The file stays open and its mapping in place until Release,
// whatever happens to the log in between.
//
// The zero Span is empty. A Span may be copied; all copies are released together.
type Span struct{ r *spanRange }

type spanRange struct {
	seg      *segment.Segment
	handle   *segment.Handle
	mapping  *mmap.Map // Pinned by Buffers,
	bytes    []byte    // and the span in it.
	at       Mark      // The batch that the span begins with.
	n        int64
	released atomic.Bool
}

// Len returns the length in bytes.
func (s Span) Len() int {
	if s.r == nil {
		return 0
	}
	return int(s.r.n)
}

// Mark returns where the span begins: the first offset that was asked for and the
// position of the batch that holds it. It is the zero Mark of an empty span.
func (s Span) Mark() Mark {
	if s.r == nil {
		return Mark{}
	}
	return s.r.at
}

// Buffers appends the span to dst as slices of a read-only mapping. They are for a
// system call to read, such as writev: Go code that loads from them is killed when the
// file was truncated meanwhile, where the call returns an error. False says that there
// is no mapping and that dst is unchanged: copy instead. To be called by one goroutine.
func (s Span) Buffers(dst net.Buffers) (net.Buffers, bool) {
	if s.r == nil {
		return dst, true
	}
	r := s.r
	if r.mapping == nil {
		m, bytes, ok := r.handle.Map(r.at.Position + r.n)
		if !ok {
			return dst, false
		}
		r.mapping, r.bytes = m, bytes[r.at.Position:r.at.Position+r.n:r.at.Position+r.n]
	}
	return append(dst, r.bytes), true
}

// File returns the descriptor of the file and where in it the span begins, for
// sendfile; false if there is no descriptor, as in a file system in memory. It is
// valid until Release.
func (s Span) File() (fd uintptr, offset int64, ok bool) {
	if s.r == nil {
		return 0, 0, false
	}
	fd, ok = s.r.handle.Fd()
	return fd, s.r.at.Position, ok
}

// ReadAt reads from the span, off counting from its beginning, with pread. Like every
// io.ReaderAt it returns io.EOF when the span ends before p is full.
func (s Span) ReadAt(p []byte, off int64) (int, error) {
	if s.r == nil || off >= s.r.n {
		return 0, io.EOF
	}
	short := int64(len(p)) > s.r.n-off
	if short {
		p = p[:s.r.n-off]
	}
	n, err := s.r.handle.ReadAt(p, s.r.at.Position+off)
	if err == nil && short {
		err = io.EOF
	}
	return n, err
}

// Copy reads the whole span into p, which is at least Len long.
func (s Span) Copy(p []byte) error {
	if s.r == nil {
		return nil
	}
	_, err := s.r.handle.ReadAt(p[:s.r.n], s.r.at.Position)
	return err
}

// Release gives the file and the mapping back. The pages that were sent are dropped
// from this process's tables (not from the page cache): otherwise every byte ever
// served would count as resident memory. It may be called more than once.
func (s Span) Release() {
	r := s.r
	if r == nil || r.released.Swap(true) {
		return
	}
	if r.mapping != nil {
		_ = r.mapping.DontNeed(r.at.Position, r.n) // Advice: refused, it costs memory only.
		r.mapping.Unpin()
	}
	r.handle.Unpin()
}
