package group

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// image is a cluster of a test. A topic's id is its name, padded.
type image struct {
	version int64
	topics  map[string]Topic
	configs map[string]string // Of every group.
}

func topicID(name string) (id assign.TopicID) {
	copy(id[:], name)
	return id
}

func topicName(id assign.TopicID) string { return strings.TrimRight(string(id[:]), "\x00") }

func (im image) Version() int64 { return im.version }

func (im image) Topic(name string) (Topic, bool) {
	t, ok := im.topics[name]
	return t, ok
}

func (im image) TopicByID(id assign.TopicID) (Topic, bool) {
	for _, t := range im.topics {
		if t.ID == id {
			return t, true
		}
	}
	return Topic{}, false
}

func (im image) GroupConfig(string) map[string]string { return im.configs }

func (im image) TopicNames() iter.Seq[string] { return maps.Keys(im.topics) }

// image parses "7 a=3 b=2@r1": version 7, b's replicas in rack r1.
func (p *parser) image(args []string) image {
	im := image{version: int64(p.parseInt(args[0])), topics: make(map[string]Topic), configs: make(map[string]string)}
	for _, name := range []string{settingSession, settingInterval} {
		if v, ok := p.set[name]; ok {
			im.configs[name] = v
		}
	}
	for _, a := range args[1:] {
		name, count, _ := strings.Cut(a, "=")
		count, rack, racked := strings.Cut(count, "@")
		t := Topic{ID: topicID(name), Name: name, Partitions: int32(p.parseInt(count))}
		if racked {
			t.Racks = func(int32) []string { return []string{rack} }
		}
		im.topics[name] = t
	}
	return im
}

// visible is what "hides:=a,b" leaves to be seen.
func (p *parser) visible() func(string) bool {
	hidden := p.list("hides")
	if hidden == nil {
		return nil
	}
	return func(topic string) bool { return !slices.Contains(hidden, topic) }
}

// consumerBeat parses "hb g member:=m epoch:=1 topics:=a+b owned:=a/0+1,b/0". Who
// joins has nothing, and who stays says nothing of what it has, unless it is set.
func (p *parser) consumerBeat(group string) kmsg.Request {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID = int16(p.num("v", 1)), group, p.member()
	req.MemberEpoch, req.RebalanceTimeoutMillis = int32(p.num("epoch", 0)), -1
	req.InstanceID, req.RackID, req.ServerAssignor = p.optional("instance"), p.optional("rack"), p.optional("assignor")
	req.SubscribedTopicRegex = p.optional("regex")
	if topics, ok := p.set["topics"]; ok {
		req.SubscribedTopicNames = []string{}
		if topics != "" {
			req.SubscribedTopicNames = strings.Split(topics, "+")
		}
	}
	if req.MemberEpoch == epochJoins {
		req.RebalanceTimeoutMillis = 60000
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	if _, ok := p.set["rebalance"]; ok {
		req.RebalanceTimeoutMillis = int32(p.duration("rebalance", 0).Milliseconds())
	}
	if owned, ok := p.set["owned"]; ok {
		req.Topics = p.ownedTopics(owned)
	}
	return req
}

func (p *parser) ownedTopics(owned string) []kmsg.ConsumerGroupHeartbeatRequestTopic {
	list := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if owned == "null" {
		return nil
	}
	for _, a := range strings.FieldsFunc(owned, func(r rune) bool { return r == ',' }) {
		name, parts, _ := strings.Cut(a, "/")
		t := kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: topicID(name)}
		for _, n := range strings.Split(parts, "+") {
			t.Partitions = append(t.Partitions, int32(p.parseInt(n)))
		}
		list = append(list, t)
	}
	return list
}

func showBeat(b *kmsg.ConsumerGroupHeartbeatResponse) string {
	if b.ErrorCode != 0 {
		return errorName(b.ErrorCode) + ": " + or(b.ErrorMessage)
	}
	s := fmt.Sprintf("member=%s epoch=%d", or(b.MemberID), b.MemberEpoch)
	if b.HeartbeatIntervalMillis != 5000 {
		s += fmt.Sprintf(" interval=%d", b.HeartbeatIntervalMillis)
	}
	if b.Assignment != nil {
		p := make(assign.Partitions)
		for _, t := range b.Assignment.Topics {
			p[t.TopicID] = t.Partitions
		}
		s += " has " + showPartitions(p)
	}
	return s
}

