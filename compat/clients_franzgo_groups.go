package compat

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// franzGroups are scenarios of groups of franz-go, and of its admin client.
var franzGroups = []Scenario{
	{ID: "clients.franz-go.group", Says: "Members of a group of franz-go share what is written, take over from who leaves, and go on where the group committed.", Run: func(t *T) { franzGroup(t) }},
	{ID: "clients.franz-go.group-kip848", Says: "Members of a consumer group of franz-go (KIP-848) share what is written, take over from who leaves, and go on where the group committed.", Refs: []string{"KIP-848"}, Since: "4.0", Slow: true, Limit: time.Minute, Run: func(t *T) {
		t.newest(kmsg.ConsumerGroupHeartbeat, 1)
		franzGroup(t, kgo.ServerSideBalancer())
	}},
	{ID: "clients.franz-go.cooperative", Says: "A member of franz-go that rebalances cooperatively keeps what it need not give up, without a pause.", Refs: []string{"KIP-429"}, Run: franzCooperative},
	{ID: "clients.franz-go.static", Says: "A static member of franz-go that comes back finds its partitions, and the others notice nothing.", Refs: []string{"KIP-345"}, Run: franzStatic},
	{ID: "clients.franz-go.pattern", Says: "A consumer of franz-go with a pattern reads topics that are made later.", Run: franzPattern},
	{ID: "clients.franz-go.admin", Says: "franz-go's admin client makes, changes, describes and deletes topics and groups.", Run: franzAdmin},
}

// holding is what a member of a group holds, and what it was told to give up.
type holding struct {
	mu            sync.Mutex
	held, revoked []int32 // Partitions of one topic.
}

func (h *holding) assigned(_ context.Context, _ *kgo.Client, more map[string][]int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ps := range more {
		h.held = append(h.held, ps...)
	}
	slices.Sort(h.held)
}

func (h *holding) gone(_ context.Context, _ *kgo.Client, less map[string][]int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ps := range less {
		h.revoked = append(h.revoked, ps...)
		h.held = slices.DeleteFunc(h.held, func(p int32) bool { return slices.Contains(ps, p) })
	}
	slices.Sort(h.revoked)
}

// now is a copy of what is held and was revoked.
func (h *holding) now() (held, revoked []int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.held), slices.Clone(h.revoked)
}

// opts make a member of a group.
func (h *holding) opts(group, topic string, more ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(200 * time.Millisecond), kgo.SessionTimeout(10 * time.Second),
		kgo.OnPartitionsAssigned(h.assigned), kgo.OnPartitionsRevoked(h.gone), kgo.OnPartitionsLost(h.gone),
	}, more...)
}

// franzHold waits until members hold numbers of partitions, polling all the while.
func franzHold(t *T, members map[*kgo.Client]*holding, want ...int) {
	t.until(fmt.Sprint("members that hold ", want, " partitions"), func() bool {
		var have []int
		for cl, h := range members {
			franzGlance(t, cl)
			held, _ := h.now()
			have = append(have, len(held))
		}
		slices.Sort(have)
		return slices.Equal(have, want)
	})
}

// franzGlance polls without waiting for more than a moment.
func franzGlance(t *T, cl *kgo.Client) []*kgo.Record {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	return cl.PollFetches(ctx).Records()
}

