package produce

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// refuseScenarios are what Produce does not take.
var refuseScenarios = []scenario.Scenario{
	{ID: "produce.max-message-bytes", Says: "A batch larger than max.message.bytes is refused and nothing appended; one that fits is taken.", Refs: []string{"nisshi FINDINGS franz 3", "case P03"}, Run: produceMaxMessageBytes},
	{ID: "produce.refuse.acks", Says: "acks other than -1, 0 and 1 is refused for every partition.", Run: refuseAcks},
	{ID: "produce.refuse.unknown-topic", Says: "Produce never makes topics: an unknown one is an error.", Run: refuseUnknownTopic},
	{ID: "produce.refuse.unknown-topic-id", Says: "Version 13 names topics by id; an unknown one is UNKNOWN_TOPIC_ID.", Refs: []string{"KIP-516"}, Since: "4.1", Run: refuseUnknownTopicID},
	{ID: "produce.refuse.two-batches", Says: "A partition's records are exactly one batch.", Run: refusing(twoBatches, kerr.InvalidRecord)},
	{ID: "produce.refuse.no-batch", Says: "A partition's records are at least one batch.", Run: refuseNoBatch},
	{ID: "produce.refuse.crc", Says: "A batch with a wrong checksum is CORRUPT_MESSAGE.", Run: refusing(wrongCRC, kerr.CorruptMessage)},
	{ID: "produce.refuse.magic1", Says: "Message format 1 is refused.", Refs: []string{"KIP-724", "case P19"}, Since: "4.0", Run: refusing(messageSet1, kerr.InvalidRecord)},
	{ID: "produce.refuse.empty-batch", Says: "A batch without records is refused.", Run: refusing(func() []byte { return scenario.Batch{}.Bytes() }, kerr.InvalidRecord)},
	{ID: "produce.refuse.base-offset", Says: "A client's batch begins at offset 0.", Run: refusing(func() []byte { b := scenario.PlainBatch("a"); b.Base = 5; return b.Bytes() }, kerr.InvalidRecord)},
	{ID: "produce.refuse.count", Says: "A batch's count must be its last offset delta and one.", Run: refusing(func() []byte { b := scenario.PlainBatch("a", "b"); b.Count = new(int32(3)); return b.Bytes() }, kerr.InvalidRecord)},
	{ID: "produce.refuse.deltas", Says: "Offset deltas of compressed records that are not 0, 1, 2 and so on are refused; plain ones are not looked at.", Run: refuseDeltas},
	{ID: "produce.refuse.control-batch", Says: "Clients cannot write control batches.", Refs: []string{"franz-go kfake@60b88eaa", "case P11"}, Run: refusing(controlBatch, kerr.InvalidRecord)},
	{ID: "produce.refuse.negative-sequence", Says: "A producer id needs a sequence.", Run: refusing(func() []byte { return scenario.NumberedBatch(1, 0, -1, 1).Bytes() }, kerr.InvalidRecord)},
	{ID: "produce.refuse.zstd-before-v7", Says: "zstd came with version 7; older ones may not use it.", Refs: []string{"KIP-110"}, Run: refuseOldZstd},
	{ID: "produce.refuse.compacted-keyless", Says: "A compacted topic refuses records without a key and names each.", Refs: []string{"KAFKA-8729", "KIP-467", "case P05"}, Run: refuseKeyless},
	{ID: "produce.refuse.timestamp-bounds", Says: "Timestamps outside of message.timestamp.before.max.ms and after.max.ms are INVALID_TIMESTAMP.", Refs: []string{"KIP-937"}, Since: "3.6", Run: refuseTimestamps},
	{ID: "produce.refuse.timestamp-default-bound", Says: "By default a timestamp may be at most an hour ahead.", Since: "4.0", Run: refuseFuture},
	{ID: "produce.refuse.timestamp-beats-key", Says: "With a bad timestamp and a missing key the code is INVALID_TIMESTAMP.", Refs: []string{"KAFKA-8729", "case P05"}, Run: refuseTimestampBeatsKey},
	{ID: "produce.refuse.log-append-time-bit", Says: "A client's LogAppendTime bit is INVALID_TIMESTAMP where the topic says so itself, and taken away where it does not.", Run: refuseLogAppendTimeBit},
	{ID: "produce.refuse.internal-topic", Says: "Clients cannot produce to __consumer_offsets.", Run: refuseInternalTopic},
	{ID: "produce.refuse.larger-than-segment", Says: "A batch larger than segment.bytes is RECORD_LIST_TOO_LARGE.", Run: refuseLargerThanSegment},
	{ID: "produce.min-isr-above-replicas", Says: "min.insync.replicas above the number of replicas counts as that number.", Run: minISRAboveReplicas},
	{ID: "produce.refuse.transactional-without-id", Says: "A transactional batch without a transactional id is refused.", Run: refuseTransactionalWithoutID},
	{ID: "produce.refuse.unfit-before-transaction", Says: "Whether a partition is in the transaction is asked only of a batch that its version of Produce may bring.", Refs: []string{"KIP-890"}, Since: "3.6", Run: unfitInTransaction}, // Found by a differential run.
	{ID: "produce.refuse.cut-transactional", Says: "The beginning of a transactional batch is INVALID_RECORD for its partition; it needs no transactional id.", Refs: []string{"KIP-98"}, Run: cutTransactional},                         // Found by a differential run.
	{ID: "produce.refuse.unfit-before-acks", Says: "A batch that its version of Produce may not bring is refused as such even with acks that there are not.", Run: unfitBeforeAcks},                                                      // Found by a differential run.
}

