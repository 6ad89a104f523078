package logstore

import (
	"errors"
	"io/fs"
	"iter"

	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// Read finds the records from offset from on that lie below upTo: at most maxBytes of
// them, from the first batch that holds from or a higher offset, within one segment.
// Like Kafka it cuts at maxBytes without regard to batches, but for the first: with
// minOne that one is whole, without it the span is empty where it would not be. The
// span is empty, too, when there is nothing below upTo.
//
// *OffsetError says that from lies below the start or above the end.
func (l *Log) Read(from int64, maxBytes int, upTo Mark, minOne bool) (span Span, err error) {
	err = l.onState(func(st *state) error {
		span, err = l.readState(st, from, maxBytes, upTo, minOne)
		return err
	})
	return span, err
}

// maxReadTries bounds how often a reader starts again because the segments it looked
// at left the log: a retention check or a truncation a try.
const maxReadTries = 5

// onState calls do with the published state. When a file is not found because its
// segment left the log meanwhile, do is called again with the state of then.
func (l *Log) onState(do func(*state) error) error {
	for try := 1; ; try++ {
		st := l.state.Load()
		err := do(st)
		if err == nil || try == maxReadTries || !errors.Is(err, fs.ErrNotExist) || l.state.Load() == st {
			return err
		}
	}
}

func (l *Log) readState(st *state, from int64, maxBytes int, upTo Mark, minOne bool) (Span, error) {
	if from < st.start || from > st.end.Offset {
		return Span{}, &OffsetError{from, st.start, st.end.Offset}
	}
	if upTo.Offset > st.end.Offset {
		upTo = st.end // Cut since the caller learned of it.
	}
	if from >= upTo.Offset {
		return Span{}, nil
	}
	seg, p, limit, ok, err := l.seek(st, from, upTo)
	if err != nil {
		return Span{}, l.ioError("read", err)
	}
	n := int64(max(maxBytes, 0))
	switch {
	case minOne:
		n = max(n, p.SizeBytes)
	case n < p.SizeBytes:
		n = 0
	}
	n = min(n, limit-p.Position)
	if !ok || n <= 0 {
		return Span{}, nil
	}
	handle, err := seg.Pin()
	if err != nil {
		return Span{}, l.ioError("read", err)
	}
	return Span{&spanRange{seg: seg, handle: handle, at: Mark{from, seg.Base(), p.Position}, n: n}}, nil
}

// seek finds the first batch that holds offset or a higher one, and up to where its
// segment may be read.
func (l *Log) seek(st *state, offset int64, upTo Mark) (*segment.Segment, segment.Place, int64, bool, error) {
	i := st.floor(offset)
	l.mu.Lock()
	r, ok := l.mu.recent.find(offset)
	l.mu.Unlock()
	if ok {
		for ; i < len(st.segments); i++ {
			if st.segments[i].Base() == r.Segment {
				p := segment.Place{Base: r.Offset, Next: r.next, Position: r.Position, SizeBytes: r.sizeBytes}
				limit := st.limit(i, upTo)
				return st.segments[i], p, limit, p.Position < limit, nil
			}
		}
		i = st.floor(offset) // The segment is younger than the state.
	}
	for ; i < len(st.segments); i++ {
		seg, limit := st.segments[i], st.limit(i, upTo)
		if limit == 0 && seg.Base() > upTo.Segment {
			break
		}
		if p, ok, err := seg.Locate(offset, limit); ok || err != nil {
			return seg, p, limit, ok, err
		}
	}
	return nil, segment.Place{}, 0, false, nil
}

// Batches walks the whole batches that hold offsets in [from, to), reading them with
// pread and checking each. A batch is valid until the next one is asked for.
func (l *Log) Batches(from, to int64) iter.Seq2[batch.Batch, error] {
	return func(yield func(batch.Batch, error) bool) {
		st := l.state.Load()
		if from < st.start || from > st.end.Offset {
			yield(nil, &OffsetError{from, st.start, st.end.Offset})
			return
		}
		if err := st.batches(from, to, yield); err != nil {
			yield(nil, l.ioError("read", err))
		}
	}
}

// batches is Batches in one state of the log. After yield has answered false it
// returns nil.
func (s *state) batches(from, to int64, yield func(batch.Batch, error) bool) error {
	stopped := false
	for i := s.floor(from); i < len(s.segments) && !stopped; i++ {
		seg := s.segments[i]
		if seg.Base() >= to {
			break
		}
		limit := s.limit(i, s.end)
		p, ok, err := seg.Locate(from, limit)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		err = seg.Batches(p.Position, limit, func(b batch.Batch, pos int64) (bool, error) {
			if b.BaseOffset() >= to {
				stopped = true
				return false, nil
			}
			if err := b.CheckCRC(); err != nil {
				return false, &CorruptError{Path: seg.Path(), Position: pos, Reason: err.Error()}
			}
			stopped = !yield(b, nil)
			return !stopped, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Aborted returns the aborted transactions that overlap [from, upTo), by the order of
// their markers. What lies above the log's end has none yet.
func (l *Log) Aborted(from, upTo int64) ([]producer.Aborted, error) {
	var found []producer.Aborted
	err := l.onState(func(st *state) error {
		found = nil
		for i := st.floor(from); i < len(st.segments); i++ {
			more, err := st.segments[i].Aborted(from, upTo, func(a producer.Aborted) { found = append(found, a) })
			if err != nil {
				return l.ioError("read", err)
			}
			if !more {
				break
			}
		}
		return nil
	})
	return found, err
}

// AbortedIn returns the aborted transactions that a reader of the span must know of.
// It may return a few that end behind the span, as Kafka does: they do no harm.
func (l *Log) AbortedIn(s Span) ([]producer.Aborted, error) {
	if s.r == nil {
		return nil, nil
	}
	upTo, err := l.above(l.state.Load(), s.r.seg, s.r.at.Position+s.r.n)
	if err != nil {
		return nil, err
	}
	return l.Aborted(s.r.at.Offset, upTo)
}

// AbortedAt is AbortedIn for a reader from offset from who had room for no records,
// though there are some below upTo: Kafka tells it what it would tell with the first.
func (l *Log) AbortedAt(from int64, upTo Mark) (found []producer.Aborted, err error) {
	err = l.onState(func(st *state) error {
		seg, p, _, ok, err := l.seek(st, from, upTo)
		if err != nil {
			return l.ioError("read", err)
		}
		if !ok {
			return nil
		}
		end, err := l.above(st, seg, p.Position)
		if err == nil {
			found, err = l.Aborted(from, end)
		}
		return err
	})
	return found, err
}

// above is an offset that no batch that begins below a position of a segment reaches.
func (l *Log) above(st *state, seg *segment.Segment, position int64) (int64, error) {
	offset, ok, err := seg.Above(position)
	switch i := st.floor(seg.Base()); {
	case err != nil:
		return 0, l.ioError("read", err)
	case ok:
		return offset, nil
	case i+1 < len(st.segments):
		return st.segments[i+1].Base(), nil
	}
	return st.end.Offset, nil
}
