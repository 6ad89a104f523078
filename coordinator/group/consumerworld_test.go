package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// client is a consumer as KIP-848 asks clients to behave: it reads what it was
// told to until it is told otherwise, or that it is out.
type client struct {
	id       string
	instance *string
	topics   []string
	regex    *string
	assignor *string
	epoch    int32
	owned    assign.Partitions
	fresh    bool // What it says of itself, and has, must be sent.
	classic  bool // It speaks the classic protocol; fresh: it has to join.
}

// consumerWorld is a group of clients that is driven at random.
type consumerWorld struct {
	t       *rapid.T
	machine *coordtest.Machine
	log     strings.Builder
	clients []*client
	made    int
	cluster image
	asked   []Resolve
	done    []func(*coordtest.Machine)
}

func newConsumerWorld(t *rapid.T) *consumerWorld {
	cfg := DefaultConfig()
	cfg.Consumer.MaxSize = 5
	w := &consumerWorld{t: t, cluster: image{version: 1, topics: map[string]Topic{}}}
	w.topic("a", 4)
	w.topic("b", 2)
	w.machine = coordtest.NewMachine(func() coordinator.Shard { return New(cfg) }, 1)
	w.machine.OnEvent = w.event
	return w
}

func (w *consumerWorld) event(e coordtest.Event) {
	switch {
	case e.Due != nil:
		fmt.Fprintln(&w.log, "due", e.Due)
	case e.Record != nil:
		fmt.Fprintln(&w.log, "record", e.Offset, showRecord(*e.Record))
	case e.Reply != nil:
		fmt.Fprintln(&w.log, "reply", e.Reply.To, showReply(*e.Reply))
	case e.Send != nil:
		fmt.Fprintln(&w.log, showSend(e.Send))
		w.asked = append(w.asked, e.Send.(Resolve))
	}
}

func (w *consumerWorld) topic(name string, count int32) {
	topics := maps.Clone(w.cluster.topics)
	if topics[name] = (Topic{ID: topicID(name), Name: name, Partitions: count}); count == 0 {
		delete(topics, name)
	}
	w.cluster = image{version: w.cluster.version + 1, topics: topics}
}

func (w *consumerWorld) do(f func(*coordtest.Machine)) {
	w.done = append(w.done, f)
	f(w.machine)
}

// ask sends a request; the answer is nil if it was lost on the way.
func (w *consumerWorld) ask(body kmsg.Request) (resp any) {
	cluster := w.cluster
	w.do(func(m *coordtest.Machine) {
		r, ok := m.Ask(Request{ClientID: "c", ClientHost: "/h", Cluster: cluster, Body: body})
		if resp = nil; ok {
			resp = r.Body
		}
	})
	return resp
}

// join makes a client, or has one that is away for a while come back.
func (w *consumerWorld) join(t *rapid.T) {
	w.made++
	c := &client{id: fmt.Sprintf("m%d", w.made), fresh: true}
	if s := pick(t, "instance", "", "", "", "i", "j"); s != "" {
		c.instance = &s
	}
	w.subscribe(t, c)
	c.assignor = pick(t, "assignor", nil, nil, new(assign.RangeName), new(assign.UniformName))
	w.clients = append(w.clients, c)
	w.beat(t, c)
}

func (w *consumerWorld) subscribe(t *rapid.T, c *client) {
	c.topics = pick(t, "topics", []string{"a"}, []string{"a", "b"}, []string{"b"}, []string{}, []string{"new", "a"})
	c.regex = pick(t, "regex", new(""), new(""), new("a|b"), new("n.*"))
	c.fresh = true
}

// joinClassic makes a client that speaks the classic protocol, if there are
// consumers to join.
func (w *consumerWorld) joinClassic(t *rapid.T) {
	if !w.hasConsumers() {
		return
	}
	w.made++
	c := &client{id: fmt.Sprintf("d%d", w.made), classic: true, fresh: true}
	c.topics = pick(t, "topics", []string{"a"}, []string{"b", "a"})
	w.clients = append(w.clients, c)
	w.beat(t, c)
}

