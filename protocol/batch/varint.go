package batch

// Records hold signed numbers as zig-zag varints. A length is 32 bits wide and
// at most five bytes long, a timestamp delta 64 bits and ten bytes. Like Kafka,
// bits beyond the width are dropped, and a longer number is an error.

const (
	maxVarint32Len = 5
	maxVarint64Len = 10
)

// varint32 reads a 32-bit number and says how many bytes it took: 0 if p ends
// first or the number is too long.
func varint32(p []byte) (int32, int) {
	var u uint32
	for i := range min(len(p), maxVarint32Len) {
		c := p[i]
		u |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return int32(u>>1) ^ -int32(u&1), i + 1
		}
	}
	return 0, 0
}

// varint64 is varint32 for 64 bits.
func varint64(p []byte) (int64, int) {
	var u uint64
	for i := range min(len(p), maxVarint64Len) {
		c := p[i]
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
	}
	return 0, 0
}

// zigzag folds the sign into the lowest bit, for binary.AppendUvarint. Numbers of
// 32 bits need not be told apart: the encoding is the same.
func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// uvarintLen is the length of binary.AppendUvarint's output.
func uvarintLen(u uint64) int {
	n := 1
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

// varintLen is the length of a signed number.
func varintLen(v int64) int { return uvarintLen(zigzag(v)) }
