package group

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// state is where a classic group stands.
//
//	empty      --join-->                      preparing
//	preparing  --all joined, or timeout-->    completing, or empty if nobody did
//	completing --leader's assignment-->       stable
//	completing, stable --join, leave, expiry--> preparing
type state int8

const (
	empty      state = iota // No members; perhaps offsets.
	preparing               // Members join.
	completing              // All have joined; the leader's assignment is awaited.
	stable                  // Everybody has an assignment.
)

// String is what ListGroups and DescribeGroups say.
func (st state) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable"}[st]
}

// group is one group id: hard state, which only Replay changes, and the state
// machine of its protocol on top of it. It is a classic group unless it has
// consumers.
type group struct {
	id string

	// consumers is not nil if the group is one of the consumer protocol. Hard state.
	consumers *consumers
	modern    modern

	// stored is the last GroupMetadata record; nil: there is none. Hard state.
	stored *kmsg.GroupMetadataValue
	// offsets holds the committed offsets by topic and partition. Hard state.
	offsets map[string]map[int32]committed
	// open holds, for each partition, the producers whose open transactions have
	// committed an offset for it. Hard state.
	open map[string]map[int32]map[int64]struct{}

	// shownFrom is the number of the shard's records from which on requests that only
	// read see the group: see keepUnwritten.
	shownFrom int64

	classic
}

// classic is the state machine of the classic protocol. It is soft state: after a
// load it is what stored says.
//
// Invariants, checked by check in tests:
//
//	empty if and only if there are no members, except while preparing
//	every member's protocols share one name with all others'
//	leader is a member, or empty if there are none
//	joining counts the members with a parked join
type classic struct {
	state, previous state
	sinceMs         int64 // When state began; -1 unknown.
	generation      int32
	protocolType    string // Empty: none, a group that only stores offsets.
	protocol        *string
	leader          string
	members         []*member // In the order in which they joined.
	byID            map[string]*member
	statics         map[string]string   // Member ids by instance id.
	pendingJoin     map[string]struct{} // Ids given out, not joined yet.
	pendingSync     map[string]struct{} // Members of the generation that have not synced.
	joining         int
	supports        map[string]int // How many members know each protocol.
	// subscribed holds the topics that members subscribe to; nil: not known.
	subscribed map[string]struct{}
	initial    initialDelay
}

// initialDelay is the wait of an empty group's first rebalance for more members.
type initialDelay struct {
	delay, remaining time.Duration
	grew             bool // A member came since the last extension.
}

// member is one member of a classic group.
type member struct {
	id          string
	instance    *string // Not nil: a static member.
	clientID    string
	clientHost  string
	rebalanceMs int32
	sessionMs   int32
	protocols   []kmsg.JoinGroupRequestProtocol // In the order of preference.
	assignment  []byte
	join, sync  waiter
	isNew       bool // It waits for its first rebalance.
}

// waiter is a parked request; the zero waiter is nobody.
type waiter struct {
	ticket  coordinator.Ticket
	version int16
}

func (w waiter) waits() bool { return w.ticket != 0 }

func newGroup(id string, nowMs int64) *group {
	return &group{id: id, classic: classic{sinceMs: nowMs}}
}

func (g *classic) has(id string) bool { return g.byID[id] != nil }

func (g *classic) isPending(id string) bool {
	_, ok := g.pendingJoin[id]
	return ok
}

// to moves the state machine on.
func (g *classic) to(st state, nowMs int64) {
	valid := map[state][]state{
		empty:      {preparing},
		preparing:  {stable, completing, empty},
		completing: {preparing},
		stable:     {completing},
	}
	if !slices.Contains(valid[st], g.state) {
		panic(fmt.Sprintf("BUG: classic group moves from %v to %v", g.state, st))
	}
	g.previous, g.state, g.sinceMs = g.state, st, nowMs
}

// canRebalance says whether a change of members starts a rebalance; if not, one
// is under way.
func (g *classic) canRebalance() bool { return g.state != preparing }

