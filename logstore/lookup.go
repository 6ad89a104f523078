package logstore

import (
	"github.com/moldau-broker/moldau/logstore/internal/segment"
)

// Found is a record found by its timestamp.
type Found = segment.Found

// OffsetByTime finds the first record whose timestamp is at or after tsMs; false if
// there is none. Timestamps need not grow with offsets, and the answer is the exact
// record, inside compressed batches too.
func (l *Log) OffsetByTime(tsMs int64) (f Found, ok bool, err error) {
	err = l.onState(func(st *state) error {
		f, ok, err = l.offsetByTime(st, tsMs)
		return err
	})
	return f, ok, err
}

func (l *Log) offsetByTime(st *state, tsMs int64) (Found, bool, error) {
	for i, seg := range st.segments {
		newest, _, err := seg.Newest()
		if err != nil {
			return Found{}, false, l.ioError("look up a timestamp", err)
		}
		if newest < tsMs {
			continue
		}
		f, ok, err := seg.FirstAtOrAfter(tsMs, st.start, st.limit(i, st.end))
		if err != nil {
			return Found{}, false, l.ioError("look up a timestamp", err)
		}
		// Kafka asks the first such segment only. It may hold nothing at or above the
		// start; then a later one answers.
		if ok {
			return f, true, nil
		}
	}
	return Found{}, false, nil
}

// OffsetOfMaxTime finds the first record that bears the log's newest timestamp; false
// if the log is empty.
func (l *Log) OffsetOfMaxTime() (f Found, ok bool, err error) {
	err = l.onState(func(st *state) error {
		f, ok, err = l.offsetOfMaxTime(st)
		return err
	})
	return f, ok, err
}

func (l *Log) offsetOfMaxTime(st *state) (Found, bool, error) {
	best, bestTS, bestOffset := -1, int64(0), int64(0)
	for i, seg := range st.segments {
		ts, offset, err := seg.Newest()
		if err != nil {
			return Found{}, false, l.ioError("look up a timestamp", err)
		}
		if best < 0 || ts > bestTS {
			best, bestTS, bestOffset = i, ts, offset
		}
	}
	f, ok, err := st.segments[best].FirstNewest(bestTS, bestOffset, st.limit(best, st.end))
	if err != nil {
		return Found{}, false, l.ioError("look up a timestamp", err)
	}
	return f, ok, nil
}
