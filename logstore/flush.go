package logstore

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/segment"
)

// syncState is what has been made durable, and who waits for more.
type syncState struct {
	flushed atomic.Int64 // Offsets below are durable.
	names   unsynced     // Files were created, renamed or removed in the directory.
	dirMade atomic.Int64 // Which change of Store.dirs the making of the directory was; 0 if none.

	mu struct {
		sync.Mutex // Held for field access only.

		running   bool
		done      chan struct{} // Closed when the one that runs is done.
		snapshots []int64       // Producer snapshots that were written and not synced.
		// sealed are segments whose index files were completed and not synced. Their
		// batches may be durable, but the recovery point stays below them: the scan is
		// what makes lost indexes again.
		sealed []*sealed
	}
	epochs    sync.Mutex // Orders writes of the leader epoch file; held over them.
	snapshots sync.Mutex // Orders syncs of producer snapshots; held over them.
}

// sealed is one sealing of a segment, which may be sealed more than once: a truncation
// makes it the one that is written to again.
type sealed struct{ *segment.Segment }

// unsynced counts changes that a sync of a directory has to make durable. What was
// changed stays unsynced until a sync that began later has ended: whoever comes while
// one runs must not go on as if it were done.
type unsynced struct{ changed, synced atomic.Int64 }

// change says that something was changed just now, and returns its number.
func (u *unsynced) change() int64 { return u.changed.Add(1) }

// sync makes the changes up to a number durable by do, if they are not. Any number of
// callers may do that at the same time.
func (u *unsynced) sync(number int64, do func() error) error {
	if u.synced.Load() >= number {
		return nil
	}
	return u.during(do)
}

// during calls do, which syncs the directory.
func (u *unsynced) during(do func() error) error {
	upTo := u.changed.Load()
	if err := do(); err != nil {
		return err
	}
	for {
		if was := u.synced.Load(); was >= upTo || u.synced.CompareAndSwap(was, upTo) {
			return nil
		}
	}
}

// Flushed returns the offset below which everything is durable.
func (l *Log) Flushed() int64 { return l.sync.flushed.Load() }

// recoveryPoint returns the offset below which a start after a crash need not look:
// the batches and the indexes that lead to them are durable. The segment that is being
// written is scanned in any case, so the point is never inside it; at its very end it
// would become the next segment's base, and the indexes of this one, which are not
// durable, would be trusted. After a clean stop all are, and the point is the end of
// the batches.
func (l *Log) recoveryPoint() int64 {
	l.sync.mu.Lock()
	defer l.sync.mu.Unlock()
	point := l.sync.flushed.Load()
	if l.closed.Load() {
		return point
	}
	if len(l.sync.mu.sealed) > 0 {
		point = min(point, l.sync.mu.sealed[0].Base())
	}
	return min(point, l.state.Load().active().Base())
}

// Flush makes everything appended before the call durable. Concurrent callers share
// one sync: whoever comes while one runs waits for the next, which covers all who
// waited. After a failure the log refuses writes until restart (*FailedError): what
// the kernel dropped cannot be found out, and a second sync would report success.
func (l *Log) Flush() error { return l.flushTo(l.End().Offset, true) }

// flushSealed is Flush for all but the segment that is being written, and for the
// indexes of the others.
func (l *Log) flushSealed() error {
	if !l.sealedWait() {
		return nil
	}
	return l.flushTo(l.state.Load().active().Base(), false)
}

// sealedWait says whether sealed segments wait to be synced.
func (l *Log) sealedWait() bool {
	l.sync.mu.Lock()
	defer l.sync.mu.Unlock()
	return len(l.sync.mu.sealed) > 0
}

// flushTo returns when everything below target is durable, and with active false also
// the indexes of sealed segments.
func (l *Log) flushTo(target int64, active bool) error {
	for l.sync.flushed.Load() < target || !active && l.sealedWait() {
		if err := l.Err(); err != nil {
			return err
		}
		l.sync.mu.Lock()
		if l.sync.mu.running {
			done := l.sync.mu.done
			l.sync.mu.Unlock()
			<-done
			continue
		}
		if active && l.sync.flushed.Load() >= target {
			l.sync.mu.Unlock() // Another sync has ended since it was looked at above.
			break
		}
		l.sync.mu.running, l.sync.mu.done = true, make(chan struct{})
		l.sync.mu.Unlock()

		end, err := l.syncOnce(active)

		l.sync.mu.Lock()
		l.sync.mu.running = false
		close(l.sync.mu.done)
		l.sync.mu.Unlock()
		if errors.Is(err, fs.ErrNotExist) && l.closed.Load() {
			return &ClosedError{l.Dir()} // Its files went from under the sync.
		}
		if err != nil {
			return l.fail(err)
		}
		if end < target {
			return nil // Cut meanwhile: what was to be flushed is gone.
		}
	}
	return nil
}

