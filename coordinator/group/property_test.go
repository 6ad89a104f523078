package group

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// world is a machine that is driven at random, and what its clients know.
type world struct {
	t       *rapid.T
	machine *coordtest.Machine
	log     strings.Builder    // What happened, for comparing two runs.
	since   coordinator.Ticket // Tickets up to here were lost in a failover.
	last    coordinator.Ticket // The newest.
	ids     []string           // Member ids that were ever told.
	txns    map[int64]bool     // Open transactions by producer.
	// done is what was done to the machine, to be done again to another.
	done []func(*coordtest.Machine)
}

func newWorld(t *rapid.T) *world {
	cfg := DefaultConfig()
	cfg.MaxSize = 3
	cfg.OffsetMetadataMaxBytes = 5
	cfg.OffsetsRetention = time.Hour
	w := &world{t: t, ids: []string{"", "stranger"}, txns: make(map[int64]bool)}
	w.machine = coordtest.NewMachine(func() coordinator.Shard { return New(cfg) }, 1)
	w.machine.OnEvent = w.event
	return w
}

func (w *world) event(e coordtest.Event) {
	switch {
	case e.Due != nil:
		fmt.Fprintln(&w.log, "due", e.Due)
	case e.Record != nil:
		fmt.Fprintln(&w.log, "record", e.Offset, showRecord(*e.Record))
	case e.Reply != nil:
		fmt.Fprintln(&w.log, "reply", e.Reply.To, showReply(*e.Reply))
		if j, ok := e.Reply.Body.(*kmsg.JoinGroupResponse); ok && j.MemberID != "" {
			w.ids = append(w.ids, j.MemberID)
		}
	}
}

func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

func (w *world) group(t *rapid.T) string { return pick(t, "group", "g", "h") }

// member is an id that some client may use, most often a fresh one.
func (w *world) member(t *rapid.T) string {
	if n := len(w.ids); n > 2 && rapid.IntRange(0, 3).Draw(t, "fresh") > 0 {
		return w.ids[rapid.IntRange(max(0, n-4), n-1).Draw(t, "recent")]
	}
	return pick(t, "member", w.ids...)
}

// generation is most often the one that the group has.
func (w *world) generation(t *rapid.T, id string) int32 {
	var gen int32
	if g := w.machine.Shard().(*Shard).groups[id]; g != nil {
		gen = g.generation
	}
	return gen + pick(t, "off", int32(0), 0, 0, 0, 1, -1)
}

func instance(t *rapid.T) *string {
	if s := pick(t, "instance", "", "", "i", "j"); s != "" {
		return &s
	}
	return nil
}

func (w *world) ask(body kmsg.Request) {
	w.do(func(m *coordtest.Machine) {
		w.last = m.Do(Request{ClientID: "c", ClientHost: "/10.0.0.1", Body: body})
	})
}

func (w *world) join(t *rapid.T) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version = pick(t, "version", int16(0), 3, 4, 5, 8, 9)
	req.Group, req.MemberID, req.InstanceID = w.group(t), w.member(t), instance(t)
	req.SessionTimeoutMillis = pick(t, "session", int32(6000), 10000, 30000)
	req.RebalanceTimeoutMillis = pick(t, "rebalance", int32(5000), 20000, 600000)
	req.ProtocolType = pick(t, "type", "consumer", "consumer", "consumer", "connect")
	for _, name := range pick(t, "protocols", []string{"range"}, []string{"range", "rr"}, []string{"rr", "range"}, []string{"rr"}, []string{"range", "range"}, nil) {
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{
			Name: name, Metadata: subscription(pick(t, "topics", "t", "t", "u", "!")),
		})
	}
	w.ask(req)
}

func (w *world) sync(t *rapid.T) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group = pick(t, "version", int16(0), 5), w.group(t)
	req.MemberID, req.InstanceID, req.Generation = w.member(t), instance(t), w.generation(t, req.Group)
	req.ProtocolType, req.Protocol = pick(t, "type", new("consumer"), nil), pick(t, "protocol", new("range"), new("rr"))
	for _, id := range w.ids {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{
			MemberID: id, MemberAssignment: []byte(fmt.Sprint(req.Generation)),
		})
	}
	w.ask(req)
}

func (w *world) beat(t *rapid.T) {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group = 4, w.group(t)
	req.MemberID, req.InstanceID, req.Generation = w.member(t), instance(t), w.generation(t, req.Group)
	w.ask(req)
}

