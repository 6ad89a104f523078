package compact

import (
	"math"
	"time"
)

// Segment is what a plan looks at of a segment that is closed for writing.
type Segment struct {
	Base, End              int64 // Offsets; End is the next segment's base.
	SizeBytes              int64
	IndexBytes, TimesBytes int64
	NewestMs               int64 // Newest timestamp of a record, or the time of the last write.
	FirstMs                int64 // Newest timestamp of the first batch; 0 or less if it has none.
}

// Rules are the settings of a log that a plan depends on.
type Rules struct {
	// MinRatio is how much of the log must not have been compacted yet for a round to be
	// worth it: more than this share. Kafka's min.cleanable.dirty.ratio.
	MinRatio float64
	// MinLag is how old the newest record of a segment must be. Kafka's
	// min.compaction.lag.ms.
	MinLag time.Duration
	// MaxLag is after how long a round is run whatever the ratio; 0 is never. Kafka's
	// max.compaction.lag.ms.
	MaxLag time.Duration
}

// Plan is what a round would look at.
type Plan struct {
	// From is the first offset that was not compacted before, UpTo where the round ends
	// at the latest: the base of a segment.
	From, UpTo int64
	// DirtyBytes and TotalBytes are the size of the segments below UpTo, those wholly
	// below From not counted in the first.
	DirtyBytes, TotalBytes int64
	// Overdue says that a record has waited for longer than MaxLag.
	Overdue bool
}

// Ratio is the share of the log that was not compacted, from 0 to 1.
func (p Plan) Ratio() float64 {
	if p.TotalBytes == 0 {
		return 0
	}
	return float64(p.DirtyBytes) / float64(p.TotalBytes)
}

// Due says whether the round is to be run.
func (p Plan) Due(r Rules) bool {
	return p.DirtyBytes > 0 && (p.Overdue || p.Ratio() > r.MinRatio)
}

// Make plans a round over the closed segments of a log that spans [start, end), of
// which what lies below checkpoint was compacted before; 0 if that is not known.
// Nothing at or above decided is touched: records there belong to transactions that
// may yet be aborted, or are not committed.
func Make(segs []Segment, r Rules, now time.Time, checkpoint, start, end, decided int64) Plan {
	p := Plan{From: max(checkpoint, start)}
	if checkpoint > end {
		p.From = start // Of a log that lost its end: what is there now was never seen.
	}
	oldest := int64(math.MaxInt64)
	for _, s := range segs {
		dirty := s.End > p.From
		if s.End > decided || dirty && r.MinLag > 0 && s.NewestMs > now.Add(-r.MinLag).UnixMilli() {
			break
		}
		p.UpTo = s.End
		p.TotalBytes += s.SizeBytes
		if dirty {
			p.DirtyBytes += s.SizeBytes
			if s.FirstMs > 0 {
				oldest = min(oldest, s.FirstMs)
			}
		}
	}
	p.UpTo = max(p.UpTo, p.From)
	p.Overdue = r.MaxLag > 0 && oldest < now.Add(-r.MaxLag).UnixMilli()
	return p
}

// Limits bound a group of segments that become one.
type Limits struct {
	SizeBytes  int64 // Kafka's segment.bytes.
	IndexBytes int64 // Of each index. Kafka's segment.index.bytes.
}

// Groups divides segments into runs that each become one segment, and returns where
// the runs end. Sizes count as they are now, so a run fits whatever is kept of it.
func Groups(segs []Segment, l Limits) (ends []int) {
	for i := 0; i < len(segs); {
		first := segs[i]
		size, index, times := first.SizeBytes, first.IndexBytes, first.TimesBytes
		j := i + 1
		for ; j < len(segs); j++ {
			s := segs[j]
			size, index, times = size+s.SizeBytes, index+s.IndexBytes, times+s.TimesBytes
			if size > l.SizeBytes || index > l.IndexBytes || times > l.IndexBytes || s.End-1-first.Base > math.MaxInt32 {
				break
			}
		}
		ends = append(ends, j)
		i = j
	}
	return ends
}
