package compat

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var produceScenarios = []Scenario{
	{ID: "produce.acks0.no-response", Says: "Produce with acks=0 has no response, and its records are in the log.", Refs: []string{"kop#1875", "case P01"}, Run: acks0NoResponse},
	{ID: "produce.acks0.error-closes", Says: "Produce with acks=0 that fails closes the connection.", Run: acks0ErrorCloses},
	{ID: "produce.acks1", Says: "Produce with acks=1 answers with the offset.", Run: acks1},
	{ID: "produce.versions", Says: "Produce answers with base offset, no append time and the log start, in every version.", Refs: []string{"case O05"}, Run: produceVersions},
	{ID: "produce.no-topics", Says: "Produce without topics has an empty response.", Run: produceNoTopics},
	{ID: "produce.pipelined-in-order", Says: "Requests sent back to back are done and answered in the order in which they were sent.", Refs: []string{"kop PR 1174", "case P15"}, Run: producePipelined},
	{ID: "produce.partial-success", Says: "An unknown partition fails alone; the others are committed.", Run: producePartial},
	{ID: "produce.timestamp.zero", Says: "Timestamp 0 is a timestamp like any other.", Refs: []string{"kop PR 1839", "case P13"}, Run: produceTimestampZero},
	{ID: "produce.timestamp.none", Says: "Timestamp -1 (none) is accepted.", Run: produceTimestampNone},
	{ID: "produce.timestamp.log-append-time", Says: "A LogAppendTime topic stamps batches with the broker's time and tells it.", Refs: []string{"KIP-32"}, Run: produceLogAppendTime},
	{ID: "produce.codecs", Says: "Batches of every codec come back with the codec and the records that they had.", Run: produceCodecs},
	{ID: "produce.compression.recompress", Says: "A topic with compression.type of its own recompresses; uncompressed unpacks.", Refs: []string{"KIP-390"}, Run: produceRecompress},
	{ID: "produce.headers-and-nulls", Says: "Null keys, null values and headers come back as they were.", Run: produceHeadersAndNulls},
	{ID: "produce.max-message-bytes", Says: "A batch larger than max.message.bytes is refused and nothing appended; one that fits is taken.", Refs: []string{"nisshi FINDINGS franz 3", "case P03"}, Run: produceMaxMessageBytes},
}

func acks0NoResponse(t *T) {
	topic := t.Topic(1)
	c := t.Dial()
	version := t.newest(kmsg.Produce, 9)
	t.send(c, version, t.produceRequest(version, 0, topic, portion{0, plainBatch("a").bytes()}))
	md := kmsg.NewPtrMetadataRequest()
	md.Topics = []kmsg.MetadataRequestTopic{}
	askOn[*kmsg.MetadataResponse](t, c, 4, md) // Fails if anything else comes first.
	equals(t, "records", values(t.read(topic, 0)), []string{"a"})
}

func acks0ErrorCloses(t *T) {
	topic := t.Topic(1)
	c := t.Dial()
	version := t.newest(kmsg.Produce, 9)
	t.send(c, version, t.produceRequest(version, 0, topic, portion{7, plainBatch("a").bytes()}))
	t.closes(c)
}

func acks1(t *T) {
	topic := t.Topic(1)
	version := t.newest(kmsg.Produce, 9)
	for want := range int64(2) {
		req := t.produceRequest(version, 1, topic, portion{0, plainBatch("a").bytes()})
		p := one(t, "partitions", one(t, "topics", ask[*kmsg.ProduceResponse](t, version, req).Topics).Partitions)
		t.ok("produce", p.ErrorCode)
		equal(t, "base offset", p.BaseOffset, want)
	}
}

func produceVersions(t *T) {
	topic := t.Topic(1)
	next := int64(0)
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		p := t.produce(v, topic, plainBatch("a", "b").bytes())
		t.ok("produce", p.ErrorCode)
		equal(t, "base offset", p.BaseOffset, next)
		equal(t, "log append time", p.LogAppendTime, -1)
		if v >= 5 {
			equal(t, "log start offset", p.LogStartOffset, 0)
		}
		if p.ErrorMessage != nil || len(p.ErrorRecords) > 0 {
			t.Fatalf("a success has an error message or records: %s", plain(p))
		}
		next += 2
	})
}

func produceNoTopics(t *T) {
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis = -1, 1000
		equal(t, "topics", len(ask[*kmsg.ProduceResponse](t, v, req).Topics), 0)
	})
}

func producePipelined(t *T) {
	const n = 200
	topic := t.Topic(1)
	version := t.newest(kmsg.Produce, 9)
	c := t.Dial()
	pending, want := make([]Pending, n), make([]string, n)
	for i := range pending {
		want[i] = strconv.Itoa(i)
		pending[i] = t.send(c, version, t.produceRequest(version, -1, topic, portion{0, plainBatch(want[i]).bytes()}))
	}
	for i, p := range pending {
		got := one(t, "partitions", one(t, "topics", receive[*kmsg.ProduceResponse](t, c, p).Topics).Partitions)
		t.ok("produce", got.ErrorCode)
		equal(t, "base offset", got.BaseOffset, int64(i))
	}
	equals(t, "values", values(t.read(topic, 0)), want)
}