func (w *world) leave(t *rapid.T) {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group = pick(t, "version", int16(2), 5), w.group(t)
	req.MemberID = w.member(t)
	for range rapid.IntRange(0, 2).Draw(t, "members") {
		req.Members = append(req.Members, kmsg.LeaveGroupRequestMember{MemberID: w.member(t), InstanceID: instance(t)})
	}
	w.ask(req)
}

func (w *world) commit(t *rapid.T) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = pick(t, "version", int16(2), 8, 9), w.group(t), -1
	if rapid.Bool().Draw(t, "as member") {
		req.MemberID, req.InstanceID, req.Generation = w.member(t), instance(t), w.generation(t, req.Group)
	}
	req.RetentionTimeMillis = pick(t, "retention", int64(-1), 1000)
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = pick(t, "topic", "t", "u")
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	rp.Partition = rapid.Int32Range(0, 1).Draw(t, "partition")
	rp.Offset = rapid.Int64Range(0, 9).Draw(t, "offset")
	rp.Metadata = pick(t, "metadata", nil, new("x"), new("too long"))
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	w.ask(req)
}

func (w *world) tools(t *rapid.T) {
	group := w.group(t)
	switch rapid.IntRange(0, 5).Draw(t, "tool") {
	case 0:
		req := kmsg.NewPtrListGroupsRequest()
		w.ask(req)
	case 1:
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{group}
		w.ask(req)
	case 2:
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{group, group}
		w.ask(req)
	case 3:
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 1}}}}
		w.ask(req)
	case 4:
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version, req.RequireStable = 8, true
		req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: group}}
		w.ask(req)
	case 5:
		topic := pick(t, "topic", "t", "u")
		w.do(func(m *coordtest.Machine) { w.last = m.Do(TopicsDeleted{Names: []string{topic}}) })
	}
}

// settle has the members of a group do what the protocol asks of them next, as
// real clients do most of the time.
func (w *world) settle(t *rapid.T) {
	id := w.group(t)
	g := w.machine.Shard().(*Shard).groups[id]
	if g == nil {
		w.join(t)
		return
	}
	var members []member
	for _, m := range g.members {
		members = append(members, *m)
	}
	for _, pending := range sortedKeys(g.pendingJoin) {
		members = append(members, member{id: pending, sessionMs: 10000, rebalanceMs: 20000,
			protocols: []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription("t")}}})
	}
	switch g.state {
	case preparing, empty:
		for _, m := range members {
			if m.join.waits() {
				continue
			}
			req := kmsg.NewPtrJoinGroupRequest()
			req.Version, req.Group, req.MemberID, req.InstanceID = 9, id, m.id, m.instance
			req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = m.sessionMs, m.rebalanceMs
			req.ProtocolType, req.Protocols = "consumer", m.protocols
			w.ask(req)
		}
		w.do(func(m *coordtest.Machine) { m.Tick(3 * time.Second) })
	default:
		for _, m := range members {
			req := kmsg.NewPtrSyncGroupRequest()
			req.ProtocolType, req.Protocol = new(g.protocolType), g.protocol
			req.Version, req.Group, req.Generation, req.MemberID, req.InstanceID = 5, id, g.generation, m.id, m.instance
			req.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: m.id, MemberAssignment: []byte("mine")}}
			w.ask(req)
		}
	}
}

// restart has a static member come back without its id.
func (w *world) restart(t *rapid.T) {
	id := w.group(t)
	g := w.machine.Shard().(*Shard).groups[id]
	if g == nil || len(g.statics) == 0 {
		w.settle(t)
		return
	}
	instances := sortedKeys(g.statics)
	i := instances[rapid.IntRange(0, len(instances)-1).Draw(t, "instance")]
	m := g.byID[g.statics[i]]
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.InstanceID = pick(t, "version", int16(5), 9), id, &i
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = m.sessionMs, m.rebalanceMs
	req.ProtocolType, req.Protocols = "consumer", m.protocols
	if rapid.IntRange(0, 3).Draw(t, "refused") == 0 {
		w.do(refuseNext)
	}
	w.ask(req)
	w.do(refuseNone)
}

