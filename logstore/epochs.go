package logstore

import (
	"slices"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
)

// AssignEpoch notes that a leader of this epoch begins at the end of the log, even if
// it never appends. The file hears of it with the first batch: an epoch without one
// begins where the next will, and writing it for each partition at each start, two
// syncs apiece, would hold up a broker of many partitions for seconds.
func (l *Log) AssignEpoch(epoch int32) {
	end := l.End().Offset
	l.mu.Lock()
	if l.mu.epochs.Assign(epoch, end) {
		l.mu.epochWaits = true
	}
	l.mu.Unlock()
	l.check()
}

// LastEpoch returns the newest leader epoch, or -1.
func (l *Log) LastEpoch() int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return latestEpoch(l.mu.epochs)
}

// EpochEnd returns where the records of a leader epoch end, and the epoch that this is
// true of: the one asked, or the newest before it if it wrote nothing here. (-1, -1)
// if the log has nothing to compare with. Kafka's OffsetForLeaderEpoch.
func (l *Log) EpochEnd(epoch int32) (found int32, end int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.epochs.End(epoch, l.state.Load().end.Offset)
}

// EpochAt returns the leader epoch of the record at offset, or -1.
func (l *Log) EpochAt(offset int64) int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.epochs.At(offset)
}

// latestEpoch returns the newest epoch of a history, or -1.
func latestEpoch(e checkpoint.Epochs) int32 {
	last, ok := e.Latest()
	if !ok {
		return -1
	}
	return last.Epoch
}

// writeEpochs writes the leader epoch file if it is behind. Epochs above the recovery
// point need not be in it: the scan after a crash finds them in the batches.
func (l *Log) writeEpochs() error {
	l.sync.epochs.Lock()
	defer l.sync.epochs.Unlock()
	l.mu.Lock()
	dirty, list := l.mu.epochsDirty, slices.Clone(l.mu.epochs)
	l.mu.epochsDirty = false
	l.mu.Unlock()
	if !dirty {
		return nil
	}
	err := l.sync.names.during(func() error { return checkpoint.WriteEpochs(l.fs, l.join(checkpoint.LeaderEpochs), list) })
	if err != nil {
		l.mu.Lock()
		l.mu.epochsDirty = true
		l.mu.Unlock()
		return err
	}
	return nil
}
