package produce

import (
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// produceScenarios are about what Produce takes, and what it makes of it.
var produceScenarios = []scenario.Scenario{
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
}

func acks0NoResponse(t *scenario.T) {
	topic := t.Topic(1)
	c := t.Dial()
	version := t.Newest(kmsg.Produce, 9)
	t.Send(c, version, t.ProduceRequest(version, 0, topic, scenario.Portion{Partition: 0, Records: scenario.PlainBatch("a").Bytes()}))
	md := kmsg.NewPtrMetadataRequest()
	md.Topics = []kmsg.MetadataRequestTopic{}
	scenario.AskOn[*kmsg.MetadataResponse](t, c, 4, md) // Fails if anything else comes first.
	scenario.EqualLists(t, "records", scenario.Values(t.Read(topic, 0)), []string{"a"})
}

func acks0ErrorCloses(t *scenario.T) {
	topic := t.Topic(1)
	c := t.Dial()
	version := t.Newest(kmsg.Produce, 9)
	t.Send(c, version, t.ProduceRequest(version, 0, topic, scenario.Portion{Partition: 7, Records: scenario.PlainBatch("a").Bytes()}))
	t.Closes(c)
}

func acks1(t *scenario.T) {
	topic := t.Topic(1)
	version := t.Newest(kmsg.Produce, 9)
	for want := range int64(2) {
		req := t.ProduceRequest(version, 1, topic, scenario.Portion{Partition: 0, Records: scenario.PlainBatch("a").Bytes()})
		p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.ProduceResponse](t, version, req).Topics).Partitions)
		t.OK("produce", p.ErrorCode)
		scenario.Equal(t, "base offset", p.BaseOffset, want)
	}
}

func produceVersions(t *scenario.T) {
	topic := t.Topic(1)
	next := int64(0)
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		p := t.Produce(v, topic, scenario.PlainBatch("a", "b").Bytes())
		t.OK("produce", p.ErrorCode)
		scenario.Equal(t, "base offset", p.BaseOffset, next)
		scenario.Equal(t, "log append time", p.LogAppendTime, -1)
		if v >= 5 {
			scenario.Equal(t, "log start offset", p.LogStartOffset, 0)
		}
		if p.ErrorMessage != nil || len(p.ErrorRecords) > 0 {
			t.Fatalf("a success has an error message or records: %s", scenario.Plain(p))
		}
		next += 2
	})
}

func produceNoTopics(t *scenario.T) {
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis = -1, 1000
		scenario.Equal(t, "topics", len(scenario.Ask[*kmsg.ProduceResponse](t, v, req).Topics), 0)
	})
}

func producePipelined(t *scenario.T) {
	const n = 200
	topic := t.Topic(1)
	version := t.Newest(kmsg.Produce, 9)
	c := t.Dial()
	pending, want := make([]scenario.Pending, n), make([]string, n)
	for i := range pending {
		want[i] = strconv.Itoa(i)
		pending[i] = t.Send(c, version, t.ProduceRequest(version, -1, topic, scenario.Portion{Partition: 0, Records: scenario.PlainBatch(want[i]).Bytes()}))
	}
	for i, p := range pending {
		got := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Receive[*kmsg.ProduceResponse](t, c, p).Topics).Partitions)
		t.OK("produce", got.ErrorCode)
		scenario.Equal(t, "base offset", got.BaseOffset, int64(i))
	}
	scenario.EqualLists(t, "values", scenario.Values(t.Read(topic, 0)), want)
}

func producePartial(t *scenario.T) {
	topic := t.Topic(2)
	version := t.Newest(kmsg.Produce, 9)
	req := t.ProduceRequest(version, -1, topic, scenario.Portion{Partition: 0, Records: scenario.PlainBatch("a").Bytes()}, scenario.Portion{Partition: 9, Records: scenario.PlainBatch("b").Bytes()}, scenario.Portion{Partition: 1, Records: scenario.PlainBatch("c").Bytes()})
	got := map[int32]int16{}
	for _, p := range scenario.One(t, "topics", scenario.Ask[*kmsg.ProduceResponse](t, version, req).Topics).Partitions {
		got[p.Partition] = p.ErrorCode
	}
	scenario.Equal(t, "partitions", len(got), 3)
	t.OK("partition 0", got[0])
	t.OK("partition 1", got[1])
	t.Code("partition 9", got[9], kerr.UnknownTopicOrPartition)
	scenario.EqualLists(t, "records of partition 0", scenario.Values(t.ReadPartition(topic, 0, 0)), []string{"a"})
	scenario.EqualLists(t, "records of partition 1", scenario.Values(t.ReadPartition(topic, 1, 0)), []string{"c"})
}

func produceTimestampZero(t *scenario.T) {
	topic := t.OldTopic()
	t.Append(topic, scenario.AtTimes(scenario.CodecNone, scenario.EpochStart))
	scenario.Equal(t, "timestamp", scenario.One(t, "records", t.Read(topic, 0)).At, 0)
}

