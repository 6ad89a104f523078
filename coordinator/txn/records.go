package txn

import (
	"encoding/binary"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// keyTransaction is the only record type of __transaction_state; the key begins
// with it.
const keyTransaction = 0

// maxValueVersion is the newest value that is read. Version 1 is the first with
// tags, and so the first that can be extended.
const maxValueVersion = 1

func recordKey(id string) []byte {
	key := kmsg.TxnMetadataKey{Version: keyTransaction, TransactionalID: id}
	return key.AppendTo(nil)
}

// record is the transaction as the log has it. level is the transaction.version
// that the cluster has agreed on.
func (t *transaction) record(level int16) coordinator.Record {
	v := kmsg.NewTxnMetadataValue()
	v.ProducerID, v.ProducerEpoch = t.producerID, t.epoch
	v.TimeoutMillis, v.State = t.timeoutMs, t.status
	v.LastUpdateTimestamp, v.StartTimestamp = t.updateMs, t.startMs
	// What only a tag can hold is never left out, whatever the cluster agreed on: a
	// producer may have been told of it already.
	if level >= flexibleRecords || t.prevProducerID != noID || t.nextProducerID != noID || t.clientVersion != 0 {
		v.Version = 1
		v.PreviousProducerID, v.NextProducerID = t.prevProducerID, t.nextProducerID
		v.ClientTransactionVersion = t.clientVersion
	}
	if t.status != empty {
		v.Topics = make([]kmsg.TxnMetadataValueTopic, len(t.topics))
		for i, topic := range t.topics {
			v.Topics[i].Topic, v.Topics[i].Partitions = topic.Name, topic.Partitions
		}
	}
	return coordinator.Record{Key: recordKey(t.id), Value: v.AppendTo(nil)}
}

// Replay implements coordinator.Shard. Records of a kind that is not known are
// skipped: a newer release may have written them before a downgrade.
func (s *Shard) Replay(at coordinator.At, r coordinator.Record) error {
	if len(r.Key) < 2 {
		return fmt.Errorf("record at offset %d has a key of %d bytes, want a type at least", at.Offset, len(r.Key))
	}
	if typ := int16(binary.BigEndian.Uint16(r.Key)); typ != keyTransaction {
		s.skipped(at, "type", typ)
		return nil
	}
	var key kmsg.TxnMetadataKey
	if err := key.ReadFrom(r.Key); err != nil {
		return fmt.Errorf("transaction key at offset %d: %w", at.Offset, err)
	}
	if r.Value == nil {
		s.put(key.TransactionalID, nil)
		return nil
	}
	if len(r.Value) < 2 {
		return fmt.Errorf("transactional id %q at offset %d has a value of %d bytes, want a version at least",
			key.TransactionalID, at.Offset, len(r.Value))
	}
	if version := int16(binary.BigEndian.Uint16(r.Value)); version < 0 || version > maxValueVersion {
		s.skipped(at, "value version", version)
		return nil
	}
	var v kmsg.TxnMetadataValue
	if err := v.ReadFrom(r.Value); err != nil {
		return fmt.Errorf("transactional id %q at offset %d: %w", key.TransactionalID, at.Offset, err)
	}
	t, err := fromRecord(key.TransactionalID, &v)
	if err != nil {
		return fmt.Errorf("transactional id %q at offset %d: %w", key.TransactionalID, at.Offset, err)
	}
	s.put(t.id, &t)
	return nil
}

// fromRecord reads a value. A transaction that owes markers and does not say to
// whom must not pass for one that owes none.
func fromRecord(id string, v *kmsg.TxnMetadataValue) (transaction, error) {
	t := transaction{
		id:             id,
		producerID:     v.ProducerID,
		prevProducerID: v.PreviousProducerID,
		nextProducerID: v.NextProducerID,
		epoch:          v.ProducerEpoch,
		timeoutMs:      v.TimeoutMillis,
		status:         v.State,
		startMs:        v.StartTimestamp,
		updateMs:       v.LastUpdateTimestamp,
		clientVersion:  v.ClientTransactionVersion,
	}
	if v.State < empty || v.State > completeAbort {
		return t, fmt.Errorf("state %d (%v) is never written to the log", int8(v.State), v.State)
	}
	if v.Topics == nil && t.preparing() {
		return t, fmt.Errorf("state %v without the partitions that wait for its markers", t.status)
	}
	if t.prevProducerID == t.producerID {
		t.prevProducerID = noID // Newer releases of Kafka repeat the id where it did not change.
	}
	for _, topic := range v.Topics {
		t.topics = union(t.topics, []Topic{{topic.Topic, topic.Partitions}})
	}
	return t, nil
}

func (s *Shard) skipped(at coordinator.At, what string, number int16) {
	s.cfg.Logger.Warn("record of a transaction was skipped: a newer release wrote it",
		slog.Int64("offset", at.Offset), slog.String("unknown", what), slog.Int("number", int(number)))
}

// put makes t the newest of its id, or forgets the id.
func (s *Shard) put(id string, t *transaction) {
	delete(s.ongoing, id)
	if t == nil {
		delete(s.ids, id)
		return
	}
	e := &entry{transaction: *t, last: noEpoch}
	if staged := s.staged[id]; staged != nil { // It is our own record.
		e.last = staged.last
	}
	s.ids[id] = e
	if t.status == ongoing {
		s.ongoing[id] = struct{}{}
	}
}

// ReplayMarker implements coordinator.Shard. No record of this log is part of a
// transaction, so no marker of one means anything.
func (s *Shard) ReplayMarker(int64, int16, bool) {}
