package logstore

import (
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
		return err
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
