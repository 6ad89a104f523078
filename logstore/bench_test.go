package logstore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// BenchmarkAppend appends batches of the size that producers send, to files.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 128 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			_, l := onDisk(b, Options{}, Config{Delete: true, SegmentBytes: 256 << 20})
			batch := records(1, t0, strings.Repeat("x", size-80))
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Append(t0, batch, 1, producer.Client); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadTail reads the newest batch, as consumers that keep up do.
func BenchmarkReadTail(b *testing.B) {
	_, l := onDisk(b, Options{}, Config{})
	for range 100 {
		mustAppend(b, l, records(10, t0, "value"))
	}
	b.ReportAllocs()
	for b.Loop() {
		span, err := l.Read(l.End().Offset-5, 1<<20, l.End(), true)
		if err != nil || span.Len() == 0 {
			b.Fatal(err)
		}
		span.Release()
	}
}

// BenchmarkReadRandom reads at random offsets of a log of few and of very many
// segments: finding the place must not grow with their number.
func BenchmarkReadRandom(b *testing.B) {
	for _, segments := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("%d_segments", segments), func(b *testing.B) {
			l := manySegments(b, segments)
			rng := rand.New(rand.NewPCG(1, 2))
			end := l.End().Offset
			b.ReportAllocs()
			for b.Loop() {
				span, err := l.Read(rng.Int64N(end), 4096, l.End(), true)
				if err != nil || span.Len() == 0 {
					b.Fatal(err)
				}
				span.Release()
			}
		})
	}
}

// manySegments makes a log of n segments of two batches each.
func manySegments(tb testing.TB, n int) *Log {
	// In memory: making so many files takes minutes.
	_, l := openLog(tb, vfs.NewMem(), Config{SegmentBytes: 200, IndexIntervalBytes: 1 << 20})
	for range 2 * n {
		mustAppend(tb, l, records(2, t0, "value"))
	}
	return l
}

// BenchmarkLocate finds a batch in one large segment through its index on disk.
func BenchmarkLocate(b *testing.B) {
	_, l := onDisk(b, Options{}, Config{SegmentBytes: 1 << 30})
	batch := records(1, t0, strings.Repeat("x", 1000))
	for range 200_000 {
		if _, err := l.Append(t0, batch, 1, producer.Client); err != nil {
			b.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		span, err := l.Read(rng.Int64N(199_000), 4096, l.End(), true)
		if err != nil {
			b.Fatal(err)
		}
		span.Release()
	}
}

// BenchmarkOpen opens a store of many partitions after a clean stop.
func BenchmarkOpen(b *testing.B) {
	const partitions = 2000
	dir := b.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	for i := range int32(partitions) {
		l, err := s.Create("t", i, testID, Config{})
		if err != nil {
			b.Fatal(err)
		}
		mustAppend(b, l, records(2, t0, "value"))
	}
	closeStore(b, s)
	for b.Loop() {
		began := time.Now()
		s, err := Open(Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Load(b.Context(), func(string, int32, [16]byte) (Config, Keep) { return Config{}, KeepLog }); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(began).Microseconds())/partitions, "µs/partition")
		b.StopTimer()
		closeStore(b, s)
		b.StartTimer()
	}
}
