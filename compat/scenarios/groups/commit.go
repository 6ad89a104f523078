package groups

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// commitScenarios are about committing offsets.
var commitScenarios = []scenario.Scenario{
	{ID: "groups.commit.versions", Says: "What is committed in any version is fetched in any version.", Refs: []string{"case O05"}, Run: commitVersions},
	{ID: "groups.commit.metadata", Says: "Metadata comes back as it was; null comes back empty.", Refs: []string{"nisshi FINDINGS rdk 4", "case G05"}, Run: commitMetadata},
	{ID: "groups.commit.backwards", Says: "Offsets may be committed backwards and beyond the end of the log.", Refs: []string{"kop#1500", "case G07"}, Run: commitBackwards},
	{ID: "groups.commit.metadata-too-large", Says: "Metadata of more than offset.metadata.max.bytes is OFFSET_METADATA_TOO_LARGE for its partition alone.", Run: commitTooLarge},
	{ID: "groups.commit.unknown-topic", Says: "Commits for unknown topics and partitions are UNKNOWN_TOPIC_OR_PARTITION, and UNKNOWN_TOPIC_ID from 10.", Refs: []string{"KIP-848"}, Run: commitUnknownTopic},
	{ID: "groups.commit.generation-of-none", Says: "A commit with a generation for a group that is not is ILLEGAL_GENERATION, and GROUP_ID_NOT_FOUND from 9.", Run: commitGenerationOfNone},
	{ID: "groups.commit.member", Says: "Commits of members need the right member and generation.", Run: commitMember},
	{ID: "groups.commit.completing", Says: "A commit between join and sync is REBALANCE_IN_PROGRESS.", Run: commitCompleting},
	{ID: "groups.commit.preparing", Says: "A commit while a rebalance is prepared is taken.", Run: commitPreparing},
	{ID: "groups.commit.empty-group-id", Says: "The empty group id keeps offsets too, though nobody can join it.", Refs: []string{"KIP-289"}, Run: commitEmptyGroup},
	{ID: "groups.commit.leader-epoch", Says: "The leader epoch of a commit comes back.", Refs: []string{"KIP-320"}, Run: commitLeaderEpoch},
	{ID: "groups.commit.no-topics", Says: "A commit of nothing is answered with nothing.", Run: commitNothing},
	{ID: "groups.commit.whole-answer", Says: "OffsetCommit answers each partition in every version, also those one behind the last.", Run: commitAnswers},
	{ID: "groups.commit.refused-makes-group", Says: "A commit whose offsets are all refused for their metadata makes its group all the same.", Run: refusedMakesGroup}, // Found by a differential run.
}

func commitVersions(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	offset := int64(100)
	t.Each(kmsg.OffsetCommit, 0, 10, func(v int16) {
		offset++
		t.OK("commit", scenario.One(t, "partitions", t.Commit(v, group, topic, scenario.Committing{Offset: offset, Metadata: new(strconv.FormatInt(offset, 10))})))
		got := t.Committed(t.Newest(kmsg.OffsetFetch, 7), group, topic, 0)
		scenario.Equal(t, "offset", got.Offset, offset)
	})
	t.Each(kmsg.OffsetFetch, 0, 10, func(v int16) {
		got := t.Committed(v, group, topic, 0)
		t.OK("fetch", got.ErrorCode)
		scenario.Equal(t, "offset", got.Offset, offset)
		t.Text("metadata", got.Metadata, strconv.FormatInt(offset, 10))
		if v >= 5 {
			scenario.Equal(t, "leader epoch", got.LeaderEpoch, -1)
		}
	})
}

func commitMetadata(t *scenario.T) {
	group, topic := t.Group(), t.Topic(3)
	version := t.Newest(kmsg.OffsetCommit, 8)
	t.Commit(version, group, topic,
		scenario.Committing{Partition: 0, Offset: 1, Metadata: new("x")}, scenario.Committing{Partition: 1, Offset: 1, Metadata: nil}, scenario.Committing{Partition: 2, Offset: 1, Metadata: new("")})
	t.Each(kmsg.OffsetFetch, 1, 10, func(v int16) {
		for p, want := range []string{"x", "", ""} {
			t.Text("metadata", t.Committed(v, group, topic, int32(p)).Metadata, want)
		}
	})
}

func commitBackwards(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	version := t.Newest(kmsg.OffsetCommit, 8)
	for _, offset := range []int64{10, 4, 1 << 40, 0} {
		t.OK("commit", scenario.One(t, "partitions", t.Commit(version, group, topic, scenario.Committing{Offset: offset})))
		scenario.Equal(t, "offset", t.Committed(t.Newest(kmsg.OffsetFetch, 7), group, topic, 0).Offset, offset)
	}
}

