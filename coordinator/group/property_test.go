package group

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
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
	cluster Cluster            // What requests see; nil: nothing.
	asked   []Resolve          // Sent and not yet answered.
	ledger  *ledger
	forgets bool  // What is being done may forget offsets.
	broken  error // What of the ledger does not hold.
	// done is what was done to the machine, to be done again to another.
	done []func(*coordtest.Machine)
}

// retention is how long offsets are kept here: members can outlive them.
const retention = time.Minute

func newWorld(t *rapid.T) *world {
	cfg := DefaultConfig()
	cfg.MaxSize = 3
	cfg.OffsetMetadataMaxBytes = 5
	cfg.OffsetsRetention, cfg.RetentionCheckInterval = retention, 10*time.Second
	cfg.Consumer.MaxSize = 3
	w := &world{t: t, ids: []string{"", "stranger"}, ledger: newLedger()}
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
		w.broken = cmp.Or(w.broken, w.ledger.record(e, w.mayForget))
	case e.Reply != nil:
		fmt.Fprintln(&w.log, "reply", e.Reply.To, showReply(*e.Reply))
		w.told(e.Reply.Body)
	case e.Send != nil:
		fmt.Fprintln(&w.log, showSend(e.Send))
		w.asked = append(w.asked, e.Send.(Resolve))
	}
}

// told learns a member id that a client is told.
func (w *world) told(body any) {
	switch r := body.(type) {
	case *kmsg.JoinGroupResponse:
		if r.MemberID != "" {
			w.ids = append(w.ids, r.MemberID)
		}
	case *kmsg.ConsumerGroupHeartbeatResponse:
		if r.MemberID != nil && r.ErrorCode == 0 {
			w.ids = append(w.ids, *r.MemberID)
		}
	}
}

// mayForget says why an offset must not be forgotten now.
func (w *world) mayForget(k offsetKey, s saved, open bool) error {
	nowMs := w.machine.Now().UnixMilli()
	g, sinceMs := w.machine.Shard().(*Shard).groups[k.group], s.commitMs
	if g.consumers == nil && g.protocolType != "" && g.state == empty {
		sinceMs = min(sinceMs, g.sinceMs) // Kafka counts from when the last member left.
	}
	switch old := nowMs-sinceMs >= retention.Milliseconds() || s.expireMs >= 0 && nowMs >= s.expireMs; {
	case w.forgets:
		return nil
	case open:
		return fmt.Errorf("%v is forgotten with a transaction open", k)
	case !old:
		return fmt.Errorf("%v is forgotten, which was committed at %d, now is %d", k, s.commitMs, nowMs)
	case g.consumers != nil && g.consumers.subscribes(k.topic):
		return fmt.Errorf("%v is forgotten while members read the topic", k)
	}
	return nil
}

func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

func (w *world) group(t *rapid.T) string { return pick(t, "group", "g", "g", "g", "h", "h", "h", "") }

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
	cluster := w.cluster
	w.do(func(m *coordtest.Machine) {
		w.last = m.Do(Request{ClientID: "c", ClientHost: "/10.0.0.1", Cluster: cluster, Body: another(body)})
	})
}

// another is a request like req, which the shard may keep and change.
func another(req kmsg.Request) kmsg.Request {
	is := reflect.New(reflect.TypeOf(req).Elem())
	is.Elem().Set(reflect.ValueOf(req).Elem())
	return is.Interface().(kmsg.Request)
}

// answered is ask, and the answer: nil if it waits, or was refused.
func (w *world) answered(body kmsg.Request) any {
	w.ask(body)
	return w.machine.Replies[w.last].Body
}

func (w *world) join(t *rapid.T) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version = pick(t, "version", int16(0), 3, 4, 5, 8, 9)
	req.Group, req.MemberID, req.InstanceID = w.group(t), w.member(t), instance(t)
	req.SessionTimeoutMillis = pick(t, "session", int32(6000), 10000, 30000, 5000)
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
	for i, id := range w.ids {
		bytes := []byte(fmt.Sprint(req.Generation))
		if w.cluster != nil {
			bytes = new(parser).assignment(fmt.Sprintf("t/%d", i))
		}
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: bytes})
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
	req.Version, req.Group, req.Generation = pick(t, "version", int16(1), 2, 8, 9, 10), w.group(t), -1
	if rapid.Bool().Draw(t, "as member") {
		req.MemberID, req.InstanceID = w.member(t), instance(t)
		req.Generation = w.memberEpoch(t, req.Group, req.MemberID)
	}
	req.RetentionTimeMillis = pick(t, "retention", int64(-1), 1000)
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = pick(t, "topic", "t", "u")
	rt.TopicID = pick(t, "id", topicID(rt.Topic), topicID("other"))
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	rp.Partition = rapid.Int32Range(0, 1).Draw(t, "partition")
	rp.Offset = rapid.Int64Range(0, 9).Draw(t, "offset")
	rp.Metadata = pick(t, "metadata", nil, new("x"), new("too long"))
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, ok := w.answered(req).(*kmsg.OffsetCommitResponse)
	k := offsetKey{req.Group, rt.Topic, rp.Partition}
	if ok && resp.Topics[0].Partitions[0].ErrorCode == 0 && w.ledger.committed[k].offset != rp.Offset {
		t.Fatalf("%v was committed as %d, and is %+v", k, rp.Offset, w.ledger.committed[k])
	}
}

