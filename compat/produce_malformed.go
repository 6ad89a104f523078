package compat

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// malformedScenarios are batches that no client of good will sends.
var malformedScenarios = []Scenario{
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
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}

// refused sends records in the newest version that names topics; the answer must
// be one of the codes, and the log as it was.
func (t *T) refused(what, topic string, records []byte, codes ...*kerr.Error) {
	before := t.endOffset(topic)
	got := t.produce(t.newest(kmsg.Produce, 9), topic, records).ErrorCode
	for _, want := range codes {
		if got == want.Code {
			equal(t, "end of the log after "+what, t.endOffset(topic), before)
			return
		}
	}
	t.code(what, got, codes[0])
}

func malformedCutOff(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("before"))
	whole := plainBatch("a", "b").bytes()
	for _, n := range []int{1, 11, 12, 16, 17, 20, 21, 60, 61, 62, len(whole) - 1} {
		t.refused(fmt.Sprint(n, " bytes"), topic, whole[:n], kerr.InvalidRecord, kerr.CorruptMessage)
	}
}

func malformedTrailing(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("before"))
	// What is too short to be a batch is cut off (UnifiedLog.trimInvalidBytes).
	at := t.append(topic, plainBatch("a"))
	t.ok("11 bytes more", t.produce(t.newest(kmsg.Produce, 9), topic, append(plainBatch("b").bytes(), make([]byte, 11)...)).ErrorCode)
	t.append(topic, plainBatch("c"))
	equals(t, "records", values(t.read(topic, at)), []string{"a", "b", "c"})
	for _, extra := range [][]byte{make([]byte, 12), make([]byte, 100)} {
		t.refused(fmt.Sprint(len(extra), " bytes more"), topic, append(plainBatch("a").bytes(), extra...), kerr.InvalidRecord, kerr.CorruptMessage)
	}
}

func malformedLength(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("before"))
	for _, n := range []int32{0, -1, 1, 10, 48} {
		b := plainBatch("a").bytes()
		binary.BigEndian.PutUint32(b[8:], uint32(n))
		t.refused(fmt.Sprint("length ", n), topic, b, kerr.CorruptMessage, kerr.InvalidRecord)
	}
}

func malformedCodec(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("before"))
	for codec := int16(5); codec < 8; codec++ {
		b := plainBatch("a")
		b.attrs = codec
		got := t.produce(t.newest(kmsg.Produce, 9), topic, b.bytes()).ErrorCode
		switch got {
		case kerr.InvalidRecord.Code, kerr.UnsupportedCompressionType.Code:
			t.Deviates("%s instead of UNKNOWN_SERVER_ERROR for a codec that does not exist", codeName(got))
		default: // CompressionType.forId throws what nobody expects.
			t.code(fmt.Sprint("codec ", codec), got, kerr.UnknownServerError)
		}
		equal(t, "end of the log", t.endOffset(topic), 1)
	}
}

func malformedRecords(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("before"))
	spoilt := func(change func(b []byte)) []byte {
		b := plainBatch("a", "b").bytes()
		change(b)
		return sealed(b)
	}
	for what, b := range map[string][]byte{
		"record longer than the batch": spoilt(func(b []byte) { b[batchHead] = 0x7e }),
		"record of no length":          spoilt(func(b []byte) { b[batchHead] = 0 }),
		"record shorter than it is":    spoilt(func(b []byte) { b[batchHead] -= 2 }),
		"key longer than the record":   spoilt(func(b []byte) { b[batchHead+4] = 0x7e }),
		"bytes after the last record": func() []byte {
			b := plainBatch("a", "b")
			b.extra = []byte{1, 2, 3}
			return b.bytes()
		}(),
		"too few records": func() []byte {
			b := plainBatch("a", "b")
			b.count, b.lastDelta = new(int32(3)), new(int32(2))
			return b.bytes()
		}(),
	} {
		t.refused(what, topic, b, kerr.InvalidRecord, kerr.CorruptMessage)
	}
}

