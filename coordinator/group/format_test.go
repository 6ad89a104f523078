package group

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
	"github.com/moldau-broker/moldau/protocol/formattest"
)

// TestFormatPage holds docs/format/coordinator-records.md to what a shard reads from each
// golden record and what it writes.
func TestFormatPage(t *testing.T) {
	for name, again := range map[string]func(g *group, n *formattest.Notes) coordinator.Record{
		"offset-commit.hex":  againOffset,
		"group-metadata.hex": againGroup,
		"consumer-3.hex":     againEpoch,
		"consumer-5.hex":     againMember,
		"consumer-6.hex":     againTargetEpoch,
		"consumer-7.hex":     againTarget,
		"consumer-8.hex":     againCurrent,
		"consumer-16.hex":    againRegex,
	} {
		in, want := coordtest.GoldenRecord(t, name)
		s := New(DefaultConfig())
		if err := s.Replay(coordinator.At{Offset: 5, ProducerID: -1, ProducerEpoch: -1}, in); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got formattest.Notes
		got.Say("key.type", binary.BigEndian.Uint16(in.Key))
		got.Say("key.group", s.groups["g"].id)
		if diff := cmp.Diff(in, again(s.groups["g"], &got)); diff != "" {
			t.Errorf("%s (-read +written again)\n%s", name, diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
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

func againOffset(g *group, n *formattest.Notes) coordinator.Record {
	k := offsetKey{group: g.id, topic: "orders", partition: 0}
	c := g.offsets[k.topic][k.partition]
	n.Say("key.topic", k.topic)
	n.Say("key.partition", k.partition)
	n.Say("value.version", offsetVersion)
	n.Say("value.offset", c.offset)
	n.Say("value.leaderEpoch", c.leaderEpoch)
	n.Say("value.metadata", c.metadata)
	n.Say("value.commitTimestamp", c.commitMs)
	n.Say("value.tags", 1)
	n.Say("value.tag", "0 of 16 bytes")
	n.Say("value.topicId", formatID(c.topicID))
	return offsetRecord(k, c)
}

func againGroup(g *group, n *formattest.Notes) coordinator.Record {
	v := g.stored
	n.Say("value.version", v.Version)
	n.Say("value.protocolType", v.ProtocolType)
	n.Say("value.generation", v.Generation)
	n.Say("value.protocol", orNull(v.Protocol))
	n.Say("value.leader", orNull(v.Leader))
	n.Say("value.currentStateTimestamp", v.CurrentStateTimestamp)
	n.Say("value.members", len(v.Members))
	for _, m := range v.Members {
		n.Say("value.memberId", m.MemberID)
		n.Say("value.groupInstanceId", orNull(m.InstanceID))
		n.Say("value.clientId", m.ClientID)
		n.Say("value.clientHost", m.ClientHost)
		n.Say("value.rebalanceTimeout", m.RebalanceTimeoutMillis)
		n.Say("value.sessionTimeout", m.SessionTimeoutMillis)
		n.Say("value.subscription", hex.EncodeToString(m.Subscription))
		n.Say("value.assignment", hex.EncodeToString(m.Assignment))
	}
	return g.record()
}

func againEpoch(g *group, n *formattest.Notes) coordinator.Record {
	n.Say("value.version", consumerValue)
	n.Say("value.epoch", g.consumers.epoch)
	n.Say("value.tags", 1)
	n.Say("value.tag", "0 of 8 bytes")
	n.Say("value.metadataHash", g.consumers.hash)
	return epochRecord(g.id, g.consumers.epoch, g.consumers.hash)
}

func againMember(g *group, n *formattest.Notes) coordinator.Record {
	m := g.consumers.members["m1"]
	n.Say("key.member", m.id)
	n.Say("value.version", consumerValue)
	n.Say("value.instanceId", orNull(m.instance))
	n.Say("value.rackId", orNull(m.rack))
	n.Say("value.clientId", m.clientID)
	n.Say("value.clientHost", m.clientHost)
	n.Say("value.subscribedTopicNames", m.topics)
	n.Say("value.subscribedTopicRegex", m.regex)
	n.Say("value.rebalanceTimeoutMs", m.rebalanceMs)
	n.Say("value.serverAssignor", orNull(m.assignor))
	n.Say("value.tags", 1)
	n.Say("value.tag", "0 of 1 bytes")
	n.Say("value.classicMemberMetadata", map[bool]string{true: "null"}[m.classic == nil])
	return memberRecord(g.id, m)
}

func againTargetEpoch(g *group, n *formattest.Notes) coordinator.Record {
	n.Say("value.version", consumerValue)
	n.Say("value.assignmentEpoch", g.consumers.assignmentEpoch)
	n.Say("value.tags", 0)
	return targetEpochRecord(g.id, g.consumers.assignmentEpoch)
}

func againTarget(g *group, n *formattest.Notes) coordinator.Record {
	n.Say("key.member", "m1")
	n.Say("value.version", consumerValue)
	n.Say("value.topicPartitions", formatPartitions(g.consumers.target["m1"]))
	n.Say("value.tags", 0)
	return targetRecord(g.id, "m1", g.consumers.target["m1"])
}

func againCurrent(g *group, n *formattest.Notes) coordinator.Record {
	m := g.consumers.members["m1"]
	n.Say("key.member", m.id)
	n.Say("value.version", consumerValue)
	n.Say("value.memberEpoch", m.epoch)
	n.Say("value.previousMemberEpoch", m.previousEpoch)
	n.Say("value.state", int8(m.state))
	n.Say("value.assignedPartitions", formatPartitions(m.assigned))
	n.Say("value.partitionsPendingRevocation", formatPartitions(m.revoking))
	n.Say("value.tags", 0)
	return currentRecord(g.id, m)
}

func againRegex(g *group, n *formattest.Notes) coordinator.Record {
	r := g.consumers.regexes["^o"]
	n.Say("key.regex", "^o")
	n.Say("value.version", consumerValue)
	n.Say("value.topics", r.topics)
	n.Say("value.metadataVersion", r.version)
	n.Say("value.timestamp", r.atMs)
	n.Say("value.tags", 0)
	return regexRecord(g.id, "^o", r)
}
