package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// entry is one record as tests think of it.
type entry struct {
	Offset, Timestamp int64
	Key, Value        []byte
	Headers           []Header
}

// entries reads the records of b, and copies them.
func entries(b Batch, limit int64) ([]entry, error) {
	it := b.Records(limit)
	defer it.Close()
	var out []entry
	for it.Next() {
		r := it.Record()
		e := entry{Offset: it.Offset(), Timestamp: it.Timestamp(), Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)}
		for _, h := range r.Headers {
			e.Headers = append(e.Headers, Header{bytes.Clone(h.Key), bytes.Clone(h.Value)})
		}
		out = append(out, e)
	}
	return out, it.Err()
}

// drawBytes draws null, empty, short and long (beyond the window) values alike.
func drawBytes(t *rapid.T, label string) []byte {
	switch rapid.IntRange(0, 90).Draw(t, label+" kind") {
	case 0:
		return nil
	case 70:
		return bytes.Repeat([]byte{byte(rapid.IntRange(0, 255).Draw(t, label))}, rapid.SampledFrom([]int{0, 127, 128, windowBytes - 9, windowBytes, windowBytes + 1, 2*windowBytes + 1}).Draw(t, label+" length"))
	default:
		return rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, label)
	}
}

func drawEntries(t *rapid.T) []entry {
	n := rapid.IntRange(1, 20).Draw(t, "records")
	base := rapid.Int64Range(-5, 1<<41).Draw(t, "first timestamp")
	out := make([]entry, n)
	for i := range out {
		e := entry{
			Offset:    int64(i),
			Timestamp: base + rapid.Int64Range(-1000, 100_000).Draw(t, "timestamp"),
			Key:       drawBytes(t, "key"),
			Value:     drawBytes(t, "value"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			key := rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(t, "header key")
			e.Headers = append(e.Headers, Header{key, drawBytes(t, "header value")})
		}
		out[i] = e
	}
	return out
}

func drawCodec(t *rapid.T) codec.Codec {
	return codec.Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
}

func buildOf(m Meta, es []entry) Batch {
	bl := NewBuilder(m)
	for _, e := range es {
		bl.Append(e.Timestamp, e.Key, e.Value, e.Headers...)
	}
	return bl.Build()
}

// diffEntries is how got differs from want. Null and empty bytes are different.
func diffEntries(want, got []entry) string {
	same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
	if slices.EqualFunc(want, got, func(a, b entry) bool {
		return a.Offset == b.Offset && a.Timestamp == b.Timestamp && same(a.Key, b.Key) && same(a.Value, b.Value) &&
			slices.EqualFunc(a.Headers, b.Headers, func(a, b Header) bool {
				return bytes.Equal(a.Key, b.Key) && same(a.Value, b.Value)
			})
	}) {
		return ""
	}
	// Not the check itself: it is too slow for large values.
	return cmp.Diff(want, got) + " "
}

// TestBuildIterate: what is built is what is read, in every codec, and kmsg reads
// the same records.
func TestBuildIterate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawEntries(t)
		m := Plain(rapid.Int64Range(0, 1<<50).Draw(t, "base offset"), 3)
		m.Codec = drawCodec(t)
		b := buildOf(m, want)
		for i := range want {
			want[i].Offset += m.BaseOffset
		}
		next, rest, err := Next(b)
		if err != nil || len(rest) != 0 || next.CheckCRC() != nil {
			t.Fatalf("built a batch that is not one: %v, %d left, %v", err, len(rest), next.CheckCRC())
		}
		got, err := entries(b, codec.NoLimit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := diffEntries(want, got); diff != "" {
			t.Fatalf("built (-), read (+):\n%s", diff)
		}
		if b.NextOffset() != m.BaseOffset+int64(len(want)) {
			t.Fatalf("next offset %d after %d records at %d", b.NextOffset(), len(want), m.BaseOffset)
		}
		if diff := diffEntries(want, kmsgEntries(t, b)); diff != "" {
			t.Fatalf("built (-), kmsg reads (+):\n%s", diff)
		}
	})
}

// kmsgEntries reads b with kmsg and franz-go's notion of a record.
func kmsgEntries(t *rapid.T, b Batch) []entry {
	raw := unpack(t, b)
	var out []entry
	for len(raw) > 0 {
		size, n := varint32(raw)
		var r kmsg.Record
		if err := r.ReadFrom(raw[:n+int(size)]); err != nil {
			t.Fatal(err)
		}
		raw = raw[n+int(size):]
		e := entry{Offset: b.BaseOffset() + int64(r.OffsetDelta), Timestamp: b.BaseTimestamp() + r.TimestampDelta64, Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			e.Headers = append(e.Headers, Header{[]byte(h.Key), h.Value})
		}
		out = append(out, e)
	}
	return out
}

