package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// points is what the store's checkpoints tell of a log.
type points struct {
	start, flushed, hw, cleaned int64 // 0 if they tell nothing.
}

// load opens the segments of a log whose directory is there. After an unclean stop it
// scans what may not have been durable.
func (l *Log) load(now time.Time, clean bool, p points) error {
	found, err := l.list()
	if err != nil {
		return err
	}
	list, err := checkpoint.ReadEpochs(l.fs, l.join(checkpoint.LeaderEpochs))
	if err != nil {
		return err
	}
	l.mu.epochs = list
	l.writer.snapshots = found.snapshots
	l.onDisk.Store(true)
	l.writer.touched = true // What a start finds missing it may have written.
	l.wantMaintain()

	segs := found.open(l, now)
	var scanned *producer.State
	if !clean {
		l.sync.names.change() // Of a process that was killed.
		segs, scanned, err = l.recover(now, segs, p)
	} else {
		err = l.repairIndexes(now, segs, len(segs), false)
	}
	if err != nil {
		return err
	}
	st, err := l.assemble(now, segs, p)
	if err != nil {
		return err
	}
	if err := l.loadProducersAtStart(now, st, clean, scanned); err != nil {
		return err
	}
	l.sync.flushed.Store(st.end.Offset)
	if !clean {
		l.sync.flushed.Store(min(p.flushed, st.end.Offset))
	}
	l.mu.producers.OnHighWatermark(st.hw.Offset)
	l.publish(func(s *state) { *s = *st })
	return nil
}

// listing is what a log's directory holds.
type listing struct {
	segments  map[int64]segment.Files
	bases     []int64 // Of segments, ascending.
	snapshots []int64 // Ascending.
}

// list reads the directory, after it has completed or undone what an interrupted
// compaction left and removed what was to be deleted.
func (l *Log) list() (listing, error) {
	entries, err := l.fs.ReadDir(l.Dir())
	if err != nil {
		return listing{}, err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return transient(e.Name()) }) {
		if err := l.settle(entries); err != nil {
			return listing{}, err
		}
		if entries, err = l.fs.ReadDir(l.Dir()); err != nil {
			return listing{}, err
		}
	}
	found := listing{segments: make(map[int64]segment.Files)}
	for _, e := range entries {
		if err := found.add(e); err != nil {
			return listing{}, err
		}
	}
	return found, l.dropOrphans(&found)
}

// add takes in one name of the directory.
func (f *listing) add(e fs.DirEntry) error {
	base, kind, ok := segment.ParseFileName(e.Name())
	if !ok || e.IsDir() {
		return nil // Checkpoints and such.
	}
	if kind == segment.SnapshotSuffix {
		f.snapshots = append(f.snapshots, base)
		return nil
	}
	files, known := f.segments[base]
	if !known {
		files = segment.Files{Log: -1, Index: -1, TimeIndex: -1, TxnIndex: -1}
	}
	size := map[string]*int64{
		segment.LogSuffix: &files.Log, segment.IndexSuffix: &files.Index,
		segment.TimeIndexSuffix: &files.TimeIndex, segment.TxnIndexSuffix: &files.TxnIndex,
	}[kind]
	if size == nil {
		return nil
	}
	info, err := e.Info()
	if err != nil {
		return err
	}
	*size = info.Size()
	f.segments[base] = files
	return nil
}

// dropOrphans removes index files that have no segment.
func (l *Log) dropOrphans(f *listing) error {
	for base, files := range f.segments {
		if files.Log >= 0 {
			f.bases = append(f.bases, base)
			continue
		}
		l.logger.Warn("index files without a segment removed", slog.String("dir", l.Dir()), slog.Int64("base_offset", base))
		delete(f.segments, base)
		if err := segment.Open(l.pool, l.dir, base, 0, files, time.Time{}).Remove(); err != nil {
			return err
		}
	}
	slices.Sort(f.bases)
	slices.Sort(f.snapshots)
	return nil
}

