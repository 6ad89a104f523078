package clients

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
	"github.com/moldau-broker/moldau/compat/scenario/client"
)

// franzgoGroupsScenarios are of groups of franz-go.
var franzgoGroupsScenarios = []scenario.Scenario{
	{ID: "clients.franz-go.group", Says: "Members of a group of franz-go share what is written, take over from who leaves, and go on where the group committed.", Run: func(t *scenario.T) { franzGroup(t) }},
	{ID: "clients.franz-go.group-kip848", Says: "Members of a consumer group of franz-go (KIP-848) share what is written, take over from who leaves, and go on where the group committed.", Refs: []string{"KIP-848"}, Since: "4.0", Slow: true, Limit: time.Minute, Run: func(t *scenario.T) {
		t.Newest(kmsg.ConsumerGroupHeartbeat, 1)
		franzGroup(t, kgo.ServerSideBalancer())
	}},
	{ID: "clients.franz-go.cooperative", Says: "A member of franz-go that rebalances cooperatively keeps what it need not give up, without a pause.", Refs: []string{"KIP-429"}, Run: franzCooperative},
	{ID: "clients.franz-go.static", Says: "A static member of franz-go that comes back finds its partitions, and the others notice nothing.", Refs: []string{"KIP-345"}, Run: franzStatic},
	{ID: "clients.franz-go.pattern", Says: "A consumer of franz-go with a pattern reads topics that are made later.", Run: franzPattern},
}

// franzHold waits until members hold numbers of partitions, polling all the while.
func franzHold(t *scenario.T, members map[*kgo.Client]*client.Holding, want ...int) {
	t.Until(fmt.Sprint("members that hold ", want, " partitions"), func() bool {
		var have []int
		for cl, h := range members {
			client.FranzGlance(t, cl)
			held, _ := h.Now()
			have = append(have, len(held))
		}
		slices.Sort(have)
		return slices.Equal(have, want)
	})
}

func franzGroup(t *scenario.T, opts ...kgo.Opt) {
	const partitions = 6
	topic, group := t.Topic(partitions), t.Group()
	producer := client.Franz(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	members := map[*kgo.Client]*client.Holding{}
	for range 2 {
		h := new(client.Holding)
		members[client.Franz(t, h.Opts(group, topic, opts...)...)] = h
	}
	franzHold(t, members, 3, 3)
	franzWrites(t, producer, numberedRecords(topic, partitions, 0, 60)...)
	var got []string
	t.Until("60 records for two members", func() bool {
		for cl, h := range members {
			held, _ := h.Now()
			for _, r := range client.FranzGlance(t, cl) {
				scenario.Equal(t, fmt.Sprint("the reader of partition ", r.Partition, " holds it"), slices.Contains(held, r.Partition), true)
				got = append(got, string(r.Value))
			}
		}
		return len(got) >= 60
	})
	inAnyOrder(t, "what two members read", got, client.NumbersFrom(0, 60))
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
		inAnyOrder(t, "what the one that stays reads", client.FranzValues(client.FranzReads(t, cl, 60)), client.NumbersFrom(60, 60))
		cl.Close() // It has not committed.
	}
	again := client.Franz(t, new(client.Holding).Opts(group, topic, opts...)...)
	inAnyOrder(t, "what is read after the commit", client.FranzValues(client.FranzReads(t, again, 60)), client.NumbersFrom(60, 60))
	again.Close()
}

func franzCooperative(t *scenario.T) {
	topic, group := t.Topic(6), t.Group()
	cooperative := kgo.Balancers(kgo.CooperativeStickyBalancer())
	first, second := new(client.Holding), new(client.Holding)
	members := map[*kgo.Client]*client.Holding{client.Franz(t, first.Opts(group, topic, cooperative)...): first}
	franzHold(t, members, 6)
	members[client.Franz(t, second.Opts(group, topic, cooperative)...)] = second
	franzHold(t, members, 3, 3)
	kept, revoked := first.Now()
	taken, _ := second.Now()
	scenario.EqualLists(t, "what the first gave up is what the second holds", revoked, taken)
	scenario.EqualLists(t, "both hold all", slices.Sorted(slices.Values(append(kept, taken...))), []int32{0, 1, 2, 3, 4, 5})
}

func franzStatic(t *scenario.T) {
	topic, group := t.Topic(6), t.Group()
	member := func(instance string) (*kgo.Client, *client.Holding) {
		h := new(client.Holding)
		return client.Franz(t, h.Opts(group, topic, kgo.InstanceID(instance), kgo.Balancers(kgo.CooperativeStickyBalancer()))...), h
	}
	a, holdsA := member("a")
	b, holdsB := member("b")
	franzHold(t, map[*kgo.Client]*client.Holding{a: holdsA, b: holdsB}, 3, 3)
	before, _ := holdsA.Now()
	heldByB, revokedBefore := holdsB.Now()
	a.Close() // A static member does not leave.
	a, holdsA = member("a")
	franzHold(t, map[*kgo.Client]*client.Holding{a: holdsA, b: holdsB}, 3, 3)
	after, _ := holdsA.Now()
	scenario.EqualLists(t, "what it holds again", after, before)
	still, revokedB := holdsB.Now()
	scenario.EqualLists(t, "what the other holds", still, heldByB)
	scenario.EqualLists(t, "what the other gave up", revokedB, revokedBefore)
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
	t.OK("the members leave", scenario.Ask[*kmsg.LeaveGroupResponse](t, t.Newest(kmsg.LeaveGroup, 4), req).ErrorCode)
}

func franzPattern(t *scenario.T) {
	prefix := t.Name("p")
	reader := client.Franz(t, kgo.ConsumeRegex(), kgo.ConsumeTopics("^"+prefix+"-.*"), kgo.MetadataMaxAge(100*time.Millisecond))
	producer := client.Franz(t)
	for i := range 3 {
		topic := fmt.Sprint(prefix, "-", i)
		t.CreateTopic(topic, 1)
		franzWrites(t, producer, &kgo.Record{Topic: topic, Value: []byte(topic)})
		scenario.EqualLists(t, "values", client.FranzValues(client.FranzReads(t, reader, 1)), []string{topic})
	}
}
