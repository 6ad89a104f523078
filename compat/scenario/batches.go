package scenario

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
	CodecNone   = 0
	CodecGzip   = 1
	CodecSnappy = 2
	CodecLz4    = 3
	CodecZstd   = 4
)

// Attributes of a batch.
const (
	AttrLogAppendTime = 1 << 3
	AttrTransactional = 1 << 4
	AttrControl       = 1 << 5
)

// EpochStart stands for the timestamp 0 in a record.
const EpochStart = math.MinInt64

// BatchHead is the length of a batch before its records, and sizeAt what lies
// before the bytes that its length field counts.
const (
	BatchHead = 61
	sizeAt    = 12
)

// Castagnoli is the table of the checksum of record batches.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Record is one record of a batch to send.
type Record struct {
	At      int64 // Timestamp, ms; 0 is that of the batch's making, EpochStart is 0.
	Key     []byte
	Value   []byte
	Headers []Header
	Delta   *int32 // Offset delta, when it is not the record's place.
}

// Header is a header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Batch is a record batch (magic 2) to send. The fields after the first group
// are for batches that lie about themselves.
type Batch struct {
	Records  []Record
	Codec    int16
	Attrs    int16 // Besides the codec.
	producer int64 // With idempotent.
	Epoch    int16
	sequence int32
	// idempotent says that producer, epoch and sequence count; else all are -1.
	idempotent bool

	Base      int64
	Magic     *int8
	Count     *int32
	LastDelta *int32
	MaxTime   *int64
	CRC       *uint32
	Extra     []byte // After the records, within the batch.
}

// PlainBatch is a batch of records with these values and keys, made now.
func PlainBatch(values ...string) Batch {
	var b Batch
	for i, v := range values {
		b.Records = append(b.Records, Record{Key: fmt.Appendf(nil, "k%d", i), Value: []byte(v)})
	}
	return b
}

// NumberedBatch is a batch of an idempotent producer with n records.
func NumberedBatch(producer int64, epoch int16, sequence int32, n int) Batch {
	b := Batch{idempotent: true, producer: producer, Epoch: epoch, sequence: sequence}
	for i := range n {
		b.Records = append(b.Records, Record{Value: fmt.Appendf(nil, "s%d", sequence+int32(i))})
	}
	return b
}

// AtTimes is a batch with a record per timestamp.
func AtTimes(codec int16, at ...int64) Batch {
	b := Batch{Codec: codec}
	for _, ts := range at {
		b.Records = append(b.Records, Record{At: ts, Key: []byte("k"), Value: fmt.Append(nil, ts)})
	}
	return b
}

// ValueOr is what a pointer points to, and v if it is nil.
func ValueOr[V any](p *V, v V) V {
	if p != nil {
		return *p
	}
	return v
}

// Bytes is the batch as it goes over the wire.
func (b Batch) Bytes() []byte {
	now := time.Now().UnixMilli()
	first, latest := now, int64(-1)
	var recs []byte
	for i, r := range b.Records {
		at := r.At
		switch at {
		case 0:
			at = now
		case EpochStart:
			at = 0
		}
		if i == 0 {
			first = at
		}
		latest = max(latest, at)
		recs = appendRecord(recs, r, at-first, ValueOr(r.Delta, int32(i)))
	}
	recs = append(compress(recs, b.Codec), b.Extra...)

	producer, epoch, sequence := int64(-1), int16(-1), int32(-1)
	if b.idempotent {
		producer, epoch, sequence = b.producer, b.Epoch, b.sequence
	}
	be := binary.BigEndian
	out := be.AppendUint64(nil, uint64(b.Base))
	out = be.AppendUint32(out, uint32(BatchHead-sizeAt+len(recs)))
	out = be.AppendUint32(out, 0xffffffff) // Leader epoch: the broker's.
	out = append(out, byte(ValueOr(b.Magic, 2)))
	out = be.AppendUint32(out, 0) // The checksum, below.
	out = be.AppendUint16(out, uint16(b.Codec|b.Attrs))
	out = be.AppendUint32(out, uint32(ValueOr(b.LastDelta, int32(len(b.Records)-1))))
	out = be.AppendUint64(out, uint64(first))
	out = be.AppendUint64(out, uint64(ValueOr(b.MaxTime, latest)))
	out = be.AppendUint64(out, uint64(producer))
	out = be.AppendUint16(out, uint16(epoch))
	out = be.AppendUint32(out, uint32(sequence))
	out = be.AppendUint32(out, uint32(ValueOr(b.Count, int32(len(b.Records)))))
	out = append(out, recs...)
	be.PutUint32(out[17:], ValueOr(b.CRC, crc32.Checksum(out[21:], Castagnoli)))
	return out
}

