package group

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/moldau-broker/moldau/coordinator"
)

// cleanupBytes bounds the keys of the tombstones that one step of a clean-up
// writes, so that their batch stays well below the least sensible
// max.message.bytes, and other requests get their turn in between. Kafka cuts up
// what one round writes as well, into batches as large as the topic takes.
const cleanupBytes = 128 << 10

// cleanup is what is left to be cleaned. Soft state: after a failover the next
// round, or whoever was not answered, begins again.
type cleanup struct {
	expired string // The round has come this far: the last group it is done with.
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
	done := s.walk(&d.after, func(g *group) bool { return s.cleanGroup(g, d.TopicsDeleted) })
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
// groups. It goes on at once while there is more, and else, or when the log
// refused it, when the next round is due.
func (s *Shard) clean() {
	pause := func(d time.Duration) { s.setTimer(timerKey{kind: cleanupTimer}, d) }
	if s.walk(&s.cleanup.expired, s.expire) {
		s.cleanup.expired = ""
		pause(s.cfg.RetentionCheckInterval)
	} else {
		pause(0)
	}
	s.undo = func(int16, error) { pause(s.cfg.RetentionCheckInterval) }
}

// walk visits the groups after *after in order, and says whether it came to the
// end. A visit that is not done has written as much as a step may; the next step
// visits the group again, and finds what is left of it.
func (s *Shard) walk(after *string, visit func(*group) (done bool)) (done bool) {
	ids := sortedKeys(s.groups)
	first, found := slices.BinarySearch(ids, *after)
	if found && *after != "" {
		first++
	}
	for _, id := range ids[first:] {
		if !visit(s.groups[id]) {
			return false
		}
		*after = id
	}
	return true
}

// remove writes tombstones, unless the step has written enough.
func (s *Shard) remove(tombstones ...coordinator.Record) (wrote bool) {
	if s.written >= cleanupBytes {
		return false
	}
	s.write(tombstones...)
	return true
}

// cleanGroup forgets a group's offsets for deleted topics, and says whether it is
// done. An offset that was committed for another id belongs to a topic that has
// the name now.
func (s *Shard) cleanGroup(g *group, d TopicsDeleted) (done bool) {
	var none [16]byte
	for i, topic := range d.Names {
		for _, p := range g.partitions(topic) {
			c := g.offsets[topic][p]
			if d.IDs != nil && c.topicID != none && c.topicID != d.IDs[i] {
				continue
			}
			if !s.remove(offsetTombstone(offsetKey{g.id, topic, p})) {
				return false
			}
		}
	}
	return true
}

// expire forgets a group's expired offsets, and the group if it is empty and
// nothing is left. It says whether it is done.
func (s *Shard) expire(g *group) (done bool) {
	var gone []offsetKey
	left := 0
	for topic, parts := range g.offsets {
		for p, c := range parts {
			if k := (offsetKey{g.id, topic, p}); s.expired(g, k, c) {
				gone = append(gone, k)
			} else {
				left++
			}
		}
	}
	slices.SortFunc(gone, func(a, b offsetKey) int {
		return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	for _, k := range gone {
		if !s.remove(offsetTombstone(k)) {
			return false
		}
	}
	if left == 0 && len(g.open) == 0 && g.isEmpty() {
		return s.remove(g.tombstones()...)
	}
	return true
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
