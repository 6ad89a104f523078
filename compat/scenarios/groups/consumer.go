package groups

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// consumerScenarios are about groups of the consumer protocol (KIP-848).
var consumerScenarios = []scenario.Scenario{
	{ID: "groups.consumer.first-heartbeat", Says: "A first heartbeat with partitions, without a rebalance timeout or without a subscription is INVALID_REQUEST, one with an unknown assignor UNSUPPORTED_ASSIGNOR, and the group is not made.", Refs: []string{"KIP-848", "franz-go kfake@0013f780", "case G17"}, Since: "4.0", Run: firstHeartbeat},
	{ID: "groups.consumer.reconcile", Says: "A member of a consumer group is given a partition only after who has it says that it has it no longer.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerReconcile},
	{ID: "groups.consumer.epochs", Says: "A heartbeat with an epoch that is not the member's is FENCED_MEMBER_EPOCH, unless it is the one before and what the member has is within its assignment.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerEpochs},
	{ID: "groups.consumer.leave", Says: "The partitions of a member that leaves a consumer group go to the others; the group of nobody is Empty and can be deleted, one with members not.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerLeave},
	{ID: "groups.consumer.static", Says: "A static member that leaves for a while keeps its assignment for who comes with its instance id; while it is there, another is UNRELEASED_INSTANCE_ID.", Refs: []string{"KIP-848", "KIP-345"}, Since: "4.0", Run: consumerStatic},
	{ID: "groups.consumer.rebalance-timeout", Says: "A member that does not give up what it was told to within its rebalance timeout is put out of the consumer group.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerRebalanceTimeout},
	{ID: "groups.consumer.session-expires", Says: "A member of a consumer group that is not heard of for the session timeout is put out.", Refs: []string{"KIP-848"}, Since: "4.0", Slow: true, Limit: 90 * time.Second, Run: consumerSessionExpires},
	{ID: "groups.consumer.assignor-votes", Says: "The assignor that most members of a consumer group ask for is taken; of as many it is uniform.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerAssignorVotes},
	{ID: "groups.consumer.new-topics", Says: "Topics and partitions that come to be are assigned in a consumer group that is subscribed to them.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerNewTopics},
	{ID: "groups.consumer.pattern", Says: "A consumer group resolves patterns of RE2; what is none is INVALID_REGULAR_EXPRESSION.", Refs: []string{"KIP-848"}, Since: "4.0", Limit: time.Minute, Run: consumerPattern},
	{ID: "groups.consumer.heartbeat-interval", Says: "The heartbeat interval of a consumer group is that of the group's settings.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerHeartbeatInterval},
	{ID: "groups.consumer.offsets", Says: "Members of a consumer group commit and fetch with their epochs, of which another is STALE_MEMBER_EPOCH; commits before version 9 are UNSUPPORTED_VERSION.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerOffsets},
	{ID: "groups.consumer.classic-requests", Says: "Classic members that do not assign topics are no members of a consumer group; who is not in it is not known.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerClassicRequests},
	{ID: "groups.consumer.upgrade", Says: "A classic group is a consumer group as soon as one member asks for that, with the classic members in it, and a classic one again when the last such member leaves.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerUpgrade},
	{ID: "groups.consumer.whole-answer", Says: "ConsumerGroupHeartbeat assigns partitions, and ConsumerGroupDescribe tells all of the group.", Refs: []string{"KIP-848"}, Since: "4.0", Run: consumerAnswers},
	{ID: "groups.consumer.describe-empty-id", Says: "ConsumerGroupDescribe of the empty group id is INVALID_GROUP_ID.", Refs: []string{"KIP-848"}, Since: "3.8", Run: describeNoGroup}, // Found by a differential run.
}

// firstHeartbeat plays one sound request and its spoiled copies.
func firstHeartbeat(t *scenario.T) {
	topic := t.Topic(1)
	group := t.Group()
	sound := func(v int16) *kmsg.ConsumerGroupHeartbeatRequest {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group, req.RebalanceTimeoutMillis, req.SubscribedTopicNames = group, 5000, []string{topic}
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		if v >= 1 {
			req.MemberID = "member" // Before, the coordinator makes it.
		}
		return req
	}
	t.Each(kmsg.ConsumerGroupHeartbeat, 0, 1, func(v int16) {
		for what, tc := range map[string]struct {
			spoil func(*kmsg.ConsumerGroupHeartbeatRequest)
			want  *kerr.Error
		}{
			"partitions": {func(r *kmsg.ConsumerGroupHeartbeatRequest) {
				r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{{TopicID: t.TopicID(topic), Partitions: []int32{0}}}
			}, kerr.InvalidRequest},
			"no list of partitions": {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Topics = nil }, kerr.InvalidRequest},
			"no rebalance timeout":  {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.RebalanceTimeoutMillis = -1 }, kerr.InvalidRequest},
			"no subscription":       {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicNames = nil }, kerr.InvalidRequest},
			"an unknown assignor":   {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.ServerAssignor = new("nope") }, kerr.UnsupportedAssignor},
		} {
			req := sound(v)
			tc.spoil(req)
			resp := scenario.Ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, req)
			t.Code(what, resp.ErrorCode, tc.want)
			if resp.ErrorMessage == nil || *resp.ErrorMessage == "" {
				t.Fatalf("%s: there is no error message", what)
			}
			scenario.Equal(t, what+": the group is listed", listedGroup(t, t.Newest(kmsg.ListGroups, 5), group, nil, nil) != nil, false)
		}
	})
	t.Each(kmsg.ConsumerGroupHeartbeat, 0, 1, func(v int16) {
		resp := scenario.Ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, sound(v))
		t.OK("a sound one", resp.ErrorCode)
		if resp.MemberID == nil {
			t.Fatalf("the member is not told its id")
		}
		leave := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		leave.Group, leave.MemberID, leave.MemberEpoch, leave.RebalanceTimeoutMillis = group, *resp.MemberID, -1, -1
		t.OK("leave", scenario.Ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, leave).ErrorCode)
	})
}

func consumerReconcile(t *scenario.T) {
	topic, group := t.Topic(4), t.Group()
	a, b := t.ConsumerMember(group, "a", topic), t.ConsumerMember(group, "b", topic)
	scenario.SettleAll(t, []*scenario.ConsumerMember{a}, 4)
	first := a.Epoch
	if told := b.Beat(); told != nil && len(told.Topics) > 0 {
		t.Fatalf("the second is given %s at once", scenario.Plain(told))
	}
	scenario.Equal(t, "epoch of the second", b.Epoch, first+1)
	told := a.Beat()
	scenario.Equal(t, "epoch of the first while it has too much", a.Epoch, first)
	if told := b.Beat(); told != nil && len(told.Topics) > 0 {
		t.Fatalf("the second is given %s before the first gives it up", scenario.Plain(told))
	}
	scenario.Equal(t, "state", t.DescribeConsumers(group).State, "Reconciling")
	a.Take(told)
	scenario.Equal(t, "what the first is to keep", a.Holds(), 2)
	a.Take(a.Beat())
	scenario.Equal(t, "epoch of the first", a.Epoch, first+1)
	b.Take(b.Beat())
	scenario.Equal(t, "what the second has", b.Holds(), 2)
	parts := slices.Concat(a.Has[0].Partitions, b.Has[0].Partitions)
	slices.Sort(parts)
	scenario.EqualLists(t, "what both have", parts, []int32{0, 1, 2, 3})
	g := t.DescribeConsumers(group)
	scenario.Equal(t, "state", g.State, "Stable")
	scenario.Equal(t, "epoch", g.Epoch, first+1)
	scenario.Equal(t, "epoch of the assignment", g.AssignmentEpoch, first+1)
}

func consumerEpochs(t *scenario.T) {
	topic, group := t.Topic(2), t.Group()
	a, b := t.ConsumerMember(group, "a", topic), t.ConsumerMember(group, "b", topic)
	scenario.SettleAll(t, []*scenario.ConsumerMember{a}, 2)
	scenario.SettleAll(t, []*scenario.ConsumerMember{a, b}, 1, 1)
	at := func(epoch int32, has ...kmsg.ConsumerGroupHeartbeatRequestTopic) func(r *kmsg.ConsumerGroupHeartbeatRequest) {
		return func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch, r.Topics = epoch, has }
	}
	other := kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.TopicID(topic), Partitions: []int32{0, 1}}
	a.Refused("a larger epoch", kerr.FencedMemberEpoch, at(a.Epoch+1, a.Has...))
	a.Refused("the epoch before, with more than was assigned", kerr.FencedMemberEpoch, at(a.Epoch-1, other))
	a.Refused("the epoch before, without a word on what it has", kerr.FencedMemberEpoch, at(a.Epoch-1))
	resp := a.TryBeat(at(a.Epoch-1, a.Has...))
	t.OK("the epoch before, of an answer that was lost", resp.ErrorCode)
	scenario.Equal(t, "epoch in the answer", resp.MemberEpoch, a.Epoch)
	nobody := t.ConsumerMember(group, "nobody", topic)
	nobody.Refused("a member that is not there", kerr.UnknownMemberID, at(1))
	missing := t.ConsumerMember(t.Name("missing"), "a", topic)
	missing.Refused("a group that is not there", kerr.GroupIDNotFound, at(1))
	a.Refused("no epoch", kerr.InvalidRequest, at(-3))
	scenario.SettleAll(t, []*scenario.ConsumerMember{a, b}, 1, 1)
	// To join again is what a member does that lost all: it is given everything anew.
	again := a.TryBeat(at(0))
	t.Code("to join again with no list of partitions", again.ErrorCode, kerr.InvalidRequest)
	a.Epoch, a.Has = 0, nil
	scenario.SettleAll(t, []*scenario.ConsumerMember{a, b}, 1, 1)
}

func consumerLeave(t *scenario.T) {
	topic, group := t.Topic(2), t.Group()
	a, b := t.ConsumerMember(group, "a", topic), t.ConsumerMember(group, "b", topic)
	scenario.SettleAll(t, []*scenario.ConsumerMember{a}, 2)
	scenario.SettleAll(t, []*scenario.ConsumerMember{a, b}, 1, 1)
	epoch := a.Epoch
	b.Leave(-1)
	b.Refused("who left", kerr.UnknownMemberID, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = epoch })
	scenario.SettleAll(t, []*scenario.ConsumerMember{a}, 2)
	scenario.Equal(t, "epoch after one left", a.Epoch, epoch+1)
	t.Code("delete the group", deleteGroup(t, t.Newest(kmsg.DeleteGroups, 2), group), kerr.NonEmptyGroup)
	a.Leave(-1)
	g := t.DescribeConsumers(group)
	scenario.Equal(t, "state", g.State, "Empty")
	scenario.Equal(t, "members", len(g.Members), 0)
	listed := listedGroup(t, t.Newest(kmsg.ListGroups, 5), group, nil, []string{"consumer"})
	if listed == nil {
		t.Fatalf("the empty group is not listed")
	}
	t.OK("delete the empty group", deleteGroup(t, t.Newest(kmsg.DeleteGroups, 2), group))
	scenario.Equal(t, "the group is listed", listedGroup(t, t.Newest(kmsg.ListGroups, 5), group, nil, nil) != nil, false)
}

