package bench

import (
	"math/bits"
	"time"
)

// subBits sets how exact a histogram is: each power of two is cut into
// 1<<subBits buckets, so that a value is known to better than 1 %.
const subBits = 7

// Histogram counts durations in buckets whose width grows with the value, so
// that it holds any number of them in 58 KiB. It belongs to one goroutine; give
// each its own and Merge them.
type Histogram struct {
	counts [(64 - subBits) << subBits]uint64
	total  uint64
	max    time.Duration
}

// bucket is where a value of v nanoseconds is counted.
func bucket(v uint64) int {
	if v < 1<<subBits {
		return int(v)
	}
	exponent := bits.Len64(v) - subBits - 1
	return (exponent+1)<<subBits + int(v>>exponent) - 1<<subBits
}

// upper is the largest value that bucket i counts.
func upper(i int) uint64 {
	if i < 1<<subBits {
		return uint64(i)
	}
	exponent := i>>subBits - 1
	base := uint64(i&(1<<subBits-1)) + 1<<subBits
	return (base+1)<<exponent - 1
}

// Add counts d. A negative one, from a clock that was set back, counts as zero.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.counts[bucket(uint64(d))]++
	h.total++
	h.max = max(h.max, d)
}

// Merge adds what other has counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.max = max(h.max, other.max)
}

// Quantile is the duration that a share q of those counted do not exceed, 0 < q
// <= 1. It is zero if nothing was counted.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := uint64(q * float64(h.total))
	if float64(rank) < q*float64(h.total) {
		rank++
	}
	rank = max(rank, 1)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(time.Duration(upper(i)), h.max)
		}
	}
	return h.max
}

// Latency is what is reported of a histogram.
type Latency struct {
	Samples uint64        `json:"samples"`
	P50     time.Duration `json:"p50_ns"`
	P90     time.Duration `json:"p90_ns"`
	P99     time.Duration `json:"p99_ns"`
	P999    time.Duration `json:"p999_ns"`
	Max     time.Duration `json:"max_ns"`
}

// Latency returns the percentiles, each to better than 1 %.
func (h *Histogram) Latency() Latency {
	return Latency{
		Samples: h.total,
		P50:     h.Quantile(0.5),
		P90:     h.Quantile(0.9),
		P99:     h.Quantile(0.99),
		P999:    h.Quantile(0.999),
		Max:     h.max,
	}
}
