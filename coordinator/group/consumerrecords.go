package group

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// The record types of consumer groups. A key is the type, the group id and, where
// there are several of a kind, what the record is about. Values have version 0 and
// Kafka's flexible encoding.
const (
	keyEpoch          = 3  // The group's epoch and the hash of its topics.
	keyOldMetadata    = 4  // The group's topics; only taken back any more.
	keyMember         = 5  // What a member said of itself.
	keyTargetEpoch    = 6  // The epoch of the target assignment.
	keyTarget         = 7  // What a member is meant to have.
	keyCurrent        = 8  // What a member has.
	keyRegex          = 16 // What a regular expression matched.
	tagHash           = 0  // Of keyEpoch: the hash.
	tagClassic        = 0  // Of keyMember: what it said in the classic protocol.
	consumerValue     = 0  // The version of all values.
	consumerKeyFields = 2  // The most strings that a key holds.
)

// consumerKey makes a key of a group id and, for most types, one more string.
func consumerKey(typ int16, parts ...string) []byte {
	key := binary.BigEndian.AppendUint16(nil, uint16(typ))
	for _, p := range parts {
		key = kbin.AppendString(key, p)
	}
	return key
}

func consumerTombstone(typ int16, parts ...string) coordinator.Record {
	return coordinator.Record{Key: consumerKey(typ, parts...)}
}

// newValue begins a value.
func newValue() []byte { return binary.BigEndian.AppendUint16(nil, consumerValue) }

// untagged ends a structure without tagged fields.
func untagged(b []byte) []byte { return append(b, 0) }

// tagged ends a structure with one tagged field.
func tagged(b []byte, tag uint32, field []byte) []byte {
	b = kbin.AppendUvarint(append(b, 1), tag)
	b = kbin.AppendUvarint(b, uint32(len(field)))
	return append(b, field...)
}

func epochRecord(group string, epoch int32, hash int64) coordinator.Record {
	v := kbin.AppendInt32(newValue(), epoch)
	if hash == 0 {
		v = untagged(v)
	} else {
		v = tagged(v, tagHash, kbin.AppendInt64(nil, hash))
	}
	return coordinator.Record{Key: consumerKey(keyEpoch, group), Value: v}
}

func memberRecord(group string, m *consumer) coordinator.Record {
	v := kbin.AppendCompactNullableString(newValue(), m.instance)
	v = kbin.AppendCompactNullableString(v, m.rack)
	v = kbin.AppendCompactString(v, m.clientID)
	v = kbin.AppendCompactString(v, m.clientHost)
	v = appendStrings(v, m.topics)
	v = kbin.AppendCompactString(v, m.regex)
	v = kbin.AppendInt32(v, m.rebalanceMs)
	v = kbin.AppendCompactNullableString(v, m.assignor)
	if m.classic == nil {
		return coordinator.Record{Key: consumerKey(keyMember, group, m.id), Value: tagged(v, tagClassic, []byte{0})}
	}
	c := kbin.AppendInt32([]byte{1}, m.classic.sessionMs) // 1: not null.
	c = kbin.AppendCompactArrayLen(c, len(m.classic.protocols))
	for _, p := range m.classic.protocols {
		c = kbin.AppendCompactString(c, p.Name)
		c = untagged(kbin.AppendCompactBytes(c, p.Metadata))
	}
	return coordinator.Record{Key: consumerKey(keyMember, group, m.id), Value: tagged(v, tagClassic, untagged(c))}
}

func targetEpochRecord(group string, epoch int32) coordinator.Record {
	v := untagged(kbin.AppendInt32(newValue(), epoch))
	return coordinator.Record{Key: consumerKey(keyTargetEpoch, group), Value: v}
}

func targetRecord(group, member string, p assign.Partitions) coordinator.Record {
	return coordinator.Record{
		Key: consumerKey(keyTarget, group, member), Value: untagged(appendPartitions(newValue(), p)),
	}
}

func currentRecord(group string, m *consumer) coordinator.Record {
	v := kbin.AppendInt32(newValue(), m.epoch)
	v = kbin.AppendInt32(v, m.previousEpoch)
	v = kbin.AppendInt8(v, int8(m.state))
	v = appendPartitions(v, m.assigned)
	v = untagged(appendPartitions(v, m.revoking))
	return coordinator.Record{Key: consumerKey(keyCurrent, group, m.id), Value: v}
}

func regexRecord(group, regex string, r resolved) coordinator.Record {
	v := appendStrings(newValue(), r.topics)
	v = kbin.AppendInt64(v, r.version)
	v = untagged(kbin.AppendInt64(v, r.atMs))
	return coordinator.Record{Key: consumerKey(keyRegex, group, regex), Value: v}
}

func appendStrings(b []byte, list []string) []byte {
	b = kbin.AppendCompactArrayLen(b, len(list))
	for _, s := range list {
		b = kbin.AppendCompactString(b, s)
	}
	return b
}

func appendPartitions(b []byte, p assign.Partitions) []byte {
	b = kbin.AppendCompactArrayLen(b, len(p))
	for _, topic := range p.Topics() {
		b = append(b, topic[:]...)
		b = kbin.AppendCompactArrayLen(b, len(p[topic]))
		for _, n := range p[topic] {
			b = kbin.AppendInt32(b, n)
		}
		b = untagged(b)
	}
	return b
}

// reader reads a value; its zero fields after an error do no harm.
type reader struct{ kbin.Reader }

// tags reads the tagged fields of a structure; known gets each, and says whether
// it can read it.
func (r *reader) tags(known func(tag uint32, field *reader)) {
	for range r.Uvarint() {
		tag, size := r.Uvarint(), r.Uvarint()
		field := reader{kbin.Reader{Src: r.Span(int(size))}}
		if !r.Ok() {
			return
		}
		if known != nil {
			known(tag, &field)
		}
	}
}

