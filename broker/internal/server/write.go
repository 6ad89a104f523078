package server

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/protocol"
)

// heldBytes is how much of answers is held back at most while further requests
// have already arrived, to leave with theirs in one write.
const heldBytes = 16 << 10

// sendfileBytes is the size from which a span is sent by sendfile: below, one
// writev of everything needs fewer system calls; above, both cost the same, and
// sendfile does not grow resident memory.
const sendfileBytes = 128 << 10

// stagingBytes is the size of the pieces in which large answers are written, and
// spans copied to connections that cannot take them from the file.
const stagingBytes = 64 << 10

// maxIOV is how long a list of buffers a connection keeps for its next answer.
const maxIOV = 64

// output is the sending side of a connection. It belongs to the goroutine that
// is allowed to write: the connection's, or its watch while a handler waits.
type output struct {
	held *protocol.Buffer // Answers that have not left yet; nil when there are none.
	n    int              // Of held.
}

// send writes the parts, after what was held back.
func (c *conn) send(parts []api.Part, more bool) error {
	total, spans := 0, false
	for _, p := range parts {
		total += p.Len()
		spans = spans || p.Span != nil
	}
	c.server.cfg.Metrics.ResponseBytes.Add(float64(total))
	if !spans && more && c.out.n+total <= heldBytes {
		c.hold(parts)
		return nil
	}
	if c.tcp == nil {
		return c.sendCopied(parts)
	}
	return c.sendTCP(parts)
}

// hold keeps small answers for later.
func (c *conn) hold(parts []api.Part) {
	if c.out.held == nil {
		c.out.held = c.server.cfg.Buffers.Get(heldBytes)
	}
	for _, p := range parts {
		c.out.n += copy(c.out.held.B[c.out.n:], p.Bytes)
	}
}

// flush writes what was held back.
func (c *conn) flush() error {
	if c.out.n == 0 {
		return nil
	}
	return c.send(nil, false)
}

// takeHeld gives out the bytes that were held back, and the buffer to put back
// once they are written.
func (c *conn) takeHeld() ([]byte, *protocol.Buffer) {
	if c.out.held == nil {
		return nil, nil
	}
	buf := c.out.held
	b := buf.B[:c.out.n]
	c.out.held, c.out.n = nil, 0
	return b, buf
}

// sendTCP writes with as few system calls as the parts allow: one writev for
// bytes and small spans, which are mapped, and a sendfile for each large span.
func (c *conn) sendTCP(parts []api.Part) error {
	held, buf := c.takeHeld()
	defer c.server.cfg.Buffers.Put(buf)
	c.iov = c.iovArray[:0]
	if len(held) > 0 {
		c.iov = append(c.iov, held)
	}
	for _, p := range parts {
		if p.Span == nil {
			if err := c.addBytes(p.Bytes); err != nil {
				return err
			}
			continue
		}
		if fd, off, ok := p.Span.File(); ok && canSendfile && p.Span.Len() >= sendfileBytes {
			if err := c.writeMore(); err != nil {
				return err
			}
			if err := c.sendfile(fd, off, p.Span.Len()); err != nil {
				return err
			}
			continue
		}
		var ok bool
		if c.iov, ok = p.Span.Buffers(c.iov); !ok {
			if err := c.writev(); err != nil {
				return err
			}
			if err := c.copySpan(p.Span); err != nil {
				return err
			}
		}
	}
	return c.writev()
}

// addBytes adds b to what the next writev sends. All but the end of what is long is
// sent at once and in pieces, so that it is seen how it moves.
func (c *conn) addBytes(b []byte) error {
	for len(b) > stagingBytes {
		c.iov = append(c.iov, b[:stagingBytes])
		if err := c.writev(); err != nil {
			return err
		}
		b = b[stagingBytes:]
	}
	c.iov = append(c.iov, b)
	return nil
}

// writev writes all of c.iov and leaves it empty.
func (c *conn) writev() error {
	if len(c.iov) == 0 {
		return nil
	}
	defer c.emptied(c.iov) // WriteTo moves the slice on.
	for {
		c.extendWrite()
		n, err := c.iov.WriteTo(c.tcp)
		if err == nil {
			return nil
		}
		if !stillMoving(n, err) {
			return err
		}
	}
}

// emptied keeps the memory of iov, which is written, for the next list.
func (c *conn) emptied(iov net.Buffers) {
	clear(iov[:cap(iov)])
	if cap(iov) > maxIOV {
		iov = nil
	}
	c.iovArray = iov
	c.iov = iov[:0]
}

// sendCopied is for connections that take bytes alone: TLS, and those in
// memory. Bytes are gathered into large writes.
func (c *conn) sendCopied(parts []api.Part) error {
	held, buf := c.takeHeld()
	defer c.server.cfg.Buffers.Put(buf)
	staging := c.server.cfg.Buffers.Get(stagingBytes)
	defer c.server.cfg.Buffers.Put(staging)
	w := &gatherer{c: c, buf: staging.B}
	if _, err := w.Write(held); err != nil {
		return err
	}
	for _, p := range parts {
		var err error
		if p.Span != nil {
			err = w.span(p.Span)
		} else {
			_, err = w.Write(p.Bytes)
		}
		if err != nil {
			return err
		}
	}
	return w.flush()
}

// copySpan sends a span that is neither mapped nor in a single file.
func (c *conn) copySpan(s api.Span) error {
	staging := c.server.cfg.Buffers.Get(stagingBytes)
	defer c.server.cfg.Buffers.Put(staging)
	w := &gatherer{c: c, buf: staging.B}
	if err := w.span(s); err != nil {
		return err
	}
	return w.flush()
}

// gatherer collects bytes until its buffer is full, and then writes it.
type gatherer struct {
	c   *conn
	buf []byte
	n   int
}

func (w *gatherer) Write(p []byte) (int, error) {
	for written := 0; ; {
		n := copy(w.buf[w.n:], p[written:])
		w.n += n
		if written += n; written == len(p) {
			return written, nil
		}
		if err := w.flush(); err != nil {
			return written, err
		}
	}
}

func (w *gatherer) span(s api.Span) error {
	for off := 0; off < s.Len(); {
		if w.n == len(w.buf) {
			if err := w.flush(); err != nil {
				return err
			}
		}
		n := min(len(w.buf)-w.n, s.Len()-off)
		got, err := s.ReadAt(w.buf[w.n:w.n+n], int64(off))
		if got < n {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		w.n, off = w.n+n, off+n
	}
	return nil
}

func (w *gatherer) flush() error {
	err := w.c.write(w.buf[:w.n])
	w.n = 0
	return err
}

// write writes all of p, as long as some of it moves.
func (c *conn) write(p []byte) error {
	for len(p) > 0 {
		c.extendWrite()
		n, err := c.nc.Write(p)
		if p = p[n:]; err != nil && !stillMoving(int64(n), err) {
			return err
		}
	}
	return nil
}

// extendWrite gives the peer IdleTimeout from now to take some of a response. It is
// called before each step, when what was before has moved.
func (c *conn) extendWrite() {
	if c.counted {
		c.server.unread.moved(c)
	}
	if idle := c.server.cfg.IdleTimeout; idle > 0 {
		c.nc.SetWriteDeadline(time.Now().Add(idle)) //nolint:errcheck // A closed connection fails in the write itself.
	}
}

// stillMoving says that a write was ended by its deadline, but not without
// progress: a slow peer is not a dead one.
func stillMoving(n int64, err error) bool {
	return n > 0 && errors.Is(err, os.ErrDeadlineExceeded)
}
