package txn

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
	"github.com/moldau-broker/moldau/protocol/formattest"
)

// TestFormatPage holds docs/format/coordinator-records.md to what a shard reads from the
// golden record and what it writes.
func TestFormatPage(t *testing.T) {
	in, want := coordtest.GoldenRecord(t, "transaction.hex")
	s := New(Config{})
	if err := s.Replay(coordinator.At{Offset: 5, ProducerID: -1}, in); err != nil {
		t.Fatal(err)
	}
	e := s.ids["tx"]
	var got formattest.Notes
	got.Say("key.type", binary.BigEndian.Uint16(in.Key))
	got.Say("key.transactionalId", e.id)
	got.Say("value.version", binary.BigEndian.Uint16(in.Value))
	got.Say("value.producerId", e.producerID)
	got.Say("value.producerEpoch", e.epoch)
	got.Say("value.timeoutMs", e.timeoutMs)
	got.Say("value.status", int8(e.status))
	var topics []string
	for _, topic := range e.topics {
		topics = append(topics, fmt.Sprint(topic.Name, " ", topic.Partitions))
	}
	got.Say("value.partitions", topics)
	got.Say("value.lastUpdateTimestamp", e.updateMs)
	got.Say("value.startTimestamp", e.startMs)
	got.Say("value.tags", 1)
	got.Say("value.tag", "2 of 2 bytes")
	got.Say("value.clientTransactionVersion", e.clientVersion)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-said +decoded)\n%s", diff)
	}
	if diff := cmp.Diff(in, e.record(flexibleRecords)); diff != "" {
		t.Errorf("(-read +written again)\n%s", diff)
	}
}
