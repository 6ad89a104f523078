package batch

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// sample is a client's batch of n records whose values are size bytes long.
func sample(c codec.Codec, n, size int) Batch {
	m := Plain(0, NoLeaderEpoch)
	m.Codec = c
	bl := NewBuilder(m)
	for i := range n {
		value := bytes.Repeat(fmt.Appendf(nil, "order %d of customer %d; ", i, i*7919%1000), size/20+1)
		bl.Append(1_700_000_000_000+int64(i)*3, fmt.Appendf(nil, "key-%04d", i), value[:size])
	}
	return bl.Build()
}

// anyRules let through whatever is a batch.
var anyRules = Rules{BeforeMaxMs: math.MaxInt64, AfterMaxMs: math.MaxInt64, AllowZstd: true}

func BenchmarkAdmit(b *testing.B) {
	for _, size := range []int{10, 150, 1000} {
		for c := codec.None; c <= codec.Zstd; c++ {
			in := sample(c, 100, size)
			b.Run(fmt.Sprintf("%v/100x%dB", c, size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(in)))
				for b.Loop() {
					if _, err := Admit(in, anyRules); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/record")
			})
		}
	}
}

// BenchmarkCheckRecords is Admit without the CRC.
func BenchmarkCheckRecords(b *testing.B) {
	for _, size := range []int{10, 150} {
		in := sample(codec.None, 100, size)
		b.Run(fmt.Sprintf("100x%dB", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := checkRecords(in, &anyRules); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/record")
		})
	}
}

func BenchmarkHeaderOnly(b *testing.B) {
	in := sample(codec.Zstd, 100, 1000)
	r := anyRules
	r.HeaderOnly = true
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := Admit(in, r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckCRC(b *testing.B) {
	for _, size := range []int{10, 1000, 10_000} {
		in := sample(codec.None, 100, size)
		b.Run(fmt.Sprintf("%dB", len(in)), func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if err := in.CheckCRC(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecords(b *testing.B) {
	for c := codec.None; c <= codec.Zstd; c++ {
		in := sample(c, 100, 150)
		b.Run(c.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				it := in.Records(codec.NoLimit)
				for it.Next() {
				}
				it.Close()
				if it.Err() != nil {
					b.Fatal(it.Err())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/record")
		})
	}
}

func BenchmarkStamp(b *testing.B) {
	in := sample(codec.None, 100, 150)
	r := anyRules
	r.LogAppendTime = true
	b.ReportAllocs()
	for b.Loop() {
		r.NowMs++
		stamp(in, &r, 0)
		in.setAttributes(in.Attributes() &^ attrLogAppendTime)
	}
}

func BenchmarkRebuild(b *testing.B) {
	in := sample(codec.None, 100, 1000)
	for c := codec.Gzip; c <= codec.Zstd; c++ {
		r := anyRules
		r.Recompress, r.Codec = true, c
		b.Run(c.String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if _, err := Admit(in, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
