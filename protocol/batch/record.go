package batch

import (
	"encoding/binary"
	"errors"
)

// Record is one record as it lies in a batch: offset and timestamp are relative
// to the batch's. A nil Key or Value is null, which an empty one is not.
type Record struct {
	OffsetDelta    int32
	TimestampDelta int64
	Key, Value     []byte
	Headers        []Header
}

// Header is a record header. Kafka calls the key a string but checks no
// encoding. A nil Value is null.
type Header struct {
	Key   []byte
	Value []byte
}

// What can be wrong with a record. The walk over a client's batch and the
// iterator give them a place.
var (
	errRecordCut     = errors.New("a record reaches past the end of the batch")
	errRecordLength  = errors.New("a record's length is not that of its fields")
	errRecordFields  = errors.New("a record's fields reach past its end")
	errHeaderCount   = errors.New("a record's header count is negative or larger than the record")
	errHeaderKey     = errors.New("a record header has no key")
	errRecordsRemain = errors.New("bytes follow the last record")
	errCount         = errors.New("the record count is negative")
)

// minRecordLen is the length in bytes of the smallest record: seven fields of
// one byte.
const minRecordLen = 7

// cursor reads a record's fields from its bytes. The first field that does not
// fit makes it bad, and all that follow are zero: check bad once.
type cursor struct {
	p   []byte
	bad bool
}

func (c *cursor) varint32() int32 {
	v, n := varint32(c.p)
	c.bad = c.bad || n == 0
	c.p = c.p[n:]
	return v
}

func (c *cursor) varint64() int64 {
	v, n := varint64(c.p)
	c.bad = c.bad || n == 0
	c.p = c.p[n:]
	return v
}

// bytes reads n bytes; null when n is negative, as Kafka has it for any negative
// length.
func (c *cursor) bytes(n int32) []byte {
	if n < 0 || c.bad {
		return nil
	}
	if int(n) > len(c.p) {
		c.bad = true
		return nil
	}
	v := c.p[:n:n]
	c.p = c.p[n:]
	return v
}

// parse reads the record whose body, all that follows its length, is body. Key,
// Value and Headers point into it; Headers is reused.
func (r *Record) parse(body []byte) error {
	if len(body) == 0 {
		return errRecordFields
	}
	c := cursor{p: body[1:]} // The attributes: none are defined, none are kept.
	r.TimestampDelta = c.varint64()
	r.OffsetDelta = c.varint32()
	r.Key = c.bytes(c.varint32())
	r.Value = c.bytes(c.varint32())
	n := c.varint32()
	if c.bad {
		return errRecordFields
	}
	if n < 0 || int(n) > len(c.p) {
		return errHeaderCount
	}
	r.Headers = r.Headers[:0]
	for range n {
		keyLen := c.varint32()
		if keyLen < 0 {
			return errHeaderKey
		}
		key := c.bytes(keyLen)
		value := c.bytes(c.varint32())
		if c.bad {
			return errRecordFields
		}
		r.Headers = append(r.Headers, Header{key, value})
	}
	if len(c.p) != 0 {
		return errRecordLength
	}
	return nil
}

// appendTo appends the record with its length before it.
func (r *Record) appendTo(dst []byte) []byte {
	size := 1 + varintLen(r.TimestampDelta) + varintLen(int64(r.OffsetDelta)) +
		bytesLen(r.Key) + bytesLen(r.Value) + varintLen(int64(len(r.Headers)))
	for _, h := range r.Headers {
		size += varintLen(int64(len(h.Key))) + len(h.Key) + bytesLen(h.Value)
	}
	dst = appendVarint(dst, int64(size))
	dst = append(dst, 0)
	dst = appendVarint(dst, r.TimestampDelta)
	dst = appendVarint(dst, int64(r.OffsetDelta))
	dst = appendBytes(dst, r.Key)
	dst = appendBytes(dst, r.Value)
	dst = appendVarint(dst, int64(len(r.Headers)))
	for _, h := range r.Headers {
		dst = appendVarint(dst, int64(len(h.Key)))
		dst = append(dst, h.Key...)
		dst = appendBytes(dst, h.Value)
	}
	return dst
}

func appendVarint(dst []byte, v int64) []byte { return binary.AppendUvarint(dst, zigzag(v)) }

// appendBytes appends p with its length, -1 for null.
func appendBytes(dst, p []byte) []byte {
	if p == nil {
		return appendVarint(dst, -1)
	}
	return append(appendVarint(dst, int64(len(p))), p...)
}

// bytesLen is how much appendBytes appends.
func bytesLen(p []byte) int {
	if p == nil {
		return 1
	}
	return varintLen(int64(len(p))) + len(p)
}
