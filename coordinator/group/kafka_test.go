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

// TestLoadsKafkasLog compares with what kafka-dump-log prints of it, read by hand
// (logstore/testdata/kafka-4.2/clean.__consumer_offsets.txt).
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
	if err := s.check(); err != nil {
		t.Error(err)
	}
}

// TestWritesAsKafka: reading one of Kafka's records and writing it again gives the
// same bytes.
func TestWritesAsKafka(t *testing.T) {
	groups, offsets, modern := 0, 0, 0
	coordtest.KafkaBatches(t, kafkasLog, func(b batch.Batch) {
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
			same := func() bool { return bytes.Equal(again.Value, r.Value) }
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
				if typ == keyTarget || typ == keyCurrent {
					same = func() bool { return len(again.Value) == len(r.Value) && readsAs(t, again, s) }
				}
			default:
				t.Errorf("record of type %d", typ)
			}
			if !bytes.Equal(again.Key, r.Key) || !same() {
				t.Errorf("offset %d: wrote\n%x %x\nKafka wrote\n%x %x", it.Offset(), again.Key, again.Value, r.Key, r.Value)
			}
		}
	})
	if groups < 2 || offsets < 2 || modern < 2 {
		t.Errorf("only %d group, %d offset and %d consumer group records were compared", groups, offsets, modern)
	}
}

// readsAs says whether a record gives the state of s. It stands in for the bytes
// where Kafka writes topics in the order of its hash maps.
func readsAs(t *testing.T, r coordinator.Record, s *Shard) bool {
	t.Helper()
	other := New(DefaultConfig())
	if err := other.Replay(coordinator.At{ProducerID: -1}, r); err != nil {
		t.Fatal(err)
	}
	return other.hard() == s.hard()
}
