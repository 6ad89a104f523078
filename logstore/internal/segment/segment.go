package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
)

// NoTimestamp is the timestamp of a batch or segment that has none.
const NoTimestamp = -1

// Segment is one segment of a log. Methods that write belong to the log's writer, one
// at a time; the others may be called by anyone.
type Segment struct {
	base     int64
	dir      *Dir
	pool     *Pool
	interval int64 // index.interval.bytes.

	data    File
	offsets index
	times   index
	txns    txnIndex

	suffix atomic.Pointer[string] // Appended to the file names: "" or ".deleted".
	size   atomic.Int64           // Bytes of whole batches in the data file.
	dirty  atomic.Bool            // Index files have bytes that were not synced.

	// The writer's own.
	reserved   bool          // More disk was reserved than is used.
	sinceEntry int64         // Bytes of batches since the last offset index entry.
	created    time.Time     // For rolling a segment whose records have no timestamps.
	firstTime  optionalInt64 // The first batch's newest timestamp, for rolling.
	lastTime   optionalInt64 // Timestamp of the last time index entry.

	mu struct {
		sync.Mutex // Held for field access only.

		known  bool  // What follows is known; if not it is read from the time index.
		maxTS  int64 // Newest timestamp, NoTimestamp if there is none.
		maxOff int64 // Last offset of the batch that holds it.
	}
}

type optionalInt64 struct {
	value int64
	known bool
}

// Base returns the offset that names the segment: a lower bound of the offsets in it.
func (s *Segment) Base() int64 { return s.base }

// Size returns how many bytes of batches the segment holds.
func (s *Segment) Size() int64 { return s.size.Load() }

// Pin keeps the data file open until the handle is unpinned.
func (s *Segment) Pin() (*Handle, error) { return s.data.Pin(false) }

// Path returns the path of the data file.
func (s *Segment) Path() string { return s.path(LogSuffix) }

func (s *Segment) path(kind string) string {
	return s.dir.Join(FileName(s.base, kind) + *s.suffix.Load())
}

// SetSuffix says that the files bear a suffix behind their names, such as ".swap".
func (s *Segment) SetSuffix(suffix string) { s.suffix.Store(&suffix) }

// Files says what a listing of the directory showed of a segment, so that opening it
// asks nothing again. Sizes are in bytes; -1 means there is no such file.
type Files struct {
	Log, Index, TimeIndex, TxnIndex int64
}

// Files returns what a listing would show of a sealed segment.
func (s *Segment) Files() Files {
	f := Files{Log: s.Size(), Index: -1, TimeIndex: -1, TxnIndex: -1}
	if s.offsets.exists {
		f.Index = s.offsets.stored
	}
	if s.times.exists {
		f.TimeIndex = s.times.stored
	}
	if n := s.txns.size.Load(); n > 0 {
		f.TxnIndex = n
	}
	return f
}

var noSuffix = ""

func newSegment(pool *Pool, dir *Dir, base, interval int64, now time.Time) *Segment {
	s := &Segment{base: base, dir: dir, pool: pool, interval: interval, created: now}
	s.suffix.Store(&noSuffix)
	file := func(f *File, kind string) { f.seg, f.kind = s, kind }
	file(&s.data, LogSuffix)
	file(&s.offsets.file, IndexSuffix)
	file(&s.times.file, TimeIndexSuffix)
	file(&s.txns.file, TxnIndexSuffix)
	s.offsets.entrySize, s.times.entrySize = offsetEntryBytes, timeEntryBytes
	return s
}

// New returns an empty segment that has no files yet; see Make.
func New(pool *Pool, dir *Dir, base, interval int64, now time.Time) *Segment {
	s := newSegment(pool, dir, base, interval, now)
	s.lastTime = optionalInt64{NoTimestamp, true}
	s.mu.known, s.mu.maxTS, s.mu.maxOff = true, NoTimestamp, base
	return s
}

// Make creates the data file; the indexes are made when they are first written.
// reserveBytes of disk are reserved if not zero. Files that are there already are what
// a crash left, and are removed.
func (s *Segment) Make(reserveBytes int64) error {
	for _, kind := range []string{LogSuffix, IndexSuffix, TimeIndexSuffix, TxnIndexSuffix} {
		if err := s.pool.fs.Remove(s.path(kind)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := s.data.Pin(true)
	if err != nil {
		return err
	}
	defer f.Unpin()
	if reserveBytes > 0 {
		if err := f.Allocate(0, reserveBytes); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return errors.Join(err, s.data.remove())
		}
		s.reserved = true
	}
	return nil
}

// Open opens a segment whose files were listed. It reads nothing.
func Open(pool *Pool, dir *Dir, base, interval int64, have Files, now time.Time) *Segment {
	s := newSegment(pool, dir, base, interval, now)
	s.size.Store(have.Log)
	s.offsets.stored, s.offsets.exists = max(have.Index, 0), have.Index >= 0
	s.times.stored, s.times.exists = max(have.TimeIndex, 0), have.TimeIndex >= 0
	s.txns.size.Store(max(have.TxnIndex, 0))
	return s
}

// Sane says why the index files cannot be used as they are, or nil. It is cheap: the
// sizes are looked at, and nothing is read unless thorough.
func (s *Segment) Sane(thorough bool) error {
	switch {
	case !s.offsets.exists:
		return errors.New("offset index is missing")
	case !s.times.exists:
		return errors.New("time index is missing")
	case s.offsets.stored%offsetEntryBytes != 0:
		return fmt.Errorf("offset index has %d bytes, not a multiple of %d", s.offsets.stored, offsetEntryBytes)
	case s.times.stored%timeEntryBytes != 0:
		return fmt.Errorf("time index has %d bytes, not a multiple of %d", s.times.stored, timeEntryBytes)
	}
	if err := s.txns.sane(s.base, thorough); err != nil {
		return err
	}
	if !thorough {
		return nil
	}
	return errors.Join(s.lastOffsetSane(), s.lastTimeSane())
}

func (s *Segment) lastOffsetSane() error {
	n := s.offsets.count()
	if n == 0 {
		return nil
	}
	var b [offsetEntryBytes]byte
	if err := s.offsets.at(n-1, b[:]); err != nil {
		return err
	}
	if e := parseOffsetEntry(b[:]); e.rel <= 0 || int64(e.pos) >= s.Size() || e.pos <= 0 {
		return fmt.Errorf("last offset index entry (%d, %d) lies outside the segment of %d bytes", e.rel, e.pos, s.Size())
	}
	return nil
}

func (s *Segment) lastTimeSane() error {
	n := s.times.count()
	if n == 0 {
		return nil
	}
	var first, last [timeEntryBytes]byte
	if err := errors.Join(s.times.at(0, first[:]), s.times.at(n-1, last[:])); err != nil {
		return err
	}
	f, l := parseTimeEntry(first[:]), parseTimeEntry(last[:])
	if l.ts < f.ts || l.rel < f.rel || f.rel < 0 {
		return fmt.Errorf("last time index entry (%d, %d) is before the first (%d, %d)", l.ts, l.rel, f.ts, f.rel)
	}
	return nil
}
