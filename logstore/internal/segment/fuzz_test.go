package segment

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

var epoch = time.Unix(1700000000, 0)

// data makes the bytes of a segment: n batches of two records each, from offset base.
func data(base int64, n int) []byte {
	var all []byte
	for i := range n {
		b := batch.NewBuilder(batch.Meta{BaseOffset: base, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1})
		for j := range int64(2) {
			b.Append(epoch.UnixMilli()+int64(i)*10+j, nil, []byte("value"))
		}
		made := b.Build()
		base = made.NextOffset()
		all = append(all, made...)
	}
	return all
}

// place makes a segment from the bytes of its files; nil is no file.
func place(t testing.TB, base, interval int64, log, index, timeIndex, txnIndex []byte) *Segment {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	have := Files{-1, -1, -1, -1}
	for kind, file := range map[string]struct {
		bytes []byte
		size  *int64
	}{
		LogSuffix: {log, &have.Log}, IndexSuffix: {index, &have.Index},
		TimeIndexSuffix: {timeIndex, &have.TimeIndex}, TxnIndexSuffix: {txnIndex, &have.TxnIndex},
	} {
		if file.bytes == nil {
			continue
		}
		if err := vfs.WriteFileAtomic(fs, "/d/"+FileName(base, kind), file.bytes); err != nil {
			t.Fatal(err)
		}
		*file.size = int64(len(file.bytes))
	}
	return Open(NewPool(fs, 10, 10), NewDir("/d"), base, interval, have, epoch)
}

// FuzzRecoverSegment: whatever bytes a crash leaves, the scan ends in a segment of
// valid batches, a prefix of what was there, whose indexes lead to every one of them;
// or in the error that names an old message format. Batches are sealed here, for a
// fuzzer does not guess a checksum.
func FuzzRecoverSegment(f *testing.F) {
	good := data(100, 5)
	f.Add(good, false)
	f.Add(good[:len(good)-9], false)
	f.Add(append(bytes.Clone(good), make([]byte, 100)...), false)
	f.Add(append(data(100, 2), data(102, 2)...), true)
	f.Fuzz(func(t *testing.T, in []byte, seal bool) {
		if seal {
			in = sealAll(bytes.Clone(in))
		}
		s := place(t, 100, 50, in, nil, nil, nil)
		var seen [][2]int64
		cut, reason, err := s.Recover(true, func(b batch.Batch) error {
			seen = append(seen, [2]int64{b.BaseOffset(), b.LastOffset()})
			return nil
		})
		if _, old := errors.AsType[*OldMagicError](err); old {
			return
		}
		if err != nil || cut < 0 || (cut > 0) != (reason != nil) || s.Size()+cut != int64(len(in)) {
			t.Fatalf("cut %d of %d bytes, left %d: %v, %v", cut, len(in), s.Size(), reason, err)
		}
		if err := s.Sane(true); err != nil {
			t.Fatal(err)
		}
		for _, b := range seen {
			for _, offset := range b {
				p, ok, err := s.Locate(offset, s.Size())
				if err != nil || !ok || p.Base != b[0] || p.Next != b[1]+1 {
					t.Fatalf("offset %d of batch %v is at %+v, %v, %v", offset, b, p, ok, err)
				}
			}
		}
		again, reason, err := s.Recover(true, func(batch.Batch) error { return nil })
		if again != 0 || err != nil {
			t.Fatalf("a second scan cut %d bytes: %v, %v", again, reason, err)
		}
	})
}

// sealAll gives every batch-like piece of in a right checksum.
func sealAll(in []byte) []byte {
	for rest := in; ; {
		b, after, err := batch.Next(rest)
		if err != nil {
			return in
		}
		b.Seal()
		rest = after
	}
}

// FuzzIndex: whatever is in the index files of a good data file, they are found out to
// be unusable, or a look-up finds the right batch or says what is wrong.
func FuzzIndex(f *testing.F) {
	log := data(100, 20)
	size := len(log) / 20
	e := func(rel, pos int32) []byte { return appendOffsetEntry(nil, offsetEntry{rel, pos}) }
	f.Add(append(e(5, int32(2*size)), e(9, int32(4*size))...), appendTimeEntry(nil, timeEntry{epoch.UnixMilli() + 21, 5}), []byte{})
	f.Add(e(5, 7), []byte{1}, producer.AppendAborted(nil, producer.Aborted{ProducerID: 1, First: 100, Last: 101, LastStable: 102}))
	f.Add(bytes.Repeat([]byte{0xff}, 24), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, index, timeIndex, txnIndex []byte) {
		s := place(t, 100, 50, log, index, timeIndex, txnIndex)
		if s.Sane(true) != nil {
			return // It is made anew.
		}
		for offset := int64(100); offset < 141; offset++ {
			p, ok, err := s.Locate(offset, s.Size())
			if err != nil {
				continue
			}
			if ok != (offset < 140) || ok && p.Base != offset/2*2 {
				t.Fatalf("offset %d found at %+v, %v", offset, p, ok)
			}
		}
		_, _, _ = s.FirstAtOrAfter(epoch.UnixMilli()+50, 100, s.Size())
		_, _, _ = s.Above(10)
		_, _ = s.Aborted(100, 140, func(producer.Aborted) {})
		_, _ = s.End()
	})
}
