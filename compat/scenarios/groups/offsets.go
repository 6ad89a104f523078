package groups

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// offsetsScenarios are about fetching and deleting offsets that were committed.
var offsetsScenarios = []scenario.Scenario{
	{ID: "groups.offset-delete", Says: "OffsetDelete removes offsets of topics that the group is not subscribed to.", Refs: []string{"KIP-496"}, Run: offsetDelete},
	{ID: "groups.offset-delete.errors", Says: "OffsetDelete of an unknown group is GROUP_ID_NOT_FOUND, of one that does not consume and has members NON_EMPTY_GROUP.", Refs: []string{"KIP-496"}, Run: offsetDeleteErrors},
	{ID: "groups.offset-delete.partly", Says: "OffsetDelete answers each topic once, with its partitions that are there and those that are not, and asks the group even where none is.", Refs: []string{"KIP-496"}, Run: offsetDeletePartly},
	{ID: "groups.offset-fetch.unknown", Says: "What was never committed is offset -1 with empty metadata and no error.", Run: offsetFetchUnknown},
	{ID: "groups.offset-fetch.all", Says: "No topics ask for all of them from version 2.", Run: offsetFetchAll},
	{ID: "groups.offset-fetch.batch", Says: "From version 8 several groups are asked at once.", Refs: []string{"KIP-709"}, Run: offsetFetchBatch},
	{ID: "groups.offset-fetch.stable", Says: "RequireStable changes nothing where no transaction is pending.", Refs: []string{"KIP-447"}, Run: offsetFetchStable},
	{ID: "groups.offset-fetch.unknown-id", Says: "From version 10 an unknown topic id is UNKNOWN_TOPIC_ID.", Refs: []string{"KIP-848"}, Since: "4.2", Run: offsetFetchUnknownID},
	{ID: "groups.offset-fetch.member", Says: "OffsetFetch as a member of a classic group needs no right member.", Refs: []string{"KIP-848"}, Since: "3.8", Run: offsetFetchMember},
	{ID: "groups.offset-fetch.whole-answer", Says: "OffsetFetch tells each field of what was committed in every version, and of what was not.", Run: offsetFetchAnswers},
	{ID: "groups.offset-delete.whole-answer", Says: "OffsetDelete answers each partition, also those one behind the last.", Run: offsetDeleteAnswers},
	{ID: "groups.offset-delete.nothing-left", Says: "OffsetDelete of an unknown group is GROUP_ID_NOT_FOUND even if it names no partition that there is.", Refs: []string{"KIP-496"}, Run: offsetDeleteNothing},                                                                               // Found by a differential run.
	{ID: "groups.offset-delete.topic-once", Says: "OffsetDelete answers a topic once, the partitions that do not exist first.", Refs: []string{"KIP-496"}, Run: offsetDeleteTopicOnce},                                                                                                        // Found by a differential run.
	{ID: "groups.offset-fetch.nothing-left", Says: "OffsetFetch as a wrong member of a consumer group is refused for the group even if it names no topic that there is; else topics that are not there are answered last.", Refs: []string{"KIP-848"}, Since: "4.2", Run: offsetFetchNothing}, // Found by a differential run.
}

func offsetDelete(t *scenario.T) {
	group, a, b := t.Group(), t.Topic(1), t.Topic(1)
	m := t.Subscribed(group, a)
	version := t.Newest(kmsg.OffsetCommit, 8)
	t.OK("commit", m.CommitAs(version, a, 1))
	t.OK("commit", m.CommitAs(version, b, 2))
	top, part := t.OffsetDelete(group, a, 0)
	t.OK("delete", top)
	t.Code("subscribed", part, kerr.GroupSubscribedToTopic)
	top, part = t.OffsetDelete(group, b, 0)
	t.OK("delete", top)
	t.OK("not subscribed", part)
	fetch := t.Newest(kmsg.OffsetFetch, 7)
	scenario.Equal(t, "offset of the first", t.Committed(fetch, group, a, 0).Offset, 1)
	scenario.Equal(t, "offset of the second", t.Committed(fetch, group, b, 0).Offset, -1)
	t.OK("leave", m.Leave())
	top, part = t.OffsetDelete(group, a, 0)
	t.OK("delete of an empty group", top)
	t.OK("delete of an empty group", part)
}

