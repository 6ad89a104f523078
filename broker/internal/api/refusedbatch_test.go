package api

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// TestRefusedBatch: what the log or its state of producers found wrong comes with the
// start of the log, and faults of single records with what is wrong with each.
func TestRefusedBatch(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 1)
	n.fill("t", 0, "a", "b", "c")
	p := n.partition("t", 0)
	if _, err := p.DeleteRecords(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	faults := []batch.RecordError{{Index: 4, Message: "no key"}}
	for _, tc := range []struct {
		err      error
		code     *kerr.Error
		logStart int64
		message  string
		faults   int
	}{
		{&producer.EpochError{}, kerr.InvalidProducerEpoch, 2, "", 0},
		{&producer.SequenceError{}, kerr.OutOfOrderSequenceNumber, 2, "", 0},
		{&producer.TxnStateError{}, kerr.InvalidTxnState, 2, "", 0},
		{&producer.UnverifiedError{}, kerr.InvalidTxnState, 2, "", 0},
		{&replica.NotEnoughReplicasError{}, kerr.NotEnoughReplicas, 2, "", 0},
		{&replica.NotEnoughReplicasError{Appended: true}, kerr.NotEnoughReplicasAfterAppend, -1, "", 0},
		{&replica.NotLeaderError{}, kerr.NotLeaderForPartition, -1, "", 0},
		{&batch.TooLargeError{}, kerr.MessageTooLarge, -1, "", 0},
		{&logstore.BatchTooLargeError{}, kerr.RecordListTooLarge, -1, "", 0},
		{&logstore.StorageError{Err: errors.New("no disk")}, kerr.KafkaStorageError, -1, "", 0},
		{&batch.RecordsError{}, kerr.InvalidRecord, 2, "", 0},
		{&batch.RecordsError{Message: "bad", Records: faults}, kerr.InvalidRecord, 2, "bad", 1},
		{&batch.RecordsError{Message: "late", Timestamp: true, Records: faults}, kerr.InvalidTimestamp, 2, "late", 1},
	} {
		got := refusedBatch(tc.err, p)
		message := ""
		if got.message != nil {
			message = *got.message
		}
		if got.code != tc.code.Code || got.logStart != tc.logStart || message != tc.message || len(got.recordErrors) != tc.faults || got.baseOffset != -1 || got.appendTimeMs != -1 {
			t.Errorf("%T: %+v, message %q", tc.err, got, message)
		}
	}
}

// TestProduceTellsWhereItIs: an append is answered with its offset, the time that the
// log gave it, and the log's start.
func TestProduceTellsWhereItIs(t *testing.T) {
	n := newNode(t, 1)
	cfg := n.topicConfig("t")
	cfg.Rules.LogAppendTime = true
	n.config["t"] = cfg
	n.topic("t", 1, 1)
	n.fill("t", 0, "a", "b")
	if _, err := n.partition("t", 0).DeleteRecords(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	before := time.Now().UnixMilli()
	resp := shownProduce(t, n, 9)
	if resp.BaseOffset != 2 || resp.LogStartOffset != 1 || resp.LogAppendTime < before || resp.LogAppendTime > time.Now().UnixMilli() {
		t.Errorf("%+v", resp)
	}
	if old := shownProduce(t, n, 4); old.LogStartOffset != -1 || old.BaseOffset != 3 {
		t.Errorf("version 4 has no start of the log: %+v", old)
	}
}

func shownProduce(t *testing.T, n *node1, version int16) kmsg.ProduceResponseTopicPartition {
	t.Helper()
	return ask(t, n.Env, produceOf(version, 1, "t", [16]byte{}, records("x"))).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
}
