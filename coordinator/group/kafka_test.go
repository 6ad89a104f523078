package group

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// kafkasLog is a partition of __consumer_offsets as Apache Kafka 4.2 wrote it.
const kafkasLog = "../../logstore/testdata/kafka-4.2/clean/__consumer_offsets-0/00000000000000000000.log"

// eachKafkaBatch gives f the batches of kafkasLog.
func eachKafkaBatch(t *testing.T, f func(batch.Batch)) {
	t.Helper()
	rest, err := os.ReadFile(kafkasLog)
	if err != nil {
		t.Fatal(err)
	}
	for len(rest) > 0 {
		var b batch.Batch
		if b, rest, err = batch.Next(rest); err != nil {
			t.Fatal(err)
		}
		f(b)
	}
}

// TestLoadsKafkasLog compares with what kafka-dump-log prints of it, read by hand
// (logstore/testdata/kafka-4.2/clean.__consumer_offsets.txt).
func TestLoadsKafkasLog(t *testing.T) {
	s := New(DefaultConfig())
	eachKafkaBatch(t, func(b batch.Batch) {
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
	if err := s.check(); err != nil {
		t.Error(err)
	}
}

// TestWritesAsKafka: reading one of Kafka's records and writing it again gives the
// same bytes.
func TestWritesAsKafka(t *testing.T) {
	groups, offsets := 0, 0
	eachKafkaBatch(t, func(b batch.Batch) {
		if b.Control() {
			return
		}
		it := b.Records(1 << 20)
		defer it.Close()
		for it.Next() {
			r := coordinator.Record{Key: bytes.Clone(it.Record().Key), Value: bytes.Clone(it.Record().Value)}
			if r.Value == nil {
				continue
			}
			s := New(DefaultConfig())
			at := coordinator.At{Offset: it.Offset(), TimestampMs: it.Timestamp(), ProducerID: -1}
			if err := s.Replay(at, r); err != nil {
				t.Fatal(err)
			}
			var again coordinator.Record
			switch typ := binary.BigEndian.Uint16(r.Key); typ {
			case keyOffset:
				var key kmsg.OffsetCommitKey
				must(key.ReadFrom(r.Key))
				offsets++
				again = offsetRecord(offsetKey{key.Group, key.Topic, key.Partition}, s.groups[key.Group].offsets[key.Topic][key.Partition])
			case keyGroupMetadata:
				groups++
				for _, g := range s.groups {
					again = g.record()
				}
			default:
				continue // KIP-848's.
			}
			if !bytes.Equal(again.Key, r.Key) || !bytes.Equal(again.Value, r.Value) {
				t.Errorf("offset %d: wrote\n%x %x\nKafka wrote\n%x %x", it.Offset(), again.Key, again.Value, r.Key, r.Value)
			}
		}
	})
	if groups < 2 || offsets < 2 {
		t.Errorf("only %d group and %d offset records were compared", groups, offsets)
	}
}