func produceTimestampNone(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.AtTimes(scenario.CodecNone, -1))
	scenario.Equal(t, "timestamp", scenario.One(t, "records", t.Read(topic, 0)).At, -1)
}

func produceLogAppendTime(t *scenario.T) {
	topic := t.OldTopic("message.timestamp.type=LogAppendTime")
	before := time.Now().Add(-time.Minute).UnixMilli()
	for _, codec := range []int16{scenario.CodecNone, scenario.CodecGzip} {
		b := scenario.AtTimes(codec, 1000, 2000)
		p := t.Produce(t.Newest(kmsg.Produce, 9), topic, b.Bytes())
		t.OK("produce", p.ErrorCode)
		if p.LogAppendTime < before {
			t.Fatalf("log append time %d, want about now (%d)", p.LogAppendTime, time.Now().UnixMilli())
		}
		got := scenario.One(t, "batches", t.Batches(t.Fetch(t.Newest(kmsg.Fetch, 11), topic, p.BaseOffset).RecordBatches))
		scenario.Equal(t, "attributes", got.Attrs, codec|scenario.AttrLogAppendTime)
		scenario.Equal(t, "max timestamp", got.MaxTime, p.LogAppendTime)
		scenario.Equal(t, "first timestamp, the client's", got.FirstTime, 1000)
	}
}

func produceCodecs(t *scenario.T) {
	topic := t.Topic(1)
	for _, codec := range []int16{scenario.CodecNone, scenario.CodecGzip, scenario.CodecSnappy, scenario.CodecLz4, scenario.CodecZstd} {
		t.Part(fmt.Sprintf("codec %d", codec))
		b := scenario.PlainBatch("the first", "the second, a little longer", "the third")
		b.Codec = codec
		at := t.Append(topic, b)
		got := scenario.One(t, "batches", t.Batches(t.Fetch(t.Newest(kmsg.Fetch, 11), topic, at).RecordBatches))
		scenario.Equal(t, "attributes", got.Attrs, codec)
		scenario.EqualLists(t, "values", scenario.Values(got.Records), scenario.Values(recordsOf(b)))
		scenario.EqualLists(t, "offsets", scenario.Offsets(got.Records), []int64{at, at + 1, at + 2})
	}
}

// recordsOf is what a broker should give back of a batch.
func recordsOf(b scenario.Batch) []scenario.GotRecord {
	var rs []scenario.GotRecord
	for i, r := range b.Records {
		rs = append(rs, scenario.GotRecord{Offset: int64(i), Key: r.Key, Value: r.Value, Headers: r.Headers})
	}
	return rs
}

func produceRecompress(t *scenario.T) {
	for name, want := range map[string]int16{"gzip": scenario.CodecGzip, "snappy": scenario.CodecSnappy, "lz4": scenario.CodecLz4, "zstd": scenario.CodecZstd, "uncompressed": scenario.CodecNone} {
		t.Part(name)
		topic := t.Topic(1, "compression.type="+name)
		for _, codec := range []int16{scenario.CodecNone, scenario.CodecLz4} {
			b := scenario.PlainBatch("one", "two", "three")
			b.Codec = codec
			at := t.Append(topic, b)
			got := scenario.One(t, "batches", t.Batches(t.Fetch(t.Newest(kmsg.Fetch, 11), topic, at).RecordBatches))
			scenario.Equal(t, "attributes", got.Attrs, want)
			scenario.EqualLists(t, "values", scenario.Values(got.Records), []string{"one", "two", "three"})
			scenario.EqualLists(t, "offsets", scenario.Offsets(got.Records), []int64{at, at + 1, at + 2})
		}
	}
}

func produceHeadersAndNulls(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.Batch{Records: []scenario.Record{
		{Key: nil, Value: nil},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("k"), Value: []byte("v"), Headers: []scenario.Header{{Key: "h", Value: []byte("1")}, {Key: "h", Value: nil}, {Key: "", Value: []byte{}}}},
	}})
	rs := t.Read(topic, 0)
	scenario.Equal(t, "records", len(rs), 3)
	scenario.Equal(t, "null key and value", rs[0].Key == nil && rs[0].Value == nil, true)
	scenario.Equal(t, "empty key and value", rs[1].Key != nil && rs[1].Value != nil && len(rs[1].Key)+len(rs[1].Value) == 0, true)
	scenario.Equal(t, "headers", len(rs[2].Headers), 3)
	scenario.Equal(t, "first header", string(rs[2].Headers[0].Value), "1")
	scenario.Equal(t, "second header is null", rs[2].Headers[1].Value == nil, true)
	scenario.Equal(t, "third header is empty", rs[2].Headers[2].Value != nil, true)
	scenario.EqualLists(t, "header keys", []string{rs[2].Headers[0].Key, rs[2].Headers[1].Key, rs[2].Headers[2].Key}, []string{"h", "h", ""})
}
