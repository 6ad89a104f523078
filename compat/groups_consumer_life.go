package compat

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerLives are about what becomes of members of consumer groups (KIP-848).
var consumerLives = []Scenario{
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
}

func consumerReconcile(t *T) {
	topic, group := t.Topic(4), t.Group()
	a, b := t.consumerMember(group, "a", topic), t.consumerMember(group, "b", topic)
	settleAll(t, []*consumerMember{a}, 4)
	first := a.epoch
	if told := b.beat(); told != nil && len(told.Topics) > 0 {
		t.Fatalf("the second is given %s at once", plain(told))
	}
	equal(t, "epoch of the second", b.epoch, first+1)
	told := a.beat()
	equal(t, "epoch of the first while it has too much", a.epoch, first)
	if told := b.beat(); told != nil && len(told.Topics) > 0 {
		t.Fatalf("the second is given %s before the first gives it up", plain(told))
	}
	equal(t, "state", t.describeConsumers(group).State, "Reconciling")
	a.take(told)
	equal(t, "what the first is to keep", a.holds(), 2)
	a.take(a.beat())
	equal(t, "epoch of the first", a.epoch, first+1)
	b.take(b.beat())
	equal(t, "what the second has", b.holds(), 2)
	parts := slices.Concat(a.has[0].Partitions, b.has[0].Partitions)
	slices.Sort(parts)
	equals(t, "what both have", parts, []int32{0, 1, 2, 3})
	g := t.describeConsumers(group)
	equal(t, "state", g.State, "Stable")
	equal(t, "epoch", g.Epoch, first+1)
	equal(t, "epoch of the assignment", g.AssignmentEpoch, first+1)
}

func consumerEpochs(t *T) {
	topic, group := t.Topic(2), t.Group()
	a, b := t.consumerMember(group, "a", topic), t.consumerMember(group, "b", topic)
	settleAll(t, []*consumerMember{a}, 2)
	settleAll(t, []*consumerMember{a, b}, 1, 1)
	at := func(epoch int32, has ...kmsg.ConsumerGroupHeartbeatRequestTopic) func(r *kmsg.ConsumerGroupHeartbeatRequest) {
		return func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch, r.Topics = epoch, has }
	}
	other := kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.topicID(topic), Partitions: []int32{0, 1}}
	a.refused("a larger epoch", kerr.FencedMemberEpoch, at(a.epoch+1, a.has...))
	a.refused("the epoch before, with more than was assigned", kerr.FencedMemberEpoch, at(a.epoch-1, other))
	a.refused("the epoch before, without a word on what it has", kerr.FencedMemberEpoch, at(a.epoch-1))
	resp := a.tryBeat(at(a.epoch-1, a.has...))
	t.ok("the epoch before, of an answer that was lost", resp.ErrorCode)
	equal(t, "epoch in the answer", resp.MemberEpoch, a.epoch)
	nobody := t.consumerMember(group, "nobody", topic)
	nobody.refused("a member that is not there", kerr.UnknownMemberID, at(1))
	missing := t.consumerMember(t.name("missing"), "a", topic)
	missing.refused("a group that is not there", kerr.GroupIDNotFound, at(1))
	a.refused("no epoch", kerr.InvalidRequest, at(-3))
	settleAll(t, []*consumerMember{a, b}, 1, 1)
	// To join again is what a member does that lost all: it is given everything anew.
	again := a.tryBeat(at(0))
	t.code("to join again with no list of partitions", again.ErrorCode, kerr.InvalidRequest)
	a.epoch, a.has = 0, nil
	settleAll(t, []*consumerMember{a, b}, 1, 1)
}