func consumerStatic(t *scenario.T) {
	topic, group := t.Topic(2), t.Group()
	a, b := t.ConsumerMember(group, "a", topic), t.ConsumerMember(group, "b", topic)
	a.Instance = new("instance-a")
	scenario.SettleAll(t, []*scenario.ConsumerMember{a}, 2)
	scenario.SettleAll(t, []*scenario.ConsumerMember{a, b}, 1, 1)
	epoch, had := a.Epoch, scenario.Plain(a.Has)

	second := t.ConsumerMember(group, "second", topic)
	second.Instance = a.Instance
	second.Refused("another with the instance id", kerr.UnreleasedInstanceID, nil)
	a.Refused("the member under another instance id", kerr.UnknownMemberID, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.InstanceID = new("instance-b") })

	a.Leave(-2)
	scenario.SettleAll(t, []*scenario.ConsumerMember{b}, 1) // Nothing was given to it.
	scenario.Equal(t, "epoch of the other", b.Epoch, epoch)
	second.Take(second.Beat())
	scenario.Equal(t, "epoch of who comes back", second.Epoch, epoch)
	scenario.Equal(t, "what it has again", scenario.Plain(second.Has), had)
	a.Refused("the id from before", kerr.FencedInstanceID, nil)
	second.Leave(-1)
	scenario.SettleAll(t, []*scenario.ConsumerMember{b}, 2)
}

