package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/protocol/codec"
)

func TestNext(t *testing.T) {
	whole := sample(codec.None, 3, 20)
	with := func(change func(b Batch)) []byte {
		b := bytes.Clone(whole)
		change(b)
		return b
	}
	length := func(n int32) func(b Batch) {
		return func(b Batch) { binary.BigEndian.PutUint32(b[atLength:], uint32(n)) }
	}
	for name, tc := range map[string]struct {
		in      []byte
		corrupt bool
		legacy  bool
	}{
		"nothing":                       {in: nil},
		"half a length":                 {in: whole[:10]},
		"a header":                      {in: whole[:HeaderLen]},
		"all but a byte":                {in: whole[:len(whole)-1]},
		"longest length":                {in: with(length(math.MaxInt32))},
		"negative length":               {in: with(length(-1)), corrupt: true},
		"length below any message":      {in: with(length(13)), corrupt: true},
		"bad length, magic not arrived": {in: with(length(13))[:12], corrupt: true},
		"good length, no magic yet":     {in: with(length(14))[:16]},
		"length below the header":       {in: with(length(48)), corrupt: true},
		"magic 0":                       {in: with(func(b Batch) { b[atMagic] = 0 }), corrupt: true, legacy: true},
		"magic 1":                       {in: with(func(b Batch) { b[atMagic] = 1 }), corrupt: true, legacy: true},
		"magic 3":                       {in: with(func(b Batch) { b[atMagic] = 3 }), corrupt: true},
		"negative magic":                {in: with(func(b Batch) { b[atMagic] = 0xff }), corrupt: true},
	} {
		t.Run(name, func(t *testing.T) {
			b, rest, err := Next(tc.in)
			var bad *CorruptError
			switch {
			case b != nil || !bytes.Equal(rest, tc.in):
				t.Errorf("took %d bytes of a bad input, left %d of %d", len(b), len(rest), len(tc.in))
			case !tc.corrupt && !errors.Is(err, io.ErrUnexpectedEOF):
				t.Errorf("error %v, want unexpected EOF", err)
			case tc.corrupt && (!errors.As(err, &bad) || bad.Legacy != tc.legacy):
				t.Errorf("error %v, want corrupt, legacy %v", err, tc.legacy)
			}
		})
	}
	b, rest, err := Next(append(bytes.Clone(whole), "more"...))
	if err != nil || !bytes.Equal(b, whole) || string(rest) != "more" {
		t.Errorf("two inputs in one came apart as %d and %d bytes, %v", len(b), len(rest), err)
	}
	if cap(b) != len(b) {
		t.Error("an append to the batch would overwrite the next one")
	}
}

// TestHeader reads and writes the header's fields as kmsg, which was made from
// Kafka's own schema, lays them out.
func TestHeader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Meta{
			BaseOffset:    rapid.Int64().Draw(t, "offset"),
			LeaderEpoch:   rapid.Int32().Draw(t, "epoch"),
			ProducerID:    rapid.Int64().Draw(t, "producer"),
			ProducerEpoch: rapid.Int16().Draw(t, "producer epoch"),
			BaseSequence:  rapid.Int32().Draw(t, "sequence"),
			LogAppendTime: rapid.Bool().Draw(t, "append time"),
			Transactional: rapid.Bool().Draw(t, "transactional"),
			Control:       rapid.Bool().Draw(t, "control"),
			Codec:         codec.Codec(rapid.IntRange(0, 4).Draw(t, "codec")),
		}
		base := rapid.Int64().Draw(t, "timestamp")
		bl := NewBuilder(m)
		bl.Append(base, nil, []byte("value"))
		bl.AppendAt(7, math.MaxInt64, nil, nil)
		b := bl.Build()

		var k kmsg.RecordBatch
		if err := k.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
		got := kmsg.RecordBatch{
			FirstOffset:          b.BaseOffset(),
			Length:               int32(b.Size() - 12),
			PartitionLeaderEpoch: b.LeaderEpoch(),
			Magic:                b.Magic(),
			CRC:                  int32(b.CRC()),
			Attributes:           b.Attributes(),
			LastOffsetDelta:      b.LastOffsetDelta(),
			FirstTimestamp:       b.BaseTimestamp(),
			MaxTimestamp:         b.MaxTimestamp(),
			ProducerID:           b.ProducerID(),
			ProducerEpoch:        b.ProducerEpoch(),
			FirstSequence:        b.BaseSequence(),
			NumRecords:           b.Count(),
			Records:              b.Payload(),
		}
		if diff := cmp.Diff(k, got); diff != "" {
			t.Fatalf("kmsg reads (-) and we read (+):\n%s", diff)
		}
		want := Meta{
			BaseOffset: k.FirstOffset, LeaderEpoch: k.PartitionLeaderEpoch, ProducerID: k.ProducerID,
			ProducerEpoch: k.ProducerEpoch, BaseSequence: k.FirstSequence, LogAppendTime: b.LogAppendTime(),
			Transactional: b.Transactional(), Control: b.Control(), Codec: b.Codec(),
		}
		if want != m {
			t.Fatalf("built from %+v, reads as %+v", m, want)
		}
		if k.FirstTimestamp != base || k.MaxTimestamp != math.MaxInt64 || k.LastOffsetDelta != 7 || k.NumRecords != 2 {
			t.Fatalf("built %+v", k)
		}
		if err := b.CheckCRC(); err != nil {
			t.Fatal(err)
		}
		b.SetBaseOffset(m.BaseOffset + 1)
		b.SetLeaderEpoch(m.LeaderEpoch + 1)
		if b.BaseOffset() != m.BaseOffset+1 || b.LeaderEpoch() != m.LeaderEpoch+1 || b.CheckCRC() != nil {
			t.Fatalf("stamped %d, %d, CRC %v", b.BaseOffset(), b.LeaderEpoch(), b.CheckCRC())
		}
	})
}