// transaction writes to the log what a transactional commit does, or its end, and
// loads it.
func (w *world) transaction(t *rapid.T) {
	producer := rapid.Int64Range(1, 2).Draw(t, "producer")
	if w.txns[producer] && rapid.Bool().Draw(t, "end") {
		commit := rapid.Bool().Draw(t, "commit")
		w.do(func(m *coordtest.Machine) { m.Log.AppendMarker(m.Now(), producer, 0, commit) })
		w.txns[producer] = false
	} else {
		k := offsetKey{w.group(t), "t", 0}
		r := offsetRecord(k, committed{offset: 77, commitMs: w.machine.Now().UnixMilli(), expireMs: -1})
		w.do(func(m *coordtest.Machine) {
			if _, err := m.Log.AppendTxn(m.Now(), producer, 0, []coordinator.Record{r}); err != nil {
				t.Fatal(err)
			}
		})
		w.txns[producer] = true
	}
	w.failover(t)
}

func (w *world) failover(*rapid.T) {
	w.since = w.last
	w.do((*coordtest.Machine).Failover)
}

// refuse has the next append refused, and what a client does next must leave the
// hard state as it is.
func (w *world) refuse(t *rapid.T) {
	shard := w.machine.Shard().(*Shard)
	before := shard.hard()
	w.do(refuseNext)
	end := w.machine.Log.End()
	pick(t, "input", w.join, w.sync, w.leave, w.commit, w.tools)(t)
	w.do(refuseNone)
	if w.machine.Log.End() == end && shard.hard() != before {
		t.Fatalf("nothing was written, and the hard state changed:\n%s\nwas\n%s", shard.hard(), before)
	}
}

func refuseNext(m *coordtest.Machine) {
	m.Log.Fail(&coordinator.RefusedError{Err: errors.New("refused")})
}

func refuseNone(m *coordtest.Machine) { m.Log.Fail(nil) }

func release(m *coordtest.Machine) {
	m.Log.Release()
	m.Commit()
}

// seldom makes an action rare: it ends what had come about.
func seldom(f func(*rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) {
		if rapid.IntRange(0, 3).Draw(t, "seldom") == 0 {
			f(t)
		}
	}
}

func (w *world) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"join": w.join, "join again": w.join, "sync": w.sync, "beat": w.beat, "leave": w.leave,
		"settle": w.settle, "settle again": w.settle, "restart": w.restart, "commit": w.commit,
		"tools": w.tools, "refuse": w.refuse, "transaction": seldom(w.transaction), "failover": seldom(w.failover),
		"tick": func(t *rapid.T) {
			d := pick(t, "time", time.Second, 3*time.Second, 10*time.Second, time.Minute, time.Hour)
			w.do(func(m *coordtest.Machine) { m.Tick(d) })
		},
		"hold":    func(*rapid.T) { w.do(func(m *coordtest.Machine) { m.Log.Hold() }) },
		"release": func(*rapid.T) { w.do(release) },
		"":        w.check,
	}
}

func (w *world) check(t *rapid.T) {
	shard := w.machine.Shard().(*Shard)
	if err := shard.check(); err != nil {
		t.Fatalf("%v\n%s", err, w.log.String())
	}
	replayed := w.machine.Replayed().(*Shard)
	if live, loaded := shard.hard(), replayed.hard(); live != loaded {
		t.Fatalf("live\n%s\nreplayed\n%s", live, loaded)
	}
	if err := replayed.check(); err != nil {
		t.Fatalf("replayed: %v", err)
	}
}

// do does something to the machine, and remembers it.
func (w *world) do(f func(*coordtest.Machine)) {
	w.done = append(w.done, f)
	f(w.machine)
}

// TestWorld: whatever clients do, the shard does not panic, its invariants hold,
// its hard state is what its log says, a refused append changes none of it,
// everybody gets an answer in the end, and doing the same again does the same.
func TestWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(w.actions())
		w.do(release)
		w.do(func(m *coordtest.Machine) { m.Tick(2 * time.Hour) })
		w.check(t)
		for ticket := w.since + 1; ticket <= w.last; ticket++ {
			if _, ok := w.machine.Replies[ticket]; !ok {
				t.Fatalf("ticket %d was never answered\n%s", ticket, w.log.String())
			}
		}
		for id, g := range w.machine.Shard().(*Shard).groups {
			if len(g.members)+len(g.pendingJoin) > 0 {
				t.Fatalf("nobody was heard of for two hours, and group %q has members: %s", id, w.machine.Shard().(*Shard).soft())
			}
		}
		again := newWorld(t)
		for _, f := range w.done {
			f(again.machine)
		}
		if diff := cmp.Diff(w.log.String(), again.log.String()); diff != "" {
			t.Fatalf("the second run did something else:\n%s", diff)
		}
	})
}
