package txn

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// kafkasLog is a partition of __transaction_state as Apache Kafka 4.2 wrote it.
const kafkasLog = "../../logstore/testdata/kafka-4.2/clean/__transaction_state-0/00000000000000000000.log"

// TestLoadsKafkasLog compares with what kafka-dump-log prints of it, read by hand
// (logstore/testdata/kafka-4.2/clean.__transaction_state.txt).
func TestLoadsKafkasLog(t *testing.T) {
	s := New(DefaultConfig())
	coordtest.KafkaBatches(t, kafkasLog, func(b batch.Batch) {
		if _, err := coordinator.ReplayBatch(s, b); err != nil {
			t.Fatal(err)
		}
	})
	if coordtest.Update() {
		must(os.WriteFile("testdata/kafka-4.2.state", []byte(s.hard()), 0o644))
	}
	want, err := os.ReadFile("testdata/kafka-4.2.state")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), s.hard()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestWritesAsKafka: reading one of Kafka's records and writing it again gives the
// same bytes.
func TestWritesAsKafka(t *testing.T) {
	seen := make(map[string]int)
	coordtest.KafkaBatches(t, kafkasLog, func(b batch.Batch) {
		it := b.Records(1 << 20)
		defer it.Close()
		for it.Next() {
			r := coordinator.Record{Key: bytes.Clone(it.Record().Key), Value: bytes.Clone(it.Record().Value)}
			s := New(DefaultConfig())
			if err := s.Replay(coordinator.At{Offset: it.Offset(), ProducerID: -1}, r); err != nil {
				t.Fatal(err)
			}
			for _, e := range s.ids {
				seen[e.status.String()]++
				again := e.record(epochBump)
				if !bytes.Equal(again.Key, r.Key) || !bytes.Equal(again.Value, r.Value) {
					t.Errorf("offset %d: wrote\n%x %x\nKafka wrote\n%x %x", it.Offset(), again.Key, again.Value, r.Key, r.Value)
				}
			}
		}
	})
	for _, status := range []string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"} {
		if seen[status] == 0 {
			t.Errorf("no record with status %s was compared; got %v", status, seen)
		}
	}
}