func consumerRebalanceTimeout(t *scenario.T) {
	topic, group := t.Topic(2), t.Group()
	a, b := t.ConsumerMember(group, "a", topic), t.ConsumerMember(group, "b", topic)
	a.Rebalance = 300
	scenario.SettleAll(t, []*scenario.ConsumerMember{a}, 2)
	t.Until("the second to have all", func() bool {
		if resp := a.TryBeat(nil); resp.ErrorCode == 0 {
			a.Epoch = resp.MemberEpoch // It hears what to give up, and does not.
		}
		b.Take(b.Beat())
		return b.Holds() == 2
	})
	a.Refused("who did not give up", kerr.UnknownMemberID, nil)
	scenario.Equal(t, "members", len(t.DescribeConsumers(group).Members), 1)
}

func consumerSessionExpires(t *scenario.T) {
	topic, group := t.Topic(2), t.Group()
	a, b := t.ConsumerMember(group, "a", topic), t.ConsumerMember(group, "b", topic)
	scenario.SettleAll(t, []*scenario.ConsumerMember{a}, 2)
	scenario.SettleAll(t, []*scenario.ConsumerMember{a, b}, 1, 1)
	began := time.Now()
	for a.Holds() < 2 { // B is silent from now on.
		a.Take(a.Beat())
		t.Pause(time.Second)
	}
	// It was last heard of a little before; 45 s is the default of group.consumer.session.timeout.ms.
	if took := time.Since(began); took < 30*time.Second {
		t.Fatalf("the silent one was put out after %v", took)
	}
	b.Refused("the silent one", kerr.UnknownMemberID, nil)
}

