package compact

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/codec"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// rec is a record; an empty value is a tombstone, and the key "-" is null.
type rec struct{ key, value string }

func at(offset int64, c codec.Codec, recs ...rec) batch.Batch {
	m := batch.Plain(offset, 1)
	m.Codec = c
	return of(m, recs...)
}

func of(m batch.Meta, recs ...rec) batch.Batch {
	bl := batch.NewBuilder(m)
	for i, r := range recs {
		var key, value []byte
		if r.key != "-" {
			key = []byte(r.key)
		}
		if r.value != "" {
			value = []byte(r.value)
		}
		bl.Append(t0.UnixMilli()+int64(i), key, value, batch.Header{Key: []byte("h"), Value: []byte(r.key + r.value)})
	}
	return bl.Build()
}

func txn(offset, pid int64, seq int32, recs ...rec) batch.Batch {
	m := batch.Plain(offset, 1)
	m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = pid, 0, seq, true
	return of(m, recs...)
}

func marker(offset, pid int64, commit bool) batch.Batch {
	m := batch.Plain(offset, 1)
	m.ProducerID, m.ProducerEpoch = pid, 0
	return batch.EndTxn(m, commit, 0, t0.UnixMilli())
}

// show writes a batch as a test reads it. Every record's header and timestamp must
// still be its own.
func show(t *testing.T, b batch.Batch) string {
	if err := b.CheckCRC(); err != nil {
		t.Error(err)
	}
	s := fmt.Sprintf("[%d-%d", b.BaseOffset(), b.LastOffset())
	if b.HasDeleteHorizon() {
		s += fmt.Sprintf(" until %v", time.UnixMilli(b.BaseTimestamp()).Sub(t0))
	}
	it := b.Records(codec.NoLimit)
	defer it.Close()
	for it.Next() {
		r := it.Record()
		if b.Control() {
			s += " marker"
			continue
		}
		key := string(r.Key)
		if r.Key == nil {
			key = "-"
		}
		if got := string(r.Headers[0].Value); got != key+string(r.Value) {
			t.Errorf("record %s=%s has the header of %q", key, r.Value, got)
		}
		if ts := it.Timestamp() - t0.UnixMilli(); ts != int64(r.OffsetDelta) {
			t.Errorf("record %s=%s has timestamp %d, offset delta %d", key, r.Value, ts, r.OffsetDelta)
		}
		s += fmt.Sprintf(" %d:%s=%s", it.Offset(), key, r.Value)
	}
	if err := it.Err(); err != nil {
		t.Error(err)
	}
	return s + "]"
}

