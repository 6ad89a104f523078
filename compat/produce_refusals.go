package compat

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceRefusals are what Produce does not take.
var produceRefusals = []Scenario{
	{ID: "produce.refuse.acks", Says: "acks other than -1, 0 and 1 is refused for every partition.", Run: refuseAcks},
	{ID: "produce.refuse.unknown-topic", Says: "Produce never makes topics: an unknown one is an error.", Run: refuseUnknownTopic},
	{ID: "produce.refuse.unknown-topic-id", Says: "Version 13 names topics by id; an unknown one is UNKNOWN_TOPIC_ID.", Refs: []string{"KIP-516"}, Since: "4.1", Run: refuseUnknownTopicID},
	{ID: "produce.refuse.two-batches", Says: "A partition's records are exactly one batch.", Run: refusing(twoBatches, kerr.InvalidRecord)},
	{ID: "produce.refuse.no-batch", Says: "A partition's records are at least one batch.", Run: refuseNoBatch},
	{ID: "produce.refuse.crc", Says: "A batch with a wrong checksum is CORRUPT_MESSAGE.", Run: refusing(wrongCRC, kerr.CorruptMessage)},
	{ID: "produce.refuse.magic1", Says: "Message format 1 is refused.", Refs: []string{"KIP-724", "case P19"}, Since: "4.0", Run: refusing(messageSet1, kerr.InvalidRecord)},
	{ID: "produce.refuse.empty-batch", Says: "A batch without records is refused.", Run: refusing(func() []byte { return batch{}.bytes() }, kerr.InvalidRecord)},
	{ID: "produce.refuse.base-offset", Says: "A client's batch begins at offset 0.", Run: refusing(func() []byte { b := plainBatch("a"); b.base = 5; return b.bytes() }, kerr.InvalidRecord)},
	{ID: "produce.refuse.count", Says: "A batch's count must be its last offset delta and one.", Run: refusing(func() []byte { b := plainBatch("a", "b"); b.count = new(int32(3)); return b.bytes() }, kerr.InvalidRecord)},
	{ID: "produce.refuse.deltas", Says: "Offset deltas of compressed records that are not 0, 1, 2 and so on are refused; plain ones are not looked at.", Run: refuseDeltas},
	{ID: "produce.refuse.control-batch", Says: "Clients cannot write control batches.", Refs: []string{"franz-go kfake@60b88eaa", "case P11"}, Run: refusing(controlBatch, kerr.InvalidRecord)},
	{ID: "produce.refuse.negative-sequence", Says: "A producer id needs a sequence.", Run: refusing(func() []byte { return numbered(1, 0, -1, 1).bytes() }, kerr.InvalidRecord)},
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
}

// refusing makes a scenario of a batch that every version answers with a code,
// and that is not in the log after it.
func refusing(make func() []byte, want *kerr.Error) func(*T) {
	return func(t *T) {
		topic := t.Topic(1)
		t.append(topic, plainBatch("before"))
		t.each(kmsg.Produce, 3, 13, func(v int16) {
			p := t.produce(v, topic, make())
			t.code("produce", p.ErrorCode, want)
			equal(t, "base offset", p.BaseOffset, -1)
			equal(t, "end of the log", t.endOffset(topic), 1)
		})
	}
}

func twoBatches() []byte {
	return append(plainBatch("a").bytes(), plainBatch("b").bytes()...)
}

func wrongCRC() []byte {
	b := plainBatch("a")
	b.crc = new(uint32(1))
	return b.bytes()
}

