package checkpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKafkaFiles reads every small file in data directories that Apache Kafka
// wrote, and writes it again byte for byte.
func TestKafkaFiles(t *testing.T) {
	again := map[string]func([]byte) ([]byte, error){
		RecoveryPoints:    offsetsAgain,
		LogStarts:         offsetsAgain,
		HighWatermarks:    offsetsAgain,
		Cleaned:           offsetsAgain,
		LeaderEpochs:      func(b []byte) ([]byte, error) { v, err := DecodeEpochs(b); return EncodeEpochs(v), err },
		PartitionMetadata: func(b []byte) ([]byte, error) { v, err := DecodeTopicID(b); return EncodeTopicID(v), err },
		CleanShutdown:     func(b []byte) ([]byte, error) { v, err := DecodeCleanShutdown(b); return EncodeCleanShutdown(v), err },
	}
	found := map[string]int{}
	err := filepath.WalkDir("../../testdata/kafka-4.2", func(path string, _ fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || again[name] == nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found[name]++
		if name == LeaderEpochs && len(b) == 0 {
			return nil // Made, and not written yet.
		}
		got, err := again[name](b)
		if diff := cmp.Diff(string(b), string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-Kafka +ours):\n%s", path, err, diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range again {
		if found[name] == 0 {
			t.Errorf("no file %s", name)
		}
	}
}

func offsetsAgain(b []byte) ([]byte, error) {
	v, err := DecodeOffsets(b)
	return EncodeOffsets(v), err
}

// TestKafkaMetaProperties: Java's order of keys is none, and there is a date in it.
func TestKafkaMetaProperties(t *testing.T) {
	b, err := os.ReadFile("../../testdata/kafka-4.2/clean/" + MetaProperties)
	if err != nil {
		t.Fatal(err)
	}
	m, err := DecodeMeta(b)
	if err != nil || m.Version != 1 || m.NodeID != 1 || len(m.ClusterID) != 22 || m.Directory == ([16]byte{}) {
		t.Errorf("read %+v, %v", m, err)
	}
}