// round runs one round over the whole of a log. hw is the high watermark.
func round(t *testing.T, log []batch.Batch, now time.Time, hw int64, aborted []producer.Aborted, producers ...producer.Entry) (kept []batch.Batch, index []producer.Aborted) {
	t.Helper()
	keys := NewMap(0, 1<<20, 0.9, [16]byte{1}, heap)
	var txns Txns
	txns.Expect(aborted)
	for _, b := range log {
		if b.Control() {
			if _, _, err := txns.Control(b); err != nil {
				t.Fatal(err)
			}
		} else if !txns.Data(b) {
			if ok, err := keys.Add(b); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		keys.Skip(b.NextOffset())
	}
	f := NewFilter(keys, now, time.Hour, producers, hw)
	f.Expect(aborted)
	for _, b := range log {
		r, err := f.Next(b)
		if err != nil {
			t.Fatal(err)
		}
		if r.Batch != nil {
			kept = append(kept, r.Batch)
		}
		if r.Aborted != nil {
			index = append(index, *r.Aborted)
		}
	}
	return kept, index
}

func TestFilter(t *testing.T) {
	a, b, del := rec{"a", "1"}, rec{"b", "2"}, rec{"a", ""}
	abort := []producer.Aborted{{ProducerID: 5, First: 0, Last: 2, LastStable: 3}}
	for name, tc := range map[string]struct {
		log       []batch.Batch
		later     time.Duration // When a second round is run, if it is.
		hw        int64
		aborted   []producer.Aborted
		producers []producer.Entry
		want      []string
		index     []producer.Aborted
	}{
		"the latest of a key stays": {
			log:  []batch.Batch{at(0, 0, a, b), at(2, 0, rec{"a", "3"}), at(3, 0, rec{"c", "4"})},
			want: []string{"[0-1 1:b=2]", "[2-2 2:a=3]", "[3-3 3:c=4]"},
		},
		"a batch keeps its span, whichever record goes": {
			log:  []batch.Batch{at(0, 0, b, a, rec{"x", "y"}, rec{"a", "2"}, rec{"b", "3"}), at(5, 0, rec{"b", "4"})},
			want: []string{"[0-4 2:x=y 3:a=2]", "[5-5 5:b=4]"},
		},
		"records without a key go": {
			log:  []batch.Batch{at(0, 0, rec{"-", "x"}, a), at(2, 0, rec{"-", "y"}), at(3, 0, b)},
			want: []string{"[0-1 1:a=1]", "[3-3 3:b=2]"},
		},
		"a batch without records goes, the last one too": {
			log:  []batch.Batch{at(0, 0, a), at(1, 0, rec{"-", "y"})},
			want: []string{"[0-0 0:a=1]"},
		},
		"the batch at the high watermark stays without records": {
			log: []batch.Batch{at(0, 0, rec{"-", "y"}), at(1, 0, a), at(2, 0, rec{"-", "y"})}, hw: 3, later: time.Hour,
			want: []string{"[1-1 1:a=1]", "[2-2]"},
		},
		"and goes when there are more": {
			log:  []batch.Batch{at(0, 0, a), batch.Empty(batch.Plain(1, 1), 0, 0), at(2, 0, b)},
			hw:   3,
			want: []string{"[0-0 0:a=1]", "[2-2 2:b=2]"},
		},
		"a tombstone gets its horizon": {
			log:  []batch.Batch{at(0, 0, a), at(1, 0, del, b)},
			want: []string{"[1-2 until 1h0m0s 1:a= 2:b=2]"},
		},
		"a tombstone is there until its horizon": {
			log: []batch.Batch{at(0, 0, a), at(1, 0, del, b)}, later: time.Hour - time.Millisecond,
			want: []string{"[1-2 until 1h0m0s 1:a= 2:b=2]"},
		},
		"and gone from then on, while the batch keeps it": {
			log: []batch.Batch{at(0, 0, a), at(1, 0, del, b)}, later: time.Hour,
			want: []string{"[1-2 until 1h0m0s 2:b=2]"},
		},
		"aborted data goes, its marker stays": {
			log:     []batch.Batch{txn(0, 5, 0, a), at(1, 0, b), marker(2, 5, false), at(3, 0, a)},
			aborted: abort, want: []string{"[1-1 1:b=2]", "[2-2 marker]", "[3-3 3:a=1]"}, index: abort,
		},
		"aborted data does not supersede": {
			log:     []batch.Batch{at(0, 0, a), txn(1, 5, 0, rec{"a", "x"}), marker(2, 5, false), at(3, 0, b)},
			aborted: []producer.Aborted{{ProducerID: 5, First: 1, Last: 2, LastStable: 3}},
			want:    []string{"[0-0 0:a=1]", "[2-2 marker]", "[3-3 3:b=2]"},
			index:   []producer.Aborted{{ProducerID: 5, First: 1, Last: 2, LastStable: 3}},
		},
		"a marker of nothing gets a horizon in the second round": {
			log: []batch.Batch{txn(0, 5, 0, a), marker(2, 5, false), at(3, 0, a)}, later: time.Minute,
			aborted: abort, want: []string{"[2-2 until 1h1m0s marker]", "[3-3 3:a=1]"},
		},
		"a commit marker stays with its data": {
			log: []batch.Batch{txn(0, 5, 0, a), marker(1, 5, true), at(2, 0, b)}, later: 24 * time.Hour,
			want: []string{"[0-0 0:a=1]", "[1-1 marker]", "[2-2 2:b=2]"},
		},
		"a commit marker whose data went gets a horizon": {
			log: []batch.Batch{txn(0, 5, 0, a), marker(1, 5, true), at(2, 0, a)}, later: time.Minute,
			want: []string{"[1-1 until 1h1m0s marker]", "[2-2 2:a=1]"},
		},
		"the last batch of a producer stays without records": {
			log:       []batch.Batch{txn(0, 5, 0, a, b), marker(2, 5, true), at(3, 0, a, b)},
			producers: []producer.Entry{{ProducerID: 5, LastOffset: 1}},
			want:      []string{"[0-1]", "[2-2 marker]", "[3-4 3:a=1 4:b=2]"},
		},
		"the last marker of a producer without data stays": {
			log: []batch.Batch{txn(0, 5, 0, a), marker(1, 5, true), at(2, 0, a)}, later: 48 * time.Hour,
			producers: []producer.Entry{{ProducerID: 5, LastOffset: -1, Epoch: 0}},
			want:      []string{"[1-1 until 49h0m0s marker]", "[2-2 2:a=1]"},
		},
		"a key that looks like a marker's is only a key": {
			log: []batch.Batch{
				txn(0, 5, 0, a), marker(1, 5, false),
				at(2, 0, rec{string(batch.ControlKey(batch.ControlAbort)), "x"}, rec{string(batch.ControlKey(batch.ControlCommit)), "y"}),
			},
			aborted: []producer.Aborted{{ProducerID: 5, First: 0, Last: 1, LastStable: 2}},
			want:    []string{"[1-1 marker]", "[2-3 2:\x00\x00\x00\x00=x 3:\x00\x00\x00\x01=y]"},
			index:   []producer.Aborted{{ProducerID: 5, First: 0, Last: 1, LastStable: 2}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kept, index := round(t, tc.log, t0, tc.hw, tc.aborted, tc.producers...)
			if tc.later > 0 {
				kept, index = round(t, kept, t0.Add(tc.later), tc.hw, index, tc.producers...)
			}
			var got []string
			for _, b := range kept {
				got = append(got, show(t, b))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.index, index); diff != "" {
				t.Errorf("transaction index: %s", diff)
			}
		})
	}
}

// TestFilterKeepsHeader holds a batch that loses records to what must not change.
func TestFilterKeepsHeader(t *testing.T) {
	for c := codec.None; c <= codec.Zstd; c++ {
		for _, appendTime := range []bool{false, true} {
			m := batch.Meta{
				BaseOffset: 7, LeaderEpoch: 3, Codec: c, LogAppendTime: appendTime,
				ProducerID: 9, ProducerEpoch: 2, BaseSequence: 40, Transactional: true,
			}
			in := of(m, rec{"a", "1"}, rec{"b", "2"}, rec{"a", ""})
			kept, _ := round(t, []batch.Batch{in}, t0, 0, nil)
			if len(kept) != 1 {
				t.Fatalf("%d batches", len(kept))
			}
			b := kept[0]
			if b.Codec() != c || b.LogAppendTime() != appendTime || b.LeaderEpoch() != 3 || b.ProducerID() != 9 || b.ProducerEpoch() != 2 ||
				b.BaseSequence() != 40 || b.LastSequence() != 42 || !b.Transactional() || b.Control() || b.BaseOffset() != 7 || b.LastOffset() != 9 {
				t.Errorf("%v: header %x became %x", c, in[:batch.HeaderLen], b[:batch.HeaderLen])
			}
			if b.Count() != 2 || b.MaxTimestamp() != in.MaxTimestamp() || !b.HasDeleteHorizon() {
				t.Errorf("%v: %d records, newest %d of %d", c, b.Count(), b.MaxTimestamp(), in.MaxTimestamp())
			}
		}
	}
}

// heap is memory that nobody has to give back.
func heap(bytes int) ([]byte, func()) { return make([]byte, bytes), func() {} }

// TestMapMemory: while a map grows it holds half as much again as it may take, and
// when it is closed nothing.
func TestMapMemory(t *testing.T) {
	for _, slots := range []int{2000, 3000, 4096, 5000, 50_001} {
		held, most := 0, 0
		m := NewMap(0, int64(slots*slotBytes), 0.9, [16]byte{1}, func(bytes int) ([]byte, func()) {
			held += bytes
			most = max(most, held)
			return make([]byte, bytes), func() { held -= bytes }
		})
		for i := int64(0); !m.Full(); i++ {
			if _, err := m.Add(at(i, 0, rec{fmt.Sprint(i), "x"})); err != nil {
				t.Fatal(err)
			}
		}
		if m.Len() != slots*9/10 {
			t.Errorf("%d of %d slots are used", m.Len(), slots)
		}
		if limit := slots*slotBytes*3/2 + slotBytes; most > limit {
			t.Errorf("a map of %d slots held %d bytes, more than %d", slots, most, limit)
		}
		if held != slots*slotBytes {
			t.Errorf("a map of %d slots holds %d bytes", slots, held)
		}
		if m.Close(); held != 0 {
			t.Errorf("%d bytes are held after the end", held)
		}
	}
}

func TestMap(t *testing.T) {
	m := NewMap(0, 3000*slotBytes, 0.9, [16]byte{1}, heap)
	next := int64(0)
	key := func(i int64) string { return fmt.Sprint(i % 2000) }
	for ; next < 5000; next += 10 {
		var recs []rec
		for i := range int64(10) {
			recs = append(recs, rec{key(next + i), "x"})
		}
		if ok, err := m.Add(at(next, 0, recs...)); !ok || err != nil {
			t.Fatal(next, ok, err)
		}
	}
	if m.Len() != 2000 || m.End() != 5000 || m.Full() {
		t.Errorf("%d keys below %d, full %v", m.Len(), m.End(), m.Full())
	}
	for i := range int64(2000) {
		want := 4000 + i
		if i >= 1000 {
			want -= 2000
		}
		if got := m.Last([]byte(fmt.Sprint(i))); got != want {
			t.Fatalf("key %d at %d, want %d", i, got, want)
		}
	}
	if got := m.Last([]byte("none")); got != -1 {
		t.Errorf("a key that is not there is at %d", got)
	}
}

// TestMapFull fills a map in the middle of a batch: the round ends before that batch,
// except when it is the first.
func TestMapFull(t *testing.T) {
	m := NewMap(100, 10*slotBytes, 0.5, [16]byte{1}, heap)
	many := func(from, n int) (recs []rec) {
		for i := range n {
			recs = append(recs, rec{fmt.Sprint(from + i), "x"})
		}
		return recs
	}
	if ok, err := m.Add(at(95, 0, many(0, 8)...)); !ok || err != nil || m.Len() != 3 {
		t.Fatal(ok, err, m.Len()) // Those below 100 do not count.
	}
	if ok, err := m.Add(at(103, 0, many(5, 6)...)); ok || err != nil || m.End() != 103 || !m.Full() || m.Len() != 5 {
		t.Fatalf("%v, %v: %d keys below %d", ok, err, m.Len(), m.End())
	}
	m = NewMap(0, 1, 0.9, [16]byte{1}, heap)
	if ok, err := m.Add(at(0, codec.Zstd, many(0, 5000)...)); !ok || err != nil || m.End() != 5000 || m.Len() != 5000 {
		t.Fatalf("%v, %v: %d keys below %d", ok, err, m.Len(), m.End())
	}
	if ok, _ := m.Add(at(5000, 0, many(6000, 5000)...)); ok || m.End() != 5000 {
		t.Errorf("there is always room: end %d", m.End())
	}
}

func TestMake(t *testing.T) {
	ago := func(h int) int64 { return t0.Add(-time.Duration(h) * time.Hour).UnixMilli() }
	segs := []Segment{
		{Base: 0, End: 10, SizeBytes: 100, NewestMs: ago(9), FirstMs: ago(9)},
		{Base: 10, End: 20, SizeBytes: 200, NewestMs: ago(5), FirstMs: ago(6)},
		{Base: 20, End: 30, SizeBytes: 300, NewestMs: ago(1), FirstMs: ago(2)},
	}
	for name, tc := range map[string]struct {
		rules                           Rules
		checkpoint, start, end, decided int64
		want                            Plan
		due                             bool
	}{
		"nothing compacted before":     {Rules{MinRatio: 0.99}, 0, 0, 35, 35, Plan{0, 30, 600, 600, false}, true},
		"half of it":                   {Rules{MinRatio: 0.5}, 20, 0, 35, 35, Plan{20, 30, 300, 600, false}, false},
		"a little more than half":      {Rules{MinRatio: 0.49}, 20, 0, 35, 35, Plan{20, 30, 300, 600, false}, true},
		"inside a segment":             {Rules{}, 25, 0, 35, 35, Plan{25, 30, 300, 600, false}, true},
		"all of it":                    {Rules{}, 30, 0, 35, 35, Plan{30, 30, 0, 600, false}, false},
		"an open transaction":          {Rules{}, 0, 0, 35, 29, Plan{0, 20, 300, 300, false}, true},
		"open from the first on":       {Rules{}, 0, 0, 35, 5, Plan{0, 0, 0, 0, false}, false},
		"young records wait":           {Rules{MinLag: 3 * time.Hour}, 0, 0, 35, 35, Plan{0, 20, 300, 300, false}, true},
		"exactly as old as they must":  {Rules{MinLag: time.Hour}, 0, 0, 35, 35, Plan{0, 30, 600, 600, false}, true},
		"young ones that were done":    {Rules{MinLag: 3 * time.Hour}, 30, 0, 35, 35, Plan{30, 30, 0, 600, false}, false},
		"overdue":                      {Rules{MinRatio: 1, MaxLag: time.Hour}, 20, 0, 35, 35, Plan{20, 30, 300, 600, true}, true},
		"exactly as old as they may":   {Rules{MinRatio: 1, MaxLag: 2 * time.Hour}, 20, 0, 35, 35, Plan{20, 30, 300, 600, false}, false},
		"the checkpoint is below":      {Rules{}, 5, 12, 35, 35, Plan{12, 30, 500, 600, false}, true},
		"the checkpoint is above":      {Rules{}, 50, 12, 35, 35, Plan{12, 30, 500, 600, false}, true},
		"the start is in the open one": {Rules{}, 5, 33, 35, 35, Plan{33, 33, 0, 600, false}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := Make(segs, tc.rules, t0, tc.checkpoint, tc.start, tc.end, tc.decided)
			if got != tc.want || got.Due(tc.rules) != tc.due {
				t.Errorf("%+v, due %v; want %+v", got, got.Due(tc.rules), tc.want)
			}
		})
	}
}

func TestGroups(t *testing.T) {
	seg := func(base, end, size int64) Segment {
		return Segment{Base: base, End: end, SizeBytes: size, IndexBytes: 8, TimesBytes: 12}
	}
	l := Limits{SizeBytes: 100, IndexBytes: 36}
	for name, tc := range map[string]struct {
		segs []Segment
		want []int
	}{
		"none":                {nil, nil},
		"as many as fit":      {[]Segment{seg(0, 1, 50), seg(1, 2, 50), seg(2, 3, 1)}, []int{2, 3}},
		"one is too large":    {[]Segment{seg(0, 1, 500), seg(1, 2, 50), seg(2, 3, 50)}, []int{1, 3}},
		"the index is full":   {[]Segment{seg(0, 1, 1), seg(1, 2, 1), seg(2, 3, 1), seg(3, 4, 1)}, []int{3, 4}},
		"offsets just fit":    {[]Segment{seg(5, 6, 1), seg(6, 1<<31+5, 1)}, []int{2}},
		"offsets are too far": {[]Segment{seg(5, 6, 1), seg(6, 1<<31+6, 1)}, []int{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Groups(tc.segs, l)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