func commitTooLarge(t *scenario.T) {
	group, topic := t.Group(), t.Topic(2)
	t.Each(kmsg.OffsetCommit, 0, 10, func(v int16) {
		codes := t.Commit(v, group, topic,
			scenario.Committing{Partition: 0, Offset: 7, Metadata: new(strings.Repeat("x", 4097))}, scenario.Committing{Partition: 1, Offset: 8, Metadata: new(strings.Repeat("y", 4096))})
		scenario.Equal(t, "partitions", len(codes), 2)
		t.Code("4097 bytes", codes[0], kerr.OffsetMetadataTooLarge)
		t.OK("4096 bytes", codes[1])
	})
	fetch := t.Newest(kmsg.OffsetFetch, 7)
	scenario.Equal(t, "refused", t.Committed(fetch, group, topic, 0).Offset, -1)
	scenario.Equal(t, "taken", t.Committed(fetch, group, topic, 1).Offset, 8)
}

func commitUnknownTopic(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	missing := t.Name("missing")
	t.Each(kmsg.OffsetCommit, 0, 9, func(v int16) {
		t.Code("topic", scenario.One(t, "partitions", t.Commit(v, group, missing, scenario.Committing{Offset: 1})), kerr.UnknownTopicOrPartition)
	})
	t.Each(kmsg.OffsetCommit, 0, 10, func(v int16) {
		codes := t.Commit(v, group, topic, scenario.Committing{Partition: 7, Offset: 1}, scenario.Committing{Partition: 0, Offset: 2})
		scenario.Equal(t, "partitions", len(codes), 2)
		t.Code("partition 7", codes[0], kerr.UnknownTopicOrPartition)
		t.OK("partition 0", codes[1])
	})
	t.Each(kmsg.OffsetCommit, 10, 10, func(v int16) {
		req := t.CommitRequest(v, group, topic, scenario.Committing{Offset: 1})
		req.Topics[0].TopicID = [16]byte{7}
		t.Code("id", scenario.One(t, "partitions", t.CommitCodes(v, req)), kerr.UnknownTopicID)
	})
}

func commitGenerationOfNone(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.OffsetCommit, 2, 10, func(v int16) {
		m := t.Member(t.Group())
		m.Generation, m.ID = 5, "someone"
		want := kerr.IllegalGeneration
		if v >= 9 {
			want = kerr.GroupIDNotFound
		}
		t.Code("commit", m.CommitAs(v, topic, 1), want)
	})
}

func commitMember(t *scenario.T) {
	topic := t.Topic(1)
	m := t.Stable(t.Group())
	t.Each(kmsg.OffsetCommit, 2, 10, func(v int16) {
		t.OK("member", m.CommitAs(v, topic, 3))
		other := *m
		other.Generation++
		t.Code("wrong generation", other.CommitAs(v, topic, 4), kerr.IllegalGeneration)
		other = *m
		other.ID = "nobody"
		t.Code("unknown member", other.CommitAs(v, topic, 4), kerr.UnknownMemberID)
		t.Code("nobody", scenario.One(t, "partitions", t.Commit(v, m.Group, topic, scenario.Committing{Offset: 4})), kerr.UnknownMemberID)
	})
	scenario.Equal(t, "offset", t.Committed(t.Newest(kmsg.OffsetFetch, 7), m.Group, topic, 0).Offset, 3)
}

func commitCompleting(t *scenario.T) {
	topic := t.Topic(1)
	m := t.Member(t.Group()).LeaveAtEnd()
	m.Join()
	t.Each(kmsg.OffsetCommit, 2, 10, func(v int16) {
		t.Code("commit", m.CommitAs(v, topic, 3), kerr.RebalanceInProgress)
	})
}

func commitPreparing(t *scenario.T) {
	topic := t.Topic(1)
	leader, follower := t.SettledPair(t.Group())
	p := leader.SendJoin()
	t.Until("the rebalance", func() bool { return follower.Beat() == kerr.RebalanceInProgress.Code })
	t.OK("commit", follower.CommitAs(t.Newest(kmsg.OffsetCommit, 8), topic, 9))
	q := follower.SendJoin()
	leader.Joined(p)
	follower.Joined(q)
	scenario.Equal(t, "offset", t.Committed(t.Newest(kmsg.OffsetFetch, 7), leader.Group, topic, 0).Offset, 9)
}

