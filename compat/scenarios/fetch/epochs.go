package fetch

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// epochsScenarios are about leader epochs (KIP-320, KIP-595).
var epochsScenarios = []scenario.Scenario{
	{ID: "fetch.epoch.fencing", Says: "A current leader epoch later than the leader's is UNKNOWN_LEADER_EPOCH; its own, and none, are served.", Refs: []string{"KIP-320"}, Run: fetchEpochFencing},
	{ID: "fetch.epoch.diverging", Says: "A fetch past the end of its last fetched epoch is told where that ends; an epoch later than the leader's is OFFSET_OUT_OF_RANGE.", Refs: []string{"KIP-595"}, Run: fetchDiverging},
	{ID: "fetch.leader-epoch-in-batch", Says: "Batches carry the leader epoch that wrote them.", Run: fetchBatchEpoch},
	{ID: "fetch.whole-answer.diverging", Says: "A fetch behind the end of its last epoch is told where that ends and nothing else, from version 12.", Refs: []string{"KIP-595"}, Run: fetchDivergingAnswers},
}

func fetchEpochFencing(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a"))
	t.Each(kmsg.Fetch, 9, 18, func(v int16) {
		for epoch, want := range map[int32]*kerr.Error{-1: nil, 0: nil, 1: kerr.UnknownLeaderEpoch, 1000: kerr.UnknownLeaderEpoch} {
			req := t.FetchRequest(v, topic, scenario.Fetching{})
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
			p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
			t.Code(fmt.Sprintf("epoch %d", epoch), p.ErrorCode, want)
		}
	})
}

func fetchDiverging(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a", "b"))
	t.Each(kmsg.Fetch, 12, 18, func(v int16) {
		req := t.FetchRequest(v, topic, scenario.Fetching{Offset: 1, LastEpoch: 3})
		p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		// The leader is of epoch 0: it does not know a later one, and so cannot say
		// where it ends (FetchRequest with lastFetchedEpoch, Partition.readRecords).
		t.Code("an epoch that never was", p.ErrorCode, kerr.OffsetOutOfRange)
		req = t.FetchRequest(v, topic, scenario.Fetching{Offset: 1})
		req.Topics[0].Partitions[0].LastFetchedEpoch = 0
		p = scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		t.OK("the same epoch", p.ErrorCode)
		scenario.EqualLists(t, "offsets", scenario.Offsets(t.Records(p.RecordBatches)), []int64{0, 1})
		scenario.Equal(t, "diverging epoch", p.DivergingEpoch.Epoch, -1)
		req.Topics[0].Partitions[0].FetchOffset = 5
		p = scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		t.OK("past the end of its epoch", p.ErrorCode)
		scenario.Equal(t, "bytes", len(p.RecordBatches), 0)
		scenario.Equal(t, "diverging epoch", p.DivergingEpoch.Epoch, 0)
		scenario.Equal(t, "diverging end", p.DivergingEpoch.EndOffset, 2)
	})
}

func fetchBatchEpoch(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a"))
	got := scenario.One(t, "batches", t.Batches(t.Fetch(t.Newest(kmsg.Fetch, 11), topic, 0).RecordBatches))
	scenario.Equal(t, "leader epoch", got.LeaderEpoch, 0)
	scenario.Equal(t, "producer id", got.Producer, -1)
	scenario.Equal(t, "producer epoch", got.Epoch, -1)
	scenario.Equal(t, "sequence", got.Sequence, -1)
}

func fetchDivergingAnswers(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a", "b", "c"))
	t.Each(kmsg.Fetch, 12, 18, func(v int16) {
		req := t.FetchRequest(v, topic, scenario.Fetching{Offset: 4})
		req.Topics[0].Partitions[0].LastFetchedEpoch = 0
		want := kmsg.NewPtrFetchResponse()
		want.Topics = []kmsg.FetchResponseTopic{{Topic: topic, TopicID: t.TopicID(topic), Partitions: []kmsg.FetchResponseTopicPartition{
			scenario.Filled(func(p *kmsg.FetchResponseTopicPartition) {
				p.HighWatermark, p.LastStableOffset, p.LogStartOffset, p.RecordBatches = 3, 3, 0, []byte{}
				p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 0, 3
			}),
		}}}
		scenario.Whole(t, "Fetch", scenario.Ask[*kmsg.FetchResponse](t, v, req), want)
	})
}