func (f *listing) open(l *Log, now time.Time) []*segment.Segment {
	segs := make([]*segment.Segment, len(f.bases))
	for i, base := range f.bases {
		segs[i] = segment.Open(l.pool, l.dir, base, l.config.Load().IndexIntervalBytes, f.segments[base], now)
	}
	return segs
}

// repairIndexes makes the indexes of the first n segments anew where they cannot be used. The
// batches are not touched, except that the log's very end may be cut: nothing follows.
func (l *Log) repairIndexes(now time.Time, segs []*segment.Segment, n int, thorough bool) error {
	for i := range n {
		reason := segs[i].Sane(thorough)
		if reason == nil {
			continue
		}
		l.logger.Warn("segment's indexes are made anew", slog.String("path", segs[i].Path()), slog.Any("reason", reason))
		state, err := l.producersAt(now, segs[:i], segs[i].Base())
		if err != nil {
			return err
		}
		bytes, reason, err := segs[i].Recover(i == len(segs)-1, l.replayInto(segs[i], state))
		if err != nil {
			return err
		}
		if reason != nil {
			l.logger.Error("segment holds bytes that are no batch", slog.Int64("bytes", bytes), slog.Any("reason", reason))
		}
		l.sync.names.change()
		if err := segs[i].Sync(true); err != nil {
			return err
		}
	}
	return nil
}

// replayInto returns the visitor with which a segment is scanned: it brings the
// producer state and the transaction index along.
func (l *Log) replayInto(seg *segment.Segment, p *producer.State) func(batch.Batch) error {
	return func(b batch.Batch) error {
		m, err := markerOf(b)
		if err != nil {
			m = nil // Its checksum is right: it was written like this.
		}
		if done := p.Apply(b, m); done != nil && done.Aborted {
			return seg.AppendAborted(done.Index())
		}
		return nil
	}
}

// recover scans the segments from the one that holds the recovery point, cuts the log
// at the first byte that is no valid batch, and takes away the segments after it. It
// returns the segments that are left and the producer state at their end.
func (l *Log) recover(now time.Time, segs []*segment.Segment, p points) ([]*segment.Segment, *producer.State, error) {
	if len(segs) == 0 {
		return nil, nil, nil
	}
	first := (&state{segments: segs}).floor(p.flushed)
	if err := l.repairIndexes(now, segs, first, true); err != nil {
		return nil, nil, err
	}
	prod, err := l.producersAt(now, segs[:first], segs[first].Base())
	if err != nil {
		return nil, nil, err
	}
	l.mu.producers = prod // For takeSnapshot.
	// What was written of later snapshots is as doubtful as the batches: they are made anew.
	if err := l.removeSnapshots(func(o int64) bool { return o > segs[first].Base() }); err != nil {
		return nil, nil, err
	}
	l.syncLater(segs[first].Base())
	for i := first; i < len(segs); i++ {
		if i > first {
			if err := l.takeSnapshot(segs[i].Base()); err != nil {
				return nil, nil, err
			}
		}
		replay := l.replayInto(segs[i], prod)
		bytes, reason, err := segs[i].Recover(false, func(b batch.Batch) error {
			l.reviseEpochs(b, p.start)
			return replay(b)
		})
		if err != nil {
			return nil, nil, err
		}
		if reason == nil {
			if reason, err = l.hole(segs, i, max(p.start, p.cleaned)); err != nil {
				return nil, nil, err
			}
		}
		if reason == nil {
			continue
		}
		l.logger.Warn("log cut at the first byte that is no valid batch", slog.String("dir", l.Dir()),
			slog.Int64("cut_bytes", bytes), slog.Int("segments_removed", len(segs)-i-1), slog.Any("reason", reason))
		// From the end: a segment that is whole, before others that are left, would be taken
		// for the result of a compaction if the power went here.
		if err := l.cutOff(now, segs[i+1:]); err != nil {
			return nil, nil, err
		}
		if err := segs[i].CutInvalid(bytes); err != nil {
			return nil, nil, err
		}
		segs = segs[:i+1]
	}
	for _, seg := range segs[first : len(segs)-1] {
		l.seal(seg) // Scanned, not synced.
	}
	return segs, prod, nil
}

