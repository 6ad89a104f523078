package batch

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// errFull stops the compression of a batch that is too large already.
var errFull = errors.New("batch is full")

// rebuild makes a new batch of the records of b, compressed as target, with
// offset deltas 0, 1, 2, …. The records were checked before; they stream from one
// codec to the other, so that only the new batch is ever held.
func rebuild(b Batch, r *Rules, target codec.Codec) (Batch, error) {
	it := b.Records(r.decompressedBound())
	defer it.Close()
	out := bounded{b: append(make([]byte, 0, len(b)), b[:HeaderLen]...), max: r.MaxBytes}
	zw, err := codec.NewWriter(&out, target, r.Level)
	if err != nil {
		return nil, err
	}
	base, newest, err := copyRecords(zw, it)
	err = errors.Join(err, zw.Close())
	switch {
	case errors.Is(err, errFull):
		return nil, &TooLargeError{Size: int64(out.size), Max: int64(r.MaxBytes)}
	case err != nil:
		return nil, invalid("%v", err)
	}
	fresh := Batch(out.b)
	attrs := b.Attributes()&attrTransactional | int16(target)
	if r.LogAppendTime {
		attrs |= attrLogAppendTime
		newest = r.NowMs
	}
	fresh.setAttributes(attrs)
	binary.BigEndian.PutUint64(fresh[atBaseTimestamp:], uint64(base))
	binary.BigEndian.PutUint64(fresh[atMaxTimestamp:], uint64(newest))
	fresh.setLength()
	fresh.Seal()
	return fresh, nil
}

// copyRecords writes the records of it to w, counting timestamps from the first
// one's, which it returns with the largest.
func copyRecords(w io.Writer, it *Iter) (base, newest int64, err error) {
	var scratch []byte
	newest = NoTimestamp
	for index := int32(0); it.Next(); index++ {
		ts, rec := it.Timestamp(), it.Record()
		if index == 0 {
			base = ts
		}
		newest = max(newest, ts)
		rec.OffsetDelta, rec.TimestampDelta = index, ts-base
		scratch = rec.appendTo(scratch[:0])
		if _, err := w.Write(scratch); err != nil {
			return base, newest, err
		}
	}
	return base, newest, it.Err()
}

// setLength writes the length field of a batch that is now as long as it will be.
func (b Batch) setLength() {
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-lengthOverhead))
}

// bounded appends what is written to it, up to max bytes; zero is no bound.
type bounded struct {
	b    []byte
	size int // What b would be.
	max  int
}

func (w *bounded) Write(p []byte) (int, error) {
	w.size = len(w.b) + len(p)
	if w.max > 0 && w.size > w.max {
		return 0, errFull
	}
	w.b = append(w.b, p...)
	return len(p), nil
}
