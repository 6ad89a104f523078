package group

import (
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// The versions of the consumers' own protocol that are known: what they put into
// JoinGroup and SyncGroup.
const newestConsumerProtocol = 3

// upgrade makes a consumer group of a classic one, because somebody joins by the
// new protocol. Its members go on as they are, with what they have as their target;
// those that wait for a rebalance are sent to join again.
func (s *Shard) upgrade(g *group) (*change, *refusal) {
	if err := s.mayUpgrade(g); err != nil {
		return nil, err
	}
	ch := s.edit(g)
	c := ch.now
	c.epoch, c.assignmentEpoch = g.generation, g.generation
	for _, m := range g.members {
		cm, err := s.asConsumer(g, m)
		if err != nil {
			return nil, err
		}
		for topic, list := range cm.assigned {
			for _, n := range list {
				if other := c.owners[topic][n]; other != "" {
					return nil, cannotUpgrade(g, "its members %s and %s were assigned the same partition", other, m.id)
				}
			}
		}
		c.put(cm)
		c.target[m.id] = cm.assigned
		if m.join.waits() {
			ch.reply(m.join.ticket, joinFailure(m.join.version, m.id, kerr.RebalanceInProgress.Code))
		}
		if m.sync.waits() {
			ch.reply(m.sync.ticket, syncFailure(m.sync, kerr.RebalanceInProgress.Code))
		}
		ch.setTimer(timerKey{sessionTimer, g.id, m.id}, millis(m.sessionMs))
	}
	c.hash = topicsHash(c.allNames(), s.cluster)
	ch.cancelClassic()
	ch.write(groupTombstone(g.id))
	ch.writeAll()
	s.cfg.Logger.Info("classic group became a consumer group", slog.String("group", g.id),
		slog.Int("generation", int(g.generation)), slog.Int("members", len(g.members)))
	return ch, nil
}

// cannotUpgrade says why a group stays classic; the joining member is told that
// there is no such consumer group.
func cannotUpgrade(g *group, why string, args ...any) *refusal {
	return refuse(kerr.GroupIDNotFound, "Cannot upgrade classic group %s to consumer group because %s.", g.id, fmt.Sprintf(why, args...))
}

func (s *Shard) mayUpgrade(g *group) *refusal {
	switch {
	case !s.cfg.Consumer.Upgrade:
		return cannotUpgrade(g, "online upgrade is disabled")
	case !g.usesConsumerProtocol():
		return cannotUpgrade(g, "the group does not use the consumer embedded protocol")
	case len(g.members) > s.cfg.Consumer.MaxSize:
		return cannotUpgrade(g, "the group size exceeds the consumer group maximum size")
	}
	return nil
}

// asConsumer is a classic member as one of a consumer group.
func (s *Shard) asConsumer(g *group, m *member) (*consumer, *refusal) {
	const malformed = "the embedded consumer protocol is malformed"
	name := ""
	if g.protocol != nil {
		name = *g.protocol
	} else {
		name = g.elect()
	}
	said, ok := readSubscription(m.metadataOf(name))
	if !ok {
		return nil, cannotUpgrade(g, malformed)
	}
	cm := &consumer{
		id: m.id, instance: m.instance, rack: said.rack, clientID: m.clientID, clientHost: m.clientHost,
		topics: said.topics, rebalanceMs: m.rebalanceMs,
		classic: &classicMember{sessionMs: m.sessionMs, protocols: m.protocols},
		epoch:   g.generation, previousEpoch: g.generation, assigned: make(assign.Partitions),
	}
	if len(m.assignment) == 0 {
		return cm, nil // It has just joined.
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(m.assignment); err != nil {
		return nil, cannotUpgrade(g, malformed)
	}
	if len(a.UserData) > 0 {
		return nil, refuse(kerr.GroupIDNotFound, "Cannot upgrade classic group %s to consumer group because an unsupported custom assignor is in use. "+
			"Please refer to the documentation or switch to a default assignor before re-attempting the upgrade.", g.id)
	}
	for _, at := range a.Topics {
		if t, ok := s.cluster.Topic(at.Topic); ok {
			for _, n := range at.Partitions {
				cm.assigned.Add(t.ID, n)
			}
		}
	}
	return cm, nil
}

// metadataOf is what m said for a protocol.
func (m *member) metadataOf(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

// writeAll writes all records of a group.
func (ch *change) writeAll() {
	id, c := ch.g.id, ch.now
	ids := sortedKeys(c.members)
	for _, m := range ids {
		ch.write(memberRecord(id, c.members[m]))
	}
	ch.write(epochRecord(id, c.epoch, c.hash))
	for _, m := range ids {
		ch.write(targetRecord(id, m, c.target[m]))
	}
	ch.write(targetEpochRecord(id, c.assignmentEpoch))
	for _, m := range ids {
		ch.write(currentRecord(id, c.members[m]))
	}
}

// cancelClassic forgets what the classic group waited for.
func (ch *change) cancelClassic() {
	id := ch.g.id
	ch.cancelTimer(timerKey{kind: joinTimer, group: id})
	ch.cancelTimer(timerKey{kind: syncTimer, group: id})
	for _, member := range sortedKeys(ch.g.pendingJoin) {
		ch.cancelTimer(timerKey{sessionTimer, id, member})
	}
}

// mayDowngrade says whether the group becomes a classic one when these members are
// gone and come joins: only members of the classic protocol are left, and some are.
func (ch *change) mayDowngrade(come int, gone ...*consumer) bool {
	left := come
	for _, m := range ch.now.members {
		switch {
		case isOneOf(m, gone):
		case m.classic == nil:
			return false
		default:
			left++
		}
	}
	return left > 0 && left <= ch.s.cfg.MaxSize && ch.s.cfg.Consumer.Downgrade
}

func isOneOf(m *consumer, list []*consumer) bool {
	for _, o := range list {
		if o.id == m.id {
			return true
		}
	}
	return false
}

// downgrade makes a classic group of what is left of the step's group without the
// members that go, which ends the step. If rebalance says why all must join again,
// each has until then what it has; else what it is meant to have. (Kafka always
// writes what it is meant to have. If the group is upgraded again before a member
// has joined, it then takes the member to have given up the rest.)
func (ch *change) downgrade(rebalance string, gone ...*consumer) {
	s, g := ch.s, ch.g
	made := classic{
		generation: ch.now.epoch, protocolType: consumerProtocol,
		state: stable, previous: completing, sinceMs: s.nowMs(),
	}
	for _, id := range sortedKeys(ch.now.members) {
		m := ch.now.members[id]
		ch.cancelTimers(id)
		if isOneOf(m, gone) {
			continue
		}
		made.add(&member{
			id: id, instance: m.instance, clientID: m.clientID, clientHost: m.clientHost,
			rebalanceMs: m.rebalanceMs, sessionMs: m.classic.sessionMs, protocols: m.classic.protocols,
		}, consumerProtocol)
	}
	name := made.elect()
	made.protocol = &name
	made.subscribed = made.subscriptions()
	for _, m := range made.members {
		has := ch.now.target[m.id]
		if rebalance != "" {
			has = ch.now.members[m.id].holds()
		}
		m.assignment = ch.encode(m.metadataOf(name), has)
	}
	ch.write(ch.now.tombstones(g.id)...)
	ch.write((&group{id: g.id, classic: made}).record())
	ch.apply()
	s.cfg.Logger.Info("consumer group became a classic group", slog.String("group", g.id),
		slog.Int("generation", int(made.generation)), slog.Int("members", len(made.members)))

	undo := s.undo
	g.classic = made
	s.undo = func(code int16, err error) {
		g.classic = classic{}
		undo(code, err)
	}
	for _, m := range made.members {
		s.resetSession(g, m)
	}
	if rebalance != "" {
		s.prepareRebalance(g, rebalance)
	}
}

// encode writes an assignment as the consumers' own protocol has it, in the version
// in which the member subscribed.
func (ch *change) encode(subscription []byte, p assign.Partitions) []byte {
	var said kmsg.ConsumerMemberMetadata
	a := kmsg.NewConsumerMemberAssignment()
	if err := said.ReadFrom(subscription); err == nil {
		a.Version = min(said.Version, newestConsumerProtocol)
	}
	for _, id := range p.Topics() {
		if t, ok := ch.s.cluster.TopicByID(id); ok {
			a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: t.Name, Partitions: p[id]})
		}
	}
	return a.AppendTo(nil)
}

func (ch *change) reply(t coordinator.Ticket, body any) {
	ch.replies = append(ch.replies, coordinator.Reply{To: t, Body: body})
}