func (w *consumerWorld) hasConsumers() bool {
	g := w.machine.Shard().(*Shard).groups["g"]
	return g != nil && g.consumers != nil && len(g.consumers.members) > 0
}

// beat is a heartbeat of a client, whose answer may be lost.
func (w *consumerWorld) beat(t *rapid.T, c *client) {
	lost := rapid.IntRange(0, 5).Draw(t, "lost") == 0
	w.heartbeat(c, lost)
}

// classicBeat is what a client of the classic protocol does in place of a heartbeat
// of the new one. When the group has become a classic one, it vanishes: the classic
// protocol has a world of its own.
func (w *consumerWorld) classicBeat(c *client, lost bool) {
	if !w.hasConsumers() {
		w.clients = slices.DeleteFunc(w.clients, func(x *client) bool { return x == c })
		return
	}
	if !c.fresh {
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.Generation = 4, "g", c.id, c.epoch
		if resp, ok := w.ask(req).(*kmsg.HeartbeatResponse); ok && !lost {
			w.heard(c, resp.ErrorCode)
		}
		return
	}
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.MemberID, join.ProtocolType = 9, "g", c.id, consumerProtocol
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 30000, 20000
	said := kmsg.NewConsumerMemberMetadata()
	said.Version, said.Topics = 1, c.topics
	for _, topic := range c.owned.Topics() {
		said.OwnedPartitions = append(said.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: topicName(topic), Partitions: c.owned[topic]})
	}
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: said.AppendTo(nil)}}
	joined, ok := w.ask(join).(*kmsg.JoinGroupResponse)
	if lost || !ok || !w.heard(c, joined.ErrorCode) {
		return
	}
	c.epoch = joined.Generation
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group, sync.MemberID, sync.Generation = 5, "g", c.id, c.epoch
	sync.ProtocolType, sync.Protocol = joined.ProtocolType, joined.Protocol
	synced, ok := w.ask(sync).(*kmsg.SyncGroupResponse)
	if !ok || !w.heard(c, synced.ErrorCode) {
		return
	}
	var a kmsg.ConsumerMemberAssignment
	must(a.ReadFrom(synced.MemberAssignment))
	c.owned, c.fresh = make(assign.Partitions), false
	for _, t := range a.Topics {
		c.owned[topicID(t.Topic)] = t.Partitions
	}
}

// heard says whether a classic client may go on; if not, it has to join, and has
// lost what it had unless it is only told to.
func (w *consumerWorld) heard(c *client, code int16) bool {
	if code == 0 {
		return true
	}
	c.fresh = true
	if code != kerr.RebalanceInProgress.Code {
		c.owned = nil
	}
	return false
}

func (w *consumerWorld) heartbeat(c *client, lost bool) {
	if c.classic {
		w.classicBeat(c, lost)
		return
	}
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.MemberEpoch = 1, "g", c.id, c.instance, c.epoch
	req.RebalanceTimeoutMillis = -1
	if c.epoch == 0 {
		c.owned, c.fresh = nil, true
	}
	if c.fresh {
		req.RebalanceTimeoutMillis = 20000
		req.SubscribedTopicNames, req.SubscribedTopicRegex, req.ServerAssignor = c.topics, c.regex, c.assignor
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for _, topic := range c.owned.Topics() {
			req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: topic, Partitions: slices.Clone(c.owned[topic])})
		}
	}
	answer := w.ask(req)
	resp, ok := answer.(*kmsg.ConsumerGroupHeartbeatResponse)
	switch {
	case lost || !ok:
		c.fresh = true // A client says all of it again then.
	case resp.ErrorCode == 0:
		c.epoch, c.fresh = resp.MemberEpoch, false
		if resp.Assignment != nil {
			before := c.owned
			c.owned = make(assign.Partitions)
			for _, topic := range resp.Assignment.Topics {
				c.owned[topic.TopicID] = slices.Clone(topic.Partitions)
			}
			c.fresh = !before.Equal(c.owned) // It tells that it has given up, or taken.
		}
	default: // It is out: it drops everything and may join again.
		c.epoch, c.owned, c.fresh = 0, nil, true
	}
}