// add makes m a member.
func (g *classic) add(m *member, protocolType string) {
	if g.byID == nil {
		g.byID = make(map[string]*member)
		g.statics = make(map[string]string)
		g.supports = make(map[string]int)
	}
	if g.has(m.id) {
		panic(fmt.Sprintf("BUG: member %q is added twice", m.id))
	}
	if m.instance != nil {
		g.statics[*m.instance] = m.id
	}
	if len(g.members) == 0 {
		g.protocolType = protocolType
	}
	if g.leader == "" {
		g.leader = m.id
	}
	g.members = append(g.members, m)
	g.byID[m.id] = m
	g.count(m, 1)
	if m.join.waits() {
		g.joining++
	}
	delete(g.pendingJoin, m.id)
}

// remove forgets a member or a pending one. Its parked requests must have been
// answered. A rebalance follows, which forgets whose sync was awaited.
func (g *classic) remove(id string) {
	if m := g.byID[id]; m != nil {
		if m.join.waits() || m.sync.waits() {
			panic(fmt.Sprintf("BUG: member %q is removed while it waits", id))
		}
		delete(g.byID, id)
		g.members = slices.DeleteFunc(g.members, func(x *member) bool { return x == m })
		g.count(m, -1)
		if m.instance != nil {
			delete(g.statics, *m.instance)
		}
	}
	if g.leader == id {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
	delete(g.pendingJoin, id)
}

// rename gives a static member another id. Its parked requests must have been
// answered.
func (g *classic) rename(m *member, id string) {
	delete(g.byID, m.id)
	if g.leader == m.id {
		g.leader = id
	}
	if _, ok := g.pendingSync[m.id]; ok {
		delete(g.pendingSync, m.id)
		g.pendingSync[id] = struct{}{}
	}
	g.statics[*m.instance] = id
	m.id = id
	g.byID[id] = m
}

// update takes over what a member says of itself when it joins again.
func (g *classic) update(m *member, protocols []kmsg.JoinGroupRequestProtocol, rebalanceMs, sessionMs int32) {
	g.count(m, -1)
	m.protocols, m.rebalanceMs, m.sessionMs = protocols, rebalanceMs, sessionMs
	g.count(m, 1)
}

// count adds n to the count of each protocol that m knows. A name given twice
// counts once.
func (g *classic) count(m *member, n int) {
	for i, p := range m.protocols {
		if slices.ContainsFunc(m.protocols[:i], func(q kmsg.JoinGroupRequestProtocol) bool { return q.Name == p.Name }) {
			continue
		}
		if g.supports[p.Name] += n; g.supports[p.Name] == 0 {
			delete(g.supports, p.Name)
		}
	}
}

// park parks a join; takes the place of one that m had parked before, which is
// returned.
func (g *classic) park(m *member, w waiter) (before waiter) {
	before, m.join = m.join, w
	if !before.waits() {
		g.joining++
	}
	return before
}

// unpark takes a parked join out, to be answered.
func (g *classic) unpark(m *member) waiter {
	w := m.join
	if w.waits() {
		m.join = waiter{}
		g.joining--
	}
	return w
}

func (g *classic) allJoined() bool {
	return len(g.members) == g.joining && len(g.pendingJoin) == 0
}

// compatible says whether someone with these protocols may be a member.
func (g *classic) compatible(protocolType string, protocols []kmsg.JoinGroupRequestProtocol) bool {
	if g.state == empty {
		return protocolType != "" && len(protocols) > 0
	}
	return g.protocolType != "" && g.protocolType == protocolType &&
		slices.ContainsFunc(protocols, func(p kmsg.JoinGroupRequestProtocol) bool {
			return g.supports[p.Name] == len(g.members)
		})
}

// elect is the protocol that most members like best of those that all know; of
// several the one that was voted for first.
func (g *classic) elect() string {
	votes := make(map[string]int)
	var names []string // In the order of first votes.
	for _, m := range g.members {
		for _, p := range m.protocols {
			if g.supports[p.Name] == len(g.members) {
				if votes[p.Name]++; votes[p.Name] == 1 {
					names = append(names, p.Name)
				}
				break
			}
		}
	}
	if len(names) == 0 {
		panic(fmt.Sprintf("BUG: %d members share no protocol: %v", len(g.members), g.supports))
	}
	best := names[0]
	for _, n := range names[1:] {
		if votes[n] > votes[best] {
			best = n
		}
	}
	return best
}

// electLeader makes sure that the leader is one who has joined, if any has; it
// says whether there is such a leader.
func (g *classic) electLeader() bool {
	if g.leader == "" {
		return false
	}
	if g.byID[g.leader].join.waits() {
		return true
	}
	for _, m := range g.members {
		if m.join.waits() {
			g.leader = m.id
			return true
		}
	}
	return false
}

// nextGeneration ends the joining: the members that there are now form the next
// generation.
func (g *classic) nextGeneration(nowMs int64) {
	g.generation++
	g.pendingSync = nil
	if len(g.members) == 0 {
		g.protocol = nil
		g.to(empty, nowMs)
	} else {
		name := g.elect()
		g.protocol = &name
		g.to(completing, nowMs)
	}
	g.subscribed = g.subscriptions()
}

// rebalanceTimeout is the longest that a member asked for.
func (g *classic) rebalanceTimeout() time.Duration {
	var ms int32
	for _, m := range g.members {
		ms = max(ms, m.rebalanceMs)
	}
	return millis(ms)
}

// metadata is what m said for the group's protocol.
func (g *classic) metadata(m *member) []byte {
	if g.protocol != nil {
		for _, p := range m.protocols {
			if p.Name == *g.protocol {
				return p.Metadata
			}
		}
	}
	panic(fmt.Sprintf("BUG: member %q does not know the group's protocol", m.id))
}

// satisfied says whether silence is no reason to expire m: who waits for a join
// or a sync cannot heartbeat. A new member expires all the same.
func (m *member) satisfied() bool {
	return !m.isNew && (m.join.waits() || m.sync.waits())
}

func sameProtocols(a, b []kmsg.JoinGroupRequestProtocol) bool {
	return slices.EqualFunc(a, b, func(p, q kmsg.JoinGroupRequestProtocol) bool {
		return p.Name == q.Name && bytes.Equal(p.Metadata, q.Metadata)
	})
}

// isSubscribed says whether a member may be reading the topic. When it is not known
// what members read, all topics count.
func (g *classic) isSubscribed(topic string) bool {
	if g.subscribed == nil {
		return g.usesConsumerProtocol()
	}
	_, ok := g.subscribed[topic]
	return ok
}

func (g *classic) usesConsumerProtocol() bool { return g.protocolType == consumerProtocol }

// consumerProtocol is the protocol type of Kafka's consumers; others (Connect's
// for one) have metadata of which the broker knows nothing.
const consumerProtocol = "consumer"

// subscriptions reads what topics the members of a consumer group subscribe to;
// nil if that cannot be known.
func (g *classic) subscriptions() map[string]struct{} {
	if !g.usesConsumerProtocol() {
		return nil
	}
	all := make(map[string]struct{})
	if len(g.members) == 0 {
		return all
	}
	if g.protocol == nil {
		return nil
	}
	for _, m := range g.members {
		topics, ok := subscribedTopics(g.metadata(m))
		if !ok {
			return nil
		}
		for _, topic := range topics {
			all[topic] = struct{}{}
		}
	}
	return all
}

// fromRecord makes the state machine what a GroupMetadata record says.
func fromRecord(v *kmsg.GroupMetadataValue) classic {
	g := classic{
		generation:   v.Generation,
		protocolType: v.ProtocolType,
		protocol:     v.Protocol,
		sinceMs:      v.CurrentStateTimestamp,
	}
	for i := range v.Members {
		vm := &v.Members[i]
		m := &member{
			id:          vm.MemberID,
			instance:    vm.InstanceID,
			clientID:    vm.ClientID,
			clientHost:  vm.ClientHost,
			rebalanceMs: vm.RebalanceTimeoutMillis,
			sessionMs:   vm.SessionTimeoutMillis,
			assignment:  vm.Assignment,
		}
		if m.rebalanceMs == -1 { // Version 0 has none.
			m.rebalanceMs = m.sessionMs
		}
		if g.protocol == nil {
			g.protocol = new(string)
		}
		if g.has(m.id) {
			continue // No coordinator writes that.
		}
		m.protocols = []kmsg.JoinGroupRequestProtocol{{Name: *g.protocol, Metadata: vm.Subscription}}
		g.add(m, v.ProtocolType)
	}
	if len(g.members) > 0 {
		g.state = stable
	}
	if v.Leader != nil && g.has(*v.Leader) {
		g.leader = *v.Leader
	}
	g.subscribed = g.subscriptions()
	return g
}

// sortedKeys returns a map's keys in order, so that what is made of them does not
// depend on chance.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
