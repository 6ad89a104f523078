package batch

import (
	"errors"
	"fmt"
	"math"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// check is the walk over one batch's records against the rules.
type check struct {
	rules Rules
	batch Batch

	// Timestamps from lo to hi are in order. When the batch claims LogAppendTime,
	// which a producer may not, none is, so that fault looks at every record.
	lo, hi int64

	newest int64 // The largest timestamp so far.
	sparse bool  // An offset delta was not the record's index.

	faults    []RecordError
	faulty    int64 // All of them, also those beyond MaxRecordErrors.
	timestamp bool  // One of them is about a timestamp.
}

// checkRecords walks the records of b. It returns their largest timestamp (never
// below NoTimestamp) and whether their offset deltas are 0, 1, 2, ….
//
// A record that cannot be read is an error at once, and the faults found so far
// are forgotten; faults of readable records are gathered. That is Kafka's order.
func checkRecords(b Batch, r *Rules) (newest int64, dense bool, err error) {
	c := check{rules: *r, batch: b, newest: NoTimestamp}
	c.lo, c.hi = r.bounds()
	if b.LogAppendTime() {
		c.lo, c.hi = math.MaxInt64, math.MinInt64
	}
	if b.Codec() == codec.None {
		err = c.flat(b.Payload())
	} else {
		err = c.streamed()
	}
	if err == nil {
		err = c.verdict()
	}
	return c.newest, !c.sparse, err
}

// flat walks uncompressed records where they lie.
func (c *check) flat(p []byte) error {
	base, count := c.batch.BaseTimestamp(), c.batch.Count()
	needKey, fixed := c.rules.Compacted, c.batch.LogAppendTime()
	if fixed {
		base = c.batch.MaxTimestamp()
	}
	lo, hi, newest := c.lo, c.hi, c.newest
	for index := range count {
		s, n := scanShort(p)
		if n == 0 {
			var err error
			if s, n, err = scanNext(p); err != nil {
				return unreadable(index, err)
			}
		}
		p = p[n:]
		ts := base
		if !fixed {
			ts += s.timestampDelta
		}
		if ts < lo || ts > hi || needKey && s.keyLen < 0 {
			c.fault(index, ts, s.keyLen >= 0)
		}
		if ts > newest {
			newest = ts
		}
		if s.offsetDelta != index {
			c.sparse = true
		}
	}
	c.newest = newest
	if len(p) > 0 {
		return unreadable(count-1, errRecordsRemain)
	}
	return nil
}

// scanNext checks the record that begins p with its length, and returns how long
// it is with that.
func scanNext(p []byte) (s scanned, n int, err error) {
	size, at := varint32(p)
	if at == 0 || size < 0 || int(size) > len(p)-at {
		return s, 0, errRecordCut
	}
	n = at + int(size)
	s, err = scanRecord(p[at:n])
	return s, n, err
}

// streamed walks compressed records as they come out of the decompressor. No
// record is ever held whole unless it fits the window.
func (c *check) streamed() error {
	w, err := openWindow(c.batch, c.rules.decompressedBound())
	if err != nil {
		return c.undecodable(0, err)
	}
	defer w.close()
	base, fixed := c.batch.BaseTimestamp(), c.batch.LogAppendTime()
	if fixed {
		base = c.batch.MaxTimestamp()
	}
	count := c.batch.Count()
	for index := range count {
		s, err := w.scan()
		if err != nil {
			return c.undecodable(index, err)
		}
		ts := base
		if !fixed {
			ts += s.timestampDelta
		}
		if ts < c.lo || ts > c.hi || c.rules.Compacted && s.keyLen < 0 {
			c.fault(index, ts, s.keyLen >= 0)
		}
		c.newest = max(c.newest, ts)
		if s.offsetDelta != index {
			c.sparse = true
		}
	}
	if err := w.atEnd(); err != nil {
		return c.undecodable(count-1, err)
	}
	return nil
}

// fault notes what is wrong with a record, if anything is: one thing at most, and
// the key first. A timestamp of -1 means none and may stand, except in a batch
// that claims LogAppendTime. Such a batch passes Kafka when its one timestamp is
// within bounds and the topic keeps producers' times.
func (c *check) fault(index int32, ts int64, hasKey bool) {
	r := &c.rules
	lo, hi := r.bounds()
	switch {
	case r.Compacted && !hasKey:
		c.note(index, "a compacted topic takes no record without a key")
	case !r.LogAppendTime && ts != NoTimestamp:
		if ts < lo || ts > hi {
			c.timestamp = true
			c.note(index, fmt.Sprintf("timestamp %d is out of range, it should be within [%d, %d]", ts, lo, hi))
		}
	case c.batch.LogAppendTime():
		c.timestamp = true
		c.note(index, "a producer may not set the timestamp type to LogAppendTime")
	}
}

func (c *check) note(index int32, message string) {
	if c.faulty++; c.faulty <= MaxRecordErrors {
		c.faults = append(c.faults, RecordError{index, message})
	}
}

// verdict is the error that the faults add up to.
func (c *check) verdict() error {
	if c.faulty == 0 {
		return nil
	}
	message := fmt.Sprintf("batch rejected: %d of its records are invalid", c.faulty)
	if c.timestamp {
		message = fmt.Sprintf("batch rejected: %d of its records are invalid, with timestamps among the reasons", c.faulty)
	}
	return &RecordsError{Timestamp: c.timestamp, Message: message, Records: c.faults}
}

// unreadable says that a record is not one.
func unreadable(index int32, err error) error {
	return invalid("record %d: %v", index, err)
}

// undecodable is unreadable for compressed records.
func (c *check) undecodable(index int32, err error) error {
	if errors.Is(err, codec.ErrTooLarge) {
		return &TooLargeError{Max: c.rules.decompressedBound(), Decompressed: true}
	}
	return unreadable(index, err)
}
