package batch

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// Meta is the part of a batch's header that its maker decides. Its zero value
// names producer 0: begin with Plain for a batch of no producer.
type Meta struct {
	BaseOffset  int64
	LeaderEpoch int32
	// Codec and Level say how to compress; see codec.NewWriter for Level.
	Codec codec.Codec
	Level int
	// LogAppendTime makes the largest timestamp appended that of every record.
	LogAppendTime bool
	// ProducerID is NoProducerID for a batch that is not idempotent; then the epoch
	// is NoProducerEpoch and the sequence NoSequence.
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	Transactional bool
	Control       bool
}

// Plain is the Meta of an uncompressed batch without a producer.
func Plain(baseOffset int64, leaderEpoch int32) Meta {
	return Meta{
		BaseOffset:    baseOffset,
		LeaderEpoch:   leaderEpoch,
		ProducerID:    NoProducerID,
		ProducerEpoch: NoProducerEpoch,
		BaseSequence:  NoSequence,
	}
}

// Builder makes one batch. It belongs to one goroutine.
type Builder struct {
	meta   Meta
	buf    []byte // The header's place, then records, uncompressed.
	count  int32
	last   int32 // Offset delta of the last record.
	base   int64 // Timestamp of the first record, or the delete horizon.
	newest int64 // Largest timestamp.

	horizon bool  // base is the delete horizon.
	reach   int32 // Least last offset delta of the batch.
}

// DeleteHorizon sets the time in ms from which on the tombstones or the marker in the
// batch may go. Compaction sets it, before the first record is appended.
func (bl *Builder) DeleteHorizon(ms int64) {
	if bl.count > 0 {
		panic("BUG: a delete horizon after the first record")
	}
	bl.base, bl.horizon = ms, true
}

// Reach makes the batch span at least up to an offset delta, whatever its last record
// is: compaction must not move the end of a batch, which is its producer's sequence.
func (bl *Builder) Reach(offsetDelta int32) { bl.reach = offsetDelta }

// NewBuilder returns an empty builder.
func NewBuilder(m Meta) *Builder {
	return &Builder{meta: m, buf: make([]byte, HeaderLen, 512), last: -1, base: NoTimestamp, newest: NoTimestamp}
}

// Append adds a record at the next offset. The timestamp is in ms; a nil key or
// value is null. Nothing is kept of the arguments.
func (bl *Builder) Append(timestampMs int64, key, value []byte, hs ...Header) {
	bl.AppendAt(bl.last+1, timestampMs, key, value, hs...)
}

// AppendAt is Append at a chosen distance from the base offset, which must grow
// from record to record. Compaction leaves such gaps.
func (bl *Builder) AppendAt(offsetDelta int32, timestampMs int64, key, value []byte, hs ...Header) {
	if offsetDelta <= bl.last {
		panic(fmt.Sprintf("BUG: offset delta %d after %d", offsetDelta, bl.last))
	}
	if bl.count == 0 && !bl.horizon {
		bl.base = timestampMs
	}
	bl.last = offsetDelta
	bl.newest = max(bl.newest, timestampMs)
	bl.count++
	rec := Record{offsetDelta, timestampMs - bl.base, key, value, hs}
	bl.buf = rec.appendTo(bl.buf)
}

// Len is the size in bytes of the batch so far, before compression.
func (bl *Builder) Len() int { return len(bl.buf) }

// Count is the number of records so far.
func (bl *Builder) Count() int { return int(bl.count) }

// Build returns the batch, sealed, or nil if no record was appended. The builder
// must not be used after it.
func (bl *Builder) Build() Batch {
	if bl.count == 0 {
		return nil
	}
	b := Batch(bl.buf)
	if bl.meta.Codec != codec.None {
		out, err := codec.Compress(make([]byte, HeaderLen, len(bl.buf)), bl.meta.Codec, bl.meta.Level, b.Payload())
		if err != nil {
			panic(fmt.Sprintf("BUG: compressing %d bytes as %v: %v", len(b), bl.meta.Codec, err))
		}
		b = out
	}
	if len(b) > math.MaxInt32 {
		panic(fmt.Sprintf("BUG: batch of %d bytes", len(b)))
	}
	bl.buf = nil
	b.putHeader(bl.meta, max(bl.last, bl.reach), bl.count, bl.base, bl.newest)
	if bl.horizon {
		b.setAttributes(b.Attributes() | attrDeleteHorizon)
		b.Seal()
	}
	return b
}

// Empty is a batch without records: what compaction leaves of one whose last
// offset or producer sequence is still needed. maxTimestampMs is the original's.
func Empty(m Meta, lastOffsetDelta int32, maxTimestampMs int64) Batch {
	m.Codec = codec.None
	b := make(Batch, HeaderLen)
	b.putHeader(m, lastOffsetDelta, 0, NoTimestamp, maxTimestampMs)
	return b
}

// putHeader writes the whole header and seals the batch.
func (b Batch) putHeader(m Meta, lastDelta, count int32, base, newest int64) {
	attrs := int16(m.Codec) & attrCodec
	if m.LogAppendTime {
		attrs |= attrLogAppendTime
	}
	if m.Transactional {
		attrs |= attrTransactional
	}
	if m.Control {
		attrs |= attrControl
	}
	b.SetBaseOffset(m.BaseOffset)
	b.setLength()
	b.SetLeaderEpoch(m.LeaderEpoch)
	b[atMagic] = Magic
	b.setAttributes(attrs)
	binary.BigEndian.PutUint32(b[atLastOffsetDelta:], uint32(lastDelta))
	binary.BigEndian.PutUint64(b[atBaseTimestamp:], uint64(base))
	binary.BigEndian.PutUint64(b[atMaxTimestamp:], uint64(newest))
	binary.BigEndian.PutUint64(b[atProducerID:], uint64(m.ProducerID))
	binary.BigEndian.PutUint16(b[atProducerEpoch:], uint16(m.ProducerEpoch))
	binary.BigEndian.PutUint32(b[atBaseSequence:], uint32(m.BaseSequence))
	binary.BigEndian.PutUint32(b[atCount:], uint32(count))
	b.Seal()
}
