package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/protocol/codec"
)

const nowMs = 1_700_000_000_000

// defaults are the rules of a topic without settings.
var defaults = Rules{
	NowMs: nowMs, BeforeMaxMs: math.MaxInt64, AfterMaxMs: 3_600_000,
	MaxBytes: 1_048_588, AllowZstd: true,
}

// with is defaults, changed.
func with(change func(r *Rules)) Rules {
	r := defaults
	change(&r)
	return r
}

// changed is a good batch of three records, changed and sealed again.
func changed(change func(b Batch)) []byte {
	b := buildOf(Plain(0, NoLeaderEpoch), []entry{
		{Timestamp: nowMs, Key: []byte("a"), Value: []byte("1")},
		{Timestamp: nowMs - 5, Key: []byte("b"), Value: []byte("2")},
		{Timestamp: nowMs - 1, Key: []byte("c"), Value: []byte("3")},
	})
	change(b)
	b.Seal()
	return b
}

func put32(at int, v int32) func(Batch) {
	return func(b Batch) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
}

func attrs(set int16) func(Batch) {
	return func(b Batch) { b.setAttributes(b.Attributes() | set) }
}

func all(changes ...func(Batch)) func(Batch) {
	return func(b Batch) {
		for _, c := range changes {
			c(b)
		}
	}
}

// kind is which of Admit's errors err is, in few words.
func kind(err error) string {
	var (
		bad     *CorruptError
		records *RecordsError
		large   *TooLargeError
		unknown *CodecError
	)
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &bad):
		return "corrupt"
	case errors.As(err, &records) && records.Timestamp:
		return "timestamp"
	case errors.As(err, &records):
		return "invalid"
	case errors.As(err, &large) && large.Decompressed:
		return "expands"
	case errors.As(err, &large):
		return "large"
	case errors.As(err, &unknown):
		return "codec"
	default:
		return err.Error()
	}
}

// headerCase is an input whose header decides.
type headerCase struct {
	in    []byte
	rules Rules
	want  string
	// apache is what Kafka says instead: an unknown error, or one of the request
	// that is not Admit's to find.
	apache string
}

