package logstore

import (
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// markerOf returns what the control batch of a transaction says, and nil for any other
// batch. A control batch that compaction has emptied says nothing; neither does a
// control record of a type that is not known, which readers have to skip.
func markerOf(b batch.Batch) (*producer.Marker, error) {
	if !b.Control() || b.ProducerID() < 0 {
		return nil, nil
	}
	it := b.Records(int64(len(b))) // Never compressed.
	defer it.Close()
	if !it.Next() {
		return nil, it.Err()
	}
	kind, ok := batch.ControlType(it.Record().Key)
	if !ok || kind != batch.ControlAbort && kind != batch.ControlCommit {
		return nil, nil
	}
	epoch, ok := batch.ParseEndTxn(it.Record().Value)
	if !ok {
		return nil, &batch.CorruptError{Offset: b.BaseOffset(), Reason: "transaction marker without a coordinator epoch"}
	}
	return &producer.Marker{Abort: kind == batch.ControlAbort, CoordinatorEpoch: epoch}, nil
}
