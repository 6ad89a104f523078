package segment

import (
	"errors"
	"math"
	"time"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// Append writes whole batches at the end of the data file with one write and notes
// each in the indexes. When the write fails the file is cut back to where it ended,
// so that nothing was appended; if that fails too the error is a *TornError.
func (s *Segment) Append(batches []byte) error {
	if err := s.ready(); err != nil {
		return err
	}
	f, err := s.data.Pin(false)
	if err != nil {
		return err
	}
	defer f.Unpin()
	pos := s.size.Load()
	if _, err := f.WriteAt(batches, pos); err != nil {
		if cut := f.Truncate(pos); cut != nil {
			return &TornError{Path: s.Path(), Position: pos, Write: err, Cut: cut}
		}
		return err
	}
	for rest := batches; len(rest) > 0; {
		h := batch.Batch(rest)
		s.note(h, pos)
		pos += int64(h.Size())
		rest = rest[h.Size():]
	}
	s.size.Store(pos)
	s.writeIndexes()
	return nil
}

// Reserve makes sure of the space for n more bytes, where the file system can.
func (s *Segment) Reserve(n int64) error {
	f, err := s.data.Pin(false)
	if err != nil {
		return err
	}
	defer f.Unpin()
	if err := f.Allocate(s.size.Load(), n); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// ready reads what the writer must know of a segment that was written before: the
// newest timestamp and the end of the time index.
func (s *Segment) ready() error {
	if s.lastTime.known {
		return nil
	}
	if _, _, err := s.Newest(); err != nil {
		return err
	}
	ts, _, err := s.lastTimeEntry()
	if err != nil {
		return err
	}
	s.lastTime = optionalInt64{ts, true}
	return nil
}

// note adds the batch h at pos to the indexes, if it is time for an entry.
func (s *Segment) note(h batch.Batch, pos int64) {
	last, ts := h.LastOffset(), newestOf(h)
	if pos == 0 {
		s.firstTime = optionalInt64{ts, true}
	}
	s.mu.Lock()
	if ts > s.mu.maxTS {
		s.mu.maxTS, s.mu.maxOff = ts, last
	}
	newest, newestOff := s.mu.maxTS, s.mu.maxOff
	s.mu.Unlock()
	if s.sinceEntry > s.interval {
		var buf [offsetEntryBytes]byte
		s.offsets.append(appendOffsetEntry(buf[:0], offsetEntry{int32(last - s.base), int32(pos)}))
		s.noteTime(newest, newestOff)
		s.sinceEntry = 0
	}
	s.sinceEntry += int64(h.Size())
}

// newestOf returns the newest timestamp of a record in a batch. One that compaction has
// emptied still tells of what it held; an entry for that would lead to no record.
func newestOf(h batch.Batch) int64 {
	if h.Count() == 0 {
		return NoTimestamp
	}
	return h.MaxTimestamp()
}

// noteTime adds an entry to the time index unless there is none newer to tell.
func (s *Segment) noteTime(ts, offset int64) {
	if ts <= s.lastTime.value {
		return
	}
	var buf [timeEntryBytes]byte
	s.times.append(appendTimeEntry(buf[:0], timeEntry{ts, int32(offset - s.base)}))
	s.lastTime.value = ts
}

// writeIndexes writes index entries that have gathered. A failure is kept to
// ourselves: the batch is on disk, the entries stay in the heap, and sealing the
// segment, which needs them on disk, reports what it meets.
func (s *Segment) writeIndexes() {
	if s.offsets.pending() && s.offsets.flush() == nil {
		s.dirty.Store(true)
	}
	if s.times.pending() && s.times.flush() == nil {
		s.dirty.Store(true)
	}
}

// Seal completes the index files: the time index gets its final entry, and what
// waits in the heap is written. It is called when the segment is closed for writing
// and at a clean stop, and may be called again.
func (s *Segment) Seal() error {
	if err := s.ready(); err != nil {
		return err
	}
	newest, off, err := s.Newest()
	if err != nil {
		return err
	}
	s.noteTime(newest, off)
	if s.reserved {
		if err := s.cutData(s.Size()); err != nil { // Gives back what was reserved and not used.
			return err
		}
		s.reserved = false
	}
	if len(s.offsets.tail)+len(s.times.tail) > 0 || !s.offsets.exists || !s.times.exists {
		s.dirty.Store(true)
	}
	return errors.Join(s.offsets.flush(), s.times.flush())
}

// Sync makes the data file durable, and with sealed also the index files, which
// matter only for a segment that recovery will not scan.
func (s *Segment) Sync(sealed bool) error {
	f, err := s.data.Pin(false)
	if err != nil {
		return err
	}
	defer f.Unpin()
	if err := f.Sync(); err != nil {
		return err
	}
	if !sealed {
		return nil
	}
	s.dirty.Store(false)
	return errors.Join(s.offsets.sync(), s.times.sync(), s.txns.sync())
}

// Release gives up descriptors that nobody is using at the moment.
func (s *Segment) Release() {
	for _, f := range s.files() {
		f.Close()
	}
}

func (s *Segment) files() [4]*File {
	return [4]*File{&s.data, &s.offsets.file, &s.times.file, &s.txns.file}
}

// Room says whether another batch may be appended, as far as the indexes and the
// 32-bit offsets in them go. last is the batch's last offset.
func (s *Segment) Room(last, indexBytes int64) bool {
	switch {
	case last-s.base > math.MaxInt32:
		return false
	case s.offsets.count() >= indexBytes/offsetEntryBytes:
		return false
	case s.times.count() >= indexBytes/timeEntryBytes-1: // One is kept for the final entry.
		return false
	}
	return true
}

// Waited returns how long the segment has been waiting to be closed: the distance
// from its first batch's timestamp to newest, that of the batch about to be appended;
// or to now, from its beginning, when the first batch has no timestamp.
func (s *Segment) Waited(newest int64, now time.Time) (time.Duration, error) {
	first, ok, err := s.FirstTime()
	if err != nil {
		return 0, err
	}
	if !ok {
		return now.Sub(s.created), nil
	}
	// Timestamps are the clients' and may be anything: saturate instead of overflowing.
	ms := newest - first
	switch limit := int64(math.MaxInt64 / time.Millisecond); {
	case newest > 0 && first < 0 && ms < 0, ms > limit:
		ms = limit
	case ms < -limit:
		ms = -limit
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// FirstTime returns the newest timestamp of the first batch; false if there is no
// batch or it has none. Called by the writer.
func (s *Segment) FirstTime() (int64, bool, error) {
	if s.Size() == 0 {
		return 0, false, nil
	}
	if !s.firstTime.known {
		w := s.walk(s.Size())
		defer w.close()
		h, err := w.header(0)
		if err != nil {
			return 0, false, err
		}
		s.firstTime = optionalInt64{h.MaxTimestamp(), true}
	}
	return s.firstTime.value, s.firstTime.value >= 0, nil
}

// Newest returns the newest timestamp of any record, and the last offset of the batch
// that holds it; NoTimestamp and the base when there is none.
func (s *Segment) Newest() (ts, offset int64, err error) {
	s.mu.Lock()
	known := s.mu.known
	ts, offset = s.mu.maxTS, s.mu.maxOff
	s.mu.Unlock()
	if known {
		return ts, offset, nil
	}
	ts, offset, err = s.lastTimeEntry()
	if err != nil {
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.known { // Else the writer has been here, and may have appended since.
		s.mu.known, s.mu.maxTS, s.mu.maxOff = true, ts, offset
	}
	return s.mu.maxTS, s.mu.maxOff, nil
}

// lastTimeEntry returns what the last entry of the time index tells; NoTimestamp and the
// base when there is none.
func (s *Segment) lastTimeEntry() (ts, offset int64, err error) {
	n := s.times.count()
	if n == 0 {
		return NoTimestamp, s.base, nil
	}
	var b [timeEntryBytes]byte
	if err := s.times.at(n-1, b[:]); err != nil {
		return 0, 0, err
	}
	e := parseTimeEntry(b[:])
	return e.ts, s.base + int64(e.rel), nil
}

func (s *Segment) setNewest(ts, offset int64) {
	s.mu.Lock()
	s.mu.known, s.mu.maxTS, s.mu.maxOff = true, ts, offset
	s.mu.Unlock()
}

// Dirty says whether index files were written since the last Sync of them.
func (s *Segment) Dirty() bool { return s.dirty.Load() }