func TestDeleteHorizon(t *testing.T) {
	b := sample(codec.None, 1, 1)
	if b.HasDeleteHorizon() {
		t.Error("a fresh batch has a delete horizon")
	}
	b.setAttributes(b.Attributes() | 64)
	if !b.HasDeleteHorizon() || b.LogAppendTime() || b.Transactional() || b.Control() || b.Codec() != codec.None {
		t.Errorf("attributes %07b read wrong", b.Attributes())
	}
}

func TestSequences(t *testing.T) {
	for name, tc := range map[string]struct{ base, delta, want int32 }{
		"plain":                {5, 3, 8},
		"up to the last":       {math.MaxInt32 - 1, 1, math.MaxInt32},
		"wraps to zero":        {math.MaxInt32, 1, 0},
		"wraps past zero":      {math.MaxInt32 - 1, 4, 2},
		"longest batch, first": {math.MaxInt32, math.MaxInt32, math.MaxInt32 - 1},
		"no sequence":          {NoSequence, 3, NoSequence},
	} {
		t.Run(name, func(t *testing.T) {
			m := Plain(0, 0)
			m.BaseSequence = tc.base
			b := Empty(m, tc.delta, 0)
			if got := b.LastSequence(); got != tc.want {
				t.Errorf("last sequence %d, want %d", got, tc.want)
			}
		})
	}
}

func TestCRC(t *testing.T) {
	b := sample(codec.None, 2, 10)
	for at := range b {
		damaged := bytes.Clone(b)
		damaged[at] ^= 0x10
		covered := at >= atCRC
		if err := Batch(damaged).CheckCRC(); (err != nil) != covered {
			t.Errorf("byte %d changed: %v", at, err)
		}
	}
	b[len(b)-1]++
	b.Seal()
	if err := b.CheckCRC(); err != nil {
		t.Error(err)
	}
}

// FuzzNext holds Next to its contract on any bytes: it takes a whole batch or
// nothing, loses nothing, and stamping what it took keeps the batch valid.
func FuzzNext(f *testing.F) {
	f.Add(make([]byte, HeaderLen), true)
	f.Add([]byte(sample(codec.None, 3, 20)), false)
	f.Add([]byte(sample(codec.Zstd, 3, 20)), true)
	f.Fuzz(func(t *testing.T, in []byte, sealed bool) {
		if sealed {
			in = seal(in)
		}
		b, rest, err := Next(in)
		if got := append(bytes.Clone(b), rest...); !bytes.Equal(got, in) {
			t.Fatalf("%d and %d bytes of %d", len(b), len(rest), len(in))
		}
		if err != nil {
			if b != nil {
				t.Fatalf("a batch and an error, %v", err)
			}
			return
		}
		if len(b) != b.Size() || len(b) < HeaderLen || b.Magic() != Magic {
			t.Fatalf("%d bytes, header says %d, magic %d", len(b), b.Size(), b.Magic())
		}
		before := b.CheckCRC()
		if sealed && before != nil {
			t.Fatal(before)
		}
		b.SetBaseOffset(1 << 40)
		b.SetLeaderEpoch(9)
		if after := b.CheckCRC(); (after == nil) != (before == nil) {
			t.Fatalf("stamping turned %v into %v", before, after)
		}
	})
}

// seal makes a fuzzer's bytes pass for one whole batch: magic, length and CRC,
// which it would not guess.
func seal(in []byte) []byte {
	b := make(Batch, max(len(in), HeaderLen))
	copy(b, in)
	b[atMagic] = Magic
	b.setLength()
	b.Seal()
	return b
}
