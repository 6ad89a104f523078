package offsets

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// listScenarios are about ListOffsets.
var listScenarios = []scenario.Scenario{
	{ID: "offsets.list.ends", Says: "ListOffsets tells the latest and earliest offset, without a timestamp.", Run: listEnds},
	{ID: "offsets.list.by-time", Says: "ListOffsets by time gives the first record at or after it, exactly, and its timestamp.", Run: listByTime},
	{ID: "offsets.list.beyond", Says: "A time after every record gives offset and timestamp -1, not an error.", Refs: []string{"redpanda#4308", "case F11"}, Run: listBeyond},
	{ID: "offsets.list.empty", Says: "A time in an empty partition gives offset and timestamp -1, not an error.", Refs: []string{"redpanda PR 19937", "case F17"}, Run: listEmpty},
	{ID: "offsets.list.compressed", Says: "Lookups look into compressed batches: the exact record of a time, and of the highest.", Refs: []string{"KAFKA-16342", "redpanda#6657", "case F13"}, Run: listCompressed},
	{ID: "offsets.list.max-timestamp", Says: "Timestamp -3 gives the record with the highest timestamp, the first of equals.", Refs: []string{"KIP-734"}, Run: listMaxTimestamp},
	{ID: "offsets.list.specials", Says: "Earliest local is earliest without tiers; latest tiered and earliest pending upload are unknown.", Refs: []string{"KIP-405", "KIP-1005", "KIP-1023"}, Since: "4.2", Run: listSpecials},
	{ID: "offsets.list.specials-too-early", Says: "Special timestamps that a version does not have are UNSUPPORTED_VERSION.", Run: listSpecialsTooEarly},
	{ID: "offsets.list.twice", Says: "A partition asked for twice is INVALID_REQUEST, once.", Run: listTwice},
	{ID: "offsets.list.topic-twice", Says: "A topic named twice with different partitions is answered once with all, and one without partitions not at all.", Run: listTopicTwice},
	{ID: "offsets.list.unknown", Says: "An unknown topic or partition is UNKNOWN_TOPIC_OR_PARTITION.", Run: listUnknown},
	{ID: "offsets.list.epoch", Says: "A current leader epoch that is not the leader's is refused.", Refs: []string{"KIP-320"}, Run: listEpoch},
	{ID: "offsets.list.whole-answer", Says: "ListOffsets tells every field of each partition of several topics, also of those one behind the last, in every version.", Run: listOffsetAnswers},
}

func listEnds(t *scenario.T) {
	topic := t.Topic(1)
	for range 5 {
		t.Append(topic, scenario.PlainBatch("a"))
	}
	t.DeleteRecords(topic, 2)
	t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
		t.FindsOffset(v, topic, -1, 5, -1)
		t.FindsOffset(v, topic, -2, 2, -1)
	})
}

func listByTime(t *scenario.T) {
	topic := t.OldTopic()
	t.Append(topic, scenario.AtTimes(scenario.CodecNone, 1000, 2000, 3000))
	t.Append(topic, scenario.AtTimes(scenario.CodecNone, 2500))
	t.Append(topic, scenario.AtTimes(scenario.CodecNone, 4000, 5000))
	t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
		t.FindsOffset(v, topic, 0, 0, 1000)
		t.FindsOffset(v, topic, 1000, 0, 1000)
		t.FindsOffset(v, topic, 1001, 1, 2000)
		t.FindsOffset(v, topic, 2200, 2, 3000)
		t.FindsOffset(v, topic, 3001, 4, 4000)
		t.FindsOffset(v, topic, 5000, 5, 5000)
	})
}

func listBeyond(t *scenario.T) {
	topic := t.OldTopic()
	t.Append(topic, scenario.AtTimes(scenario.CodecNone, 1000, 2000))
	t.Each(kmsg.ListOffsets, 1, 11, func(v int16) { t.FindsOffset(v, topic, 2001, -1, -1) })
}

func listEmpty(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
		t.FindsOffset(v, topic, 1000, -1, -1)
		t.FindsOffset(v, topic, 0, -1, -1)
	})
	t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
		for _, at := range []int64{-1, -2} {
			p := t.ListOffset(v, topic, at)
			t.OK("ListOffsets", p.ErrorCode)
			scenario.Equal(t, "offset", p.Offset, 0)
		}
	})
}

