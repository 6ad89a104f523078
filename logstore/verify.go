package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// Fault is something in a partition's directory that is not as it should be.
type Fault struct {
	Path string
	What string
}

func (f *Fault) Error() string { return f.Path + ": " + f.What }

// Verify reads the directory of a partition that nobody has open and returns all that
// is wrong with it, as *Fault values joined, or nil. It asks what Kafka's kafka-dump-log
// asks, and more:
//
//	batches are whole, their checksums right, their offsets increase, and with dense
//	leave no gap (compaction and a leader's gaps leave some);
//	headers tell the truth about count, last offset and newest timestamp;
//	an offset index entry is the last offset of the batch at its position;
//	a time index entry is the last offset of a batch and its newest timestamp, and no
//	earlier record is newer; timestamps increase;
//	transaction indexes and producer snapshots can be read;
//	leader epochs are those of the batches.
//
// It shares no code with what writes the files, except for the codecs of whole files.
func Verify(fsys vfs.FS, dir string, dense bool) error {
	v := &verifier{fs: fsys, dir: dir, dense: dense}
	if err := v.run(); err != nil {
		v.faults = append(v.faults, err)
	}
	return errors.Join(v.faults...)
}

type verifier struct {
	fs     vfs.FS
	dir    string
	dense  bool
	faults []error

	epochs checkpoint.Epochs
	next   int64 // Offset after the last batch so far, -1 at the beginning.
}

// verified is what is remembered of a batch while the indexes are looked at.
type verified struct {
	pos, last, newest int64
	empty             bool // By compaction: newest is that of records that are gone.
}

func (v *verifier) fault(path, format string, args ...any) {
	v.faults = append(v.faults, &Fault{path, fmt.Sprintf(format, args...)})
}

func (v *verifier) run() error {
	entries, err := v.fs.ReadDir(v.dir)
	if err != nil {
		return err
	}
	if v.epochs, err = checkpoint.ReadEpochs(v.fs, v.path(checkpoint.LeaderEpochs)); err != nil {
		return err
	}
	v.next = -1
	for _, e := range entries { // Sorted, so segments come in order.
		base, kind, ok := segment.ParseFileName(e.Name())
		if !ok {
			continue
		}
		switch kind {
		case segment.LogSuffix:
			if err := v.segment(base); err != nil {
				return err
			}
		case segment.SnapshotSuffix:
			bytes, err := vfs.ReadFile(v.fs, v.path(e.Name()))
			if err != nil {
				return err
			}
			if _, err := producer.Decode(bytes); err != nil {
				v.fault(v.path(e.Name()), "%v", err)
			}
		case segment.IndexSuffix, segment.TimeIndexSuffix, segment.TxnIndexSuffix:
			if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == segment.FileName(base, segment.LogSuffix) }) {
				v.fault(v.path(e.Name()), "no segment belongs to it")
			}
		}
	}
	return nil
}

func (v *verifier) path(name string) string { return filepath.Join(v.dir, name) }

// segment verifies one segment with its indexes.
func (v *verifier) segment(base int64) error {
	path := v.path(segment.FileName(base, segment.LogSuffix))
	bytes, err := vfs.ReadFile(v.fs, path)
	if err != nil {
		return err
	}
	if base < v.next {
		v.fault(path, "begins at %d, the one before it ends at %d", base, v.next)
	}
	v.next = max(v.next, base)
	var batches []verified
	for rest := bytes; len(rest) > 0; {
		pos := int64(len(bytes) - len(rest))
		b, after, err := batch.Next(rest)
		if err != nil {
			v.fault(path, "%d bytes at %d are no batch: %v", len(rest), pos, err)
			break
		}
		v.batch(path, pos, b, base)
		batches = append(batches, verified{pos, b.LastOffset(), b.MaxTimestamp(), b.Count() == 0})
		rest = after
	}
	return errors.Join(v.offsetIndex(base, batches), v.timeIndex(base, batches), v.txnIndex(base))
}

