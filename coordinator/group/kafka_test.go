package group

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
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
	groups, offsets, modern := 0, 0, 0
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
			case keyEpoch, keyMember, keyTargetEpoch, keyTarget, keyCurrent, keyRegex:
				modern++
				for _, g := range s.groups {
					again = g.again(int16(typ), keyAbout(r.Key))
				}
			default:
				t.Errorf("record of type %d", typ)
			}
			if !bytes.Equal(again.Key, r.Key) || !sameValue(r.Value, again.Value) {
				t.Errorf("offset %d: wrote\n%x %x\nKafka wrote\n%x %x", it.Offset(), again.Key, again.Value, r.Key, r.Value)
			}
		}
	})
	if groups < 2 || offsets < 2 || modern < 2 {
		t.Errorf("only %d group, %d offset and %d consumer group records were compared", groups, offsets, modern)
	}
}

// sameValue says whether two values have the same bytes, in whatever order: Kafka
// writes topics as its hash maps have them.
func sameValue(a, b []byte) bool {
	sorted := func(b []byte) []byte { return slices.Sorted(slices.Values(b)) }
	return slices.Equal(sorted(a), sorted(b))
}
