package group

import (
	"slices"

	"github.com/moldau-broker/moldau/coordinator"
)

// cleanupBytes bounds the keys of the tombstones that one step of a clean-up
// writes, so that their batch stays well below the least sensible
// max.message.bytes, and other requests get their turn in between.
const cleanupBytes = 128 << 10

// cleanup is what is left to be cleaned. Soft state: after a failover the next
// round, or whoever was not answered, begins again.
type cleanup struct {
	expired string // The round has come this far: the last group it looked at.
	topics  []deletedTopics
}

// deletedTopics is a TopicsDeleted that is being worked off.
type deletedTopics struct {
	TopicsDeleted
	ticket coordinator.Ticket
	after  string
}

// topicsDeleted forgets the offsets of deleted topics.
func (s *Shard) topicsDeleted(t coordinator.Ticket, in TopicsDeleted) {
	s.cleanup.topics = append(s.cleanup.topics, deletedTopics{TopicsDeleted: in, ticket: t})
	if len(s.cleanup.topics) == 1 {
		s.cleanTopics()
	}
}

// cleanTopics is one step of forgetting deleted topics' offsets. It goes on at
// once while there is more.
func (s *Shard) cleanTopics() {
	if len(s.cleanup.topics) == 0 {
		return
	}
	d := &s.cleanup.topics[0]
	ticket := d.ticket
	done := s.walk(&d.after, func(g *group) { s.cleanGroup(g, d.TopicsDeleted) })
	if done {
		s.reply(ticket, nil)
		s.cleanup.topics = s.cleanup.topics[1:]
	}
	if len(s.cleanup.topics) > 0 {
		s.setTimer(timerKey{kind: topicsTimer}, 0)
	}
	s.undo = func(_ int16, err error) {
		if !done {
			s.cleanup.topics = s.cleanup.topics[1:]
		}
		s.eff.Replies = append(s.eff.Replies, coordinator.Reply{To: ticket, Err: err})
		if len(s.cleanup.topics) > 0 {
			s.setTimer(timerKey{kind: topicsTimer}, 0)
		}
	}
}

// clean is one step of the round that looks for expired offsets and forgotten
// groups. It goes on at once while there is more, and else when the next round is
// due.
func (s *Shard) clean() {
	if s.walk(&s.cleanup.expired, s.expire) {
		s.cleanup.expired = ""
		s.setTimer(timerKey{kind: cleanupTimer}, s.cfg.RetentionCheckInterval)
		return
	}
	s.setTimer(timerKey{kind: cleanupTimer}, 0)
}

// walk visits the groups after *after in order until enough was written, and says
// whether it came to the end.
func (s *Shard) walk(after *string, visit func(*group)) (done bool) {
	ids := sortedKeys(s.groups)
	first, found := slices.BinarySearch(ids, *after)
	if found && *after != "" {
		first++
	}
	for _, id := range ids[first:] {
		visit(s.groups[id])
		*after = id
		if s.written() >= cleanupBytes {
			return false
		}
	}
	return true
}

func (s *Shard) written() (n int) {
	for _, r := range s.eff.Records {
		n += len(r.Key)
	}
	return n
}

// cleanGroup forgets a group's offsets for deleted topics. An offset that was
// committed for another id belongs to a topic that has the name now.
func (s *Shard) cleanGroup(g *group, d TopicsDeleted) {
	var none [16]byte
	for _, k := range g.everyOffset() {
		i := slices.Index(d.Names, k.topic)
		if i < 0 {
			continue
		}
		c := g.offsets[k.topic][k.partition]
		if d.IDs != nil && c.topicID != none && c.topicID != d.IDs[i] {
			continue
		}
		s.write(offsetTombstone(k))
	}
}

// expire forgets a group's expired offsets, and the group if it is empty and
// nothing is left.
func (s *Shard) expire(g *group) {
	expired := 0
	for topic, parts := range g.offsets {
		for p, c := range parts {
			if s.expired(g, offsetKey{g.id, topic, p}, c) {
				expired++
			}
		}
	}
	if expired > 0 {
		for _, k := range g.everyOffset() {
			if c, ok := g.offsets[k.topic][k.partition]; ok && s.expired(g, k, c) {
				s.write(offsetTombstone(k))
			}
		}
	}
	left := -expired
	for _, parts := range g.offsets {
		left += len(parts)
	}
	if left == 0 && len(g.open) == 0 && g.isEmpty() {
		s.write(g.tombstones()...)
	}
}

// expired says whether an offset can go, when nobody subscribes to its topic. Those
// of an empty classic group go some time after its last member left, all others
// some time after the commit.
func (s *Shard) expired(g *group, k offsetKey, c committed) bool {
	if g.isOpen(k.topic, k.partition) || g.reads(k.topic) {
		return false
	}
	sinceMs := c.commitMs
	switch {
	case g.consumers != nil, g.protocolType == "":
	case g.state == empty:
		if g.sinceMs >= 0 {
			sinceMs = g.sinceMs
		}
	case g.state == stable && g.usesConsumerProtocol() && g.subscribed != nil:
	default:
		return false
	}
	if c.expireMs >= 0 {
		return s.nowMs() >= c.expireMs
	}
	return s.nowMs()-sinceMs >= s.cfg.OffsetsRetention.Milliseconds()
}

// reads says whether a member may be reading the topic, so that its offsets must
// stay.
func (g *group) reads(topic string) bool {
	if g.consumers != nil {
		return g.consumers.subscribes(topic)
	}
	return g.isSubscribed(topic)
}