// refuseDeltas: what is not compressed is stamped without a look at the deltas
// (LogValidator.assignOffsetsNonCompressed). What is compressed Kafka means to
// write anew, and fails over keys it has skipped: UNKNOWN_SERVER_ERROR.
func refuseDeltas(t *T) {
	topic := t.Topic(1)
	b := plainBatch("a", "b", "c")
	b.records[1].delta = new(int32(2))
	version := t.newest(kmsg.Produce, 9)
	t.ok("not compressed", t.produce(version, topic, b.bytes()).ErrorCode)
	end := t.endOffset(topic)
	b.codec = codecGzip
	p := t.produce(version, topic, b.bytes())
	if p.ErrorCode == kerr.InvalidRecord.Code {
		t.Deviates("INVALID_RECORD instead of UNKNOWN_SERVER_ERROR for offset deltas that are not 0, 1, 2")
	} else {
		t.code("compressed", p.ErrorCode, kerr.UnknownServerError)
	}
	equal(t, "end of the log", t.endOffset(topic), end)
}

func controlBatch() []byte {
	key, value := []byte{0, 0, 0, 1}, []byte{0, 0, 0, 0, 0, 0}
	b := numbered(1000, 0, 0, 0)
	b.attrs = attrControl
	b.records = []record{{key: key, value: value}}
	return b.bytes()
}

// refuseLogAppendTimeBit: LogValidator.validateTimestamp looks at the bit only
// when the topic's own type is LogAppendTime, or the record has no timestamp.
func refuseLogAppendTimeBit(t *T) {
	b := plainBatch("a")
	b.attrs = attrLogAppendTime
	create, appended := t.Topic(1), t.Topic(1, "message.timestamp.type=LogAppendTime")
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		p := t.produce(v, create, b.bytes())
		t.ok("CreateTime", p.ErrorCode)
		equal(t, "append time", p.LogAppendTime, -1)
		got := one(t, "batches", t.batches(t.fetch(t.newest(kmsg.Fetch, 11), create, p.BaseOffset).RecordBatches))
		equal(t, "attributes", got.attrs, 0)
		t.code("LogAppendTime", t.produce(v, appended, b.bytes()).ErrorCode, kerr.InvalidTimestamp)
	})
	b.records[0].at = -1
	b.maxTime = new(int64(-1))
	t.code("CreateTime, no timestamp", t.produce(t.newest(kmsg.Produce, 9), create, b.bytes()).ErrorCode, kerr.InvalidTimestamp)
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

func refuseAcks(t *T) {
	topic := t.Topic(2)
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		for _, acks := range []int16{-2, 2, 3} {
			req := t.produceRequest(v, acks, topic, portion{0, plainBatch("a").bytes()}, portion{1, plainBatch("a").bytes()})
			ps := one(t, "topics", ask[*kmsg.ProduceResponse](t, v, req).Topics).Partitions
			equal(t, "partitions", len(ps), 2)
			for _, p := range ps {
				t.code("produce", p.ErrorCode, kerr.InvalidRequiredAcks)
			}
		}
	})
}

func refuseUnknownTopic(t *T) {
	name := t.name("missing")
	t.each(kmsg.Produce, 3, 12, func(v int16) {
		t.code("produce", t.produce(v, name, plainBatch("a").bytes()).ErrorCode, kerr.UnknownTopicOrPartition)
	})
}

func refuseUnknownTopicID(t *T) {
	topic := t.Topic(1)
	t.TakeTopicID(topic, [16]byte{1, 2, 3})
	t.code("produce", t.produce(13, topic, plainBatch("a").bytes()).ErrorCode, kerr.UnknownTopicID)
}

func refuseNoBatch(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		t.code("no bytes", t.produce(v, topic, []byte{}).ErrorCode, kerr.InvalidRecord)
	})
}

func refuseOldZstd(t *T) {
	topic := t.Topic(1)
	b := plainBatch("a")
	b.codec = codecZstd
	t.each(kmsg.Produce, 3, 6, func(v int16) {
		t.code("produce", t.produce(v, topic, b.bytes()).ErrorCode, kerr.UnsupportedCompressionType)
	})
	t.each(kmsg.Produce, 7, 13, func(v int16) {
		t.ok("produce", t.produce(v, topic, b.bytes()).ErrorCode)
	})
}