func headerCases() map[string]headerCase {
	none := func(Batch) {}
	good := changed(none)
	old := with(func(r *Rules) { r.AllowZstd = false })
	return map[string]headerCase{
		"good":                            {good, defaults, "ok", ""},
		"nothing":                         {[]byte{}, defaults, "invalid", ""},
		"half a batch":                    {good[:70], defaults, "invalid", ""},
		"magic 1":                         {changed(func(b Batch) { b[atMagic] = 1 }), defaults, "invalid", ""},
		"magic 7":                         {changed(func(b Batch) { b[atMagic] = 7 }), defaults, "corrupt", ""},
		"length 13":                       {changed(put32(atLength, 13)), defaults, "corrupt", ""},
		"two batches":                     {slices.Concat(good, good), defaults, "invalid", ""},
		"a message of magic 0 follows":    {slices.Concat(good, changed(func(b Batch) { b[atMagic] = 0 })), defaults, "invalid", ""},
		"garbage follows":                 {slices.Concat(good, make([]byte, 20)), defaults, "corrupt", ""},
		"part of a batch follows":         {slices.Concat(good, good[:40]), defaults, "ok", ""},
		"a few bytes follow":              {slices.Concat(good, good[:5]), defaults, "ok", ""},
		"base offset":                     {changed(func(b Batch) { b.SetBaseOffset(1) }), defaults, "invalid", ""},
		"damaged":                         {flip(good, 70), defaults, "corrupt", ""},
		"damaged, base offset":            {flip(changed(func(b Batch) { b.SetBaseOffset(1) }), 70), defaults, "invalid", ""},
		"exactly max.message.bytes":       {good, with(func(r *Rules) { r.MaxBytes = len(good) }), "ok", ""},
		"a byte too large":                {good, with(func(r *Rules) { r.MaxBytes = len(good) - 1 }), "large", ""},
		"too large and damaged":           {flip(good, 70), with(func(r *Rules) { r.MaxBytes = 80 }), "large", ""},
		"no size limit":                   {good, with(func(r *Rules) { r.MaxBytes = 0 }), "ok", ""},
		"unknown codec":                   {changed(attrs(5)), defaults, "codec", "unknown"},
		"unknown codec, damaged":          {flip(changed(attrs(5)), 70), defaults, "corrupt", ""},
		"zstd in an old request":          {sample(codec.Zstd, 1, 1), old, "codec", ""},
		"zstd in an old request, damaged": {flip(sample(codec.Zstd, 1, 1), 65), old, "codec", ""},
		"zstd":                            {sample(codec.Zstd, 1, 1), defaults, "ok", ""},
		"negative last offset":            {changed(put32(atLastOffsetDelta, -1)), defaults, "invalid", ""},
		"count too small":                 {changed(put32(atCount, 2)), defaults, "invalid", ""},
		"no records":                      {changed(all(put32(atCount, 0), put32(atLastOffsetDelta, 0))), defaults, "invalid", ""},
		"an empty batch":                  {Empty(Plain(0, 0), 0, 0), defaults, "invalid", ""},
		"last offset too large":           {changed(put32(atLastOffsetDelta, 3)), defaults, "invalid", ""},
		"last offset 2^31-1":              {changed(put32(atLastOffsetDelta, math.MaxInt32)), defaults, "invalid", ""},
		"control":                         {changed(attrs(attrControl)), defaults, "invalid", ""},
		"producer without sequence":       {changed(func(b Batch) { binary.BigEndian.PutUint64(b[atProducerID:], 7) }), defaults, "invalid", ""},
		"producer with sequence": {changed(all(func(b Batch) { binary.BigEndian.PutUint64(b[atProducerID:], 7) },
			put32(atBaseSequence, 0))), defaults, "ok", ""},
		"producer -2 is none":      {changed(func(b Batch) { binary.BigEndian.PutUint64(b[atProducerID:], math.MaxUint64-1) }), defaults, "ok", ""},
		"transactional":            {changed(attrs(attrTransactional)), defaults, "ok", "transactional"},
		"attributes of no meaning": {changed(attrs(0x700)), defaults, "ok", ""},
	}
}

// TestAdmitHeader also fixes the order in which faults are found: Kafka's.
func TestAdmitHeader(t *testing.T) {
	for name, tc := range headerCases() {
		t.Run(name, func(t *testing.T) {
			for _, headerOnly := range []bool{false, true} {
				in := bytes.Clone(tc.in)
				tc.rules.HeaderOnly = headerOnly
				b, err := Admit(in, tc.rules)
				if got := kind(err); got != tc.want {
					t.Errorf("header only %v: %s, %v; want %s", headerOnly, got, err, tc.want)
				}
				if err != nil && (b != nil || !bytes.Equal(in, tc.in)) {
					t.Error("a refused input was changed, or returned")
				}
			}
		})
	}
}

func flip(in []byte, at int) []byte {
	out := bytes.Clone(in)
	out[at] ^= 1
	return out
}

// recordCase is a batch whose records decide, at the time now.
type recordCase struct {
	es     []entry
	change func(Batch)
	rules  []func(*Rules)
	want   string
	faulty []int32
	max    int64
}

// beforeMs and afterMs are the bounds on timestamps of recordCases. Its cases keep
// their distance, so that they hold for a broker whose clock has moved on.
const beforeMs, afterMs, distanceMs = 1_000_000, 500_000, 100_000

