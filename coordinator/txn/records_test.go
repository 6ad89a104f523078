package txn

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// value is a record of id "a" with something changed.
func value(change func(*kmsg.TxnMetadataValue)) coordinator.Record {
	v := kmsg.NewTxnMetadataValue()
	v.Version, v.ProducerID, v.TimeoutMillis = 1, 100, 60_000
	change(&v)
	return coordinator.Record{Key: recordKey("a"), Value: v.AppendTo(nil)}
}

func TestReplay(t *testing.T) {
	for name, tc := range map[string]struct {
		record coordinator.Record
		err    string // Part of it.
		ids    int    // Known afterwards.
	}{
		"plain": {value(func(*kmsg.TxnMetadataValue) {}), "", 1},
		// It would be completed without markers.
		"preparing without partitions": {value(func(v *kmsg.TxnMetadataValue) { v.State = prepareCommit }), "without the partitions", 0},
		"preparing with none": {value(func(v *kmsg.TxnMetadataValue) {
			v.State, v.Topics = prepareAbort, []kmsg.TxnMetadataValueTopic{}
		}), "", 1},
		"a state that is never written": {value(func(v *kmsg.TxnMetadataValue) { v.State = kmsg.TransactionStateDead }), "state 6 (Dead)", 0},
		"a newer value":                 {coordinator.Record{Key: recordKey("a"), Value: []byte{0, 2, 1, 2, 3}}, "", 0},
		"another type":                  {coordinator.Record{Key: []byte{0, 1, 1, 2, 3}, Value: []byte{0}}, "", 0},
		"no key":                        {coordinator.Record{Value: []byte{0, 0}}, "key of 0 bytes", 0},
		"a key cut off":                 {coordinator.Record{Key: []byte{0, 0, 0}, Value: []byte{0, 0}}, "transaction key at offset 5", 0},
		"a value cut off":               {coordinator.Record{Key: recordKey("a"), Value: []byte{0, 1, 0}}, `id "a" at offset 5`, 0},
		"a value of one byte":           {coordinator.Record{Key: recordKey("a"), Value: []byte{0}}, "value of 1 bytes", 0},
		"a tombstone of nobody":         {coordinator.Record{Key: recordKey("a")}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{})
			err := s.Replay(coordinator.At{Offset: 5, ProducerID: -1}, tc.record)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if len(s.ids) != tc.ids {
				t.Errorf("%d ids, want %d", len(s.ids), tc.ids)
			}
		})
	}
}

// TestSweeps: what is found in a sweep is written in batches that the log takes,
// all of it, and at once.
func TestSweeps(t *testing.T) {
	const ids = 3000
	m := coordtest.NewMachine(newScript(epochBump).NewShard, 1)
	var recs []coordinator.Record
	for i := range ids {
		tr := transaction{
			id: fmt.Sprintf("%0400d", i), producerID: int64(i), prevProducerID: noID, nextProducerID: noID,
			timeoutMs: 60_000, status: ongoing, topics: []Topic{{"t", []int32{0}}},
			startMs: m.Now().UnixMilli(), updateMs: m.Now().UnixMilli(),
		}
		recs = append(recs, tr.record(epochBump))
	}
	if _, err := m.Log.Append(m.Now(), recs); err != nil {
		t.Fatal(err)
	}
	m.Failover()
	var owed []Markers
	gone, steps := 0, 0
	m.OnEvent = func(e coordtest.Event) {
		switch {
		case e.Due != nil:
			steps++
		case e.Send != nil:
			owed = append(owed, e.Send.(Markers))
		case e.Record != nil && e.Record.Value == nil:
			gone++
		}
	}
	m.Tick(70 * time.Second)
	if steps < 10 || len(owed) != ids {
		t.Errorf("%d transactions of %d were aborted in %d steps", len(owed), ids, steps)
	}
	for _, o := range owed {
		m.Do(Written{o.TransactionalID, o.ProducerID, o.Epoch})
	}
	m.Tick(170 * time.Hour)
	if gone != ids {
		t.Errorf("%d ids of %d expired", gone, ids)
	}
}

// FuzzReplay: bytes of a log that is not ours make an error and no panic, and what
// is read is read again the same.
func FuzzReplay(f *testing.F) {
	plain := value(func(*kmsg.TxnMetadataValue) {})
	f.Add(plain.Key, plain.Value)
	full := value(func(v *kmsg.TxnMetadataValue) {
		v.State, v.NextProducerID = prepareCommit, 7
		v.Topics = []kmsg.TxnMetadataValueTopic{{Topic: "t", Partitions: []int32{1, 0}}}
	})
	f.Add(full.Key, full.Value)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		s, again := New(Config{}), New(Config{})
		at := coordinator.At{ProducerID: -1}
		if err := s.Replay(at, coordinator.Record{Key: key, Value: value}); err != nil {
			return
		}
		level := flexibleRecords
		if len(value) > 1 {
			level = int16(binary.BigEndian.Uint16(value))
		}
		for _, e := range s.ids {
			if err := again.Replay(at, e.record(level)); err != nil {
				t.Fatal(err)
			}
		}
		if s.hard() != again.hard() {
			t.Fatalf("read %swrote %s", s.hard(), again.hard())
		}
	})
}
