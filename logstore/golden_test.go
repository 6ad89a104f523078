package logstore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// goldenLog is what Apache Kafka's own classes read in a partition's directory; see
// testdata/kafka-4.2/README.md.
type goldenLog struct {
	Start        int64      `json:"log_start_offset"`
	End          int64      `json:"log_end_offset"`
	LeaderEpochs [][2]int64 `json:"leader_epochs"`
	Producers    []struct {
		ID          int64  `json:"producer_id"`
		Epoch       int16  `json:"producer_epoch"`
		Coordinator int32  `json:"coordinator_epoch"`
		TxnFirst    *int64 `json:"txn_first_offset"`
		Timestamp   int64  `json:"last_timestamp"`
		LastSeq     *int32 `json:"last_sequence"`
		LastOffset  *int64 `json:"last_offset"`
		Delta       int32  `json:"offset_delta"`
	} `json:"producers"`
	Segments []goldenSegment `json:"segments"`
	Batches  []goldenBatch   `json:"batches"`
}

type goldenSegment struct {
	Base      int64      `json:"base"`
	Bytes     int64      `json:"bytes"`
	Index     [][2]int64 `json:"index"`
	TimeIndex [][2]int64 `json:"timeindex"`
	Aborted   []struct {
		ID     int64 `json:"producer_id"`
		First  int64 `json:"first_offset"`
		Marker int64 `json:"marker_offset"`
		Stable int64 `json:"last_stable_offset"`
	} `json:"aborted"`
}

type goldenBatch struct {
	Base     int64          `json:"base_offset"`
	Last     int64          `json:"last_offset"`
	Segment  int64          `json:"segment"`
	Position int64          `json:"position"`
	Bytes    int64          `json:"bytes"`
	Epoch    int32          `json:"leader_epoch"`
	CRC      uint32         `json:"crc"`
	Max      int64          `json:"max_timestamp"`
	Count    int32          `json:"count"`
	Records  []goldenRecord `json:"records"`
}

type goldenRecord struct {
	Offset    int64   `json:"offset"`
	Timestamp int64   `json:"timestamp"`
	Key       *string `json:"key"`
	Value     *string `json:"value_sha256"`
}

// TestKafkaDirectories opens data directories that Apache Kafka wrote, left cleanly,
// killed and damaged, and compares what is read with what Apache Kafka reads there.
func TestKafkaDirectories(t *testing.T) {
	for _, left := range []string{"clean", "killed", "torn"} {
		t.Run(left, func(t *testing.T) {
			var want map[string]goldenLog
			bytes, err := os.ReadFile("testdata/kafka-4.2/" + left + ".json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(bytes, &want); err != nil {
				t.Fatal(err)
			}
			m := vfs.NewMem()
			copyTree(t, m, "testdata/kafka-4.2/"+left, dataDir)
			// The expectation of a clean directory is its newest snapshot; the others were
			// opened, and forgot producers that had expired by then.
			expiry := time.Duration(math.MaxInt64)
			if left != "clean" {
				expiry = 24 * time.Hour
			}
			s := openGolden(t, m, expiry)
			if m, ok := s.Meta(); !ok || m.NodeID != 1 || m.ClusterID == "" || m.DirectoryID == ([16]byte{}) {
				t.Errorf("meta.properties: %+v %v", m, ok)
			}
			if _, clean := s.CleanShutdown(); clean != (left == "clean") {
				t.Errorf("clean shutdown: %v", clean)
			}
			logs := s.allLogs()
			if len(logs) != len(want) {
				t.Errorf("%d logs, want %d", len(logs), len(want))
			}
			for _, l := range logs {
				compareGolden(t, l, want[l.name()], left)
			}
			// Closed and opened again, now cleanly, everything must be the same.
			closeStore(t, s)
			for name := range want {
				if err := Verify(m, filepath.Join(dataDir, name), false); err != nil {
					t.Errorf("verify after close: %v", err)
				}
			}
			s = openGolden(t, m, math.MaxInt64)
			for _, l := range s.allLogs() {
				compareGolden(t, l, want[l.name()], "reopened "+left)
				compareIndexes(t, m, l, want[l.name()])
			}
		})
	}
}

