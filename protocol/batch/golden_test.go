package batch

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// TestGolden reads batches that Apache Kafka 4.2.2 compressed and stored, one per
// codec: they hold the records of sample.
func TestGolden(t *testing.T) {
	for c := codec.None; c <= codec.Zstd; c++ {
		in := readGolden(t, "apache-"+c.String()+".batch")
		b, rest, err := Next(in)
		if err != nil || len(rest) != 0 || b.CheckCRC() != nil || b.Codec() != c {
			t.Fatalf("%v: %v, %d bytes left, CRC %v, codec %v", c, err, len(rest), b.CheckCRC(), b.Codec())
		}
		want, err := entries(sample(codec.None, 40, 60), codec.NoLimit)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			want[i].Offset += b.BaseOffset()
		}
		got, err := entries(b, codec.NoLimit)
		if diff := diffEntries(want, got); err != nil || diff != "" {
			t.Errorf("%v: %v, sent (-), stored (+):\n%s", c, err, diff)
		}
		if c == codec.None {
			ours := sample(c, 40, 60)
			ours.SetBaseOffset(b.BaseOffset())
			ours.SetLeaderEpoch(b.LeaderEpoch())
			if !bytes.Equal(ours, b) {
				t.Errorf("Kafka wrote\n%x, we\n%x", []byte(b), []byte(ours))
			}
		}
	}
}

// TestGoldenControl builds the control batches that Apache Kafka 4.2.2 wrote from
// what they say: the bytes must come out the same. The markers are of two
// transactions, the leader change begins the metadata log of a fresh node, and the
// snapshot is that which kafka-storage format --standalone leaves.
func TestGoldenControl(t *testing.T) {
	for name, want := range map[string]int16{
		"commit": ControlCommit, "abort": ControlAbort, "leader-change": ControlLeaderChange,
		"snapshot-header": ControlSnapshotHeader, "snapshot-footer": ControlSnapshotFooter,
	} {
		t.Run(name, func(t *testing.T) {
			b, _, err := Next(readGolden(t, "apache-"+name+".batch"))
			if err != nil || b.CheckCRC() != nil {
				t.Fatal(err, b.CheckCRC())
			}
			m := Meta{
				BaseOffset: b.BaseOffset(), LeaderEpoch: b.LeaderEpoch(), ProducerID: b.ProducerID(),
				ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(), Transactional: b.Transactional(),
			}
			it := b.Records(codec.NoLimit)
			var recs []ControlRecord
			for it.Next() {
				typ, ok := ControlType(it.Record().Key)
				if !ok {
					t.Fatalf("key %x", it.Record().Key)
				}
				recs = append(recs, ControlRecord{typ, it.Record().Value})
			}
			if it.Err() != nil || len(recs) == 0 || recs[0].Type != want {
				t.Fatalf("%+v, %v", recs, it.Err())
			}
			ours := Control(m, b.BaseTimestamp(), recs...)
			if epoch, ok := ParseEndTxn(recs[0].Value); b.Transactional() {
				if !ok {
					t.Fatalf("marker %x", recs[0].Value)
				}
				ours = EndTxn(m, want == ControlCommit, epoch, b.BaseTimestamp())
			}
			if !bytes.Equal(ours, b) {
				t.Errorf("Kafka wrote\n%x, we\n%x", []byte(b), []byte(ours))
			}
		})
	}
}

func readGolden(t *testing.T, name string) []byte {
	t.Helper()
	in, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return in
}