// hole says why the segment after the i-th cannot follow it: the end of the i-th was
// lost, at the end of a batch so that the scan of it found nothing wrong. Segments begin
// where the batches before them end; only compaction takes batches from an end, and
// retention, interrupted, whole segments from below the start. Both are below offset
// from; and what compaction has touched is below the recovery point, so that it is not
// asked about, unless another Kafka wrote here.
func (l *Log) hole(segs []*segment.Segment, i int, from int64) (reason, err error) {
	if i+1 == len(segs) || segs[i+1].Base() <= from || l.config.Load().Compact {
		return nil, nil
	}
	end, err := segs[i].End()
	if err != nil || segs[i+1].Base() <= end {
		return nil, err
	}
	if wide, err := beyondReach(segs[i+1], end); wide || err != nil {
		return nil, err
	}
	return &CorruptError{
		Path: segs[i].Path(), Position: segs[i].Size(),
		Reason: fmt.Sprintf("ends at offset %d, the next segment begins at %d", end, segs[i+1].Base()),
	}, nil
}

// beyondReach says whether a segment that was not scanned yet begins with batches of
// which one would not fit a segment with base from. Its indexes are not to be trusted.
func beyondReach(seg *segment.Segment, from int64) (beyond bool, err error) {
	err = seg.Batches(0, seg.Size(), func(b batch.Batch, _ int64) (bool, error) {
		if b.CheckCRC() != nil {
			return false, nil // The scan will cut here.
		}
		beyond = b.LastOffset()-from > maxRelative
		return !beyond, nil
	})
	_, corrupt := errors.AsType[*CorruptError](err)
	_, old := errors.AsType[*segment.OldMagicError](err)
	if corrupt || old { // The scan will tell which.
		err = nil
	}
	return beyond, err
}

// reviseEpochs takes in the leader epoch of a batch that was scanned. The batches are
// right where the file is behind: it may still tell of a tail that was cut off and
// written again under the same epoch.
func (l *Log) reviseEpochs(b batch.Batch, start int64) {
	epoch, from := b.LeaderEpoch(), max(b.BaseOffset(), start)
	if epoch < 0 || b.NextOffset() <= start {
		return
	}
	if e := l.mu.epochs; e.At(from) == epoch && e.At(b.LastOffset()) == epoch {
		return
	}
	if l.mu.epochs.Assign(epoch, from) {
		l.mu.epochsDirty = true
	}
}

// producersAt makes the producer state as of offset end from the segments below it.
func (l *Log) producersAt(now time.Time, below []*segment.Segment, end int64) (*producer.State, error) {
	st := &state{segments: below, start: end}
	if n := len(below); n > 0 {
		st.end = Mark{end, below[n-1].Base(), below[n-1].Size()}
	}
	return l.producersFrom(now, st, end)
}

// assemble makes the state of the log from its segments.
func (l *Log) assemble(now time.Time, segs []*segment.Segment, p points) (*state, error) {
	end := p.start
	if n := len(segs); n > 0 {
		last, err := segs[n-1].End()
		if err != nil {
			return nil, err
		}
		if end = last; end < p.start {
			l.logger.Warn("log ends below its start: files are missing; it starts anew", slog.String("dir", l.Dir()),
				slog.Int64("end", end), slog.Int64("start", p.start))
			if err := l.cutOff(now, segs); err != nil {
				return nil, err
			}
			if err := l.removeSnapshots(func(int64) bool { return true }); err != nil {
				return nil, err
			}
			segs, end, l.mu.epochs, l.mu.epochsDirty = nil, p.start, nil, true
		}
	}
	if len(segs) == 0 {
		fresh := segment.New(l.pool, l.dir, end, l.config.Load().IndexIntervalBytes, now)
		if err := fresh.Make(l.reserveBytes()); err != nil {
			return nil, err
		}
		segs = append(segs, fresh)
		l.sync.names.change()
	}
	l.writer.tail = end
	last := segs[len(segs)-1]
	st := &state{segments: segs, start: max(p.start, segs[0].Base()), end: Mark{end, last.Base(), last.Size()}}
	cutEnd, cutStart := l.mu.epochs.CutEnd(end), l.mu.epochs.CutStart(st.start)
	l.mu.epochsDirty = l.mu.epochsDirty || cutEnd || cutStart
	var err error
	st.hw, err = l.locate(st, min(max(p.hw, st.start), end))
	return st, err
}