func producePartial(t *T) {
	topic := t.Topic(2)
	version := t.newest(kmsg.Produce, 9)
	req := t.produceRequest(version, -1, topic, portion{0, plainBatch("a").bytes()}, portion{9, plainBatch("b").bytes()}, portion{1, plainBatch("c").bytes()})
	got := map[int32]int16{}
	for _, p := range one(t, "topics", ask[*kmsg.ProduceResponse](t, version, req).Topics).Partitions {
		got[p.Partition] = p.ErrorCode
	}
	equal(t, "partitions", len(got), 3)
	t.ok("partition 0", got[0])
	t.ok("partition 1", got[1])
	t.code("partition 9", got[9], kerr.UnknownTopicOrPartition)
	equals(t, "records of partition 0", values(t.readPartition(topic, 0, 0)), []string{"a"})
	equals(t, "records of partition 1", values(t.readPartition(topic, 1, 0)), []string{"c"})
}

func produceTimestampZero(t *T) {
	topic := t.OldTopic()
	t.append(topic, times(codecNone, epochStart))
	equal(t, "timestamp", one(t, "records", t.read(topic, 0)).at, 0)
}

func produceTimestampNone(t *T) {
	topic := t.Topic(1)
	t.append(topic, times(codecNone, -1))
	equal(t, "timestamp", one(t, "records", t.read(topic, 0)).at, -1)
}

func produceLogAppendTime(t *T) {
	topic := t.OldTopic("message.timestamp.type=LogAppendTime")
	before := time.Now().Add(-time.Minute).UnixMilli()
	for _, codec := range []int16{codecNone, codecGzip} {
		b := times(codec, 1000, 2000)
		p := t.produce(t.newest(kmsg.Produce, 9), topic, b.bytes())
		t.ok("produce", p.ErrorCode)
		if p.LogAppendTime < before {
			t.Fatalf("log append time %d, want about now (%d)", p.LogAppendTime, time.Now().UnixMilli())
		}
		got := one(t, "batches", t.batches(t.fetch(t.newest(kmsg.Fetch, 11), topic, p.BaseOffset).RecordBatches))
		equal(t, "attributes", got.attrs, codec|attrLogAppendTime)
		equal(t, "max timestamp", got.maxTime, p.LogAppendTime)
		equal(t, "first timestamp, the client's", got.firstTime, 1000)
	}
}

func produceCodecs(t *T) {
	topic := t.Topic(1)
	for _, codec := range []int16{codecNone, codecGzip, codecSnappy, codecLz4, codecZstd} {
		t.Part(fmt.Sprintf("codec %d", codec))
		b := plainBatch("the first", "the second, a little longer", "the third")
		b.codec = codec
		at := t.append(topic, b)
		got := one(t, "batches", t.batches(t.fetch(t.newest(kmsg.Fetch, 11), topic, at).RecordBatches))
		equal(t, "attributes", got.attrs, codec)
		equals(t, "values", values(got.records), values(recordsOf(b)))
		equals(t, "offsets", offsets(got.records), []int64{at, at + 1, at + 2})
	}
}

// recordsOf is what a broker should give back of a batch.
func recordsOf(b batch) []gotRecord {
	var rs []gotRecord
	for i, r := range b.records {
		rs = append(rs, gotRecord{offset: int64(i), key: r.key, value: r.value, headers: r.headers})
	}
	return rs
}

func produceRecompress(t *T) {
	for name, want := range map[string]int16{"gzip": codecGzip, "snappy": codecSnappy, "lz4": codecLz4, "zstd": codecZstd, "uncompressed": codecNone} {
		t.Part(name)
		topic := t.Topic(1, "compression.type="+name)
		for _, codec := range []int16{codecNone, codecLz4} {
			b := plainBatch("one", "two", "three")
			b.codec = codec
			at := t.append(topic, b)
			got := one(t, "batches", t.batches(t.fetch(t.newest(kmsg.Fetch, 11), topic, at).RecordBatches))
			equal(t, "attributes", got.attrs, want)
			equals(t, "values", values(got.records), []string{"one", "two", "three"})
			equals(t, "offsets", offsets(got.records), []int64{at, at + 1, at + 2})
		}
	}
}

func produceHeadersAndNulls(t *T) {
	topic := t.Topic(1)
	t.append(topic, batch{records: []record{
		{key: nil, value: nil},
		{key: []byte{}, value: []byte{}},
		{key: []byte("k"), value: []byte("v"), headers: []header{{"h", []byte("1")}, {"h", nil}, {"", []byte{}}}},
	}})
	rs := t.read(topic, 0)
	equal(t, "records", len(rs), 3)
	equal(t, "null key and value", rs[0].key == nil && rs[0].value == nil, true)
	equal(t, "empty key and value", rs[1].key != nil && rs[1].value != nil && len(rs[1].key)+len(rs[1].value) == 0, true)
	equal(t, "headers", len(rs[2].headers), 3)
	equal(t, "first header", string(rs[2].headers[0].value), "1")
	equal(t, "second header is null", rs[2].headers[1].value == nil, true)
	equal(t, "third header is empty", rs[2].headers[2].value != nil, true)
	equals(t, "header keys", []string{rs[2].headers[0].key, rs[2].headers[1].key, rs[2].headers[2].key}, []string{"h", "h", ""})
}

func produceMaxMessageBytes(t *T) {
	topic := t.Topic(1, "max.message.bytes=51200")
	sized := func(n int) []byte {
		return batch{records: []record{{key: []byte("k"), value: slices.Repeat([]byte{'x'}, n)}}}.bytes()
	}
	over := len(sized(51200)) - 51200
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		end := t.endOffset(topic)
		t.code("10 MiB", t.produce(v, topic, sized(10<<20)).ErrorCode, kerr.MessageTooLarge)
		t.code("one byte too many", t.produce(v, topic, sized(51200-over+1)).ErrorCode, kerr.MessageTooLarge)
		equal(t, "end of the log", t.endOffset(topic), end)
		t.ok("exactly the limit", t.produce(v, topic, sized(51200-over)).ErrorCode)
	})
}
