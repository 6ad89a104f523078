package quorum

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// formatGolden reads a golden file of docs/format: its bytes, and what its lines say.
func formatGolden(t *testing.T, name string) (data []byte, notes []string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/format/golden/" + name)
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

// TestFormatPage holds docs/format/metadata-log.md to what reads and writes the log.
func TestFormatPage(t *testing.T) {
	for name, again := range map[string]func(in []byte, n *notes) ([]byte, error){
		"topic-record.hex":     againRecord,
		"partition-record.hex": againRecord,
		"leader-change.hex":    againControl,
		"snapshot-header.hex":  againControl,
		"quorum-state.hex":     againState,
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
			t.Errorf("%s\n%x\nwritten again\n%x", name, in, written)
		}
	}
}

func formatID(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

func againRecord(in []byte, n *notes) ([]byte, error) {
	r, version, err := metadata.DecodeVersion(in)
	if err != nil {
		return nil, err
	}
	n.say("frameVersion", in[0]) // The only one that is read.
	n.say("apiKey", uint16(r.Key()))
	n.say("version", version)
	switch r := r.(type) {
	case *metadata.Topic:
		n.say("name", r.Name)
		n.say("topicId", formatID(r.TopicID))
	case *metadata.Partition:
		n.say("partitionId", r.PartitionID)
		n.say("topicId", formatID(r.TopicID))
		n.say("replicas", r.Replicas)
		n.say("isr", r.ISR)
		n.say("removingReplicas", r.RemovingReplicas)
		n.say("addingReplicas", r.AddingReplicas)
		n.say("leader", r.Leader)
		n.say("leaderEpoch", r.LeaderEpoch)
		n.say("partitionEpoch", r.PartitionEpoch)
		var dirs []string
		for _, id := range r.Directories {
			dirs = append(dirs, formatID(id))
		}
		n.say("directories", dirs)
	}
	n.say("tags", 0)
	return metadata.Encode(r, version), nil
}

func againControl(in []byte, n *notes) ([]byte, error) {
	typ, ok := batch.ControlType(in)
	if !ok {
		return nil, fmt.Errorf("no key")
	}
	const keyLen = 4
	r, err := metadata.DecodeControl(typ, in[keyLen:])
	if err != nil {
		return nil, err
	}
	n.say("key.version", 0)
	n.say("key.type", typ)
	switch r := r.(type) {
	case *metadata.LeaderChange:
		voters := func(list []metadata.Voter) (out []string) {
			for _, v := range list {
				out = append(out, fmt.Sprint(v.ID, " ", formatID(v.DirectoryID)))
			}
			return out
		}
		n.say("version", r.Version)
		n.say("leaderId", r.LeaderID)
		n.say("voters", voters(r.Voters))
		n.say("grantingVoters", voters(r.GrantingVoters))
		n.say("tags", 0)
	case *metadata.SnapshotHeader:
		n.say("version", r.Version)
		n.say("lastContainedLogTimestamp", r.LastContainedLogTimestamp)
		n.say("tags", 1)
		n.say("tag", "10000 of 8 bytes")
		n.say("raftIndex", r.RaftIndex)
	}
	return slices.Concat(metadata.ControlKey(typ), metadata.EncodeControl(r)), nil
}

func againState(in []byte, n *notes) ([]byte, error) {
	s, err := decodeState(in)
	n.say("leaderId", s.LeaderID)
	n.say("leaderEpoch", s.LeaderEpoch)
	n.say("votedId", s.VotedID)
	n.say("votedDirectoryId", formatID(s.VotedDirectory))
	n.say("commitOffset", s.CommitOffset)
	n.say("data_version", maxStateVersion)
	return s.encode(), err
}

// TestFormatPageSnapshot holds what the page says of a snapshot's batches to encode.
func TestFormatPageSnapshot(t *testing.T) {
	voters := &metadata.Voters{Voters: []metadata.VoterNode{{ID: 1}}}
	c := snapshotContent{
		id: snapshotID{93, 1}, index: 30, voters: voters, lastTimestampMs: 5,
		records: slices.Values([][]byte{metadata.Encode(&metadata.NoOp{}, 0)}),
	}
	var got []string
	for rest := c.encode(7); len(rest) > 0; {
		b, next, err := batch.Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		rest = next
		for it := b.Records(1 << 10); it.Next(); {
			what := "data"
			if typ, ok := batch.ControlType(it.Record().Key); ok {
				what = fmt.Sprint("control ", typ)
			}
			got = append(got, fmt.Sprint(it.Offset(), " ", what))
		}
	}
	if diff := cmp.Diff([]string{"0 control 3", "1 control 5", "2 control 6", "3 data", "4 control 4"}, got); diff != "" {
		t.Errorf("(-the page +encode)\n%s", diff)
	}
	if name := c.id.fileName(); name != "00000000000000000093-0000000001.checkpoint" {
		t.Error(name)
	}
}
