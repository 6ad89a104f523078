package group

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// A member that speaks the classic protocol may be in a consumer group, so that
// its consumers can change over one by one. It takes the same steps as the others:
// a join says what it has and takes it one step on, a sync brings what it is to
// read, and a heartbeat tells it to join again when there is a next step. Its
// generation is its epoch, and it never leads.

// joinSaid is what a consumer says when it joins by the classic protocol.
type joinSaid struct {
	topics []string
	rack   *string
	owned  []kmsg.ConsumerMemberMetadataOwnedPartition
}

func readSubscription(metadata []byte) (s joinSaid, ok bool) {
	var m kmsg.ConsumerMemberMetadata
	if err := m.ReadFrom(metadata); err != nil || m.Version < 0 {
		return s, false
	}
	s = joinSaid{topics: slices.Compact(slices.Sorted(slices.Values(m.Topics))), owned: m.OwnedPartitions}
	if m.Rack != nil && *m.Rack != "" {
		s.rack = m.Rack
	}
	return s, true
}

// joinConsumers is a join of the classic protocol to a group of consumers.
func (s *Shard) joinConsumers(t coordinator.Ticket, rq Request, req *kmsg.JoinGroupRequest, g *group) {
	ch := s.edit(g)
	resp, code := ch.join(rq, req)
	if code != 0 {
		s.reply(t, joinError(req, "", code))
		return
	}
	s.reply(t, resp)
}

// join takes a member in, or one step on.
func (ch *change) join(rq Request, req *kmsg.JoinGroupRequest) (*kmsg.JoinGroupResponse, int16) {
	c, isNew := ch.s.cfg.Consumer, req.MemberID == ""
	id := req.MemberID
	if isNew {
		id = ch.s.newConsumerID()
	}
	switch {
	case !c.Upgrade && !c.Downgrade:
		return nil, kerr.InconsistentGroupProtocol.Code
	case ch.roomFor(id, req.InstanceID) != nil:
		return nil, kerr.GroupMaxSizeReached.Code
	case !ch.now.compatible(req.ProtocolType, req.Protocols):
		return nil, kerr.InconsistentGroupProtocol.Code
	case isNew && req.InstanceID == nil && req.Version >= joinNeedsMemberID:
		return joinFailure(req.Version, id, kerr.MemberIDRequired.Code), 0
	}
	said, ok := readSubscription(req.Protocols[0].Metadata)
	if !ok {
		return nil, kerr.InconsistentGroupProtocol.Code
	}
	replaced := ch.now.static(req.InstanceID)
	was, code := ch.joining(id, isNew, req.InstanceID)
	if code != 0 {
		return nil, code
	}
	m := *was
	m.says(rq, &kmsg.ConsumerGroupHeartbeatRequest{
		InstanceID: req.InstanceID, RackID: said.rack, RebalanceTimeoutMillis: req.RebalanceTimeoutMillis,
		SubscribedTopicNames: said.topics, SubscribedTopicRegex: new(""),
	})
	m.classic = &classicMember{sessionMs: req.SessionTimeoutMillis, protocols: req.Protocols}
	next, downgraded, code := ch.joined(was, &m, rq, ch.s.owned(said), replaced)
	if code != 0 {
		return nil, code
	}
	ch.forgetTimer(timerKey{joinTimer, ch.g.id, m.id})
	if !downgraded {
		ch.setTimer(timerKey{sessionTimer, ch.g.id, m.id}, millis(req.SessionTimeoutMillis))
		ch.setTimer(timerKey{syncTimer, ch.g.id, m.id}, millis(req.RebalanceTimeoutMillis))
		ch.apply()
	}
	resp := joinFailure(req.Version, m.id, 0)
	resp.Generation = next.epoch
	resp.ProtocolType, resp.Protocol = new(consumerProtocol), &req.Protocols[0].Name
	return resp, 0
}

// joined assigns the group with a member that joins, and takes it one step on. If
// it takes the place of the last member of the new protocol, the group becomes a
// classic one.
func (ch *change) joined(was, m *consumer, rq Request, owned assign.Partitions, replaced *consumer) (next *consumer, downgraded bool, code int16) {
	downgraded = replaced != nil && replaced.classic == nil && ch.mayDowngrade(1, m)
	ch.noAssign = downgraded
	if err := ch.update(was, m, rq); err != nil {
		return nil, false, err.code
	}
	next = m
	if !downgraded || ch.now.assignmentEpoch >= ch.now.epoch {
		var err *refusal
		if next, err = ch.reconcile(m, owned); err != nil {
			return nil, false, err.code
		}
	}
	if downgraded {
		why := ""
		if ch.now.assignmentEpoch < ch.now.epoch {
			why = "the group became a classic one before it was assigned anew"
		}
		ch.downgrade(why)
	}
	return next, downgraded, 0
}

// joining finds or makes the member that joins.
func (ch *change) joining(id string, isNew bool, instance *string) (*consumer, int16) {
	old := ch.now.static(instance)
	switch m := ch.now.members[id]; {
	case instance == nil && m != nil:
		return m, 0
	case instance == nil, old == nil && isNew:
		return newConsumer(id), 0
	case old == nil:
		return nil, kerr.UnknownMemberID.Code
	case isNew:
		return ch.replace(old, id), 0
	case old.id != id:
		return nil, kerr.FencedInstanceID.Code
	}
	return old, 0
}