func produceMaxMessageBytes(t *scenario.T) {
	topic := t.Topic(1, "max.message.bytes=51200")
	sized := func(n int) []byte {
		return scenario.Batch{Records: []scenario.Record{{Key: []byte("k"), Value: slices.Repeat([]byte{'x'}, n)}}}.Bytes()
	}
	over := len(sized(51200)) - 51200
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		end := t.EndOffset(topic)
		t.Code("10 MiB", t.Produce(v, topic, sized(10<<20)).ErrorCode, kerr.MessageTooLarge)
		t.Code("one byte too many", t.Produce(v, topic, sized(51200-over+1)).ErrorCode, kerr.MessageTooLarge)
		scenario.Equal(t, "end of the log", t.EndOffset(topic), end)
		t.OK("exactly the limit", t.Produce(v, topic, sized(51200-over)).ErrorCode)
	})
}

// refusing makes a scenario of a batch that every version answers with a code,
// and that is not in the log after it.
func refusing(make func() []byte, want *kerr.Error) func(*scenario.T) {
	return func(t *scenario.T) {
		topic := t.Topic(1)
		t.Append(topic, scenario.PlainBatch("before"))
		t.Each(kmsg.Produce, 3, 13, func(v int16) {
			p := t.Produce(v, topic, make())
			t.Code("produce", p.ErrorCode, want)
			scenario.Equal(t, "base offset", p.BaseOffset, -1)
			scenario.Equal(t, "end of the log", t.EndOffset(topic), 1)
		})
	}
}

func twoBatches() []byte {
	return append(scenario.PlainBatch("a").Bytes(), scenario.PlainBatch("b").Bytes()...)
}

func wrongCRC() []byte {
	b := scenario.PlainBatch("a")
	b.CRC = new(uint32(1))
	return b.Bytes()
}

// refuseDeltas: what is not compressed is stamped without a look at the deltas
// (LogValidator.assignOffsetsNonCompressed). What is compressed Kafka means to
// write anew, and fails over keys it has skipped: UNKNOWN_SERVER_ERROR.
func refuseDeltas(t *scenario.T) {
	topic := t.Topic(1)
	b := scenario.PlainBatch("a", "b", "c")
	b.Records[1].Delta = new(int32(2))
	version := t.Newest(kmsg.Produce, 9)
	t.OK("not compressed", t.Produce(version, topic, b.Bytes()).ErrorCode)
	end := t.EndOffset(topic)
	b.Codec = scenario.CodecGzip
	p := t.Produce(version, topic, b.Bytes())
	if p.ErrorCode == kerr.InvalidRecord.Code {
		t.Deviates("INVALID_RECORD instead of UNKNOWN_SERVER_ERROR for offset deltas that are not 0, 1, 2")
	} else {
		t.Code("compressed", p.ErrorCode, kerr.UnknownServerError)
	}
	scenario.Equal(t, "end of the log", t.EndOffset(topic), end)
}