// fataler is *testing.T and *rapid.T.
type fataler interface{ Fatal(args ...any) }

// unpack is the payload, decompressed.
func unpack(t fataler, b Batch) []byte {
	r, err := codec.Open(b.Codec(), b.Payload(), codec.NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// crafted is a batch whose records are the given bytes, counted as n.
func crafted(t fataler, c codec.Codec, n int32, records ...[]byte) Batch {
	b := Batch(make([]byte, HeaderLen))
	m := Plain(0, NoLeaderEpoch)
	m.Codec = c
	b, err := codec.Compress(b, c, codec.DefaultLevel, bytes.Join(records, nil))
	if err != nil {
		t.Fatal(err)
	}
	b.putHeader(m, n-1, n, 1000, 1000)
	return b
}

// raw is a record: its length, then fields as they come.
func raw(fields ...any) []byte {
	var body []byte
	for _, f := range fields {
		switch f := f.(type) {
		case byte:
			body = append(body, f)
		case int:
			body = appendVarint(body, int64(f))
		case string:
			body = append(body, f...)
		}
	}
	return append(appendVarint(nil, int64(len(body))), body...)
}

// badRecords are payloads that are no records, by what is wrong with them.
func badRecords() map[string]struct {
	count   int32
	payload []byte
	why     string
} {
	good := raw(byte(0), 0, 0, 1, "k", 1, "v", 0)
	large := strings.Repeat("x", 2*windowBytes)
	largest := strings.Repeat("x", windowKeepBytes+1) // No pooled window has room for more.
	type bad = struct {
		count   int32
		payload []byte
		why     string
	}
	return map[string]bad{
		"no records at all":           {1, nil, errRecordCut.Error()},
		"one too few":                 {2, good, errRecordCut.Error()},
		"one too many":                {1, bytes.Repeat(good, 2), errRecordsRemain.Error()},
		"a byte too many":             {1, append(bytes.Clone(good), 0), errRecordsRemain.Error()},
		"cut in the middle":           {1, good[:5], errRecordCut.Error()},
		"negative length":             {1, appendVarint(nil, -1), errRecordCut.Error()},
		"length without end":          {1, bytes.Repeat([]byte{0x80}, 12), errRecordCut.Error()},
		"length of 2 GiB":             {1, appendVarint(nil, math.MaxInt32), errRecordCut.Error()},
		"empty record":                {1, raw(), errRecordFields.Error()},
		"attributes alone":            {1, raw(byte(0)), errRecordFields.Error()},
		"timestamp without end":       {1, raw(byte(0), strings.Repeat("\x80", 11), 0, -1, -1, 0), errRecordFields.Error()},
		"key past the end":            {1, raw(byte(0), 0, 0, 100, "k", -1, 0), errRecordFields.Error()},
		"key of 2 GiB":                {1, raw(byte(0), 0, 0, math.MaxInt32, "k", -1, 0), errRecordFields.Error()},
		"value past the end":          {1, raw(byte(0), 0, 0, -1, 2, "v"), errRecordFields.Error()},
		"value past, in next record":  {2, append(raw(byte(0), 0, 0, -1, 9, "v"), good...), errRecordFields.Error()},
		"no header count":             {1, raw(byte(0), 0, 0, 1, "k", 1, "v"), errRecordFields.Error()},
		"negative header count":       {1, raw(byte(0), 0, 0, -1, -1, -1), errHeaderCount.Error()},
		"header count beyond the end": {1, raw(byte(0), 0, 0, -1, -1, 3, 0), errHeaderCount.Error()},
		"header count of 2^31-1":      {1, raw(byte(0), 0, 0, -1, -1, math.MaxInt32, 0, 0, 0), errHeaderCount.Error()},
		"null header key":             {1, raw(byte(0), 0, 0, -1, -1, 1, -1, -1), errHeaderKey.Error()},
		"header key past the end":     {1, raw(byte(0), 0, 0, -1, -1, 1, 5, "h"), errRecordFields.Error()},
		"header value past the end":   {1, raw(byte(0), 0, 0, -1, -1, 1, 1, "h", 2, "v"), errRecordFields.Error()},
		"bytes after the headers":     {1, raw(byte(0), 0, 0, -1, -1, 1, 1, "h", 1, "v", 0), errRecordLength.Error()},
		"bytes after no headers":      {1, raw(byte(0), 0, 0, -1, -1, 0, 0), errRecordLength.Error()},
		"long value, bytes after it":  {1, raw(byte(0), 0, 0, -1, len(large), large, 0, 0), errRecordLength.Error()},
		"long value, cut":             {1, raw(byte(0), 0, 0, -1, len(large), large, 0)[:windowBytes+99], errRecordCut.Error()},
		"long key, null header key":   {1, raw(byte(0), 0, 0, len(large), large, -1, 1, -1, -1), errHeaderKey.Error()},
		"long key, no header count":   {1, raw(byte(0), 0, 0, len(large), large, -1), errRecordFields.Error()},
		"long key, absurd headers":    {1, raw(byte(0), 0, 0, len(large), large, -1, math.MaxInt32, 0), errHeaderCount.Error()},
		"long record, then a byte":    {1, append(raw(byte(0), 0, 0, -1, len(largest), largest, 0), 0), errRecordsRemain.Error()},
		"long header past the end":    {1, raw(byte(0), 0, 0, -1, -1, 1, 1, "h", len(large)+1, large), errRecordFields.Error()},
	}
}

func TestBadRecords(t *testing.T) {
	for name, tc := range badRecords() {
		for c := codec.None; c <= codec.Zstd; c++ {
			t.Run(name+"/"+c.String(), func(t *testing.T) {
				_, err := entries(crafted(t, c, tc.count, tc.payload), codec.NoLimit)
				bad, ok := errors.AsType[*CorruptError](err)
				if !ok || bad.Err == nil || bad.Err.Error() != tc.why {
					t.Errorf("error %v, want corrupt: %s", err, tc.why)
				}
			})
		}
	}
}

func TestOddButGoodRecords(t *testing.T) {
	for name, tc := range map[string]struct {
		count   int32
		payload []byte
		want    []entry
	}{
		"no records, bytes ignored": {0, []byte("anything"), nil},
		"negative lengths are null": {1, raw(byte(0), 0, 0, -7, -9, 1, 1, "h", -3), []entry{{0, 1000, nil, nil, []Header{{Key: []byte("h")}}}}},
		"attributes are ignored":    {1, raw(byte(0xff), 5, 0, 0, 0, 0), []entry{{0, 1005, []byte{}, []byte{}, nil}}},
		"long varints":              {1, raw(byte(0), "\x82\x80\x80\x00", "\x84\x80\x00", "\x82\x80\x80\x80\x00", "k", "\x81\x80\x00", "\x80\x00"), []entry{{2, 1001, []byte("k"), nil, nil}}},
		"delta beyond 64 bits":      {1, raw(byte(0), "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 0, -1, -1, 0), []entry{{0, math.MinInt64 + 999, nil, nil, nil}}},
	} {
		for c := codec.None; c <= codec.Zstd; c++ {
			t.Run(name+"/"+c.String(), func(t *testing.T) {
				got, err := entries(crafted(t, c, tc.count, tc.payload), codec.NoLimit)
				if err != nil {
					t.Fatal(err)
				}
				if diff := diffEntries(tc.want, got); diff != "" {
					t.Errorf("want (-), got (+):\n%s", diff)
				}
			})
		}
	}
}

func TestRecordsNegativeCount(t *testing.T) {
	_, err := entries(crafted(t, codec.None, -1), codec.NoLimit)
	if !errors.Is(err, errCount) {
		t.Errorf("error %v, want %v", err, errCount)
	}
}

func TestRecordsLogAppendTime(t *testing.T) {
	m := Plain(10, 0)
	m.LogAppendTime = true
	got, err := entries(buildOf(m, []entry{{Timestamp: 5}, {Timestamp: 9}}), codec.NoLimit)
	if diff := diffEntries([]entry{{Offset: 10, Timestamp: 9}, {Offset: 11, Timestamp: 9}}, got); err != nil || diff != "" {
		t.Errorf("%v, want (-), got (+):\n%s", err, diff)
	}
}

func TestRecordsLimit(t *testing.T) {
	for c := codec.Gzip; c <= codec.Zstd; c++ {
		b := crafted(t, c, 1, raw(byte(0), 0, 0, -1, 100_000, strings.Repeat("x", 100_000), 0))
		size := int64(len(unpack(t, b)))
		if _, err := entries(b, size); err != nil {
			t.Errorf("%v: exactly the limit: %v", c, err)
		}
		if _, err := entries(b, size-1); !errors.Is(err, codec.ErrTooLarge) {
			t.Errorf("%v: a byte over the limit: %v", c, err)
		}
	}
}

// TestRecordsReuse: an iterator over records of a kind allocates for itself only.
func TestRecordsReuse(t *testing.T) {
	b := sample(codec.None, 1000, 50)
	if n := testing.AllocsPerRun(10, func() {
		it := b.Records(codec.NoLimit)
		for it.Next() {
		}
	}); n > 1 {
		t.Errorf("%v allocations for 1000 records", n)
	}
}

func TestCloseTwice(t *testing.T) {
	it := sample(codec.LZ4, 5, 5).Records(codec.NoLimit)
	it.Next()
	it.Close()
	it.Close()
	if it.Next() {
		t.Error("a closed iterator goes on")
	}
}

// FuzzRecords: whatever the bytes, the iterator and the lean walk agree on whether
// they are records, and neither panics. Sealing makes the bytes a batch.
func FuzzRecords(f *testing.F) {
	for name, bad := range badRecords() {
		if !strings.HasPrefix(name, "long") {
			f.Add(bad.payload, bad.count, uint8(0))
			f.Add(bad.payload, bad.count, uint8(3))
		}
	}
	f.Add(sample(codec.None, 4, 9).Payload(), int32(4), uint8(4))
	f.Fuzz(func(t *testing.T, payload []byte, count int32, c uint8) {
		b := crafted(t, codec.Codec(c%5), max(count, 1), payload)
		_, iterErr := entries(b, 1<<20)
		_, _, checkErr := checkRecords(b, &Rules{LogAppendTime: true, MaxDecompressedBytes: 1 << 20})
		if (iterErr == nil) != (checkErr == nil) {
			t.Fatalf("the iterator says %v, the check says %v", iterErr, checkErr)
		}
	})
}

// FuzzCompressed lets the fuzzer write the compressed bytes themselves.
func FuzzCompressed(f *testing.F) {
	for c := codec.Gzip; c <= codec.Zstd; c++ {
		f.Add(sample(c, 4, 30).Payload(), int32(4), uint8(c))
	}
	f.Fuzz(func(t *testing.T, payload []byte, count int32, c uint8) {
		b := Batch(append(make([]byte, HeaderLen), payload...))
		m := Plain(0, 0)
		m.Codec = codec.Codec(c % 8)
		count = max(count, 1)
		b.putHeader(m, count-1, count, 0, 0)
		_, iterErr := entries(b, 1<<20)
		_, _, checkErr := checkRecords(b, &Rules{LogAppendTime: true, MaxDecompressedBytes: 1 << 20})
		if (iterErr == nil) != (checkErr == nil) {
			t.Fatalf("the iterator says %v, the check says %v", iterErr, checkErr)
		}
	})
}

// TestScans: the scan of the common shape takes nothing for a record that the
// parser does not, and reads the same. Bytes are drawn from those that end varints
// and those that do not.
func TestScans(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	alphabet := []byte{0, 0, 0, 1, 2, 4, 6, 0x80, 0x81, 0x82}
	taken := 0
	for range 300_000 {
		p := make([]byte, 9+rng.IntN(12))
		for i := range p {
			p[i] = alphabet[rng.IntN(len(alphabet))]
		}
		p[0] = byte(2 * (6 + rng.IntN(8)))
		s, n := scanShort(p)
		if n == 0 {
			continue
		}
		taken++
		var r Record
		size, at := varint32(p)
		if err := r.parse(p[at:n]); err != nil || n != at+int(size) {
			t.Fatalf("%x: took %d bytes, %v", p, n, err)
		}
		if s.timestampDelta != r.TimestampDelta || s.offsetDelta != r.OffsetDelta || (s.keyLen < 0) != (r.Key == nil) {
			t.Fatalf("%x: scanned %+v, parsed %+v", p, s, r)
		}
	}
	if taken < 1000 {
		t.Errorf("only %d records of the shape", taken)
	}
}

// TestVarints compares with the standard library within the range where Kafka
// and it agree.
func TestVarints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "v")
		p := appendVarint(nil, v)
		want, _ := binary.Varint(p)
		if got, n := varint64(p); got != v || want != v || n != len(p) || varintLen(v) != n {
			t.Fatalf("%d: read %d, %d bytes of %d", v, got, n, len(p))
		}
		p = appendVarint(nil, int64(int32(v)))
		if got, n := varint32(p); got != int32(v) || n != len(p) {
			t.Fatalf("%d: read %d, %d bytes of %d", int32(v), got, n, len(p))
		}
		if u, at := uvar32(p, 0); unzigzag32(u) != int32(v) || at != len(p) {
			t.Fatalf("%d: read %d, %d bytes of %d", int32(v), unzigzag32(u), at, len(p))
		}
	})
}
