package logstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/moldau-broker/moldau/logstore/compact"
	"github.com/moldau-broker/moldau/logstore/internal/mmap"
	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// errCleaningStopped ends a round in the middle, without harm: the log was cut, deleted
// or closed, retention took what was being compacted, or the broker stops.
var errCleaningStopped = errors.New("compaction was stopped")

// maxCleanedBytes is the size of the largest segment that compaction makes: indexes
// hold positions in 31 bits. Only batches that became larger get there.
const maxCleanedBytes = math.MaxInt32

// cleanBufferBytes is how much of what is kept is gathered before it is written.
const cleanBufferBytes = 1 << 20

// planClean says what a round of compaction would look at.
func (l *Log) planClean(now time.Time, st *state) (compact.Plan, []compact.Segment, error) {
	rules := l.config.Load().cleanRules()
	if rules.MaxLag > 0 { // FirstTime is the writer's.
		l.writer.Lock()
		defer l.writer.Unlock()
	}
	list := make([]compact.Segment, len(st.segments)-1)
	for i := range list {
		seg := st.segments[i]
		c := compact.Segment{Base: seg.Base(), End: st.segments[i+1].Base(), SizeBytes: seg.Size()}
		c.IndexBytes, c.TimesBytes = seg.IndexBytes()
		if rules.MinLag > 0 {
			at, err := newest(seg)
			if err != nil {
				return compact.Plan{}, nil, err
			}
			c.NewestMs = at.UnixMilli()
		}
		if rules.MaxLag > 0 {
			ts, ok, err := seg.FirstTime()
			if err != nil {
				return compact.Plan{}, nil, err
			}
			if ok {
				c.FirstMs = ts
			}
		}
		list[i] = c
	}
	p := compact.Make(list, rules, now, l.cleaned.Load(), st.start, st.end.Offset, st.stable.Offset)
	return p, list, nil
}

// cleaning is one round over one log. It is the cleaner's, which is one goroutine.
type cleaning struct {
	ctx  context.Context
	log  *Log
	now  time.Time
	st   *state // Of the beginning. Its closed segments do not change, but for a cut.
	cfg  *Config
	opt  CleanerConfig
	pace *pacer
}

// run compacts the log by plan, and returns what it did and the offset below which the
// log is compacted now.
func (c *cleaning) run(p compact.Plan, list []compact.Segment) (compact.Stats, int64, error) {
	// The sources leave the list of what is to be synced before they leave the log.
	if err := c.log.flushSealed(); err != nil {
		return compact.Stats{}, 0, err
	}
	keys, err := c.index(p)
	if err != nil {
		return compact.Stats{}, 0, err
	}
	defer keys.Close()
	below := 0
	for below < len(list) && list[below].Base < keys.End() {
		below++
	}
	// The end of a segment may go, and a start after a crash takes that for a loss where a
	// log that is not compacted any more has to be scanned; see hole.
	if err := c.log.store.writePoints(); err != nil {
		return compact.Stats{}, 0, err
	}
	filter := compact.NewFilter(keys, c.now, c.cfg.DeleteRetention, c.log.Producers(), c.st.hw.Offset)
	from := 0
	for _, to := range compact.Groups(list[:below], compact.Limits{SizeBytes: c.cfg.SegmentBytes, IndexBytes: c.cfg.SegmentIndexBytes}) {
		if err := c.group(filter, c.st.segments[from:to], c.st.segments[to].Base()); err != nil {
			return filter.Stats(), 0, err
		}
		from = to
	}
	return filter.Stats(), keys.End(), nil
}

// stopped says why the round must not go on.
func (c *cleaning) stopped() error {
	l := c.log
	if c.ctx.Err() != nil || l.closed.Load() || l.Err() != nil || l.state.Load().cuts != c.st.cuts || !l.config.Load().Compact {
		return errCleaningStopped
	}
	return nil
}

// index makes the map of the last offset of each key in the part of the log that was
// not compacted before. It is the caller's to close.
func (c *cleaning) index(p compact.Plan) (*compact.Map, error) {
	var txns compact.Txns
	aborted, err := c.st.aborted(p.From, p.UpTo)
	if err != nil {
		return nil, err
	}
	txns.Expect(aborted)
	keys := compact.NewMap(p.From, c.opt.MapBytes, c.opt.MapLoad, c.log.store.cleanerSecret, mmap.Memory)
	var failed error
	err = c.st.batches(p.From, p.UpTo, func(b batch.Batch, err error) bool {
		if err == nil {
			err = c.stopped()
		}
		if err == nil {
			err = c.pace.spend(c.ctx, len(b))
		}
		room := true
		if err == nil {
			room, err = indexBatch(keys, &txns, b)
		}
		failed = err
		return err == nil && room
	})
	if err := errors.Join(err, failed); err != nil {
		keys.Close()
		return nil, err
	}
	if !keys.Full() {
		keys.Skip(p.UpTo)
	}
	return keys, nil
}

