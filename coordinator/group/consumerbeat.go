package group

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// refusal is why a request of a consumer group is not carried out, in Kafka's
// words: clients show them to people.
type refusal struct {
	code    int16
	message string
}

func refuse(err *kerr.Error, format string, args ...any) *refusal {
	return &refusal{err.Code, fmt.Sprintf(format, args...)}
}

// beatMakesNoID is the ConsumerGroupHeartbeat version from which on members make
// their ids themselves.
const beatMakesNoID = 1

// consumerBeat serves ConsumerGroupHeartbeat (68), versions 0 and 1: it is how a
// member joins, leaves, says what it wants and has, and hears what it is to read.
func (s *Shard) consumerBeat(t coordinator.Ticket, rq Request, req *kmsg.ConsumerGroupHeartbeatRequest) {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	err := s.validateBeat(req)
	switch {
	case err != nil:
	case req.MemberEpoch == epochLeaves || req.MemberEpoch == epochLeavesFor:
		err = s.consumerLeaves(req, resp)
	default:
		err = s.consumerIsHere(rq, req, resp)
	}
	if err != nil {
		*resp = kmsg.ConsumerGroupHeartbeatResponse{Version: req.Version, ErrorCode: err.code, ErrorMessage: &err.message}
	}
	s.reply(t, resp)
}

