package logstore

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
)

// formatGolden reads a golden file of docs/format: its bytes, and what its lines say.
func formatGolden(t *testing.T, name string) (data []byte, notes []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/format/golden/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		digits, note, _ := strings.Cut(strings.TrimSpace(line), " ")
		if digits == "#" {
			continue
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(name, err)
		}
		if data = append(data, b...); note != "" {
			notes = append(notes, strings.TrimSpace(note))
		}
	}
	return data, notes
}

// notes collects what was decoded, in the words of a golden file.
type notes []string

func (n *notes) say(name string, value any) { *n = append(*n, fmt.Sprintf("%s %v", name, value)) }

// TestFormatPage holds docs/format/checkpoints.md to what reads and writes the files.
func TestFormatPage(t *testing.T) {
	for name, again := range map[string]func(in []byte, n *notes) ([]byte, error){
		"offsets.hex":            againOffsets,
		"leader-epoch.hex":       againEpochs,
		"partition-metadata.hex": againTopicID,
		"meta-properties.hex":    againMeta,
		"clean-shutdown.hex":     againShutdown,
		"manifest.hex":           againManifest,
	} {
		in, want := formatGolden(t, name)
		var got notes
		written, err := again(in, &got)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, []string(got)); diff != "" {
			t.Errorf("%s (-said +decoded)\n%s", name, diff)
		}
		if !bytes.Equal(in, written) {
			t.Errorf("%s\n%q\nwritten again\n%q", name, in, written)
		}
	}
}

func againOffsets(in []byte, n *notes) ([]byte, error) {
	list, err := checkpoint.DecodeOffsets(in)
	n.say("version", 0)
	n.say("count", len(list))
	for _, o := range list {
		n.say(o.Topic, fmt.Sprint(o.Partition, " ", o.Offset))
	}
	return checkpoint.EncodeOffsets(list), err
}

func againEpochs(in []byte, n *notes) ([]byte, error) {
	list, err := checkpoint.DecodeEpochs(in)
	n.say("version", 0)
	n.say("count", len(list))
	for _, e := range list {
		n.say(fmt.Sprint(e.Epoch), e.Start)
	}
	return checkpoint.EncodeEpochs(list), err
}

func againTopicID(in []byte, n *notes) ([]byte, error) {
	id, err := checkpoint.DecodeTopicID(in)
	n.say("version:", 0)
	n.say("topic_id:", checkpoint.FormatID(id))
	return checkpoint.EncodeTopicID(id), err
}

func againMeta(in []byte, n *notes) ([]byte, error) {
	m, err := checkpoint.DecodeMeta(in)
	n.say("cluster.id", m.ClusterID)
	n.say("directory.id", checkpoint.FormatID(m.Directory))
	n.say("node.id", m.NodeID)
	n.say("version", m.Version)
	return checkpoint.EncodeMeta(m), err
}

func againShutdown(in []byte, n *notes) ([]byte, error) {
	epoch, err := checkpoint.DecodeCleanShutdown(in)
	n.say("brokerEpoch", epoch)
	return checkpoint.EncodeCleanShutdown(epoch), err
}

func againManifest(in []byte, n *notes) ([]byte, error) {
	all, err := decodeManifest(in)
	n.say("version", manifestVersion)
	n.say("crc", fmt.Sprintf("%x", in[4:8])) // Compared by decodeManifest.
	n.say("logs", len(all))
	for key, r := range all {
		n.say("topic", key.topic)
		n.say("topicId", checkpoint.FormatID(r.topicID))
		n.say("partition", key.partition)
		n.say("directoryModified", r.modTimeNs)
		n.say("end", r.end)
		n.say("producers", map[bool]int{true: 1}[r.producers])
		n.say("epochs", len(r.epochs))
		for _, e := range r.epochs {
			n.say("epoch", e.Epoch)
			n.say("start", e.Start)
		}
		n.say("snapshots", len(r.snapshots))
		for _, o := range r.snapshots {
			n.say("snapshot", o)
		}
		n.say("segments", len(r.bases))
		for i, f := range r.files {
			n.say("base", r.bases[i])
			n.say("log", f.Log)
			n.say("index", f.Index)
			n.say("timeindex", f.TimeIndex)
			n.say("txnindex", f.TxnIndex)
		}
	}
	return encodeManifest(all), err
}
