package produce

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// malformedScenarios are batches that no client of good will sends.
var malformedScenarios = []scenario.Scenario{
	{ID: "produce.malformed.cut-off", Says: "A batch that is cut off is refused, wherever it is cut.", Run: malformedCutOff},
	{ID: "produce.malformed.trailing-bytes", Says: "Bytes after the batch are refused if they could be another one, and cut off if not.", Run: malformedTrailing},
	{ID: "produce.malformed.length", Says: "A length that is too small for a batch is refused.", Run: malformedLength},
	{ID: "produce.malformed.codec", Says: "A codec that does not exist is refused.", Run: malformedCodec},
	{ID: "produce.malformed.records", Says: "Records that do not fit their batch are refused although the checksum is right.", Run: malformedRecords},
	{ID: "produce.malformed.compressed", Says: "Records that are not compressed as their batch says are UNKNOWN_SERVER_ERROR although the checksum is right, and not appended.", Run: malformedCompressed},
	{ID: "produce.malformed.magic3", Says: "A format of the future is refused.", Run: malformedMagic},
	{ID: "produce.malformed.leader-epoch-ignored", Says: "The leader epoch in a client's batch does not count.", Run: malformedEpoch},
	{ID: "produce.malformed.max-timestamp-mended", Says: "A wrong maximum timestamp of a batch is mended.", Run: malformedMaxTimestamp},
	{ID: "produce.partition-twice", Says: "Of a partition named twice in a request the last batch is appended, and answered.", Run: producePartitionTwice},
	{ID: "produce.timestamp.negative", Says: "Timestamps below -1 are records of long ago.", Run: produceTimestampNegative},
	{ID: "produce.malformed.cut-request", Says: "A Produce that ends before its fields do closes the connection, wherever it is cut.", Run: cutProduce},
}

// sealed recomputes the checksum of a batch.
func sealed(b []byte) []byte {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], scenario.Castagnoli))
	return b
}

// refused sends records in the newest version that names topics; the answer must
// be one of the codes, and the log as it was.
func refused(t *scenario.T, what, topic string, records []byte, codes ...*kerr.Error) {
	before := t.EndOffset(topic)
	got := t.Produce(t.Newest(kmsg.Produce, 9), topic, records).ErrorCode
	for _, want := range codes {
		if got == want.Code {
			scenario.Equal(t, "end of the log after "+what, t.EndOffset(topic), before)
			return
		}
	}
	t.Code(what, got, codes[0])
}

func malformedCutOff(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("before"))
	whole := scenario.PlainBatch("a", "b").Bytes()
	for _, n := range []int{1, 11, 12, 16, 17, 20, 21, 60, 61, 62, len(whole) - 1} {
		refused(t, fmt.Sprint(n, " bytes"), topic, whole[:n], kerr.InvalidRecord, kerr.CorruptMessage)
	}
}

func malformedTrailing(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("before"))
	// What is too short to be a batch is cut off (UnifiedLog.trimInvalidBytes).
	at := t.Append(topic, scenario.PlainBatch("a"))
	t.OK("11 bytes more", t.Produce(t.Newest(kmsg.Produce, 9), topic, append(scenario.PlainBatch("b").Bytes(), make([]byte, 11)...)).ErrorCode)
	t.Append(topic, scenario.PlainBatch("c"))
	scenario.EqualLists(t, "records", scenario.Values(t.Read(topic, at)), []string{"a", "b", "c"})
	for _, extra := range [][]byte{make([]byte, 12), make([]byte, 100)} {
		refused(t, fmt.Sprint(len(extra), " bytes more"), topic, append(scenario.PlainBatch("a").Bytes(), extra...), kerr.InvalidRecord, kerr.CorruptMessage)
	}
}

func malformedLength(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("before"))
	for _, n := range []int32{0, -1, 1, 10, 48} {
		b := scenario.PlainBatch("a").Bytes()
		binary.BigEndian.PutUint32(b[8:], uint32(n))
		refused(t, fmt.Sprint("length ", n), topic, b, kerr.CorruptMessage, kerr.InvalidRecord)
	}
}

func malformedCodec(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("before"))
	for codec := int16(5); codec < 8; codec++ {
		b := scenario.PlainBatch("a")
		b.Attrs = codec
		got := t.Produce(t.Newest(kmsg.Produce, 9), topic, b.Bytes()).ErrorCode
		switch got {
		case kerr.InvalidRecord.Code, kerr.UnsupportedCompressionType.Code:
			t.Deviates("%s instead of UNKNOWN_SERVER_ERROR for a codec that does not exist", scenario.CodeName(got))
		default: // CompressionType.forId throws what nobody expects.
			t.Code(fmt.Sprint("codec ", codec), got, kerr.UnknownServerError)
		}
		scenario.Equal(t, "end of the log", t.EndOffset(topic), 1)
	}
}

func malformedRecords(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("before"))
	spoilt := func(change func(b []byte)) []byte {
		b := scenario.PlainBatch("a", "b").Bytes()
		change(b)
		return sealed(b)
	}
	for what, b := range map[string][]byte{
		"record longer than the batch": spoilt(func(b []byte) { b[scenario.BatchHead] = 0x7e }),
		"record of no length":          spoilt(func(b []byte) { b[scenario.BatchHead] = 0 }),
		"record shorter than it is":    spoilt(func(b []byte) { b[scenario.BatchHead] -= 2 }),
		"key longer than the record":   spoilt(func(b []byte) { b[scenario.BatchHead+4] = 0x7e }),
		"bytes after the last record": func() []byte {
			b := scenario.PlainBatch("a", "b")
			b.Extra = []byte{1, 2, 3}
			return b.Bytes()
		}(),
		"too few records": func() []byte {
			b := scenario.PlainBatch("a", "b")
			b.Count, b.LastDelta = new(int32(3)), new(int32(2))
			return b.Bytes()
		}(),
	} {
		refused(t, what, topic, b, kerr.InvalidRecord, kerr.CorruptMessage)
	}
}

