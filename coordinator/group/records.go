package group

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// The record types of __consumer_offsets that this package knows; the key begins
// with one. Kafka writes offsets with key version 1; version 0 differs in nothing.
const (
	keyOffsetV0      = 0
	keyOffset        = 1
	keyGroupMetadata = 2
)

// The value versions that Kafka 4.2 writes; all older ones are read.
const (
	offsetVersion       = 4 // The first with a topic id.
	offsetExpireVersion = 1 // The only one with an expiry of its own.
	groupVersion        = 3 // The first with instance ids; 4 only changes the encoding.
)

func offsetRecordKey(k offsetKey) []byte {
	key := kmsg.OffsetCommitKey{Version: keyOffset, Group: k.group, Topic: k.topic, Partition: k.partition}
	return key.AppendTo(nil)
}

func offsetRecord(k offsetKey, c committed) coordinator.Record {
	v := kmsg.OffsetCommitValue{
		Version:         offsetVersion,
		Offset:          c.offset,
		LeaderEpoch:     c.leaderEpoch,
		Metadata:        c.metadata,
		CommitTimestamp: c.commitMs,
		ExpireTimestamp: c.expireMs,
		TopicID:         c.topicID,
	}
	if c.expireMs >= 0 {
		v.Version = offsetExpireVersion
	}
	return coordinator.Record{Key: offsetRecordKey(k), Value: v.AppendTo(nil)}
}

func offsetTombstone(k offsetKey) coordinator.Record {
	return coordinator.Record{Key: offsetRecordKey(k)}
}

func groupRecordKey(id string) []byte {
	key := kmsg.GroupMetadataKey{Version: keyGroupMetadata, Group: id}
	return key.AppendTo(nil)
}

func groupTombstone(id string) coordinator.Record {
	return coordinator.Record{Key: groupRecordKey(id)}
}

// record is the group as it stands.
func (g *group) record() coordinator.Record {
	v := kmsg.GroupMetadataValue{
		Version:               groupVersion,
		ProtocolType:          g.protocolType,
		Generation:            g.generation,
		Protocol:              g.protocol,
		CurrentStateTimestamp: g.sinceMs,
	}
	if g.leader != "" {
		v.Leader = &g.leader
	}
	for _, m := range g.members {
		v.Members = append(v.Members, kmsg.GroupMetadataValueMember{
			MemberID:               m.id,
			InstanceID:             m.instance,
			ClientID:               m.clientID,
			ClientHost:             m.clientHost,
			RebalanceTimeoutMillis: m.rebalanceMs,
			SessionTimeoutMillis:   m.sessionMs,
			Subscription:           g.metadata(m),
			Assignment:             m.assignment,
		})
	}
	return coordinator.Record{Key: groupRecordKey(g.id), Value: v.AppendTo(nil)}
}

// newGroupRecord says that a group exists, and nothing more.
func (g *group) newGroupRecord() coordinator.Record {
	v := kmsg.GroupMetadataValue{Version: groupVersion, CurrentStateTimestamp: g.sinceMs}
	return coordinator.Record{Key: groupRecordKey(g.id), Value: v.AppendTo(nil)}
}

// Replay implements coordinator.Shard. Record types that are not known are
// skipped: a newer release may have written them before a downgrade.
func (s *Shard) Replay(at coordinator.At, r coordinator.Record) error {
	s.replayed++
	if len(r.Key) < 2 {
		return fmt.Errorf("record at offset %d has a key of %d bytes, want a type at least", at.Offset, len(r.Key))
	}
	switch typ := binary.BigEndian.Uint16(r.Key); typ {
	case keyOffsetV0, keyOffset:
		var key kmsg.OffsetCommitKey
		if err := key.ReadFrom(r.Key); err != nil {
			return fmt.Errorf("offset key at offset %d: %w", at.Offset, err)
		}
		return s.replayOffset(at, offsetKey{key.Group, key.Topic, key.Partition}, r.Value)
	case keyGroupMetadata:
		var key kmsg.GroupMetadataKey
		if err := key.ReadFrom(r.Key); err != nil {
			return fmt.Errorf("group key at offset %d: %w", at.Offset, err)
		}
		return s.replayGroup(at, key.Group, r.Value)
	case keyEpoch, keyOldMetadata, keyMember, keyTargetEpoch, keyTarget, keyCurrent, keyRegex:
		return s.replayConsumer(at, int16(typ), r)
	default:
		s.skip(at, typ)
		return nil
	}
}

// replayGroup applies a GroupMetadata record. While the log is loaded it is also
// what the state machine is; afterwards the step that wrote it has seen to that.
func (s *Shard) replayGroup(at coordinator.At, id string, value []byte) error {
	if value == nil {
		if g := s.groups[id]; g != nil {
			s.forget(g, at.TimestampMs)
		}
		return nil
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(value); err != nil {
		return fmt.Errorf("group %q at offset %d: %w", id, at.Offset, err)
	}
	if v.Version < 2 {
		v.CurrentStateTimestamp = -1
	}
	g := s.groups[id]
	if g == nil {
		g = newGroup(id, at.TimestampMs)
		s.groups[id] = g
	}
	g.stored = &v
	if !s.loaded {
		g.classic = fromRecord(&v)
	}
	return nil
}

// forget takes a group's record back. Offsets that are left, if any, make it a
// group that only stores offsets.
func (s *Shard) forget(g *group, nowMs int64) {
	g.stored = nil
	g.classic = classic{sinceMs: nowMs}
	if len(g.offsets) == 0 && len(g.open) == 0 {
		delete(s.groups, g.id)
	}
}

// subscribedTopics reads the topics out of a consumer's subscription. All
// versions begin alike: a version, then the topics.
func subscribedTopics(metadata []byte) (topics []string, ok bool) {
	if len(metadata) < 6 {
		return nil, false
	}
	n, rest := int32(binary.BigEndian.Uint32(metadata[2:])), metadata[6:]
	for range n {
		if len(rest) < 2 {
			return nil, false
		}
		size := int(binary.BigEndian.Uint16(rest))
		if rest = rest[2:]; len(rest) < size {
			return nil, false
		}
		topics = append(topics, string(rest[:size]))
		rest = rest[size:]
	}
	return topics, true
}