func refuseKeyless(t *T) {
	topic := t.Topic(1, "cleanup.policy=compact")
	b := batch{records: []record{{value: []byte("a")}, {key: []byte("k"), value: []byte("b")}, {value: []byte("c")}}}
	for _, codec := range []int16{codecNone, codecLz4} {
		b.codec = codec
		t.each(kmsg.Produce, 3, 13, func(v int16) {
			p := t.produce(v, topic, b.bytes())
			t.code("produce", p.ErrorCode, kerr.InvalidRecord)
			equal(t, "end of the log", t.endOffset(topic), 0)
			if v < 8 {
				return
			}
			var which []int32
			for _, r := range p.ErrorRecords {
				which = append(which, r.RelativeOffset)
			}
			equals(t, "refused records", which, []int32{0, 2})
			if p.ErrorMessage == nil {
				t.Fatalf("there is no error message")
			}
		})
	}
}

func refuseTimestamps(t *T) {
	topic := t.Topic(1, "message.timestamp.before.max.ms=60000", "message.timestamp.after.max.ms=60000")
	now := time.Now().UnixMilli()
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		for _, at := range []int64{now - 3600_000, now + 3600_000, epochStart} {
			p := t.produce(v, topic, times(codecNone, now, at).bytes())
			t.code("produce", p.ErrorCode, kerr.InvalidTimestamp)
			if v >= 8 {
				equal(t, "refused record", one(t, "refused records", p.ErrorRecords).RelativeOffset, 1)
			}
		}
		t.ok("no timestamp", t.produce(v, topic, times(codecNone, -1).bytes()).ErrorCode)
	})
}

func refuseFuture(t *T) {
	topic := t.Topic(1)
	version := t.newest(kmsg.Produce, 9)
	now := time.Now().UnixMilli()
	t.code("two hours ahead", t.produce(version, topic, times(codecNone, now+7200_000).bytes()).ErrorCode, kerr.InvalidTimestamp)
	t.ok("a minute ahead", t.produce(version, topic, times(codecNone, now+60_000).bytes()).ErrorCode)
}

func refuseTimestampBeatsKey(t *T) {
	topic := t.Topic(1, "cleanup.policy=compact", "message.timestamp.after.max.ms=1000")
	b := batch{records: []record{{value: []byte("a")}, {key: []byte("k"), at: time.Now().UnixMilli() + 3600_000}}}
	p := t.produce(t.newest(kmsg.Produce, 9), topic, b.bytes())
	t.code("produce", p.ErrorCode, kerr.InvalidTimestamp)
	var which []int32
	for _, r := range p.ErrorRecords {
		which = append(which, r.RelativeOffset)
	}
	slices.Sort(which)
	equals(t, "refused records", which, []int32{0, 1})
}

func refuseInternalTopic(t *T) {
	t.Group() // __consumer_offsets is there.
	const topic = "__consumer_offsets"
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		t.code("produce", t.produce(v, topic, plainBatch("a").bytes()).ErrorCode, kerr.InvalidTopicException)
	})
}

func refuseLargerThanSegment(t *T) {
	topic := t.Topic(1, "segment.bytes=1048576", "max.message.bytes=4000000")
	b := batch{records: []record{{key: []byte("k"), value: slices.Repeat([]byte{'x'}, 2<<20)}}}
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		t.code("produce", t.produce(v, topic, b.bytes()).ErrorCode, kerr.RecordListTooLarge)
	})
	equal(t, "end of the log", t.endOffset(topic), 0)
}

func minISRAboveReplicas(t *T) {
	topic := t.Topic(1, "min.insync.replicas=2")
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		// As in Partition.effectiveMinIsr of Kafka's cluster/Partition.scala.
		t.ok("acks=all", t.produce(v, topic, plainBatch("a").bytes()).ErrorCode)
	})
}

func refuseTransactionalWithoutID(t *T) {
	topic := t.Topic(1)
	b := numbered(12345, 0, 0, 1)
	b.attrs = attrTransactional
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		t.code("produce", t.produce(v, topic, b.bytes()).ErrorCode, kerr.TransactionalIDAuthorizationFailed)
	})
	equal(t, "end of the log", t.endOffset(topic), 0)
}
