package segment

import (
	"errors"
	"io/fs"
)

// Rename gives the files another suffix. The data file comes first. A file that is not
// there is none that was ever needed.
func (s *Segment) Rename(suffix string) error {
	old := *s.suffix.Load()
	for _, kind := range []string{LogSuffix, IndexSuffix, TimeIndexSuffix, TxnIndexSuffix} {
		name := s.dir.Join(FileName(s.base, kind))
		if err := s.pool.fs.Rename(name+old, name+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	s.SetSuffix(suffix)
	return nil
}

// Hold opens the files that are there and keeps them open, so that readers go on while
// they are renamed.
func (s *Segment) Hold() (release func(), err error) {
	var held []*Handle
	release = func() {
		for _, h := range held {
			h.Unpin()
		}
	}
	for _, f := range s.files() {
		h, err := f.Pin(false)
		switch {
		case err == nil:
			held = append(held, h)
		case !errors.Is(err, fs.ErrNotExist):
			release()
			return nil, err
		}
	}
	return release, nil
}

// IndexBytes returns the sizes of the two indexes.
func (s *Segment) IndexBytes() (offsets, times int64) {
	return s.offsets.count() * offsetEntryBytes, s.times.count() * timeEntryBytes
}