func offsetDeleteErrors(t *scenario.T) {
	topic := t.Topic(1)
	top, _ := t.OffsetDelete(t.Group(), topic, 0)
	t.Code("unknown group", top, kerr.GroupIDNotFound)
	m := t.Stable(t.Group())
	top, _ = t.OffsetDelete(m.Group, topic, 0)
	t.Code("not a consumer's, with members", top, kerr.NonEmptyGroup)
	group := t.Group()
	t.Commit(t.Newest(kmsg.OffsetCommit, 8), group, topic, scenario.Committing{Offset: 5})
	_, part := t.OffsetDelete(group, t.Name("missing"), 0)
	t.Code("unknown topic", part, kerr.UnknownTopicOrPartition)
	_, part = t.OffsetDelete(group, topic, 5)
	t.Code("unknown partition", part, kerr.UnknownTopicOrPartition)
}

func offsetDeletePartly(t *scenario.T) {
	group, topic, missing := t.Group(), t.Topic(2), t.Name("missing")
	t.Commit(t.Newest(kmsg.OffsetCommit, 8), group, topic, scenario.Committing{Partition: 0, Offset: 5, Metadata: nil}, scenario.Committing{Partition: 1, Offset: 6, Metadata: nil})
	asking := func(group string, topics ...string) *kmsg.OffsetDeleteRequest {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		for _, name := range topics {
			req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{Topic: name})
		}
		return req
	}
	name := func(rt *kmsg.OffsetDeleteRequestTopic, partitions ...int32) {
		for _, p := range partitions {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
		}
	}
	t.Each(kmsg.OffsetDelete, 0, 0, func(v int16) {
		req := asking(group, topic, missing)
		name(&req.Topics[0], 0, 9)
		name(&req.Topics[1], 0)
		resp := scenario.Ask[*kmsg.OffsetDeleteResponse](t, v, req)
		t.OK("delete", resp.ErrorCode)
		codes := map[string]int16{}
		for _, rt := range resp.Topics {
			for _, p := range rt.Partitions {
				codes[fmt.Sprint(rt.Topic, "/", p.Partition)] = p.ErrorCode
			}
		}
		scenario.Equal(t, "topics", len(resp.Topics), 2)
		scenario.Equal(t, "partitions", len(codes), 3)
		t.OK("the partition that is there", codes[topic+"/0"])
		t.Code("the partition that is not", codes[topic+"/9"], kerr.UnknownTopicOrPartition)
		t.Code("the topic that is not", codes[missing+"/0"], kerr.UnknownTopicOrPartition)
		fetch := t.Newest(kmsg.OffsetFetch, 7)
		scenario.Equal(t, "the deleted offset", t.Committed(fetch, group, topic, 0).Offset, -1)
		scenario.Equal(t, "the other offset", t.Committed(fetch, group, topic, 1).Offset, 6)

		req = asking(t.Group(), missing)
		name(&req.Topics[0], 0)
		resp = scenario.Ask[*kmsg.OffsetDeleteResponse](t, v, req)
		t.Code("no such group, no such topic", resp.ErrorCode, kerr.GroupIDNotFound)
		scenario.Equal(t, "topics", len(resp.Topics), 0)
	})
}

func offsetFetchUnknown(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	check := func(v int16) {
		got := t.Committed(v, group, topic, 0)
		t.OK("fetch", got.ErrorCode)
		scenario.Equal(t, "offset", got.Offset, -1)
		t.Text("metadata", got.Metadata, "")
		if v >= 5 {
			scenario.Equal(t, "leader epoch", got.LeaderEpoch, -1)
		}
	}
	t.Each(kmsg.OffsetFetch, 1, 10, check) // A group that is not.
	t.Commit(t.Newest(kmsg.OffsetCommit, 8), group, t.Topic(1), scenario.Committing{Offset: 1})
	t.Each(kmsg.OffsetFetch, 1, 10, check) // A group with another topic's offsets.
}

func offsetFetchAll(t *scenario.T) {
	group, topic := t.Group(), t.Topic(2)
	t.Commit(t.Newest(kmsg.OffsetCommit, 8), group, topic, scenario.Committing{Partition: 0, Offset: 1}, scenario.Committing{Partition: 1, Offset: 2})
	t.Each(kmsg.OffsetFetch, 2, 10, func(v int16) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group = group
		rg := kmsg.NewOffsetFetchRequestGroup()
		rg.Group, rg.MemberEpoch = group, -1
		req.Groups = append(req.Groups, rg)
		sum := int64(0)
		ps := t.CommittedBy(v, req)
		for _, p := range ps {
			sum += p.Offset
		}
		scenario.Equal(t, "partitions", len(ps), 2)
		scenario.Equal(t, "sum of offsets", sum, 3)
	})
	t.Each(kmsg.OffsetFetch, 2, 7, func(v int16) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group, req.Topics = group, []kmsg.OffsetFetchRequestTopic{}
		scenario.Equal(t, "an empty list asks for none", len(t.CommittedBy(v, req)), 0)
	})
}

