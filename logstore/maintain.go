package logstore

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
)

// upkeep is when Maintain did each of its duties last. Maintain's own.
type upkeep struct {
	highWatermarks, points, retention, idle, producers time.Time
}

// binned is a file or directory that is to be removed.
type binned struct {
	path string
	due  time.Time
}

// bin queues paths for removal at a time.
func (s *Store) bin(due time.Time, paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range paths {
		s.mu.binned = append(s.mu.binned, binned{p, due})
	}
}

// Maintain does what is due: syncs of sealed segments and of logs with a
// FlushInterval, checkpoints, retention, removal of deleted files, and it closes idle
// files and forgets old producers. A shell calls it about once a second; each call
// does little, except that a sync takes as long as the disk does.
//
// An error means that the directory could not be written to; what failed stays due.
func (s *Store) Maintain(now time.Time) error {
	logs := s.allLogs()
	var errs []error
	for _, l := range logs {
		if l.due.Swap(false) {
			errs = append(errs, l.maintain(now))
		}
	}
	due := func(last *time.Time, every time.Duration) bool {
		if now.Sub(*last) < every {
			return false
		}
		*last = now
		return true
	}
	if s.upkeep.retention.IsZero() {
		s.upkeep.retention = now.Add(min(s.opt.FirstRetention, s.opt.RetentionInterval) - s.opt.RetentionInterval)
	}
	if due(&s.upkeep.retention, s.opt.RetentionInterval) {
		errs = append(errs, s.retain(now))
	}
	if due(&s.upkeep.producers, s.opt.ProducerExpiryInterval) {
		for _, l := range logs {
			l.mu.Lock()
			l.mu.producers.Expire(now.UnixMilli())
			l.mu.Unlock()
		}
	}
	if due(&s.upkeep.highWatermarks, s.opt.HighWatermarkInterval) {
		errs = append(errs, s.writeHighWatermarks())
	}
	if due(&s.upkeep.points, s.opt.PointsInterval) {
		errs = append(errs, s.writePoints())
	}
	if due(&s.upkeep.idle, s.opt.IdleAfter) {
		s.pool.Sweep()
	}
	errs = append(errs, s.emptyBin(now))
	return errors.Join(errs...)
}

// retain applies retention to all logs, and takes away the files of what left, now or by
// a Retain before.
func (s *Store) retain(now time.Time) error {
	var errs []error
	logs := s.allLogs()
	for _, l := range logs {
		if l.topic == metadataTopic {
			continue // The quorum decides what it keeps, by its snapshots.
		}
		_, err := l.Retain(now)
		errs = append(errs, ignoreClosed(err))
	}
	s.pointsFile.Lock()
	err := s.writeStartsLocked()
	s.pointsFile.Unlock()
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, l := range logs {
		errs = append(errs, ignoreClosed(l.dropLeaving(now)))
	}
	return errors.Join(errs...)
}

// allLogs returns the logs and the metadata log.
func (s *Store) allLogs() []*Log {
	logs := s.Logs()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.metadata != nil {
		logs = append(logs, s.mu.metadata)
	}
	return logs
}

// wantMaintain says that something has changed that maintain looks after. A log that
// nobody uses costs Maintain a look at a flag.
func (l *Log) wantMaintain() {
	if !l.due.Load() {
		l.due.Store(true)
	}
}

// maintain does for one log what cannot wait for a checkpoint.
func (l *Log) maintain(now time.Time) (err error) {
	if l.Err() != nil {
		return nil // Told when it failed.
	}
	if l.config.Load().FlushInterval > 0 && l.Flushed() < l.End().Offset {
		l.wantMaintain() // Not yet due, perhaps.
	}
	defer func() {
		if err != nil {
			l.wantMaintain()
		}
	}()
	switch {
	case l.flushOverdue(now):
		err = l.Flush()
	default:
		err = l.flushSealed()
	}
	if err != nil {
		return err
	}
	l.writer.Lock()
	defer l.writer.Unlock()
	if !l.onDisk.Load() || l.closed.Load() {
		return nil
	}
	return l.writeEpochs()
}

