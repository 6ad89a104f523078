package compat

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetScenarios are about ListOffsets and OffsetForLeaderEpoch.
var offsetScenarios = []Scenario{
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
	{ID: "offsets.epoch-end", Says: "OffsetForLeaderEpoch gives the largest epoch not above the asked one and where it ends, and -1 for later ones.", Refs: []string{"KIP-320", "redpanda#11864", "case F15"}, Run: epochEnd},
	{ID: "offsets.epoch-unknown", Says: "OffsetForLeaderEpoch of an unknown partition is UNKNOWN_TOPIC_OR_PARTITION.", Run: epochUnknown},
}

// finds checks an answer of ListOffsets.
func (t *T) finds(version int16, topic string, at, wantOffset, wantAt int64) {
	p := t.listOffset(version, topic, at)
	t.ok(fmt.Sprintf("ListOffsets of %d", at), p.ErrorCode)
	equal(t, fmt.Sprintf("offset of %d", at), p.Offset, wantOffset)
	equal(t, fmt.Sprintf("timestamp of %d", at), p.Timestamp, wantAt)
	if version >= 4 {
		epoch := int32(0)
		if wantOffset < 0 {
			epoch = -1
		}
		equal(t, fmt.Sprintf("leader epoch of %d", at), p.LeaderEpoch, epoch)
	}
}

func listEnds(t *T) {
	topic := t.Topic(1)
	for range 5 {
		t.append(topic, plainBatch("a"))
	}
	t.deleteRecords(topic, 2)
	t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
		t.finds(v, topic, -1, 5, -1)
		t.finds(v, topic, -2, 2, -1)
	})
}

func listByTime(t *T) {
	topic := t.OldTopic()
	t.append(topic, times(codecNone, 1000, 2000, 3000))
	t.append(topic, times(codecNone, 2500))
	t.append(topic, times(codecNone, 4000, 5000))
	t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
		t.finds(v, topic, 0, 0, 1000)
		t.finds(v, topic, 1000, 0, 1000)
		t.finds(v, topic, 1001, 1, 2000)
		t.finds(v, topic, 2200, 2, 3000)
		t.finds(v, topic, 3001, 4, 4000)
		t.finds(v, topic, 5000, 5, 5000)
	})
}

func listBeyond(t *T) {
	topic := t.OldTopic()
	t.append(topic, times(codecNone, 1000, 2000))
	t.each(kmsg.ListOffsets, 1, 11, func(v int16) { t.finds(v, topic, 2001, -1, -1) })
}

func listEmpty(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
		t.finds(v, topic, 1000, -1, -1)
		t.finds(v, topic, 0, -1, -1)
	})
	t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
		for _, at := range []int64{-1, -2} {
			p := t.listOffset(v, topic, at)
			t.ok("ListOffsets", p.ErrorCode)
			equal(t, "offset", p.Offset, 0)
		}
	})
}

func listCompressed(t *T) {
	for _, codec := range []int16{codecGzip, codecSnappy, codecLz4, codecZstd} {
		topic := t.OldTopic()
		t.append(topic, times(codec, 100, 300, 200))
		t.append(topic, times(codec, 110, 250, 290))
		t.each(kmsg.ListOffsets, 7, 11, func(v int16) { t.finds(v, topic, -3, 1, 300) })
		t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
			t.finds(v, topic, 100, 0, 100)
			t.finds(v, topic, 101, 1, 300)
			t.finds(v, topic, 250, 1, 300)
			t.finds(v, topic, 301, -1, -1)
		})
		later := t.OldTopic()
		t.append(later, times(codec, 100, 110))
		t.append(later, times(codec, 200, 220, 240))
		t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
			t.finds(v, later, 105, 1, 110)
			t.finds(v, later, 111, 2, 200)
			t.finds(v, later, 230, 4, 240)
		})
	}
}

func listMaxTimestamp(t *T) {
	topic := t.OldTopic()
	t.each(kmsg.ListOffsets, 7, 11, func(v int16) { t.finds(v, topic, -3, -1, -1) })
	t.append(topic, times(codecNone, 1000, 7000, 7000, 2000))
	t.append(topic, times(codecNone, 3000, 7000))
	t.each(kmsg.ListOffsets, 7, 11, func(v int16) { t.finds(v, topic, -3, 1, 7000) })
}

func listSpecials(t *T) {
	topic := t.Topic(1)
	for range 3 {
		t.append(topic, plainBatch("a"))
	}
	t.deleteRecords(topic, 1)
	t.each(kmsg.ListOffsets, 8, 11, func(v int16) { t.finds(v, topic, -4, 1, -1) })
	t.each(kmsg.ListOffsets, 9, 11, func(v int16) { t.finds(v, topic, -5, -1, -1) })
	t.each(kmsg.ListOffsets, 11, 11, func(v int16) { t.finds(v, topic, -6, -1, -1) })
}

