package compat

import (
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// committedScenarios are about committed offsets.
var committedScenarios = []Scenario{
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
	{ID: "groups.offset-fetch.unknown", Says: "What was never committed is offset -1 with empty metadata and no error.", Run: offsetFetchUnknown},
	{ID: "groups.offset-fetch.all", Says: "No topics ask for all of them from version 2.", Run: offsetFetchAll},
	{ID: "groups.offset-fetch.batch", Says: "From version 8 several groups are asked at once.", Refs: []string{"KIP-709"}, Run: offsetFetchBatch},
	{ID: "groups.offset-fetch.stable", Says: "RequireStable changes nothing where no transaction is pending.", Refs: []string{"KIP-447"}, Run: offsetFetchStable},
	{ID: "groups.offset-fetch.unknown-id", Says: "From version 10 an unknown topic id is UNKNOWN_TOPIC_ID.", Refs: []string{"KIP-848"}, Since: "4.2", Run: offsetFetchUnknownID},
}

func commitVersions(t *T) {
	group, topic := t.Group(), t.Topic(1)
	offset := int64(100)
	t.each(kmsg.OffsetCommit, 0, 10, func(v int16) {
		offset++
		t.ok("commit", one(t, "partitions", t.commit(v, group, topic, committing{offset: offset, metadata: new(strconv.FormatInt(offset, 10))})))
		got := t.committed(t.newest(kmsg.OffsetFetch, 7), group, topic, 0)
		equal(t, "offset", got.Offset, offset)
	})
	t.each(kmsg.OffsetFetch, 0, 10, func(v int16) {
		got := t.committed(v, group, topic, 0)
		t.ok("fetch", got.ErrorCode)
		equal(t, "offset", got.Offset, offset)
		t.text("metadata", got.Metadata, strconv.FormatInt(offset, 10))
		if v >= 5 {
			equal(t, "leader epoch", got.LeaderEpoch, -1)
		}
	})
}

func commitMetadata(t *T) {
	group, topic := t.Group(), t.Topic(3)
	version := t.newest(kmsg.OffsetCommit, 8)
	t.commit(version, group, topic,
		committing{0, 1, new("x")}, committing{1, 1, nil}, committing{2, 1, new("")})
	t.each(kmsg.OffsetFetch, 1, 10, func(v int16) {
		for p, want := range []string{"x", "", ""} {
			t.text("metadata", t.committed(v, group, topic, int32(p)).Metadata, want)
		}
	})
}

func commitBackwards(t *T) {
	group, topic := t.Group(), t.Topic(1)
	version := t.newest(kmsg.OffsetCommit, 8)
	for _, offset := range []int64{10, 4, 1 << 40, 0} {
		t.ok("commit", one(t, "partitions", t.commit(version, group, topic, committing{offset: offset})))
		equal(t, "offset", t.committed(t.newest(kmsg.OffsetFetch, 7), group, topic, 0).Offset, offset)
	}
}

func commitTooLarge(t *T) {
	group, topic := t.Group(), t.Topic(2)
	t.each(kmsg.OffsetCommit, 0, 10, func(v int16) {
		codes := t.commit(v, group, topic,
			committing{0, 7, new(strings.Repeat("x", 4097))}, committing{1, 8, new(strings.Repeat("y", 4096))})
		equal(t, "partitions", len(codes), 2)
		t.code("4097 bytes", codes[0], kerr.OffsetMetadataTooLarge)
		t.ok("4096 bytes", codes[1])
	})
	fetch := t.newest(kmsg.OffsetFetch, 7)
	equal(t, "refused", t.committed(fetch, group, topic, 0).Offset, -1)
	equal(t, "taken", t.committed(fetch, group, topic, 1).Offset, 8)
}

func commitUnknownTopic(t *T) {
	group, topic := t.Group(), t.Topic(1)
	missing := t.name("missing")
	t.each(kmsg.OffsetCommit, 0, 9, func(v int16) {
		t.code("topic", one(t, "partitions", t.commit(v, group, missing, committing{offset: 1})), kerr.UnknownTopicOrPartition)
	})
	t.each(kmsg.OffsetCommit, 0, 10, func(v int16) {
		codes := t.commit(v, group, topic, committing{partition: 7, offset: 1}, committing{partition: 0, offset: 2})
		equal(t, "partitions", len(codes), 2)
		t.code("partition 7", codes[0], kerr.UnknownTopicOrPartition)
		t.ok("partition 0", codes[1])
	})
	t.each(kmsg.OffsetCommit, 10, 10, func(v int16) {
		req := t.commitRequest(v, group, topic, committing{offset: 1})
		req.Topics[0].TopicID = [16]byte{7}
		t.code("id", one(t, "partitions", t.commitCodes(v, req)), kerr.UnknownTopicID)
	})
}

func commitGenerationOfNone(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.OffsetCommit, 2, 10, func(v int16) {
		m := t.member(t.Group())
		m.generation, m.id = 5, "someone"
		want := kerr.IllegalGeneration
		if v >= 9 {
			want = kerr.GroupIDNotFound
		}
		t.code("commit", m.commitAs(v, topic, 1), want)
	})
}