func (w *consumerWorld) some(t *rapid.T) *client {
	if len(w.clients) == 0 {
		return nil
	}
	return w.clients[rapid.IntRange(0, len(w.clients)-1).Draw(t, "client")]
}

func (w *consumerWorld) leave(t *rapid.T) {
	c := w.some(t)
	if c == nil || c.epoch <= 0 {
		return
	}
	if c.classic {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version, req.Group, req.Members = 5, "g", []kmsg.LeaveGroupRequestMember{{MemberID: c.id}}
		w.ask(req)
		w.clients = slices.DeleteFunc(w.clients, func(x *client) bool { return x == c })
		return
	}
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.RebalanceTimeoutMillis = 1, "g", c.id, c.instance, -1
	req.MemberEpoch = epochLeaves
	if c.instance != nil && rapid.Bool().Draw(t, "for a while") {
		req.MemberEpoch = epochLeavesFor
	}
	w.ask(req)
	w.clients = slices.DeleteFunc(w.clients, func(x *client) bool { return x == c })
}

// stray is a heartbeat of somebody who is no member, or no longer knows that it is
// one.
func (w *consumerWorld) stray(t *rapid.T) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.RebalanceTimeoutMillis = 1, "g", pick(t, "rebalance", int32(-1), 5000)
	req.MemberID = pick(t, "member", "m1", "m2", "m3", "zz", "")
	req.MemberEpoch = rapid.Int32Range(-3, 6).Draw(t, "epoch")
	req.InstanceID = pick(t, "instance", nil, nil, new("i"), new("j"), new(""))
	req.SubscribedTopicRegex = pick(t, "regex", nil, nil, new("("), new("b"))
	if rapid.Bool().Draw(t, "owned") && req.MemberEpoch > 0 {
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{
			{TopicID: topicID("a"), Partitions: []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
			{TopicID: topicID("b"), Partitions: []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
			{TopicID: topicID("new"), Partitions: []int32{0}},
		}
	}
	if slices.ContainsFunc(w.clients, func(c *client) bool { return c.id == req.MemberID }) {
		return // It would hear what is meant for another, who would wait for ever.
	}
	w.ask(req)
}

func (w *consumerWorld) change(t *rapid.T) {
	switch name := pick(t, "topic", "a", "b", "new"); name {
	case "new": // It comes and goes.
		if _, ok := w.cluster.topics[name]; ok {
			w.topic(name, 0)
		} else {
			w.topic(name, 1)
		}
	default:
		if n := w.cluster.topics[name].Partitions; n < 8 {
			w.topic(name, n+1)
		}
	}
}

func (w *consumerWorld) resolve(*rapid.T) {
	if len(w.asked) == 0 {
		return
	}
	r := w.asked[0]
	w.asked = w.asked[1:]
	answer := r.Match()
	w.do(func(m *coordtest.Machine) { m.Do(answer) })
}

func (w *consumerWorld) actions() map[string]func(*rapid.T) {
	beat := func(t *rapid.T) {
		if c := w.some(t); c != nil {
			w.beat(t, c)
		}
	}
	return map[string]func(*rapid.T){
		"join": w.join, "join classic": w.joinClassic, "beat": beat, "beat again": beat, "and again": beat, "leave": w.leave, "stray": w.stray,
		"resolve": w.resolve, "change": seldom(w.change),
		"subscribe": seldom(func(t *rapid.T) {
			if c := w.some(t); c != nil && !c.classic {
				w.subscribe(t, c)
				w.beat(t, c)
			}
		}),
		"vanish": seldom(func(t *rapid.T) {
			c := w.some(t)
			w.clients = slices.DeleteFunc(w.clients, func(x *client) bool { return x == c })
		}),
		"tick": func(t *rapid.T) {
			d := pick(t, "time", time.Second, 5*time.Second, 21*time.Second)
			w.do(func(m *coordtest.Machine) { m.Tick(d) })
		},
		"failover": seldom(func(*rapid.T) { w.do((*coordtest.Machine).Failover) }),
		"refuse": func(t *rapid.T) {
			hard := w.machine.Shard().(*Shard).hard()
			end := w.machine.Log.End()
			w.do(refuseNext)
			beat(t)
			w.do(refuseNone)
			if w.machine.Log.End() == end && w.machine.Shard().(*Shard).hard() != hard {
				t.Fatal("nothing was written, and the hard state changed")
			}
		},
		"": w.check,
	}
}

// check holds the coordinator and the clients to the one thing that matters: who
// is a member has no partition that the coordinator does not count as its own, and
// that is nobody else's.
func (w *consumerWorld) check(t *rapid.T) {
	shard := w.machine.Shard().(*Shard)
	if err := shard.check(); err != nil {
		t.Fatalf("%v\n%s", err, w.log.String())
	}
	if live, replayed := shard.hard(), w.machine.Replayed().(*Shard).hard(); live != replayed {
		t.Fatalf("live\n%s\nreplayed\n%s", live, replayed)
	}
	g := shard.groups["g"]
	if g == nil || g.consumers == nil {
		return
	}
	for _, c := range w.clients {
		m := g.consumers.members[c.id]
		if m == nil {
			continue // It is out, and has the session time to find out.
		}
		if c.classic && c.fresh {
			continue // It may have been out, and joins under its old id as if it were new.
		}
		for topic, list := range c.owned {
			for _, n := range list {
				if !m.assigned.Has(topic, n) && !m.revoking.Has(topic, n) {
					t.Fatalf("%s reads %s/%d, which is not its own: %s\n%s", c.id, topicName(topic), n, showConsumers(g), w.log.String())
				}
			}
		}
	}
}

// converge lets everybody heartbeat until nothing changes any more.
func (w *consumerWorld) converge(t *rapid.T) {
	for range 30 {
		for _, c := range slices.Clone(w.clients) {
			w.heartbeat(c, false)
			w.check(t)
		}
		for len(w.asked) > 0 {
			w.resolve(t)
		}
		w.do(func(m *coordtest.Machine) { m.Tick(5 * time.Second) })
	}
	g := w.machine.Shard().(*Shard).groups["g"]
	if g == nil || g.consumers == nil || len(w.clients) == 0 {
		return
	}
	if state := g.consumers.state(); state != "Stable" && len(g.consumers.members) > 0 {
		t.Fatalf("everybody was heard of, and the group is %s: %s\n%s", state, showConsumers(g), w.log.String())
	}
	for _, c := range w.clients {
		if m := g.consumers.members[c.id]; m != nil && !(c.owned.Equal(m.assigned) && m.assigned.Equal(g.consumers.target[c.id])) {
			t.Fatalf("%s has %v\n%s", c.id, c.owned, showConsumers(g))
		}
	}
}

// TestConsumerWorld: whatever consumers do, no partition is two members', a member
// never reads what is not its own, the hard state is what the log says, a refused
// append changes nothing, quiet members get their targets, and doing the same again
// does the same.
func TestConsumerWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newConsumerWorld(t)
		t.Repeat(w.actions())
		w.converge(t)
		again := newConsumerWorld(t)
		for _, f := range w.done {
			f(again.machine)
		}
		if diff := cmp.Diff(w.log.String(), again.log.String()); diff != "" {
			t.Fatalf("the second run did something else:\n%s", diff)
		}
	})
}