func controlBatch() []byte {
	key, value := []byte{0, 0, 0, 1}, []byte{0, 0, 0, 0, 0, 0}
	b := scenario.NumberedBatch(1000, 0, 0, 0)
	b.Attrs = scenario.AttrControl
	b.Records = []scenario.Record{{Key: key, Value: value}}
	return b.Bytes()
}

// refuseLogAppendTimeBit: LogValidator.validateTimestamp looks at the bit only
// when the topic's own type is LogAppendTime, or the record has no timestamp.
func refuseLogAppendTimeBit(t *scenario.T) {
	b := scenario.PlainBatch("a")
	b.Attrs = scenario.AttrLogAppendTime
	create, appended := t.Topic(1), t.Topic(1, "message.timestamp.type=LogAppendTime")
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		p := t.Produce(v, create, b.Bytes())
		t.OK("CreateTime", p.ErrorCode)
		scenario.Equal(t, "append time", p.LogAppendTime, -1)
		got := scenario.One(t, "batches", t.Batches(t.Fetch(t.Newest(kmsg.Fetch, 11), create, p.BaseOffset).RecordBatches))
		scenario.Equal(t, "attributes", got.Attrs, 0)
		t.Code("LogAppendTime", t.Produce(v, appended, b.Bytes()).ErrorCode, kerr.InvalidTimestamp)
	})
	b.Records[0].At = -1
	b.MaxTime = new(int64(-1))
	t.Code("CreateTime, no timestamp", t.Produce(t.Newest(kmsg.Produce, 9), create, b.Bytes()).ErrorCode, kerr.InvalidTimestamp)
}

// messageSet1 is one message of format 1, as clients before 0.11 sent.
func messageSet1() []byte {
	be := binary.BigEndian
	msg := []byte{1, 0} // Magic, attributes.
	msg = be.AppendUint64(msg, uint64(time.Now().UnixMilli()))
	msg = be.AppendUint32(msg, math.MaxUint32) // No key.
	msg = append(be.AppendUint32(msg, 1), 'v')
	out := be.AppendUint64(nil, 0)
	out = be.AppendUint32(out, uint32(4+len(msg)))
	out = be.AppendUint32(out, ieee(msg))
	return append(out, msg...)
}

func refuseAcks(t *scenario.T) {
	topic := t.Topic(2)
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		for _, acks := range []int16{-2, 2, 3} {
			req := t.ProduceRequest(v, acks, topic, scenario.Portion{Partition: 0, Records: scenario.PlainBatch("a").Bytes()}, scenario.Portion{Partition: 1, Records: scenario.PlainBatch("a").Bytes()})
			ps := scenario.One(t, "topics", scenario.Ask[*kmsg.ProduceResponse](t, v, req).Topics).Partitions
			scenario.Equal(t, "partitions", len(ps), 2)
			for _, p := range ps {
				t.Code("produce", p.ErrorCode, kerr.InvalidRequiredAcks)
			}
		}
	})
}

func refuseUnknownTopic(t *scenario.T) {
	name := t.Name("missing")
	t.Each(kmsg.Produce, 3, 12, func(v int16) {
		t.Code("produce", t.Produce(v, name, scenario.PlainBatch("a").Bytes()).ErrorCode, kerr.UnknownTopicOrPartition)
	})
}

func refuseUnknownTopicID(t *scenario.T) {
	topic := t.Topic(1)
	t.TakeTopicID(topic, [16]byte{1, 2, 3})
	t.Code("produce", t.Produce(13, topic, scenario.PlainBatch("a").Bytes()).ErrorCode, kerr.UnknownTopicID)
}

func refuseNoBatch(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		t.Code("no bytes", t.Produce(v, topic, []byte{}).ErrorCode, kerr.InvalidRecord)
	})
}

func refuseOldZstd(t *scenario.T) {
	topic := t.Topic(1)
	b := scenario.PlainBatch("a")
	b.Codec = scenario.CodecZstd
	t.Each(kmsg.Produce, 3, 6, func(v int16) {
		t.Code("produce", t.Produce(v, topic, b.Bytes()).ErrorCode, kerr.UnsupportedCompressionType)
	})
	t.Each(kmsg.Produce, 7, 13, func(v int16) {
		t.OK("produce", t.Produce(v, topic, b.Bytes()).ErrorCode)
	})
}

