package compat

import (
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// idempotenceScenarios are what a broker remembers of producers (KIP-98).
var idempotenceScenarios = []Scenario{
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

// produceNumbered produces n records of an idempotent producer to partition 0.
func (t *T) produceNumbered(topic string, id int64, epoch int16, sequence int32, n int) kmsg.ProduceResponseTopicPartition {
	return t.produce(t.newest(kmsg.Produce, 9), topic, numbered(id, epoch, sequence, n).bytes())
}

func duplicateWithin5(t *T) {
	topic := t.Topic(1)
	id, epoch := t.producerID()
	for s := range int32(5) {
		t.ok("produce", t.produceNumbered(topic, id, epoch, s, 1).ErrorCode)
	}
	for s := range int32(5) {
		p := t.produceNumbered(topic, id, epoch, s, 1)
		t.ok("again", p.ErrorCode)
		equal(t, "base offset", p.BaseOffset, int64(s))
		equal(t, "end of the log", t.endOffset(topic), 5)
	}
}

func duplicateOlder(t *T) {
	topic := t.Topic(1)
	id, epoch := t.producerID()
	for s := range int32(6) {
		t.ok("produce", t.produceNumbered(topic, id, epoch, s, 1).ErrorCode)
	}
	t.code("the sixth oldest again", t.produceNumbered(topic, id, epoch, 0, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
	t.ok("the fifth oldest again", t.produceNumbered(topic, id, epoch, 1, 1).ErrorCode)
	equal(t, "end of the log", t.endOffset(topic), 6)
}

func sequenceGap(t *T) {
	topic := t.Topic(1)
	id, epoch := t.producerID()
	t.ok("produce", t.produceNumbered(topic, id, epoch, 0, 3).ErrorCode)
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		t.code("gap", t.produce(v, topic, numbered(id, epoch, 4, 1).bytes()).ErrorCode, kerr.OutOfOrderSequenceNumber)
	})
	t.ok("the right one", t.produceNumbered(topic, id, epoch, 3, 1).ErrorCode)
}

func unknownProducer(t *T) {
	topic := t.Topic(1)
	id, epoch := t.producerID()
	t.ok("sequence 7 first", t.produceNumbered(topic, id, epoch, 7, 2).ErrorCode)
	t.code("then a gap", t.produceNumbered(topic, id, epoch, 10, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
	t.ok("then the next", t.produceNumbered(topic, id, epoch, 9, 1).ErrorCode)
}

func newEpoch(t *T) {
	topic := t.Topic(1)
	id, epoch := t.producerID()
	t.ok("produce", t.produceNumbered(topic, id, epoch, 0, 1).ErrorCode)
	t.code("new epoch at 1", t.produceNumbered(topic, id, epoch+1, 1, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
	t.ok("new epoch at 0", t.produceNumbered(topic, id, epoch+1, 0, 1).ErrorCode)
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		t.code("old epoch", t.produce(v, topic, numbered(id, epoch, 1, 1).bytes()).ErrorCode, kerr.InvalidProducerEpoch)
	})
}

func sequenceWraps(t *T) {
	topic := t.Topic(1)
	id, epoch := t.producerID()
	t.ok("up to the highest", t.produceNumbered(topic, id, epoch, math.MaxInt32, 1).ErrorCode)
	t.ok("then 0", t.produceNumbered(topic, id, epoch, 0, 2).ErrorCode)
	t.ok("then 2", t.produceNumbered(topic, id, epoch, 2, 1).ErrorCode)
	equal(t, "end of the log", t.endOffset(topic), 4)
}

func sequencePerPartition(t *T) {
	topic := t.Topic(2)
	id, epoch := t.producerID()
	version := t.newest(kmsg.Produce, 9)
	req := t.produceRequest(version, -1, topic,
		portion{0, numbered(id, epoch, 0, 1).bytes()}, portion{1, numbered(id, epoch, 0, 1).bytes()})
	for _, p := range one(t, "topics", ask[*kmsg.ProduceResponse](t, version, req).Topics).Partitions {
		t.ok("produce", p.ErrorCode)
		equal(t, "base offset", p.BaseOffset, 0)
	}
}

func initProducerID(t *T) {
	seen := map[int64]bool{}
	t.each(kmsg.InitProducerID, 0, 5, func(v int16) {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionTimeoutMillis = math.MaxInt32
		resp := ask[*kmsg.InitProducerIDResponse](t, v, req)
		t.ok("InitProducerId", resp.ErrorCode)
		equal(t, "epoch", resp.ProducerEpoch, 0)
		if resp.ProducerID < 0 || seen[resp.ProducerID] {
			t.Fatalf("producer id %d is not new", resp.ProducerID)
		}
		seen[resp.ProducerID] = true
	})
	t.each(kmsg.InitProducerID, 0, 5, func(v int16) {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = new(""), 60000
		resp := ask[*kmsg.InitProducerIDResponse](t, v, req)
		t.code("empty transactional id", resp.ErrorCode, kerr.InvalidRequest)
	})
}

func describeProducers(t *T) {
	topic := t.OldTopic()
	describe := func(topic string, partition int32) kmsg.DescribeProducersResponseTopicPartition {
		req := kmsg.NewPtrDescribeProducersRequest()
		rt := kmsg.NewDescribeProducersRequestTopic()
		rt.Topic, rt.Partitions = topic, []int32{partition}
		req.Topics = append(req.Topics, rt)
		resp := ask[*kmsg.DescribeProducersResponse](t, 0, req)
		return one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
	}
	p := describe(topic, 0)
	t.ok("nobody yet", p.ErrorCode)
	equal(t, "producers", len(p.ActiveProducers), 0)

	id, epoch := t.producerID()
	b := numbered(id, epoch, 0, 3)
	b.records[2].at = 1_700_000_000_000
	b.records[0].at, b.records[1].at = 1_600_000_000_000, 1_600_000_000_001
	t.append(topic, b)
	got := one(t, "producers", describe(topic, 0).ActiveProducers)
	equal(t, "producer id", got.ProducerID, id)
	equal(t, "epoch", got.ProducerEpoch, int32(epoch))
	equal(t, "last sequence", got.LastSequence, 2)
	equal(t, "last timestamp", got.LastTimestamp, 1_700_000_000_000)
	equal(t, "coordinator epoch", got.CoordinatorEpoch, -1)
	equal(t, "transaction start", got.CurrentTxnStartOffset, -1)
	t.code("unknown partition", describe(topic, 5).ErrorCode, kerr.UnknownTopicOrPartition)
	t.code("unknown topic", describe(t.name("missing"), 0).ErrorCode, kerr.UnknownTopicOrPartition)
}

func duplicateOfOtherSize(t *T) {
	topic := t.Topic(1)
	id, epoch := t.producerID()
	t.ok("produce", t.produceNumbered(topic, id, epoch, 0, 2).ErrorCode)
	t.code("same first, other last", t.produceNumbered(topic, id, epoch, 0, 3).ErrorCode, kerr.OutOfOrderSequenceNumber)
	equal(t, "end of the log", t.endOffset(topic), 2)
}
