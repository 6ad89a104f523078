package batch

import (
	"encoding/binary"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// Types of control records. Readers skip those they do not know.
const (
	ControlAbort          int16 = 0
	ControlCommit         int16 = 1
	ControlLeaderChange   int16 = 2
	ControlSnapshotHeader int16 = 3
	ControlSnapshotFooter int16 = 4
	ControlKRaftVersion   int16 = 5
	ControlKRaftVoters    int16 = 6
)

// ControlRecord is one record of a control batch. The form of Value depends on
// Type: EndTxn and ParseEndTxn know that of ControlAbort and ControlCommit, the
// metadata package the others.
type ControlRecord struct {
	Type  int16
	Value []byte
}

// ControlType reads the key of a control record. False if it is too short, or of
// a version that makes no sense; a version above ours still begins like it.
func ControlType(key []byte) (int16, bool) {
	if len(key) < 4 || int16(binary.BigEndian.Uint16(key)) < 0 {
		return 0, false
	}
	return int16(binary.BigEndian.Uint16(key[2:])), true
}

// ControlKey is the key of a control record.
func ControlKey(controlType int16) []byte {
	return binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(controlType))
}

// Control makes a control batch. It is never compressed and has no sequence; of
// m all else holds. It is nil without records.
func Control(m Meta, timestampMs int64, recs ...ControlRecord) Batch {
	m.Control, m.Codec, m.BaseSequence = true, codec.None, NoSequence
	bl := NewBuilder(m)
	for _, r := range recs {
		bl.Append(timestampMs, ControlKey(r.Type), r.Value)
	}
	return bl.Build()
}

// EndTxn makes the marker that ends the transaction of m's producer in a
// partition. coordinatorEpoch is the epoch of the transaction coordinator's
// partition, by which a marker of a deposed coordinator is told.
func EndTxn(m Meta, commit bool, coordinatorEpoch int32, timestampMs int64) Batch {
	m.Transactional = true
	marker := ControlRecord{Type: ControlAbort, Value: binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(coordinatorEpoch))}
	if commit {
		marker.Type = ControlCommit
	}
	return Control(m, timestampMs, marker)
}

// ParseEndTxn reads the value of a ControlAbort or ControlCommit record.
func ParseEndTxn(value []byte) (coordinatorEpoch int32, ok bool) {
	if len(value) < 6 || int16(binary.BigEndian.Uint16(value)) < 0 {
		return 0, false
	}
	return int32(binary.BigEndian.Uint32(value[2:])), true
}
