// Package batch knows Kafka's record batch, magic 2: the unit that producers
// send, logs store and consumers read.
//
// A Batch is its bytes. Accessors read the header where it lies, a leader stamps
// the offset and epoch into it, and the records stay as the client packed them:
// a broker that copied or decoded them would spend most of its time on that.
// Three things look at the records: Admit, which checks a client's batch as
// Kafka's LogValidator does; Records, which walks them; Builder, which makes
// batches of our own. Begin with Next and Admit.
//
// The bytes come from strangers: nothing here panics on them or allocates by a
// length they claim. Decompression streams and is capped.
//
// Not here: offsets, producer sequences and files (logstore), which error code
// a client sees (the broker's API layer), and the formats before magic 2, which
// Kafka stopped taking in 4.0.
package batch

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// HeaderLen is the length in bytes of a batch's header, and of the smallest
// batch.
const HeaderLen = 61

// Magic is the format version this package reads and writes.
const Magic = 2

// Values of header fields that hold nothing.
const (
	NoProducerID    = -1 // In ProducerID.
	NoProducerEpoch = -1 // In ProducerEpoch.
	NoSequence      = -1 // In BaseSequence.
	NoTimestamp     = -1 // In a timestamp.
	NoLeaderEpoch   = -1 // In LeaderEpoch.
)

// Where the header's fields lie. All are big-endian.
const (
	atBaseOffset      = 0  // int64
	atLength          = 8  // int32: bytes after this field.
	atLeaderEpoch     = 12 // int32
	atMagic           = 16 // int8
	atCRC             = 17 // uint32: CRC-32C of everything after it.
	atAttributes      = 21 // int16
	atLastOffsetDelta = 23 // int32
	atBaseTimestamp   = 27 // int64
	atMaxTimestamp    = 35 // int64
	atProducerID      = 43 // int64
	atProducerEpoch   = 51 // int16
	atBaseSequence    = 53 // int32
	atCount           = 57 // int32
	lengthOverhead    = 12 // Bytes up to and including the length field.
)

// Bits of the attributes.
const (
	attrCodec         = 0b0000_0111
	attrLogAppendTime = 1 << 3
	attrTransactional = 1 << 4
	attrControl       = 1 << 5
	attrDeleteHorizon = 1 << 6
)

// smallestLegacyLength is the length field of the smallest message of magic 0.
// Kafka takes anything below for damage before it looks at the magic.
const smallestLegacyLength = 14

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one record batch, header first. The header accessors need only its
// first HeaderLen bytes; Payload, CheckCRC, Seal and Records need all of it. Next
// gives batches that are whole.
type Batch []byte

// Next splits the first batch off in. It checks that the batch is whole, of
// magic 2 and as long as its header, and nothing more: not the CRC. A
// *CorruptError says that no batch begins here; io.ErrUnexpectedEOF that in is
// the beginning of a batch, or empty.
func Next(in []byte) (b Batch, rest []byte, err error) {
	if len(in) < lengthOverhead {
		return nil, in, io.ErrUnexpectedEOF
	}
	length := int32(binary.BigEndian.Uint32(in[atLength:]))
	if length < smallestLegacyLength {
		return nil, in, corrupt(in, "length field is %d, too small for any batch", length)
	}
	if len(in) <= atMagic {
		return nil, in, io.ErrUnexpectedEOF
	}
	if m := int8(in[atMagic]); m != Magic {
		return nil, in, &CorruptError{
			Offset: Batch(in).BaseOffset(),
			Reason: fmt.Sprintf("magic is %d, only %d is supported", m, Magic),
			Legacy: m == 0 || m == 1,
		}
	}
	size := int(length) + lengthOverhead
	switch {
	case size < HeaderLen:
		return nil, in, corrupt(in, "length field is %d, smaller than the header", length)
	case size > len(in):
		return nil, in, io.ErrUnexpectedEOF
	}
	return in[:size:size], in[size:], nil
}

// BaseOffset is the offset of the first record that the batch was made with. A
// producer sends 0; the leader stamps it.
func (b Batch) BaseOffset() int64 { return int64(binary.BigEndian.Uint64(b[atBaseOffset:])) }

// SetBaseOffset stamps the base offset, which the CRC does not cover.
func (b Batch) SetBaseOffset(offset int64) {
	binary.BigEndian.PutUint64(b[atBaseOffset:], uint64(offset))
}

// Size is the length in bytes of the whole batch, as the header tells it.
func (b Batch) Size() int {
	return int(int32(binary.BigEndian.Uint32(b[atLength:]))) + lengthOverhead
}

