package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// floorConn serves one connection, one request at a time.
type floorConn struct {
	floor  *Floor
	conn   *net.TCPConn
	in     *bufio.Reader
	name   [256]byte // The topic being read.
	batch  []byte    // The batch being received; grows to the largest.
	out    []byte    // The answer being made.
	splits []splitAt // Where the records of a fetch go.
}

const (
	// smallRead is bufio's buffer: headers and small batches come out of it, larger
	// ones are read past it.
	smallRead = 16 << 10
	// largestFrame bounds what a frame may claim, largestBatch a batch.
	largestFrame = 128 << 20
	largestBatch = 16 << 20
)

func newFloorConn(f *Floor, conn *net.TCPConn) *floorConn {
	return &floorConn{floor: f, conn: conn, in: bufio.NewReaderSize(conn, smallRead)}
}

// frame is what is left to be read of a request. Errors stick.
type frame struct {
	in   *bufio.Reader
	left int
	err  error
	tmp  [8]byte
}

var errFrame = errors.New("a frame ends before its request does")

// bytes reads n bytes into dst.
func (r *frame) bytes(dst []byte) {
	if r.err != nil {
		return
	}
	if len(dst) > r.left {
		r.err = errFrame
		return
	}
	r.left -= len(dst)
	_, r.err = io.ReadFull(r.in, dst)
}

func (r *frame) int16() int16 {
	r.bytes(r.tmp[:2])
	return int16(binary.BigEndian.Uint16(r.tmp[:]))
}

func (r *frame) int32() int32 {
	r.bytes(r.tmp[:4])
	return int32(binary.BigEndian.Uint32(r.tmp[:]))
}

// uvarint reads an unsigned varint.
func (r *frame) uvarint() int {
	var v uint64
	for shift := 0; shift < 35 && r.err == nil; shift += 7 {
		r.bytes(r.tmp[:1])
		v |= uint64(r.tmp[0]&0x7f) << shift
		if r.tmp[0] < 0x80 {
			return int(min(v, 1<<31-1))
		}
	}
	if r.err == nil {
		r.err = errFrame
	}
	return 0
}

// count reads the length of a compact array or string; null is 0.
func (r *frame) count() int { return max(r.uvarint()-1, 0) }

func (r *frame) skip(n int) {
	if r.err == nil && n > r.left {
		r.err = errFrame
	}
	if r.err == nil {
		var skipped int
		skipped, r.err = r.in.Discard(n)
		r.left -= skipped
	}
}

// tags skips tagged fields.
func (r *frame) tags() {
	for range r.uvarint() {
		r.uvarint()
		r.skip(r.uvarint())
		if r.err != nil {
			return
		}
	}
}

// request is the header of a request.
type request struct {
	key, version int16
	correlation  int32
}

// serve answers requests until the peer goes.
func (c *floorConn) serve(ctx context.Context) error {
	r := &frame{in: c.in}
	for {
		*r = frame{in: c.in, left: 4}
		size := r.int32()
		if r.err != nil {
			return r.err
		}
		if size < 8 || size > largestFrame {
			return fmt.Errorf("a frame of %d bytes", size)
		}
		r.left = int(size)
		q := request{key: r.int16(), version: r.int16(), correlation: r.int32()}
		if n := r.int16(); n > 0 { // The client's id.
			r.skip(int(n))
		}
		if flexible(q) {
			r.tags()
		}
		if r.err != nil {
			return r.err
		}
		if err := c.answer(ctx, q, r); err != nil {
			return err
		}
	}
}

// begin starts an answer with its header.
func (c *floorConn) begin(q request) {
	c.out = binary.BigEndian.AppendUint32(c.out[:0], 0)
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(q.correlation))
	if flexible(q) && q.key != keyAPIVersions {
		c.out = append(c.out, 0)
	}
}

// finish fills in the answer's length: what is in c.out, and spanBytes more.
func (c *floorConn) finish(spanBytes int64) {
	binary.BigEndian.PutUint32(c.out, uint32(int64(len(c.out)-4)+spanBytes))
}

// produce serves Produce 9 to 11, batch by batch.
func (c *floorConn) produce(q request, r *frame) error {
	r.skip(r.count()) // The transactional id.
	acks := r.int16()
	r.int32() // The timeout.
	c.begin(q)
	topics := r.count()
	c.out = binary.AppendUvarint(c.out, uint64(topics+1))
	for range topics {
		name := c.name[:min(r.count(), len(c.name))]
		r.bytes(name)
		topic := c.floor.topic(string(name))
		c.out = binary.AppendUvarint(c.out, uint64(len(name)+1))
		c.out = append(c.out, name...)
		partitions := r.count()
		c.out = binary.AppendUvarint(c.out, uint64(partitions+1))
		for range partitions {
			if err := c.producePartition(topic, r); err != nil {
				return err
			}
		}
		r.tags()
		c.out = append(c.out, 0)
		if r.err != nil {
			return r.err
		}
	}
	r.tags()
	if r.err != nil {
		return r.err
	}
	c.floor.appended.raise()
	c.out = append(c.out, 0, 0, 0, 0, 0) // Throttle time, tags.
	if acks == 0 {
		return nil
	}
	c.finish(0)
	_, err := c.conn.Write(c.out)
	return err
}

// Error codes that the probe answers.
const (
	codeUnknownTopic   = 3
	codeCorruptMessage = 2
	codeStorage        = 56
	codeBadVersion     = 35
)

func (c *floorConn) producePartition(topic *floorTopic, r *frame) error {
	index := r.int32()
	size := r.count()
	if size > largestBatch || size > r.left {
		return errFrame
	}
	if size > cap(c.batch) {
		c.batch = make([]byte, size)
	}
	batch := c.batch[:size]
	r.bytes(batch)
	r.tags()
	if r.err != nil {
		return r.err
	}
	var base int64 = -1
	var code int16
	if topic == nil || index < 0 || int(index) >= len(topic.partitions) {
		code = codeUnknownTopic
	} else {
		var err error
		base, err = topic.partitions[index].append(batch)
		switch {
		case errors.Is(err, errBadBatch):
			code = codeCorruptMessage
		case err != nil:
			code = codeStorage
		}
	}
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(index))
	c.out = binary.BigEndian.AppendUint16(c.out, uint16(code))
	c.out = binary.BigEndian.AppendUint64(c.out, uint64(base))
	c.out = append(c.out, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff) // Log append time -1.
	c.out = append(c.out, 0, 0, 0, 0, 0, 0, 0, 0)                         // Log start offset 0.
	c.out = append(c.out, 1, 0, 0)                                        // No record errors, null message, tags.
	return nil
}
