package logstore

import (
	"cmp"
	"maps"
	"slices"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
)

// offsetsFile is one of the directory's checkpoints: a number for each log. It knows what
// the file may say. A write that fails may have put the new content there or not, for now
// or until the power goes: then the higher of both numbers counts, for what stands above
// the truth does harm, and the file is written again whatever it is to say.
type offsetsFile struct {
	name     string
	most     map[partitionKey]int64 // The highest number that may be there.
	doubtful bool                   // The last write failed.
}

// write replaces the file, durably, unless it is known to hold these values.
func (f *offsetsFile) write(s *Store, values map[partitionKey]int64) error {
	if !f.doubtful && maps.Equal(values, f.most) {
		return nil
	}
	f.doubtful = true
	if err := checkpoint.WriteOffsets(s.fs, s.path(f.name), offsetList(values)); err != nil {
		for key, v := range values {
			f.most[key] = max(f.most[key], v)
		}
		return err
	}
	f.most, f.doubtful = values, false
	return nil
}

// offsetList gives the lines of a checkpoint, in order.
func offsetList(values map[partitionKey]int64) []checkpoint.Offset {
	list := make([]checkpoint.Offset, 0, len(values))
	for key, v := range values {
		list = append(list, checkpoint.Offset{Topic: key.topic, Partition: key.partition, Offset: v})
	}
	slices.SortFunc(list, func(a, b checkpoint.Offset) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return list
}

// offsets gathers one number of each log, where tell has one.
func (s *Store) offsets(tell func(*Log) (int64, bool)) map[partitionKey]int64 {
	all := make(map[partitionKey]int64)
	for _, l := range s.Logs() {
		if v, ok := tell(l); ok && l.onDisk.Load() {
			all[partitionKey{l.topic, l.partition}] = v
		}
	}
	return all
}

func (s *Store) writeHighWatermarks() error {
	return s.highWatermarks.write(s, s.offsets(func(l *Log) (int64, bool) { return l.HighWatermark().Offset, true }))
}

// writePoints writes the recovery points and the log starts.
func (s *Store) writePoints() error {
	s.pointsFile.Lock()
	defer s.pointsFile.Unlock()
	if err := s.writeStartsLocked(); err != nil {
		return err
	}
	return s.writeRecoveryPointsLocked()
}

// writeStartsLocked writes the log starts. Kafka leaves out those that the name of the
// first segment tells; here they are needed until the removal of what lay before is
// durable.
func (s *Store) writeStartsLocked() error {
	return s.pointsFile.starts.write(s, s.offsets(func(l *Log) (int64, bool) { return l.Start(), l.Start() > 0 }))
}

func (s *Store) writeRecoveryPointsLocked() error {
	return s.pointsFile.recovery.write(s, s.offsets(func(l *Log) (int64, bool) { return l.recoveryPoint(), true }))
}

// lowerPoints writes the recovery points and the log starts at once if those of l on
// disk may lie above what they are now.
func (s *Store) lowerPoints(l *Log) error {
	key := partitionKey{l.topic, l.partition}
	s.pointsFile.Lock()
	defer s.pointsFile.Unlock()
	if s.pointsFile.starts.most[key] > l.Start() {
		if err := s.writeStartsLocked(); err != nil {
			return err
		}
	}
	if s.pointsFile.recovery.most[key] > l.recoveryPoint() {
		return s.writeRecoveryPointsLocked()
	}
	return nil
}

// writeCleaned writes the cleaner's checkpoint. A number in it that is too high is
// harmless: less is compacted than could be.
func (s *Store) writeCleaned() error {
	return s.cleaned.write(s, s.offsets(func(l *Log) (int64, bool) { return l.cleaned.Load(), l.cleaned.Load() > 0 }))
}