func listCompressed(t *scenario.T) {
	for _, codec := range []int16{scenario.CodecGzip, scenario.CodecSnappy, scenario.CodecLz4, scenario.CodecZstd} {
		topic := t.OldTopic()
		t.Append(topic, scenario.AtTimes(codec, 100, 300, 200))
		t.Append(topic, scenario.AtTimes(codec, 110, 250, 290))
		t.Each(kmsg.ListOffsets, 7, 11, func(v int16) { t.FindsOffset(v, topic, -3, 1, 300) })
		t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
			t.FindsOffset(v, topic, 100, 0, 100)
			t.FindsOffset(v, topic, 101, 1, 300)
			t.FindsOffset(v, topic, 250, 1, 300)
			t.FindsOffset(v, topic, 301, -1, -1)
		})
		later := t.OldTopic()
		t.Append(later, scenario.AtTimes(codec, 100, 110))
		t.Append(later, scenario.AtTimes(codec, 200, 220, 240))
		t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
			t.FindsOffset(v, later, 105, 1, 110)
			t.FindsOffset(v, later, 111, 2, 200)
			t.FindsOffset(v, later, 230, 4, 240)
		})
	}
}

func listMaxTimestamp(t *scenario.T) {
	topic := t.OldTopic()
	t.Each(kmsg.ListOffsets, 7, 11, func(v int16) { t.FindsOffset(v, topic, -3, -1, -1) })
	t.Append(topic, scenario.AtTimes(scenario.CodecNone, 1000, 7000, 7000, 2000))
	t.Append(topic, scenario.AtTimes(scenario.CodecNone, 3000, 7000))
	t.Each(kmsg.ListOffsets, 7, 11, func(v int16) { t.FindsOffset(v, topic, -3, 1, 7000) })
}

func listSpecials(t *scenario.T) {
	topic := t.Topic(1)
	for range 3 {
		t.Append(topic, scenario.PlainBatch("a"))
	}
	t.DeleteRecords(topic, 1)
	t.Each(kmsg.ListOffsets, 8, 11, func(v int16) { t.FindsOffset(v, topic, -4, 1, -1) })
	t.Each(kmsg.ListOffsets, 9, 11, func(v int16) { t.FindsOffset(v, topic, -5, -1, -1) })
	t.Each(kmsg.ListOffsets, 11, 11, func(v int16) { t.FindsOffset(v, topic, -6, -1, -1) })
}

func listSpecialsTooEarly(t *scenario.T) {
	topic := t.Topic(1)
	since := map[int64]int16{-3: 7, -4: 8, -5: 9, -6: 11, -7: 12, -100: 12}
	t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
		for at, from := range since {
			if v >= from {
				continue
			}
			p := t.ListOffset(v, topic, at)
			t.Code(strconv.FormatInt(at, 10), p.ErrorCode, kerr.UnsupportedVersion)
			scenario.Equal(t, "offset", p.Offset, -1)
			scenario.Equal(t, "timestamp", p.Timestamp, -1)
		}
	})
}

func listTwice(t *scenario.T) {
	topic := t.Topic(2)
	t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
		req := scenario.ListOffsetsRequest(topic, 0, -1, -1)
		ps := &req.Topics[0].Partitions
		*ps = append(*ps, (*ps)[0])
		rt := scenario.One(t, "topics", scenario.Ask[*kmsg.ListOffsetsResponse](t, v, req).Topics)
		scenario.Equal(t, "topic", rt.Topic, topic)
		p := scenario.One(t, "answers", rt.Partitions)
		scenario.Equal(t, "partition", p.Partition, 0)
		t.Code("partition 0", p.ErrorCode, kerr.InvalidRequest)
		scenario.Equal(t, "offset", p.Offset, -1)
	})
}

