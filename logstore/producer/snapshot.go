package producer

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// The snapshot file: version, CRC-32C of all that follows it, count, entries. All
// integers are big-endian.
const (
	snapshotVersion = 1

	snapshotAtCRC   = 2
	snapshotAtCount = 6
	snapshotHeadLen = 10
	snapshotLen     = 46 // Of one entry.
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SnapshotError says why bytes are not a snapshot of producers. Such a file is to
// be deleted and the one before it used; never an empty state, which would let
// duplicates in.
type SnapshotError struct{ Reason string }

func (e *SnapshotError) Error() string { return "damaged producer snapshot: " + e.Reason }

// Encode gives the content of a snapshot file: version 1, Kafka's, byte for byte.
// It holds the last batch of each producer only, and no transaction that is
// decided: those come from replaying the log or are below the high watermark.
func (s *State) Encode() []byte { return Encode(s.Entries()) }

// Encode gives the content of a snapshot file with these entries, in their order.
func Encode(entries []Entry) []byte {
	if len(entries) > math.MaxInt32 {
		panic(fmt.Sprintf("BUG: %d producers in one partition", len(entries)))
	}
	b := make([]byte, snapshotHeadLen, snapshotHeadLen+len(entries)*snapshotLen)
	binary.BigEndian.PutUint16(b, snapshotVersion)
	binary.BigEndian.PutUint32(b[snapshotAtCount:], uint32(len(entries)))
	for _, e := range entries {
		b = binary.BigEndian.AppendUint64(b, uint64(e.ProducerID))
		b = binary.BigEndian.AppendUint16(b, uint16(e.Epoch))
		b = binary.BigEndian.AppendUint32(b, uint32(e.LastSequence))
		b = binary.BigEndian.AppendUint64(b, uint64(e.LastOffset))
		b = binary.BigEndian.AppendUint32(b, uint32(e.OffsetDelta))
		b = binary.BigEndian.AppendUint64(b, uint64(e.TimestampMs))
		b = binary.BigEndian.AppendUint32(b, uint32(e.CoordinatorEpoch))
		b = binary.BigEndian.AppendUint64(b, uint64(e.TxnFirst))
	}
	binary.BigEndian.PutUint32(b[snapshotAtCRC:], crc32.Checksum(b[snapshotAtCount:], castagnoli))
	return b
}

// Decode reads the content of a snapshot file, for State.Load. The error is a
// *SnapshotError.
func Decode(b []byte) ([]Entry, error) {
	if len(b) < snapshotHeadLen {
		return nil, &SnapshotError{fmt.Sprintf("%d bytes are too short", len(b))}
	}
	if v := int16(binary.BigEndian.Uint16(b)); v != snapshotVersion {
		return nil, &SnapshotError{fmt.Sprintf("version is %d, only %d is supported", v, snapshotVersion)}
	}
	want, got := binary.BigEndian.Uint32(b[snapshotAtCRC:]), crc32.Checksum(b[snapshotAtCount:], castagnoli)
	if want != got {
		return nil, &SnapshotError{fmt.Sprintf("CRC is %08x, the header says %08x", got, want)}
	}
	count := int32(binary.BigEndian.Uint32(b[snapshotAtCount:]))
	b = b[snapshotHeadLen:]
	if int64(len(b)) != int64(count)*snapshotLen {
		return nil, &SnapshotError{fmt.Sprintf("%d entries in %d bytes", count, len(b))}
	}
	entries := make([]Entry, 0, count)
	seen := make(map[int64]struct{}, count)
	for ; len(b) > 0; b = b[snapshotLen:] {
		e := decodeEntry(b)
		if _, twice := seen[e.ProducerID]; twice || e.ProducerID < 0 {
			return nil, &SnapshotError{fmt.Sprintf("producer %d is twice in it, or no producer", e.ProducerID)}
		}
		seen[e.ProducerID] = struct{}{}
		entries = append(entries, e)
	}
	return entries, nil
}

func decodeEntry(b []byte) Entry {
	return Entry{
		ProducerID:       int64(binary.BigEndian.Uint64(b)),
		Epoch:            int16(binary.BigEndian.Uint16(b[8:])),
		LastSequence:     int32(binary.BigEndian.Uint32(b[10:])),
		LastOffset:       int64(binary.BigEndian.Uint64(b[14:])),
		OffsetDelta:      int32(binary.BigEndian.Uint32(b[22:])),
		TimestampMs:      int64(binary.BigEndian.Uint64(b[26:])),
		CoordinatorEpoch: int32(binary.BigEndian.Uint32(b[34:])),
		TxnFirst:         int64(binary.BigEndian.Uint64(b[38:])),
	}
}