func recordCases(now int64) map[string]recordCase {
	key := []byte("k")
	bounded := func(r *Rules) { r.BeforeMaxMs, r.AfterMaxMs = beforeMs, afterMs }
	appendTime := func(r *Rules) { r.LogAppendTime = true }
	compacted := func(r *Rules) { r.Compacted = true }
	at := func(ts ...int64) (es []entry) {
		for _, ts := range ts {
			es = append(es, entry{Timestamp: ts, Key: key})
		}
		return es
	}
	claims := func(b Batch) { b.setAttributes(b.Attributes() | attrLogAppendTime) }
	oldest, newest := now-beforeMs, now+afterMs
	const d = distanceMs
	return map[string]recordCase{
		"within bounds":                {at(oldest+d, newest-d), nil, []func(*Rules){bounded}, "ok", nil, newest - d},
		"too old":                      {at(oldest+d, oldest-d), nil, []func(*Rules){bounded}, "timestamp", []int32{1}, 0},
		"too new":                      {at(newest+d, now, newest+2*d), nil, []func(*Rules){bounded}, "timestamp", []int32{0, 2}, 0},
		"only the second too new":      {at(now, newest+d), nil, []func(*Rules){bounded}, "timestamp", []int32{1}, 0},
		"second too new, no oldest":    {at(now, now+2*3_600_000), nil, nil, "timestamp", []int32{1}, 0},
		"none at all":                  {at(-1, -1), nil, []func(*Rules){bounded}, "ok", nil, -1},
		"before 1970":                  {at(-100, -100), nil, nil, "ok", nil, -1},
		"before 1970, bounded":         {at(-100, -1), nil, []func(*Rules){bounded}, "timestamp", []int32{0}, 0},
		"time 0":                       {at(0), nil, nil, "ok", nil, 0},
		"out of bounds, append time":   {at(5, 2*now), nil, []func(*Rules){bounded, appendTime}, "ok", nil, now},
		"largest is first":             {at(now+9, now, now+3), nil, nil, "ok", nil, now + 9},
		"header lies about the max":    {at(now, now-1), func(b Batch) { binary.BigEndian.PutUint64(b[atMaxTimestamp:], 1) }, nil, "ok", nil, now},
		"no keys, not compacted":       {[]entry{{Timestamp: now}}, nil, nil, "ok", nil, now},
		"empty key":                    {[]entry{{Timestamp: now, Key: []byte{}}}, nil, []func(*Rules){compacted}, "ok", nil, now},
		"null keys":                    {[]entry{{Timestamp: now}, {Timestamp: now, Key: key}, {Timestamp: now}}, nil, []func(*Rules){compacted}, "invalid", []int32{0, 2}, 0},
		"null key and bad time":        {[]entry{{Timestamp: now}, {Timestamp: 2 * now, Key: key}}, nil, []func(*Rules){compacted}, "timestamp", []int32{0, 1}, 0},
		"null key of a bad time":       {[]entry{{Timestamp: 2 * now}}, nil, []func(*Rules){compacted}, "invalid", []int32{0}, 0},
		"null key, append time":        {[]entry{{Timestamp: 2 * now}}, nil, []func(*Rules){compacted, appendTime}, "invalid", []int32{0}, 0},
		"claims append time, in time":  {at(now-7, now), claims, nil, "ok", nil, now},
		"claims append time, too new":  {at(now, 2*now), claims, nil, "timestamp", []int32{0, 1}, 0},
		"claims append time, has none": {at(-1, -1), claims, nil, "timestamp", []int32{0, 1}, 0},
		"claims it where it is rule":   {at(now, now), claims, []func(*Rules){appendTime}, "timestamp", []int32{0, 1}, 0},
		"claims it, null key":          {[]entry{{Timestamp: now}}, claims, []func(*Rules){appendTime, compacted}, "invalid", []int32{0}, 0},
	}
}

// faultyRecords are the indices that err names.
func faultyRecords(err error) (faulty []int32) {
	if bad, ok := errors.AsType[*RecordsError](err); ok {
		for _, r := range bad.Records {
			faulty = append(faulty, r.Index)
		}
	}
	return faulty
}

// batch is the case as a client sends it.
func (tc recordCase) batch(c codec.Codec) Batch {
	m := Plain(0, NoLeaderEpoch)
	m.Codec = c
	in := buildOf(m, tc.es)
	if tc.change != nil {
		tc.change(in)
		in.Seal()
	}
	return in
}

