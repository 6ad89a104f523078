package logstore

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/protocol/formattest"
)

// TestFormatPage holds docs/format/checkpoints.md to what reads and writes the files.
func TestFormatPage(t *testing.T) {
	for name, again := range map[string]func(in []byte, n *formattest.Notes) ([]byte, error){
		"offsets.hex":            againOffsets,
		"leader-epoch.hex":       againEpochs,
		"partition-metadata.hex": againTopicID,
		"meta-properties.hex":    againMeta,
		"clean-shutdown.hex":     againShutdown,
		"manifest.hex":           againManifest,
	} {
		golden := formattest.Read(t, name)
		in, want := golden.Bytes(), golden.Notes()
		var got formattest.Notes
		written, err := again(in, &got)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-said +decoded)\n%s", name, diff)
		}
		if !bytes.Equal(in, written) {
			t.Errorf("%s\n%q\nwritten again\n%q", name, in, written)
		}
	}
}

func againOffsets(in []byte, n *formattest.Notes) ([]byte, error) {
	list, err := checkpoint.DecodeOffsets(in)
	n.Say("version", 0)
	n.Say("count", len(list))
	for _, o := range list {
		n.Say(o.Topic, fmt.Sprint(o.Partition, " ", o.Offset))
	}
	return checkpoint.EncodeOffsets(list), err
}

func againEpochs(in []byte, n *formattest.Notes) ([]byte, error) {
	list, err := checkpoint.DecodeEpochs(in)
	n.Say("version", 0)
	n.Say("count", len(list))
	for _, e := range list {
		n.Say(fmt.Sprint(e.Epoch), e.Start)
	}
	return checkpoint.EncodeEpochs(list), err
}

func againTopicID(in []byte, n *formattest.Notes) ([]byte, error) {
	id, err := checkpoint.DecodeTopicID(in)
	n.Say("version:", 0)
	n.Say("topic_id:", checkpoint.FormatID(id))
	return checkpoint.EncodeTopicID(id), err
}

func againMeta(in []byte, n *formattest.Notes) ([]byte, error) {
	m, err := checkpoint.DecodeMeta(in)
	n.Say("cluster.id", m.ClusterID)
	n.Say("directory.id", checkpoint.FormatID(m.Directory))
	n.Say("node.id", m.NodeID)
	n.Say("version", m.Version)
	return checkpoint.EncodeMeta(m), err
}

func againShutdown(in []byte, n *formattest.Notes) ([]byte, error) {
	epoch, err := checkpoint.DecodeCleanShutdown(in)
	n.Say("brokerEpoch", epoch)
	return checkpoint.EncodeCleanShutdown(epoch), err
}

func againManifest(in []byte, n *formattest.Notes) ([]byte, error) {
	all, err := decodeManifest(in)
	n.Say("version", manifestVersion)
	n.Say("crc", fmt.Sprintf("%x", in[4:8])) // Compared by decodeManifest.
	n.Say("logs", len(all))
	for key, r := range all {
		n.Say("topic", key.topic)
		n.Say("topicId", checkpoint.FormatID(r.topicID))
		n.Say("partition", key.partition)
		n.Say("directoryModified", r.modTimeNs)
		n.Say("end", r.end)
		n.Say("producers", map[bool]int{true: 1}[r.producers])
		n.Say("epochs", len(r.epochs))
		for _, e := range r.epochs {
			n.Say("epoch", e.Epoch)
			n.Say("start", e.Start)
		}
		n.Say("snapshots", len(r.snapshots))
		for _, o := range r.snapshots {
			n.Say("snapshot", o)
		}
		n.Say("segments", len(r.bases))
		for i, f := range r.files {
			n.Say("base", r.bases[i])
			n.Say("log", f.Log)
			n.Say("index", f.Index)
			n.Say("timeindex", f.TimeIndex)
			n.Say("txnindex", f.TxnIndex)
		}
	}
	return encodeManifest(all), err
}