// indexBatch takes in the keys of a batch, and says whether there was room.
func indexBatch(keys *compact.Map, txns *compact.Txns, b batch.Batch) (room bool, err error) {
	switch {
	case b.NextOffset() <= keys.End():
		return true, nil
	case b.Control():
		if _, _, err := txns.Control(b); err != nil {
			return false, err
		}
	case !txns.Data(b):
		return keys.Add(b)
	}
	keys.Skip(b.NextOffset())
	return true, nil
}

// group makes one segment, mostly, of sources, which end at offset end.
func (c *cleaning) group(f *compact.Filter, sources []*segment.Segment, end int64) (err error) {
	w := &cleanWriter{c: c, next: sources[0].Base()}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.drop())
		}
	}()
	changed := len(sources) > 1
	filled := sources[0].Base() // Of the last source that holds something.
	for i, seg := range sources {
		upTo := end
		if i+1 < len(sources) {
			upTo = sources[i+1].Base()
		}
		aborted, err := c.st.aborted(seg.Base(), upTo)
		if err != nil {
			return err
		}
		f.Expect(aborted)
		if seg.Size() > 0 {
			filled = seg.Base()
		}
		err = seg.Batches(0, seg.Size(), func(b batch.Batch, pos int64) (bool, error) {
			r, err := c.filter(f, seg, b, pos)
			if err != nil {
				return false, err
			}
			changed = changed || r.Changed
			return true, w.put(r)
		})
		if err != nil {
			return err
		}
	}
	if !changed {
		return w.drop() // It would be the same again.
	}
	if err := w.finish(filled); err != nil {
		return err
	}
	return c.log.swap(c, sources, w.made, end)
}

// filter decides about one batch.
func (c *cleaning) filter(f *compact.Filter, seg *segment.Segment, b batch.Batch, pos int64) (compact.Result, error) {
	if err := c.stopped(); err != nil {
		return compact.Result{}, err
	}
	if err := b.CheckCRC(); err != nil {
		return compact.Result{}, &CorruptError{Path: seg.Path(), Position: pos, Reason: err.Error()}
	}
	r, err := f.Next(b)
	if err != nil {
		return compact.Result{}, &CorruptError{Path: seg.Path(), Position: pos, Reason: err.Error()}
	}
	return r, c.pace.spend(c.ctx, len(b)+len(r.Batch))
}

// cleanWriter writes what is kept of a group to .cleaned files.
type cleanWriter struct {
	c    *cleaning
	made []*segment.Segment // The last one is being written.
	buf  []byte
	next int64 // Where the next segment would begin.
}

// put adds what is left of a batch.
func (w *cleanWriter) put(r compact.Result) error {
	if len(w.made) == 0 {
		if err := w.begin(); err != nil {
			return err
		}
	}
	if r.Batch == nil {
		return nil
	}
	cur := w.made[len(w.made)-1]
	size := cur.Size() + int64(len(w.buf))
	if size > 0 && (size+int64(len(r.Batch)) > maxCleanedBytes || r.Batch.LastOffset()-cur.Base() > maxRelative) {
		if r.Batch.LastOffset()-w.next > maxRelative {
			w.next = r.Batch.BaseOffset()
		}
		if err := errors.Join(w.flush(), w.begin()); err != nil {
			return err
		}
		cur = w.made[len(w.made)-1]
	}
	w.buf = append(w.buf, r.Batch...)
	w.next = r.Batch.NextOffset()
	if r.Aborted != nil {
		if err := cur.AppendAborted(*r.Aborted); err != nil {
			return err
		}
	}
	if len(w.buf) >= cleanBufferBytes {
		return w.flush()
	}
	return nil
}

func (w *cleanWriter) begin() error {
	l := w.c.log
	seg := segment.New(l.pool, l.dir, w.next, w.c.cfg.IndexIntervalBytes, w.c.now)
	seg.SetSuffix(segment.CleanedSuffix)
	w.made = append(w.made, seg)
	return seg.Make(0)
}

func (w *cleanWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	err := w.made[len(w.made)-1].Append(w.buf)
	w.buf = w.buf[:0]
	return err
}