// memberEpoch is generation for a member of either protocol.
func (w *world) memberEpoch(t *rapid.T, group, member string) int32 {
	if g := w.machine.Shard().(*Shard).groups[group]; g != nil && g.consumers != nil {
		if m := g.consumers.members[member]; m != nil {
			return m.epoch + pick(t, "off", int32(0), 0, 0, 0, 1, -1)
		}
	}
	return w.generation(t, group)
}

// txnCommit commits an offset in a producer's transaction.
func (w *world) txnCommit(t *rapid.T) {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.Group, req.Generation = pick(t, "version", int16(0), 2, 3, 5), w.group(t), -1
	req.ProducerID, req.ProducerEpoch = rapid.Int64Range(1, 2).Draw(t, "producer"), 3
	if rapid.Bool().Draw(t, "as member") {
		req.MemberID, req.InstanceID = w.member(t), instance(t)
		req.Generation = w.memberEpoch(t, req.Group, req.MemberID)
	}
	for range rapid.IntRange(1, 2).Draw(t, "topics") {
		rt := kmsg.TxnOffsetCommitRequestTopic{Topic: pick(t, "topic", "t", "u")}
		rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset = rapid.Int32Range(0, 1).Draw(t, "partition"), rapid.Int64Range(10, 19).Draw(t, "offset")
		rp.Metadata = pick(t, "metadata", nil, new("x"), new("too long"))
		rt.Partitions = append(rt.Partitions, rp)
		req.Topics = append(req.Topics, rt)
	}
	w.ask(req)
}

// marker ends a transaction, or one that is not open.
func (w *world) marker(t *rapid.T) {
	in := coordinator.Marker{ProducerID: rapid.Int64Range(1, 3).Draw(t, "producer"), Epoch: 3, Commit: rapid.Bool().Draw(t, "commit")}
	end := w.machine.Log.End()
	w.do(func(m *coordtest.Machine) { w.last = m.Do(in) })
	if w.machine.Log.End() == end {
		return // The log refused it.
	}
	w.ledger.marker(in.ProducerID, in.Commit)
	if s := w.machine.Shard().(*Shard); s.pending[in.ProducerID] != nil {
		t.Fatalf("producer %d has offsets pending after its marker: %v", in.ProducerID, s.pending[in.ProducerID])
	}
}

// fetch asks for offsets and holds the answer to the ledger.
func (w *world) fetch(t *rapid.T) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = pick(t, "version", int16(1), 6, 7, 8, 9, 10), rapid.Bool().Draw(t, "stable")
	rg := kmsg.NewOffsetFetchRequestGroup()
	rg.Group = w.group(t)
	if req.Version >= 9 && rapid.Bool().Draw(t, "as member") {
		rg.MemberID = new(w.member(t))
		rg.MemberEpoch = w.memberEpoch(t, rg.Group, *rg.MemberID)
	}
	all := rapid.Bool().Draw(t, "all")
	if !all {
		rg.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "u", Partitions: []int32{1, 0}}, {Topic: "t", Partitions: []int32{0, 9}}}
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{1}}}
	}
	req.Group, req.Groups = rg.Group, []kmsg.OffsetFetchRequestGroup{rg}
	stable := req.RequireStable
	resp, ok := w.answered(req).(*kmsg.OffsetFetchResponse)
	if !ok {
		return
	}
	var topics []kmsg.OffsetFetchResponseGroupTopic
	for _, rt := range resp.Topics {
		ot := kmsg.OffsetFetchResponseGroupTopic{Topic: rt.Topic}
		for _, p := range rt.Partitions {
			ot.Partitions = append(ot.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition{Partition: p.Partition, Offset: p.Offset, ErrorCode: p.ErrorCode})
		}
		topics = append(topics, ot)
	}
	for _, og := range resp.Groups {
		if og.ErrorCode != 0 {
			return
		}
		topics = append(topics, og.Topics...)
	}
	if err := w.ledger.fetched(rg.Group, stable, all, topics); err != nil {
		t.Fatalf("%v\n%s", err, w.log.String())
	}
}