func consumerAssignorVotes(t *scenario.T) {
	a, b, group := t.Topic(1), t.Topic(1), t.Group()
	probe := t.ConsumerMember(group, "probe", a, b) // The coordinator may hear of topics later than its clients.
	scenario.SettleAll(t, []*scenario.ConsumerMember{probe}, 2)
	probe.Leave(-1)
	for i, tc := range []struct{ asks, want string }{
		{"range", "range"}, {"uniform", "uniform"}, {"range", "range"}, {"uniform", "uniform"}, {"uniform", "uniform"},
	} {
		m := t.ConsumerMember(group, string(rune('a'+i)), a, b)
		m.Assignor = &tc.asks
		m.Beat()
		g := t.DescribeConsumers(group)
		scenario.Equal(t, "members", len(g.Members), i+1)
		scenario.Equal(t, "assignor of "+scenario.Plain(i+1)+" members", g.AssignorName, tc.want)
		var most int // Of two topics with one partition each, range gives both to the first.
		for _, gm := range g.Members {
			most = max(most, len(gm.TargetAssignment.TopicPartitions))
		}
		if i > 0 {
			scenario.Equal(t, "topics of one member of "+scenario.Plain(i+1), most, map[string]int{"range": 2, "uniform": 1}[tc.want])
		}
	}
}

func consumerNewTopics(t *scenario.T) {
	group, now, later := t.Group(), t.Topic(1), t.Name("later")
	m := t.ConsumerMember(group, "a", now, later)
	scenario.SettleAll(t, []*scenario.ConsumerMember{m}, 1)
	epoch := m.Epoch
	t.CreateTopic(later, 1)
	scenario.SettleAll(t, []*scenario.ConsumerMember{m}, 2)
	scenario.Equal(t, "epoch with the new topic", m.Epoch, epoch+1)
	t.OK("more partitions", t.CreatePartitions(t.Newest(kmsg.CreatePartitions, 3), now, 3, nil).ErrorCode)
	scenario.SettleAll(t, []*scenario.ConsumerMember{m}, 4)
	scenario.Equal(t, "epoch with the new partitions", m.Epoch, epoch+2)
	t.OK("delete", t.DeleteTopic(later))
	scenario.SettleAll(t, []*scenario.ConsumerMember{m}, 3)
	m.Topics = []string{later}
	scenario.SettleAll(t, []*scenario.ConsumerMember{m}, 0)
}

func consumerPattern(t *scenario.T) {
	prefix, group := t.Name("p"), t.Group()
	for _, name := range []string{"-one", "-two", "-not"} {
		t.CreateTopic(prefix+name, 1)
	}
	m := t.ConsumerMember(group, "a")
	m.Topics = []string{}
	m.Regex = new(prefix + "-(one")
	m.Refused("no pattern", kerr.InvalidRegularExpression, nil)
	m.Regex = new(prefix + "-(one|two)")
	scenario.SettleAll(t, []*scenario.ConsumerMember{m}, 2)
	g := t.DescribeConsumers(group)
	scenario.Equal(t, "the pattern", *scenario.One(t, "members", g.Members).SubscribedTopicRegex, *m.Regex)
	m.Regex = new("")
	m.Topics = []string{prefix + "-not"}
	scenario.SettleAll(t, []*scenario.ConsumerMember{m}, 1)
	scenario.Equal(t, "what it has", m.Has[0].TopicID, t.TopicID(prefix+"-not"))
}

