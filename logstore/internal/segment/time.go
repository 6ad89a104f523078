package segment

import (
	"fmt"
	"io"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// Found is a record found by its timestamp.
type Found struct {
	Offset      int64
	TimestampMs int64
	Epoch       int32 // Leader epoch of its batch; -1 when unknown.
}

// maxRecordsBytes bounds what the records of one batch may decompress to while a
// timestamp is looked for. The batch was admitted under a bound of its own; this one
// is for what came from elsewhere.
const maxRecordsBytes = 1 << 30

// FirstAtOrAfter finds the first record whose timestamp is at or after ts and whose
// offset is at or above from, among the batches below the position limit.
func (s *Segment) FirstAtOrAfter(ts, from, limit int64) (Found, bool, error) {
	start, err := s.floorTime(ts, from)
	if err != nil {
		return Found{}, false, err
	}
	return s.scan(start, limit, func(h batch.Batch) bool {
		return h.MaxTimestamp() >= ts && h.LastOffset() >= from
	}, func(offset, recordTS int64) bool {
		return recordTS >= ts && offset >= from
	})
}

// FirstNewest finds the first record that bears the segment's newest timestamp, which
// Newest told as ts and offset.
func (s *Segment) FirstNewest(ts, offset, limit int64) (Found, bool, error) {
	start, err := s.floor(offset)
	if err != nil {
		return Found{}, false, err
	}
	return s.scan(start, limit, func(h batch.Batch) bool { return h.MaxTimestamp() == ts },
		func(_, recordTS int64) bool { return recordTS == ts })
}

// floorTime returns a position from which no earlier record is wanted: that of the
// newest time index entry below ts, or of the offset from if that is later.
func (s *Segment) floorTime(ts, from int64) (int64, error) {
	i, _, err := s.times.search(func(e []byte) bool { return parseTimeEntry(e).ts > ts })
	if err != nil {
		return 0, err
	}
	if i > 0 {
		var b [timeEntryBytes]byte
		if err := s.times.at(i-1, b[:]); err != nil {
			return 0, ignoreEOF(err)
		}
		from = max(from, s.base+int64(parseTimeEntry(b[:]).rel))
	}
	return s.floor(from)
}

// scan walks headers from start and, in the batches that may hold the record, the
// records, decompressing as it goes.
func (s *Segment) scan(start, limit int64, may func(batch.Batch) bool, is func(offset, ts int64) bool) (Found, bool, error) {
	w := s.walk(limit)
	defer w.close()
	for pos := start; pos < limit; {
		h, err := w.header(pos)
		if err != nil {
			return Found{}, false, err
		}
		size := int64(h.Size())
		if may(h) {
			epoch := h.LeaderEpoch()
			b := make(batch.Batch, size)
			if _, err := w.f.ReadAt(b, pos); err != nil {
				return Found{}, false, err
			}
			offset, ts, ok, err := firstRecord(b, is)
			if err != nil {
				return Found{}, false, fmt.Errorf("%s: batch at position %d: %w", s.Path(), pos, err)
			}
			if ok {
				return Found{offset, ts, epoch}, true, nil
			}
		}
		pos += size
	}
	return Found{}, false, nil
}

func firstRecord(b batch.Batch, is func(offset, ts int64) bool) (offset, ts int64, ok bool, err error) {
	it := b.Records(maxRecordsBytes)
	defer it.Close()
	for it.Next() {
		if is(it.Offset(), it.Timestamp()) {
			return it.Offset(), it.Timestamp(), true, nil
		}
	}
	return 0, 0, false, it.Err()
}

// Batches calls visit for each whole batch from position start on, below limit. The
// batch is valid until visit returns; its checksum is not checked.
func (s *Segment) Batches(start, limit int64, visit func(b batch.Batch, pos int64) (goOn bool, err error)) error {
	f, err := s.data.Pin(false)
	if err != nil {
		return err
	}
	defer f.Unpin()
	r := newReader(f, start, limit)
	defer r.close()
	for pos := start; pos < limit; {
		h, err := r.bytes(pos, batch.HeaderLen)
		if err != nil {
			return s.readError(pos, err)
		}
		if err := s.checkHeader(h, pos, limit); err != nil {
			return err
		}
		b, err := r.bytes(pos, int64(batch.Batch(h).Size()))
		if err != nil {
			return s.readError(pos, err)
		}
		if goOn, err := visit(b, pos); err != nil || !goOn {
			return err
		}
		pos += int64(len(b))
	}
	return nil
}

func (s *Segment) readError(pos int64, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // As the reader returns them.
		return &CorruptError{s.Path(), pos, "the file ends within the batch"}
	}
	return err
}
