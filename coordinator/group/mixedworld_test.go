package group

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/coordinator/coordtest"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// mixedWorld is a world whose clients speak both protocols, to the same groups, and
// whose topics come and go.
type mixedWorld struct {
	*world
	image  image
	made   int // Topics that were made.
	groups map[string]seenGroup
}

// seenGroup is a group as the last check saw it.
type seenGroup struct {
	epoch, assignmentEpoch int32
	members, consumers     bool
}

func newMixedWorld(t *rapid.T) *mixedWorld {
	w := &mixedWorld{world: newWorld(t), groups: make(map[string]seenGroup)}
	w.image.topics = make(map[string]Topic)
	w.makeTopic("t", 3)
	w.makeTopic("u", 1)
	return w
}

// makeTopic makes a topic, with another id than one before of that name.
func (w *mixedWorld) makeTopic(name string, count int32) {
	w.made++
	w.setTopic(Topic{ID: topicID(fmt.Sprintf("%s%d", name, w.made)), Name: name, Partitions: count})
}

func (w *mixedWorld) setTopic(topic Topic) {
	topics := maps.Clone(w.image.topics)
	if topics[topic.Name] = topic; topic.Partitions == 0 {
		delete(topics, topic.Name)
	}
	w.see(image{topics: topics, configs: w.image.configs})
}

func (w *mixedWorld) see(im image) {
	im.version = w.image.version + 1
	w.image, w.cluster = im, im
}

// change changes the cluster: a topic grows, goes or is made, or a group's settings
// change. Who deletes a topic may be late to tell the shard.
func (w *mixedWorld) change(t *rapid.T) {
	name := pick(t, "topic", "t", "u", "v")
	topic, ok := w.image.topics[name]
	switch {
	case rapid.IntRange(0, 5).Draw(t, "settings") == 0:
		w.see(image{topics: w.image.topics, configs: map[string]string{settingSession: pick(t, "session", "20000", "60000")}})
	case !ok:
		w.makeTopic(name, rapid.Int32Range(1, 3).Draw(t, "partitions"))
	case rapid.Bool().Draw(t, "delete"):
		w.setTopic(Topic{Name: name})
		if rapid.Bool().Draw(t, "told") {
			in := TopicsDeleted{Names: []string{name}, IDs: [][16]byte{topic.ID}}
			w.forgetting(func() { w.do(func(m *coordtest.Machine) { w.last = m.Do(in) }) })
		}
	case topic.Partitions < 6:
		topic.Partitions++
		w.setTopic(topic)
	}
}

// consumerBeat is a heartbeat of anybody.
func (w *mixedWorld) consumerBeat(t *rapid.T) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group = rapid.Int16Range(0, 1).Draw(t, "version"), w.group(t)
	req.MemberID, req.InstanceID = w.member(t), instance(t)
	req.MemberEpoch = pick(t, "epoch", int32(epochJoins), epochJoins, epochJoins, epochLeaves, epochLeavesFor, 1)
	if req.MemberEpoch == 1 {
		req.MemberEpoch = w.memberEpoch(t, req.Group, req.MemberID)
	}
	if req.MemberEpoch == epochJoins && req.MemberID == "" && req.Version == 1 {
		req.MemberID = pick(t, "own id", "x", "y", "z")
	}
	req.SubscribedTopicNames = pick(t, "topics", []string{"t"}, []string{"u", "t"}, []string{"v", "t", "v"}, []string{}, nil)
	req.SubscribedTopicRegex = pick(t, "regex", nil, nil, new(""), new("t|u"), new("[uv]"), new("("))
	req.ServerAssignor = pick(t, "assignor", nil, nil, new(assign.RangeName), new(assign.UniformName), new("mine"))
	req.RackID = pick(t, "rack", nil, new("r"))
	req.RebalanceTimeoutMillis = pick(t, "rebalance", int32(20000), 5000, -1)
	if req.MemberEpoch == epochJoins {
		req.RebalanceTimeoutMillis, req.Topics = 20000, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	} else if rapid.Bool().Draw(t, "owned") {
		req.Topics = w.holds(req.Group, req.MemberID)
	}
	w.askVisible(t, req)
}

// askVisible is ask, of a principal who may not know of all topics.
func (w *mixedWorld) askVisible(t *rapid.T, body kmsg.Request) {
	var visible func(string) bool
	if rapid.IntRange(0, 3).Draw(t, "hidden") == 0 {
		visible = func(topic string) bool { return topic != "u" }
	}
	cluster := w.cluster
	w.do(func(m *coordtest.Machine) {
		w.last = m.Do(Request{ClientID: "c", ClientHost: "/10.0.0.1", Cluster: cluster, Visible: visible, Body: another(body)})
	})
}

// holds is what the coordinator has a member read.
func (w *mixedWorld) holds(group, member string) []kmsg.ConsumerGroupHeartbeatRequestTopic {
	list := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if g := w.machine.Shard().(*Shard).groups[group]; g != nil && g.consumers != nil {
		if m := g.consumers.members[member]; m != nil {
			for _, id := range m.assigned.Topics() {
				list = append(list, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: id, Partitions: slices.Clone(m.assigned[id])})
			}
		}
	}
	return list
}

