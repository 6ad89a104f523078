package group

import (
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// committed is one committed offset.
type committed struct {
	offset      int64
	leaderEpoch int32 // -1: not given.
	metadata    string
	commitMs    int64
	expireMs    int64    // -1: by the shard's rule.
	topicID     [16]byte // Zero: not given.
	at          int64    // The offset of its record.
}

// replayOffset applies one committed offset, or a tombstone.
func (s *Shard) replayOffset(at coordinator.At, k offsetKey, value []byte) error {
	if value == nil {
		s.dropOffset(k)
		return nil
	}
	v := kmsg.NewOffsetCommitValue()
	if err := v.ReadFrom(value); err != nil {
		return fmt.Errorf("offset of group %q topic %q partition %d at offset %d: %w", k.group, k.topic, k.partition, at.Offset, err)
	}
	c := committed{
		offset:      v.Offset,
		leaderEpoch: -1,
		metadata:    v.Metadata,
		commitMs:    v.CommitTimestamp,
		expireMs:    -1,
		topicID:     v.TopicID,
		at:          at.Offset,
	}
	if v.Version >= 3 {
		c.leaderEpoch = v.LeaderEpoch
	}
	if v.Version == offsetExpireVersion {
		c.expireMs = v.ExpireTimestamp
	}
	if s.groups[k.group] == nil {
		s.groups[k.group] = newGroup(k.group, at.TimestampMs)
	}
	if at.ProducerID < 0 {
		s.groups[k.group].putOffset(k, c)
		return nil
	}
	if s.pending[at.ProducerID] == nil {
		s.pending[at.ProducerID] = make(map[offsetKey]committed)
	}
	s.pending[at.ProducerID][k] = c
	s.groups[k.group].openFor(k, at.ProducerID)
	return nil
}

// ReplayMarker implements coordinator.Shard: a transaction's offsets count from
// its commit on, except where a plain commit came after them.
func (s *Shard) ReplayMarker(producerID int64, _ int16, commit bool) {
	s.replayed++
	for k, c := range s.pending[producerID] {
		g := s.groups[k.group]
		g.closeFor(k, producerID)
		if old, ok := g.offsets[k.topic][k.partition]; commit && (!ok || old.at < c.at) {
			g.putOffset(k, c)
		}
		s.tidy(g)
	}
	delete(s.pending, producerID)
}

// dropOffset forgets an offset, and what open transactions would make of it.
func (s *Shard) dropOffset(k offsetKey) {
	g := s.groups[k.group]
	if g == nil {
		return
	}
	if parts := g.offsets[k.topic]; parts != nil {
		if delete(parts, k.partition); len(parts) == 0 {
			delete(g.offsets, k.topic)
		}
	}
	for producer := range g.open[k.topic][k.partition] {
		if delete(s.pending[producer], k); len(s.pending[producer]) == 0 {
			delete(s.pending, producer)
		}
	}
	if parts := g.open[k.topic]; parts != nil {
		if delete(parts, k.partition); len(parts) == 0 {
			delete(g.open, k.topic)
		}
	}
	s.tidy(g)
}

// tidy removes a group of which nothing is left in the log while it is loaded.
// Later the group stays until it is cleaned up, as Kafka's does.
func (s *Shard) tidy(g *group) {
	if !s.loaded && g.stored == nil && g.consumers == nil && len(g.offsets) == 0 && len(g.open) == 0 {
		delete(s.groups, g.id)
	}
}

func (g *group) putOffset(k offsetKey, c committed) {
	if g.offsets == nil {
		g.offsets = make(map[string]map[int32]committed)
	}
	if g.offsets[k.topic] == nil {
		g.offsets[k.topic] = make(map[int32]committed)
	}
	g.offsets[k.topic][k.partition] = c
}

// openFor notes that an open transaction has an offset for a partition.
func (g *group) openFor(k offsetKey, producer int64) {
	if g.open == nil {
		g.open = make(map[string]map[int32]map[int64]struct{})
	}
	if g.open[k.topic] == nil {
		g.open[k.topic] = make(map[int32]map[int64]struct{})
	}
	if g.open[k.topic][k.partition] == nil {
		g.open[k.topic][k.partition] = make(map[int64]struct{})
	}
	g.open[k.topic][k.partition][producer] = struct{}{}
}

func (g *group) closeFor(k offsetKey, producer int64) {
	producers := g.open[k.topic][k.partition]
	if delete(producers, producer); len(producers) > 0 {
		return
	}
	if delete(g.open[k.topic], k.partition); len(g.open[k.topic]) == 0 {
		delete(g.open, k.topic)
	}
}

func (g *group) isOpen(topic string, partition int32) bool {
	return len(g.open[topic][partition]) > 0
}

// skip passes over a record that nobody here can read, with one log line for each
// type.
func (s *Shard) skip(at coordinator.At, typ uint16) {
	if s.skipped[typ] {
		return
	}
	if s.skipped == nil {
		s.skipped = make(map[uint16]bool)
	}
	s.skipped[typ] = true
	s.cfg.Logger.Warn("group records of an unknown type are skipped; another release may have written them",
		slog.Int("type", int(typ)), slog.Int64("first_offset", at.Offset))
}