func showConsumerGroups(b *kmsg.ConsumerGroupDescribeResponse) string {
	var s strings.Builder
	show := func(a kmsg.Assignment) string {
		p := make(assign.Partitions)
		for _, t := range a.TopicPartitions {
			p[t.TopicID] = t.Partitions
		}
		return showPartitions(p)
	}
	for _, g := range b.Groups {
		if g.ErrorCode != 0 {
			fmt.Fprintf(&s, "| %s %s: %s", g.Group, errorName(g.ErrorCode), or(g.ErrorMessage))
			continue
		}
		fmt.Fprintf(&s, "| %s %s epoch=%d assigned=%d %s", g.Group, g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName)
		for _, m := range g.Members {
			fmt.Fprintf(&s, " %s@%s:%d:%s%s:%s~%s has %s wants %s type=%d", m.MemberID, or(m.InstanceID), m.MemberEpoch, m.ClientID, m.ClientHost,
				strings.Join(m.SubscribedTopics, "+"), or(m.SubscribedTopicRegex), show(m.Assignment), show(m.TargetAssignment), m.MemberType)
		}
	}
	return s.String()
}

func showPartitions(p assign.Partitions) string {
	if len(p) == 0 {
		return "-"
	}
	var parts []string
	for _, id := range p.Topics() {
		s := topicName(id) + "/"
		for i, n := range p[id] {
			if i > 0 {
				s += "+"
			}
			s += fmt.Sprint(n)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ",")
}

var stateNames = map[memberState]string{settled: "settled", unrevoked: "unrevoked", unreleased: "unreleased", unknown: "unknown"}

func showConsumerRecord(typ int16, r coordinator.Record) string {
	key := reader{kbin.Reader{Src: r.Key[2:]}}
	name := fmt.Sprintf("%s/%s", map[int16]string{
		keyEpoch: "epoch", keyOldMetadata: "metadata", keyMember: "member", keyTargetEpoch: "target",
		keyTarget: "target", keyCurrent: "current", keyRegex: "regex",
	}[typ], key.String())
	about := ""
	if len(key.Src) > 0 {
		about = key.String()
		name += "/" + about
	}
	if r.Value == nil {
		return name + " gone"
	}
	c := newConsumers()
	v := &reader{kbin.Reader{Src: r.Value[2:]}}
	c.replay(typ, about, v)
	must(v.Complete())
	return name + " " + map[int16]func() string{
		keyEpoch:       func() string { return fmt.Sprintf("%d hash=%x", c.epoch, uint64(c.hash)) },
		keyOldMetadata: func() string { return "old" },
		keyMember:      func() string { return c.members[about].showSaid() },
		keyTargetEpoch: func() string { return fmt.Sprint(c.assignmentEpoch) },
		keyTarget:      func() string { return showPartitions(c.target[about]) },
		keyCurrent:     func() string { return c.members[about].showHas() },
		keyRegex:       func() string { return c.regexes[about].String() },
	}[typ]()
}

func (m *consumer) showSaid() string {
	s := fmt.Sprintf("%s~%s", strings.Join(m.topics, "+"), m.regex)
	for name, v := range map[string]*string{"instance": m.instance} {
		if v != nil {
			s += " " + name + "=" + *v
		}
	}
	if m.rack != nil {
		s += " rack=" + *m.rack
	}
	if m.assignor != nil {
		s += " assignor=" + *m.assignor
	}
	if m.rebalanceMs != 60000 {
		s += fmt.Sprintf(" rebalance=%d", m.rebalanceMs)
	}
	if m.classic != nil {
		s += fmt.Sprintf(" classic session=%d", m.classic.sessionMs)
		for _, p := range m.classic.protocols {
			s += " " + p.Name
		}
	}
	return s
}

func (m *consumer) showHas() string {
	s := fmt.Sprintf("epoch=%d was=%d %s has %s", m.epoch, m.previousEpoch, stateNames[m.state], showPartitions(m.assigned))
	if len(m.revoking) > 0 {
		s += " gives " + showPartitions(m.revoking)
	}
	return s
}

func (r resolved) String() string {
	return fmt.Sprintf("%s version=%d at=%s", strings.Join(r.topics, "+"), r.version, sinceStart(r.atMs))
}

func showSend(message any) string {
	r := message.(Resolve)
	return fmt.Sprintf("resolve %s %s version=%d", r.Group, strings.Join(r.Regexes, " "), r.Cluster.Version())
}

// showConsumers prints the hard state of a consumer group.
func showConsumers(g *group) string {
	var out strings.Builder
	c := g.consumers
	fmt.Fprintf(&out, "epoch/%s %d hash=%x\ntarget/%s %d\n", g.id, c.epoch, uint64(c.hash), g.id, c.assignmentEpoch)
	for _, id := range sortedKeys(c.members) {
		fmt.Fprintf(&out, "member/%s/%s %s, %s\n", g.id, id, c.members[id].showSaid(), c.members[id].showHas())
	}
	for _, id := range sortedKeys(c.target) {
		fmt.Fprintf(&out, "target/%s/%s %s\n", g.id, id, showPartitions(c.target[id]))
	}
	for _, regex := range sortedKeys(c.regexes) {
		fmt.Fprintf(&out, "regex/%s/%s %s\n", g.id, regex, c.regexes[regex])
	}
	return out.String()
}

// checkConsumers says what of a consumer group's invariants does not hold.
func (g *group) checkConsumers() error {
	c := g.consumers
	if c == nil {
		return nil
	}
	owners := make(map[assign.TopicID]map[int32]string)
	for id, m := range c.members {
		if m.id != id {
			return fmt.Errorf("member %q is kept as %q", m.id, id)
		}
		if m.instance != nil && c.statics[*m.instance] != id {
			return fmt.Errorf("instance %q is %q, want %q", *m.instance, c.statics[*m.instance], id)
		}
		if m.epoch > c.assignmentEpoch {
			return fmt.Errorf("member %q is at epoch %d, the target at %d", id, m.epoch, c.assignmentEpoch)
		}
		if m.state == unrevoked != (len(m.revoking) > 0) && m.epoch != epochLeavesFor {
			return fmt.Errorf("member %q is %s and gives up %v", id, stateNames[m.state], m.revoking)
		}
		for _, set := range []assign.Partitions{m.assigned, m.revoking} {
			for topic, list := range set {
				for _, n := range list {
					if owners[topic] == nil {
						owners[topic] = make(map[int32]string)
					}
					if other, ok := owners[topic][n]; ok {
						return fmt.Errorf("%s/%d is %q's and %q's", topicName(topic), n, id, other)
					}
					owners[topic][n] = id
				}
			}
		}
	}
	patterns, votes := make(map[string]int), make(map[string]int)
	for _, m := range c.members {
		if m.regex != "" {
			patterns[m.regex]++
		}
		if m.assignor != nil {
			votes[*m.assignor]++
		}
	}
	if !maps.Equal(patterns, c.patterns) || !maps.Equal(votes, c.votes) {
		return fmt.Errorf("patterns %v, counted %v; assignors %v, counted %v", patterns, c.patterns, votes, c.votes)
	}
	if c.assignmentEpoch > c.epoch {
		return fmt.Errorf("the target is at epoch %d, the group at %d", c.assignmentEpoch, c.epoch)
	}
	if !maps.EqualFunc(owners, c.owners, maps.Equal[map[int32]string, map[int32]string]) {
		return fmt.Errorf("owners are %v, kept %v", owners, c.owners)
	}
	targets := make(assign.Partitions)
	for id, p := range c.target {
		if c.members[id] == nil {
			return fmt.Errorf("%q has a target and is no member", id)
		}
		if p.Overlaps(targets) {
			return fmt.Errorf("a partition is meant for %q and another", id)
		}
		for topic, list := range p {
			for _, n := range list {
				targets.Add(topic, n)
			}
		}
	}
	for regex := range c.regexes {
		if c.patterns[regex] == 0 {
			return fmt.Errorf("nobody subscribes to %q", regex)
		}
	}
	if g.stored != nil || len(g.members)+len(g.pendingJoin) > 0 {
		return errors.New("it is a classic group as well")
	}
	return nil
}

var _ Cluster = image{}