// validateBeat checks what a heartbeat says, before any group is looked at.
func (s *Shard) validateBeat(req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	blank := func(v *string) bool { return v != nil && strings.TrimSpace(*v) == "" }
	needsID := req.Version >= beatMakesNoID || req.MemberEpoch > 0 || req.MemberEpoch == epochLeaves
	switch {
	case needsID && blank(&req.MemberID):
		return refuse(kerr.InvalidRequest, "MemberId can't be empty.")
	case blank(&req.Group):
		return refuse(kerr.InvalidRequest, "GroupId can't be empty.")
	case blank(req.InstanceID):
		return refuse(kerr.InvalidRequest, "InstanceId can't be empty.")
	case blank(req.RackID):
		return refuse(kerr.InvalidRequest, "RackId can't be empty.")
	case req.MemberEpoch < epochLeavesFor:
		return refuse(kerr.InvalidRequest, "MemberEpoch is invalid.")
	case req.MemberEpoch == epochLeavesFor && req.InstanceID == nil:
		return refuse(kerr.InvalidRequest, "InstanceId can't be null.")
	}
	if req.MemberEpoch == epochJoins {
		switch {
		case req.RebalanceTimeoutMillis == noRebalanceLimit:
			return refuse(kerr.InvalidRequest, "RebalanceTimeoutMs must be provided in first request.")
		case req.Topics == nil || len(req.Topics) > 0:
			return refuse(kerr.InvalidRequest, "TopicPartitions must be empty when (re-)joining.")
		case req.SubscribedTopicNames == nil && req.SubscribedTopicRegex == nil:
			return refuse(kerr.InvalidRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
		}
	}
	if req.ServerAssignor != nil && !slices.Contains(s.cfg.Consumer.Assignors, *req.ServerAssignor) {
		return refuse(kerr.UnsupportedAssignor, "ServerAssignor %s is not supported. Supported assignors: %s.",
			*req.ServerAssignor, strings.Join(s.cfg.Consumer.Assignors, ", "))
	}
	return nil
}

// consumerIsHere is a heartbeat of a member that joins or stays.
func (s *Shard) consumerIsHere(rq Request, req *kmsg.ConsumerGroupHeartbeatRequest, resp *kmsg.ConsumerGroupHeartbeatResponse) *refusal {
	if req.MemberID == "" {
		req.MemberID = s.newConsumerID()
	}
	joins := req.MemberEpoch == epochJoins
	ch, err := s.consumerGroup(req.Group, joins)
	if err != nil {
		return err
	}
	if err := ch.roomFor(req.MemberID, req.InstanceID); err != nil {
		return err
	}
	owned := ownedPartitions(req.Topics)
	was, err := ch.member(req, joins, owned)
	if err != nil {
		return err
	}
	m := *was
	m.says(rq, req)
	if err := ch.update(was, &m, rq); err != nil {
		return err
	}
	next, err := ch.reconcile(&m, owned)
	if err != nil {
		return err
	}
	if was.classic != nil { // It has changed over, and need not join or sync.
		ch.forgetTimer(timerKey{joinTimer, req.Group, m.id})
		ch.cancelTimer(timerKey{syncTimer, req.Group, m.id})
	}
	ch.apply()
	s.setTimer(timerKey{sessionTimer, req.Group, m.id}, s.consumerSession(req.Group))

	resp.MemberID, resp.MemberEpoch = &next.id, next.epoch
	resp.HeartbeatIntervalMillis = int32(s.consumerInterval(req.Group).Milliseconds())
	full := req.RebalanceTimeoutMillis != noRebalanceLimit && owned != nil &&
		(req.SubscribedTopicNames != nil || req.SubscribedTopicRegex != nil)
	if joins || full || !next.assigned.Equal(was.assigned) {
		resp.Assignment = heartbeatAssignment(next.assigned)
	}
	return nil
}

// says takes over what a member says of itself; what it leaves out stays.
func (m *consumer) says(rq Request, req *kmsg.ConsumerGroupHeartbeatRequest) {
	if req.InstanceID != nil {
		m.instance = req.InstanceID
	}
	if req.RackID != nil {
		m.rack = req.RackID
	}
	if req.RebalanceTimeoutMillis != noRebalanceLimit {
		m.rebalanceMs = req.RebalanceTimeoutMillis
	}
	if req.ServerAssignor != nil {
		m.assignor = req.ServerAssignor
	}
	if req.SubscribedTopicNames != nil {
		m.topics = slices.Compact(slices.Sorted(slices.Values(req.SubscribedTopicNames)))
	}
	if req.SubscribedTopicRegex != nil {
		m.regex = *req.SubscribedTopicRegex
	}
	m.clientID, m.clientHost, m.classic = rq.ClientID, rq.ClientHost, nil
}

// member finds or makes the member that a heartbeat is from.
func (ch *change) member(req *kmsg.ConsumerGroupHeartbeatRequest, joins bool, owned assign.Partitions) (*consumer, *refusal) {
	if req.InstanceID != nil {
		return ch.staticMember(req, joins, owned)
	}
	m := ch.now.members[req.MemberID]
	switch {
	case m == nil && joins:
		return newConsumer(req.MemberID), nil
	case m == nil:
		return nil, refuse(kerr.UnknownMemberID, "Member %s is not a member of group %s.", req.MemberID, req.Group)
	}
	return m, m.validateEpoch(req.MemberEpoch, owned)
}

// staticMember is member for one with an instance id: who comes back takes the
// place of its old self, if that has said that it goes.
func (ch *change) staticMember(req *kmsg.ConsumerGroupHeartbeatRequest, joins bool, owned assign.Partitions) (*consumer, *refusal) {
	instance := *req.InstanceID
	old := ch.now.static(req.InstanceID)
	switch {
	case old == nil && joins:
		if m := ch.now.members[req.MemberID]; m != nil {
			return m, nil
		}
		return newConsumer(req.MemberID), nil
	case old == nil:
		return nil, refuse(kerr.UnknownMemberID, "Instance id %s is unknown.", instance)
	case joins && old.classic == nil && old.epoch != epochLeavesFor:
		return nil, refuse(kerr.UnreleasedInstanceID,
			"Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.",
			req.MemberID, instance, old.id)
	case joins:
		return ch.replace(old, req.MemberID), nil
	case old.id != req.MemberID:
		return nil, refuse(kerr.FencedInstanceID, "Static member %s with instance id %s was fenced by member %s.",
			req.MemberID, instance, old.id)
	}
	return old, old.validateEpoch(req.MemberEpoch, owned)
}

// validateEpoch says whether a heartbeat may come at an epoch. The one before is
// good as well if the answer that told of this one may have been lost: then the
// member has nothing that it was not given.
func (m *consumer) validateEpoch(epoch int32, owned assign.Partitions) *refusal {
	const told = "The consumer group member has a %s member epoch (%d) than the one known by the group coordinator (%d). " +
		"The member must abandon all its partitions and rejoin."
	switch {
	case epoch == epochJoins || epoch == m.epoch:
		return nil
	case epoch > m.epoch:
		return refuse(kerr.FencedMemberEpoch, told, "greater", epoch, m.epoch)
	case epoch != m.previousEpoch || owned == nil || !owned.Within(m.assigned):
		return refuse(kerr.FencedMemberEpoch, told, "smaller", epoch, m.epoch)
	}
	return nil
}

// consumerLeaves is a heartbeat of a member that leaves, or goes away for a while.
func (s *Shard) consumerLeaves(req *kmsg.ConsumerGroupHeartbeatRequest, resp *kmsg.ConsumerGroupHeartbeatResponse) *refusal {
	g := s.groups[req.Group]
	switch {
	case g == nil:
		return refuse(kerr.GroupIDNotFound, "Group %s not found.", req.Group)
	case g.consumers == nil:
		return refuse(kerr.GroupIDNotFound, "Group %s is not a consumer group.", req.Group)
	}
	m := g.consumers.members[req.MemberID]
	if req.InstanceID != nil {
		m = g.consumers.static(req.InstanceID)
		switch {
		case m == nil:
			return refuse(kerr.UnknownMemberID, "Instance id %s is unknown.", *req.InstanceID)
		case m.id != req.MemberID:
			return refuse(kerr.FencedInstanceID, "Static member %s with instance id %s was fenced by member %s.",
				req.MemberID, *req.InstanceID, m.id)
		}
	}
	if m == nil {
		return refuse(kerr.UnknownMemberID, "Member %s is not a member of group %s.", req.MemberID, req.Group)
	}
	resp.MemberID, resp.MemberEpoch = &m.id, req.MemberEpoch
	if req.MemberEpoch == epochLeavesFor {
		// Its partitions stay its own, until it comes back or its session ends.
		away := *m
		away.epoch, away.revoking = epochLeavesFor, nil
		s.write(currentRecord(g.id, &away))
		return nil
	}
	s.cfg.Logger.Info("member left", slog.String("group", g.id), slog.String("member", m.id))
	s.fence(g, m)
	return nil
}

// fence removes a member: what it had is for the others.
func (s *Shard) fence(g *group, members ...*consumer) {
	ch := s.edit(g)
	if ch.mayDowngrade(0, members...) {
		ch.downgrade("the last member of the consumer protocol is gone", members...)
		return
	}
	ch.remove(members...)
	ch.apply()
}

// consumerTimer is called when a timer of a consumer group is due.
func (s *Shard) consumerTimer(g *group, k timerKey) {
	switch k.kind {
	case sessionTimer:
		s.consumerExpired(g, k.member)
	case revokeTimer:
		s.revocationExpired(g, k.member)
	case joinTimer, syncTimer:
		s.stepExpired(g, k.member)
	}
	if undo := s.undo; undo != nil {
		s.undo = func(code int16, err error) {
			undo(code, err)
			s.setTimer(k, fenceRetry)
		}
	}
}

// fenceRetry is after what time a member is fenced again if the log refused it.
const fenceRetry = 500 * time.Millisecond

// consumerExpired is called when nothing was heard of a member for its session
// timeout.
func (s *Shard) consumerExpired(g *group, id string) {
	if m := g.consumers.members[id]; m != nil {
		s.cfg.Logger.Info("member's session expired", slog.String("group", g.id), slog.String("member", id))
		s.fence(g, m)
	}
}

// revocationExpired is called when a member had its time to give partitions up.
func (s *Shard) revocationExpired(g *group, id string) {
	if m := g.consumers.members[id]; m != nil && m.state == unrevoked {
		s.cfg.Logger.Info("member did not give up its partitions in time", slog.String("group", g.id),
			slog.String("member", id), slog.Int("epoch", int(m.epoch)))
		s.fence(g, m)
	}
}

// stepExpired is called when a member of the classic protocol had its time to join
// again, or to sync.
func (s *Shard) stepExpired(g *group, id string) {
	delete(g.modern.told, id)
	if m := g.consumers.members[id]; m != nil {
		s.cfg.Logger.Info("member did not join or sync in time", slog.String("group", g.id), slog.String("member", id))
		s.fence(g, m)
	}
}

// consumersLoaded gives all members of a group a full session, and those that have
// to give partitions up their full time for it.
func (s *Shard) consumersLoaded(g *group) {
	for _, id := range sortedKeys(g.consumers.members) {
		m := g.consumers.members[id]
		s.setTimer(timerKey{sessionTimer, g.id, id}, s.sessionOf(g, m))
		if m.state == unrevoked && m.classic == nil {
			s.setTimer(timerKey{revokeTimer, g.id, id}, millis(m.rebalanceMs))
		}
	}
}

// sessionOf is how long nothing need be heard of a member.
func (s *Shard) sessionOf(g *group, m *consumer) time.Duration {
	if m.classic != nil {
		return millis(m.classic.sessionMs)
	}
	return s.consumerSession(g.id)
}

// Kafka's names of the settings of a single group.
const (
	settingSession  = "consumer.session.timeout.ms"
	settingInterval = "consumer.heartbeat.interval.ms"
)

func (s *Shard) consumerSession(group string) time.Duration {
	return s.groupMillis(group, settingSession, s.cfg.Consumer.Session)
}

func (s *Shard) consumerInterval(group string) time.Duration {
	return s.groupMillis(group, settingInterval, s.cfg.Consumer.HeartbeatInterval)
}

// groupMillis is a duration that may be set for a single group.
func (s *Shard) groupMillis(group, name string, unset time.Duration) time.Duration {
	if ms, err := strconv.ParseInt(s.cluster.GroupConfig(group)[name], 10, 32); err == nil {
		return millis(int32(ms))
	}
	return unset
}

// ownedPartitions reads what a member says that it has; nil: it did not say.
func ownedPartitions(list []kmsg.ConsumerGroupHeartbeatRequestTopic) assign.Partitions {
	if list == nil {
		return nil
	}
	p := make(assign.Partitions)
	for _, t := range list {
		for _, n := range t.Partitions {
			p.Add(t.TopicID, n)
		}
	}
	return p
}

func heartbeatAssignment(p assign.Partitions) *kmsg.ConsumerGroupHeartbeatResponseAssignment {
	a := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
	for _, topic := range p.Topics() {
		a.Topics = append(a.Topics, kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{TopicID: topic, Partitions: p[topic]})
	}
	return &a
}