// compatible says whether someone with these classic protocols may be in the group.
func (c *consumers) compatible(protocolType string, protocols []kmsg.JoinGroupRequestProtocol) bool {
	if protocolType != consumerProtocol || len(protocols) == 0 {
		return false
	}
	members, supports := 0, make(map[string]int)
	for _, m := range c.members {
		if m.classic == nil {
			continue
		}
		members++
		for name := range protocolNames(m.classic.protocols) {
			supports[name]++
		}
	}
	return slices.ContainsFunc(protocols, func(p kmsg.JoinGroupRequestProtocol) bool { return supports[p.Name] == members })
}

func protocolNames(protocols []kmsg.JoinGroupRequestProtocol) map[string]bool {
	names := make(map[string]bool, len(protocols))
	for _, p := range protocols {
		names[p.Name] = true
	}
	return names
}

// owned is what a member says that it has.
func (s *Shard) owned(said joinSaid) assign.Partitions {
	p := make(assign.Partitions)
	for _, o := range said.owned {
		if t, ok := s.cluster.Topic(o.Topic); ok {
			for _, n := range o.Partitions {
				p.Add(t.ID, n)
			}
		}
	}
	return p
}

// classicMemberOf finds the member of the classic protocol that a request is from.
func (c *consumers) classicMemberOf(id string, instance *string, generation int32) (*consumer, int16) {
	m := c.members[id]
	if instance != nil {
		m = c.static(instance)
		if m != nil && m.id != id {
			return nil, kerr.FencedInstanceID.Code
		}
	}
	switch {
	case m == nil || m.classic == nil:
		return nil, kerr.UnknownMemberID.Code
	case m.epoch != generation:
		return nil, kerr.IllegalGeneration.Code
	}
	return m, 0
}

// syncConsumer is a sync of the classic protocol to a group of consumers.
func (s *Shard) syncConsumer(t coordinator.Ticket, req *kmsg.SyncGroupRequest, g *group) {
	w := waiter{t, req.Version}
	m, code := g.consumers.classicMemberOf(req.MemberID, req.InstanceID, req.Generation)
	switch {
	case code != 0:
	case req.ProtocolType != nil && *req.ProtocolType != consumerProtocol,
		req.Protocol != nil && *req.Protocol != m.classic.protocols[0].Name:
		code = kerr.InconsistentGroupProtocol.Code
	case g.consumers.assignmentEpoch > m.epoch && m.state != unrevoked:
		// It has joined before the last assignment, and has to join again.
		s.awaitJoin(g, m)
		code = kerr.RebalanceInProgress.Code
	}
	resp := syncFailure(w, code)
	if code == 0 {
		s.cancelTimer(timerKey{syncTimer, g.id, m.id})
		s.setTimer(timerKey{sessionTimer, g.id, m.id}, millis(m.classic.sessionMs))
		resp.ProtocolType, resp.Protocol = req.ProtocolType, req.Protocol
		resp.MemberAssignment = s.edit(g).encode(m.classic.protocols[0].Metadata, m.assigned)
	}
	s.reply(t, resp)
}

// beatConsumer is a heartbeat of the classic protocol to a group of consumers.
func (s *Shard) beatConsumer(g *group, req *kmsg.HeartbeatRequest) int16 {
	c := g.consumers
	m, code := c.classicMemberOf(req.MemberID, req.InstanceID, req.Generation)
	if code != 0 {
		return code
	}
	s.setTimer(timerKey{sessionTimer, g.id, m.id}, millis(m.classic.sessionMs))
	if m.epoch < c.assignmentEpoch || m.state == unrevoked || m.state == unreleased && !c.waits(m) {
		s.awaitJoin(g, m)
		return kerr.RebalanceInProgress.Code
	}
	return 0
}

// waits says whether another still has something that m is meant to have.
func (c *consumers) waits(m *consumer) bool {
	for topic, list := range c.target[m.id] {
		for _, n := range list {
			if !m.assigned.Has(topic, n) && c.owners[topic][n] != "" {
				return true
			}
		}
	}
	return false
}

// awaitJoin gives a member its rebalance timeout to join again, from when it was
// first told.
func (s *Shard) awaitJoin(g *group, m *consumer) {
	if _, told := g.modern.told[m.id]; told {
		return
	}
	if g.modern.told == nil {
		g.modern.told = make(map[string]struct{})
	}
	g.modern.told[m.id] = struct{}{}
	s.setTimer(timerKey{joinTimer, g.id, m.id}, millis(m.rebalanceMs))
}

// leaveConsumers is a leave of the classic protocol in a group of consumers.
func (s *Shard) leaveConsumers(g *group, leaving []kmsg.LeaveGroupRequestMember) (codes []int16) {
	var gone []*consumer
	for _, l := range leaving {
		m, code := g.consumers.members[l.MemberID], int16(0)
		if l.InstanceID != nil {
			m = g.consumers.static(l.InstanceID)
			if m != nil && l.MemberID != "" && l.MemberID != m.id {
				code = kerr.FencedInstanceID.Code
			}
		}
		if m == nil {
			code = kerr.UnknownMemberID.Code
		}
		if code == 0 && !isOneOf(m, gone) {
			gone = append(gone, m)
		}
		codes = append(codes, code)
	}
	if len(gone) > 0 {
		s.fence(g, gone...)
	}
	return codes
}