func ignoreClosed(err error) error {
	if _, ok := errors.AsType[*ClosedError](err); ok {
		return nil
	}
	if _, ok := errors.AsType[*FailedError](err); ok {
		return nil // Told when it failed.
	}
	return err
}

// emptyBin removes what is due for removal. What cannot be removed is told and not
// tried again before the next start.
func (s *Store) emptyBin(now time.Time) error {
	s.mu.Lock()
	var due []string
	s.mu.binned = slices.DeleteFunc(s.mu.binned, func(b binned) bool {
		if now.Before(b.due) {
			return false
		}
		due = append(due, b.path)
		return true
	})
	s.mu.Unlock()
	for _, path := range due {
		if err := s.fs.RemoveAll(path); err != nil {
			s.logger.Warn("file not removed, the next start tries again", slog.String("path", path), slog.Any("err", err))
		}
	}
	return nil
}

// closeThreads is how many logs are closed at the same time at least. Closing is waiting
// for syncs, and file systems join those of several files.
const closeThreads = 8

// Close flushes and closes all logs, writes the checkpoints, and then, last, the mark
// that makes the next start a clean one, with the broker epoch to be told then. If
// anything failed there is no mark, and the next start scans.
//
// Before Load has succeeded the checkpoints stay as they were found and there is no
// mark: they tell of logs that nobody has looked at, which a mark would vouch for.
func (s *Store) Close(brokerEpoch int64) error {
	if !s.shut() {
		return nil
	}
	logs := s.allLogs()
	var closed atomic.Int64
	progress := s.progress("logs closing", &closed, len(logs))
	err := each(context.Background(), max(s.opt.LoadThreads, closeThreads), logs, func(l *Log) error {
		defer progress()
		return l.close()
	})
	if err == nil && s.isLoaded() {
		err = s.markClean(brokerEpoch)
	}
	return errors.Join(err, s.lock.Close())
}

// markClean writes the checkpoints, and the mark if they are written.
func (s *Store) markClean(brokerEpoch int64) error {
	if err := errors.Join(s.writeHighWatermarks(), s.writePoints(), s.writeManifest()); err != nil {
		return err
	}
	return checkpoint.WriteCleanShutdown(s.fs, s.dir, brokerEpoch)
}

func (s *Store) isLoaded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.loaded
}

// Abandon closes all files without writing anything: to the next start it is a crash.
func (s *Store) Abandon() error {
	if !s.shut() {
		return nil
	}
	for _, l := range s.allLogs() {
		l.writer.Lock()
		l.closed.Store(true)
		l.writer.Unlock()
		l.release()
	}
	return s.lock.Close()
}

// shut marks the store closed, and says whether it was open.
func (s *Store) shut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.mu.closed
	s.mu.closed = true
	return !was
}

// close completes the log's files and makes everything durable.
func (l *Log) close() error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if l.closed.Load() {
		return nil
	}
	l.closed.Store(true)
	defer l.release()
	if !l.onDisk.Load() {
		return nil
	}
	if err := l.Err(); err != nil {
		return err
	}
	if !l.writer.touched {
		if err := l.syncRest(); err != nil {
			return l.fail(err)
		}
		return nil
	}
	st := l.state.Load()
	if err := st.active().Seal(); err != nil {
		return l.ioError("close", err)
	}
	// By the end of the batches, which is all that the next start knows of.
	if err := l.takeSnapshot(l.writer.tail); err != nil {
		return l.ioError("close", err)
	}
	// One pass for all: the next start trusts the indexes of the last segment, too. Every
	// sync counts, for at a stop there may be thousands of logs.
	if st.active().Dirty() || l.Flushed() < st.end.Offset {
		l.sync.names.change() // Its index files may be new.
		l.seal(st.active())
	}
	if err := l.flushSealed(); err != nil {
		return err
	}
	if err := l.syncRest(); err != nil {
		return l.fail(err)
	}
	l.sync.flushed.Store(min(l.sync.flushed.Load(), l.writer.tail)) // See recoveryPoint.
	return nil
}
