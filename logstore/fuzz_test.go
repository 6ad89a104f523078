package logstore

import (
	"math"
	"testing"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// FuzzSnapshot: whatever is in the newest producer snapshot, the log opens. If the
// snapshot is damaged, the one before it and the batches after that tell the same; an
// empty state, which would let duplicates in, is not an answer.
func FuzzSnapshot(f *testing.F) {
	cfg := Config{SegmentBytes: 300, ProducerIDExpiry: math.MaxInt64}
	disk := vfs.NewMem()
	s, l := openLog(f, disk, cfg)
	for i := range int32(12) {
		mustAppend(f, l, produced(7, 0, i*2, 2, false, t0))
	}
	closeStore(f, s)
	newest := l.join("00000000000000000024.snapshot")
	good, err := vfs.ReadFile(disk, newest)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, false)
	f.Add(good[:20], true)
	f.Add([]byte{}, false)
	f.Add(producer.Encode([]producer.Entry{{ProducerID: 1, Epoch: 2, LastOffset: -1, TxnFirst: 3}}), true)
	f.Fuzz(func(t *testing.T, content []byte, crash bool) {
		fs := disk.Crash(nil, vfs.CrashKeepAll)
		if err := vfs.WriteFileAtomic(fs, newest, content); err != nil {
			t.Fatal(err)
		}
		if crash {
			if err := fs.Remove(dataDir + "/.kafka_cleanshutdown"); err != nil {
				t.Fatal(err)
			}
		}
		s, l := openLog(t, fs, cfg)
		entries, err := producer.Decode(content)
		if got := l.Producers(); err != nil || crash {
			if len(got) != 1 || got[0].LastSequence != 23 {
				t.Fatalf("snapshot %v, %v; producers %+v", entries, err, got)
			}
		} else if len(got) != len(entries) {
			t.Fatalf("snapshot %v, producers %+v", entries, got)
		}
		if a := mustAppend(t, l, records(1, t0, "x")); a.Base != 24 {
			t.Fatalf("appended at %d", a.Base)
		}
		closeStore(t, s)
	})
}
