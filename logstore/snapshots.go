package logstore

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// takeSnapshot saves the producer state as of offset, the end of what was applied,
// unless there is a snapshot that new already. It is synced before the recovery point
// passes it. The writer's lock is held.
func (l *Log) takeSnapshot(offset int64) error {
	if n := len(l.writer.snapshots); offset <= 0 || n > 0 && l.writer.snapshots[n-1] >= offset {
		return nil
	}
	l.mu.Lock()
	l.mu.producers.SetMapEnd(offset)
	bytes := l.mu.producers.Encode()
	l.mu.Unlock()
	if err := l.writeSnapshot(offset, bytes); err != nil {
		return err
	}
	l.writer.snapshots = append(l.writer.snapshots, offset)
	l.sync.names.change()
	l.syncLater(offset)
	return nil
}

// syncLater says that the snapshot of that offset, if there is one, is not synced.
func (l *Log) syncLater(offset int64) {
	l.sync.mu.Lock()
	defer l.sync.mu.Unlock()
	l.sync.mu.snapshots = append(l.sync.mu.snapshots, offset)
}

func (l *Log) writeSnapshot(offset int64, bytes []byte) (err error) {
	name := l.join(segment.FileName(offset, segment.SnapshotSuffix))
	f, err := l.fs.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = l.fs.Remove(name) // A part of one would be found damaged and passed over.
		}
	}()
	_, err = f.WriteAt(bytes, 0)
	return err
}

// removeSnapshots deletes the snapshots whose offset doomed accepts.
func (l *Log) removeSnapshots(doomed func(offset int64) bool) error {
	var errs []error
	l.writer.snapshots = slices.DeleteFunc(l.writer.snapshots, func(offset int64) bool {
		if !doomed(offset) {
			return false
		}
		err := l.fs.Remove(l.join(segment.FileName(offset, segment.SnapshotSuffix)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			return false
		}
		l.sync.names.change()
		return true
	})
	return errors.Join(errs...)
}

// keepSnapshots deletes the snapshots that no segment's base matches, but for the
// newest one if it lies above all bases.
func (l *Log) keepSnapshots(segs []*segment.Segment) error {
	newest := int64(-1)
	if n := len(l.writer.snapshots); n > 0 {
		newest = l.writer.snapshots[n-1]
	}
	top := segs[len(segs)-1].Base()
	return l.removeSnapshots(func(offset int64) bool {
		_, matches := slices.BinarySearchFunc(segs, offset, func(s *segment.Segment, o int64) int {
			return int(min(max(s.Base()-o, -1), 1))
		})
		return !matches && !(offset == newest && offset > top)
	})
}

// loadProducers makes the producer state as of offset end from the newest snapshot at
// or below it and the batches from there. A damaged snapshot is deleted and the one
// before it used; an empty state would let duplicates in.
func (l *Log) loadProducers(st *state, end int64, now time.Time) error {
	if err := l.removeSnapshots(func(o int64) bool { return o > end || o < st.first() }); err != nil {
		return err
	}
	p, err := l.producersFrom(now, st, end)
	if err != nil {
		return err
	}
	l.mu.Lock()
	p.Replaces(l.mu.producers)
	l.mu.producers = p
	l.mu.Unlock()
	return nil
}

// producersFrom is loadProducers without publishing what it made.
func (l *Log) producersFrom(now time.Time, st *state, end int64) (*producer.State, error) {
	p := producer.New(l.config.Load().ProducerIDExpiry)
	p.Reset(min(st.first(), end)) // Records below the start may not be read, but they tell.
	at := len(l.writer.snapshots)
	for at > 0 && l.writer.snapshots[at-1] > end {
		at--
	}
	for ; at > 0; at-- {
		offset := l.writer.snapshots[at-1]
		entries, err := l.readSnapshot(offset)
		if err == nil {
			p.Load(entries, offset, now.UnixMilli())
			break
		}
		if _, damaged := errors.AsType[*producer.SnapshotError](err); !damaged && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		l.logger.Warn("producer snapshot is damaged, the one before it is used",
			slog.String("dir", l.Dir()), slog.Int64("offset", offset), slog.Any("err", err))
		if err := l.removeSnapshots(func(o int64) bool { return o == offset }); err != nil {
			return nil, err
		}
	}
	return p, replayProducers(p, st, end)
}

func (l *Log) readSnapshot(offset int64) ([]producer.Entry, error) {
	bytes, err := vfs.ReadFile(l.fs, l.join(segment.FileName(offset, segment.SnapshotSuffix)))
	if err != nil {
		return nil, err
	}
	return producer.Decode(bytes)
}

// replayProducers applies the batches from where p stands up to end.
func replayProducers(p *producer.State, st *state, end int64) error {
	var failed error
	err := st.batches(p.MapEnd(), end, func(b batch.Batch, err error) bool {
		var m *producer.Marker
		if err == nil {
			m, err = markerOf(b)
		}
		if err != nil {
			failed = err
			return false
		}
		p.Apply(b, m)
		return true
	})
	p.SetMapEnd(end)
	return errors.Join(err, failed)
}

// reloadProducers brings the producer state back to offset end, after a cut.
func (l *Log) reloadProducers(now time.Time, end int64) error {
	st := l.state.Load()
	if err := l.loadProducers(st, end, now); err != nil {
		return err
	}
	l.mu.Lock()
	l.mu.producers.OnHighWatermark(st.hw.Offset)
	l.mu.Unlock()
	l.publish(func(*state) {})
	return l.takeSnapshot(l.writer.tail)
}
