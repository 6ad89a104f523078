package differential

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fault is what is wrong with a batch.
type fault string

const (
	faultNone     fault = ""
	faultCRC      fault = "crc"
	faultCount    fault = "count"
	faultDelta    fault = "last-delta"
	faultMagic    fault = "magic"
	faultEmpty    fault = "empty"
	faultControl  fault = "control"
	faultTwice    fault = "two batches"
	faultCut      fault = "cut"
	faultLogTime  fault = "log-append-time"
	faultSequence fault = "no sequence"
	faultKey      fault = "no key"
)

// batch is a record batch in a world's names.
type batch struct {
	count    int
	codec    int16
	at       int64  // Timestamp in the world's time, or the far past.
	tag      int    // Makes the values of steps tell apart.
	size     int    // Of each value, besides its tag.
	producer string // Empty for none.
	txn      bool
	sequence int32 // Off what is next.
	epoch    int16 // Off the producer's.
	fault    fault
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Places in a batch.
const (
	magicAt  = 16
	crcAt    = 17
	afterCRC = 21
)

// controlBatch is the attribute of markers.
const controlBatch = 1 << 5

// bytes is the batch as it is sent to one broker, for a partition.
func (b batch) bytes(v *view, partition string) []byte {
	rb := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(b.count - 1), NumRecords: int32(b.count),
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, Attributes: b.codec,
		FirstTimestamp: v.base + b.at, MaxTimestamp: v.base + b.at + int64(b.count-1),
	}
	if b.producer != "" {
		p := v.producer(b.producer)
		rb.ProducerID, rb.ProducerEpoch, rb.FirstSequence = p.id, p.epoch+b.epoch, p.next[partition]+b.sequence
	}
	if b.txn {
		rb.Attributes |= 1 << 4
	}
	var records []byte
	for i := range b.count {
		records = appendRecord(records, i, b)
	}
	b.spoil(&rb)
	rb.Records = compress(records, b.codec)
	if b.fault == faultEmpty {
		rb.Records = nil
	}
	rb.Length = int32(49 + len(rb.Records))
	out := rb.AppendTo(nil)
	if b.fault == faultMagic {
		out[magicAt] = 1
	}
	binary.BigEndian.PutUint32(out[crcAt:], crc32.Checksum(out[afterCRC:], castagnoli))
	switch b.fault {
	case faultCRC:
		out[crcAt]++
	case faultTwice:
		out = append(out, out...)
	case faultCut:
		out = out[:len(out)-3]
	}
	return out
}

// spoil writes what is wrong into the header, before it is checksummed.
func (b batch) spoil(rb *kmsg.RecordBatch) {
	switch b.fault {
	case faultCount:
		rb.NumRecords++
	case faultDelta:
		rb.LastOffsetDelta++
	case faultEmpty:
		rb.NumRecords, rb.LastOffsetDelta = 0, 0
	case faultControl:
		rb.Attributes |= controlBatch
	case faultLogTime:
		rb.Attributes |= 1 << 3
	case faultSequence:
		rb.FirstSequence = -1
	}
}

func appendRecord(out []byte, i int, b batch) []byte {
	body := []byte{0}
	body = binary.AppendVarint(body, int64(i))
	body = binary.AppendVarint(body, int64(i))
	if b.fault == faultKey {
		body = binary.AppendVarint(body, -1)
	} else {
		body = appendBytes(body, fmt.Appendf(nil, "k%d", i))
	}
	body = appendBytes(body, append(fmt.Appendf(nil, "s%d-%d", b.tag, i), bytes.Repeat([]byte("x"), b.size)...))
	body = binary.AppendVarint(body, 0)
	return append(binary.AppendVarint(out, int64(len(body))), body...)
}

func appendBytes(out, b []byte) []byte {
	return append(binary.AppendVarint(out, int64(len(b))), b...)
}

// compressors are made once: the same bytes go to both brokers.
var compressors = sync.OnceValue(func() map[int16]kgo.Compressor {
	all := map[int16]kgo.Compressor{}
	for codec, with := range map[int16]kgo.CompressionCodec{
		1: kgo.GzipCompression(), 2: kgo.SnappyCompression(), 3: kgo.Lz4Compression(), 4: kgo.ZstdCompression(),
	} {
		c, err := kgo.DefaultCompressor(with)
		if err != nil {
			panic(fmt.Sprintf("BUG: codec %d: %v", codec, err))
		}
		all[codec] = c
	}
	return all
})

func compress(b []byte, codec int16) []byte {
	c, ok := compressors()[codec]
	if !ok {
		return b
	}
	out, _ := c.Compress(new(bytes.Buffer), b)
	return bytes.Clone(out)
}

// batches is what a list of batches says. What is cut off at the end is left out,
// as clients do.
func (v *view) batches(in []byte) *node {
	list := &node{list: true, zero: len(in) == 0}
	for len(in) >= 12 {
		size := 12 + int(int32(binary.BigEndian.Uint32(in[8:])))
		if size < 61 || size > len(in) {
			break
		}
		list.inside = append(list.inside, v.batch(in[:size]))
		in = in[size:]
	}
	return list
}

func (v *view) batch(in []byte) *node {
	var rb kmsg.RecordBatch
	if err := rb.ReadFrom(in); err != nil {
		return &node{text: "unreadable: " + err.Error()}
	}
	body := rb.Records
	if codec := rb.Attributes & 7; codec != 0 {
		plain, err := kgo.DefaultDecompressor().Decompress(body, kgo.CompressionCodecType(codec))
		if err == nil {
			body = plain
		}
	}
	sum := "good"
	if crc32.Checksum(in[afterCRC:], castagnoli) != binary.BigEndian.Uint32(in[crcAt:]) {
		sum = "bad"
	}
	if rb.Attributes&controlBatch != 0 && len(body) > 5 {
		// The last of a marker's value is its coordinator's epoch, which counts restarts.
		body = slices.Clone(body)
		clear(body[len(body)-5 : len(body)-1])
	}
	// The bytes of a compressed batch may be others; what they hold may not.
	rb.CRC, rb.Length, rb.Records = 0, 0, nil
	n := v.structure(reflect.ValueOf(rb))
	n.names = append(n.names, "Checksum", "Holds")
	n.inside = append(n.inside, &node{text: sum, zero: sum == "good"}, &node{text: shorten(fmt.Sprintf("%q", body))})
	return n
}

// shorten keeps both ends of a long text and a sum of all of it.
func shorten(s string) string {
	if len(s) <= 160 {
		return s
	}
	return fmt.Sprintf("%s…%s(%d, %08x)", s[:60], s[len(s)-30:], len(s), crc32.ChecksumIEEE([]byte(s)))
}