func listSpecialsTooEarly(t *T) {
	topic := t.Topic(1)
	since := map[int64]int16{-3: 7, -4: 8, -5: 9, -6: 11, -7: 12, -100: 12}
	t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
		for at, from := range since {
			if v >= from {
				continue
			}
			p := t.listOffset(v, topic, at)
			t.code(strconv.FormatInt(at, 10), p.ErrorCode, kerr.UnsupportedVersion)
			equal(t, "offset", p.Offset, -1)
			equal(t, "timestamp", p.Timestamp, -1)
		}
	})
}

func listTwice(t *T) {
	topic := t.Topic(2)
	t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
		req := listOffsetsRequest(topic, 0, -1, -1)
		ps := &req.Topics[0].Partitions
		*ps = append(*ps, (*ps)[0])
		rt := one(t, "topics", ask[*kmsg.ListOffsetsResponse](t, v, req).Topics)
		equal(t, "topic", rt.Topic, topic)
		p := one(t, "answers", rt.Partitions)
		equal(t, "partition", p.Partition, 0)
		t.code("partition 0", p.ErrorCode, kerr.InvalidRequest)
		equal(t, "offset", p.Offset, -1)
	})
}

func listTopicTwice(t *T) {
	topic, empty := t.Topic(2), t.Topic(1)
	t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
		req := listOffsetsRequest(topic, 0, -1, -1)
		req.Topics = append(req.Topics, listOffsetsRequest(topic, 1, -1, -1).Topics...)
		none := kmsg.NewListOffsetsRequestTopic()
		none.Topic = empty
		req.Topics = append(req.Topics, none)
		rt := one(t, "topics", ask[*kmsg.ListOffsetsResponse](t, v, req).Topics)
		equal(t, "topic", rt.Topic, topic)
		var partitions []int32
		for _, p := range rt.Partitions {
			t.ok("partition", p.ErrorCode)
			partitions = append(partitions, p.Partition)
		}
		slices.Sort(partitions)
		equals(t, "partitions", partitions, []int32{0, 1})
	})
}

func listUnknown(t *T) {
	topic := t.Topic(1)
	missing := t.name("missing")
	t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
		p := t.listOffsetOf(v, topic, 9, -1, -1)
		t.code("partition 9", p.ErrorCode, kerr.UnknownTopicOrPartition)
		equal(t, "partition", p.Partition, 9)
		equal(t, "offset", p.Offset, -1)
		t.code("no such topic", t.listOffsetOf(v, missing, 0, -1, -1).ErrorCode, kerr.UnknownTopicOrPartition)
	})
}

func listEpoch(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.ListOffsets, 4, 11, func(v int16) {
		for _, at := range []int64{-1, -2, 1000} {
			t.ok("the leader's", t.listOffsetOf(v, topic, 0, at, 0).ErrorCode)
			t.code("a later one", t.listOffsetOf(v, topic, 0, at, 5).ErrorCode, kerr.UnknownLeaderEpoch)
		}
	})
}

// epochEnd asks where a leader epoch ends, as who knows of a current one; -1 is none.
func (t *T) epochEnd(version int16, topic string, partition, current, epoch int32) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = partition, current, epoch
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp := ask[*kmsg.OffsetForLeaderEpochResponse](t, version, req)
	return one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
}

func epochEnd(t *T) {
	topic := t.Topic(1)
	for range 10 {
		t.append(topic, plainBatch("a"))
	}
	t.each(kmsg.OffsetForLeaderEpoch, 0, 4, func(v int16) {
		p := t.epochEnd(v, topic, 0, -1, 0)
		t.ok("epoch 0", p.ErrorCode)
		equal(t, "end of epoch 0", p.EndOffset, 10)
		if v >= 1 {
			equal(t, "epoch", p.LeaderEpoch, 0)
		}
		p = t.epochEnd(v, topic, 0, -1, 9)
		t.ok("epoch 9", p.ErrorCode)
		equal(t, "end of epoch 9", p.EndOffset, -1)
		if v >= 1 {
			equal(t, "epoch", p.LeaderEpoch, -1)
		}
	})
	t.each(kmsg.OffsetForLeaderEpoch, 2, 4, func(v int16) {
		t.ok("current epoch 0", t.epochEnd(v, topic, 0, 0, 0).ErrorCode)
		t.code("current epoch 3", t.epochEnd(v, topic, 0, 3, 0).ErrorCode, kerr.UnknownLeaderEpoch)
	})
}

func epochUnknown(t *T) {
	topic := t.Topic(1)
	missing := t.name("missing")
	t.each(kmsg.OffsetForLeaderEpoch, 0, 4, func(v int16) {
		p := t.epochEnd(v, topic, 4, -1, 0)
		t.code("partition 4", p.ErrorCode, kerr.UnknownTopicOrPartition)
		equal(t, "end", p.EndOffset, -1)
		t.code("no such topic", t.epochEnd(v, missing, 0, -1, 0).ErrorCode, kerr.UnknownTopicOrPartition)
	})
}