func appendRecord(out []byte, r Record, timeDelta int64, offsetDelta int32) []byte {
	body := []byte{0}
	body = binary.AppendVarint(body, timeDelta)
	body = binary.AppendVarint(body, int64(offsetDelta))
	body = appendNullable(body, r.Key)
	body = appendNullable(body, r.Value)
	body = binary.AppendVarint(body, int64(len(r.Headers)))
	for _, h := range r.Headers {
		body = appendNullable(body, append([]byte{}, h.Key...))
		body = appendNullable(body, h.Value)
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
	if codec == CodecNone || codec > CodecZstd {
		return b
	}
	with := map[int16]kgo.CompressionCodec{
		CodecGzip: kgo.GzipCompression(), CodecSnappy: kgo.SnappyCompression(),
		CodecLz4: kgo.Lz4Compression(), CodecZstd: kgo.ZstdCompression(),
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

// GotBatch is a batch as a broker returned it.
type GotBatch struct {
	Base        int64
	LeaderEpoch int32
	Attrs       int16
	LastDelta   int32
	FirstTime   int64
	MaxTime     int64
	Producer    int64
	Epoch       int16
	Sequence    int32
	Records     []GotRecord
}

// GotRecord is a record as a broker returned it.
type GotRecord struct {
	Offset  int64
	At      int64
	Key     []byte
	Value   []byte
	Headers []Header
}

// Batches reads the whole batches of a response; what is cut off at the end is
// left out, as clients do. A batch that is not as it should be fails the scenario.
func (t *T) Batches(in []byte) []GotBatch {
	var all []GotBatch
	for len(in) >= sizeAt {
		size := sizeAt + int(int32(binary.BigEndian.Uint32(in[8:])))
		if size < BatchHead {
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

// Records reads the records of all whole batches.
func (t *T) Records(in []byte) []GotRecord {
	var all []GotRecord
	for _, b := range t.Batches(in) {
		all = append(all, b.Records...)
	}
	return all
}

func readBatch(in []byte) (GotBatch, error) {
	be := binary.BigEndian
	if in[16] != 2 {
		return GotBatch{}, fmt.Errorf("magic %d", in[16])
	}
	if got, want := crc32.Checksum(in[21:], Castagnoli), be.Uint32(in[17:]); got != want {
		return GotBatch{}, fmt.Errorf("its checksum is %08x, it says %08x", got, want)
	}
	b := GotBatch{
		Base: int64(be.Uint64(in)), LeaderEpoch: int32(be.Uint32(in[12:])), Attrs: int16(be.Uint16(in[21:])),
		LastDelta: int32(be.Uint32(in[23:])), FirstTime: int64(be.Uint64(in[27:])), MaxTime: int64(be.Uint64(in[35:])),
		Producer: int64(be.Uint64(in[43:])), Epoch: int16(be.Uint16(in[51:])), Sequence: int32(be.Uint32(in[53:])),
	}
	body := in[BatchHead:]
	if codec := b.Attrs & 7; codec != CodecNone {
		var err error
		if body, err = kgo.DefaultDecompressor().Decompress(body, kgo.CompressionCodecType(codec)); err != nil {
			return b, err
		}
	}
	r := reader{in: body}
	for range int32(be.Uint32(in[57:])) {
		b.Records = append(b.Records, r.record(b))
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

func (r *reader) record(b GotBatch) GotRecord {
	r.varint() // Length.
	if len(r.in) == 0 {
		r.short = true
		return GotRecord{}
	}
	r.in = r.in[1:] // Attributes.
	at := b.FirstTime + r.varint()
	if b.Attrs&AttrLogAppendTime != 0 {
		at = b.MaxTime
	}
	got := GotRecord{At: at, Offset: b.Base + r.varint()}
	got.Key, got.Value = r.nullable(), r.nullable()
	for range r.varint() {
		if r.short {
			break
		}
		got.Headers = append(got.Headers, Header{Key: string(r.nullable()), Value: r.nullable()})
	}
	return got
}

// Values are the values of records as strings.
func Values(rs []GotRecord) []string {
	var all []string
	for _, r := range rs {
		all = append(all, string(r.Value))
	}
	return all
}

// Offsets are the offsets of records.
func Offsets(rs []GotRecord) []int64 {
	var all []int64
	for _, r := range rs {
		all = append(all, r.Offset)
	}
	return all
}