func consumerLeave(t *T) {
	topic, group := t.Topic(2), t.Group()
	a, b := t.consumerMember(group, "a", topic), t.consumerMember(group, "b", topic)
	settleAll(t, []*consumerMember{a}, 2)
	settleAll(t, []*consumerMember{a, b}, 1, 1)
	epoch := a.epoch
	b.leave(-1)
	b.refused("who left", kerr.UnknownMemberID, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = epoch })
	settleAll(t, []*consumerMember{a}, 2)
	equal(t, "epoch after one left", a.epoch, epoch+1)
	t.code("delete the group", t.deleteGroup(t.newest(kmsg.DeleteGroups, 2), group), kerr.NonEmptyGroup)
	a.leave(-1)
	g := t.describeConsumers(group)
	equal(t, "state", g.State, "Empty")
	equal(t, "members", len(g.Members), 0)
	listed := t.listed(t.newest(kmsg.ListGroups, 5), group, nil, []string{"consumer"})
	if listed == nil {
		t.Fatalf("the empty group is not listed")
	}
	t.ok("delete the empty group", t.deleteGroup(t.newest(kmsg.DeleteGroups, 2), group))
	equal(t, "the group is listed", t.listed(t.newest(kmsg.ListGroups, 5), group, nil, nil) != nil, false)
}

func consumerStatic(t *T) {
	topic, group := t.Topic(2), t.Group()
	a, b := t.consumerMember(group, "a", topic), t.consumerMember(group, "b", topic)
	a.instance = new("instance-a")
	settleAll(t, []*consumerMember{a}, 2)
	settleAll(t, []*consumerMember{a, b}, 1, 1)
	epoch, had := a.epoch, plain(a.has)

	second := t.consumerMember(group, "second", topic)
	second.instance = a.instance
	second.refused("another with the instance id", kerr.UnreleasedInstanceID, nil)
	a.refused("the member under another instance id", kerr.UnknownMemberID, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.InstanceID = new("instance-b") })

	a.leave(-2)
	settleAll(t, []*consumerMember{b}, 1) // Nothing was given to it.
	equal(t, "epoch of the other", b.epoch, epoch)
	second.take(second.beat())
	equal(t, "epoch of who comes back", second.epoch, epoch)
	equal(t, "what it has again", plain(second.has), had)
	a.refused("the id from before", kerr.FencedInstanceID, nil)
	second.leave(-1)
	settleAll(t, []*consumerMember{b}, 2)
}

func consumerRebalanceTimeout(t *T) {
	topic, group := t.Topic(2), t.Group()
	a, b := t.consumerMember(group, "a", topic), t.consumerMember(group, "b", topic)
	a.rebalance = 300
	settleAll(t, []*consumerMember{a}, 2)
	t.until("the second to have all", func() bool {
		if resp := a.tryBeat(nil); resp.ErrorCode == 0 {
			a.epoch = resp.MemberEpoch // It hears what to give up, and does not.
		}
		b.take(b.beat())
		return b.holds() == 2
	})
	a.refused("who did not give up", kerr.UnknownMemberID, nil)
	equal(t, "members", len(t.describeConsumers(group).Members), 1)
}

func consumerSessionExpires(t *T) {
	topic, group := t.Topic(2), t.Group()
	a, b := t.consumerMember(group, "a", topic), t.consumerMember(group, "b", topic)
	settleAll(t, []*consumerMember{a}, 2)
	settleAll(t, []*consumerMember{a, b}, 1, 1)
	began := time.Now()
	for a.holds() < 2 { // B is silent from now on.
		a.take(a.beat())
		t.pause(time.Second)
	}
	// It was last heard of a little before; 45 s is the default of group.consumer.session.timeout.ms.
	if took := time.Since(began); took < 30*time.Second {
		t.Fatalf("the silent one was put out after %v", took)
	}
	b.refused("the silent one", kerr.UnknownMemberID, nil)
}

func consumerAssignorVotes(t *T) {
	a, b, group := t.Topic(1), t.Topic(1), t.Group()
	probe := t.consumerMember(group, "probe", a, b) // The coordinator may hear of topics later than its clients.
	settleAll(t, []*consumerMember{probe}, 2)
	probe.leave(-1)
	for i, tc := range []struct{ asks, want string }{
		{"range", "range"}, {"uniform", "uniform"}, {"range", "range"}, {"uniform", "uniform"}, {"uniform", "uniform"},
	} {
		m := t.consumerMember(group, string(rune('a'+i)), a, b)
		m.assignor = &tc.asks
		m.beat()
		g := t.describeConsumers(group)
		equal(t, "members", len(g.Members), i+1)
		equal(t, "assignor of "+plain(i+1)+" members", g.AssignorName, tc.want)
		var most int // Of two topics with one partition each, range gives both to the first.
		for _, gm := range g.Members {
			most = max(most, len(gm.TargetAssignment.TopicPartitions))
		}
		if i > 0 {
			equal(t, "topics of one member of "+plain(i+1), most, map[string]int{"range": 2, "uniform": 1}[tc.want])
		}
	}
}

