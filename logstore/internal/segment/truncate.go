package segment

import (
	"errors"
	"io/fs"
	"time"
)

// Truncate removes every batch that ends at or above offset to, with its index
// entries, and syncs the file: what was cut must not come back after a power cut and
// line up behind what is written next.
func (s *Segment) Truncate(to int64, now time.Time) error {
	p, ok, err := s.Locate(to, s.Size())
	if err != nil {
		return err
	}
	if err := s.cutIndexes(to); err != nil {
		return err
	}
	if ok {
		if err := s.cutData(p.Position); err != nil {
			return err
		}
	}
	s.sinceEntry = 0 // As Kafka does: the next entry may come late, which is valid.
	if s.Size() == 0 {
		s.created, s.firstTime = now, optionalInt64{}
	}
	return s.reloadNewest()
}

func (s *Segment) cutData(pos int64) error {
	f, err := s.data.Pin(false)
	if err != nil {
		return err
	}
	defer f.Unpin()
	s.size.Store(pos)
	if err := f.Truncate(pos); err != nil {
		return err
	}
	return f.Sync()
}

func (s *Segment) cutIndexes(to int64) error {
	rel := to - s.base
	i, _, err := s.offsets.search(func(e []byte) bool { return int64(parseOffsetEntry(e).rel) >= rel })
	if err != nil {
		return err
	}
	j, _, err := s.times.search(func(e []byte) bool { return int64(parseTimeEntry(e).rel) >= rel })
	if err != nil {
		return err
	}
	s.dirty.Store(true)
	return errors.Join(s.offsets.cut(i), s.times.cut(j), s.txns.cut(to))
}

// reloadNewest finds the newest timestamp again after a cut: it is that of the last
// time index entry or of a batch behind it.
func (s *Segment) reloadNewest() error {
	ts, offset, err := s.lastTimeEntry()
	if err != nil {
		return err
	}
	s.lastTime = optionalInt64{ts, true}
	start, err := s.floor(offset)
	if err != nil {
		return err
	}
	limit := s.Size()
	w := s.walk(limit)
	defer w.close()
	for pos := start; pos < limit; {
		h, err := w.header(pos)
		if err != nil {
			return err
		}
		if newestOf(h) > ts {
			ts, offset = newestOf(h), h.LastOffset()
		}
		pos += int64(h.Size())
	}
	s.setNewest(ts, offset)
	return nil
}

// MarkDeleted renames the files so that a start removes them, and returns their
// paths, for removal later. Readers that still hold the segment go on reading.
func (s *Segment) MarkDeleted() ([]string, error) {
	s.Release() // Windows renames no open file; elsewhere it does no harm.
	var paths []string
	var errs []error
	suffix := DeletedSuffix
	// The batches first: what a crash leaves of the indexes is then an orphan and goes.
	for _, kind := range []string{LogSuffix, IndexSuffix, TimeIndexSuffix, TxnIndexSuffix} {
		old := s.dir.Join(FileName(s.base, kind))
		switch err := s.pool.fs.Rename(old, old+suffix); {
		case err == nil:
			paths = append(paths, old+suffix)
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	s.suffix.Store(&suffix)
	return paths, errors.Join(errs...)
}

// Remove deletes the files at once.
func (s *Segment) Remove() error {
	var errs []error
	for _, f := range s.files() {
		errs = append(errs, f.remove())
	}
	return errors.Join(errs...)
}

// ModTime returns when the data file was last written to.
func (s *Segment) ModTime() (time.Time, error) {
	info, err := s.pool.fs.Stat(s.Path())
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
