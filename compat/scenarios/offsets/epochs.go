package offsets

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// epochsScenarios are about OffsetForLeaderEpoch.
var epochsScenarios = []scenario.Scenario{
	{ID: "offsets.epoch-end", Says: "OffsetForLeaderEpoch gives the largest epoch not above the asked one and where it ends, and -1 for later ones.", Refs: []string{"KIP-320", "redpanda#11864", "case F15"}, Run: epochEnd},
	{ID: "offsets.epoch-unknown", Says: "OffsetForLeaderEpoch of an unknown partition is UNKNOWN_TOPIC_OR_PARTITION.", Run: epochUnknown},
	{ID: "offsets.epoch.whole-answer", Says: "OffsetForLeaderEpoch tells every field of each partition of several topics, also of those one behind the last, in every version.", Refs: []string{"KIP-320"}, Run: epochEndAnswers},
}

func epochEnd(t *scenario.T) {
	topic := t.Topic(1)
	for range 10 {
		t.Append(topic, scenario.PlainBatch("a"))
	}
	t.Each(kmsg.OffsetForLeaderEpoch, 0, 4, func(v int16) {
		p := t.EndOfEpoch(v, topic, 0, -1, 0)
		t.OK("epoch 0", p.ErrorCode)
		scenario.Equal(t, "end of epoch 0", p.EndOffset, 10)
		if v >= 1 {
			scenario.Equal(t, "epoch", p.LeaderEpoch, 0)
		}
		p = t.EndOfEpoch(v, topic, 0, -1, 9)
		t.OK("epoch 9", p.ErrorCode)
		scenario.Equal(t, "end of epoch 9", p.EndOffset, -1)
		if v >= 1 {
			scenario.Equal(t, "epoch", p.LeaderEpoch, -1)
		}
	})
	t.Each(kmsg.OffsetForLeaderEpoch, 2, 4, func(v int16) {
		t.OK("current epoch 0", t.EndOfEpoch(v, topic, 0, 0, 0).ErrorCode)
		t.Code("current epoch 3", t.EndOfEpoch(v, topic, 0, 3, 0).ErrorCode, kerr.UnknownLeaderEpoch)
	})
}

func epochUnknown(t *scenario.T) {
	topic := t.Topic(1)
	missing := t.Name("missing")
	t.Each(kmsg.OffsetForLeaderEpoch, 0, 4, func(v int16) {
		p := t.EndOfEpoch(v, topic, 4, -1, 0)
		t.Code("partition 4", p.ErrorCode, kerr.UnknownTopicOrPartition)
		scenario.Equal(t, "end", p.EndOffset, -1)
		t.Code("no such topic", t.EndOfEpoch(v, missing, 0, -1, 0).ErrorCode, kerr.UnknownTopicOrPartition)
	})
}

func epochEndAnswers(t *scenario.T) {
	topic, missing := t.Topic(3), t.Name("missing")
	t.Append(topic, scenario.PlainBatch("a", "b"))
	t.Each(kmsg.OffsetForLeaderEpoch, 0, 4, func(v int16) {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID = -1
		of := func(n, current, epoch int32) kmsg.OffsetForLeaderEpochRequestTopicPartition {
			return kmsg.OffsetForLeaderEpochRequestTopicPartition{Partition: n, CurrentLeaderEpoch: current, LeaderEpoch: epoch}
		}
		req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{
			{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{of(0, -1, 0), of(1, 0, 1), of(2, 1, 0), of(3, -1, 0), of(-1, -1, 0)}},
			{Topic: missing, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{of(0, -1, 0)}},
		}
		got := scenario.Ask[*kmsg.OffsetForLeaderEpochResponse](t, v, req)
		told := func(n int32, e *kerr.Error, epoch int32, end int64) kmsg.OffsetForLeaderEpochResponseTopicPartition {
			return scenario.Filled(func(p *kmsg.OffsetForLeaderEpochResponseTopicPartition) {
				p.Partition, p.LeaderEpoch, p.EndOffset = n, epoch, end
				if e != nil {
					p.ErrorCode = e.Code
				}
			})
		}
		want := kmsg.NewPtrOffsetForLeaderEpochResponse()
		unknown := kerr.UnknownTopicOrPartition
		want.Topics = []kmsg.OffsetForLeaderEpochResponseTopic{
			{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{
				told(-1, unknown, -1, -1), told(0, nil, 0, 2), told(1, nil, -1, -1), told(2, kerr.UnknownLeaderEpoch, -1, -1), told(3, unknown, -1, -1),
			}},
			{Topic: missing, Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{told(0, unknown, -1, -1)}},
		}
		if v < 2 { // No current epoch is said.
			want.Topics[0].Partitions[3] = told(2, nil, 0, 0)
		}
		for _, r := range []*kmsg.OffsetForLeaderEpochResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.OffsetForLeaderEpochResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
			for _, rt := range r.Topics {
				slices.SortFunc(rt.Partitions, func(a, b kmsg.OffsetForLeaderEpochResponseTopicPartition) int {
					return cmp.Compare(a.Partition, b.Partition)
				})
			}
		}
		scenario.Whole(t, "OffsetForLeaderEpoch", got, want)
	})
}