func consumerHeartbeatInterval(t *scenario.T) {
	topic, group := t.Topic(1), t.Group()
	m := t.ConsumerMember(group, "a", topic)
	first := m.TryBeat(nil)
	t.OK("join", first.ErrorCode)
	m.Epoch = first.MemberEpoch
	kind := kmsg.ConfigResourceTypeGroupConfig
	t.OK("alter", t.Alter(1, kind, group, scenario.Set("consumer.heartbeat.interval.ms", "7000")).ErrorCode)
	t.UnsetAtEnd(1, kind, group, "consumer.heartbeat.interval.ms")
	t.Until("the interval", func() bool { return m.TryBeat(nil).HeartbeatIntervalMillis == 7000 })
	t.Code("an interval that is too short", t.Alter(1, kind, group, scenario.Set("consumer.heartbeat.interval.ms", "1")).ErrorCode, kerr.InvalidConfig)
}

func consumerOffsets(t *scenario.T) {
	topic, group := t.Topic(1), t.Group()
	a, b := t.ConsumerMember(group, "a", topic), t.ConsumerMember(group, "b", topic)
	scenario.SettleAll(t, []*scenario.ConsumerMember{a}, 1)
	old := a.Epoch
	b.Beat()
	t.Until("the first to come to the new epoch", func() bool { a.Take(a.Beat()); return a.Epoch > old })
	t.Each(kmsg.OffsetCommit, 2, 10, func(v int16) {
		var served *kerr.Error
		stale := kerr.StaleMemberEpoch
		if v < 9 {
			served, stale = kerr.UnsupportedVersion, kerr.UnsupportedVersion
		}
		for _, tc := range []struct {
			what  string
			id    string
			epoch int32
			want  *kerr.Error
		}{
			{"as it is", a.ID, a.Epoch, served},
			{"a larger epoch", a.ID, a.Epoch + 1, stale},
			{"a member that is not there", "nobody", a.Epoch, kerr.UnknownMemberID},
			{"of no member", "", -1, kerr.UnknownMemberID},
		} {
			req := t.CommitRequest(v, group, topic, scenario.Committing{Offset: int64(v)})
			req.Generation, req.MemberID = tc.epoch, tc.id
			t.Code("commit, "+tc.what, scenario.One(t, "partitions", t.CommitCodes(v, req)), tc.want)
		}
	})
	t.Each(kmsg.OffsetFetch, 9, 10, func(v int16) {
		for _, tc := range []struct {
			what  string
			id    string
			epoch int32
			want  *kerr.Error
		}{
			{"as it is", a.ID, a.Epoch, nil},
			{"a larger epoch", a.ID, a.Epoch + 1, kerr.StaleMemberEpoch},
			{"an older epoch", a.ID, a.Epoch - 1, kerr.StaleMemberEpoch},
			{"a member that is not there", "nobody", a.Epoch, kerr.UnknownMemberID},
			{"of no member", "", -1, nil},
		} {
			req := t.OffsetFetchRequest(v, group, topic, 0)
			req.Groups[0].MemberEpoch = tc.epoch
			if tc.id != "" {
				req.Groups[0].MemberID = &tc.id
			}
			t.Code("fetch, "+tc.what, scenario.One(t, "groups", scenario.Ask[*kmsg.OffsetFetchResponse](t, v, req).Groups).ErrorCode, tc.want)
		}
	})
}

func consumerClassicRequests(t *scenario.T) {
	topic, group := t.Topic(1), t.Group()
	m := t.ConsumerMember(group, "a", topic)
	scenario.SettleAll(t, []*scenario.ConsumerMember{m}, 1)
	classic := t.Member(group)
	t.Each(kmsg.JoinGroup, 0, 9, func(v int16) {
		t.Code("join as another type", classic.TryJoin(v).ErrorCode, kerr.InconsistentGroupProtocol)
	})
	classic.ID, classic.Generation = "nobody", m.Epoch
	t.Code("sync of nobody", classic.Sync(nil).ErrorCode, kerr.UnknownMemberID)
	t.Code("heartbeat of nobody", classic.Beat(), kerr.UnknownMemberID)
	t.Code("leave of nobody", classic.Leave(), kerr.UnknownMemberID)
	classic.ID = m.ID
	t.Code("heartbeat of a member of the other protocol", classic.Beat(), kerr.UnknownMemberID)
	t.Each(kmsg.DescribeGroups, 0, 6, func(v int16) {
		g := t.DescribeGroup(v, group)
		if v >= 6 {
			t.Code("describe as a classic group", g.ErrorCode, kerr.GroupIDNotFound)
		} else {
			t.OK("describe as a classic group", g.ErrorCode)
		}
		scenario.Equal(t, "state", g.State, "Dead")
	})
	scenario.SettleAll(t, []*scenario.ConsumerMember{m}, 1)
}

