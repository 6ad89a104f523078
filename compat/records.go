package compat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Codecs as a batch's attributes number them.
const (
	codecNone   = 0
	codecGzip   = 1
	codecSnappy = 2
	codecLz4    = 3
	codecZstd   = 4
)

// Attributes of a batch.
const (
	attrLogAppendTime = 1 << 3
	attrTransactional = 1 << 4
	attrControl       = 1 << 5
)

// epochStart stands for the timestamp 0 in a record.
const epochStart = math.MinInt64

// batchHead is the length of a batch before its records, and sizeAt what lies
// before the bytes that its length field counts.
const (
	batchHead = 61
	sizeAt    = 12
)

// ieee is the checksum of message formats 0 and 1.
func ieee(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// castagnoli is the table of the checksum of record batches.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is one record of a batch to send.
type record struct {
	at      int64 // Timestamp, ms; 0 is that of the batch's making, epochStart is 0.
	key     []byte
	value   []byte
	headers []header
	delta   *int32 // Offset delta, when it is not the record's place.
}

// header is a header of a record.
type header struct {
	key   string
	value []byte
}

// batch is a record batch (magic 2) to send. The fields after the first group
// are for batches that lie about themselves.
type batch struct {
	records  []record
	codec    int16
	attrs    int16 // Besides the codec.
	producer int64 // With idempotent.
	epoch    int16
	sequence int32
	// idempotent says that producer, epoch and sequence count; else all are -1.
	idempotent bool

	base      int64
	magic     *int8
	count     *int32
	lastDelta *int32
	maxTime   *int64
	crc       *uint32
	extra     []byte // After the records, within the batch.
}

// plainBatch is a batch of records with these values and keys, made now.
func plainBatch(values ...string) batch {
	var b batch
	for i, v := range values {
		b.records = append(b.records, record{key: fmt.Appendf(nil, "k%d", i), value: []byte(v)})
	}
	return b
}

// numbered is a batch of an idempotent producer with n records.
func numbered(producer int64, epoch int16, sequence int32, n int) batch {
	b := batch{idempotent: true, producer: producer, epoch: epoch, sequence: sequence}
	for i := range n {
		b.records = append(b.records, record{value: fmt.Appendf(nil, "s%d", sequence+int32(i))})
	}
	return b
}

// times is a batch with a record per timestamp.
func times(codec int16, at ...int64) batch {
	b := batch{codec: codec}
	for _, ts := range at {
		b.records = append(b.records, record{at: ts, key: []byte("k"), value: fmt.Append(nil, ts)})
	}
	return b
}

// or is what a pointer points to, and v if it is nil.
func or[V any](p *V, v V) V {
	if p != nil {
		return *p
	}
	return v
}

// bytes is the batch as it goes over the wire.
func (b batch) bytes() []byte {
	now := time.Now().UnixMilli()
	first, latest := now, int64(-1)
	var recs []byte
	for i, r := range b.records {
		at := r.at
		switch at {
		case 0:
			at = now
		case epochStart:
			at = 0
		}
		if i == 0 {
			first = at
		}
		latest = max(latest, at)
		recs = appendRecord(recs, r, at-first, or(r.delta, int32(i)))
	}
	recs = append(compress(recs, b.codec), b.extra...)

	producer, epoch, sequence := int64(-1), int16(-1), int32(-1)
	if b.idempotent {
		producer, epoch, sequence = b.producer, b.epoch, b.sequence
	}
	be := binary.BigEndian
	out := be.AppendUint64(nil, uint64(b.base))
	out = be.AppendUint32(out, uint32(batchHead-sizeAt+len(recs)))
	out = be.AppendUint32(out, 0xffffffff) // Leader epoch: the broker's.
	out = append(out, byte(or(b.magic, 2)))
	out = be.AppendUint32(out, 0) // The checksum, below.
	out = be.AppendUint16(out, uint16(b.codec|b.attrs))
	out = be.AppendUint32(out, uint32(or(b.lastDelta, int32(len(b.records)-1))))
	out = be.AppendUint64(out, uint64(first))
	out = be.AppendUint64(out, uint64(or(b.maxTime, latest)))
	out = be.AppendUint64(out, uint64(producer))
	out = be.AppendUint16(out, uint16(epoch))
	out = be.AppendUint32(out, uint32(sequence))
	out = be.AppendUint32(out, uint32(or(b.count, int32(len(b.records)))))
	out = append(out, recs...)
	be.PutUint32(out[17:], or(b.crc, crc32.Checksum(out[21:], castagnoli)))
	return out
}

func appendRecord(out []byte, r record, timeDelta int64, offsetDelta int32) []byte {
	body := []byte{0}
	body = binary.AppendVarint(body, timeDelta)
	body = binary.AppendVarint(body, int64(offsetDelta))
	body = appendNullable(body, r.key)
	body = appendNullable(body, r.value)
	body = binary.AppendVarint(body, int64(len(r.headers)))
	for _, h := range r.headers {
		body = appendNullable(body, append([]byte{}, h.key...))
		body = appendNullable(body, h.value)
	}
	return append(binary.AppendVarint(out, int64(len(body))), body...)
}

func appendNullable(out, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(out, -1)
	}
	return append(binary.AppendVarint(out, int64(len(b))), b...)
}

