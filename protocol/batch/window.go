package batch

import (
	"errors"
	"io"
	"sync"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// windowBytes is the size of a window over decompressed records. A record that
// fits is looked at in place.
const windowBytes = 32 << 10

// windowKeepBytes is the largest window kept for the next batch.
const windowKeepBytes = 256 << 10

var windows = sync.Pool{New: func() any { return &window{buf: make([]byte, windowBytes)} }}

// window is a part of a compressed batch's records: buf[pos:end] is decompressed
// and not yet consumed.
type window struct {
	buf      []byte
	pos, end int
	consumed int64 // Bytes before pos, since the beginning of the records.
	src      io.ReadCloser
	err      error // Why src gives no more; io.EOF at its end.
}

// openWindow begins to decompress the records of b, no more than limit bytes.
func openWindow(b Batch, limit int64) (*window, error) {
	src, err := codec.Open(b.Codec(), b.Payload(), limit)
	if err != nil {
		return nil, err
	}
	w := windows.Get().(*window)
	w.pos, w.end, w.consumed, w.src, w.err = 0, 0, 0, src, nil
	return w, nil
}

func (w *window) close() {
	_ = w.src.Close() // Only gives the decoder back.
	w.src = nil
	if len(w.buf) <= windowKeepBytes {
		windows.Put(w)
	}
}

// unread is what is in the window.
func (w *window) unread() []byte { return w.buf[w.pos:w.end] }

// advance consumes n bytes of unread.
func (w *window) advance(n int) {
	w.pos += n
	w.consumed += int64(n)
}

// fill tries to have n bytes unread, n at most len(w.buf), and tells whether it
// has.
func (w *window) fill(n int) bool {
	for w.end-w.pos < n && w.err == nil {
		if len(w.buf)-w.pos < n {
			w.end = copy(w.buf, w.buf[w.pos:w.end])
			w.pos = 0
		}
		var m int
		m, w.err = w.src.Read(w.buf[w.end:])
		w.end += m
	}
	return w.end-w.pos >= n
}

// grow makes fill possible for n bytes. The buffer doubles only once it is full
// of records, so that a length that lies costs no more than twice what is there.
func (w *window) grow(n int) bool {
	for !w.fill(min(n, len(w.buf))) || n > len(w.buf) {
		if w.err != nil {
			return false
		}
		buf := make([]byte, min(2*len(w.buf), n))
		w.end = copy(buf, w.unread())
		w.buf, w.pos = buf, 0
	}
	return true
}

// varint32 consumes a 32-bit number. False if there is none.
func (w *window) varint32() (int32, bool) {
	w.fill(maxVarint32Len)
	v, n := varint32(w.unread())
	w.advance(n)
	return v, n > 0
}

// varint64 consumes a 64-bit number. False if there is none.
func (w *window) varint64() (int64, bool) {
	w.fill(maxVarint64Len)
	v, n := varint64(w.unread())
	w.advance(n)
	return v, n > 0
}

// skip consumes n bytes, however many; none if n is negative.
func (w *window) skip(n int64) bool {
	for n > 0 {
		if !w.fill(1) {
			return false
		}
		m := int(min(n, int64(w.end-w.pos)))
		w.advance(m)
		n -= int64(m)
	}
	return true
}

// failure is why a record could not be had: the stream's error if it has one,
// else cut.
func (w *window) failure(cut error) error {
	if w.err != nil && !errors.Is(w.err, io.EOF) {
		return w.err
	}
	return cut
}

// atEnd is nil if the stream has ended, and ended well.
func (w *window) atEnd() error {
	if w.fill(1) {
		return errRecordsRemain
	}
	return w.failure(nil)
}

// scan consumes one record and checks it like scanRecord. A record larger than
// the window goes through it field by field.
func (w *window) scan() (scanned, error) {
	if s, n := scanShort(w.unread()); n > 0 {
		w.advance(n)
		return s, nil
	}
	size, ok := w.varint32()
	if !ok || size < 0 {
		return scanned{}, w.failure(errRecordCut)
	}
	n := int(size)
	if n > len(w.buf) {
		end := w.consumed + int64(n)
		s, err := w.scanLarge(end)
		if err != nil && w.consumed < end && !w.fill(1) {
			err = errRecordCut // The stream ended first, well or not.
		}
		if err != nil {
			err = w.failure(err)
		}
		return s, err
	}
	if !w.fill(n) {
		return scanned{}, w.failure(errRecordCut)
	}
	s, err := scanRecord(w.unread()[:n])
	w.advance(n)
	return s, err
}

// scanLarge is scan for a record that ends at end.
func (w *window) scanLarge(end int64) (s scanned, err error) {
	var ok [5]bool
	var valueLen, headers int32
	ok[0] = w.skip(1)
	s.timestampDelta, ok[1] = w.varint64()
	s.offsetDelta, ok[2] = w.varint32()
	s.keyLen, ok[3] = w.varint32()
	if ok[0] && ok[1] && ok[2] && ok[3] && w.skipIn(s.keyLen, end) {
		valueLen, ok[4] = w.varint32()
	}
	if !ok[4] || !w.skipIn(valueLen, end) {
		return s, errRecordFields
	}
	headers, okHeaders := w.varint32()
	if !okHeaders || w.consumed > end {
		return s, errRecordFields
	}
	if headers < 0 || int64(headers) > end-w.consumed {
		return s, errHeaderCount
	}
	for range headers {
		if err := w.scanHeader(end); err != nil {
			return s, err
		}
	}
	if w.consumed != end {
		return s, errRecordLength
	}
	return s, nil
}

// scanHeader consumes one header of a record that ends at end.
func (w *window) scanHeader(end int64) error {
	keyLen, ok := w.varint32()
	if ok && keyLen < 0 {
		return errHeaderKey
	}
	if !ok || !w.skipIn(keyLen, end) {
		return errRecordFields
	}
	valueLen, ok := w.varint32()
	if !ok || !w.skipIn(valueLen, end) {
		return errRecordFields
	}
	return nil
}

// skipIn is skip within a record that ends at end.
func (w *window) skipIn(n int32, end int64) bool {
	return w.consumed+int64(n) <= end && w.skip(int64(n))
}
