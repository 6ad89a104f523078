package compact

import (
	"time"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/codec"
)

// Filter answers what becomes of each batch of a log, in their order.
type Filter struct {
	keys      *Map
	nowMs     int64
	retainMs  int64 // Kafka's delete.retention.ms.
	producers map[int64]producer.Entry
	hw        int64 // High watermark.
	txns      Txns
	keep      []bool // Of the batch at hand: which records stay.
	stats     Stats
}

// Stats counts what a round did.
type Stats struct {
	Batches, BatchesKept int64
	Records, RecordsKept int64
	Bytes, BytesKept     int64
}

// Result is what becomes of a batch.
type Result struct {
	Batch   batch.Batch       // Nil if it goes; else what stands in its place.
	Changed bool              // Batch is not the one that came in, or there is none.
	Aborted *producer.Aborted // Entry of the transaction index, if the marker needs one.
}

// NewFilter returns the filter of a round. producers are those that the log knows now:
// what their next sequence is told by must stay. So must the batch that ends at the high
// watermark, for a reader that goes by offsets to get there; see decide.
func NewFilter(keys *Map, now time.Time, deleteRetention time.Duration, producers []producer.Entry, highWatermark int64) *Filter {
	f := &Filter{
		keys: keys, nowMs: now.UnixMilli(), retainMs: deleteRetention.Milliseconds(), hw: highWatermark,
		producers: make(map[int64]producer.Entry, len(producers)),
	}
	for _, e := range producers {
		f.producers[e.ProducerID] = e
	}
	return f
}

// Expect tells of aborted transactions in what comes; see Txns.
func (f *Filter) Expect(list []producer.Aborted) { f.txns.Expect(list) }

// Stats tells what was done so far.
func (f *Filter) Stats() Stats { return f.stats }

// Next decides about the next batch.
func (f *Filter) Next(b batch.Batch) (Result, error) {
	f.stats.Batches++
	f.stats.Records += int64(b.Count())
	f.stats.Bytes += int64(len(b))
	r, err := f.decide(b)
	if r.Batch != nil {
		f.stats.BatchesKept++
		f.stats.RecordsKept += int64(r.Batch.Count())
		f.stats.BytesKept += int64(len(r.Batch))
	}
	return r, err
}

func (f *Filter) decide(b batch.Batch) (Result, error) {
	var discard, needless bool
	var entry *producer.Aborted
	if b.Control() {
		var err error
		if needless, entry, err = f.txns.Control(b); err != nil {
			return Result{}, err
		}
		discard = needless && b.HasDeleteHorizon() && b.BaseTimestamp() <= f.nowMs
	} else {
		discard = f.txns.Data(b)
	}
	kept, tombstones := int32(0), false
	if !discard {
		var err error
		if kept, tombstones, err = f.choose(b); err != nil {
			return Result{}, err
		}
	}
	newHorizon := (tombstones || needless) && !b.HasDeleteHorizon()
	switch {
	case kept == 0 && !f.staysEmpty(b):
		return Result{Changed: true}, nil
	case kept == 0 && b.Count() == 0 && !b.HasDeleteHorizon():
		return Result{Batch: b, Aborted: entry}, nil // Emptied before.
	case kept == 0:
		empty := batch.Empty(metaOf(b), b.LastOffsetDelta(), b.MaxTimestamp())
		return Result{Batch: empty, Changed: true, Aborted: entry}, nil
	case kept == b.Count() && !newHorizon:
		return Result{Batch: b, Aborted: entry}, nil
	}
	smaller, err := f.rebuild(b, newHorizon)
	return Result{Batch: smaller, Changed: true, Aborted: entry}, err
}

// staysEmpty says whether a batch is kept though no record of it is. Few are: a client
// that is answered nothing but empty batches may take the next record for one that is
// too large for it, as librdkafka does.
func (f *Filter) staysEmpty(b batch.Batch) bool {
	// A consumer's position and a follower's end are where the last batch ends that they
	// were given. Without this one they would wait below the high watermark for ever.
	return b.NextOffset() == f.hw || f.holdsSequence(b)
}

// holdsSequence says whether a producer that the log knows is known by this batch.
func (f *Filter) holdsSequence(b batch.Batch) bool {
	e, ok := f.producers[b.ProducerID()]
	switch {
	case !ok || b.ProducerID() < 0:
		return false
	case e.LastOffset >= 0:
		return b.LastOffset() == e.LastOffset
	default:
		return b.Control() && b.ProducerEpoch() == e.Epoch
	}
}

// choose notes in f.keep which records stay, and says how many and whether a record
// without a value is among them.
func (f *Filter) choose(b batch.Batch) (kept int32, tombstones bool, err error) {
	f.keep = f.keep[:0]
	it := b.Records(maxRecordsBytes)
	defer it.Close()
	for it.Next() {
		rec := it.Record()
		stays := b.Control() || f.stays(b, it.Offset(), rec)
		f.keep = append(f.keep, stays)
		if stays {
			kept++
			tombstones = tombstones || rec.Value == nil
		}
	}
	return kept, tombstones, it.Err()
}

func (f *Filter) stays(b batch.Batch, offset int64, rec *batch.Record) bool {
	switch {
	case offset >= f.keys.End():
		return true // The round does not reach as far.
	case rec.Key == nil:
		return false
	case offset < f.keys.Last(rec.Key):
		return false
	}
	return rec.Value != nil || !b.HasDeleteHorizon() || f.nowMs < b.BaseTimestamp()
}

// rebuild makes the batch anew of the records that stay, compressed as it was.
func (f *Filter) rebuild(b batch.Batch, newHorizon bool) (batch.Batch, error) {
	bl := batch.NewBuilder(metaOf(b))
	bl.Reach(b.LastOffsetDelta())
	switch {
	case newHorizon:
		bl.DeleteHorizon(f.nowMs + f.retainMs)
	case b.HasDeleteHorizon():
		bl.DeleteHorizon(b.BaseTimestamp())
	}
	it := b.Records(maxRecordsBytes)
	defer it.Close()
	for i := 0; it.Next(); i++ {
		if f.keep[i] {
			rec := it.Record()
			bl.AppendAt(rec.OffsetDelta, it.Timestamp(), rec.Key, rec.Value, rec.Headers...)
		}
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	return bl.Build(), nil
}

// metaOf returns what a batch that takes the place of b has of it.
func metaOf(b batch.Batch) batch.Meta {
	return batch.Meta{
		BaseOffset: b.BaseOffset(), LeaderEpoch: b.LeaderEpoch(),
		Codec: b.Codec(), Level: codec.DefaultLevel, LogAppendTime: b.LogAppendTime(),
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(),
		Transactional: b.Transactional(), Control: b.Control(),
	}
}