func (v *verifier) batch(path string, pos int64, b batch.Batch, base int64) {
	if err := b.CheckCRC(); err != nil {
		v.fault(path, "at %d: %v", pos, err)
		return
	}
	if b.BaseOffset() < v.next || v.dense && b.BaseOffset() != v.next {
		v.fault(path, "at %d: offset %d follows %d", pos, b.BaseOffset(), v.next-1)
	}
	if b.LastOffset()-base > maxRelative {
		v.fault(path, "at %d: offset %d is too far from the base", pos, b.LastOffset())
	}
	if e := b.LeaderEpoch(); e >= 0 && len(v.epochs) > 0 && v.epochs[0].Start <= b.BaseOffset() && v.epochs.At(b.BaseOffset()) != e {
		v.fault(path, "at %d: leader epoch %d, the checkpoint says %d", pos, e, v.epochs.At(b.BaseOffset()))
	}
	v.records(path, pos, b)
	v.next = max(v.next, b.NextOffset())
}

// records compares the header with the records.
func (v *verifier) records(path string, pos int64, b batch.Batch) {
	newest, count, last := int64(batch.NoTimestamp), int32(0), b.BaseOffset()-1
	it := b.Records(1 << 30)
	defer it.Close()
	for it.Next() {
		if it.Offset() <= last || v.dense && it.Offset() != last+1 {
			v.fault(path, "at %d: record %d follows %d", pos, it.Offset(), last)
		}
		last, newest, count = it.Offset(), max(newest, it.Timestamp()), count+1
	}
	switch {
	case it.Err() != nil:
		v.fault(path, "at %d: %v", pos, it.Err())
	case count != b.Count() || last > b.LastOffset() || v.dense && last != b.LastOffset():
		v.fault(path, "at %d: %d records up to %d, the header says %d up to %d", pos, count, last, b.Count(), b.LastOffset())
	case count > 0 && newest != b.MaxTimestamp():
		v.fault(path, "at %d: newest timestamp is %d, the header says %d", pos, newest, b.MaxTimestamp())
	}
}

// index reads an index file in entries of size bytes; a missing one has none.
func (v *verifier) index(base int64, kind string, size int, visit func(path string, entry []byte)) error {
	path := v.path(segment.FileName(base, kind))
	bytes, err := vfs.ReadFile(v.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(bytes)%size != 0 {
		v.fault(path, "%d bytes are not a multiple of %d", len(bytes), size)
	}
	for ; len(bytes) >= size; bytes = bytes[size:] {
		visit(path, bytes[:size])
	}
	return nil
}

func (v *verifier) offsetIndex(base int64, batches []verified) error {
	before := base
	return v.index(base, segment.IndexSuffix, 8, func(path string, e []byte) {
		offset, pos := base+int64(int32(binary.BigEndian.Uint32(e))), int64(int32(binary.BigEndian.Uint32(e[4:])))
		i, ok := slices.BinarySearchFunc(batches, pos, func(b verified, pos int64) int { return int(b.pos - pos) })
		switch {
		case !ok:
			v.fault(path, "offset %d leads to %d, where no batch begins", offset, pos)
		case batches[i].last != offset:
			v.fault(path, "offset %d leads to the batch that ends at %d", offset, batches[i].last)
		case offset <= before:
			v.fault(path, "offset %d follows %d", offset, before)
		}
		before = offset
	})
}

func (v *verifier) timeIndex(base int64, batches []verified) error {
	before := int64(batch.NoTimestamp)
	return v.index(base, segment.TimeIndexSuffix, 12, func(path string, e []byte) {
		ts, offset := int64(binary.BigEndian.Uint64(e)), base+int64(int32(binary.BigEndian.Uint32(e[8:])))
		i, ok := slices.BinarySearchFunc(batches, offset, func(b verified, o int64) int { return int(b.last - o) })
		switch {
		case !ok:
			v.fault(path, "offset %d is not the last of a batch", offset)
		case batches[i].newest != ts:
			v.fault(path, "timestamp %d of the batch up to %d, whose newest is %d", ts, offset, batches[i].newest)
		case ts <= before:
			v.fault(path, "timestamp %d follows %d", ts, before)
		default:
			for _, b := range batches[:i] {
				if b.newest > ts && !b.empty {
					v.fault(path, "timestamp %d up to offset %d, but the batch up to %d has %d", ts, offset, b.last, b.newest)
				}
			}
		}
		before = ts
	})
}

func (v *verifier) txnIndex(base int64) error {
	path := v.path(segment.FileName(base, segment.TxnIndexSuffix))
	bytes, err := vfs.ReadFile(v.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := producer.DecodeAborted(bytes, base); err != nil {
		v.fault(path, "%v", err)
	}
	return nil
}
