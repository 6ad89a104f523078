package logstore

import (
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/segment"
)

// settle brings a directory in which a compaction or a removal was interrupted back
// to one in which neither was begun or both are done.
//
// Compaction writes .cleaned files, renames them to .swap from the highest base down,
// and then replaces its sources by them. So if there is a .cleaned file the renaming
// was not complete, and the .swap files at and above it are as good as never written:
// the sources are all there. If there is none the .swap files are complete, and their
// sources are removed.
func (l *Log) settle(entries []fs.DirEntry) error {
	plan, err := planSettle(entries, l.swapRange)
	if err != nil {
		return err
	}
	for _, name := range plan.remove {
		if err := l.fs.Remove(l.join(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(plan.remove) > 0 && len(plan.adopt) > 0 {
		// A source that came back when its replacement has the final name would stand in
		// the log beside it.
		if err := l.fs.SyncDir(l.Dir()); err != nil {
			return err
		}
	}
	for _, name := range plan.adopt {
		if err := l.fs.Rename(l.join(name), l.join(strings.TrimSuffix(name, segment.SwapSuffix))); err != nil {
			return err
		}
	}
	if len(plan.adopt) > 0 {
		l.logger.Info("interrupted compaction completed", slog.String("dir", l.Dir()), slog.Int("files", len(plan.adopt)))
	}
	// The order of what follows must not be left to the disk: a swapped segment that
	// vanished again, with its sources, would be a hole.
	return l.fs.SyncDir(l.Dir())
}

// settlement is what settle has to do: first remove, then adopt.
type settlement struct {
	remove []string
	adopt  []string // Swap files that get their final names.
}

// planSettle decides what becomes of the names in a directory. swapRange tells which
// offsets [base, end) a complete swap segment covers.
func planSettle(entries []fs.DirEntry, swapRange func(base int64) (end int64, err error)) (settlement, error) {
	var plan settlement
	var swaps []string
	firstCleaned := int64(math.MaxInt64)
	for _, e := range entries {
		base, kind, ok := segment.ParseFileName(e.Name())
		switch {
		case !ok || e.IsDir():
		case strings.HasSuffix(kind, segment.DeletedSuffix):
			plan.remove = append(plan.remove, e.Name())
		case strings.HasSuffix(kind, segment.CleanedSuffix):
			plan.remove = append(plan.remove, e.Name())
			firstCleaned = min(firstCleaned, base)
		case strings.HasSuffix(kind, segment.SwapSuffix):
			swaps = append(swaps, e.Name())
		}
	}
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, name := range swaps {
		base, kind, _ := segment.ParseFileName(name)
		if base >= firstCleaned {
			plan.remove = append(plan.remove, name)
			continue
		}
		plan.adopt = append(plan.adopt, name)
		if kind != segment.LogSuffix+segment.SwapSuffix {
			continue
		}
		end, err := swapRange(base)
		if err != nil {
			return settlement{}, err
		}
		// An empty one takes the place of the source of its name, indexes and all.
		lo, hi = min(lo, base), max(hi, end, base+1)
	}
	for _, e := range entries {
		base, kind, ok := segment.ParseFileName(e.Name())
		if ok && !e.IsDir() && base >= lo && base < hi && !transient(kind) {
			plan.remove = append(plan.remove, e.Name())
		}
	}
	return plan, nil
}

// swapRange reads where the batches of a swap segment end.
func (l *Log) swapRange(base int64) (end int64, err error) {
	path := l.join(segment.FileName(base, segment.LogSuffix+segment.SwapSuffix))
	info, err := l.fs.Stat(path)
	if err != nil {
		return 0, err
	}
	s := segment.Open(l.pool, l.dir, base, 0, segment.Files{Log: info.Size()}, time.Time{})
	s.SetSuffix(segment.SwapSuffix)
	defer s.Release()
	return s.End()
}
