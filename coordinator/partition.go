package coordinator

import (
	"math"
	"unicode/utf16"
)

// Partition returns which of n coordinator partitions owns a key (a group id, a
// transactional id), as Kafka computes it: the absolute value of Java's
// String.hashCode over UTF-16 units, modulo n. The one value without an absolute
// value counts as 0. (Clearing the sign bit, as Kafka does elsewhere, would move
// half of all keys.)
func Partition(key string, n int32) int32 {
	var h int32
	for _, u := range utf16.Encode([]rune(key)) {
		h = 31*h + int32(u)
	}
	switch {
	case h == math.MinInt32:
		h = 0
	case h < 0:
		h = -h
	}
	return h % n
}