// compress uses franz-go's codecs, as a client would.
func compress(b []byte, codec int16) []byte {
	if codec == codecNone || codec > codecZstd {
		return b
	}
	with := map[int16]kgo.CompressionCodec{
		codecGzip: kgo.GzipCompression(), codecSnappy: kgo.SnappyCompression(),
		codecLz4: kgo.Lz4Compression(), codecZstd: kgo.ZstdCompression(),
	}[codec]
	c, err := kgo.DefaultCompressor(with)
	if err != nil {
		panic(fmt.Sprintf("BUG: codec %d: %v", codec, err))
	}
	out, got := c.Compress(new(bytes.Buffer), b)
	if int16(got) != codec {
		panic(fmt.Sprintf("BUG: codec %d became %d", codec, got))
	}
	return bytes.Clone(out)
}

// gotBatch is a batch as a broker returned it.
type gotBatch struct {
	base        int64
	leaderEpoch int32
	attrs       int16
	lastDelta   int32
	firstTime   int64
	maxTime     int64
	producer    int64
	epoch       int16
	sequence    int32
	records     []gotRecord
}

// gotRecord is a record as a broker returned it.
type gotRecord struct {
	offset  int64
	at      int64
	key     []byte
	value   []byte
	headers []header
}

// batches reads the whole batches of a response; what is cut off at the end is
// left out, as clients do. A batch that is not as it should be fails the scenario.
func (t *T) batches(in []byte) []gotBatch {
	var all []gotBatch
	for len(in) >= sizeAt {
		size := sizeAt + int(int32(binary.BigEndian.Uint32(in[8:])))
		if size < batchHead {
			t.Fatalf("a batch of %d bytes", size)
		}
		if size > len(in) {
			break
		}
		b, err := readBatch(in[:size])
		if err != nil {
			t.Fatalf("the batch at %d: %v", binary.BigEndian.Uint64(in), err)
		}
		all = append(all, b)
		in = in[size:]
	}
	return all
}

// records reads the records of all whole batches.
func (t *T) records(in []byte) []gotRecord {
	var all []gotRecord
	for _, b := range t.batches(in) {
		all = append(all, b.records...)
	}
	return all
}

func readBatch(in []byte) (gotBatch, error) {
	be := binary.BigEndian
	if in[16] != 2 {
		return gotBatch{}, fmt.Errorf("magic %d", in[16])
	}
	if got, want := crc32.Checksum(in[21:], castagnoli), be.Uint32(in[17:]); got != want {
		return gotBatch{}, fmt.Errorf("its checksum is %08x, it says %08x", got, want)
	}
	b := gotBatch{
		base: int64(be.Uint64(in)), leaderEpoch: int32(be.Uint32(in[12:])), attrs: int16(be.Uint16(in[21:])),
		lastDelta: int32(be.Uint32(in[23:])), firstTime: int64(be.Uint64(in[27:])), maxTime: int64(be.Uint64(in[35:])),
		producer: int64(be.Uint64(in[43:])), epoch: int16(be.Uint16(in[51:])), sequence: int32(be.Uint32(in[53:])),
	}
	body := in[batchHead:]
	if codec := b.attrs & 7; codec != codecNone {
		var err error
		if body, err = kgo.DefaultDecompressor().Decompress(body, kgo.CompressionCodecType(codec)); err != nil {
			return b, err
		}
	}
	r := reader{in: body}
	for range int32(be.Uint32(in[57:])) {
		b.records = append(b.records, r.record(b))
	}
	if r.short || len(r.in) > 0 {
		return b, fmt.Errorf("its records do not end where it ends (%d bytes left, short %v)", len(r.in), r.short)
	}
	return b, nil
}

// reader reads records; short says that they ended too early.
type reader struct {
	in    []byte
	short bool
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.in)
	if n <= 0 {
		r.short, r.in = true, nil
		return 0
	}
	r.in = r.in[n:]
	return v
}

func (r *reader) nullable() []byte {
	n := r.varint()
	if n < 0 {
		return nil
	}
	if n > int64(len(r.in)) {
		r.short, r.in = true, nil
		return nil
	}
	b := r.in[:n:n]
	r.in = r.in[n:]
	return b
}

func (r *reader) record(b gotBatch) gotRecord {
	r.varint() // Length.
	if len(r.in) == 0 {
		r.short = true
		return gotRecord{}
	}
	r.in = r.in[1:] // Attributes.
	at := b.firstTime + r.varint()
	if b.attrs&attrLogAppendTime != 0 {
		at = b.maxTime
	}
	got := gotRecord{at: at, offset: b.base + r.varint()}
	got.key, got.value = r.nullable(), r.nullable()
	for range r.varint() {
		if r.short {
			break
		}
		got.headers = append(got.headers, header{key: string(r.nullable()), value: r.nullable()})
	}
	return got
}

// values are the values of records as strings.
func values(rs []gotRecord) []string {
	var all []string
	for _, r := range rs {
		all = append(all, string(r.value))
	}
	return all
}

// offsets are the offsets of records.
func offsets(rs []gotRecord) []int64 {
	var all []int64
	for _, r := range rs {
		all = append(all, r.offset)
	}
	return all
}
