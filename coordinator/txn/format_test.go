package txn

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/coordinator"
)

// formatGolden reads a golden file of docs/format: a record, and what its lines say.
func formatGolden(t *testing.T, name string) (r coordinator.Record, notes []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/format/golden/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var field []byte // Long ones take more than one line.
	for line := range strings.Lines(string(text)) {
		digits, note, _ := strings.Cut(strings.TrimSpace(line), " ")
		if digits == "#" {
			continue
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(name, err)
		}
		if field, note = append(field, b...), strings.TrimSpace(note); note == "" {
			continue
		}
		if strings.HasPrefix(note, "key.") {
			r.Key = append(r.Key, field...)
		} else {
			r.Value = append(r.Value, field...)
		}
		notes, field = append(notes, note), nil
	}
	return r, notes
}

// notes collects what was decoded, in the words of a golden file.
type notes []string

func (n *notes) say(name string, value any) { *n = append(*n, fmt.Sprintf("%s %v", name, value)) }

// TestFormatPage holds docs/format/coordinator-records.md to what a shard reads from the
// golden record and what it writes.
func TestFormatPage(t *testing.T) {
	in, want := formatGolden(t, "transaction.hex")
	s := New(Config{})
	if err := s.Replay(coordinator.At{Offset: 5, ProducerID: -1}, in); err != nil {
		t.Fatal(err)
	}
	e := s.ids["tx"]
	var got notes
	got.say("key.type", binary.BigEndian.Uint16(in.Key))
	got.say("key.transactionalId", e.id)
	got.say("value.version", binary.BigEndian.Uint16(in.Value))
	got.say("value.producerId", e.producerID)
	got.say("value.producerEpoch", e.epoch)
	got.say("value.timeoutMs", e.timeoutMs)
	got.say("value.status", int8(e.status))
	var topics []string
	for _, topic := range e.topics {
		topics = append(topics, fmt.Sprint(topic.Name, " ", topic.Partitions))
	}
	got.say("value.partitions", topics)
	got.say("value.lastUpdateTimestamp", e.updateMs)
	got.say("value.startTimestamp", e.startMs)
	got.say("value.tags", 1)
	got.say("value.tag", "2 of 2 bytes")
	got.say("value.clientTransactionVersion", e.clientVersion)
	if diff := cmp.Diff(want, []string(got)); diff != "" {
		t.Errorf("(-said +decoded)\n%s", diff)
	}
	if diff := cmp.Diff(in, e.record(flexibleRecords)); diff != "" {
		t.Errorf("(-read +written again)\n%s", diff)
	}
}
