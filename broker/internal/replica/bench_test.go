package replica

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// onDisk is a partition in a real directory.
func onDisk(b *testing.B) *Partition {
	s, err := logstore.Open(logstore.Options{Dir: b.TempDir(), Rand: rand.New(rand.NewPCG(1, 2))})
	if err != nil {
		b.Fatal(err)
	}
	m := New(Options{Store: s, NodeID: 1})
	b.Cleanup(func() { _ = m.Abandon() })
	a := &applying{m: m, now: time.Now(), cfg: func(string) TopicConfig { return defaults() }, configs: map[string]*TopicConfig{}}
	a.topic(&controller.Topic{Name: "t", ID: id1, Partitions: []*controller.Partition{{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}}})
	p, err := m.Partition("t", 0)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func sized(bytesTotal, records int) batch.Batch {
	bl := batch.NewBuilder(batch.Plain(0, -1))
	value := bytes.Repeat([]byte{'x'}, (bytesTotal-batch.HeaderLen)/records-8)
	for range records {
		bl.Append(time.Now().UnixMilli(), nil, value)
	}
	return bl.Build()
}

func BenchmarkProduce(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			p := onDisk(b)
			in := sized(size, size>>10)
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				in.SetBaseOffset(0) // As a client sends it.
				a, err := p.Produce(time.Now(), in, ProduceOptions{Acks: AcksAll})
				if err != nil {
					b.Fatal(err)
				}
				if err := p.WaitCommitted(b.Context(), a.Last+1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Appending a batch that is admitted already: what the partition and the log cost.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			p := onDisk(b)
			in := sized(size, size>>10)
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Append(time.Now(), in, AppendOptions{Acks: AcksAll}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			p := onDisk(b)
			in := sized(16<<10, 16)
			for range 1000 {
				if _, err := p.Append(time.Now(), in, AppendOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			next := int64(0)
			for b.Loop() {
				r, err := p.Read(time.Now(), ReadRequest{Offset: next, CurrentEpoch: -1, LastFetchedEpoch: -1, MaxBytes: size, MinOne: true})
				if err != nil {
					b.Fatal(err)
				}
				r.Span.Release()
				next = (next + int64(size>>10)) % 15_000
			}
		})
	}
}

// A fetch at the end of the log: what a poll of a quiet partition costs.
func BenchmarkReadNothing(b *testing.B) {
	p := onDisk(b)
	a, err := p.Append(time.Now(), sized(1<<10, 1), AppendOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	now := time.Now()
	for b.Loop() {
		if _, err := p.Read(now, ReadRequest{Offset: a.Last + 1, CurrentEpoch: -1, LastFetchedEpoch: -1, MaxBytes: 1 << 20}); err != nil {
			b.Fatal(err)
		}
	}
}

// What an idle partition costs: memory, and the time of a refresh.
func BenchmarkIdlePartitions(b *testing.B) {
	const count = 10_000
	t := &controller.Topic{Name: "t", ID: id1}
	for n := range int32(count) {
		t.Partitions = append(t.Partitions, &controller.Partition{ID: n, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1})
	}
	s, err := logstore.Open(logstore.Options{Dir: b.TempDir(), Rand: rand.New(rand.NewPCG(1, 2))})
	if err != nil {
		b.Fatal(err)
	}
	m := New(Options{Store: s, NodeID: 1})
	b.Cleanup(func() { _ = m.Abandon() })
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	a := &applying{m: m, now: began, cfg: func(string) TopicConfig { return defaults() }, configs: map[string]*TopicConfig{}}
	a.topic(t)
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		m.refresh(began)
	}
	b.ReportMetric(float64(took.Microseconds())/count, "us/create")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/count, "B/partition")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/refresh")
}