// TestAdmitRecords checks the faults of single records, in each codec.
func TestAdmitRecords(t *testing.T) {
	for name, tc := range recordCases(nowMs) {
		for c := codec.None; c <= codec.Zstd; c++ {
			for _, headerOnly := range []bool{false, true} {
				if headerOnly && name == "header lies about the max" {
					continue // That is what is believed then.
				}
				t.Run(fmt.Sprintf("%s/%v/%v", name, c, headerOnly), func(t *testing.T) {
					r := defaults
					r.HeaderOnly = headerOnly
					for _, change := range tc.rules {
						change(&r)
					}
					b, err := Admit(tc.batch(c), r)
					if got := kind(err); got != tc.want {
						t.Fatalf("%s, %v; want %s", got, err, tc.want)
					}
					if diff := cmp.Diff(tc.faulty, faultyRecords(err)); diff != "" {
						t.Errorf("records at fault, want (-), got (+):\n%s", diff)
					}
					if err != nil {
						return
					}
					if err := b.CheckCRC(); err != nil {
						t.Error(err)
					}
					if b.MaxTimestamp() != tc.max || b.LogAppendTime() != r.LogAppendTime {
						t.Errorf("max timestamp %d, append time %v; want %d, %v", b.MaxTimestamp(), b.LogAppendTime(), tc.max, r.LogAppendTime)
					}
				})
			}
		}
	}
}

