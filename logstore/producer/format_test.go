package producer

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/protocol/formattest"
)

// TestFormatPage holds docs/format/producer-snapshot.md to Decode and Encode, and to the
// file that Kafka wrote.
func TestFormatPage(t *testing.T) {
	golden := formattest.Read(t, "producer-snapshot.hex")
	in, want := golden.Bytes(), golden.Notes()
	entries, err := Decode(in)
	if err != nil {
		t.Fatal(err)
	}
	var got formattest.Notes
	got.Say("version", snapshotVersion)
	got.Say("crc", fmt.Sprintf("%x", in[snapshotAtCRC:snapshotAtCount])) // Decode compared it.
	got.Say("count", len(entries))
	for _, e := range entries {
		got.Say("producerId", e.ProducerID)
		got.Say("producerEpoch", e.Epoch)
		got.Say("lastSequence", e.LastSequence)
		got.Say("lastOffset", e.LastOffset)
		got.Say("offsetDelta", e.OffsetDelta)
		got.Say("timestamp", e.TimestampMs)
		got.Say("coordinatorEpoch", e.CoordinatorEpoch)
		got.Say("currentTxnFirstOffset", e.TxnFirst)
	}
	if diff := cmp.Diff(want, got); diff != "" {
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
