package batch

// scanned is what a check needs to know of a record.
type scanned struct {
	timestampDelta int64
	offsetDelta    int32
	keyLen         int32 // Negative: no key.
}

// uvar32 reads an unsigned 32-bit varint at p[i] and returns the index after it,
// or a negative one if there is none. It takes a negative or too large index for
// no number, so that a chain of reads needs one check at its end.
func uvar32(p []byte, i int) (uint32, int) {
	if uint(i) < uint(len(p)) && p[i] < 0x80 {
		return uint32(p[i]), i + 1
	}
	return uvar32Long(p, i)
}

func uvar32Long(p []byte, i int) (uint32, int) {
	if uint(i) >= uint(len(p)) {
		return 0, -1
	}
	v, n := varint32(p[i:])
	if n == 0 {
		return 0, -1
	}
	return uint32(zigzag(int64(v))), i + n
}

// unzigzag32 undoes zigzag.
func unzigzag32(u uint32) int32 { return int32(u>>1) ^ -int32(u&1) }

// skip is the index after n bytes at i; null (n < 0) takes none.
func skip(i int, n int32) int {
	if n > 0 && i >= 0 {
		return i + int(n)
	}
	return i
}

// short reads a varint of one or two bytes at p[i], where two must be readable. A
// longer one comes out as tooLong or more.
func short(p []byte, i int) (u uint32, next int) {
	u = uint32(p[i])
	if u < 0x80 {
		return u, i + 1
	}
	return u&0x7f | uint32(p[i+1])<<7, i + 2
}

// tooLong is the first number that does not fit a varint of two bytes.
const tooLong = 1 << 14

// scanShort is scanRecord for the shape that nearly all records have: no headers,
// and no number longer than two bytes. p begins with the record's length, and n
// is the whole record's. A record of another shape, broken or near the end of p
// gives n = 0 and is left to scanRecord.
func scanShort(p []byte) (s scanned, n int) {
	if len(p) < 9 {
		return s, 0
	}
	size, i := short(p, 0)
	end := i + int(size>>1)
	ts, i := short(p, i+1)
	offset, i := short(p, i)
	key, i := short(p, i)
	if (size|ts|offset|key) >= tooLong || size&1 != 0 {
		return s, 0
	}
	i += int(key>>1) * int(1-key&1) // A negative length, whose lowest bit is set, takes no bytes.
	if i+1 >= len(p) {
		return s, 0
	}
	value, i := short(p, i)
	i += int(value>>1) * int(1-value&1)
	if value >= tooLong || i >= len(p) || p[i] != 0 || i+1 != end {
		return s, 0
	}
	return scanned{
		timestampDelta: int64(ts>>1) ^ -int64(ts&1),
		offsetDelta:    unzigzag32(offset),
		keyLen:         unzigzag32(key),
	}, end
}

// scanRecord checks the record whose body, all that follows its length, is p. It
// finds what Record.parse finds, but keeps almost nothing: it is what a produce
// request costs per record.
func scanRecord(p []byte) (s scanned, err error) {
	if len(p) < minRecordLen-1 {
		return s, errRecordFields
	}
	i := 2
	if c := p[1]; c < 0x80 {
		s.timestampDelta = int64(c>>1) ^ -int64(c&1)
	} else {
		var n int
		if s.timestampDelta, n = varint64(p[1:]); n == 0 {
			return s, errRecordFields
		}
		i = 1 + n
	}
	u, i := uvar32(p, i)
	s.offsetDelta = unzigzag32(u)
	u, i = uvar32(p, i)
	s.keyLen = unzigzag32(u)
	u, i = uvar32(p, skip(i, s.keyLen))
	u, i = uvar32(p, skip(i, unzigzag32(u)))
	switch {
	case i < 0:
		return s, errRecordFields
	case u == 0 && i == len(p): // No headers, as in most records.
		return s, nil
	}
	return s, scanHeaders(p[i:], unzigzag32(u))
}

// scanHeaders checks n record headers, which must fill p.
func scanHeaders(p []byte, n int32) error {
	if n < 0 || int(n) > len(p) {
		return errHeaderCount
	}
	i := 0
	for range n {
		var u uint32
		u, i = uvar32(p, i)
		keyLen := unzigzag32(u)
		if keyLen < 0 {
			return errHeaderKey
		}
		u, i = uvar32(p, skip(i, keyLen))
		if i = skip(i, unzigzag32(u)); i < 0 || i > len(p) {
			return errRecordFields
		}
	}
	if i != len(p) {
		return errRecordLength
	}
	return nil
}
