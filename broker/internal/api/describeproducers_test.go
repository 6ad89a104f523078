package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// TestDescribeProducers is the idempotent half of case T15.
func TestDescribeProducers(t *testing.T) {
	n := newNode(t, 2)
	n.topic("t", 1, 1)
	n.topic("elsewhere", 2, 1, 2)
	describe := func(topic string) kmsg.DescribeProducersResponseTopicPartition {
		req := kmsg.NewPtrDescribeProducersRequest()
		req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{0}}}
		return ask(t, n.Env, req).(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0]
	}
	if got := describe("t"); got.ErrorCode != 0 || len(got.ActiveProducers) != 0 {
		t.Errorf("nothing was produced: %+v", got)
	}
	m := batch.Plain(0, -1)
	m.ProducerID, m.ProducerEpoch, m.BaseSequence = 77, 2, 0
	askProduce(t, n, produceOf(9, -1, "t", [16]byte{}, recordsOf(m, "x", "y")))
	got := describe("t").ActiveProducers
	if len(got) != 1 || got[0].ProducerID != 77 || got[0].ProducerEpoch != 2 || got[0].LastSequence != 1 || got[0].LastTimestamp <= 0 || got[0].CurrentTxnStartOffset != -1 || got[0].CoordinatorEpoch != -1 {
		t.Errorf("%+v", got)
	}
	if got := describe("elsewhere"); got.ErrorCode != kerr.NotLeaderForPartition.Code || got.ErrorMessage != nil {
		t.Errorf("another broker's: %+v", got)
	}
	if got := describe("nope"); got.ErrorCode != kerr.UnknownTopicOrPartition.Code || got.ErrorMessage == nil {
		t.Errorf("unknown: %+v", got)
	}
	if got := describe("no such/name"); got.ErrorCode != kerr.InvalidTopicException.Code {
		t.Errorf("no name: %+v", got)
	}
}
