package batch

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// Rules are what a topic demands of a batch that a client produces.
type Rules struct {
	// NowMs is the time of the append, in ms.
	NowMs int64
	// LogAppendTime stamps NowMs on the batch: message.timestamp.type.
	LogAppendTime bool
	// BeforeMaxMs and AfterMaxMs are how far from NowMs a record's own timestamp may
	// lie: message.timestamp.before.max.ms and .after.max.ms. Without LogAppendTime
	// both must be set; Kafka's defaults are MaxInt64 and an hour.
	BeforeMaxMs, AfterMaxMs int64
	// Compacted demands a key of every record: cleanup.policy has compact.
	Compacted bool
	// Recompress stores the batch as Codec at Level, whatever the client chose:
	// compression.type is not producer.
	Recompress bool
	Codec      codec.Codec
	Level      int
	// MaxBytes bounds the whole batch, as sent and as stored: max.message.bytes. Zero
	// is no bound.
	MaxBytes int
	// HeaderOnly trusts the records: only header and CRC are checked. It saves the
	// decompression of compressed batches, which is most of a broker's work for
	// them. The records are looked at even so if they must be rewritten, if the
	// topic is compacted or bounds timestamps from below, or if the header's are out
	// of bounds.
	HeaderOnly bool
	// AllowZstd lets zstd in; Produce does from version 7.
	AllowZstd bool
	// MaxDecompressedBytes bounds what a batch decompresses to: the setting
	// max.decompressed.message.bytes. Zero means DefaultExpansion times MaxBytes, and
	// at least 128 MiB.
	MaxDecompressedBytes int64
}

// DefaultExpansion is how much larger than max.message.bytes a batch may
// decompress to, unless Rules say otherwise. A megabyte of zstd can hold ten
// gigabytes of nothing.
const DefaultExpansion = 128

// smallestDecompressedBound is the least that Rules.MaxDecompressedBytes means
// when it is zero.
const smallestDecompressedBound = 128 << 20

func (r *Rules) decompressedBound() int64 {
	if r.MaxDecompressedBytes > 0 {
		return r.MaxDecompressedBytes
	}
	return max(DefaultExpansion*int64(r.MaxBytes), smallestDecompressedBound)
}

// target is the codec to store a batch with that came as c.
func (r *Rules) target(c codec.Codec) codec.Codec {
	if r.Recompress {
		return r.Codec
	}
	return c
}

// Admit checks what a client sent for one partition and makes it ready for the
// log: exactly one batch, whose bytes are changed in place where the topic's rules
// ask for it. Offset and leader epoch are still to be stamped. The result is in
// itself, or a new batch if the records had to be rewritten.
//
// Errors are *CorruptError, *RecordsError, *TooLargeError and *CodecError, in the
// order in which Kafka looks for the faults; then in is unchanged. Bytes after the
// batch that are no whole batch are dropped, as Kafka does.
//
// It parts from Kafka where Kafka has no answer but UNKNOWN_SERVER_ERROR: records
// that do not decompress, and compressed ones whose offset deltas are not 0, 1,
// 2, …, are a *RecordsError; a codec that does not exist is a *CodecError. Wrong
// offset deltas of uncompressed records Kafka stores, so that two records may
// share an offset or have the next batch's; here they are put right.
func Admit(in []byte, r Rules) (Batch, error) {
	b, err := Only(in, r.AllowZstd)
	if err != nil {
		return nil, err
	}
	if err := checkHeader(b, &r); err != nil {
		return nil, err
	}
	target := r.target(b.Codec())
	if r.HeaderOnly && target == b.Codec() && !r.Compacted && headerInBounds(b, &r) {
		stamp(b, &r, b.MaxTimestamp())
		return b, nil
	}
	newest, dense, err := checkRecords(b, &r)
	if err != nil {
		return nil, err
	}
	switch {
	case target != b.Codec() || !dense && target == codec.None:
		return rebuild(b, &r, target)
	case !dense:
		return nil, invalid("offset deltas of the records are not 0, 1, 2, …")
	}
	stamp(b, &r, newest)
	return b, nil
}