// forgetting does something by which offsets may be forgotten.
func (w *world) forgetting(f func()) {
	w.forgets = true
	defer func() { w.forgets = false }()
	f()
}

func (w *world) tools(t *rapid.T) {
	group := w.group(t)
	switch rapid.IntRange(0, 5).Draw(t, "tool") {
	case 0:
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter = pick(t, "states", nil, []string{"Stable", "empty"}, []string{"?"})
		req.TypesFilter = pick(t, "types", nil, []string{"Classic"}, []string{"consumer"})
		w.ask(req)
	case 1:
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{group}
		w.ask(req)
	case 2:
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{group, group}
		w.forgetting(func() { w.ask(req) })
	case 3:
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 1}}}}
		w.forgetting(func() { w.ask(req) })
	case 4:
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Groups = []string{group, "none"}
		w.ask(req)
	case 5:
		in := TopicsDeleted{Names: []string{pick(t, "topic", "t", "u")}}
		if rapid.Bool().Draw(t, "by id") {
			in.IDs = [][16]byte{topicID(in.Names[0])}
		}
		w.forgetting(func() { w.do(func(m *coordtest.Machine) { w.last = m.Do(in) }) })
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
		members = append(members, member{
			id: pending, sessionMs: 10000, rebalanceMs: 20000,
			protocols: []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription("t")}},
		})
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

func (w *world) failover(*rapid.T) {
	w.since = w.last
	w.do((*coordtest.Machine).Failover)
}

// refuse has the next append refused, and what a client does next must leave the
// hard state as it is.
func (w *world) refuse(t *rapid.T, more ...func(*rapid.T)) {
	shard := w.machine.Shard().(*Shard)
	before := shard.hard()
	w.do(refuseNext)
	end := w.machine.Log.End()
	inputs := []func(*rapid.T){w.join, w.sync, w.leave, w.commit, w.txnCommit, w.marker, w.tools, w.tick}
	pick(t, "input", append(inputs, more...)...)(t)
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
		"txn commit": w.txnCommit, "marker": w.marker, "fetch": w.fetch, "tools": w.tools,
		"refuse": func(t *rapid.T) { w.refuse(t) }, "failover": seldom(w.failover), "tick": w.tick,
		"clock": seldom(func(t *rapid.T) {
			d := pick(t, "by", -time.Hour, -time.Second, time.Minute)
			w.do(func(m *coordtest.Machine) { m.SetClock(d) })
		}),
		"hold":    func(*rapid.T) { w.do(func(m *coordtest.Machine) { m.Log.Hold() }) },
		"release": func(*rapid.T) { w.do(release) },
		"":        w.check,
	}
}

func (w *world) tick(t *rapid.T) {
	d := pick(t, "time", time.Second, 3*time.Second, 10*time.Second, time.Minute, time.Hour)
	w.do(func(m *coordtest.Machine) { m.Tick(d) })
}

func (w *world) check(t *rapid.T) {
	shard := w.machine.Shard().(*Shard)
	if err := cmp.Or(shard.check(), w.broken, w.ledger.check(shard)); err != nil {
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
// its hard state is what its log says, no committed offset is lost, a refused
// append changes nothing, everybody gets an answer in the end, and doing the same
// again does the same.
func TestWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(w.actions())
		w.end(t, newWorld(t))
	})
}

// end lets all come to its end, and does it all again to another world.
func (w *world) end(t *rapid.T, again *world) {
	w.do(release)
	w.do(func(m *coordtest.Machine) { m.Tick(2 * time.Hour) })
	w.check(t)
	for ticket := w.since + 1; ticket <= w.last; ticket++ {
		if _, ok := w.machine.Replies[ticket]; !ok {
			t.Fatalf("ticket %d was never answered\n%s", ticket, w.log.String())
		}
	}
	shard := w.machine.Shard().(*Shard)
	for id, g := range shard.groups {
		if len(g.members)+len(g.pendingJoin) > 0 || g.consumers != nil && len(g.consumers.members) > 0 {
			t.Fatalf("nobody was heard of for two hours, and group %q has members: %s", id, shard.soft())
		}
	}
	again.forgets = true // Its log was looked at already.
	for _, f := range w.done {
		f(again.machine)
	}
	if diff := gocmp.Diff(w.log.String(), again.log.String()); diff != "" {
		t.Fatalf("the second run did something else:\n%s", diff)
	}
}
