package metadata

import (
	"encoding/binary"
	"fmt"
	"math"
)

// codec walks the fields of one record in the order of its schema, and writes or
// reads each. A record lists its fields once, so that the two directions cannot
// drift apart.
//
// Reading stops at the first fault: err is set, in is emptied, and every later
// field reads as zero. Writing cannot fail; a value that the version cannot hold
// is a bug of the caller, who chose the version, and panics.
type codec struct {
	reading bool
	version int16
	out     []byte // Writing: what was written so far.
	in      []byte // Reading: what is left.
	err     error
}

func (c *codec) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	c.in = nil
}

// take reads the next n bytes; nil after a fault.
func (c *codec) take(n int, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n > len(c.in) {
		c.fail("%s needs %d bytes, %d are left", what, n, len(c.in))
		return nil
	}
	b := c.in[:n:n]
	c.in = c.in[n:]
	return b
}

func (c *codec) uvarint(v *uint64) {
	if !c.reading {
		c.out = binary.AppendUvarint(c.out, *v)
		return
	}
	*v = 0
	if c.err != nil {
		return
	}
	x, n := binary.Uvarint(c.in)
	if n <= 0 || x > math.MaxUint32 {
		c.fail("bad varint")
		return
	}
	*v, c.in = x, c.in[n:]
}

func (c *codec) int8(v *int8) {
	if !c.reading {
		c.out = append(c.out, byte(*v))
	} else if b := c.take(1, "int8"); b != nil {
		*v = int8(b[0])
	}
}

func (c *codec) bool(v *bool) {
	if !c.reading {
		var b byte
		if *v {
			b = 1
		}
		c.out = append(c.out, b)
	} else if b := c.take(1, "bool"); b != nil {
		*v = b[0] != 0
	}
}

func (c *codec) int16(v *int16) {
	if !c.reading {
		c.out = binary.BigEndian.AppendUint16(c.out, uint16(*v))
	} else if b := c.take(2, "int16"); b != nil {
		*v = int16(binary.BigEndian.Uint16(b))
	}
}

func (c *codec) uint16(v *uint16) {
	if !c.reading {
		c.out = binary.BigEndian.AppendUint16(c.out, *v)
	} else if b := c.take(2, "uint16"); b != nil {
		*v = binary.BigEndian.Uint16(b)
	}
}

func (c *codec) int32(v *int32) {
	if !c.reading {
		c.out = binary.BigEndian.AppendUint32(c.out, uint32(*v))
	} else if b := c.take(4, "int32"); b != nil {
		*v = int32(binary.BigEndian.Uint32(b))
	}
}

func (c *codec) int64(v *int64) {
	if !c.reading {
		c.out = binary.BigEndian.AppendUint64(c.out, uint64(*v))
	} else if b := c.take(8, "int64"); b != nil {
		*v = int64(binary.BigEndian.Uint64(b))
	}
}

func (c *codec) float64(v *float64) {
	if !c.reading {
		c.out = binary.BigEndian.AppendUint64(c.out, math.Float64bits(*v))
	} else if b := c.take(8, "float64"); b != nil {
		*v = math.Float64frombits(binary.BigEndian.Uint64(b))
	}
}

func (c *codec) uuid(v *[16]byte) {
	if !c.reading {
		c.out = append(c.out, v[:]...)
	} else if b := c.take(16, "uuid"); b != nil {
		copy(v[:], b)
	}
}

// length walks the length of a string, byte string or array: one more than it is,
// 0 for null. It returns -1 for null. size is the least that one element takes, so
// that a length read is bounded by the bytes that are there.
func (c *codec) length(n int, null bool, size int, what string) int {
	v := uint64(n) + 1
	if null {
		v = 0
	}
	c.uvarint(&v)
	if !c.reading {
		return int(v) - 1
	}
	if c.err != nil || v == 0 {
		return -1
	}
	if got := int(v) - 1; got <= len(c.in)/size {
		return got
	}
	c.fail("%s of %d elements with %d bytes left", what, v-1, len(c.in))
	return -1
}