// finish completes the files and makes them durable, names included: nothing that
// comes later may be on disk before them.
//
// A start after a crash tells the sources that remain by lying below the end of what
// replaces them. If nothing was kept from filled on, the base of the last source that
// holds something, an empty segment in its place says how far the sources went: one
// that came back could show a value whose tombstone is gone.
func (w *cleanWriter) finish(filled int64) error {
	if len(w.made) == 0 { // Of sources without a batch.
		if err := w.begin(); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	if filled >= w.next && filled > w.made[len(w.made)-1].Base() {
		w.next = filled
		if err := w.begin(); err != nil {
			return err
		}
	}
	for _, seg := range w.made {
		if err := seg.Seal(); err != nil {
			return err
		}
		if err := seg.Sync(true); err != nil {
			return err
		}
	}
	return w.c.log.fs.SyncDir(w.c.log.Dir())
}

// drop removes what was written.
func (w *cleanWriter) drop() error {
	var errs []error
	for _, seg := range w.made {
		errs = append(errs, seg.Remove())
	}
	w.made = nil
	return errors.Join(errs...)
}

// swap puts fresh, whose files are durable, in the place of sources, which end at
// offset end. Readers of the sources go on reading them. Appends wait for two syncs of
// the directory.
//
// A start after a crash finds .cleaned files and drops them and what is .swap above,
// or finds .swap files and no .cleaned and completes what was begun: see settle. So the
// .swap names are durable before a source goes, the higher ones before the lower, and
// the sources are durably gone before a file gets its final name: else an old segment
// could come back among the new ones.
func (l *Log) swap(c *cleaning, sources, fresh []*segment.Segment, end int64) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	st := l.state.Load()
	at := slices.Index(st.segments, sources[0])
	switch {
	case c.stopped() != nil, at < 0, st.stable.Offset < end,
		len(st.segments)-at <= len(sources), !slices.Equal(st.segments[at:at+len(sources)], sources):
		return errCleaningStopped
	}
	l.writer.touched = true
	for _, seg := range slices.Backward(fresh) {
		if err := seg.Rename(segment.SwapSuffix); err != nil {
			return l.undoSwap(fresh, err)
		}
		if err := l.fs.SyncDir(l.Dir()); err != nil {
			return l.fail(fmt.Errorf("compaction: %w", err)) // Whether it is done nobody knows.
		}
	}
	for _, seg := range fresh {
		release, err := seg.Hold()
		if err != nil {
			return l.fail(fmt.Errorf("compaction: %w", err))
		}
		defer release()
	}
	l.publish(func(s *state) {
		s.segments = slices.Concat(s.segments[:at], fresh, s.segments[at+len(sources):])
		s.hw, s.stable, s.end = s.hw.above(sources, end), s.stable.above(sources, end), s.end.above(sources, end)
		l.mu.recent.drop(end)
	})
	if err := l.replaceFiles(c.now, sources, fresh); err != nil {
		return l.fail(fmt.Errorf("compaction: %w", err))
	}
	l.check()
	return nil
}

// undoSwap removes the files of a swap that was not complete. If it cannot, the log
// must not go on: a later start would take them for a swap of what is there then.
func (l *Log) undoSwap(fresh []*segment.Segment, why error) error {
	for _, seg := range fresh {
		for _, suffix := range []string{segment.SwapSuffix, segment.CleanedSuffix} {
			seg.SetSuffix(suffix)
			if err := seg.Remove(); err != nil {
				return l.fail(fmt.Errorf("compaction: %w", errors.Join(why, err)))
			}
		}
	}
	if err := l.fs.SyncDir(l.Dir()); err != nil {
		return l.fail(fmt.Errorf("compaction: %w", errors.Join(why, err)))
	}
	return l.ioError("compact", why)
}

// replaceFiles takes the sources' files away and gives the fresh ones their names. The
// writer's lock is held.
func (l *Log) replaceFiles(now time.Time, sources, fresh []*segment.Segment) error {
	due := now.Add(l.config.Load().FileDeleteDelay)
	var gone []int64
	for _, seg := range sources {
		paths, err := seg.MarkDeleted()
		l.store.bin(due, paths...)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(fresh, func(s *segment.Segment) bool { return s.Base() == seg.Base() }) {
			gone = append(gone, seg.Base())
		}
	}
	if err := l.fs.SyncDir(l.Dir()); err != nil {
		return err
	}
	l.sync.names.change()
	for _, seg := range fresh {
		if err := seg.Rename(""); err != nil {
			return err
		}
	}
	return l.removeSnapshots(func(offset int64) bool { return slices.Contains(gone, offset) })
}

// above moves a mark that stands behind the last batch of sources, which are going, to
// the beginning of the segment that follows them at offset end.
func (m Mark) above(sources []*segment.Segment, end int64) Mark {
	if m.Offset >= end && m.Segment >= sources[0].Base() && m.Segment < end {
		return Mark{m.Offset, end, 0}
	}
	return m
}

// aborted is Aborted in one state of the log.
func (s *state) aborted(from, upTo int64) (found []producer.Aborted, err error) {
	for i := s.floor(from); i < len(s.segments); i++ {
		more, err := s.segments[i].Aborted(from, upTo, func(a producer.Aborted) { found = append(found, a) })
		if err != nil || !more {
			return found, err
		}
	}
	return found, nil
}