func offsetFetchBatch(t *scenario.T) {
	a, b, topic := t.Group(), t.Group(), t.Topic(1)
	version := t.Newest(kmsg.OffsetCommit, 8)
	t.Commit(version, a, topic, scenario.Committing{Offset: 1})
	t.Commit(version, b, topic, scenario.Committing{Offset: 2})
	t.Each(kmsg.OffsetFetch, 8, 10, func(v int16) {
		req := t.OffsetFetchRequest(v, a, topic, 0)
		req.Groups = append(req.Groups, t.OffsetFetchRequest(v, b, topic, 0).Groups...)
		resp := scenario.Ask[*kmsg.OffsetFetchResponse](t, v, req)
		got := map[string]int64{}
		for _, g := range resp.Groups {
			t.OK(g.Group, g.ErrorCode)
			got[g.Group] = scenario.One(t, "partitions", scenario.One(t, "topics", g.Topics).Partitions).Offset
		}
		scenario.Equal(t, "groups", len(got), 2)
		scenario.Equal(t, "first", got[a], 1)
		scenario.Equal(t, "second", got[b], 2)
	})
}

func offsetFetchStable(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	t.Commit(t.Newest(kmsg.OffsetCommit, 8), group, topic, scenario.Committing{Offset: 1})
	t.Each(kmsg.OffsetFetch, 7, 10, func(v int16) {
		req := t.OffsetFetchRequest(v, group, topic, 0)
		req.RequireStable = true
		p := scenario.One(t, "partitions", t.CommittedBy(v, req))
		t.OK("fetch", p.ErrorCode)
		scenario.Equal(t, "offset", p.Offset, 1)
	})
}

func offsetFetchUnknownID(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	t.Each(kmsg.OffsetFetch, 10, 10, func(v int16) {
		req := t.OffsetFetchRequest(v, group, topic, 0)
		req.Groups[0].Topics[0].TopicID = [16]byte{7}
		t.Code("fetch", scenario.One(t, "partitions", t.CommittedBy(v, req)).ErrorCode, kerr.UnknownTopicID)
	})
}

func offsetFetchMember(t *scenario.T) {
	topic := t.Topic(1)
	m := t.Stable(t.Group())
	t.OK("commit", m.CommitAs(t.Newest(kmsg.OffsetCommit, 8), topic, 4))
	t.Each(kmsg.OffsetFetch, 9, 10, func(v int16) {
		for id, epoch := range map[string]int32{m.ID: m.Generation, "nobody": math.MaxInt32} {
			req := t.OffsetFetchRequest(v, m.Group, topic, 0)
			req.Groups[0].MemberID, req.Groups[0].MemberEpoch = &id, epoch
			scenario.Equal(t, "offset", scenario.One(t, "partitions", t.CommittedBy(v, req)).Offset, 4)
		}
	})
}

