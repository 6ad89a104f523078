package logstore

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/segment"
)

// rollDue says whether the active segment is to be closed before x is appended.
func (l *Log) rollDue(now time.Time, x extent) (bool, error) {
	cfg := l.config.Load()
	active := l.state.Load().active()
	size := active.Size()
	if size > cfg.SegmentBytes-x.sizeBytes || !active.Room(x.last, cfg.SegmentIndexBytes) {
		return size > 0 || x.last-active.Base() > maxRelative, nil
	}
	if size == 0 {
		return false, nil
	}
	waited, err := active.Waited(x.newest, now)
	return waited > cfg.rollAge()-l.writer.jitter, err
}

// maxRelative is how far above a segment's base an offset in it may lie: indexes hold
// the difference in 32 bits.
const maxRelative = 1<<31 - 1

// roll closes the active segment and begins the next one at offset base. Its index
// files are completed and the producer state saved, so that everything below base is
// ready to be synced; Maintain does that soon.
func (l *Log) roll(now time.Time, base int64) error {
	l.writer.touched = true
	began := l.store.now()
	st := l.state.Load()
	old := st.active()
	if err := old.Seal(); err != nil {
		return err
	}
	if err := l.takeSnapshot(base); err != nil {
		return err
	}
	fresh := segment.New(l.pool, l.dir, base, l.config.Load().IndexIntervalBytes, now)
	if err := fresh.Make(l.reserveBytes()); err != nil {
		return l.unmake(fresh, err)
	}
	l.sync.names.change()
	l.seal(old)
	l.writer.jitter = l.store.jitter(l.config.Load().SegmentJitter)
	l.publish(func(s *state) {
		s.segments = append(s.segments, fresh)
		s.end = Mark{s.end.Offset, base, 0}
		if s.hw.Offset == s.end.Offset {
			s.hw = s.end
		}
	})
	l.logger.Debug("segment rolled", slog.String("dir", l.Dir()), slog.Int64("base_offset", base),
		slog.Int64("sealed_bytes", old.Size()), slog.Int64("took_us", l.store.now().Sub(began).Microseconds()))
	l.store.metrics.rolled()
	return nil
}

// unmake takes away what is there of a segment that could not be made, durably: the old
// one may grow past its base, and a file of that name that a crash brings back would be
// taken for the log's end.
func (l *Log) unmake(fresh *segment.Segment, why error) error {
	l.sync.names.change()
	if err := errors.Join(fresh.Remove(), l.syncNames()); err != nil {
		return l.fail(errors.Join(why, err))
	}
	return why
}

// unroll takes back a roll to a segment that begins beyond a gap, because the append
// that it was for has failed: what comes next may lie in the gap, and no segment holds
// offsets below its base. before is the state from before the roll. The file is gone
// durably before anything else is appended, or a crash could bring it back behind that.
func (l *Log) unroll(now time.Time, before *state) error {
	fresh, old := l.state.Load().active(), before.active()
	l.publish(func(s *state) {
		s.segments = slices.Clip(before.segments) // An append must not overwrite what readers see.
		s.end = Mark{s.end.Offset, old.Base(), old.Size()}
		s.cuts++ // A sync that saw the new segment must not count up to its base.
		if s.hw.Offset == s.end.Offset {
			s.hw = s.end
		}
	})
	if err := l.cutOff(now, []*segment.Segment{fresh}); err != nil {
		return err
	}
	if err := l.removeSnapshots(func(offset int64) bool { return offset > l.writer.tail }); err != nil {
		return err
	}
	if err := l.lowerFlushed(l.writer.tail); err != nil {
		return err
	}
	return l.syncNames()
}

// seal says that a segment's files are complete and have to be synced.
func (l *Log) seal(seg *segment.Segment) {
	l.sync.mu.Lock()
	defer l.sync.mu.Unlock()
	l.sync.mu.sealed = append(slices.Clip(l.sync.mu.sealed), &sealed{seg})
}

// reserveBytes is how much disk a new segment takes in advance.
func (l *Log) reserveBytes() int64 {
	if cfg := l.config.Load(); cfg.Preallocate {
		return cfg.SegmentBytes
	}
	return 0
}