func malformedCompressed(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("before"))
	for _, codec := range []int16{scenario.CodecGzip, scenario.CodecSnappy, scenario.CodecLz4, scenario.CodecZstd} {
		b := scenario.PlainBatch("a").Bytes()
		binary.BigEndian.PutUint16(b[21:], uint16(codec))
		got := t.Produce(t.Newest(kmsg.Produce, 9), topic, sealed(b)).ErrorCode
		switch got {
		case kerr.InvalidRecord.Code, kerr.CorruptMessage.Code:
			t.Deviates("%s instead of UNKNOWN_SERVER_ERROR for bytes that are not compressed as they say", scenario.CodeName(got))
		default:
			t.Code(fmt.Sprint("codec ", codec), got, kerr.UnknownServerError)
		}
		scenario.Equal(t, "end of the log", t.EndOffset(topic), 1)
	}
}

func malformedMagic(t *scenario.T) {
	topic := t.Topic(1)
	b := scenario.PlainBatch("a")
	b.Magic = new(int8(3))
	t.Append(topic, scenario.PlainBatch("before"))
	refused(t, "magic 3", topic, b.Bytes(), kerr.InvalidRecord, kerr.CorruptMessage)
}

func malformedEpoch(t *scenario.T) {
	topic := t.Topic(1)
	b := scenario.PlainBatch("a").Bytes()
	binary.BigEndian.PutUint32(b[12:], 77) // Outside of the checksum.
	t.OK("produce", t.Produce(t.Newest(kmsg.Produce, 9), topic, b).ErrorCode)
	got := scenario.One(t, "batches", t.Batches(t.Fetch(t.Newest(kmsg.Fetch, 11), topic, 0).RecordBatches))
	scenario.Equal(t, "leader epoch", got.LeaderEpoch, 0)
}

func malformedMaxTimestamp(t *scenario.T) {
	topic := t.OldTopic()
	for _, codec := range []int16{scenario.CodecNone, scenario.CodecLz4} {
		b := scenario.AtTimes(codec, 1000, 5000, 3000)
		b.MaxTime = new(int64(9999))
		at := t.Append(topic, b)
		got := scenario.One(t, "batches", t.Batches(t.Fetch(t.Newest(kmsg.Fetch, 11), topic, at).RecordBatches))
		scenario.Equal(t, "max timestamp", got.MaxTime, 5000)
	}
}

func producePartitionTwice(t *scenario.T) {
	topic := t.Topic(1)
	version := t.Newest(kmsg.Produce, 9)
	req := t.ProduceRequest(version, -1, topic, scenario.Portion{Partition: 0, Records: scenario.PlainBatch("a").Bytes()}, scenario.Portion{Partition: 0, Records: scenario.PlainBatch("b").Bytes()})
	resp := scenario.Ask[*kmsg.ProduceResponse](t, version, req)
	answers := scenario.One(t, "topics", resp.Topics).Partitions
	for _, p := range answers {
		scenario.Equal(t, "partition", p.Partition, 0)
		t.OK("produce", p.ErrorCode)
	}
	if len(answers) == 2 {
		t.Deviates("both batches of a partition that is named twice are appended, not the last alone")
		scenario.EqualLists(t, "base offsets", []int64{answers[0].BaseOffset, answers[1].BaseOffset}, []int64{0, 1})
		scenario.EqualLists(t, "records", scenario.Values(t.Read(topic, 0)), []string{"a", "b"})
		return
	}
	scenario.Equal(t, "answers", len(answers), 1)
	scenario.EqualLists(t, "records", scenario.Values(t.Read(topic, 0)), []string{"b"})
}

func produceTimestampNegative(t *scenario.T) {
	topic := t.OldTopic()
	p := t.Produce(t.Newest(kmsg.Produce, 9), topic, scenario.AtTimes(scenario.CodecNone, -2).Bytes())
	t.OK("produce", p.ErrorCode)
}

// cutProduce sends every beginning of a request, as a frame of its own.
func cutProduce(t *scenario.T) {
	topic := t.Topic(1)
	for _, v := range []int16{3, 8, 9, 13} {
		if !t.Has(kmsg.Produce, v) {
			continue
		}
		for _, id := range []*string{nil, new("id")} {
			req := t.ProduceRequest(v, -1, topic, scenario.Portion{Partition: 0, Records: scenario.PlainBatch("a").Bytes()})
			req.TransactionID = id
			req.SetVersion(v)
			whole := t.Conn().Frame(req, 1)
			header := 4 + 8 + 2 + len("moldau-compat")
			if v >= 9 {
				header++ // Its tagged fields.
			}
			for end := header; end < len(whole); end++ {
				t.Part(fmt.Sprintf("version %d, cut after %d of %d bytes", v, end-header, len(whole)-header))
				c := t.Dial()
				cut := slices.Clone(whole[:end])
				binary.BigEndian.PutUint32(cut, uint32(end-4))
				if err := c.SendRaw(cut); err != nil {
					t.Fatalf("send: %v", err)
				}
				t.Closes(c)
				_ = c.Close()
			}
		}
	}
	t.Part("")
	scenario.Equal(t, "end of the log", t.EndOffset(topic), 0)
}
