package coordinator

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// maxBatchBytes bounds what one batch may decompress to at load. Our own batches
// are small; Kafka's are at most message.max.bytes before compression.
const maxBatchBytes = 1 << 30

// load reads the log into a new shard and goes on to serve. The caller is the
// owner.
func (a *actor) load() {
	select {
	case a.rt.loads <- struct{}{}:
	case <-a.ctx.Done():
		a.run(1) // Only finds that it is stopped.
		return
	}
	err := a.guard(a.replayAll)
	<-a.rt.loads
	if err == nil {
		a.mu.Lock()
		if a.mu.phase == loading {
			a.mu.phase, a.mu.err = active, nil
			close(a.mu.settled)
		}
		a.mu.Unlock()
		err = a.guard(a.loaded)
	}
	if err != nil {
		if a.ctx.Err() == nil {
			a.logger.LogAttrs(a.ctx, slog.LevelError, "shard was not loaded", slog.Any("err", err))
		}
		a.fail(err)
		return
	}
	a.run(-1)
}

// replayAll makes a new shard from the log.
func (a *actor) replayAll() error {
	began := time.Now()
	shard := a.rt.opts.NewShard(a.partition)
	var records int
	err := a.log.Replay(a.ctx, func(b batch.Batch) error {
		n, err := ReplayBatch(shard, b)
		records += n
		return err
	})
	if err != nil {
		return fmt.Errorf("load %s partition %d: %w", a.rt.opts.Name, a.partition, err)
	}
	a.shard = shard
	took := time.Since(began)
	a.rt.opts.Metrics.LoadSeconds.Observe(took.Seconds())
	a.logger.LogAttrs(a.ctx, loadLevel(took), "shard loaded",
		slog.Int("records", records), slog.Int64("end", a.log.End()), slog.Int64("took_us", took.Microseconds()))
	return nil
}

// loadLevel keeps the log of a start short: of dozens of shards only those that
// took long to load are worth a line.
func loadLevel(took time.Duration) slog.Level {
	if took >= time.Second {
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// loaded lets the new shard set its timers. It may write, as in any step.
func (a *actor) loaded() error {
	a.publish()
	return a.step(0, nil, a.shard.Loaded)
}

// ReplayBatch gives a batch's records to a shard, or the marker that it is, and
// returns how many records it gave. It is exported for tests that have no runtime.
func ReplayBatch(s Shard, b batch.Batch) (records int, err error) {
	if b.Control() {
		return 0, replayControl(s, b)
	}
	at := At{ProducerID: -1, ProducerEpoch: -1}
	if b.Transactional() {
		at.ProducerID, at.ProducerEpoch = b.ProducerID(), b.ProducerEpoch()
	}
	it := b.Records(maxBatchBytes)
	defer it.Close()
	for it.Next() {
		at.Offset, at.TimestampMs = it.Offset(), it.Timestamp()
		r := it.Record()
		// The iterator uses its buffers again, and a shard keeps what it is given.
		if err := s.Replay(at, Record{Key: clone(r.Key), Value: clone(r.Value)}); err != nil {
			return records, fmt.Errorf("offset %d: %w", at.Offset, err)
		}
		records++
	}
	if err := it.Err(); err != nil {
		return records, fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
	}
	return records, nil
}

// replayControl gives a transaction's marker to the shard. Other control records
// are the log's own business.
func replayControl(s Shard, b batch.Batch) error {
	it := b.Records(maxBatchBytes)
	defer it.Close()
	for it.Next() {
		switch typ, ok := batch.ControlType(it.Record().Key); {
		case !ok:
			return fmt.Errorf("control record at offset %d has no type", it.Offset())
		case typ == batch.ControlAbort:
			s.ReplayMarker(b.ProducerID(), b.ProducerEpoch(), false)
		case typ == batch.ControlCommit:
			s.ReplayMarker(b.ProducerID(), b.ProducerEpoch(), true)
		}
	}
	return it.Err()
}

// clone copies and keeps null apart from empty.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}
