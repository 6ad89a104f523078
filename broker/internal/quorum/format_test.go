package quorum

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/formattest"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// TestFormatPage holds docs/format/metadata-log.md to what reads and writes the log.
func TestFormatPage(t *testing.T) {
	for name, again := range map[string]func(in []byte, n *formattest.Notes) ([]byte, error){
		"topic-record.hex":     againRecord,
		"partition-record.hex": againRecord,
		"leader-change.hex":    againControl,
		"snapshot-header.hex":  againControl,
		"quorum-state.hex":     againState,
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
			t.Errorf("%s\n%x\nwritten again\n%x", name, in, written)
		}
	}
}

func formatID(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

func againRecord(in []byte, n *formattest.Notes) ([]byte, error) {
	r, version, err := metadata.DecodeVersion(in)
	if err != nil {
		return nil, err
	}
	n.Say("frameVersion", in[0]) // The only one that is read.
	n.Say("apiKey", uint16(r.Key()))
	n.Say("version", version)
	switch r := r.(type) {
	case *metadata.Topic:
		n.Say("name", r.Name)
		n.Say("topicId", formatID(r.TopicID))
	case *metadata.Partition:
		n.Say("partitionId", r.PartitionID)
		n.Say("topicId", formatID(r.TopicID))
		n.Say("replicas", r.Replicas)
		n.Say("isr", r.ISR)
		n.Say("removingReplicas", r.RemovingReplicas)
		n.Say("addingReplicas", r.AddingReplicas)
		n.Say("leader", r.Leader)
		n.Say("leaderEpoch", r.LeaderEpoch)
		n.Say("partitionEpoch", r.PartitionEpoch)
		var dirs []string
		for _, id := range r.Directories {
			dirs = append(dirs, formatID(id))
		}
		n.Say("directories", dirs)
	}
	n.Say("tags", 0)
	return metadata.Encode(r, version), nil
}

func againControl(in []byte, n *formattest.Notes) ([]byte, error) {
	typ, ok := batch.ControlType(in)
	if !ok {
		return nil, fmt.Errorf("no key")
	}
	const keyLen = 4
	r, err := metadata.DecodeControl(typ, in[keyLen:])
	if err != nil {
		return nil, err
	}
	n.Say("key.version", 0)
	n.Say("key.type", typ)
	switch r := r.(type) {
	case *metadata.LeaderChange:
		voters := func(list []metadata.Voter) (out []string) {
			for _, v := range list {
				out = append(out, fmt.Sprint(v.ID, " ", formatID(v.DirectoryID)))
			}
			return out
		}
		n.Say("version", r.Version)
		n.Say("leaderId", r.LeaderID)
		n.Say("voters", voters(r.Voters))
		n.Say("grantingVoters", voters(r.GrantingVoters))
		n.Say("tags", 0)
	case *metadata.SnapshotHeader:
		n.Say("version", r.Version)
		n.Say("lastContainedLogTimestamp", r.LastContainedLogTimestamp)
		n.Say("tags", 1)
		n.Say("tag", "10000 of 8 bytes")
		n.Say("raftIndex", r.RaftIndex)
	}
	return slices.Concat(metadata.ControlKey(typ), metadata.EncodeControl(r)), nil
}

func againState(in []byte, n *formattest.Notes) ([]byte, error) {
	s, err := decodeState(in)
	n.Say("leaderId", s.LeaderID)
	n.Say("leaderEpoch", s.LeaderEpoch)
	n.Say("votedId", s.VotedID)
	n.Say("votedDirectoryId", formatID(s.VotedDirectory))
	n.Say("commitOffset", s.CommitOffset)
	n.Say("data_version", maxStateVersion)
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