// required is length where null is not allowed.
func (c *codec) required(n, size int, what string) int {
	got := c.length(n, false, size, what)
	if got < 0 && c.err == nil {
		c.fail("%s is null", what)
	}
	return max(got, 0)
}

func (c *codec) string(v *string) {
	n := c.required(len(*v), 1, "string")
	if !c.reading {
		c.out = append(c.out, *v...)
		return
	}
	*v = string(c.take(n, "string"))
}

func (c *codec) nullString(v **string) {
	var s string
	if *v != nil {
		s = **v
	}
	n := c.length(len(s), *v == nil, 1, "string")
	if !c.reading {
		c.out = append(c.out, s...)
		return
	}
	*v = nil
	if n >= 0 {
		*v = new(string(c.take(n, "string")))
	}
}

func (c *codec) bytes(v *[]byte) {
	n := c.required(len(*v), 1, "bytes")
	if !c.reading {
		c.out = append(c.out, *v...)
		return
	}
	*v = nil
	if b := c.take(n, "bytes"); len(b) > 0 {
		*v = append([]byte(nil), b...)
	}
}

// array walks an array that cannot be null; empty reads as nil. size is the least
// number of bytes of one element.
func array[T any](c *codec, v *[]T, size int, walk func(*T)) {
	n := c.required(len(*v), size, "array")
	if c.reading {
		*v = nil
		if n > 0 {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		walk(&(*v)[i])
	}
}

// nullArray walks an array in which null (nil) and empty (not nil) differ.
func nullArray[T any](c *codec, v *[]T, size int, walk func(*T)) {
	n := c.length(len(*v), *v == nil, size, "array")
	if c.reading {
		*v = nil
		if n >= 0 {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		walk(&(*v)[i])
	}
}

func (c *codec) int32s(v *[]int32)     { array(c, v, 4, c.int32) }
func (c *codec) nullInt32s(v *[]int32) { nullArray(c, v, 4, c.int32) }
func (c *codec) uuids(v *[][16]byte)   { array(c, v, 16, c.uuid) }
func (c *codec) nullUUIDs(v *[][16]byte) {
	nullArray(c, v, 16, c.uuid)
}

// since walks a field that versions before from do not have. Writing such a
// version, the field must hold its default.
func (c *codec) since(from int16, set bool, walk func()) {
	switch {
	case c.version >= from:
		walk()
	case !c.reading && set:
		panic(fmt.Sprintf("BUG: metadata record version %d cannot hold a field that came with %d", c.version, from))
	}
}

// tag is one tagged field: written only if it differs from its default.
type tag struct {
	number uint64
	since  int16
	set    bool
	walk   func()
}

// tags ends a struct: its tagged fields, in rising order of their numbers. Tags it
// does not know are dropped when read: within a version they are optional by rule.
func (c *codec) tags(known ...tag) {
	if c.reading {
		c.readTags(known)
		return
	}
	var n uint64
	for _, t := range known {
		if t.set {
			n++
		}
	}
	c.uvarint(&n)
	for _, t := range known {
		c.since(t.since, t.set, func() {
			if t.set {
				c.writeTag(t)
			}
		})
	}
}

func (c *codec) writeTag(t tag) {
	before := c.out
	c.out = nil
	t.walk()
	body := c.out
	c.out = binary.AppendUvarint(before, t.number)
	c.out = binary.AppendUvarint(c.out, uint64(len(body)))
	c.out = append(c.out, body...)
}

func (c *codec) readTags(known []tag) {
	var n uint64
	c.uvarint(&n)
	for ; n > 0 && c.err == nil; n-- {
		var number, size uint64
		c.uvarint(&number)
		c.uvarint(&size)
		body := c.take(int(size), "tagged field")
		after := c.in
		for _, t := range known {
			if t.number != number || c.version < t.since || c.err != nil {
				continue
			}
			c.in = body
			t.walk()
			if len(c.in) > 0 {
				c.fail("tagged field %d has %d bytes too many", number, len(c.in))
			}
		}
		if c.err == nil {
			c.in = after
		}
	}
}
