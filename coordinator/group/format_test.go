package group

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// formatGolden reads a golden file of docs/format: a record, and what its lines say.
func formatGolden(t *testing.T, name string) (r coordinator.Record, notes []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/format/golden/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var field []byte // Long ones take more than one line.
	for line := range strings.Lines(string(text)) {
		digits, note, _ := strings.Cut(strings.TrimSpace(line), " ")
		if digits == "#" {
			continue
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(name, err)
		}
		if field, note = append(field, b...), strings.TrimSpace(note); note == "" {
			continue
		}
		if strings.HasPrefix(note, "key.") {
			r.Key = append(r.Key, field...)
		} else {
			r.Value = append(r.Value, field...)
		}
		notes, field = append(notes, note), nil
	}
	return r, notes
}

// notes collects what was decoded, in the words of a golden file.
type notes []string

func (n *notes) say(name string, value any) { *n = append(*n, fmt.Sprintf("%s %v", name, value)) }

// TestFormatPage holds docs/format/coordinator-records.md to what a shard reads from each
// golden record and what it writes.
func TestFormatPage(t *testing.T) {
	for name, again := range map[string]func(g *group, n *notes) coordinator.Record{
		"offset-commit.hex":  againOffset,
		"group-metadata.hex": againGroup,
		"consumer-3.hex":     againEpoch,
		"consumer-5.hex":     againMember,
		"consumer-6.hex":     againTargetEpoch,
		"consumer-7.hex":     againTarget,
		"consumer-8.hex":     againCurrent,
		"consumer-16.hex":    againRegex,
	} {
		in, want := formatGolden(t, name)
		s := New(DefaultConfig())
		if err := s.Replay(coordinator.At{Offset: 5, ProducerID: -1, ProducerEpoch: -1}, in); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got notes
		got.say("key.type", binary.BigEndian.Uint16(in.Key))
		got.say("key.group", s.groups["g"].id)
		if diff := cmp.Diff(in, again(s.groups["g"], &got)); diff != "" {
			t.Errorf("%s (-read +written again)\n%s", name, diff)
		}
		if diff := cmp.Diff(want, []string(got)); diff != "" {
			t.Errorf("%s (-said +decoded)\n%s", name, diff)
		}
	}
}

func formatID(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

func formatPartitions(p assign.Partitions) (out []string) {
	for _, id := range p.Topics() {
		out = append(out, fmt.Sprint(formatID(id), " ", p[id]))
	}
	return out
}

func orNull(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func againOffset(g *group, n *notes) coordinator.Record {
	k := offsetKey{group: g.id, topic: "orders", partition: 0}
	c := g.offsets[k.topic][k.partition]
	n.say("key.topic", k.topic)
	n.say("key.partition", k.partition)
	n.say("value.version", offsetVersion)
	n.say("value.offset", c.offset)
	n.say("value.leaderEpoch", c.leaderEpoch)
	n.say("value.metadata", c.metadata)
	n.say("value.commitTimestamp", c.commitMs)
	n.say("value.tags", 1)
	n.say("value.tag", "0 of 16 bytes")
	n.say("value.topicId", formatID(c.topicID))
	return offsetRecord(k, c)
}

func againGroup(g *group, n *notes) coordinator.Record {
	v := g.stored
	n.say("value.version", v.Version)
	n.say("value.protocolType", v.ProtocolType)
	n.say("value.generation", v.Generation)
	n.say("value.protocol", orNull(v.Protocol))
	n.say("value.leader", orNull(v.Leader))
	n.say("value.currentStateTimestamp", v.CurrentStateTimestamp)
	n.say("value.members", len(v.Members))
	for _, m := range v.Members {
		n.say("value.memberId", m.MemberID)
		n.say("value.groupInstanceId", orNull(m.InstanceID))
		n.say("value.clientId", m.ClientID)
		n.say("value.clientHost", m.ClientHost)
		n.say("value.rebalanceTimeout", m.RebalanceTimeoutMillis)
		n.say("value.sessionTimeout", m.SessionTimeoutMillis)
		n.say("value.subscription", hex.EncodeToString(m.Subscription))
		n.say("value.assignment", hex.EncodeToString(m.Assignment))
	}
	return g.record()
}

func againEpoch(g *group, n *notes) coordinator.Record {
	n.say("value.version", consumerValue)
	n.say("value.epoch", g.consumers.epoch)
	n.say("value.tags", 1)
	n.say("value.tag", "0 of 8 bytes")
	n.say("value.metadataHash", g.consumers.hash)
	return epochRecord(g.id, g.consumers.epoch, g.consumers.hash)
}

func againMember(g *group, n *notes) coordinator.Record {
	m := g.consumers.members["m1"]
	n.say("key.member", m.id)
	n.say("value.version", consumerValue)
	n.say("value.instanceId", orNull(m.instance))
	n.say("value.rackId", orNull(m.rack))
	n.say("value.clientId", m.clientID)
	n.say("value.clientHost", m.clientHost)
	n.say("value.subscribedTopicNames", m.topics)
	n.say("value.subscribedTopicRegex", m.regex)
	n.say("value.rebalanceTimeoutMs", m.rebalanceMs)
	n.say("value.serverAssignor", orNull(m.assignor))
	n.say("value.tags", 1)
	n.say("value.tag", "0 of 1 bytes")
	n.say("value.classicMemberMetadata", map[bool]string{true: "null"}[m.classic == nil])
	return memberRecord(g.id, m)
}

func againTargetEpoch(g *group, n *notes) coordinator.Record {
	n.say("value.version", consumerValue)
	n.say("value.assignmentEpoch", g.consumers.assignmentEpoch)
	n.say("value.tags", 0)
	return targetEpochRecord(g.id, g.consumers.assignmentEpoch)
}

func againTarget(g *group, n *notes) coordinator.Record {
	n.say("key.member", "m1")
	n.say("value.version", consumerValue)
	n.say("value.topicPartitions", formatPartitions(g.consumers.target["m1"]))
	n.say("value.tags", 0)
	return targetRecord(g.id, "m1", g.consumers.target["m1"])
}

func againCurrent(g *group, n *notes) coordinator.Record {
	m := g.consumers.members["m1"]
	n.say("key.member", m.id)
	n.say("value.version", consumerValue)
	n.say("value.memberEpoch", m.epoch)
	n.say("value.previousMemberEpoch", m.previousEpoch)
	n.say("value.state", int8(m.state))
	n.say("value.assignedPartitions", formatPartitions(m.assigned))
	n.say("value.partitionsPendingRevocation", formatPartitions(m.revoking))
	n.say("value.tags", 0)
	return currentRecord(g.id, m)
}

func againRegex(g *group, n *notes) coordinator.Record {
	r := g.consumers.regexes["^o"]
	n.say("key.regex", "^o")
	n.say("value.version", consumerValue)
	n.say("value.topics", r.topics)
	n.say("value.metadataVersion", r.version)
	n.say("value.timestamp", r.atMs)
	n.say("value.tags", 0)
	return regexRecord(g.id, "^o", r)
}
