package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestBucketBounds holds each bucket to its bounds: every value is counted in a
// bucket that ends at most 1 % above it, and buckets follow each other.
func TestBucketBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64Range(0, math.MaxInt64).Draw(t, "v")
		i := bucket(v)
		if up := upper(i); up < v || float64(up-v) > float64(v)/100 {
			t.Fatalf("%d is counted in bucket %d, which ends at %d", v, i, up)
		}
		if i > 0 && upper(i-1) >= v {
			t.Fatalf("%d belongs to bucket %d already, not %d", v, i-1, i)
		}
	})
}

// TestQuantilesMatchSort compares with sorting all that was added, in two
// histograms merged.
func TestQuantilesMatchSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Hour)), 1, 300).Draw(t, "values")
		var a, b Histogram
		for i, v := range values {
			if i%2 == 0 {
				a.Add(time.Duration(v))
			} else {
				b.Add(time.Duration(v))
			}
		}
		a.Merge(&b)
		slices.Sort(values)
		for _, q := range []float64{0.001, 0.5, 0.9, 0.99, 0.999, 1} {
			want := values[int(math.Ceil(q*float64(len(values))))-1]
			got := int64(a.Quantile(q))
			if got < want || float64(got-want) > float64(want)/100 {
				t.Fatalf("quantile %v is %d, sorted it is %d", q, got, want)
			}
		}
	})
}

func TestHistogramEdges(t *testing.T) {
	var h Histogram
	if got := h.Latency(); got != (Latency{}) {
		t.Errorf("nothing counted gives %+v", got)
	}
	h.Add(-time.Second)
	if got := h.Quantile(1); got != 0 {
		t.Errorf("a clock set back counts as %v, want 0", got)
	}
	h.Add(math.MaxInt64)
	if got := h.Quantile(1); got != math.MaxInt64 {
		t.Errorf("the longest duration is %v", got)
	}
}
