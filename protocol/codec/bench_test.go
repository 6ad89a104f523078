package codec

import (
	"fmt"
	"io"
	"testing"
)

// benchmarkSize is the raw size of a batch that its producer let grow.
const benchmarkSize = 100 << 10

// payload looks like the records of a batch: half repeats itself, half does not.
func payload() []byte {
	words, random := text(benchmarkSize), noise(benchmarkSize)
	for i := range words {
		if i/16%2 == 0 {
			words[i] = 'a' + random[i]%16
		}
	}
	return words
}

func BenchmarkCompress(b *testing.B) {
	src := payload()
	for c := Gzip; c <= Zstd; c++ {
		b.Run(c.String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(src)))
			dst, err := Compress(nil, c, DefaultLevel, src)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if dst, err = Compress(dst[:0], c, DefaultLevel, src); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(src))/float64(len(dst)), "ratio")
		})
	}
}

func BenchmarkDecompress(b *testing.B) {
	for _, size := range []int{1000, benchmarkSize} {
		src := payload()[:size]
		for c := Gzip; c <= Zstd; c++ {
			packed := compress(b, c, src)
			b.Run(fmt.Sprintf("%v/%d", c, size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(size))
				buf := make([]byte, 32<<10)
				for b.Loop() {
					r, err := Open(c, packed, NoLimit)
					if err != nil {
						b.Fatal(err)
					}
					for err == nil {
						_, err = r.Read(buf)
					}
					if err != io.EOF { //nolint:errorlint // A loop's end, as readers give it.
						b.Fatal(err)
					}
					r.Close()
				}
			})
		}
	}
}