func consumerNewTopics(t *T) {
	group, now, later := t.Group(), t.Topic(1), t.name("later")
	m := t.consumerMember(group, "a", now, later)
	settleAll(t, []*consumerMember{m}, 1)
	epoch := m.epoch
	t.create(later, 1)
	settleAll(t, []*consumerMember{m}, 2)
	equal(t, "epoch with the new topic", m.epoch, epoch+1)
	t.ok("more partitions", t.createPartitions(t.newest(kmsg.CreatePartitions, 3), now, 3, nil).ErrorCode)
	settleAll(t, []*consumerMember{m}, 4)
	equal(t, "epoch with the new partitions", m.epoch, epoch+2)
	t.ok("delete", t.delete(later))
	settleAll(t, []*consumerMember{m}, 3)
	m.topics = []string{later}
	settleAll(t, []*consumerMember{m}, 0)
}

func consumerPattern(t *T) {
	prefix, group := t.name("p"), t.Group()
	for _, name := range []string{"-one", "-two", "-not"} {
		t.create(prefix+name, 1)
	}
	m := t.consumerMember(group, "a")
	m.topics = []string{}
	m.regex = new(prefix + "-(one")
	m.refused("no pattern", kerr.InvalidRegularExpression, nil)
	m.regex = new(prefix + "-(one|two)")
	settleAll(t, []*consumerMember{m}, 2)
	g := t.describeConsumers(group)
	equal(t, "the pattern", *one(t, "members", g.Members).SubscribedTopicRegex, *m.regex)
	m.regex = new("")
	m.topics = []string{prefix + "-not"}
	settleAll(t, []*consumerMember{m}, 1)
	equal(t, "what it has", m.has[0].TopicID, t.topicID(prefix+"-not"))
}

func consumerHeartbeatInterval(t *T) {
	topic, group := t.Topic(1), t.Group()
	m := t.consumerMember(group, "a", topic)
	first := m.tryBeat(nil)
	t.ok("join", first.ErrorCode)
	m.epoch = first.MemberEpoch
	kind := kmsg.ConfigResourceTypeGroupConfig
	t.ok("alter", t.alter(1, kind, group, set("consumer.heartbeat.interval.ms", "7000")).ErrorCode)
	t.unsetAtEnd(1, kind, group, "consumer.heartbeat.interval.ms")
	t.until("the interval", func() bool { return m.tryBeat(nil).HeartbeatIntervalMillis == 7000 })
	t.code("an interval that is too short", t.alter(1, kind, group, set("consumer.heartbeat.interval.ms", "1")).ErrorCode, kerr.InvalidConfig)
}

func consumerOffsets(t *T) {
	topic, group := t.Topic(1), t.Group()
	a, b := t.consumerMember(group, "a", topic), t.consumerMember(group, "b", topic)
	settleAll(t, []*consumerMember{a}, 1)
	old := a.epoch
	b.beat()
	t.until("the first to come to the new epoch", func() bool { a.take(a.beat()); return a.epoch > old })
	t.each(kmsg.OffsetCommit, 2, 10, func(v int16) {
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
			{"as it is", a.id, a.epoch, served},
			{"a larger epoch", a.id, a.epoch + 1, stale},
			{"a member that is not there", "nobody", a.epoch, kerr.UnknownMemberID},
			{"of no member", "", -1, kerr.UnknownMemberID},
		} {
			req := t.commitRequest(v, group, topic, committing{offset: int64(v)})
			req.Generation, req.MemberID = tc.epoch, tc.id
			t.code("commit, "+tc.what, one(t, "partitions", t.commitCodes(v, req)), tc.want)
		}
	})
	t.each(kmsg.OffsetFetch, 9, 10, func(v int16) {
		for _, tc := range []struct {
			what  string
			id    string
			epoch int32
			want  *kerr.Error
		}{
			{"as it is", a.id, a.epoch, nil},
			{"a larger epoch", a.id, a.epoch + 1, kerr.StaleMemberEpoch},
			{"an older epoch", a.id, a.epoch - 1, kerr.StaleMemberEpoch},
			{"a member that is not there", "nobody", a.epoch, kerr.UnknownMemberID},
			{"of no member", "", -1, nil},
		} {
			req := t.offsetFetchRequest(v, group, topic, 0)
			req.Groups[0].MemberEpoch = tc.epoch
			if tc.id != "" {
				req.Groups[0].MemberID = &tc.id
			}
			t.code("fetch, "+tc.what, one(t, "groups", ask[*kmsg.OffsetFetchResponse](t, v, req).Groups).ErrorCode, tc.want)
		}
	})
}