func offsetFetchAnswers(t *scenario.T) {
	group, topic, other, missing := t.Group(), t.Topic(2), t.Topic(1), t.Name("missing")
	req := t.CommitRequest(8, group, topic, scenario.Committing{Offset: 5, Metadata: new("m")})
	req.Topics[0].Partitions[0].LeaderEpoch = 3
	t.OK("commit", scenario.One(t, "partitions", t.CommitCodes(t.Newest(kmsg.OffsetCommit, 8), req)))
	t.Each(kmsg.OffsetFetch, 0, 10, func(v int16) {
		type told struct {
			partition, epoch int32
			offset           int64
			metadata         string
			code             int16
		}
		answer := func(group string, topics map[string][]told) *kmsg.OffsetFetchResponse {
			want := kmsg.NewPtrOffsetFetchResponse()
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group = group
			for name, parts := range topics {
				old, rt := kmsg.NewOffsetFetchResponseTopic(), kmsg.NewOffsetFetchResponseGroupTopic()
				old.Topic, rt.Topic = name, name
				if v >= 10 { // Before, it would be left out, but not from how they are sorted.
					rt.TopicID = [16]byte{7, 7}
					if name != missing {
						rt.TopicID = t.TopicID(name)
					}
				}
				for _, p := range parts {
					old.Partitions = append(old.Partitions, kmsg.OffsetFetchResponseTopicPartition{Partition: p.partition, Offset: p.offset, LeaderEpoch: p.epoch, Metadata: &p.metadata, ErrorCode: p.code})
					rt.Partitions = append(rt.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition{Partition: p.partition, Offset: p.offset, LeaderEpoch: p.epoch, Metadata: &p.metadata, ErrorCode: p.code})
				}
				want.Topics, rg.Topics = append(want.Topics, old), append(rg.Topics, rt)
			}
			if v >= 8 {
				want.Topics, want.Groups = nil, []kmsg.OffsetFetchResponseGroup{rg}
			}
			return offsetsInOrder(want)
		}
		fetch := t.OffsetFetchRequest(v, group, topic, 0, 1, 2)
		if v < 8 {
			for _, name := range []string{other, missing} {
				fetch.Topics = append(fetch.Topics, kmsg.OffsetFetchRequestTopic{Topic: name, Partitions: []int32{0}})
			}
		} else {
			fetch.Groups[0].Topics = append(fetch.Groups[0].Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: other, TopicID: t.TopicID(other), Partitions: []int32{0}},
				kmsg.OffsetFetchRequestGroupTopic{Topic: missing, TopicID: [16]byte{7, 7}, Partitions: []int32{0}})
		}
		code := int16(0)
		if v >= 10 {
			code = kerr.UnknownTopicID.Code
		}
		scenario.Whole(t, "some", offsetsInOrder(scenario.Ask[*kmsg.OffsetFetchResponse](t, v, fetch)), answer(group, map[string][]told{
			topic:   {{offset: 5, epoch: 3, metadata: "m"}, {partition: 1, offset: -1, epoch: -1}, {partition: 2, offset: -1, epoch: -1}},
			other:   {{offset: -1, epoch: -1}},
			missing: {{offset: -1, epoch: -1, code: code}},
		}))
		if v < 2 {
			return
		}
		all := t.OffsetFetchRequest(v, group, topic)
		if all.Topics = nil; v >= 8 {
			all.Groups[0].Topics = nil
		}
		scenario.Whole(t, "all", offsetsInOrder(scenario.Ask[*kmsg.OffsetFetchResponse](t, v, all)), answer(group, map[string][]told{topic: {{offset: 5, epoch: 3, metadata: "m"}}}))
	})
}

