package logstore

import (
	"log/slog"
	"slices"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/segment"
)

// Truncate removes every batch that ends at or above offset to; the log then ends at
// to, even when a batch that began below it had to go. It is how a replica follows a
// new leader.
func (l *Log) Truncate(to int64) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	st := l.state.Load()
	if to >= st.end.Offset {
		// This broker may have led an epoch without writing anything: the entry has to go.
		l.mu.Lock()
		if l.mu.epochs.CutEnd(st.end.Offset) {
			l.mu.epochsDirty = true
		}
		l.mu.Unlock()
		return nil
	}
	if to < st.hw.Offset {
		l.logger.Warn("log truncated below its high watermark", slog.String("dir", l.Dir()),
			slog.Int64("to", to), slog.Int64("high_watermark", st.hw.Offset))
	}
	now := l.store.now()
	if to < st.segments[0].Base() {
		return l.restart(now, to)
	}
	if err := l.truncateLocked(now, st, to); err != nil {
		return l.fail(err) // Half cut: what is in memory no longer tells what is on disk.
	}
	l.check()
	return nil
}

func (l *Log) truncateLocked(now time.Time, st *state, to int64) error {
	// First in memory, then on disk: nobody begins to read what is about to go. A reader
	// that began before gets an error or bytes that its client's checksum refuses.
	l.writer.touched = true
	i := st.floor(to)
	seg, doomed := st.segments[i], st.segments[i+1:]
	at, err := l.locate(st, to)
	if err != nil {
		return err
	}
	end := Mark{to, seg.Base(), seg.Size()}
	if at.Segment == seg.Base() {
		end.Position = at.Position
	}
	l.forgetAbove(to)
	l.publish(func(s *state) {
		s.segments = slices.Clip(s.segments[:i+1]) // An append must not overwrite what readers see.
		s.end = end
		s.start = min(s.start, to)
		s.cuts++
		if s.hw.Offset >= to || s.hw.Segment > end.Segment { // In a gap at the end of what is left.
			s.hw = Mark{min(s.hw.Offset, to), end.Segment, end.Position}
		}
	})
	if err := l.cutOff(now, doomed); err != nil {
		return err
	}
	if err := seg.Truncate(to, now); err != nil {
		return err
	}
	if l.writer.tail, err = seg.End(); err != nil {
		return err
	}
	// The recovery point on disk must not lie above what is now the end: it would let a
	// crash after the next appends pass them unread.
	if err := l.lowerFlushed(to); err != nil {
		return err
	}
	if err := l.reloadProducers(now, to); err != nil {
		return err
	}
	return l.syncNames() // Removed snapshots must not come back: they tell of another past.
}

// forgetAbove takes what is known of batches that end above offset out of memory.
func (l *Log) forgetAbove(offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.recent.cut(offset)
	l.mu.located = false
	if l.mu.epochs.CutEnd(offset) {
		l.mu.epochsDirty = true
	}
}

// TruncateFully removes everything; the log is empty and starts at offset start.
func (l *Log) TruncateFully(start int64) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	return l.restart(l.store.now(), start)
}

// restart replaces all segments by an empty one that begins at offset start.
func (l *Log) restart(now time.Time, start int64) error {
	doomed := slices.Concat(l.writer.leaving, l.state.Load().segments)
	l.writer.leaving, l.writer.touched = nil, true
	fresh := segment.New(l.pool, l.dir, start, l.config.Load().IndexIntervalBytes, now)
	at := Mark{start, start, 0}
	l.writer.tail = start
	l.mu.Lock()
	l.mu.recent.clear()
	l.mu.located = false
	if len(l.mu.epochs) > 0 {
		l.mu.epochs, l.mu.epochsDirty = nil, true
	}
	l.mu.producers.Reset(start)
	l.mu.Unlock()
	l.publish(func(s *state) {
		*s = state{segments: []*segment.Segment{fresh}, start: start, end: at, hw: at, cuts: s.cuts + 1}
	})
	if !l.onDisk.Load() {
		if start == 0 {
			return nil
		}
		if err := l.materialize(); err != nil { // The start has to be kept somewhere.
			return l.ioError("truncate", err)
		}
		l.check()
		return nil
	}
	err := l.cutOff(now, doomed)
	if err == nil {
		err = fresh.Make(l.reserveBytes())
		l.sync.names.change()
	}
	if err == nil {
		err = l.removeSnapshots(func(int64) bool { return true })
	}
	if err == nil {
		err = l.lowerFlushed(start)
	}
	if err == nil {
		err = l.syncNames()
	}
	if err != nil {
		return l.fail(err)
	}
	l.check()
	return nil
}

// AdvanceStart moves the start up to offset: the records below can no longer be read,
// and the segments that hold nothing else go with the next retention check. An offset
// below the start is no error, one above the high watermark is an *OffsetError. It is
// how DeleteRecords works, and how a follower follows its leader's start.
func (l *Log) AdvanceStart(offset int64) error {
	st := l.state.Load()
	if offset > st.hw.Offset {
		return &OffsetError{offset, st.start, st.hw.Offset}
	}
	if offset <= st.start {
		return nil
	}
	l.advanceStart(offset)
	return l.Err()
}

// advanceStart is AdvanceStart without its checks.
func (l *Log) advanceStart(offset int64) {
	l.mu.Lock()
	if l.mu.epochs.CutStart(offset) {
		l.mu.epochsDirty = true
	}
	l.mu.producers.AdvanceStart(offset)
	l.mu.Unlock()
	l.publish(func(s *state) { s.start = max(s.start, offset) })
	l.wantMaintain()
}

// cutOff takes away the files of segments that were the end of the log, the last first
// and each durably before the next, so that no crash leaves a hole.
func (l *Log) cutOff(now time.Time, doomed []*segment.Segment) error {
	for i := len(doomed) - 1; i >= 0; i-- {
		if err := l.retire(now, doomed[i:i+1]); err != nil {
			return err
		}
		if err := l.syncNames(); err != nil {
			return err
		}
	}
	return nil
}

// retire renames the files of segments that left the log, and their snapshots, and
// leaves them to be removed later.
func (l *Log) retire(now time.Time, doomed []*segment.Segment) error {
	if len(doomed) == 0 || !l.onDisk.Load() {
		return nil
	}
	due := now.Add(l.config.Load().FileDeleteDelay)
	gone := make([]int64, 0, len(doomed))
	for _, s := range doomed {
		l.store.metrics.removed(s.Size())
		paths, err := s.MarkDeleted()
		l.store.bin(due, paths...)
		if err != nil {
			return l.ioError("remove a segment", err)
		}
		gone = append(gone, s.Base())
	}
	l.sync.names.change()
	return l.removeSnapshots(func(offset int64) bool {
		_, is := slices.BinarySearch(gone, offset)
		return is
	})
}