// loadProducersAtStart makes the producer state as of the end: the one with which the
// segments were scanned, if they were. After a clean stop without any snapshot (a
// directory from before there were snapshots) nothing is scanned: empty snapshots are
// taken, as Kafka does.
func (l *Log) loadProducersAtStart(now time.Time, st *state, clean bool, scanned *producer.State) error {
	none := len(l.writer.snapshots) == 0
	if err := l.removeSnapshots(func(o int64) bool { return o > st.end.Offset || o < st.first() }); err != nil {
		return err
	}
	if err := l.keepSnapshots(st.segments); err != nil {
		return err
	}
	if scanned != nil && scanned.MapEnd() <= st.end.Offset && st.end.Offset > st.start {
		scanned.AdvanceStart(st.start)
		scanned.SetMapEnd(st.end.Offset)
		l.mu.producers = scanned
	} else if clean && none {
		l.mu.producers.Reset(st.start)
		for _, s := range st.segments[max(len(st.segments)-2, 0):] {
			if err := l.takeSnapshot(s.Base()); err != nil {
				return err
			}
		}
	} else if err := l.loadProducers(st, st.end.Offset, now); err != nil {
		return err
	}
	return l.takeSnapshot(st.end.Offset)
}

// transient says whether a file is on its way in or out.
func transient(name string) bool {
	return strings.HasSuffix(name, segment.DeletedSuffix) || strings.HasSuffix(name, segment.CleanedSuffix) ||
		strings.HasSuffix(name, segment.SwapSuffix)
}

// materialize makes the directory and the files of a log that had none: a partition
// that nobody writes to costs nothing on disk. The topic's id comes before any data.
func (l *Log) materialize() error {
	if l.onDisk.Load() {
		return nil
	}
	if err := l.makeDir(); err != nil {
		return err
	}
	if err := l.writeTopicID(); err != nil {
		return err
	}
	if err := l.state.Load().active().Make(l.reserveBytes()); err != nil {
		return err
	}
	l.sync.names.change()
	// The checkpoints may still tell of a log of the same name that was deleted.
	if err := l.store.lowerPoints(l); err != nil {
		return err
	}
	l.onDisk.Store(true)
	return nil
}

// makeDir makes the log's directory. One that is there already belongs to no log that
// was loaded, such as one whose removal failed: its segments must not become this log's,
// and it is put aside.
func (l *Log) makeDir() error {
	if l.sync.dirMade.Load() > 0 {
		return nil // By a try that failed later.
	}
	if _, err := l.fs.Stat(l.Dir()); err == nil {
		to := l.store.path(leavingName(l.topic, l.partition, straySuffix))
		l.logger.Warn("directory in the way of a new partition put aside", slog.String("from", l.Dir()), slog.String("to", to))
		if err := l.fs.Rename(l.Dir(), to); err != nil {
			return err
		}
	}
	if err := l.fs.MkdirAll(l.Dir(), 0o755); err != nil {
		return err
	}
	l.sync.dirMade.Store(l.store.dirs.change())
	return nil
}

// SetTopicID records the id of the topic, for a log whose directory does not tell it.
func (l *Log) SetTopicID(id [16]byte) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	l.mu.Lock()
	l.mu.topicID = id
	l.mu.Unlock()
	if !l.onDisk.Load() {
		return nil // Written with the directory.
	}
	return l.writeTopicID()
}

func (l *Log) writeTopicID() error {
	id := l.TopicID()
	if id == ([16]byte{}) {
		return nil
	}
	return checkpoint.WriteTopicID(l.fs, l.join(checkpoint.PartitionMetadata), id)
}
