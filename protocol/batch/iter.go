package batch

import (
	"fmt"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// Iter walks the records of a batch, decompressing as it goes. It belongs to one
// goroutine. Read the records with
//
//	it := b.Records(limit)
//	defer it.Close()
//	for it.Next() {
//		use(it.Offset(), it.Record())
//	}
//	if err := it.Err(); err != nil {
type Iter struct {
	batch Batch  // The header.
	flat  []byte // The records not yet read, of an uncompressed batch.
	win   *window
	left  int32 // Records not yet read.
	rec   Record
	err   error
}

// Records returns an iterator over the records of b, which must be whole. It
// decompresses at most limit bytes (codec.NoLimit lifts that). Like Kafka's it
// reads as many records as the header counts, and takes what is left then for
// damage; a batch of none is not looked into. Errors, a bad compression among
// them, come from Err.
func (b Batch) Records(limit int64) *Iter {
	it := &Iter{batch: b[:HeaderLen], left: b.Count()}
	switch {
	case it.left < 0:
		it.fail(errCount)
	case it.left == 0:
	case b.Codec() == codec.None:
		it.flat = b.Payload()
	default:
		var err error
		if it.win, err = openWindow(b, limit); err != nil {
			it.fail(err)
		}
	}
	return it
}

// Next goes to the next record. False at the end, or at an error: see Err.
func (it *Iter) Next() bool {
	if it.left <= 0 || it.err != nil {
		return false
	}
	body, err := it.body()
	if err == nil {
		err = it.rec.parse(body)
	}
	it.left--
	if err == nil && it.left == 0 {
		err = it.atEnd()
	}
	if err != nil {
		it.fail(err)
		return false
	}
	return true
}

// body reads the next record's length and bytes.
func (it *Iter) body() ([]byte, error) {
	if it.win == nil {
		size, n := varint32(it.flat)
		if n == 0 || size < 0 || int(size) > len(it.flat)-n {
			return nil, errRecordCut
		}
		body := it.flat[n : n+int(size)]
		it.flat = it.flat[n+int(size):]
		return body, nil
	}
	size, ok := it.win.varint32()
	if !ok || size < 0 || !it.win.grow(int(size)) {
		return nil, it.win.failure(errRecordCut)
	}
	body := it.win.unread()[:size]
	it.win.advance(int(size))
	return body, nil
}

func (it *Iter) atEnd() error {
	if it.win != nil {
		// A look ahead may move the window, and with it the last record.
		if it.win.end > it.win.pos {
			return errRecordsRemain
		}
		var one [1]byte
		for it.win.err == nil {
			var n int
			if n, it.win.err = it.win.src.Read(one[:]); n > 0 {
				return errRecordsRemain
			}
		}
		return it.win.failure(nil)
	}
	if len(it.flat) > 0 {
		return errRecordsRemain
	}
	return nil
}

func (it *Iter) fail(err error) {
	it.err = &CorruptError{
		Offset: it.batch.BaseOffset(),
		Reason: fmt.Sprintf("record %d of %d", it.batch.Count()-it.left, it.batch.Count()),
		Err:    err,
	}
}

// Record is the current record. It and all it points to are valid until the next
// call of Next or Close.
func (it *Iter) Record() *Record { return &it.rec }

// Offset is the current record's offset.
func (it *Iter) Offset() int64 { return it.batch.BaseOffset() + int64(it.rec.OffsetDelta) }

// Timestamp is the current record's time in ms: its own, or that of the append.
func (it *Iter) Timestamp() int64 {
	if it.batch.LogAppendTime() {
		return it.batch.MaxTimestamp()
	}
	return it.batch.BaseTimestamp() + it.rec.TimestampDelta
}

// Err is the *CorruptError that ended the iteration, or nil. It wraps
// codec.ErrTooLarge when the limit did.
func (it *Iter) Err() error { return it.err }

// Close gives back what decompression took. It may be called more than once, and
// need not be for a batch that is not compressed.
func (it *Iter) Close() {
	if it.win != nil {
		it.win.close()
		it.win = nil
		it.left = 0
	}
}