func consumerUpgrade(t *scenario.T) {
	topic, group := t.Topic(2), t.Group()
	version := t.Newest(kmsg.ListGroups, 5)
	classic := t.Member(group).LeaveAtEnd()
	classic.Kind = "consumer"
	classic.Metadata = func(string) []byte {
		s := kmsg.NewConsumerMemberMetadata()
		s.Topics = []string{topic}
		return s.AppendTo(nil)
	}
	assignment := kmsg.NewConsumerMemberAssignment()
	assignment.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: topic, Partitions: []int32{0, 1}}}
	classic.Join()
	t.OK("sync", classic.Sync(map[string]string{classic.ID: string(assignment.AppendTo(nil))}).ErrorCode)
	scenario.Equal(t, "type at first", listedGroup(t, version, group, nil, nil).GroupType, "classic")
	m := t.ConsumerMember(group, "new", topic)
	m.Beat()
	scenario.Equal(t, "type with one of the new protocol", listedGroup(t, version, group, nil, nil).GroupType, "consumer")
	g := t.DescribeConsumers(group)
	kinds := map[string]int8{}
	for _, gm := range g.Members {
		kinds[gm.MemberID] = gm.MemberType
	}
	scenario.Equal(t, "member types", scenario.Plain([]int8{kinds[classic.ID], kinds["new"]}), scenario.Plain([]int8{0, 1}))
	scenario.Equal(t, "members", len(kinds), 2)

	t.Until("the classic one to hear of it", func() bool { return classic.Beat() == kerr.RebalanceInProgress.Code })
	classic.Join()
	t.OK("its sync", classic.Sync(nil).ErrorCode)
	t.Until("one partition for the new one", func() bool {
		m.Take(m.Beat())
		if classic.Beat() == kerr.RebalanceInProgress.Code {
			classic.Join()
			t.OK("its sync", classic.Sync(nil).ErrorCode)
		}
		return m.Holds() == 1
	})
	m.Leave(-1)
	scenario.Equal(t, "type when it has left", listedGroup(t, version, group, nil, nil).GroupType, "classic")
	t.Until("the classic one to hear of that", func() bool { return classic.Beat() == kerr.RebalanceInProgress.Code })
	resp := classic.Join()
	scenario.Equal(t, "members of the classic group", len(resp.Members), 1)
	t.OK("sync of the classic one", classic.Sync(map[string]string{classic.ID: "x"}).ErrorCode)
	scenario.Equal(t, "state", t.GroupState(group), "Stable")
}