func refuseKeyless(t *scenario.T) {
	topic := t.Topic(1, "cleanup.policy=compact")
	b := scenario.Batch{Records: []scenario.Record{{Value: []byte("a")}, {Key: []byte("k"), Value: []byte("b")}, {Value: []byte("c")}}}
	for _, codec := range []int16{scenario.CodecNone, scenario.CodecLz4} {
		b.Codec = codec
		t.Each(kmsg.Produce, 3, 13, func(v int16) {
			p := t.Produce(v, topic, b.Bytes())
			t.Code("produce", p.ErrorCode, kerr.InvalidRecord)
			scenario.Equal(t, "end of the log", t.EndOffset(topic), 0)
			if v < 8 {
				return
			}
			var which []int32
			for _, r := range p.ErrorRecords {
				which = append(which, r.RelativeOffset)
			}
			scenario.EqualLists(t, "refused records", which, []int32{0, 2})
			if p.ErrorMessage == nil {
				t.Fatalf("there is no error message")
			}
		})
	}
}

func refuseTimestamps(t *scenario.T) {
	topic := t.Topic(1, "message.timestamp.before.max.ms=60000", "message.timestamp.after.max.ms=60000")
	now := time.Now().UnixMilli()
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		for _, at := range []int64{now - 3600_000, now + 3600_000, scenario.EpochStart} {
			p := t.Produce(v, topic, scenario.AtTimes(scenario.CodecNone, now, at).Bytes())
			t.Code("produce", p.ErrorCode, kerr.InvalidTimestamp)
			if v >= 8 {
				scenario.Equal(t, "refused record", scenario.One(t, "refused records", p.ErrorRecords).RelativeOffset, 1)
			}
		}
		t.OK("no timestamp", t.Produce(v, topic, scenario.AtTimes(scenario.CodecNone, -1).Bytes()).ErrorCode)
	})
}

func refuseFuture(t *scenario.T) {
	topic := t.Topic(1)
	version := t.Newest(kmsg.Produce, 9)
	now := time.Now().UnixMilli()
	t.Code("two hours ahead", t.Produce(version, topic, scenario.AtTimes(scenario.CodecNone, now+7200_000).Bytes()).ErrorCode, kerr.InvalidTimestamp)
	t.OK("a minute ahead", t.Produce(version, topic, scenario.AtTimes(scenario.CodecNone, now+60_000).Bytes()).ErrorCode)
}

func refuseTimestampBeatsKey(t *scenario.T) {
	topic := t.Topic(1, "cleanup.policy=compact", "message.timestamp.after.max.ms=1000")
	b := scenario.Batch{Records: []scenario.Record{{Value: []byte("a")}, {Key: []byte("k"), At: time.Now().UnixMilli() + 3600_000}}}
	p := t.Produce(t.Newest(kmsg.Produce, 9), topic, b.Bytes())
	t.Code("produce", p.ErrorCode, kerr.InvalidTimestamp)
	var which []int32
	for _, r := range p.ErrorRecords {
		which = append(which, r.RelativeOffset)
	}
	slices.Sort(which)
	scenario.EqualLists(t, "refused records", which, []int32{0, 1})
}

func refuseInternalTopic(t *scenario.T) {
	t.Group() // __consumer_offsets is there.
	const topic = "__consumer_offsets"
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		t.Code("produce", t.Produce(v, topic, scenario.PlainBatch("a").Bytes()).ErrorCode, kerr.InvalidTopicException)
	})
}

func refuseLargerThanSegment(t *scenario.T) {
	topic := t.Topic(1, "segment.bytes=1048576", "max.message.bytes=4000000")
	b := scenario.Batch{Records: []scenario.Record{{Key: []byte("k"), Value: slices.Repeat([]byte{'x'}, 2<<20)}}}
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		t.Code("produce", t.Produce(v, topic, b.Bytes()).ErrorCode, kerr.RecordListTooLarge)
	})
	scenario.Equal(t, "end of the log", t.EndOffset(topic), 0)
}