func commitMember(t *T) {
	topic := t.Topic(1)
	m := t.stable(t.Group())
	t.each(kmsg.OffsetCommit, 2, 10, func(v int16) {
		t.ok("member", m.commitAs(v, topic, 3))
		other := *m
		other.generation++
		t.code("wrong generation", other.commitAs(v, topic, 4), kerr.IllegalGeneration)
		other = *m
		other.id = "nobody"
		t.code("unknown member", other.commitAs(v, topic, 4), kerr.UnknownMemberID)
		t.code("nobody", one(t, "partitions", t.commit(v, m.group, topic, committing{offset: 4})), kerr.UnknownMemberID)
	})
	equal(t, "offset", t.committed(t.newest(kmsg.OffsetFetch, 7), m.group, topic, 0).Offset, 3)
}

func commitCompleting(t *T) {
	topic := t.Topic(1)
	m := t.member(t.Group()).leaveAtEnd()
	m.join()
	t.each(kmsg.OffsetCommit, 2, 10, func(v int16) {
		t.code("commit", m.commitAs(v, topic, 3), kerr.RebalanceInProgress)
	})
}

func commitPreparing(t *T) {
	topic := t.Topic(1)
	leader, follower := t.settledPair(t.Group())
	p := leader.sendJoin()
	t.until("the rebalance", func() bool { return follower.beat() == kerr.RebalanceInProgress.Code })
	t.ok("commit", follower.commitAs(t.newest(kmsg.OffsetCommit, 8), topic, 9))
	q := follower.sendJoin()
	leader.joined(p)
	follower.joined(q)
	equal(t, "offset", t.committed(t.newest(kmsg.OffsetFetch, 7), leader.group, topic, 0).Offset, 9)
}

// commitEmptyGroup: GroupCoordinatorService.isGroupIdNotEmpty is asked by joins,
// heartbeats and syncs only.
func commitEmptyGroup(t *T) {
	t.Group()
	topic := t.Topic(1)
	t.each(kmsg.OffsetCommit, 2, 10, func(v int16) {
		t.ok("commit", one(t, "partitions", t.commit(v, "", topic, committing{offset: int64(v)})))
		equal(t, "offset", t.committed(t.newest(kmsg.OffsetFetch, 7), "", topic, 0).Offset, int64(v))
	})
}

func commitLeaderEpoch(t *T) {
	group, topic := t.Group(), t.Topic(1)
	t.each(kmsg.OffsetCommit, 6, 10, func(v int16) {
		req := t.commitRequest(v, group, topic, committing{offset: 1})
		req.Topics[0].Partitions[0].LeaderEpoch = int32(v)
		t.ok("commit", one(t, "partitions", t.commitCodes(v, req)))
		t.each(kmsg.OffsetFetch, 5, 10, func(f int16) {
			equal(t, "leader epoch", t.committed(f, group, topic, 0).LeaderEpoch, int32(v))
		})
	})
}

