package segment

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sort"
	"sync"
)

// Sizes of index entries.
const (
	offsetEntryBytes = 8
	timeEntryBytes   = 12
)

// tailBytes is how much of an index is gathered in the heap before it is written:
// two writes in a thousand appends, and little heap for each log that is written to.
const tailBytes = 4096

// index is a sorted file of fixed-size entries, of which the newest may still be in
// the heap. Entries are appended by the segment's writer and searched by anyone.
type index struct {
	file      File
	entrySize int64

	mu sync.Mutex // Held for field access only.

	// Guarded by mu. Only the writer changes them.
	stored int64  // Bytes in the file that count.
	tail   []byte // Entries after those, not yet in the file.
	exists bool   // The file was created.
}

func (x *index) count() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return (x.stored + int64(len(x.tail))) / x.entrySize
}

// append adds an entry. Called by the writer.
func (x *index) append(entry []byte) {
	x.mu.Lock()
	x.tail = append(x.tail, entry...)
	x.mu.Unlock()
}

// pending says whether enough entries wait in the heap to be worth a write.
func (x *index) pending() bool { return len(x.tail) >= tailBytes } // The writer's own field.

// flush writes what is in the heap, and creates the file even if that is nothing: a
// sealed segment has its index files. Called by the writer. After an error the
// entries are still in the heap and the file's surplus is overwritten next time.
func (x *index) flush() error {
	if x.exists && len(x.tail) == 0 {
		return nil
	}
	f, err := x.file.Pin(true)
	if err != nil {
		return err
	}
	defer f.Unpin()
	if len(x.tail) > 0 {
		if _, err := f.WriteAt(x.tail, x.stored); err != nil {
			return err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stored += int64(len(x.tail))
	x.tail, x.exists = nil, true
	return nil
}

// sync makes the file durable.
func (x *index) sync() error {
	f, err := x.file.Pin(true)
	if err != nil {
		return err
	}
	defer f.Unpin()
	return f.Sync()
}

// cut keeps the first n entries. Called by the writer.
func (x *index) cut(n int64) error {
	size := n * x.entrySize
	if size < x.stored {
		f, err := x.file.Pin(true)
		if err != nil {
			return err
		}
		defer f.Unpin()
		// First for readers, then on disk: a reader that holds the old count reads less
		// than it asked for and searches again.
		x.mu.Lock()
		x.stored, x.tail = size, nil
		x.mu.Unlock()
		return f.Truncate(size)
	}
	x.mu.Lock()
	x.tail = slices.Clip(x.tail[:size-x.stored]) // Readers may still look at what was cut.
	x.mu.Unlock()
	return nil
}

// maxRetries bounds how often a reader starts again because the index was cut under
// it. A cut is rare; two in one search do not happen outside tests.
const maxRetries = 8

// search returns the first entry for which at or above holds, its number, and the
// number of entries; when there is none, the number is that of entries. above must be
// false for a prefix of the index and true for the rest.
func (x *index) search(above func(entry []byte) bool) (i, n int64, err error) {
	for range maxRetries {
		i, n, err = x.searchOnce(above)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
	}
	return i, n, err
}

func (x *index) searchOnce(above func(entry []byte) bool) (i, n int64, err error) {
	x.mu.Lock()
	stored, tail := x.stored/x.entrySize, x.tail // Bytes of tail are written once only.
	x.mu.Unlock()
	n = stored + int64(len(tail))/x.entrySize
	if stored == 0 || len(tail) > 0 && !above(tail[:x.entrySize]) {
		return stored + searchBytes(tail, x.entrySize, above), n, nil
	}
	i, err = x.searchFile(stored, above)
	return i, n, err
}

// searchBytes is search in entries that are in memory.
func searchBytes(entries []byte, size int64, above func([]byte) bool) int64 {
	n := int64(len(entries)) / size
	return int64(sort.Search(int(n), func(i int) bool {
		return above(entries[int64(i)*size : int64(i+1)*size])
	}))
}

// searchFile is search in the first n entries of the file: single entries are read
// until what is left fits one read.
func (x *index) searchFile(n int64, above func([]byte) bool) (int64, error) {
	f, err := x.file.Pin(false)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, err
	}
	defer f.Unpin()
	buf := getBuffer()
	defer putBuffer(buf)
	lo, hi := int64(0), n // Entries below lo are not above, those from hi on are.
	for (hi-lo)*x.entrySize > int64(len(buf)) {
		mid := lo + (hi-lo)/2
		if _, err := f.ReadAt(buf[:x.entrySize], mid*x.entrySize); err != nil {
			return 0, err
		}
		if above(buf[:x.entrySize]) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	block := buf[:(hi-lo)*x.entrySize]
	if _, err := f.ReadAt(block, lo*x.entrySize); err != nil && len(block) > 0 {
		return 0, err
	}
	return lo + searchBytes(block, x.entrySize, above), nil
}

// at copies the i-th entry into dst.
func (x *index) at(i int64, dst []byte) error {
	x.mu.Lock()
	stored, tail := x.stored, x.tail
	x.mu.Unlock()
	pos := i * x.entrySize
	if pos >= stored {
		if pos-stored+x.entrySize > int64(len(tail)) {
			return io.ErrUnexpectedEOF // Cut since i was found.
		}
		copy(dst, tail[pos-stored:pos-stored+x.entrySize])
		return nil
	}
	f, err := x.file.Pin(false)
	if err != nil {
		return err
	}
	defer f.Unpin()
	_, err = f.ReadAt(dst[:x.entrySize], pos)
	return err
}

// offsetEntry is one entry of the offset index, with the relative offset as stored.
type offsetEntry struct {
	rel int32
	pos int32
}

func parseOffsetEntry(b []byte) offsetEntry {
	return offsetEntry{int32(binary.BigEndian.Uint32(b)), int32(binary.BigEndian.Uint32(b[4:]))}
}

func appendOffsetEntry(dst []byte, e offsetEntry) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.rel))
	return binary.BigEndian.AppendUint32(dst, uint32(e.pos))
}

// timeEntry is one entry of the time index.
type timeEntry struct {
	ts  int64
	rel int32
}

func parseTimeEntry(b []byte) timeEntry {
	return timeEntry{int64(binary.BigEndian.Uint64(b)), int32(binary.BigEndian.Uint32(b[8:]))}
}

func appendTimeEntry(dst []byte, e timeEntry) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.ts))
	return binary.BigEndian.AppendUint32(dst, uint32(e.rel))
}