func consumerClassicRequests(t *T) {
	topic, group := t.Topic(1), t.Group()
	m := t.consumerMember(group, "a", topic)
	settleAll(t, []*consumerMember{m}, 1)
	classic := t.member(group)
	t.each(kmsg.JoinGroup, 0, 9, func(v int16) {
		t.code("join as another type", classic.tryJoin(v).ErrorCode, kerr.InconsistentGroupProtocol)
	})
	classic.id, classic.generation = "nobody", m.epoch
	t.code("sync of nobody", classic.sync(nil).ErrorCode, kerr.UnknownMemberID)
	t.code("heartbeat of nobody", classic.beat(), kerr.UnknownMemberID)
	t.code("leave of nobody", classic.leave(), kerr.UnknownMemberID)
	classic.id = m.id
	t.code("heartbeat of a member of the other protocol", classic.beat(), kerr.UnknownMemberID)
	t.each(kmsg.DescribeGroups, 0, 6, func(v int16) {
		g := t.describe(v, group)
		if v >= 6 {
			t.code("describe as a classic group", g.ErrorCode, kerr.GroupIDNotFound)
		} else {
			t.ok("describe as a classic group", g.ErrorCode)
		}
		equal(t, "state", g.State, "Dead")
	})
	settleAll(t, []*consumerMember{m}, 1)
}

func consumerUpgrade(t *T) {
	topic, group := t.Topic(2), t.Group()
	version := t.newest(kmsg.ListGroups, 5)
	classic := t.member(group).leaveAtEnd()
	classic.kind = "consumer"
	classic.metadata = func(string) []byte {
		s := kmsg.NewConsumerMemberMetadata()
		s.Topics = []string{topic}
		return s.AppendTo(nil)
	}
	assignment := kmsg.NewConsumerMemberAssignment()
	assignment.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: topic, Partitions: []int32{0, 1}}}
	classic.join()
	t.ok("sync", classic.sync(map[string]string{classic.id: string(assignment.AppendTo(nil))}).ErrorCode)
	equal(t, "type at first", t.listed(version, group, nil, nil).GroupType, "classic")
	m := t.consumerMember(group, "new", topic)
	m.beat()
	equal(t, "type with one of the new protocol", t.listed(version, group, nil, nil).GroupType, "consumer")
	g := t.describeConsumers(group)
	kinds := map[string]int8{}
	for _, gm := range g.Members {
		kinds[gm.MemberID] = gm.MemberType
	}
	equal(t, "member types", plain([]int8{kinds[classic.id], kinds["new"]}), plain([]int8{0, 1}))
	equal(t, "members", len(kinds), 2)

	t.until("the classic one to hear of it", func() bool { return classic.beat() == kerr.RebalanceInProgress.Code })
	classic.join()
	t.ok("its sync", classic.sync(nil).ErrorCode)
	t.until("one partition for the new one", func() bool {
		m.take(m.beat())
		if classic.beat() == kerr.RebalanceInProgress.Code {
			classic.join()
			t.ok("its sync", classic.sync(nil).ErrorCode)
		}
		return m.holds() == 1
	})
	m.leave(-1)
	equal(t, "type when it has left", t.listed(version, group, nil, nil).GroupType, "classic")
	t.until("the classic one to hear of that", func() bool { return classic.beat() == kerr.RebalanceInProgress.Code })
	resp := classic.join()
	equal(t, "members of the classic group", len(resp.Members), 1)
	t.ok("sync of the classic one", classic.sync(map[string]string{classic.id: "x"}).ErrorCode)
	equal(t, "state", t.state(group), "Stable")
}
