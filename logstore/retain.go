package logstore

import (
	"log/slog"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/segment"
)

// Retain removes the segments that are no longer to be kept, oldest first, and returns
// how many: those wholly below the start, then those above the size limit, then those
// past their age. Nothing that is not committed goes, and the log always keeps a
// segment. Timestamps are the records': one from the far future pins its segment.
//
// The segments can no longer be read; their files go with the next Store.Maintain, when
// the new start is durable. Else a crash that keeps some of the renames and not others
// would leave a hole.
func (l *Log) Retain(now time.Time) (removed int, err error) {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usableLocked(); err != nil {
		return 0, err
	}
	cfg := l.config.Load()
	for _, rule := range []struct {
		name string
		on   bool
		run  func([]retained, *Config, time.Time) int
	}{
		{"log start", true, func(s []retained, _ *Config, _ time.Time) int { return belowStart(s, l.Start()) }},
		{"retention.bytes", cfg.Delete && cfg.RetentionBytes >= 0, func(s []retained, c *Config, _ time.Time) int { return aboveSize(s, c.RetentionBytes) }},
		{"retention.ms", cfg.Delete && cfg.RetentionAge >= 0, func(s []retained, c *Config, now time.Time) int { return pastAge(s, c.RetentionAge, now) }},
	} {
		if !rule.on {
			continue
		}
		segs, err := l.retained(rule.name == "retention.ms")
		if err != nil {
			return removed, l.ioError("retention", err)
		}
		n := min(rule.run(segs, cfg, now), committed(segs, l.HighWatermark().Offset))
		if n == 0 {
			continue
		}
		if err := l.removeOldest(now, n); err != nil {
			return removed, err
		}
		removed += n
		l.logger.Info("segments removed", slog.String("dir", l.Dir()), slog.String("rule", rule.name),
			slog.Int("count", n), slog.Int64("log_start", l.Start()))
	}
	l.check()
	return removed, nil
}

// retained is what the retention rules look at of a segment.
type retained struct {
	end    int64 // The next segment's base, or the log's end.
	active bool
	bytes  int64
	newest time.Time // Of any record, or of the last write when none has a timestamp.
}

func (l *Log) retained(withTimes bool) ([]retained, error) {
	st := l.state.Load()
	list := make([]retained, len(st.segments))
	for i, s := range st.segments {
		r := retained{end: st.end.Offset, active: true, bytes: s.Size()}
		if i+1 < len(st.segments) {
			r.end, r.active = st.segments[i+1].Base(), false
		}
		if withTimes {
			var err error
			if r.newest, err = newest(s); err != nil {
				return nil, err
			}
		}
		list[i] = r
	}
	return list, nil
}

func newest(s *segment.Segment) (time.Time, error) {
	if s.Size() == 0 {
		return time.Time{}, nil // Never asked: an empty segment does not go.
	}
	ts, _, err := s.Newest()
	if err != nil {
		return time.Time{}, err
	}
	if ts < 0 {
		return s.ModTime()
	}
	return time.UnixMilli(ts), nil
}

// The rules say how many of the oldest segments are to go. Each stops at the first
// that stays.

// belowStart takes segments that hold nothing at or above the start.
func belowStart(segs []retained, start int64) int {
	return prefix(segs, func(r retained) bool { return !r.active && r.end <= start })
}

// aboveSize takes segments while what remains is not smaller than limit.
func aboveSize(segs []retained, limit int64) int {
	var surplus int64
	for _, r := range segs {
		surplus += r.bytes
	}
	surplus -= limit
	return prefix(segs, func(r retained) bool {
		if surplus < r.bytes {
			return false
		}
		surplus -= r.bytes
		return true
	})
}

// pastAge takes segments whose newest record is older than age.
func pastAge(segs []retained, age time.Duration, now time.Time) int {
	return prefix(segs, func(r retained) bool { return now.Sub(r.newest) > age })
}

// committed takes segments below the high watermark, except an empty active one.
func committed(segs []retained, hw int64) int {
	return prefix(segs, func(r retained) bool { return r.end <= hw && (!r.active || r.bytes > 0) })
}

func prefix(segs []retained, goes func(retained) bool) int {
	for i, r := range segs {
		if !goes(r) {
			return i
		}
	}
	return len(segs)
}

// removeOldest removes the n oldest segments. If the active one is among them a new
// one is begun first. The start moves before any file does, so that no reader is sent
// to a file that is going.
func (l *Log) removeOldest(now time.Time, n int) error {
	st := l.state.Load()
	start := st.end.Offset
	if n == len(st.segments) {
		if err := l.roll(now, l.writer.tail); err != nil {
			return l.ioError("roll", err)
		}
		st = l.state.Load()
	} else {
		start = st.segments[n].Base()
	}
	l.writer.leaving = append(l.writer.leaving, st.segments[:n]...)
	l.advanceStart(start)
	l.publish(func(s *state) { s.segments = s.segments[n:] })
	return nil
}

// dropLeaving takes away the files of segments that left by retention. The start is
// durable by now, but for the metadata log, which has no checkpoint: there the oldest
// segment that is left is the start, so they go one by one.
func (l *Log) dropLeaving(now time.Time) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	doomed := l.writer.leaving
	l.writer.leaving = nil
	if l.topic != metadataTopic {
		return l.retire(now, doomed)
	}
	for i := range doomed {
		if err := l.retire(now, doomed[i:i+1]); err != nil {
			return err
		}
		if err := l.syncNames(); err != nil {
			return l.fail(err)
		}
	}
	return nil
}
