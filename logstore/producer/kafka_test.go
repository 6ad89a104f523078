package producer

import (
	stdcmp "cmp"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// kafkaDirs are data directories that Apache Kafka wrote; see the README there.
const kafkaDirs = "../testdata/kafka-4.2"

// kafkaFiles lists the files below dir whose names match a pattern, in order.
func kafkaFiles(t *testing.T, dir, pattern string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if ok, _ := filepath.Match(pattern, filepath.Base(path)); ok {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// numberOf is the offset in a file's name.
func numberOf(t *testing.T, path string) int64 {
	t.Helper()
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestKafkaSnapshots(t *testing.T) {
	entries := 0
	for _, path := range kafkaFiles(t, kafkaDirs, "*.snapshot") {
		b := readFile(t, path)
		list, err := Decode(b)
		if _, damaged := errors.AsType[*SnapshotError](err); damaged && strings.Contains(path, "torn/transactions-0") {
			continue // It was damaged on purpose.
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		entries += len(list)
		if diff := cmp.Diff(hex.Dump(b), hex.Dump(Encode(list))); diff != "" {
			t.Errorf("%s (-Kafka +ours):\n%s", path, diff)
		}
	}
	if entries == 0 {
		t.Error("no producers found")
	}
}

func TestKafkaTransactionIndexes(t *testing.T) {
	entries := 0
	for _, path := range kafkaFiles(t, kafkaDirs, "*.txnindex") {
		b := readFile(t, path)
		list, err := DecodeAborted(b, numberOf(t, path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		entries += len(list)
		var again []byte
		for _, a := range list {
			again = AppendAborted(again, a)
		}
		if diff := cmp.Diff(hex.Dump(b), hex.Dump(again)); diff != "" {
			t.Errorf("%s (-Kafka +ours):\n%s", path, diff)
		}
	}
	if entries == 0 {
		t.Error("no aborted transactions found")
	}
}

// TestReplayOfKafkaLogs feeds a State with logs that Apache Kafka wrote. At the
// offset of each of Kafka's snapshots it must hold the same producers, and the
// transactions it sees aborted must be those of Kafka's indexes.
func TestReplayOfKafkaLogs(t *testing.T) {
	for _, dir := range []string{"clean", "killed"} {
		for _, topic := range []string{"transactions-0", "idempotent-0", "segments-0", "codecs-0"} {
			t.Run(dir+"/"+topic, func(t *testing.T) { replayKafkaLog(t, filepath.Join(kafkaDirs, dir, topic)) })
		}
	}
}

func replayKafkaLog(t *testing.T, dir string) {
	snapshots := map[int64][]Entry{}
	for _, path := range kafkaFiles(t, dir, "*.snapshot") {
		list, err := Decode(readFile(t, path))
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(list, func(a, b Entry) int { return stdcmp.Compare(a.ProducerID, b.ProducerID) })
		snapshots[numberOf(t, path)] = list
	}
	s, compared := New(expiry), 0
	compare := func(offset int64) {
		want, ok := snapshots[offset]
		if !ok {
			return
		}
		compared++
		if diff := cmp.Diff(want, s.Entries()); diff != "" {
			t.Errorf("at %d (-Kafka +ours):\n%s", offset, diff)
		}
	}
	for _, path := range kafkaFiles(t, dir, "*.log") {
		aborted := []Aborted{}
		for rest := readFile(t, path); len(rest) > 0 && !zeros(rest); {
			var b batch.Batch
			var err error
			if b, rest, err = batch.Next(rest); err != nil {
				t.Fatal(err)
			}
			compare(b.BaseOffset())
			if done := s.Apply(b, markerIn(t, b)); done != nil && done.Aborted {
				aborted = append(aborted, done.Index())
			}
			if err := s.check(); err != nil {
				t.Fatal(err)
			}
		}
		index, err := os.ReadFile(strings.TrimSuffix(path, ".log") + ".txnindex")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		want, err := DecodeAborted(index, numberOf(t, path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, aborted); diff != "" {
			t.Errorf("%s: aborted (-Kafka +ours):\n%s", path, diff)
		}
	}
	compare(s.MapEnd())
	if compared == 0 || compared != len(snapshots) {
		t.Errorf("compared %d of %d snapshots", compared, len(snapshots))
	}
}

// zeros says whether only preallocated space is left of a log.
func zeros(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }

func markerIn(t *testing.T, b batch.Batch) *Marker {
	t.Helper()
	if !b.Control() || b.ProducerID() < 0 {
		return nil
	}
	it := b.Records(1 << 10)
	defer it.Close()
	if !it.Next() {
		t.Fatalf("empty marker at %d: %v", b.BaseOffset(), it.Err())
	}
	kind, _ := batch.ControlType(it.Record().Key)
	epoch, ok := batch.ParseEndTxn(it.Record().Value)
	if !ok {
		t.Fatalf("no marker at %d", b.BaseOffset())
	}
	return &Marker{Abort: kind == batch.ControlAbort, CoordinatorEpoch: epoch}
}