// follow has the members of a group take their next step, as real ones do.
func (w *mixedWorld) follow(t *rapid.T) {
	id := w.group(t)
	g := w.machine.Shard().(*Shard).groups[id]
	if g == nil || g.consumers == nil {
		w.settle(t)
		return
	}
	for _, member := range sortedKeys(g.consumers.members) {
		if g.consumers == nil { // It became a classic group meanwhile.
			return
		}
		switch m := g.consumers.members[member]; {
		case m == nil, m.epoch == epochLeavesFor:
		case m.classic != nil:
			w.followClassic(id, m)
		default:
			req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
			req.Version, req.Group, req.MemberID, req.InstanceID, req.MemberEpoch = 1, id, member, m.instance, m.epoch
			req.RebalanceTimeoutMillis, req.Topics = -1, w.holds(id, member)
			w.ask(req)
		}
	}
}

// followClassic joins and syncs as a member of the classic protocol does that was
// told to.
func (w *mixedWorld) followClassic(id string, m *consumer) {
	said := kmsg.NewConsumerMemberMetadata()
	said.Version, said.Topics = 1, m.topics
	for _, topic := range m.assigned.Topics() {
		if t, ok := w.image.TopicByID(topic); ok {
			said.OwnedPartitions = append(said.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: t.Name, Partitions: m.assigned[topic]})
		}
	}
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.MemberID, join.InstanceID = 9, id, m.id, m.instance
	join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = consumerProtocol, m.classic.sessionMs, m.rebalanceMs
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: m.classic.protocols[0].Name, Metadata: said.AppendTo(nil)}}
	joined, ok := w.answered(join).(*kmsg.JoinGroupResponse)
	if !ok || joined.ErrorCode != 0 {
		return
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group, sync.MemberID, sync.InstanceID, sync.Generation = 5, id, m.id, m.instance, joined.Generation
	sync.ProtocolType, sync.Protocol = joined.ProtocolType, joined.Protocol
	w.ask(sync)
}

// resolve answers what patterns match, in any order, now and then of a group that
// did not ask.
func (w *mixedWorld) resolve(t *rapid.T) {
	in := Resolved{Group: w.group(t), Version: w.image.version, Topics: map[string][]string{"t|u": {"t"}}}
	if n := len(w.asked); n > 0 {
		i := rapid.IntRange(0, n-1).Draw(t, "which")
		in = w.asked[i].Match()
		w.asked = slices.Delete(w.asked, i, i+1)
	}
	w.do(func(m *coordtest.Machine) { w.last = m.Do(in) })
}

func (w *mixedWorld) actions() map[string]func(*rapid.T) {
	actions := w.world.actions()
	for name, f := range map[string]func(*rapid.T){
		"consumer": w.consumerBeat, "consumer again": w.consumerBeat, "follow": w.follow, "follow again": w.follow,
		"resolve": w.resolve, "change": seldom(w.change),
		"settle again": w.follow,
		"refuse":       func(t *rapid.T) { w.refuse(t, w.consumerBeat, w.consumerBeat, w.resolve) },
		"":             w.check,
	} {
		actions[name] = f
	}
	return actions
}

func (w *mixedWorld) check(t *rapid.T) {
	w.world.check(t)
	groups := make(map[string]seenGroup)
	for id, g := range w.machine.Shard().(*Shard).groups {
		was, is := w.groups[id], g.seen()
		groups[id] = is
		if was.members && is.members && is.epoch < was.epoch {
			t.Fatalf("the epoch of group %q fell from %d to %d\n%s", id, was.epoch, is.epoch, w.log.String())
		}
		if was.consumers && is.consumers && is.assignmentEpoch == is.epoch && is.assignmentEpoch != was.assignmentEpoch {
			if err := w.checkTarget(g.consumers); err != nil {
				t.Fatalf("group %q: %v: %s\n%s", id, err, showConsumers(g), w.log.String())
			}
		}
	}
	w.groups = groups
}

// seen is what the log says of a group.
func (g *group) seen() seenGroup {
	switch {
	case g.consumers != nil:
		c := g.consumers
		return seenGroup{c.epoch, c.assignmentEpoch, len(c.members) > 0, true}
	case g.stored != nil:
		return seenGroup{epoch: g.stored.Generation, members: len(g.stored.Members) > 0 && len(g.members) > 0}
	}
	return seenGroup{}
}

// checkTarget: a new target gives every partition that somebody subscribes to, and
// no other, to one who does.
func (w *mixedWorld) checkTarget(c *consumers) error {
	cluster := w.machine.Shard().(*Shard).cluster
	given := make(assign.Partitions)
	for _, id := range sortedKeys(c.target) {
		names := c.names(c.members[id])
		for topic, list := range c.target[id] {
			t, ok := cluster.TopicByID(topic)
			if !ok || !slices.Contains(names, t.Name) {
				return fmt.Errorf("%q is meant to read %q, and subscribes to %q", id, t.Name, names)
			}
			for _, n := range list {
				if n >= t.Partitions {
					return fmt.Errorf("%q is meant to read %s/%d of %d", id, t.Name, n, t.Partitions)
				}
				given.Add(topic, n)
			}
		}
	}
	for _, name := range c.allNames() {
		t, _ := cluster.Topic(name)
		for n := range t.Partitions {
			if !given.Has(t.ID, n) {
				return fmt.Errorf("nobody is meant to read %s/%d", name, n)
			}
		}
	}
	return nil
}

// TestMixedWorld is TestWorld for groups whose members speak one protocol, the
// other, or both, and move between them. Also, the epoch of a group with members
// never falls, and a new target gives each partition to one who subscribes to it.
func TestMixedWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newMixedWorld(t)
		t.Repeat(w.actions())
		w.end(t, newWorld(t))
	})
}