func consumerAnswers(t *scenario.T) {
	t.Each(kmsg.ConsumerGroupHeartbeat, 0, 1, func(v int16) {
		group, topic := t.Group(), t.Topic(2)
		probe := t.ConsumerMember(group, "probe", topic) // The coordinator may hear of a topic later than its clients.
		scenario.SettleAll(t, []*scenario.ConsumerMember{probe}, 2)
		probe.Leave(-1)
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch = group, "a-"+group, 0
		if v == 0 {
			req.MemberID = ""
		}
		req.InstanceID, req.RackID = new("i-"+group), new("here")
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.ServerAssignor = 45000, []string{topic}, new("range")
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		got := scenario.Ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, req)
		if v == 0 {
			if got.MemberID == nil || len(*got.MemberID) != 22 {
				t.Fatalf("member id: got %s", scenario.Plain(got.MemberID))
			}
			req.MemberID = *got.MemberID
		}
		interval := t.Setting(kmsg.ConfigResourceTypeBroker, t.NodeName(), "group.consumer.heartbeat.interval.ms")
		scenario.Equal(t, "heartbeat interval", strconv.Itoa(int(got.HeartbeatIntervalMillis)), interval)
		epoch := got.MemberEpoch
		if epoch < 1 {
			t.Fatalf("member epoch: got %d", epoch)
		}
		want := scenario.FilledPtr(func(r *kmsg.ConsumerGroupHeartbeatResponse) {
			r.MemberID, r.MemberEpoch, r.HeartbeatIntervalMillis = &req.MemberID, epoch, got.HeartbeatIntervalMillis
			r.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{
				{TopicID: t.TopicID(topic), Partitions: []int32{0, 1}},
			}}
		})
		scenario.Whole(t, "the first heartbeat", got, want)
		leave := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		leave.Group, leave.MemberID, leave.MemberEpoch, leave.InstanceID, leave.RebalanceTimeoutMillis = group, req.MemberID, -1, req.InstanceID, -1
		left := false
		t.Cleanup(func() {
			if !left {
				scenario.AskOn[*kmsg.ConsumerGroupHeartbeatResponse](t, t.Dial(), v, leave)
			}
		})

		beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		beat.Group, beat.MemberID, beat.MemberEpoch, beat.InstanceID, beat.RebalanceTimeoutMillis = group, req.MemberID, epoch, req.InstanceID, -1
		beat.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{{TopicID: t.TopicID(topic), Partitions: []int32{0, 1}}}
		want.Assignment = nil
		scenario.Whole(t, "the second", scenario.Ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, beat), want)
		t.Each(kmsg.ConsumerGroupDescribe, 0, 1, func(dv int16) { describedConsumers(t, dv, req, epoch) })
		scenario.Whole(t, "the last", scenario.Ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, leave), scenario.FilledPtr(func(r *kmsg.ConsumerGroupHeartbeatResponse) {
			r.MemberID, r.MemberEpoch = &req.MemberID, -1
		}))
		left = true
	})
}

// describedConsumers checks the description of a group of one member.
func describedConsumers(t *scenario.T, version int16, joined *kmsg.ConsumerGroupHeartbeatRequest, epoch int32) {
	topic, missing := joined.SubscribedTopicNames[0], t.Name("missing")
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups, req.IncludeAuthorizedOperations = []string{joined.Group, missing}, true
	got := scenario.Ask[*kmsg.ConsumerGroupDescribeResponse](t, version, req)
	slices.SortFunc(got.Groups, func(a, b kmsg.ConsumerGroupDescribeResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
	scenario.Equal(t, "groups", len(got.Groups), 2)
	host := scenario.One(t, "members", got.Groups[0].Members).ClientHost
	assigned := kmsg.Assignment{TopicPartitions: []kmsg.AssignmentTopicPartition{{TopicID: t.TopicID(topic), Topic: topic, Partitions: []int32{0, 1}}}}
	want := &kmsg.ConsumerGroupDescribeResponse{Groups: []kmsg.ConsumerGroupDescribeResponseGroup{
		scenario.Filled(func(g *kmsg.ConsumerGroupDescribeResponseGroup) {
			g.Group, g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName = joined.Group, "Stable", epoch, epoch, "range"
			g.AuthorizedOperations = groupOperations
			g.Members = []kmsg.ConsumerGroupDescribeResponseGroupMember{scenario.Filled(func(m *kmsg.ConsumerGroupDescribeResponseGroupMember) {
				m.MemberID, m.InstanceID, m.RackID, m.MemberEpoch = joined.MemberID, joined.InstanceID, joined.RackID, epoch
				m.ClientID, m.ClientHost, m.SubscribedTopics = "moldau-compat", host, []string{topic}
				m.SubscribedTopicRegex = new("")
				m.Assignment, m.TargetAssignment, m.MemberType = assigned, assigned, 1
			})}
		}),
		scenario.Filled(func(g *kmsg.ConsumerGroupDescribeResponseGroup) {
			g.Group, g.ErrorCode, g.ErrorMessage = missing, kerr.GroupIDNotFound.Code, new("Group "+missing+" not found.")
			g.AuthorizedOperations = math.MinInt32
		}),
	}}
	scenario.Whole(t, "ConsumerGroupDescribe", got, want)
}

func describeNoGroup(t *scenario.T) {
	t.Each(kmsg.ConsumerGroupDescribe, 0, 1, func(v int16) {
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Groups = []string{""}
		g := scenario.One(t, "groups", scenario.Ask[*kmsg.ConsumerGroupDescribeResponse](t, v, req).Groups)
		t.Code("describe", g.ErrorCode, kerr.InvalidGroupID)
	})
}
