package segment

import (
	"io"
	"sync"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// chunkBytes is how much is read at once when a segment is read from end to end.
const chunkBytes = 1 << 20

var chunks = sync.Pool{New: func() any { b := make([]byte, chunkBytes); return &b }}

// reader gives byte ranges of a file in ascending order, reading it in large pieces.
type reader struct {
	f     vfs.File
	limit int64

	chunk *[]byte // From the pool; large ranges get a buffer of their own.
	buf   []byte
	have  []byte // What of buf was read,
	at    int64  // and from where.
}

func newReader(f vfs.File, start, limit int64) *reader {
	c := chunks.Get().(*[]byte)
	return &reader{f: f, limit: limit, chunk: c, buf: *c, at: start}
}

func (r *reader) close() { chunks.Put(r.chunk) }

// bytes returns the n bytes at pos, valid until the next call. io.ErrUnexpectedEOF
// says that the file, or what of it may be read, ends before.
func (r *reader) bytes(pos, n int64) ([]byte, error) {
	if pos+n > r.limit {
		return nil, io.ErrUnexpectedEOF
	}
	if pos < r.at || pos+n > r.at+int64(len(r.have)) {
		if n > int64(len(r.buf)) {
			r.buf = make([]byte, n) // Bounded by limit, which is the file's size.
		}
		read, err := r.f.ReadAt(r.buf[:min(int64(len(r.buf)), r.limit-pos)], pos)
		r.have, r.at = r.buf[:read], pos
		if int64(read) < n {
			if err == nil || err == io.EOF { //nolint:errorlint // As ReadAt returns it.
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return r.have[pos-r.at : pos-r.at+n : pos-r.at+n], nil
}