func malformedCompressed(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("before"))
	for _, codec := range []int16{codecGzip, codecSnappy, codecLz4, codecZstd} {
		b := plainBatch("a").bytes()
		binary.BigEndian.PutUint16(b[21:], uint16(codec))
		got := t.produce(t.newest(kmsg.Produce, 9), topic, sealed(b)).ErrorCode
		switch got {
		case kerr.InvalidRecord.Code, kerr.CorruptMessage.Code:
			t.Deviates("%s instead of UNKNOWN_SERVER_ERROR for bytes that are not compressed as they say", codeName(got))
		default:
			t.code(fmt.Sprint("codec ", codec), got, kerr.UnknownServerError)
		}
		equal(t, "end of the log", t.endOffset(topic), 1)
	}
}

func malformedMagic(t *T) {
	topic := t.Topic(1)
	b := plainBatch("a")
	b.magic = new(int8(3))
	t.append(topic, plainBatch("before"))
	t.refused("magic 3", topic, b.bytes(), kerr.InvalidRecord, kerr.CorruptMessage)
}

func malformedEpoch(t *T) {
	topic := t.Topic(1)
	b := plainBatch("a").bytes()
	binary.BigEndian.PutUint32(b[12:], 77) // Outside of the checksum.
	t.ok("produce", t.produce(t.newest(kmsg.Produce, 9), topic, b).ErrorCode)
	got := one(t, "batches", t.batches(t.fetch(t.newest(kmsg.Fetch, 11), topic, 0).RecordBatches))
	equal(t, "leader epoch", got.leaderEpoch, 0)
}

func malformedMaxTimestamp(t *T) {
	topic := t.OldTopic()
	for _, codec := range []int16{codecNone, codecLz4} {
		b := times(codec, 1000, 5000, 3000)
		b.maxTime = new(int64(9999))
		at := t.append(topic, b)
		got := one(t, "batches", t.batches(t.fetch(t.newest(kmsg.Fetch, 11), topic, at).RecordBatches))
		equal(t, "max timestamp", got.maxTime, 5000)
	}
}

func producePartitionTwice(t *T) {
	topic := t.Topic(1)
	version := t.newest(kmsg.Produce, 9)
	req := t.produceRequest(version, -1, topic, portion{0, plainBatch("a").bytes()}, portion{0, plainBatch("b").bytes()})
	resp := ask[*kmsg.ProduceResponse](t, version, req)
	answers := one(t, "topics", resp.Topics).Partitions
	for _, p := range answers {
		equal(t, "partition", p.Partition, 0)
		t.ok("produce", p.ErrorCode)
	}
	if len(answers) == 2 {
		t.Deviates("both batches of a partition that is named twice are appended, not the last alone")
		equals(t, "base offsets", []int64{answers[0].BaseOffset, answers[1].BaseOffset}, []int64{0, 1})
		equals(t, "records", values(t.read(topic, 0)), []string{"a", "b"})
		return
	}
	equal(t, "answers", len(answers), 1)
	equals(t, "records", values(t.read(topic, 0)), []string{"b"})
}

func produceTimestampNegative(t *T) {
	topic := t.OldTopic()
	p := t.produce(t.newest(kmsg.Produce, 9), topic, times(codecNone, -2).bytes())
	t.ok("produce", p.ErrorCode)
}

// cutProduce sends every beginning of a request, as a frame of its own.
func cutProduce(t *T) {
	topic := t.Topic(1)
	for _, v := range []int16{3, 8, 9, 13} {
		if !t.has(kmsg.Produce, v) {
			continue
		}
		for _, id := range []*string{nil, new("id")} {
			req := t.produceRequest(v, -1, topic, portion{0, plainBatch("a").bytes()})
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
				t.closes(c)
				_ = c.Close()
			}
		}
	}
	t.Part("")
	equal(t, "end of the log", t.endOffset(topic), 0)
}
