package topics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// recordsScenarios are about DeleteRecords.
var recordsScenarios = []scenario.Scenario{
	{ID: "topics.delete-records.bounds", Says: "DeleteRecords takes offsets from 0 to the high watermark, which -1 stands for.", Refs: []string{"redpanda PR 22905", "case A21"}, Run: deleteRecordsBounds},
	{ID: "topics.delete-records.errors", Says: "DeleteRecords of what is not there, compacted or internal is refused.", Run: deleteRecordsErrors},
	{ID: "topics.delete-records.twice", Says: "Of a partition named twice DeleteRecords does what is said last, and answers once.", Run: deleteRecordsTwice},
	{ID: "topics.delete-records.versions", Says: "DeleteRecords moves the log start in every version, and not back.", Refs: []string{"KIP-107"}, Run: deleteRecordsVersions},
	{ID: "topics.delete-records.whole-answer", Says: "DeleteRecords answers each partition, also those one behind the last, with its new start.", Run: deleteRecordsAnswers},
}

func deleteRecordsBounds(t *scenario.T) {
	topic := t.Topic(1)
	for range 10 {
		t.Append(topic, scenario.PlainBatch("a"))
	}
	t.Each(kmsg.DeleteRecords, 0, 2, func(v int16) {
		for _, offset := range []int64{11, -2, 1 << 40} {
			p := t.DeleteRecordsAt(v, topic, 0, offset)
			t.Code(fmt.Sprintf("offset %d", offset), p.ErrorCode, kerr.OffsetOutOfRange)
			scenario.Equal(t, "low watermark", p.LowWatermark, -1)
		}
		for _, offset := range []int64{10, -1} {
			p := t.DeleteRecordsAt(v, topic, 0, offset)
			t.OK(fmt.Sprintf("offset %d", offset), p.ErrorCode)
			scenario.Equal(t, "low watermark", p.LowWatermark, 10)
		}
	})
}

func deleteRecordsErrors(t *scenario.T) {
	t.Group() // __consumer_offsets is there.
	topic, compacted, both := t.Topic(1), t.Topic(1, "cleanup.policy=compact"), t.Topic(1, "cleanup.policy=compact,delete")
	t.Append(both, scenario.PlainBatch("a"))
	t.Each(kmsg.DeleteRecords, 0, 2, func(v int16) {
		t.Code("unknown partition", t.DeleteRecordsAt(v, topic, 3, 0).ErrorCode, kerr.UnknownTopicOrPartition)
		t.Code("unknown topic", t.DeleteRecordsAt(v, t.Name("missing"), 0, 0).ErrorCode, kerr.UnknownTopicOrPartition)
		t.Code("compacted", t.DeleteRecordsAt(v, compacted, 0, 0).ErrorCode, kerr.PolicyViolation)
		t.OK("compacted and deleted", t.DeleteRecordsAt(v, both, 0, 1).ErrorCode)
		t.Code("internal", t.DeleteRecordsAt(v, "__consumer_offsets", 0, 0).ErrorCode, kerr.InvalidTopicException)
	})
}

func deleteRecordsTwice(t *scenario.T) {
	t.Each(kmsg.DeleteRecords, 0, 2, func(v int16) {
		topic := t.Topic(2)
		for range 5 {
			t.Append(topic, scenario.PlainBatch("a"))
		}
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.TimeoutMillis = 5000
		for _, named := range [][]kmsg.DeleteRecordsRequestTopicPartition{{{Partition: 0, Offset: 4}, {Partition: 1}, {Partition: 0, Offset: 3}}, {}, {{Partition: 0, Offset: 2}}} {
			req.Topics = append(req.Topics, kmsg.DeleteRecordsRequestTopic{Topic: topic, Partitions: named})
		}
		req.Topics = append(req.Topics, kmsg.DeleteRecordsRequestTopic{Topic: t.Name("nothing")})
		rt := scenario.One(t, "topics", scenario.Ask[*kmsg.DeleteRecordsResponse](t, v, req).Topics)
		scenario.Equal(t, "topic", rt.Topic, topic)
		low := map[int32]int64{}
		for _, p := range rt.Partitions {
			t.OK(fmt.Sprint("partition ", p.Partition), p.ErrorCode)
			low[p.Partition] = p.LowWatermark
		}
		scenario.Equal(t, "answers", len(rt.Partitions), 2)
		scenario.Equal(t, "low watermark", low[0], 2)
		scenario.Equal(t, "low watermark of the other", low[1], 0)
		scenario.Equal(t, "log start", t.StartOffset(topic), 2)
	})
}

func deleteRecordsVersions(t *scenario.T) {
	topic := t.Topic(1)
	for range 10 {
		t.Append(topic, scenario.PlainBatch("a"))
	}
	start := int64(0)
	t.Each(kmsg.DeleteRecords, 0, 2, func(v int16) {
		start += 2
		scenario.Equal(t, "low watermark", t.DeleteRecordsAt(v, topic, 0, start).LowWatermark, start)
		scenario.Equal(t, "log start", t.StartOffset(topic), start)
		p := t.DeleteRecordsAt(v, topic, 0, 1)
		t.OK("backwards", p.ErrorCode)
		scenario.Equal(t, "low watermark", p.LowWatermark, start)
		scenario.Equal(t, "first record", t.Read(topic, start)[0].Offset, start)
	})
}

func deleteRecordsAnswers(t *scenario.T) {
	t.Each(kmsg.DeleteRecords, 0, 2, func(v int16) {
		name, missing := t.Topic(2), t.Name("missing")
		t.Append(name, scenario.PlainBatch("a", "b", "c"))
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.TimeoutMillis = 5000
		req.Topics = []kmsg.DeleteRecordsRequestTopic{
			{Topic: name, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 2}, {Partition: 1, Offset: 1}, {Partition: 2, Offset: 0}, {Partition: -1, Offset: 0}}},
			{Topic: missing, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 0}}},
		}
		got := scenario.Ask[*kmsg.DeleteRecordsResponse](t, v, req)
		refused := func(n int32, e *kerr.Error) kmsg.DeleteRecordsResponseTopicPartition {
			return kmsg.DeleteRecordsResponseTopicPartition{Partition: n, LowWatermark: -1, ErrorCode: e.Code}
		}
		want := kmsg.NewPtrDeleteRecordsResponse()
		want.Topics = []kmsg.DeleteRecordsResponseTopic{
			{Topic: name, Partitions: []kmsg.DeleteRecordsResponseTopicPartition{
				refused(-1, kerr.UnknownTopicOrPartition), {Partition: 0, LowWatermark: 2}, refused(1, kerr.OffsetOutOfRange), refused(2, kerr.UnknownTopicOrPartition),
			}},
			{Topic: missing, Partitions: []kmsg.DeleteRecordsResponseTopicPartition{refused(0, kerr.UnknownTopicOrPartition)}},
		}
		for _, r := range []*kmsg.DeleteRecordsResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.DeleteRecordsResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
			for _, rt := range r.Topics {
				slices.SortFunc(rt.Partitions, func(a, b kmsg.DeleteRecordsResponseTopicPartition) int { return int(a.Partition - b.Partition) })
			}
		}
		scenario.Whole(t, "DeleteRecords", got, want)
	})
}