func offsetsInOrder(resp *kmsg.OffsetFetchResponse) *kmsg.OffsetFetchResponse {
	slices.SortFunc(resp.Topics, func(a, b kmsg.OffsetFetchResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
	for _, rt := range resp.Topics {
		slices.SortFunc(rt.Partitions, func(a, b kmsg.OffsetFetchResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	}
	for _, g := range resp.Groups {
		slices.SortFunc(g.Topics, func(a, b kmsg.OffsetFetchResponseGroupTopic) int {
			return cmp.Or(cmp.Compare(len(a.Partitions), len(b.Partitions)), slices.Compare(a.TopicID[:], b.TopicID[:]), cmp.Compare(a.Topic, b.Topic))
		})
		for _, rt := range g.Topics {
			slices.SortFunc(rt.Partitions, func(a, b kmsg.OffsetFetchResponseGroupTopicPartition) int {
				return cmp.Compare(a.Partition, b.Partition)
			})
		}
	}
	return resp
}

func offsetDeleteAnswers(t *scenario.T) {
	group, topic, missing := t.Group(), t.Topic(2), t.Name("missing")
	version := t.Newest(kmsg.OffsetCommit, 8)
	t.Commit(version, group, topic, scenario.Committing{Offset: 5}, scenario.Committing{Partition: 1, Offset: 6})
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	topics := map[string][]int32{topic: {0, 2, -1}, missing: {0}}
	for name, partitions := range topics {
		rt := kmsg.NewOffsetDeleteRequestTopic()
		rt.Topic = name
		for _, n := range partitions {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: n})
		}
		req.Topics = append(req.Topics, rt)
	}
	empty := t.Name("missing") // Is told without partitions, and one that is there not at all.
	for _, name := range []string{t.Topic(1), empty} {
		req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{Topic: name})
	}
	want := kmsg.NewPtrOffsetDeleteResponse()
	unknown := kerr.UnknownTopicOrPartition.Code
	for name, codes := range map[string]map[int32]int16{topic: {0: 0, 2: unknown, -1: unknown}, missing: {0: unknown}, empty: nil} {
		rt := kmsg.NewOffsetDeleteResponseTopic()
		rt.Topic = name
		for n, code := range codes {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: n, ErrorCode: code})
		}
		want.Topics = append(want.Topics, rt)
	}
	got := scenario.Ask[*kmsg.OffsetDeleteResponse](t, 0, req)
	for _, r := range []*kmsg.OffsetDeleteResponse{got, want} {
		slices.SortFunc(r.Topics, func(a, b kmsg.OffsetDeleteResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
		for _, rt := range r.Topics {
			slices.SortFunc(rt.Partitions, func(a, b kmsg.OffsetDeleteResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
		}
	}
	scenario.Whole(t, "OffsetDelete", got, want)
	scenario.Equal(t, "the offset that was deleted", t.Committed(t.Newest(kmsg.OffsetFetch, 7), group, topic, 0).Offset, -1)
	scenario.Equal(t, "the offset that was not", t.Committed(t.Newest(kmsg.OffsetFetch, 7), group, topic, 1).Offset, 6)
}

func offsetDeleteNothing(t *scenario.T) {
	top, _ := t.OffsetDelete(t.Group(), t.Name("missing"), 0)
	t.Code("unknown group and topic", top, kerr.GroupIDNotFound)
	top, _ = t.OffsetDelete(t.Group(), t.Topic(1), 7)
	t.Code("unknown group and partition", top, kerr.GroupIDNotFound)
}

func offsetDeleteTopicOnce(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	t.Commit(t.Newest(kmsg.OffsetCommit, 8), group, topic, scenario.Committing{Offset: 5})
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	rt := kmsg.NewOffsetDeleteRequestTopic()
	rt.Topic = topic
	for _, n := range []int32{0, 7} {
		rp := kmsg.NewOffsetDeleteRequestTopicPartition()
		rp.Partition = n
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	resp := scenario.Ask[*kmsg.OffsetDeleteResponse](t, 0, req)
	t.OK("delete", resp.ErrorCode)
	parts := scenario.One(t, "topics", resp.Topics).Partitions
	scenario.Equal(t, "partitions", len(parts), 2)
	scenario.Equal(t, "the first", parts[0].Partition, 7)
	t.Code("the first", parts[0].ErrorCode, kerr.UnknownTopicOrPartition)
	t.OK("the other", parts[1].ErrorCode)
}

func offsetFetchNothing(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	join := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	join.Group, join.MemberID, join.RebalanceTimeoutMillis, join.SubscribedTopicNames = group, "member", 5000, []string{topic}
	join.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	joined := scenario.Ask[*kmsg.ConsumerGroupHeartbeatResponse](t, 1, join)
	t.OK("join", joined.ErrorCode)
	fetch := func(member string, ids ...[16]byte) kmsg.OffsetFetchResponseGroup {
		req := t.OffsetFetchRequest(10, group, topic, 0)
		rg := &req.Groups[0]
		rg.MemberID, rg.MemberEpoch, rg.Topics = &member, joined.MemberEpoch, nil
		for _, id := range ids {
			rt := kmsg.NewOffsetFetchRequestGroupTopic()
			rt.TopicID, rt.Partitions = id, []int32{0}
			rg.Topics = append(rg.Topics, rt)
		}
		return scenario.One(t, "groups", scenario.Ask[*kmsg.OffsetFetchResponse](t, 10, req).Groups)
	}
	missing := [16]byte{7}
	got := fetch("nobody", missing)
	t.Code("a wrong member", got.ErrorCode, kerr.UnknownMemberID)
	scenario.Equal(t, "topics", len(got.Topics), 0)
	got = fetch("member", missing)
	t.OK("the member", got.ErrorCode)
	t.Code("its topic", scenario.One(t, "partitions", scenario.One(t, "topics", got.Topics).Partitions).ErrorCode, kerr.UnknownTopicID)
	got = fetch("member", missing, t.TopicID(topic))
	t.OK("the member", got.ErrorCode)
	scenario.Equal(t, "topics", len(got.Topics), 2)
	scenario.Equal(t, "the last topic", got.Topics[1].TopicID, missing)

	join.MemberEpoch, join.RebalanceTimeoutMillis, join.SubscribedTopicNames, join.Topics = -1, -1, nil, nil
	t.OK("leave", scenario.Ask[*kmsg.ConsumerGroupHeartbeatResponse](t, 1, join).ErrorCode)
}