// list reads an array: each is called once for every element.
func (r *reader) list(each func()) {
	for range max(0, r.CompactArrayLen()) {
		if each(); !r.Ok() {
			return
		}
	}
}

func (r *reader) strings() (out []string) {
	r.list(func() { out = append(out, r.CompactString()) })
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *reader) partitions() assign.Partitions {
	p := make(assign.Partitions)
	r.list(func() {
		topic := r.Uuid()
		r.list(func() { p.Add(topic, r.Int32()) })
		r.tags(nil)
	})
	return p
}

func (r *reader) classicMember() *classicMember {
	if r.Int8() <= 0 {
		return nil
	}
	c := &classicMember{sessionMs: r.Int32()}
	r.list(func() {
		p := kmsg.JoinGroupRequestProtocol{Name: r.CompactString(), Metadata: r.CompactBytes()}
		r.tags(nil)
		c.protocols = append(c.protocols, p)
	})
	r.tags(nil)
	return c
}

// readMember replaces what m said of itself.
func (r *reader) readMember(m *consumer) {
	m.instance, m.rack = r.CompactNullableString(), r.CompactNullableString()
	m.clientID, m.clientHost = r.CompactString(), r.CompactString()
	m.topics, m.regex = r.strings(), ""
	if regex := r.CompactNullableString(); regex != nil {
		m.regex = *regex
	}
	m.rebalanceMs, m.assignor, m.classic = r.Int32(), r.CompactNullableString(), nil
	r.tags(func(tag uint32, field *reader) {
		if tag == tagClassic {
			m.classic = field.classicMember()
		}
	})
}

// readCurrent replaces what m has.
func (r *reader) readCurrent(m *consumer) {
	m.epoch, m.previousEpoch, m.state = r.Int32(), r.Int32(), memberState(r.Int8())
	if m.state < settled || m.state > unreleased {
		m.state = unknown // A newer release has more states.
	}
	m.assigned, m.revoking = r.partitions(), r.partitions()
	r.tags(nil)
}

// replayConsumer applies a record of a consumer group.
func (s *Shard) replayConsumer(at coordinator.At, typ int16, r coordinator.Record) error {
	key := reader{kbin.Reader{Src: r.Key[2:]}}
	id, about := key.String(), ""
	if typ == keyMember || typ == keyTarget || typ == keyCurrent || typ == keyRegex {
		about = key.String()
	}
	if err := key.Complete(); err != nil {
		return fmt.Errorf("consumer group key of type %d at offset %d: %w", typ, at.Offset, err)
	}
	g := s.groups[id]
	if r.Value == nil {
		if g != nil && g.consumers != nil {
			s.replayConsumerTombstone(g, typ, about)
		}
		return nil
	}
	if g == nil {
		g = newGroup(id, at.TimestampMs)
		s.groups[id] = g
	}
	if g.consumers == nil {
		g.consumers = newConsumers()
	}
	v := &reader{kbin.Reader{Src: r.Value}}
	if version := v.Int16(); version != consumerValue {
		return fmt.Errorf("record of type %d of consumer group %q at offset %d has version %d; a newer release wrote it", typ, id, at.Offset, version)
	}
	g.consumers.replay(typ, about, v)
	if !v.Ok() || len(v.Src) > 0 {
		return fmt.Errorf("record of type %d of consumer group %q at offset %d is cut short, or too long", typ, id, at.Offset)
	}
	return nil
}

func (c *consumers) replay(typ int16, about string, v *reader) {
	switch typ {
	case keyEpoch:
		c.epoch, c.hash = v.Int32(), 0
		v.tags(func(tag uint32, field *reader) {
			if tag == tagHash {
				c.hash = field.Int64()
			}
		})
	case keyOldMetadata:
		c.oldMetadata = true
		v.Src = nil // Nobody reads it any more.
	case keyMember, keyCurrent:
		m := newConsumer(about)
		if old := c.members[about]; old != nil {
			*m = *old
		}
		if typ == keyMember {
			v.readMember(m)
		} else {
			v.readCurrent(m)
		}
		c.put(m)
	case keyTargetEpoch:
		c.assignmentEpoch = v.Int32()
		v.tags(nil)
	case keyTarget:
		c.target[about] = v.partitions()
		v.tags(nil)
	case keyRegex:
		c.regexes[about] = resolved{topics: v.strings(), version: v.Int64(), atMs: v.Int64()}
		v.tags(nil)
	}
}

// replayConsumerTombstone takes a record back. The one of the group's epoch comes
// last when a group is deleted.
func (s *Shard) replayConsumerTombstone(g *group, typ int16, about string) {
	c := g.consumers
	switch typ {
	case keyEpoch:
		g.consumers, g.modern = nil, modern{}
		// Whoever joins by the classic protocol, in the same step, is in the group
		// already.
		if len(g.offsets) == 0 && len(g.open) == 0 && g.stored == nil && len(g.members)+len(g.pendingJoin) == 0 {
			delete(s.groups, g.id)
		}
	case keyOldMetadata:
		c.oldMetadata = false
	case keyMember:
		c.take(about)
	case keyTargetEpoch:
		c.assignmentEpoch = 0
	case keyTarget:
		delete(c.target, about)
	case keyCurrent:
		if old := c.members[about]; old != nil {
			m := *old
			m.epoch, m.previousEpoch, m.state, m.assigned, m.revoking = epochLeaves, epochLeaves, settled, nil, nil
			c.put(&m)
		}
	case keyRegex:
		delete(c.regexes, about)
	}
}
