package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"sync/atomic"

	"github.com/moldau-broker/moldau/logstore/producer"
)

// txnEntryBytes is the size of a transaction index entry.
const txnEntryBytes = producer.AbortedLen

// parseAborted reads an entry without judging it: an index may be long, and a fetch
// looks at a few entries of it. sane judges.
func parseAborted(b []byte) producer.Aborted {
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[i:])) }
	return producer.Aborted{ProducerID: at(2), First: at(10), Last: at(18), LastStable: at(26)}
}

// txnIndex is the file of aborted transactions, which is there only if it has one.
type txnIndex struct {
	file File
	size atomic.Int64 // Bytes of entries.
}

func (x *txnIndex) count() int64 { return x.size.Load() / txnEntryBytes }

// append adds an entry and creates the file if it is the first.
func (x *txnIndex) append(a producer.Aborted) error {
	f, err := x.file.Pin(true)
	if err != nil {
		return err
	}
	defer f.Unpin()
	size := x.size.Load()
	var buf [txnEntryBytes]byte
	if _, err := f.WriteAt(producer.AppendAborted(buf[:0], a), size); err != nil {
		return err
	}
	x.size.Store(size + txnEntryBytes)
	return nil
}

func (x *txnIndex) sync() error {
	if x.size.Load() == 0 {
		return nil
	}
	f, err := x.file.Pin(false)
	if err != nil {
		return err
	}
	defer f.Unpin()
	return f.Sync()
}

// read calls visit for the entries from the i-th on until it answers false.
func (x *txnIndex) read(i int64, visit func(producer.Aborted) bool) error {
	n := x.count()
	if i >= n {
		return nil
	}
	f, err := x.file.Pin(false)
	if err != nil {
		return err
	}
	defer f.Unpin()
	buf := getBuffer()
	defer putBuffer(buf)
	for i < n {
		chunk := buf[:min(n-i, int64(len(buf))/txnEntryBytes)*txnEntryBytes]
		if _, err := f.ReadAt(chunk, i*txnEntryBytes); err != nil {
			if errors.Is(err, io.EOF) {
				return nil // Cut since it was counted: what is gone was not wanted.
			}
			return err
		}
		for ; len(chunk) > 0; chunk = chunk[txnEntryBytes:] {
			if !visit(parseAborted(chunk)) {
				return nil
			}
			i++
		}
	}
	return nil
}

// firstEnding returns the number of the first entry whose marker is at or above offset.
func (x *txnIndex) firstEnding(offset int64) (int64, error) {
	if x.count() == 0 {
		return 0, nil
	}
	f, err := x.file.Pin(false)
	if err != nil {
		return 0, err
	}
	defer f.Unpin()
	var failed error
	i := sort.Search(int(x.count()), func(i int) bool {
		var b [txnEntryBytes]byte
		if _, err := f.ReadAt(b[:], int64(i)*txnEntryBytes); err != nil {
			if !errors.Is(err, io.EOF) {
				failed = err
			}
			return true
		}
		return parseAborted(b[:]).Last >= offset
	})
	return int64(i), failed
}

// cut removes the entries whose marker is at or above offset.
func (x *txnIndex) cut(offset int64) error {
	i, err := x.firstEnding(offset)
	if err != nil {
		return err
	}
	if i == 0 {
		x.size.Store(0)
		return x.file.remove()
	}
	f, err := x.file.Pin(false)
	if err != nil {
		return err
	}
	defer f.Unpin()
	x.size.Store(i * txnEntryBytes)
	return f.Truncate(i * txnEntryBytes)
}

// sane says why the file cannot be used, or nil. Only thorough reads it.
func (x *txnIndex) sane(base int64, thorough bool) error {
	if n := x.size.Load(); n%txnEntryBytes != 0 {
		return fmt.Errorf("transaction index has %d bytes, not a multiple of %d", n, txnEntryBytes)
	}
	if !thorough {
		return nil
	}
	var bad error
	last := base - 1
	err := x.read(0, func(a producer.Aborted) bool {
		if a.Last <= last || a.First > a.Last {
			bad = fmt.Errorf("transaction index has marker %d after %d", a.Last, last)
			return false
		}
		last = a.Last
		return true
	})
	return errors.Join(err, bad)
}

// AppendAborted notes that a transaction was aborted. Called by the writer.
func (s *Segment) AppendAborted(a producer.Aborted) error {
	s.dirty.Store(true)
	return s.txns.append(a)
}

// Aborted calls visit for the aborted transactions that overlap [from, upTo) and are
// recorded in this segment, and answers false when later segments hold no more.
func (s *Segment) Aborted(from, upTo int64, visit func(producer.Aborted)) (more bool, err error) {
	more = true
	i, err := s.txns.firstEnding(from)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	err = s.txns.read(i, func(a producer.Aborted) bool {
		if a.First < upTo {
			visit(a)
		}
		more = a.LastStable < upTo
		return more
	})
	return more, err
}