func openGolden(t *testing.T, fsys vfs.FS, expiry time.Duration) *Store {
	t.Helper()
	s, err := Open(Options{Dir: dataDir, FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	keep := Config{ProducerIDExpiry: expiry}
	if _, err := s.OpenMetadataLog(keep); err != nil {
		t.Fatal(err)
	}
	err = s.Load(context.Background(), func(topic string, _ int32, id [16]byte) (Config, Keep) {
		if id == ([16]byte{}) {
			t.Errorf("%s has no topic id", topic)
		}
		c := keep
		c.IndexIntervalBytes = map[string]int64{"segments": 1024, "transactions": 256}[topic]
		return c, KeepLog
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func compareGolden(t *testing.T, l *Log, want goldenLog, left string) {
	t.Helper()
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, %s: %s differs (-Kafka +ours)\n%s", left, l.name(), what, diff)
		}
	}
	if got := ourBatches(t, l); l.topic == metadataTopic && len(got) < len(want.Batches) {
		// The start that wrote the expectation went on writing.
		want.Batches = want.Batches[:len(got)]
		want.End = want.Batches[len(got)-1].Last + 1
		want.Segments[0].Bytes = l.Size()
		want.Segments[0].Index = want.Segments[0].Index[:3]
		want.Segments[0].TimeIndex = want.Segments[0].TimeIndex[:4]
	}
	check("start", l.Start(), want.Start)
	check("end", l.End().Offset, want.End)
	var epochs [][2]int64
	for _, e := range l.mu.epochs {
		epochs = append(epochs, [2]int64{int64(e.Epoch), e.Start})
	}
	// The start that wrote the expectation assigned an epoch of its own at the end.
	if n := len(want.LeaderEpochs); n > len(epochs) && want.LeaderEpochs[n-1][1] == want.End {
		want.LeaderEpochs = want.LeaderEpochs[:n-1]
	}
	if len(want.Batches) > 0 || len(epochs) > 0 {
		check("leader epochs", epochs, want.LeaderEpochs)
	}
	if l.topic != metadataTopic {
		check("producers", l.Producers(), goldenProducers(want))
	}
	check("batches", ourBatches(t, l), visible(want))
	var segments, wantSegments [][2]int64
	for _, s := range l.state.Load().segments {
		segments = append(segments, [2]int64{s.Base(), s.Size()})
	}
	for _, s := range want.Segments {
		wantSegments = append(wantSegments, [2]int64{s.Base, s.Bytes})
	}
	check("segments", segments, wantSegments)
	aborted, err := l.Aborted(l.Start(), math.MaxInt64)
	if err != nil {
		t.Error(err)
	}
	var wantAborted []producer.Aborted
	for _, s := range want.Segments {
		for _, a := range s.Aborted {
			wantAborted = append(wantAborted, producer.Aborted{ProducerID: a.ID, First: a.First, Last: a.Marker, LastStable: a.Stable})
		}
	}
	check("aborted transactions", aborted, wantAborted)
}

func goldenProducers(want goldenLog) []producer.Entry {
	list := []producer.Entry{}
	for _, p := range want.Producers {
		e := producer.Entry{
			ProducerID: p.ID, Epoch: p.Epoch, LastSequence: -1, LastOffset: -1, OffsetDelta: p.Delta,
			TimestampMs: p.Timestamp, CoordinatorEpoch: p.Coordinator, TxnFirst: -1,
		}
		if p.LastSeq != nil {
			e.LastSequence, e.LastOffset = *p.LastSeq, *p.LastOffset
		}
		if p.TxnFirst != nil {
			e.TxnFirst = *p.TxnFirst
		}
		list = append(list, e)
	}
	return list
}

// visible leaves out the batches below the start: they are there, and not for reading.
func visible(want goldenLog) []goldenBatch {
	var list []goldenBatch
	for _, b := range want.Batches {
		if b.Last >= want.Start {
			list = append(list, b)
		}
	}
	return list
}

func ourBatches(t *testing.T, l *Log) []goldenBatch {
	t.Helper()
	var list []goldenBatch
	for b, err := range l.Batches(l.Start(), math.MaxInt64) {
		if err != nil {
			t.Fatal(err)
		}
		g := goldenBatch{
			Base: b.BaseOffset(), Last: b.LastOffset(), Bytes: int64(len(b)), Epoch: b.LeaderEpoch(),
			CRC: b.CRC(), Max: b.MaxTimestamp(), Count: b.Count(), Records: []goldenRecord{},
		}
		// The place is found on its own way, through the index.
		span, err := l.Read(max(g.Base, l.Start()), len(b), l.End(), true)
		if err != nil {
			t.Fatal(err)
		}
		g.Segment, g.Position = span.Mark().Segment, span.Mark().Position
		span.Release()
		it := b.Records(1 << 20)
		for it.Next() {
			r := goldenRecord{Offset: it.Offset(), Timestamp: it.Timestamp()}
			if k := it.Record().Key; k != nil {
				s := base64.StdEncoding.EncodeToString(k)
				r.Key = &s
			}
			if v := it.Record().Value; v != nil {
				sum := sha256.Sum256(v)
				s := hex.EncodeToString(sum[:])
				r.Value = &s
			}
			g.Records = append(g.Records, r)
		}
		if it.Err() != nil {
			t.Fatal(it.Err())
		}
		it.Close()
		list = append(list, g)
	}
	return list
}

// compareIndexes reads the index files entry by entry.
func compareIndexes(t *testing.T, fsys vfs.FS, l *Log, want goldenLog) {
	t.Helper()
	v := &verifier{fs: fsys, dir: l.Dir()}
	for _, s := range want.Segments {
		got := goldenSegment{Index: [][2]int64{}, TimeIndex: [][2]int64{}}
		err := errors.Join(
			v.index(s.Base, ".index", 8, func(_ string, e []byte) {
				got.Index = append(got.Index, [2]int64{s.Base + int64(be32(e)), int64(be32(e[4:]))})
			}),
			v.index(s.Base, ".timeindex", 12, func(_ string, e []byte) {
				got.TimeIndex = append(got.TimeIndex, [2]int64{int64(be32(e))<<32 | int64(be32(e[4:])), s.Base + int64(be32(e[8:]))})
			}))
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(s.Index, got.Index); diff != "" {
			t.Errorf("%s, segment %d: index differs\n%s", l.name(), s.Base, diff)
		}
		if diff := cmp.Diff(s.TimeIndex, got.TimeIndex); diff != "" {
			t.Errorf("%s, segment %d: time index differs\n%s", l.name(), s.Base, diff)
		}
	}
}

func be32(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// copyTree copies a directory of the machine into a file system in memory.
func copyTree(t *testing.T, to vfs.FS, from, under string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(under, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return to.MkdirAll(target, 0o755)
		}
		bytes, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return vfs.WriteFileAtomic(to, target, bytes)
	})
	if err != nil {
		t.Fatal(err)
	}
}