func franzGroup(t *T, opts ...kgo.Opt) {
	const partitions = 6
	topic, group := t.Topic(partitions), t.Group()
	producer := franz(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	members := map[*kgo.Client]*holding{}
	for range 2 {
		h := new(holding)
		members[franz(t, h.opts(group, topic, opts...)...)] = h
	}
	franzHold(t, members, 3, 3)
	franzWrites(t, producer, numberedRecords(topic, partitions, 0, 60)...)
	var got []string
	t.until("60 records for two members", func() bool {
		for cl, h := range members {
			held, _ := h.now()
			for _, r := range franzGlance(t, cl) {
				equal(t, fmt.Sprint("the reader of partition ", r.Partition, " holds it"), slices.Contains(held, r.Partition), true)
				got = append(got, string(r.Value))
			}
		}
		return len(got) >= 60
	})
	inAnyOrder(t, "what two members read", got, numbersFrom(0, 60))
	for cl := range members {
		if err := cl.CommitUncommittedOffsets(t.Context()); err != nil {
			t.Fatalf("commit: %v", err)
		}
	}
	for cl := range members {
		cl.Close()
		delete(members, cl)
		break
	}
	franzHold(t, members, partitions)
	franzWrites(t, producer, numberedRecords(topic, partitions, 60, 60)...)
	for cl := range members {
		inAnyOrder(t, "what the one that stays reads", franzValues(franzReads(t, cl, 60)), numbersFrom(60, 60))
		cl.Close() // It has not committed.
	}
	again := franz(t, new(holding).opts(group, topic, opts...)...)
	inAnyOrder(t, "what is read after the commit", franzValues(franzReads(t, again, 60)), numbersFrom(60, 60))
	again.Close()
}

func franzCooperative(t *T) {
	topic, group := t.Topic(6), t.Group()
	cooperative := kgo.Balancers(kgo.CooperativeStickyBalancer())
	first, second := new(holding), new(holding)
	members := map[*kgo.Client]*holding{franz(t, first.opts(group, topic, cooperative)...): first}
	franzHold(t, members, 6)
	members[franz(t, second.opts(group, topic, cooperative)...)] = second
	franzHold(t, members, 3, 3)
	kept, revoked := first.now()
	taken, _ := second.now()
	equals(t, "what the first gave up is what the second holds", revoked, taken)
	equals(t, "both hold all", slices.Sorted(slices.Values(append(kept, taken...))), []int32{0, 1, 2, 3, 4, 5})
}

func franzStatic(t *T) {
	topic, group := t.Topic(6), t.Group()
	member := func(instance string) (*kgo.Client, *holding) {
		h := new(holding)
		return franz(t, h.opts(group, topic, kgo.InstanceID(instance), kgo.Balancers(kgo.CooperativeStickyBalancer()))...), h
	}
	a, holdsA := member("a")
	b, holdsB := member("b")
	franzHold(t, map[*kgo.Client]*holding{a: holdsA, b: holdsB}, 3, 3)
	before, _ := holdsA.now()
	heldByB, revokedBefore := holdsB.now()
	a.Close() // A static member does not leave.
	a, holdsA = member("a")
	franzHold(t, map[*kgo.Client]*holding{a: holdsA, b: holdsB}, 3, 3)
	after, _ := holdsA.now()
	equals(t, "what it holds again", after, before)
	still, revokedB := holdsB.now()
	equals(t, "what the other holds", still, heldByB)
	equals(t, "what the other gave up", revokedB, revokedBefore)
	for _, cl := range []*kgo.Client{a, b} { // So that the group can be deleted.
		cl.Close()
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	for _, instance := range []string{"a", "b"} {
		m := kmsg.NewLeaveGroupRequestMember()
		m.InstanceID = &instance
		req.Members = append(req.Members, m)
	}
	t.ok("the members leave", ask[*kmsg.LeaveGroupResponse](t, t.newest(kmsg.LeaveGroup, 4), req).ErrorCode)
}

func franzPattern(t *T) {
	prefix := t.name("p")
	reader := franz(t, kgo.ConsumeRegex(), kgo.ConsumeTopics("^"+prefix+"-.*"), kgo.MetadataMaxAge(100*time.Millisecond))
	producer := franz(t)
	for i := range 3 {
		topic := fmt.Sprint(prefix, "-", i)
		t.create(topic, 1)
		franzWrites(t, producer, &kgo.Record{Topic: topic, Value: []byte(topic)})
		equals(t, "values", franzValues(franzReads(t, reader, 1)), []string{topic})
	}
}

func franzAdmin(t *T) {
	admin := kadm.NewClient(franz(t))
	topic, group := t.name("admin"), t.Group()
	fine := func(what string, err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err := admin.CreateTopic(t.Context(), 2, 1, map[string]*string{"retention.ms": new("1234567")}, topic)
	fine("create a topic", err)
	t.deleteAtEnd(topic)
	t.served(topic, 2)
	franzWrites(t, franz(t, kgo.RecordPartitioner(kgo.ManualPartitioner())), numberedRecords(topic, 2, 0, 10)...)

	more, err := admin.CreatePartitions(t.Context(), 1, topic)
	fine("more partitions", err)
	fine("more partitions", more.Error())
	t.served(topic, 3)
	topics, err := admin.ListTopics(t.Context(), topic)
	fine("list topics", err)
	equal(t, "partitions", len(topics[topic].Partitions), 3)

	altered, err := admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: new("7654321")}, {Op: kadm.AppendConfig, Name: "cleanup.policy", Value: new("compact")}}, topic)
	fine("alter settings", err)
	_, err = altered.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	fine("alter settings", err)
	t.until("the settings", func() bool {
		described, err := admin.DescribeTopicConfigs(t.Context(), topic)
		fine("describe settings", err)
		got := map[string]string{}
		for _, c := range described[0].Configs {
			got[c.Key] = c.MaybeValue()
		}
		return got["retention.ms"] == "7654321" && got["cleanup.policy"] == "delete,compact"
	})

	deleted, err := admin.DeleteRecords(t.Context(), kadm.Offsets{topic: {0: {Topic: topic, Partition: 0, At: 2}}})
	fine("delete records", err)
	fine("delete records", deleted.Error())
	starts, err := admin.ListStartOffsets(t.Context(), topic)
	fine("starts", err)
	ends, err := admin.ListEndOffsets(t.Context(), topic)
	fine("ends", err)
	for p, want := range map[int32][2]int64{0: {2, 5}, 1: {0, 5}, 2: {0, 0}} {
		start, _ := starts.Lookup(topic, p)
		end, _ := ends.Lookup(topic, p)
		equal(t, fmt.Sprint("offsets of partition ", p), [2]int64{start.Offset, end.Offset}, want)
	}

	fine("commit", admin.CommitAllOffsets(t.Context(), group, kadm.Offsets{topic: {0: {Topic: topic, Partition: 0, At: 4}, 1: {Topic: topic, Partition: 1, At: 1}}}))
	lags, err := admin.Lag(t.Context(), group)
	fine("lag", err)
	lag := lags[group]
	fine("lag", lag.Error())
	equal(t, "lag of the group", lag.Lag.Total(), 5)
	removed, err := admin.DeleteGroups(t.Context(), group)
	fine("delete the group", err)
	fine("delete the group", removed.Error())
	gone, err := admin.DeleteTopics(t.Context(), topic)
	fine("delete the topic", err)
	fine("delete the topic", gone.Error())
	t.until("the topic's end", func() bool { return !t.exists(topic) })
}