func listTopicTwice(t *scenario.T) {
	topic, empty := t.Topic(2), t.Topic(1)
	t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
		req := scenario.ListOffsetsRequest(topic, 0, -1, -1)
		req.Topics = append(req.Topics, scenario.ListOffsetsRequest(topic, 1, -1, -1).Topics...)
		none := kmsg.NewListOffsetsRequestTopic()
		none.Topic = empty
		req.Topics = append(req.Topics, none)
		rt := scenario.One(t, "topics", scenario.Ask[*kmsg.ListOffsetsResponse](t, v, req).Topics)
		scenario.Equal(t, "topic", rt.Topic, topic)
		var partitions []int32
		for _, p := range rt.Partitions {
			t.OK("partition", p.ErrorCode)
			partitions = append(partitions, p.Partition)
		}
		slices.Sort(partitions)
		scenario.EqualLists(t, "partitions", partitions, []int32{0, 1})
	})
}

func listUnknown(t *scenario.T) {
	topic := t.Topic(1)
	missing := t.Name("missing")
	t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
		p := t.ListOffsetOf(v, topic, 9, -1, -1)
		t.Code("partition 9", p.ErrorCode, kerr.UnknownTopicOrPartition)
		scenario.Equal(t, "partition", p.Partition, 9)
		scenario.Equal(t, "offset", p.Offset, -1)
		t.Code("no such topic", t.ListOffsetOf(v, missing, 0, -1, -1).ErrorCode, kerr.UnknownTopicOrPartition)
	})
}

func listEpoch(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.ListOffsets, 4, 11, func(v int16) {
		for _, at := range []int64{-1, -2, 1000} {
			t.OK("the leader's", t.ListOffsetOf(v, topic, 0, at, 0).ErrorCode)
			t.Code("a later one", t.ListOffsetOf(v, topic, 0, at, 5).ErrorCode, kerr.UnknownLeaderEpoch)
		}
	})
}

func listOffsetAnswers(t *scenario.T) {
	topic, other, missing := t.OldTopic(), t.Topic(2), t.Name("missing")
	t.Append(topic, scenario.AtTimes(scenario.CodecNone, 1000, 2000, 3000))
	t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID, req.TimeoutMillis = -1, 5000
		add := func(name string, partitions ...kmsg.ListOffsetsRequestTopicPartition) {
			req.Topics = append(req.Topics, kmsg.ListOffsetsRequestTopic{Topic: name, Partitions: partitions})
		}
		at := func(n int32, ms int64, epoch int32) kmsg.ListOffsetsRequestTopicPartition {
			return kmsg.ListOffsetsRequestTopicPartition{Partition: n, Timestamp: ms, CurrentLeaderEpoch: epoch}
		}
		add(topic, at(0, 1500, -1), at(1, -1, -1), at(-1, -1, -1))
		add(other, at(0, -1, 0), at(1, 5, 1))
		add(missing, at(0, -1, -1))
		got := scenario.Ask[*kmsg.ListOffsetsResponse](t, v, req)
		told := func(n int32, e *kerr.Error, offset, ms int64, epoch int32) kmsg.ListOffsetsResponseTopicPartition {
			return scenario.Filled(func(p *kmsg.ListOffsetsResponseTopicPartition) {
				p.Partition, p.Offset, p.Timestamp, p.LeaderEpoch = n, offset, ms, epoch
				if e != nil {
					p.ErrorCode = e.Code
				}
			})
		}
		want := kmsg.NewPtrListOffsetsResponse()
		want.Topics = []kmsg.ListOffsetsResponseTopic{
			{Topic: topic, Partitions: []kmsg.ListOffsetsResponseTopicPartition{
				told(-1, kerr.UnknownTopicOrPartition, -1, -1, -1), told(0, nil, 1, 2000, 0), told(1, kerr.UnknownTopicOrPartition, -1, -1, -1),
			}},
			{Topic: other, Partitions: []kmsg.ListOffsetsResponseTopicPartition{told(0, nil, 0, -1, 0), told(1, kerr.UnknownLeaderEpoch, -1, -1, -1)}},
			{Topic: missing, Partitions: []kmsg.ListOffsetsResponseTopicPartition{told(0, kerr.UnknownTopicOrPartition, -1, -1, -1)}},
		}
		if v < 4 { // No epoch is said.
			want.Topics[1].Partitions[1] = told(1, nil, -1, -1, -1)
		}
		for _, r := range []*kmsg.ListOffsetsResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.ListOffsetsResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
			for _, rt := range r.Topics {
				slices.SortFunc(rt.Partitions, func(a, b kmsg.ListOffsetsResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
			}
		}
		scenario.Whole(t, "ListOffsets", got, want)
	})
}
