package batch

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/codec"
)

func TestBuilder(t *testing.T) {
	if b := NewBuilder(Plain(0, 0)).Build(); b != nil {
		t.Errorf("a batch of nothing is %d bytes", len(b))
	}
	bl := NewBuilder(Plain(5, 2))
	if bl.Len() != HeaderLen || bl.Count() != 0 {
		t.Errorf("empty: %d bytes, %d records", bl.Len(), bl.Count())
	}
	bl.Append(7, []byte("k"), nil)
	bl.AppendAt(9, 3, nil, []byte{})
	size := bl.Len()
	if bl.Count() != 2 {
		t.Errorf("%d records of 2", bl.Count())
	}
	b := bl.Build()
	if len(b) != size || b.NextOffset() != 15 || b.Count() != 2 || b.BaseTimestamp() != 7 || b.MaxTimestamp() != 7 {
		t.Errorf("%d bytes of %d, %d records up to %d, times %d to %d", len(b), size, b.Count(), b.NextOffset(), b.BaseTimestamp(), b.MaxTimestamp())
	}
	want := []entry{{5, 7, []byte("k"), nil, nil}, {14, 3, nil, []byte{}, nil}}
	got, err := entries(b, codec.NoLimit)
	if diff := diffEntries(want, got); err != nil || diff != "" {
		t.Errorf("%v, appended (-), read (+):\n%s", err, diff)
	}
}

func TestBuilderOrder(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an offset came twice")
		}
	}()
	bl := NewBuilder(Plain(0, 0))
	bl.AppendAt(3, 0, nil, nil)
	bl.AppendAt(3, 0, nil, nil)
}

// TestBuildGolden fixes the bytes of a batch, worked out by hand from the format.
func TestBuildGolden(t *testing.T) {
	m := Meta{BaseOffset: 1, LeaderEpoch: 2, ProducerID: 3, ProducerEpoch: 4, BaseSequence: 5, Transactional: true}
	bl := NewBuilder(m)
	bl.Append(1000, []byte("k"), []byte("v"), Header{Key: []byte("h")})
	bl.Append(1001, nil, nil)
	b := bl.Build()
	const want = "0000000000000001" + "00000044" + "00000002" + "02" + // Up to the CRC.
		"0010" + "00000001" + "00000000000003e8" + "00000000000003e9" +
		"0000000000000003" + "0004" + "00000005" + "00000002" +
		"16" + "00" + "00" + "00" + "026b" + "0276" + "02" + "0268" + "01" + // Record 0, 11 bytes.
		"0c" + "00" + "02" + "02" + "01" + "01" + "00"
	got := hex.EncodeToString(b[:atCRC]) + hex.EncodeToString(b[atAttributes:])
	if got != want {
		t.Errorf("built\n%s, want\n%s", got, want)
	}
}

func TestEmpty(t *testing.T) {
	m := Plain(40, 1)
	m.Codec, m.ProducerID, m.BaseSequence = codec.Zstd, 9, 2
	b, rest, err := Next(Empty(m, 4, 77))
	if err != nil || len(rest) != 0 || b.CheckCRC() != nil {
		t.Fatalf("%v, CRC %v", err, b.CheckCRC())
	}
	if b.NextOffset() != 45 || b.LastSequence() != 6 || b.Count() != 0 || b.MaxTimestamp() != 77 || b.BaseTimestamp() != NoTimestamp || b.Codec() != codec.None {
		t.Errorf("%x", []byte(b))
	}
	if got, err := entries(b, codec.NoLimit); err != nil || len(got) != 0 {
		t.Errorf("%d records of none, %v", len(got), err)
	}
}

func TestEndTxn(t *testing.T) {
	for _, commit := range []bool{true, false} {
		m := Meta{BaseOffset: 3, LeaderEpoch: 4, ProducerID: 5, ProducerEpoch: 6, BaseSequence: 7, Codec: codec.Gzip}
		b := EndTxn(m, commit, 88, 99)
		if !b.Control() || !b.Transactional() || b.BaseSequence() != NoSequence || b.Codec() != codec.None ||
			b.ProducerID() != 5 || b.ProducerEpoch() != 6 || b.BaseOffset() != 3 || b.LeaderEpoch() != 4 {
			t.Errorf("header %x", []byte(b[:HeaderLen]))
		}
		got, err := entries(b, 0)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		var key kmsg.ControlRecordKey
		var marker kmsg.EndTxnMarker
		if err := key.ReadFrom(got[0].Key); err != nil {
			t.Fatal(err)
		}
		if err := marker.ReadFrom(got[0].Value); err != nil {
			t.Fatal(err)
		}
		want := kmsg.ControlRecordKeyTypeAbort
		if commit {
			want = kmsg.ControlRecordKeyTypeCommit
		}
		if key.Version != 0 || key.Type != want || marker.Version != 0 || marker.CoordinatorEpoch != 88 || got[0].Timestamp != 99 {
			t.Errorf("%+v, %+v at %d", key, marker, got[0].Timestamp)
		}
		typ, ok := ControlType(got[0].Key)
		if epoch, ok2 := ParseEndTxn(got[0].Value); !ok || !ok2 || epoch != 88 || (typ == ControlCommit) != commit {
			t.Errorf("read as type %d, epoch %d, %v %v", typ, epoch, ok, ok2)
		}
	}
}

func TestControl(t *testing.T) {
	recs := []ControlRecord{{ControlLeaderChange, []byte("a")}, {ControlKRaftVersion, []byte("b")}, {ControlKRaftVoters, []byte("c")}}
	b := Control(Plain(8, 9), 1, recs...)
	it := b.Records(0)
	for _, want := range recs {
		if !it.Next() {
			t.Fatal(it.Err())
		}
		if typ, ok := ControlType(it.Record().Key); !ok || typ != want.Type || !bytes.Equal(it.Record().Value, want.Value) {
			t.Errorf("type %d, value %q, want %+v", typ, it.Record().Value, want)
		}
	}
	if it.Next() || b.Transactional() || !b.Control() || Control(Plain(0, 0), 0) != nil {
		t.Error("one record too many, transactional, no control or not nothing")
	}
	for name, tc := range map[string]struct {
		key  []byte
		want int16
		ok   bool
	}{
		"short":            {[]byte{0, 0, 1}, 0, false},
		"negative version": {[]byte{0xff, 0xff, 0, 1}, 0, false},
		"newer version":    {[]byte{0, 9, 0, 1, 5}, 1, true},
		"unknown type":     {[]byte{0, 0, 0, 99}, 99, true},
	} {
		if typ, ok := ControlType(tc.key); typ != tc.want || ok != tc.ok {
			t.Errorf("%s: %d, %v", name, typ, ok)
		}
	}
	if _, ok := ParseEndTxn([]byte{0, 0, 0, 0, 1}); ok {
		t.Error("a marker of five bytes")
	}
	if _, ok := ParseEndTxn([]byte{0x80, 0, 0, 0, 0, 1}); ok {
		t.Error("a marker of a negative version")
	}
}
