package producer

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// golden is a snapshot as Kafka's layout gives it, field by field; the CRC is that
// of the bytes behind it.
const golden = `
0001                                        version
fab62c4c                                    CRC-32C
00000002                                    entries
00000000000003e8 0002 0000000b              producer 1000, epoch 2, last sequence 11
0000000000000064 00000004 0000018bcfe56800  last offset 100, delta 4, timestamp
00000005 0000000000000060                   coordinator epoch 5, open since 96
00000000000003e9 0000 ffffffff              producer 1001, of which only a marker is known
ffffffffffffffff 00000000 0000018bcfe56801
00000000 ffffffffffffffff
`

var goldenEntries = []Entry{
	{ProducerID: 1000, Epoch: 2, LastSequence: 11, LastOffset: 100, OffsetDelta: 4, TimestampMs: 1700000000000, CoordinatorEpoch: 5, TxnFirst: 96},
	{ProducerID: 1001, LastSequence: -1, LastOffset: -1, TimestampMs: 1700000000001, TxnFirst: -1},
}

// unhex reads the hex digits of each line up to two spaces.
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "  ")
		digits.WriteString(strings.ReplaceAll(strings.TrimSpace(line), " ", ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSnapshotGolden(t *testing.T) {
	want := unhex(t, golden)
	if diff := cmp.Diff(hex.Dump(want), hex.Dump(Encode(goldenEntries))); diff != "" {
		t.Errorf("Encode (-want +got):\n%s", diff)
	}
	got, err := Decode(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(goldenEntries, got); diff != "" {
		t.Errorf("Decode (-want +got):\n%s", diff)
	}
}

func TestSnapshotOfState(t *testing.T) {
	s := New(expiry)
	applyAll(t, s,
		head{offset: 96, pid: 1000, epoch: 2, seq: 7, count: 5, ts: 1, txn: true},
		head{offset: 101, pid: 9, seq: 3, ts: 5},
		head{offset: 102, pid: 9, seq: 4, ts: 6},
		head{offset: 103, pid: 8, ts: 7, control: true})
	entries, err := Decode(s.Encode())
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{ProducerID: 8, LastSequence: -1, LastOffset: -1, TimestampMs: 7, CoordinatorEpoch: 3, TxnFirst: -1},
		{ProducerID: 9, LastSequence: 4, LastOffset: 102, TimestampMs: 6, CoordinatorEpoch: -1, TxnFirst: -1},
		{ProducerID: 1000, Epoch: 2, LastSequence: 11, LastOffset: 100, OffsetDelta: 4, TimestampMs: 1, CoordinatorEpoch: -1, TxnFirst: 96},
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}

	loaded := New(time.Hour)
	loaded.Load(entries, 104, 0)
	if err := loaded.check(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, loaded.Entries()); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
	if first, ok := loaded.FirstUnstable(); first != 96 || !ok || loaded.MapEnd() != 104 {
		t.Errorf("first unstable offset %d, %v; map end %d", first, ok, loaded.MapEnd())
	}
	// The window is one batch now: the newest is a duplicate, the one before is not.
	if v, err := loaded.Check(head{pid: 9, seq: 4}.batch(), Client, Trusted); !v.Duplicate || v.Base != 102 || v.TimestampMs != 6 || err != nil {
		t.Errorf("the last batch again: %+v, %v", v, err)
	}
	if v, err := loaded.Check(head{pid: 9, seq: 3}.batch(), Client, Trusted); err == nil {
		t.Errorf("the batch before it again: %+v", v)
	}

	loaded.Load(entries, 104, time.Hour.Milliseconds()+6)
	if got := loaded.Entries(); len(got) != 2 || got[0].ProducerID != 8 || got[1].ProducerID != 1000 {
		t.Errorf("expired producers came back: %+v", got)
	}
}

func TestSnapshotDamage(t *testing.T) {
	change := func(f func(b []byte) []byte) []byte { return f(unhex(t, golden)) }
	sealed := func(b []byte) []byte {
		binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[6:], crc32.MakeTable(crc32.Castagnoli)))
		return b
	}
	for want, b := range map[string][]byte{
		"0 bytes are too short":                {},
		"version is 2, only 1 is supported":    change(func(b []byte) []byte { b[1] = 2; return b }),
		"CRC is":                               change(func(b []byte) []byte { b[50]++; return b }),
		"3 entries in 92 bytes":                change(func(b []byte) []byte { b[9] = 3; return sealed(b) }),
		"-1 entries in 92 bytes":               change(func(b []byte) []byte { copy(b[6:], "\xff\xff\xff\xff"); return sealed(b) }),
		"2 entries in 93 bytes":                change(func(b []byte) []byte { return sealed(append(b, 0)) }),
		"producer 1000 is twice in it":         change(func(b []byte) []byte { copy(b[56:64], b[10:18]); return sealed(b) }),
		"producer -1 is twice in it, or no pr": change(func(b []byte) []byte { copy(b[56:], "\xff\xff\xff\xff\xff\xff\xff\xff"); return sealed(b) }),
	} {
		_, err := Decode(b)
		if _, ok := errors.AsType[*SnapshotError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAbortedGolden(t *testing.T) {
	const golden = `
0000 00000000000003e8                                    version, producer 1000
0000000000000005 000000000000000b 0000000000000008       from 5 to the marker 11; stable up to 8
0000 00000000000003e9
0000000000000008 000000000000000c 000000000000000d
`
	want := []Aborted{{1000, 5, 11, 8}, {1001, 8, 12, 13}}
	var b []byte
	for _, a := range want {
		b = AppendAborted(b, a)
	}
	if diff := cmp.Diff(hex.Dump(unhex(t, golden)), hex.Dump(b)); diff != "" {
		t.Errorf("AppendAborted (-want +got):\n%s", diff)
	}
	got, err := DecodeAborted(b, 10) // A transaction may begin before the segment.
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("DecodeAborted (-want +got):\n%s", diff)
	}
	txn := Txn{ProducerID: 1000, First: 5, Last: 11, Aborted: true, LastStable: 8}
	if got := txn.Index(); got != want[0] {
		t.Errorf("index entry %+v", got)
	}
}

func TestAbortedDamage(t *testing.T) {
	encode := func(entries ...Aborted) (b []byte) {
		for _, a := range entries {
			b = AppendAborted(b, a)
		}
		return b
	}
	version := encode(Aborted{1, 10, 11, 12})
	version[1] = 1
	for want, b := range map[string][]byte{
		"entry 0: 33 bytes left over":      make([]byte, 33),
		"entry 0: version is 1":            version,
		"from 5 to 9 after marker 9":       encode(Aborted{1, 5, 9, 10}),
		"entry 1: transaction from 5 to 1": encode(Aborted{1, 5, 11, 12}, Aborted{2, 5, 11, 12}),
		"from 12 to 11":                    encode(Aborted{1, 12, 11, 12}),
	} {
		_, err := DecodeAborted(b, 10)
		if _, ok := errors.AsType[*IndexError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// FuzzDecode holds Decode to its contract on any bytes: a SnapshotError, or entries
// that a state takes in and that encode to the same bytes. Sealing some inputs
// gets the fuzzer past the checksum.
func FuzzDecode(f *testing.F) {
	f.Add(unhex(f, golden), false)
	f.Add(Encode(nil), true)
	f.Fuzz(func(t *testing.T, in []byte, seal bool) {
		if seal && len(in) >= 6 {
			binary.BigEndian.PutUint32(in[2:], crc32.Checksum(in[6:], castagnoli))
		}
		entries, err := Decode(in)
		if err != nil {
			if _, ok := errors.AsType[*SnapshotError](err); !ok {
				t.Fatalf("unnamed error %v", err)
			}
			return
		}
		if diff := cmp.Diff(in, Encode(entries)); diff != "" {
			t.Fatalf("encoded again (-want +got):\n%s", diff)
		}
		s := New(expiry)
		s.Load(entries, 1<<62, 0)
		again, err := Decode(s.Encode())
		if err != nil || len(again) > len(entries) {
			t.Fatalf("a loaded state does not save: %v", err)
		}
		for _, e := range entries {
			_, _ = s.Check(head{pid: e.ProducerID, epoch: e.Epoch, seq: e.LastSequence}.batch(), Client, Trusted)
			s.Apply(head{offset: 1 << 61, pid: e.ProducerID, control: true}.batch(), &Marker{})
		}
		if _, ok := s.FirstUnstable(); ok {
			s.OnHighWatermark(1 << 62)
		}
		if first, ok := s.FirstUnstable(); ok {
			t.Fatalf("unstable from %d with every transaction decided", first)
		}
	})
}

// FuzzDecodeAborted holds DecodeAborted to its contract on any bytes.
func FuzzDecodeAborted(f *testing.F) {
	f.Add(AppendAborted(AppendAborted(nil, Aborted{1, 5, 11, 8}), Aborted{2, 8, 12, 13}), int64(10))
	f.Fuzz(func(t *testing.T, in []byte, base int64) {
		entries, err := DecodeAborted(in, base)
		if err != nil {
			if _, ok := errors.AsType[*IndexError](err); !ok {
				t.Fatalf("unnamed error %v", err)
			}
			return
		}
		var out []byte
		for _, a := range entries {
			if a.Last < base {
				t.Fatalf("marker %d below the segment's base %d", a.Last, base)
			}
			out = AppendAborted(out, a)
		}
		if diff := cmp.Diff(hex.Dump(in), hex.Dump(out)); diff != "" {
			t.Fatalf("encoded again (-want +got):\n%s", diff)
		}
	})
}
