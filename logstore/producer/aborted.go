package producer

import (
	"encoding/binary"
	"fmt"
)

// AbortedLen is the length in bytes of an entry of a transaction index.
const AbortedLen = 34

// Aborted is one aborted transaction in a partition: an entry of a segment's
// .txnindex file, and, in part, of a fetch response. A fetch of [from, upTo) must
// know of those with Last >= from and First < upTo. The first entry with
// LastStable >= upTo ends the search: all below upTo was decided by then.
type Aborted struct {
	ProducerID int64
	First      int64 // The offset of its first batch; it may lie in an earlier segment.
	Last       int64 // The offset of its ABORT marker, in this segment.
	LastStable int64 // The last stable offset once this transaction was decided.
}

// IndexError says why bytes are not a transaction index. The segment's index is to
// be built again from its batches.
type IndexError struct {
	Entry  int // Its number, from 0.
	Reason string
}

func (e *IndexError) Error() string {
	return fmt.Sprintf("damaged transaction index: entry %d: %s", e.Entry, e.Reason)
}

// Index makes the index entry of an aborted transaction.
func (t Txn) Index() Aborted {
	return Aborted{ProducerID: t.ProducerID, First: t.First, Last: t.Last, LastStable: t.LastStable}
}

// AppendAborted appends an entry in Kafka's format, version 0.
func AppendAborted(dst []byte, a Aborted) []byte {
	dst = binary.BigEndian.AppendUint16(dst, 0)
	dst = binary.BigEndian.AppendUint64(dst, uint64(a.ProducerID))
	dst = binary.BigEndian.AppendUint64(dst, uint64(a.First))
	dst = binary.BigEndian.AppendUint64(dst, uint64(a.Last))
	return binary.BigEndian.AppendUint64(dst, uint64(a.LastStable))
}

// ParseAborted reads the entry that b begins with and judges nothing: a long index
// is looked at by a few of its entries.
func ParseAborted(b []byte) Aborted {
	return Aborted{
		ProducerID: int64(binary.BigEndian.Uint64(b[2:])),
		First:      int64(binary.BigEndian.Uint64(b[10:])),
		Last:       int64(binary.BigEndian.Uint64(b[18:])),
		LastStable: int64(binary.BigEndian.Uint64(b[26:])),
	}
}

// DecodeAborted reads a whole transaction index of the segment with the given base
// offset. The error is an *IndexError.
func DecodeAborted(b []byte, base int64) ([]Aborted, error) {
	if len(b)%AbortedLen != 0 {
		return nil, &IndexError{len(b) / AbortedLen, fmt.Sprintf("%d bytes left over", len(b)%AbortedLen)}
	}
	entries := make([]Aborted, 0, len(b)/AbortedLen)
	last := base - 1
	for i := 0; len(b) > 0; i, b = i+1, b[AbortedLen:] {
		if v := int16(binary.BigEndian.Uint16(b)); v != 0 {
			return nil, &IndexError{i, fmt.Sprintf("version is %d, only 0 is supported", v)}
		}
		a := ParseAborted(b)
		// Markers are indexed as they are appended, so their offsets increase.
		if a.Last <= last || a.First > a.Last {
			return nil, &IndexError{i, fmt.Sprintf("transaction from %d to %d after marker %d of segment %d", a.First, a.Last, last, base)}
		}
		last = a.Last
		entries = append(entries, a)
	}
	return entries, nil
}
