package produce

import (
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// idempotentScenarios are what a broker remembers of producers (KIP-98).
var idempotentScenarios = []scenario.Scenario{
	{ID: "produce.idempotent.duplicate-within-5", Says: "Any of a producer's last five batches, sent again, answers with its first offset and is not appended.", Refs: []string{"KIP-98", "redpanda#3038", "case P07"}, Run: duplicateWithin5},
	{ID: "produce.idempotent.duplicate-older", Says: "A batch older than the last five, sent again, is OUT_OF_ORDER_SEQUENCE_NUMBER.", Refs: []string{"redpanda#3038", "case P07"}, Run: duplicateOlder},
	{ID: "produce.idempotent.gap", Says: "A gap in sequences is OUT_OF_ORDER_SEQUENCE_NUMBER.", Run: sequenceGap},
	{ID: "produce.idempotent.unknown-producer", Says: "A partition that knows nothing of a producer takes any sequence.", Refs: []string{"franz-go#1281", "KIP-360", "case P09"}, Run: unknownProducer},
	{ID: "produce.idempotent.new-epoch", Says: "A newer epoch begins at sequence 0; the older epoch is INVALID_PRODUCER_EPOCH after it.", Refs: []string{"KIP-360"}, Run: newEpoch},
	{ID: "produce.idempotent.wraps", Says: "The sequence after 2147483647 is 0.", Run: sequenceWraps},
	{ID: "produce.idempotent.per-partition", Says: "Sequences count per partition.", Run: sequencePerPartition},
	{ID: "produce.idempotent.init-producer-id", Says: "InitProducerId without a transactional id gives a new id and epoch 0.", Refs: []string{"case P17"}, Run: initProducerID},
	{ID: "produce.idempotent.describe-producers", Says: "DescribeProducers shows an idempotent producer with its last sequence and timestamp.", Refs: []string{"KIP-664", "redpanda#11947", "case T15"}, Run: describeProducers},
	{ID: "produce.idempotent.different-batch", Says: "A last sequence sent again with another count is not a duplicate.", Run: duplicateOfOtherSize},
}

func duplicateWithin5(t *scenario.T) {
	topic := t.Topic(1)
	id, epoch := t.ProducerID()
	for s := range int32(5) {
		t.OK("produce", t.ProduceNumbered(topic, id, epoch, s, 1).ErrorCode)
	}
	for s := range int32(5) {
		p := t.ProduceNumbered(topic, id, epoch, s, 1)
		t.OK("again", p.ErrorCode)
		scenario.Equal(t, "base offset", p.BaseOffset, int64(s))
		scenario.Equal(t, "end of the log", t.EndOffset(topic), 5)
	}
}

func duplicateOlder(t *scenario.T) {
	topic := t.Topic(1)
	id, epoch := t.ProducerID()
	for s := range int32(6) {
		t.OK("produce", t.ProduceNumbered(topic, id, epoch, s, 1).ErrorCode)
	}
	t.Code("the sixth oldest again", t.ProduceNumbered(topic, id, epoch, 0, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
	t.OK("the fifth oldest again", t.ProduceNumbered(topic, id, epoch, 1, 1).ErrorCode)
	scenario.Equal(t, "end of the log", t.EndOffset(topic), 6)
}

func sequenceGap(t *scenario.T) {
	topic := t.Topic(1)
	id, epoch := t.ProducerID()
	t.OK("produce", t.ProduceNumbered(topic, id, epoch, 0, 3).ErrorCode)
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		t.Code("gap", t.Produce(v, topic, scenario.NumberedBatch(id, epoch, 4, 1).Bytes()).ErrorCode, kerr.OutOfOrderSequenceNumber)
	})
	t.OK("the right one", t.ProduceNumbered(topic, id, epoch, 3, 1).ErrorCode)
}

func unknownProducer(t *scenario.T) {
	topic := t.Topic(1)
	id, epoch := t.ProducerID()
	t.OK("sequence 7 first", t.ProduceNumbered(topic, id, epoch, 7, 2).ErrorCode)
	t.Code("then a gap", t.ProduceNumbered(topic, id, epoch, 10, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
	t.OK("then the next", t.ProduceNumbered(topic, id, epoch, 9, 1).ErrorCode)
}

func newEpoch(t *scenario.T) {
	topic := t.Topic(1)
	id, epoch := t.ProducerID()
	t.OK("produce", t.ProduceNumbered(topic, id, epoch, 0, 1).ErrorCode)
	t.Code("new epoch at 1", t.ProduceNumbered(topic, id, epoch+1, 1, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
	t.OK("new epoch at 0", t.ProduceNumbered(topic, id, epoch+1, 0, 1).ErrorCode)
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		t.Code("old epoch", t.Produce(v, topic, scenario.NumberedBatch(id, epoch, 1, 1).Bytes()).ErrorCode, kerr.InvalidProducerEpoch)
	})
}

func sequenceWraps(t *scenario.T) {
	topic := t.Topic(1)
	id, epoch := t.ProducerID()
	t.OK("up to the highest", t.ProduceNumbered(topic, id, epoch, math.MaxInt32, 1).ErrorCode)
	t.OK("then 0", t.ProduceNumbered(topic, id, epoch, 0, 2).ErrorCode)
	t.OK("then 2", t.ProduceNumbered(topic, id, epoch, 2, 1).ErrorCode)
	scenario.Equal(t, "end of the log", t.EndOffset(topic), 4)
}

func sequencePerPartition(t *scenario.T) {
	topic := t.Topic(2)
	id, epoch := t.ProducerID()
	version := t.Newest(kmsg.Produce, 9)
	req := t.ProduceRequest(version, -1, topic,
		scenario.Portion{Partition: 0, Records: scenario.NumberedBatch(id, epoch, 0, 1).Bytes()}, scenario.Portion{Partition: 1, Records: scenario.NumberedBatch(id, epoch, 0, 1).Bytes()})
	for _, p := range scenario.One(t, "topics", scenario.Ask[*kmsg.ProduceResponse](t, version, req).Topics).Partitions {
		t.OK("produce", p.ErrorCode)
		scenario.Equal(t, "base offset", p.BaseOffset, 0)
	}
}

func initProducerID(t *scenario.T) {
	seen := map[int64]bool{}
	t.Each(kmsg.InitProducerID, 0, 5, func(v int16) {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionTimeoutMillis = math.MaxInt32
		resp := scenario.Ask[*kmsg.InitProducerIDResponse](t, v, req)
		t.OK("InitProducerId", resp.ErrorCode)
		scenario.Equal(t, "epoch", resp.ProducerEpoch, 0)
		if resp.ProducerID < 0 || seen[resp.ProducerID] {
			t.Fatalf("producer id %d is not new", resp.ProducerID)
		}
		seen[resp.ProducerID] = true
	})
	t.Each(kmsg.InitProducerID, 0, 5, func(v int16) {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = new(""), 60000
		resp := scenario.Ask[*kmsg.InitProducerIDResponse](t, v, req)
		t.Code("empty transactional id", resp.ErrorCode, kerr.InvalidRequest)
	})
}

func describeProducers(t *scenario.T) {
	topic := t.OldTopic()
	describe := func(topic string, partition int32) kmsg.DescribeProducersResponseTopicPartition {
		req := kmsg.NewPtrDescribeProducersRequest()
		rt := kmsg.NewDescribeProducersRequestTopic()
		rt.Topic, rt.Partitions = topic, []int32{partition}
		req.Topics = append(req.Topics, rt)
		resp := scenario.Ask[*kmsg.DescribeProducersResponse](t, 0, req)
		return scenario.One(t, "partitions", scenario.One(t, "topics", resp.Topics).Partitions)
	}
	p := describe(topic, 0)
	t.OK("nobody yet", p.ErrorCode)
	scenario.Equal(t, "producers", len(p.ActiveProducers), 0)

	id, epoch := t.ProducerID()
	b := scenario.NumberedBatch(id, epoch, 0, 3)
	b.Records[2].At = 1_700_000_000_000
	b.Records[0].At, b.Records[1].At = 1_600_000_000_000, 1_600_000_000_001
	t.Append(topic, b)
	got := scenario.One(t, "producers", describe(topic, 0).ActiveProducers)
	scenario.Equal(t, "producer id", got.ProducerID, id)
	scenario.Equal(t, "epoch", got.ProducerEpoch, int32(epoch))
	scenario.Equal(t, "last sequence", got.LastSequence, 2)
	scenario.Equal(t, "last timestamp", got.LastTimestamp, 1_700_000_000_000)
	scenario.Equal(t, "coordinator epoch", got.CoordinatorEpoch, -1)
	scenario.Equal(t, "transaction start", got.CurrentTxnStartOffset, -1)
	t.Code("unknown partition", describe(topic, 5).ErrorCode, kerr.UnknownTopicOrPartition)
	t.Code("unknown topic", describe(t.Name("missing"), 0).ErrorCode, kerr.UnknownTopicOrPartition)
}

func duplicateOfOtherSize(t *scenario.T) {
	topic := t.Topic(1)
	id, epoch := t.ProducerID()
	t.OK("produce", t.ProduceNumbered(topic, id, epoch, 0, 2).ErrorCode)
	t.Code("same first, other last", t.ProduceNumbered(topic, id, epoch, 0, 3).ErrorCode, kerr.OutOfOrderSequenceNumber)
	scenario.Equal(t, "end of the log", t.EndOffset(topic), 2)
}
