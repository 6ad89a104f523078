package compact

import (
	"cmp"
	"slices"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// Txns follows the transactions through a walk over the batches in their order: which
// data was aborted, and whether anything is left of a transaction when its marker
// comes. The zero Txns stands at the beginning of a log.
type Txns struct {
	ahead     []producer.Aborted // By first offset, of those not yet reached.
	aborted   map[int64]*abortedTxn
	committed map[int64]struct{} // Producers of which a batch was seen since the last marker.
}

type abortedTxn struct {
	producer.Aborted

	seen bool // A batch of it, emptied or not.
}

// Expect adds aborted transactions that lie ahead, or in part behind. One that is told
// again does no harm.
func (t *Txns) Expect(list []producer.Aborted) {
	t.ahead = append(t.ahead, list...)
	slices.SortFunc(t.ahead, func(a, b producer.Aborted) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	t.ahead = slices.Compact(t.ahead)
}

// reach takes up the transactions that began at or below offset.
func (t *Txns) reach(offset int64) {
	for len(t.ahead) > 0 && t.ahead[0].First <= offset {
		a := t.ahead[0]
		t.ahead = t.ahead[1:]
		if t.aborted == nil {
			t.aborted = make(map[int64]*abortedTxn)
		}
		if t.aborted[a.ProducerID] == nil {
			t.aborted[a.ProducerID] = &abortedTxn{Aborted: a}
		}
	}
}

// Data says whether the records of a batch belong to an aborted transaction.
func (t *Txns) Data(b batch.Batch) (aborted bool) {
	t.reach(b.LastOffset())
	if !b.Transactional() {
		return false
	}
	if a := t.aborted[b.ProducerID()]; a != nil {
		a.seen = true
		return true
	}
	if t.committed == nil {
		t.committed = make(map[int64]struct{})
	}
	t.committed[b.ProducerID()] = struct{}{}
	return false
}

// Control takes in a control batch. needless says that nothing is left of what it
// decided. entry, if not nil, is the entry of the transaction index that the marker
// needs where it is kept.
func (t *Txns) Control(b batch.Batch) (needless bool, entry *producer.Aborted, err error) {
	t.reach(b.LastOffset())
	kind, ok, err := controlType(b)
	switch {
	case err != nil:
		return false, nil, err
	case !ok: // Emptied by a round before.
		return true, nil, nil
	}
	switch kind {
	case batch.ControlAbort:
		a := t.aborted[b.ProducerID()]
		delete(t.aborted, b.ProducerID())
		if a != nil && a.seen {
			return false, &a.Aborted, nil
		}
		return true, nil, nil
	case batch.ControlCommit:
		_, seen := t.committed[b.ProducerID()]
		delete(t.committed, b.ProducerID())
		return !seen, nil, nil
	default:
		return false, nil, nil // Of the quorum, or not known.
	}
}

// controlType reads what a control batch is; false if it is empty.
func controlType(b batch.Batch) (int16, bool, error) {
	it := b.Records(maxRecordsBytes)
	defer it.Close()
	if !it.Next() {
		return 0, false, it.Err()
	}
	kind, ok := batch.ControlType(it.Record().Key)
	if !ok {
		return -1, true, nil
	}
	return kind, true, nil
}