// commitEmptyGroup: GroupCoordinatorService.isGroupIdNotEmpty is asked by joins,
// heartbeats and syncs only.
func commitEmptyGroup(t *scenario.T) {
	t.Group()
	topic := t.Topic(1)
	t.Each(kmsg.OffsetCommit, 2, 10, func(v int16) {
		t.OK("commit", scenario.One(t, "partitions", t.Commit(v, "", topic, scenario.Committing{Offset: int64(v)})))
		scenario.Equal(t, "offset", t.Committed(t.Newest(kmsg.OffsetFetch, 7), "", topic, 0).Offset, int64(v))
	})
}

func commitLeaderEpoch(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	t.Each(kmsg.OffsetCommit, 6, 10, func(v int16) {
		req := t.CommitRequest(v, group, topic, scenario.Committing{Offset: 1})
		req.Topics[0].Partitions[0].LeaderEpoch = int32(v)
		t.OK("commit", scenario.One(t, "partitions", t.CommitCodes(v, req)))
		t.Each(kmsg.OffsetFetch, 5, 10, func(f int16) {
			scenario.Equal(t, "leader epoch", t.Committed(f, group, topic, 0).LeaderEpoch, int32(v))
		})
	})
}

func commitNothing(t *scenario.T) {
	group := t.Group()
	t.Each(kmsg.OffsetCommit, 2, 10, func(v int16) {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Generation = group, -1
		scenario.Equal(t, "topics", len(scenario.Ask[*kmsg.OffsetCommitResponse](t, v, req).Topics), 0)
	})
}

func commitAnswers(t *scenario.T) {
	group, topic, missing := t.Group(), t.Topic(2), t.Name("missing")
	t.Each(kmsg.OffsetCommit, 0, 10, func(v int16) {
		req := t.CommitRequest(v, group, topic, scenario.Committing{Offset: 1}, scenario.Committing{Partition: 1, Offset: 2}, scenario.Committing{Partition: 2}, scenario.Committing{Partition: -1})
		gone := kmsg.NewOffsetCommitRequestTopic()
		gone.Topic, gone.TopicID, gone.Partitions = missing, [16]byte{7, 7}, req.Topics[0].Partitions[:1]
		req.Topics = append(req.Topics, gone)
		got := scenario.Ask[*kmsg.OffsetCommitResponse](t, v, req)
		unknown, missed := kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicOrPartition.Code
		if v >= 10 {
			missed = kerr.UnknownTopicID.Code
		}
		answered := func(topic string, id [16]byte, codes map[int32]int16) kmsg.OffsetCommitResponseTopic {
			rt := kmsg.NewOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = topic, id
			for _, n := range slices.Sorted(maps.Keys(codes)) {
				rt.Partitions = append(rt.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: n, ErrorCode: codes[n]})
			}
			return rt
		}
		want := &kmsg.OffsetCommitResponse{Topics: []kmsg.OffsetCommitResponseTopic{
			answered(topic, t.TopicID(topic), map[int32]int16{-1: unknown, 0: 0, 1: 0, 2: unknown}),
			answered(missing, [16]byte{7, 7}, map[int32]int16{0: missed}),
		}}
		for _, r := range []*kmsg.OffsetCommitResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.OffsetCommitResponseTopic) int {
				return cmp.Compare(len(a.Partitions), len(b.Partitions))
			})
			for _, rt := range r.Topics {
				slices.SortFunc(rt.Partitions, func(a, b kmsg.OffsetCommitResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
			}
		}
		scenario.Whole(t, "OffsetCommit", got, want)
	})
}

func refusedMakesGroup(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	long := strings.Repeat("x", 4097)
	t.Each(kmsg.OffsetCommit, 0, 10, func(v int16) {
		refused := func() {
			code := scenario.One(t, "partitions", t.Commit(v, group, topic, scenario.Committing{Partition: 0, Offset: 7, Metadata: &long}))
			t.Code("4097 bytes", code, kerr.OffsetMetadataTooLarge)
		}
		refused()
		version := t.Newest(kmsg.DeleteGroups, 1)
		t.OK("delete", deleteGroup(t, version, group))
		t.Code("delete again", deleteGroup(t, version, group), kerr.GroupIDNotFound)
		refused()
		top, _ := t.OffsetDelete(group, topic, 0)
		t.OK("delete offsets", top)
		of := t.CommitRequest(v, group, topic, scenario.Committing{Offset: 1})
		of.MemberID, of.Generation = "nobody", 1
		if v > 0 { // Before, there are no generations.
			t.Code("of a generation", scenario.One(t, "partitions", t.CommitCodes(v, of)), kerr.UnknownMemberID)
		}
		t.OK("delete", deleteGroup(t, version, group))
	})
}