// syncOnce syncs what was appended so far, and returns up to where. Callers take turns.
func (l *Log) syncOnce(active bool) (end int64, err error) {
	began := l.store.now()
	l.mu.Lock()
	covered := l.mu.unflushed
	l.mu.Unlock()
	st := l.state.Load()
	last := len(st.segments) - 1
	end = st.end.Offset
	l.sync.mu.Lock()
	waiting := l.sync.mu.sealed
	l.sync.mu.Unlock()
	// At a stop, and when a truncation has come back to it.
	amongSealed := slices.ContainsFunc(waiting, func(s *sealed) bool { return s.Segment == st.segments[last] })
	if !active && !amongSealed {
		end = st.segments[last].Base()
	}
	for _, s := range waiting {
		if err := s.Sync(true); err != nil && !l.vanished(s.Segment, err) {
			return 0, err
		}
	}
	if active && !amongSealed {
		if err := st.segments[last].Sync(false); err != nil && !l.vanished(st.segments[last], err) {
			return 0, err
		}
	}
	if err := l.syncRest(); err != nil {
		return 0, err
	}
	l.raiseFlushed(st, end, covered, active || amongSealed, waiting)
	l.store.metrics.synced(l.store.now().Sub(began))
	return end, nil
}

// vanished says that a segment's file could not be found because it has left the log.
func (l *Log) vanished(seg *segment.Segment, err error) bool {
	return errors.Is(err, fs.ErrNotExist) && !slices.Contains(l.state.Load().segments, seg)
}

// syncRest makes durable what must be so before the recovery point may pass it: the
// producer snapshots, the leader epochs and the names of the files.
func (l *Log) syncRest() error {
	if err := l.syncSnapshots(); err != nil {
		return err
	}
	if err := l.writeEpochs(); err != nil {
		return err
	}
	return l.syncNames()
}

// syncSnapshots makes durable the producer snapshots that were written so far.
func (l *Log) syncSnapshots() error {
	l.sync.snapshots.Lock() // Who comes while another syncs them needs the result.
	defer l.sync.snapshots.Unlock()
	l.sync.mu.Lock()
	list := l.sync.mu.snapshots
	l.sync.mu.snapshots = nil
	l.sync.mu.Unlock()
	for _, offset := range list {
		if err := l.syncFile(segment.FileName(offset, segment.SnapshotSuffix)); err != nil {
			return err
		}
	}
	return nil
}

// syncNames makes the names in the partition's directory durable, and its own.
func (l *Log) syncNames() error {
	err := l.sync.names.sync(l.sync.names.changed.Load(), func() error { return l.fs.SyncDir(l.Dir()) })
	if err != nil {
		return err
	}
	return l.store.dirs.sync(l.sync.dirMade.Load(), func() error { return l.fs.SyncDir(l.store.dir) })
}

// syncFile syncs a file of the directory if it is still there.
func (l *Log) syncFile(name string) (err error) {
	f, err := l.fs.OpenFile(l.join(name), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

// raiseFlushed moves the recovery point up to end, unless the log was cut since st. all
// says that the newest segment was synced, too.
func (l *Log) raiseFlushed(st *state, end, covered int64, all bool, synced []*sealed) {
	l.sync.mu.Lock()
	defer l.sync.mu.Unlock()
	if l.state.Load().cuts != st.cuts {
		return
	}
	l.sync.flushed.Store(max(l.sync.flushed.Load(), end))
	l.sync.mu.sealed = slices.DeleteFunc(l.sync.mu.sealed, func(s *sealed) bool { return slices.Contains(synced, s) })
	if !all {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.unflushed = max(l.mu.unflushed-covered, 0)
	l.mu.dirtySince = time.Time{}
	if l.mu.unflushed > 0 {
		l.mu.dirtySince = l.store.now()
	}
}

// lowerFlushed takes the recovery point back to offset. If the one on disk is above,
// it is written at once: after a crash nothing above a recovery point is scanned.
func (l *Log) lowerFlushed(offset int64) error {
	l.sync.mu.Lock()
	l.sync.flushed.Store(min(l.sync.flushed.Load(), offset))
	l.sync.mu.Unlock()
	l.lowerCleaned(offset)
	l.mu.Lock()
	l.mu.unflushed, l.mu.dirtySince = 0, time.Time{}
	l.mu.Unlock()
	return l.store.lowerPoints(l)
}

// flushOverdue says whether Config.FlushInterval has passed since the oldest record
// that is not durable.
func (l *Log) flushOverdue(now time.Time) bool {
	interval := l.config.Load().FlushInterval
	if interval <= 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.mu.dirtySince.IsZero() && now.Sub(l.mu.dirtySince) >= interval
}

// FlushDue says whether Config.FlushMessages records wait to be synced.
func (l *Log) FlushDue() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.unflushed >= l.config.Load().FlushMessages
}
