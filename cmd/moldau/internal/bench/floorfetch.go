package bench

import (
	"context"
	"encoding/binary"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// copyBelow is the size up to which an answer's records are read into memory and
// go out in one write; sendfile needs a call more, but copies nothing.
const copyBelow = 64 << 10

// fetch serves Fetch 12, without sessions.
func (c *floorConn) fetch(ctx context.Context, q request, req *kmsg.FetchRequest) error {
	deadline := time.Duration(req.MaxWaitMillis) * time.Millisecond
	var timer <-chan time.Time
	for {
		appended := c.floor.appended.wait() // Before the look, to miss nothing.
		total, unknown := c.makeFetch(q, req)
		if total > 0 || unknown || req.MinBytes <= 0 || deadline <= 0 {
			return c.sendFetch(total)
		}
		if timer == nil {
			t := time.NewTimer(deadline)
			defer t.Stop()
			timer = t.C
		}
		select {
		case <-appended:
		case <-timer:
			deadline = 0
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// splitAt marks where in c.out a span belongs.
type splitAt struct {
	at   int
	span floorSpan
}

// makeFetch writes the answer but for the records into c.out and their spans into
// c.splits. It returns the size of all spans.
func (c *floorConn) makeFetch(q request, req *kmsg.FetchRequest) (total int64, unknown bool) {
	c.begin(q)
	c.splits = c.splits[:0]
	c.out = append(c.out, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) // Throttle, error, session id.
	c.out = binary.AppendUvarint(c.out, uint64(len(req.Topics)+1))
	left := int64(req.MaxBytes)
	for _, t := range req.Topics {
		topic := c.floor.topic(t.Topic)
		c.out = binary.AppendUvarint(c.out, uint64(len(t.Topic)+1))
		c.out = append(c.out, t.Topic...)
		c.out = binary.AppendUvarint(c.out, uint64(len(t.Partitions)+1))
		for _, p := range t.Partitions {
			var span floorSpan
			var end int64
			var code int16
			switch {
			case topic == nil || p.Partition < 0 || int(p.Partition) >= len(topic.partitions):
				code, unknown = codeUnknownTopic, true
			case left > 0:
				span, end = topic.partitions[p.Partition].read(p.FetchOffset, min(int64(p.PartitionMaxBytes), left))
			default:
				end = topic.partitions[p.Partition].endOffset()
			}
			left -= span.size
			total += span.size
			c.fetchPartition(p.Partition, code, end, span)
		}
		c.out = append(c.out, 0)
	}
	c.out = append(c.out, 0)
	c.finish(total)
	return total, unknown
}

func (c *floorConn) fetchPartition(n int32, code int16, end int64, span floorSpan) {
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(n))
	c.out = binary.BigEndian.AppendUint16(c.out, uint16(code))
	c.out = binary.BigEndian.AppendUint64(c.out, uint64(end)) // High watermark.
	c.out = binary.BigEndian.AppendUint64(c.out, uint64(end)) // Stable offset.
	c.out = append(c.out, 0, 0, 0, 0, 0, 0, 0, 0)             // Log start offset.
	c.out = append(c.out, 1)                                  // No aborted transactions.
	c.out = append(c.out, 0xff, 0xff, 0xff, 0xff)             // No preferred replica.
	c.out = binary.AppendUvarint(c.out, uint64(span.size+1))
	if span.size > 0 {
		c.splits = append(c.splits, splitAt{len(c.out), span})
	}
	c.out = append(c.out, 0)
}

// sendFetch sends c.out with the spans between.
func (c *floorConn) sendFetch(total int64) error {
	if total <= copyBelow {
		return c.sendCopied(total)
	}
	sent := 0
	for _, s := range c.splits {
		if err := sendMore(c.conn, c.out[sent:s.at]); err != nil {
			return err
		}
		if err := sendFile(c.conn, s.span); err != nil {
			return err
		}
		sent = s.at
	}
	_, err := c.conn.Write(c.out[sent:])
	return err
}

func (c *floorConn) sendCopied(total int64) error {
	if len(c.splits) == 0 {
		_, err := c.conn.Write(c.out)
		return err
	}
	if need := len(c.out) + int(total); need > cap(c.batch) {
		c.batch = make([]byte, 0, need+copyBelow)
	}
	whole, sent := c.batch[:0], 0
	for _, s := range c.splits {
		whole = append(whole, c.out[sent:s.at]...)
		n := len(whole)
		whole = whole[:n+int(s.span.size)]
		if _, err := io.ReadFull(io.NewSectionReader(s.span.file, s.span.position, s.span.size), whole[n:]); err != nil {
			return err
		}
		sent = s.at
	}
	_, err := c.conn.Write(append(whole, c.out[sent:]...))
	return err
}