// LeaderEpoch is the epoch of the leader that appended the batch, or
// NoLeaderEpoch.
func (b Batch) LeaderEpoch() int32 { return int32(binary.BigEndian.Uint32(b[atLeaderEpoch:])) }

// SetLeaderEpoch stamps the leader's epoch, which the CRC does not cover.
func (b Batch) SetLeaderEpoch(epoch int32) {
	binary.BigEndian.PutUint32(b[atLeaderEpoch:], uint32(epoch))
}

// Magic is the format version.
func (b Batch) Magic() int8 { return int8(b[atMagic]) }

// CRC is the stored CRC-32C; CheckCRC compares it.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[atCRC:]) }

// Attributes are the header's flags, raw.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[atAttributes:])) }

func (b Batch) setAttributes(a int16) { binary.BigEndian.PutUint16(b[atAttributes:], uint16(a)) }

// Codec is how the records are compressed. A batch from outside may name one
// that is not Known.
func (b Batch) Codec() codec.Codec { return codec.Codec(b.Attributes() & attrCodec) }

// LogAppendTime reports whether all records have the time the broker appended
// them, MaxTimestamp, instead of their own.
func (b Batch) LogAppendTime() bool { return b.Attributes()&attrLogAppendTime != 0 }

// Transactional reports whether the batch belongs to a transaction.
func (b Batch) Transactional() bool { return b.Attributes()&attrTransactional != 0 }

// Control reports whether the records are for brokers and clients' innards: see
// ControlType.
func (b Batch) Control() bool { return b.Attributes()&attrControl != 0 }

// HasDeleteHorizon reports whether BaseTimestamp is the time in ms from which
// compaction may drop the batch's tombstones. It is the base of the records'
// timestamps even so.
func (b Batch) HasDeleteHorizon() bool { return b.Attributes()&attrDeleteHorizon != 0 }

// LastOffsetDelta is the distance from the base to the last offset the batch
// was made with. Compaction keeps it.
func (b Batch) LastOffsetDelta() int32 {
	return int32(binary.BigEndian.Uint32(b[atLastOffsetDelta:]))
}

// LastOffset is the offset of the last record that the batch was made with.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// NextOffset is the first offset after the batch.
func (b Batch) NextOffset() int64 { return b.LastOffset() + 1 }

// BaseTimestamp is what records' timestamps count from, in ms.
func (b Batch) BaseTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[atBaseTimestamp:])) }

// MaxTimestamp is the largest timestamp of the batch in ms, or NoTimestamp. With
// LogAppendTime it is every record's timestamp.
func (b Batch) MaxTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[atMaxTimestamp:])) }

// ProducerID is the id of an idempotent producer, or NoProducerID.
func (b Batch) ProducerID() int64 { return int64(binary.BigEndian.Uint64(b[atProducerID:])) }

// ProducerEpoch is the producer's epoch, or NoProducerEpoch.
func (b Batch) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(b[atProducerEpoch:])) }

// BaseSequence is the producer's number of the first record, or NoSequence.
func (b Batch) BaseSequence() int32 { return int32(binary.BigEndian.Uint32(b[atBaseSequence:])) }

// LastSequence is the producer's number of the last record. Sequences go from
// 2^31-1 to 0. A batch without a base sequence has no last one.
func (b Batch) LastSequence() int32 {
	if b.BaseSequence() == NoSequence {
		return NoSequence
	}
	return AddSequence(b.BaseSequence(), b.LastOffsetDelta())
}

// AddSequence is the producer sequence n after seq: 2^31-1 is followed by 0.
func AddSequence(seq, n int32) int32 { return (seq + n) & math.MaxInt32 }

// Count is how many records the header says there are. Compaction may leave 0.
func (b Batch) Count() int32 { return int32(binary.BigEndian.Uint32(b[atCount:])) }

// Payload is the records, still compressed.
func (b Batch) Payload() []byte { return b[HeaderLen:] }

func (b Batch) computeCRC() uint32 { return crc32.Checksum(b[atAttributes:], castagnoli) }

// CheckCRC answers a *CorruptError if the bytes are not those that were sealed.
func (b Batch) CheckCRC() error {
	if want, got := b.CRC(), b.computeCRC(); want != got {
		return corrupt(b, "CRC is %08x, the header says %08x", got, want)
	}
	return nil
}

// Seal writes the CRC. It is needed after a change behind the CRC field: offset
// and leader epoch lie before it.
func (b Batch) Seal() { binary.BigEndian.PutUint32(b[atCRC:], b.computeCRC()) }
