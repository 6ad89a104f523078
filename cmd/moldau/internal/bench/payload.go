package bench

import (
	"math/rand/v2"
	"strconv"
)

// payloads are the values that records are made with: text in the manner of
// JSON events, which lz4 packs to about a third and zstd to a fifth. Random
// bytes would not compress, a repeated letter would to nothing; neither is what
// brokers see. There are enough of them that a batch does not repeat itself.
func payloads(sizeBytes int, seed uint64) [][]byte {
	const distinctBytes = 4 << 20
	n := min(max(distinctBytes/max(sizeBytes, 1), 16), 8192)
	rng := rand.New(rand.NewPCG(seed, uint64(sizeBytes)))
	values := make([][]byte, n)
	for i := range values {
		values[i] = payload(rng, sizeBytes)
	}
	return values
}

var (
	fieldNames = []string{"user", "order", "item", "price", "state", "region", "device", "session", "trace", "count"}
	fieldWords = []string{"created", "paid", "shipped", "returned", "eu-central", "us-east", "phone", "desktop", "tablet", "unknown"}
)

func payload(rng *rand.Rand, sizeBytes int) []byte {
	b := make([]byte, 0, sizeBytes+64)
	b = append(b, '{')
	for len(b) < sizeBytes {
		b = append(b, '"')
		b = append(b, fieldNames[rng.IntN(len(fieldNames))]...)
		b = append(b, `":`...)
		if rng.IntN(2) == 0 {
			b = strconv.AppendUint(b, rng.Uint64()>>rng.IntN(60), 36)
		} else {
			b = append(b, fieldWords[rng.IntN(len(fieldWords))]...)
		}
		b = append(b, ',')
	}
	return b[:sizeBytes:sizeBytes]
}