func offsetFetchUnknown(t *T) {
	group, topic := t.Group(), t.Topic(1)
	check := func(v int16) {
		got := t.committed(v, group, topic, 0)
		t.ok("fetch", got.ErrorCode)
		equal(t, "offset", got.Offset, -1)
		t.text("metadata", got.Metadata, "")
		if v >= 5 {
			equal(t, "leader epoch", got.LeaderEpoch, -1)
		}
	}
	t.each(kmsg.OffsetFetch, 1, 10, check) // A group that is not.
	t.commit(t.newest(kmsg.OffsetCommit, 8), group, t.Topic(1), committing{offset: 1})
	t.each(kmsg.OffsetFetch, 1, 10, check) // A group with another topic's offsets.
}

func offsetFetchAll(t *T) {
	group, topic := t.Group(), t.Topic(2)
	t.commit(t.newest(kmsg.OffsetCommit, 8), group, topic, committing{partition: 0, offset: 1}, committing{partition: 1, offset: 2})
	t.each(kmsg.OffsetFetch, 2, 10, func(v int16) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group = group
		rg := kmsg.NewOffsetFetchRequestGroup()
		rg.Group, rg.MemberEpoch = group, -1
		req.Groups = append(req.Groups, rg)
		sum := int64(0)
		ps := t.committedBy(v, req)
		for _, p := range ps {
			sum += p.Offset
		}
		equal(t, "partitions", len(ps), 2)
		equal(t, "sum of offsets", sum, 3)
	})
	t.each(kmsg.OffsetFetch, 2, 7, func(v int16) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group, req.Topics = group, []kmsg.OffsetFetchRequestTopic{}
		equal(t, "an empty list asks for none", len(t.committedBy(v, req)), 0)
	})
}

func offsetFetchBatch(t *T) {
	a, b, topic := t.Group(), t.Group(), t.Topic(1)
	version := t.newest(kmsg.OffsetCommit, 8)
	t.commit(version, a, topic, committing{offset: 1})
	t.commit(version, b, topic, committing{offset: 2})
	t.each(kmsg.OffsetFetch, 8, 10, func(v int16) {
		req := t.offsetFetchRequest(v, a, topic, 0)
		req.Groups = append(req.Groups, t.offsetFetchRequest(v, b, topic, 0).Groups...)
		resp := ask[*kmsg.OffsetFetchResponse](t, v, req)
		got := map[string]int64{}
		for _, g := range resp.Groups {
			t.ok(g.Group, g.ErrorCode)
			got[g.Group] = one(t, "partitions", one(t, "topics", g.Topics).Partitions).Offset
		}
		equal(t, "groups", len(got), 2)
		equal(t, "first", got[a], 1)
		equal(t, "second", got[b], 2)
	})
}

func offsetFetchStable(t *T) {
	group, topic := t.Group(), t.Topic(1)
	t.commit(t.newest(kmsg.OffsetCommit, 8), group, topic, committing{offset: 1})
	t.each(kmsg.OffsetFetch, 7, 10, func(v int16) {
		req := t.offsetFetchRequest(v, group, topic, 0)
		req.RequireStable = true
		p := one(t, "partitions", t.committedBy(v, req))
		t.ok("fetch", p.ErrorCode)
		equal(t, "offset", p.Offset, 1)
	})
}

func offsetFetchUnknownID(t *T) {
	group, topic := t.Group(), t.Topic(1)
	t.each(kmsg.OffsetFetch, 10, 10, func(v int16) {
		req := t.offsetFetchRequest(v, group, topic, 0)
		req.Groups[0].Topics[0].TopicID = [16]byte{7}
		t.code("fetch", one(t, "partitions", t.committedBy(v, req)).ErrorCode, kerr.UnknownTopicID)
	})
}
