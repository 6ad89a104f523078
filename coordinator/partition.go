package coordinator

import "unicode/utf16"

// Partition returns which of n coordinator partitions owns a key (a group id, a
// transactional id), as Kafka computes it: Java's String.hashCode over UTF-16
// units, the sign bit cleared, modulo n. The sign bit is cleared instead of
// negating, because -MinInt32 is itself.
func Partition(key string, n int32) int32 {
	var h int32
	for _, u := range utf16.Encode([]rune(key)) {
		h = 31*h + int32(u)
	}
	return (h & 0x7fffffff) % n
}
