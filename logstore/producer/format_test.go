package producer

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// formatGolden reads a golden file of docs/format: its bytes, and what its lines say.
func formatGolden(t *testing.T, name string) (data []byte, notes []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/format/golden/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		digits, note, _ := strings.Cut(strings.TrimSpace(line), " ")
		if digits == "#" {
			continue
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(name, err)
		}
		if data = append(data, b...); note != "" {
			notes = append(notes, strings.TrimSpace(note))
		}
	}
	return data, notes
}

// notes collects what was decoded, in the words of a golden file.
type notes []string

func (n *notes) say(name string, value any) { *n = append(*n, fmt.Sprintf("%s %v", name, value)) }

// TestFormatPage holds docs/format/producer-snapshot.md to Decode and Encode, and to the
// file that Kafka wrote.
func TestFormatPage(t *testing.T) {
	in, want := formatGolden(t, "producer-snapshot.hex")
	entries, err := Decode(in)
	if err != nil {
		t.Fatal(err)
	}
	var got notes
	got.say("version", snapshotVersion)
	got.say("crc", fmt.Sprintf("%x", in[snapshotAtCRC:snapshotAtCount])) // Decode compared it.
	got.say("count", len(entries))
	for _, e := range entries {
		got.say("producerId", e.ProducerID)
		got.say("producerEpoch", e.Epoch)
		got.say("lastSequence", e.LastSequence)
		got.say("lastOffset", e.LastOffset)
		got.say("offsetDelta", e.OffsetDelta)
		got.say("timestamp", e.TimestampMs)
		got.say("coordinatorEpoch", e.CoordinatorEpoch)
		got.say("currentTxnFirstOffset", e.TxnFirst)
	}
	if diff := cmp.Diff(want, []string(got)); diff != "" {
		t.Errorf("(-said +decoded)\n%s", diff)
	}
	if diff := cmp.Diff(in, Encode(entries)); diff != "" {
		t.Errorf("(-read +written again)\n%s", diff)
	}
	kafkas, err := os.ReadFile("../testdata/kafka-4.2/clean/transactions-0/00000000000000000048.snapshot")
	if diff := cmp.Diff(kafkas, in); diff != "" || err != nil {
		t.Errorf("%v (-Kafka's +golden)\n%s", err, diff)
	}
}