// Only takes the one batch out of in, with the checks that Kafka makes for the
// request before it comes to the partition, and that Admit makes again. Its errors
// are Admit's; a *RecordsError names no records.
func Only(in []byte, allowZstd bool) (Batch, error) {
	b, rest, err := Next(in)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, invalid("there is no whole record batch in %d bytes", len(in))
	case err != nil && legacy(err):
		return nil, invalid("message format %d is not supported any more, only record batches are", in[atMagic])
	case err != nil:
		return nil, err
	}
	if b.Codec() == codec.Zstd && !allowZstd {
		return nil, &CodecError{codec.Zstd}
	}
	switch _, _, err := Next(rest); {
	case err == nil || legacy(err):
		return nil, invalid("there is more than one record batch for the partition")
	case !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err
	}
	return b, nil
}

func legacy(err error) bool {
	bad, ok := errors.AsType[*CorruptError](err)
	return ok && bad.Legacy
}

// checkHeader is all that can be said without looking at the records.
func checkHeader(b Batch, r *Rules) error {
	if b.BaseOffset() != 0 {
		return invalid("base offset is %d, a producer sends 0", b.BaseOffset())
	}
	if r.MaxBytes > 0 && len(b) > r.MaxBytes {
		return &TooLargeError{Size: int64(len(b)), Max: int64(r.MaxBytes)}
	}
	if err := b.CheckCRC(); err != nil {
		return err
	}
	if !b.Codec().Known() {
		return &CodecError{b.Codec()}
	}
	count, delta := b.Count(), b.LastOffsetDelta()
	switch {
	case delta < 0:
		return invalid("last offset delta is %d", delta)
	case count <= 0:
		return invalid("record count is %d", count)
	case int64(delta)+1 != int64(count):
		return invalid("record count is %d, but there are %d offsets", count, int64(delta)+1)
	case b.Control():
		return invalid("clients may not write control records")
	case b.ProducerID() > NoProducerID && b.BaseSequence() < 0:
		return invalid("sequence is %d with producer id %d", b.BaseSequence(), b.ProducerID())
	}
	return nil
}

// headerInBounds reports whether the records' timestamps pass the rules if the
// header does not lie. It knows their largest, but not their smallest: any lower
// bound after 1970 has to be looked for.
func headerInBounds(b Batch, r *Rules) bool {
	if b.LogAppendTime() {
		return false
	}
	lo, hi := r.bounds()
	return r.LogAppendTime || lo <= 0 && b.BaseTimestamp() <= hi && b.MaxTimestamp() <= hi
}

// bounds are the first and last timestamp allowed.
func (r *Rules) bounds() (lo, hi int64) {
	if r.LogAppendTime {
		return math.MinInt64, math.MaxInt64
	}
	lo, hi = r.NowMs-r.BeforeMaxMs, r.NowMs+r.AfterMaxMs
	if r.BeforeMaxMs > 0 && lo > r.NowMs {
		lo = math.MinInt64
	}
	if r.AfterMaxMs > 0 && hi < r.NowMs {
		hi = math.MaxInt64
	}
	return lo, hi
}

// StampAppendTime gives all records one timestamp, that of their append: what the
// leader of a topic with LogAppendTime does to batches of the broker's own.
func (b Batch) StampAppendTime(nowMs int64) {
	stamp(b, &Rules{LogAppendTime: true, NowMs: nowMs}, NoTimestamp)
}

// stamp writes what the leader decides about time. newest is the largest timestamp
// of the records. The CRC is computed again only if something changed.
func stamp(b Batch, r *Rules, newest int64) {
	attrs := b.Attributes() &^ attrLogAppendTime
	if r.LogAppendTime {
		attrs |= attrLogAppendTime
		newest = r.NowMs
	}
	if attrs == b.Attributes() && newest == b.MaxTimestamp() {
		return
	}
	b.setAttributes(attrs)
	binary.BigEndian.PutUint64(b[atMaxTimestamp:], uint64(newest))
	b.Seal()
}
