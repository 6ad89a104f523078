package coordtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// Log is a coordinator.Log in memory. Its records are committed at once unless
// Hold was called. Any goroutine may use it.
type Log struct {
	mu struct {
		sync.Mutex
		batches   []batch.Batch
		end       int64
		committed int64
		held      bool
		onCommit  func()
		failing   []failure
		replayErr error
	}
}

// failure is what becomes of one append.
type failure struct {
	err   error
	wrote bool // The records are in the log all the same.
}

var _ coordinator.TxnLog = (*Log)(nil)

// NewLog returns an empty log.
func NewLog() *Log { return new(Log) }

// Append implements coordinator.Log.
func (l *Log) Append(now time.Time, recs []coordinator.Record) (int64, error) {
	return l.AppendTxn(now, -1, -1, recs)
}

// AppendTxn appends the records as part of a producer's transaction, as a
// TxnOffsetCommit to Kafka does; producer id -1 is no transaction.
func (l *Log) AppendTxn(now time.Time, producerID int64, epoch int16, recs []coordinator.Record) (int64, error) {
	l.mu.Lock()
	defer l.notify()
	defer l.mu.Unlock()
	var fail failure
	if len(l.mu.failing) > 0 {
		fail, l.mu.failing = l.mu.failing[0], l.mu.failing[1:]
	}
	if fail.err != nil && !fail.wrote {
		return -1, fail.err
	}
	b := batch.NewBuilder(batch.Meta{
		BaseOffset:    l.mu.end,
		ProducerID:    producerID,
		ProducerEpoch: epoch,
		BaseSequence:  -1,
		Transactional: producerID >= 0,
	})
	for _, r := range recs {
		b.Append(now.UnixMilli(), r.Key, r.Value)
	}
	return l.addLocked(b.Build(), int64(len(recs))), fail.err
}

// AppendWithin implements coordinator.TxnLog.
func (l *Log) AppendWithin(now time.Time, w coordinator.Within, recs []coordinator.Record) (int64, error) {
	return l.AppendTxn(now, w.ProducerID, w.Epoch, recs)
}

// AppendEnd implements coordinator.TxnLog.
func (l *Log) AppendEnd(now time.Time, m coordinator.Marker) error {
	l.mu.Lock()
	var fail failure
	if len(l.mu.failing) > 0 {
		fail, l.mu.failing = l.mu.failing[0], l.mu.failing[1:]
	}
	l.mu.Unlock()
	if fail.err == nil || fail.wrote {
		l.AppendMarker(now, m.ProducerID, m.Epoch, m.Commit)
	}
	return fail.err
}

// AppendMarker ends a producer's transaction.
func (l *Log) AppendMarker(now time.Time, producerID int64, epoch int16, commit bool) {
	l.mu.Lock()
	defer l.notify()
	defer l.mu.Unlock()
	meta := batch.Meta{BaseOffset: l.mu.end, ProducerID: producerID, ProducerEpoch: epoch, BaseSequence: -1}
	l.addLocked(batch.EndTxn(meta, commit, 0, now.UnixMilli()), 1)
}

func (l *Log) addLocked(b batch.Batch, n int64) (base int64) {
	base = l.mu.end
	l.mu.batches = append(l.mu.batches, b)
	l.mu.end += n
	if !l.mu.held {
		l.mu.committed = l.mu.end
	}
	return base
}

// notify calls the function of OnCommit, outside the lock.
func (l *Log) notify() {
	l.mu.Lock()
	f := l.mu.onCommit
	l.mu.Unlock()
	if f != nil {
		f()
	}
}

// End implements coordinator.Log.
func (l *Log) End() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.end
}

// Committed implements coordinator.Log.
func (l *Log) Committed() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.committed
}

// OnCommit implements coordinator.Log.
func (l *Log) OnCommit(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.onCommit = f
}

// Replay implements coordinator.Log.
func (l *Log) Replay(ctx context.Context, f func(batch.Batch) error) error {
	l.mu.Lock()
	batches, err := slices.Clone(l.mu.batches), l.mu.replayErr
	l.mu.Unlock()
	if err != nil {
		return err
	}
	for _, b := range batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// Hold keeps what is appended from now on uncommitted until Commit.
func (l *Log) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.held = true
}

// Release commits everything, and from now on everything at once.
func (l *Log) Release() {
	l.mu.Lock()
	l.mu.held = false
	l.mu.Unlock()
	l.Commit()
}

// Commit commits everything appended so far.
func (l *Log) Commit() { l.CommitTo(l.End()) }

// CommitTo commits the log up to an offset (not included).
func (l *Log) CommitTo(offset int64) {
	l.mu.Lock()
	l.mu.committed = max(l.mu.committed, min(offset, l.mu.end))
	l.mu.Unlock()
	l.notify()
}

// Fail makes the next append fail with err and write nothing. Calls queue up; nil
// takes back what has not come up yet.
func (l *Log) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.mu.failing = nil
		return
	}
	l.mu.failing = append(l.mu.failing, failure{err: err})
}

// FailAfterWrite makes the next append fail with err although its records are in
// the log.
func (l *Log) FailAfterWrite(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.failing = append(l.mu.failing, failure{err, true})
}

// FailReplay makes Replay fail with err, or work again if err is nil.
func (l *Log) FailReplay(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.replayErr = err
}
