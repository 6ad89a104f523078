package segment

import (
	"fmt"
	"io"
	"math"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// Place is where a batch lies in the data file.
type Place struct {
	Base, Next int64 // Its first offset, and the one after its last.
	Position   int64
	SizeBytes  int64
}

// Locate finds the first batch that ends at or above offset, among those below the
// position limit; false when there is none.
func (s *Segment) Locate(offset, limit int64) (Place, bool, error) {
	start, err := s.floor(offset)
	if err != nil {
		return Place{}, false, err
	}
	if start >= limit {
		start = 0 // The index runs ahead of what the caller may see.
	}
	p, ok, err := s.locateFrom(start, offset, limit)
	if start > 0 && (err != nil || ok && p.Position == start && p.Base > offset) {
		// Either the index leads astray, or it was made by an older Kafka: the walk from
		// the beginning needs no index.
		return s.locateFrom(0, offset, limit)
	}
	return p, ok, err
}

func (s *Segment) locateFrom(start, offset, limit int64) (Place, bool, error) {
	w := s.walk(limit)
	defer w.close()
	for pos := start; pos < limit; {
		h, err := w.header(pos)
		if err != nil {
			return Place{}, false, err
		}
		if h.LastOffset() >= offset {
			return Place{h.BaseOffset(), h.NextOffset(), pos, int64(h.Size())}, true, nil
		}
		pos += int64(h.Size())
	}
	return Place{}, false, nil
}

// floor returns the position of the newest index entry whose offset is at or below
// the one asked, or 0.
func (s *Segment) floor(offset int64) (int64, error) {
	rel := offset - s.base
	if rel <= 0 {
		return 0, nil
	}
	rel = min(rel, math.MaxInt32)
	i, _, err := s.offsets.search(func(e []byte) bool { return int64(parseOffsetEntry(e).rel) > rel })
	if err != nil || i == 0 {
		return 0, err
	}
	var b [offsetEntryBytes]byte
	if err := s.offsets.at(i-1, b[:]); err != nil {
		return 0, ignoreEOF(err)
	}
	return int64(parseOffsetEntry(b[:]).pos), nil
}

// ignoreEOF takes away the error of a read beyond an index that was just cut: the
// walk from the beginning of the segment finds the same without it.
func ignoreEOF(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // As ReadAt and at return them.
		return nil
	}
	return err
}

// Above returns the offset of the first index entry at or above a position: no batch
// that begins below position holds a higher one. False when the index has none.
func (s *Segment) Above(position int64) (int64, bool, error) {
	i, n, err := s.offsets.search(func(e []byte) bool { return int64(parseOffsetEntry(e).pos) >= position })
	if err != nil || i == n {
		return 0, false, err
	}
	var b [offsetEntryBytes]byte
	if err := s.offsets.at(i, b[:]); err != nil {
		return 0, false, ignoreEOF(err)
	}
	return s.base + int64(parseOffsetEntry(b[:]).rel), true, nil
}

// End walks from the last index entry to the end of the data file and returns the
// offset after the last batch; the base if there is none.
func (s *Segment) End() (int64, error) {
	start := int64(0)
	if n := s.offsets.count(); n > 0 {
		var b [offsetEntryBytes]byte
		if err := s.offsets.at(n-1, b[:]); err != nil {
			return 0, err
		}
		start = int64(parseOffsetEntry(b[:]).pos)
	}
	end, size := s.base, s.Size()
	w := s.walk(size)
	defer w.close()
	for pos := start; pos < size; {
		h, err := w.header(pos)
		if err != nil {
			return 0, err
		}
		end = h.NextOffset()
		pos += int64(h.Size())
	}
	return end, nil
}

// walker reads batch headers one after the other. Several small batches are read at
// once; of a large batch only the header is.
type walker struct {
	s     *Segment
	f     *Handle
	limit int64
	err   error // Of opening the file.

	buf     *[bufferBytes]byte
	have    []byte // What of buf was read,
	at      int64  // and from where.
	largest int64  // Size of the batch seen last.
}

func (s *Segment) walk(limit int64) *walker {
	w := &walker{s: s, limit: limit, buf: getBuffer()}
	w.f, w.err = s.data.Pin(false)
	return w
}

func (w *walker) close() {
	putBuffer(w.buf)
	if w.err == nil {
		w.f.Unpin()
	}
}

// header returns the header of the batch at pos, valid until the next call.
func (w *walker) header(pos int64) (batch.Batch, error) {
	if w.err != nil {
		return nil, w.err
	}
	if pos < w.at || pos+batch.HeaderLen > w.at+int64(len(w.have)) {
		if err := w.fill(pos); err != nil {
			return nil, err
		}
	}
	h := batch.Batch(w.have[pos-w.at:])
	if err := w.s.checkHeader(h, pos, w.limit); err != nil {
		return nil, err
	}
	w.largest = int64(h.Size())
	return h[:batch.HeaderLen:batch.HeaderLen], nil
}

func (w *walker) fill(pos int64) error {
	n := int64(bufferBytes)
	if w.largest > n {
		n = batch.HeaderLen
	}
	n = min(n, w.limit-pos)
	read, err := w.f.ReadAt(w.buf[:max(n, 0)], pos)
	w.have, w.at = w.buf[:read], pos
	if read < batch.HeaderLen {
		if err == nil || err == io.EOF { //nolint:errorlint // As ReadAt returns it.
			return &CorruptError{w.s.Path(), pos, fmt.Sprintf("%d bytes are left, fewer than a header", read)}
		}
		return err
	}
	return nil
}

// checkHeader says whether a header can be that of a batch at pos of this segment,
// below limit. It does not look at the checksum: a reader passes that on.
func (s *Segment) checkHeader(h batch.Batch, pos, limit int64) error {
	corrupt := func(format string, args ...any) error {
		return &CorruptError{s.Path(), pos, fmt.Sprintf(format, args...)}
	}
	size := int64(h.Size())
	if m := h.Magic(); m != batch.Magic {
		if (m == 0 || m == 1) && size >= lengthOverhead+14 {
			return &OldMagicError{s.Path(), pos, m}
		}
		return corrupt("magic is %d", m)
	}
	switch {
	case size < batch.HeaderLen:
		return corrupt("length field is %d, smaller than the header", size-lengthOverhead)
	case pos+size > limit:
		return corrupt("batch of %d bytes ends after %d, where the valid bytes end", size, limit)
	case h.LastOffsetDelta() < 0 || h.BaseOffset() < s.base || h.BaseOffset() > math.MaxInt64-math.MaxInt32-1:
		return corrupt("offsets %d+%d do not belong to segment %d", h.BaseOffset(), h.LastOffsetDelta(), s.base)
	case h.LastOffset()-s.base > math.MaxInt32:
		return corrupt("offset %d is too far above segment %d", h.LastOffset(), s.base)
	}
	return nil
}