func minISRAboveReplicas(t *scenario.T) {
	topic := t.Topic(1, "min.insync.replicas=2")
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		// As in Partition.effectiveMinIsr of Kafka's cluster/Partition.scala.
		t.OK("acks=all", t.Produce(v, topic, scenario.PlainBatch("a").Bytes()).ErrorCode)
	})
}

func refuseTransactionalWithoutID(t *scenario.T) {
	topic := t.Topic(1)
	b := scenario.NumberedBatch(12345, 0, 0, 1)
	b.Attrs = scenario.AttrTransactional
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		t.Code("produce", t.Produce(v, topic, b.Bytes()).ErrorCode, kerr.TransactionalIDAuthorizationFailed)
	})
	scenario.Equal(t, "end of the log", t.EndOffset(topic), 0)
}

// ieee is the checksum of message formats 0 and 1.
func ieee(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

func unfitInTransaction(t *scenario.T) {
	topic, id := t.Topic(1), t.Name("x")
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID, init.TransactionTimeoutMillis = &id, 60000
	version := t.Newest(kmsg.InitProducerID, 4)
	var p *kmsg.InitProducerIDResponse
	t.Until("a producer id", func() bool {
		p = scenario.Ask[*kmsg.InitProducerIDResponse](t, version, init)
		return p.ErrorCode == 0
	})
	b := scenario.NumberedBatch(p.ProducerID, p.ProducerEpoch, 0, 1)
	b.Attrs |= scenario.AttrTransactional
	send := func(v int16, records []byte) int16 {
		req := t.ProduceRequest(v, -1, topic, scenario.Portion{Partition: 0, Records: records})
		req.TransactionID = &id
		return scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.ProduceResponse](t, v, req).Topics).Partitions).ErrorCode
	}
	t.Code("not in the transaction", send(5, b.Bytes()), kerr.InvalidTxnState)
	t.Code("two batches", send(5, append(b.Bytes(), b.Bytes()...)), kerr.InvalidRecord)
	b.Codec = scenario.CodecZstd
	t.Code("zstd before version 7", send(5, b.Bytes()), kerr.UnsupportedCompressionType)
}

func cutTransactional(t *scenario.T) {
	topic := t.Topic(2)
	b := scenario.NumberedBatch(12345, 0, 0, 1)
	b.Attrs = scenario.AttrTransactional
	cut := b.Bytes()[:len(b.Bytes())-3]
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		req := t.ProduceRequest(v, -1, topic, scenario.Portion{Partition: 0, Records: cut}, scenario.Portion{Partition: 1, Records: scenario.PlainBatch("a").Bytes()})
		ps := scenario.One(t, "topics", scenario.Ask[*kmsg.ProduceResponse](t, v, req).Topics).Partitions
		scenario.Equal(t, "partitions", len(ps), 2)
		for _, p := range ps {
			if p.Partition == 0 {
				t.Code("the cut batch", p.ErrorCode, kerr.InvalidRecord)
			} else {
				t.OK("the other", p.ErrorCode)
			}
		}
	})
	scenario.Equal(t, "end of the log", t.EndOffset(topic), 0)
}

func unfitBeforeAcks(t *scenario.T) {
	topic := t.Topic(1)
	zstd := scenario.PlainBatch("a")
	zstd.Codec = scenario.CodecZstd
	refused := func(v int16, topic string, acks int16, records []byte, want *kerr.Error) {
		req := t.ProduceRequest(v, acks, topic, scenario.Portion{Partition: 0, Records: records})
		p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.ProduceResponse](t, v, req).Topics).Partitions)
		t.Code("produce", p.ErrorCode, want)
	}
	refused(6, topic, 2, zstd.Bytes(), kerr.UnsupportedCompressionType)
	refused(7, topic, 2, zstd.Bytes(), kerr.InvalidRequiredAcks)
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		refused(v, topic, 2, twoBatches(), kerr.InvalidRecord)
		refused(v, topic, 2, scenario.PlainBatch("a").Bytes()[:70], kerr.InvalidRecord)
	})
	t.Group() // __consumer_offsets is there.
	refused(6, "__consumer_offsets", 1, twoBatches(), kerr.InvalidRecord)
	scenario.Equal(t, "end of the log", t.EndOffset(topic), 0)
}
