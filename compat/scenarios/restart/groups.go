package restart

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// groupsScenarios are about groups after a restart.
var groupsScenarios = []scenario.Scenario{
	{ID: "restart.offsets", Says: "Committed offsets and their metadata are there after a restart, and those that were deleted are not.", Restarts: true, Run: restartOffsets},
	{ID: "restart.group", Says: "The members of a classic group go on after a restart in the same generation, with what they were assigned.", Refs: []string{"KAFKA-8500"}, Restarts: true, Run: restartGroup},
	{ID: "restart.consumer-group", Says: "The members of a consumer group go on after a restart in the same epoch, with what they were assigned.", Refs: []string{"KIP-848"}, Since: "4.0", Restarts: true, Run: restartConsumerGroup},
}

func restartOffsets(t *scenario.T) {
	group, topic := t.Group(), t.Topic(3)
	version := t.Newest(kmsg.OffsetCommit, 8)
	for partition, metadata := range []*string{new("what it means"), new(""), new("gone")} {
		t.OK("commit", scenario.One(t, "partitions", t.Commit(version, group, topic, scenario.Committing{Partition: int32(partition), Offset: int64(10 + partition), Metadata: metadata})))
	}
	top, part := t.OffsetDelete(group, topic, 2)
	t.OK("delete", top)
	t.OK("delete", part)
	t.Restart()
	fetch := t.Newest(kmsg.OffsetFetch, 7)
	t.Until("the coordinator", func() bool {
		return !scenario.CoordinatorBusy(scenario.Ask[*kmsg.OffsetFetchResponse](t, fetch, t.OffsetFetchRequest(fetch, group, topic, 0)).ErrorCode)
	})
	for partition, want := range []string{"10 what it means", "11 ", "-1 "} {
		got := t.Committed(fetch, group, topic, int32(partition))
		scenario.Equal(t, fmt.Sprint("partition ", partition), fmt.Sprint(got.Offset, " ", *got.Metadata), want)
	}
}

func restartGroup(t *scenario.T) {
	group := t.Group()
	leader, follower := t.SettledPair(group)
	alone := t.Member(t.Group())
	alone.Instance = new("instance")
	alone.Settle()
	t.Restart()
	for _, m := range []*scenario.Member{leader, follower, alone} {
		m.Conn = t.Dial()
		t.Until("the coordinator", func() bool { // One that still loads answers a heartbeat with NONE.
			return !scenario.CoordinatorBusy(t.DescribeGroup(t.Newest(kmsg.DescribeGroups, 5), m.Group).ErrorCode)
		})
		t.OK("heartbeat", m.Beat())
	}
	g := t.DescribeGroup(t.Newest(kmsg.DescribeGroups, 5), group)
	scenario.Equal(t, "state", g.State, "Stable")
	assigned := map[string]string{}
	for _, m := range g.Members {
		assigned[m.MemberID] = string(m.MemberAssignment)
	}
	scenario.Equal(t, "assignment of the leader", assigned[leader.ID], "for the leader")
	scenario.Equal(t, "assignment of the follower", assigned[follower.ID], "for the follower")
	scenario.Equal(t, "members", len(assigned), 2)

	again := t.Member(alone.Group)
	again.Instance = alone.Instance
	again.LeaveAtEnd()
	again.Join()
	scenario.Equal(t, "generation of the static member that comes back", again.Generation, alone.Generation)
	scenario.Equal(t, "its assignment", string(again.Sync(nil).MemberAssignment), "assigned to "+alone.ID)
}

func restartConsumerGroup(t *scenario.T) {
	topic, group := t.Topic(4), t.Group()
	a, b := t.ConsumerMember(group, "a", topic), t.ConsumerMember(group, "b", topic)
	scenario.SettleAll(t, []*scenario.ConsumerMember{a}, 4)
	scenario.SettleAll(t, []*scenario.ConsumerMember{a, b}, 2, 2)
	epoch, had := a.Epoch, scenario.Plain(a.Has)
	t.Restart()
	for _, m := range []*scenario.ConsumerMember{a, b} {
		m.Conn = t.Dial()
		var resp *kmsg.ConsumerGroupHeartbeatResponse
		t.Until("the coordinator", func() bool { resp = m.TryBeat(nil); return !scenario.CoordinatorBusy(resp.ErrorCode) })
		t.OK("heartbeat", resp.ErrorCode)
		scenario.Equal(t, "epoch", resp.MemberEpoch, epoch)
	}
	scenario.SettleAll(t, []*scenario.ConsumerMember{a, b}, 2, 2)
	scenario.Equal(t, "what the first has", scenario.Plain(a.Has), had)
	g := t.DescribeConsumers(group)
	scenario.Equal(t, "state", g.State, "Stable")
	scenario.Equal(t, "epoch of the group", g.Epoch, epoch)
}