// TestAdmitBounds: the first and the last timestamp allowed are allowed, also when
// the bounds do not fit 64 bits.
func TestAdmitBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after int64
		ts            int64
		want          string
	}{
		"oldest":                {1000, 500, nowMs - 1000, "ok"},
		"too old":               {1000, 500, nowMs - 1001, "timestamp"},
		"newest":                {1000, 500, nowMs + 500, "ok"},
		"too new":               {1000, 500, nowMs + 501, "timestamp"},
		"only now":              {0, 0, nowMs, "ok"},
		"not a ms later":        {0, 0, nowMs + 1, "timestamp"},
		"farthest future":       {0, math.MaxInt64, math.MaxInt64, "ok"},
		"as old as can be told": {math.MaxInt64, 0, nowMs - math.MaxInt64, "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			r := with(func(r *Rules) { r.BeforeMaxMs, r.AfterMaxMs = tc.before, tc.after })
			_, err := Admit(recordCase{es: []entry{{Timestamp: tc.ts}}}.batch(codec.None), r)
			if got := kind(err); got != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

// TestAdmitBadRecords: records that are none are an error of the whole batch, also
// when others are merely at fault.
func TestAdmitBadRecords(t *testing.T) {
	for name, tc := range badRecords() {
		for c := codec.None; c <= codec.Zstd; c++ {
			t.Run(name+"/"+c.String(), func(t *testing.T) {
				in := crafted(t, c, tc.count, tc.payload)
				r := with(func(r *Rules) { r.Compacted, r.BeforeMaxMs = true, 1 })
				_, err := Admit(in, r)
				bad, ok := errors.AsType[*RecordsError](err)
				if !ok || bad.Timestamp || len(bad.Records) != 0 || !strings.Contains(bad.Message, tc.why) {
					t.Errorf("error %v, want an invalid batch: %s", err, tc.why)
				}
			})
		}
	}
}

// TestAdmitUndecodable: bytes that do not decompress are an invalid batch, since
// sending it again, as clients do with a corrupt one, cannot help.
func TestAdmitUndecodable(t *testing.T) {
	for c := codec.Gzip; c <= codec.Zstd; c++ {
		whole := sample(c, 50, 100)
		for name, payload := range map[string][]byte{
			"garbage": []byte("this was never compressed by anything"),
			"cut":     whole.Payload()[:len(whole.Payload())/2],
			"more":    append(bytes.Clone(whole.Payload()), 0),
			"nothing": nil,
		} {
			in := Batch(append(bytes.Clone(whole[:HeaderLen]), payload...))
			in.setLength()
			in.Seal()
			if _, err := Admit(in, defaults); kind(err) != "invalid" {
				t.Errorf("%v, %s: %v", c, name, err)
			}
			r := with(func(r *Rules) { r.HeaderOnly = true; r.AfterMaxMs = math.MaxInt64 })
			if _, err := Admit(in, r); err != nil {
				t.Errorf("%v, %s, header only: %v", c, name, err)
			}
		}
	}
}

// TestAdmitBombs: a batch that decompresses to more than is allowed is refused,
// whatever its codec, also when it is one record with absurdly many headers.
func TestAdmitBombs(t *testing.T) {
	const size = 1 << 20
	value := raw(byte(0), 0, 0, -1, size, string(make([]byte, size)), 0)
	headers := raw(byte(0), 0, 0, -1, -1, size/2, string(make([]byte, size)))
	for c := codec.Gzip; c <= codec.Zstd; c++ {
		for name, payload := range map[string][]byte{"value": value, "headers": headers} {
			in := crafted(t, c, 1, payload)
			r := with(func(r *Rules) { r.MaxBytes, r.MaxDecompressedBytes = 0, size/2 })
			if _, err := Admit(in, r); kind(err) != "expands" {
				t.Errorf("%v, %s: %v", c, name, err)
			}
			r.MaxDecompressedBytes = 0
			if n := testing.AllocsPerRun(1, func() {
				if _, err := Admit(in, r); err != nil {
					t.Errorf("%v, %s, default bound: %v", c, name, err)
				}
			}); n > 60 {
				t.Errorf("%v, %s: %v allocations", c, name, n)
			}
		}
	}
}

// TestAdmitManyFaults: the list of faults is bounded, their effect is not.
func TestAdmitManyFaults(t *testing.T) {
	bl := NewBuilder(Plain(0, NoLeaderEpoch))
	for range MaxRecordErrors + 10 {
		bl.Append(nowMs, nil, nil)
	}
	bl.Append(nowMs*2, []byte("k"), nil)
	_, err := Admit(bl.Build(), with(func(r *Rules) { r.Compacted = true }))
	bad, ok := errors.AsType[*RecordsError](err)
	if !ok || len(bad.Records) != MaxRecordErrors || !bad.Timestamp {
		t.Errorf("%d records at fault, %v", len(bad.Records), err)
	}
}

// TestAdmitAllocates: nothing, for the batch that is most common.
func TestAdmitAllocates(t *testing.T) {
	in := changed(func(Batch) {})
	if n := testing.AllocsPerRun(100, func() {
		if _, err := Admit(in, defaults); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAdmitKeeps: whatever the rules about codec and time, the records come
// through as they were, and the batch is one that Admit itself takes again.
func TestAdmitKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawEntries(t)
		m := Plain(0, NoLeaderEpoch)
		m.Codec = drawCodec(t)
		if rapid.Bool().Draw(t, "idempotent") {
			m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = 77, 3, math.MaxInt32, rapid.Bool().Draw(t, "transactional")
		}
		in := buildOf(m, want)
		r := Rules{
			NowMs: nowMs, BeforeMaxMs: math.MaxInt64, AfterMaxMs: math.MaxInt64, AllowZstd: true,
			LogAppendTime: rapid.Bool().Draw(t, "append time"),
			Recompress:    rapid.Bool().Draw(t, "recompress"),
			Codec:         drawCodec(t),
			HeaderOnly:    rapid.Bool().Draw(t, "header only"),
		}
		original := bytes.Clone(in)
		b, err := Admit(in, r)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.CheckCRC(); err != nil {
			t.Fatal(err)
		}
		largest := int64(NoTimestamp)
		for i := range want {
			largest = max(largest, want[i].Timestamp)
			if r.LogAppendTime {
				want[i].Timestamp, largest = nowMs, nowMs
			}
		}
		got, err := entries(b, codec.NoLimit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := diffEntries(want, got); diff != "" {
			t.Fatalf("sent (-), stored (+):\n%s", diff)
		}
		if b.MaxTimestamp() != largest || b.Codec() != r.target(m.Codec) || b.ProducerID() != m.ProducerID ||
			b.ProducerEpoch() != m.ProducerEpoch || b.BaseSequence() != m.BaseSequence || b.Transactional() != m.Transactional {
			t.Fatalf("stored a header that says %v", fmt.Sprint(b[:HeaderLen]))
		}
		if b.Codec() == m.Codec && !r.LogAppendTime && !bytes.Equal(b, original) {
			t.Fatal("a batch that was right was changed")
		}
		b.setAttributes(b.Attributes() &^ attrLogAppendTime) // A client may not send that.
		b.Seal()
		if _, err := Admit(b, r); err != nil {
			t.Fatalf("not taken again: %v", err)
		}
	})
}

// TestAdmitOffsetDeltas: offset deltas that are not 0, 1, 2, … are made so when the
// records are rewritten or not compressed, and refused otherwise.
func TestAdmitOffsetDeltas(t *testing.T) {
	for name, deltas := range map[string][]int{"gap": {0, 2}, "all zero": {0, 0}, "backwards": {1, 0}, "negative": {-5, 1}} {
		var records [][]byte
		for i, d := range deltas {
			records = append(records, raw(byte(0), i, d, 1, string(rune('a'+i)), -1, 0))
		}
		for from := codec.None; from <= codec.Zstd; from++ {
			for to := codec.None; to <= codec.Zstd; to++ {
				r := with(func(r *Rules) { r.Recompress, r.Codec = true, to })
				b, err := Admit(crafted(t, from, int32(len(records)), records...), r)
				if from == to && from != codec.None {
					if kind(err) != "invalid" {
						t.Errorf("%s, %v: %v", name, from, err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s, %v to %v: %v", name, from, to, err)
				}
				want := []entry{{0, 1000, []byte("a"), nil, nil}, {1, 1001, []byte("b"), nil, nil}}
				got, err := entries(b, codec.NoLimit)
				if diff := diffEntries(want, got); err != nil || diff != "" || b.CheckCRC() != nil || b.Codec() != to {
					t.Errorf("%s, %v to %v: %v, %v, want (-), got (+):\n%s", name, from, to, err, b.CheckCRC(), diff)
				}
			}
		}
	}
}

func TestAdmitRecompressedTooLarge(t *testing.T) {
	in := crafted(t, codec.Gzip, 1, raw(byte(0), 0, 0, -1, 100_000, strings.Repeat("x", 100_000), 0))
	for want, maxBytes := range map[string]int{"ok": 100_000 + HeaderLen + 11, "large": 100_000 + HeaderLen + 10} {
		r := with(func(r *Rules) { r.Recompress, r.MaxBytes = true, maxBytes })
		if _, err := Admit(in, r); kind(err) != want {
			t.Errorf("%d bytes: %v, want %s", maxBytes, err, want)
		}
	}
}

// FuzzAdmit: whatever comes, what is admitted can be read, is numbered from 0 and
// is taken again. Sealing gets the bytes past length, magic and CRC.
func FuzzAdmit(f *testing.F) {
	for c := codec.None; c <= codec.Zstd; c++ {
		f.Add([]byte(sample(c, 3, 9)), uint8(0), true)
		f.Add([]byte(sample(c, 3, 9)), uint8(0xff), false)
	}
	f.Fuzz(func(t *testing.T, in []byte, how uint8, sealed bool) {
		if sealed {
			in = seal(in)
			Batch(in).SetBaseOffset(0)
		}
		r := defaults
		r.LogAppendTime, r.Compacted, r.Recompress = how&1 != 0, how&2 != 0, how&4 != 0
		r.Codec = codec.Codec(how>>3&7) % 5
		r.MaxDecompressedBytes = 1 << 20
		before := bytes.Clone(in)
		b, err := Admit(in, r)
		if err != nil {
			if k := kind(err); k == err.Error() || !bytes.Equal(in, before) {
				t.Fatalf("refused an input that it changed, or with %v", err)
			}
			return
		}
		if err := b.CheckCRC(); err != nil {
			t.Fatal(err)
		}
		got, err := entries(b, codec.NoLimit)
		if err != nil || len(got) != int(b.Count()) {
			t.Fatalf("admitted %d records, %d can be read: %v", b.Count(), len(got), err)
		}
		for i, e := range got {
			if e.Offset != int64(i) {
				t.Fatalf("record %d has offset %d", i, e.Offset)
			}
		}
		b.setAttributes(b.Attributes() &^ attrLogAppendTime)
		b.Seal()
		r.AfterMaxMs, r.BeforeMaxMs = math.MaxInt64, math.MaxInt64
		if _, err := Admit(b, r); err != nil && kind(err) != "timestamp" {
			t.Fatalf("not taken again: %v", err)
		}
	})
}
