package memnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// bufferBytes is how much one direction holds before a writer waits, in the
// order of a socket's buffers.
const bufferBytes = 64 << 10

// Conn is one end of a connection. Any goroutine may use it, as with net.Conn.
type Conn struct {
	local, remote net.Addr
	in, out       *stream
	forget        func() // Nil on the accepting end.
}

// pipe makes the two ends of a connection.
func pipe(client, server net.Addr) (*Conn, *Conn) {
	up, down := newStream(), newStream()
	return &Conn{local: client, remote: server, in: down, out: up},
		&Conn{local: server, remote: client, in: up, out: down}
}

// Read reads what has arrived, or waits for some.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

// Write writes all of p, waiting while the other end does not read.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.wrap("write", err)
}

// Close ends both directions. What was written still arrives, unless this end
// leaves bytes unread: then the other end sees a reset, as with TCP.
func (c *Conn) Close() error {
	if c.forget != nil {
		c.forget()
	}
	if c.in.closeReader() {
		c.out.fail(os.NewSyscallError("read", syscall.ECONNRESET))
	}
	c.out.closeWriter()
	return nil
}

// CloseWrite ends the direction from this end; the other reads io.EOF.
func (c *Conn) CloseWrite() error {
	c.out.finish()
	return nil
}

// reset makes both ends see a connection that broke.
func (c *Conn) reset() {
	if c.forget != nil {
		c.forget()
	}
	for _, s := range []*stream{c.in, c.out} {
		s.fail(os.NewSyscallError("read", syscall.ECONNRESET))
	}
}

// LocalAddr is this end.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	c.in.readBy.set(t)
	c.out.writeBy.set(t)
	return nil
}

// SetReadDeadline ends a Read that waits, and all later ones, at t.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.readBy.set(t)
	return nil
}

// SetWriteDeadline ends a Write that waits, and all later ones, at t.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.writeBy.set(t)
	return nil
}

func (c *Conn) wrap(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: "mem", Source: c.local, Addr: c.remote, Err: err}
}

// stream is one direction: bytes from one end's Write to the other's Read.
type stream struct {
	mu struct {
		sync.Mutex

		buf      []byte // Written and not read; at most bufferBytes.
		finished bool   // The writer wrote all it will.
		noWrite  bool   // The writer closed.
		noRead   bool   // The reader closed.
		err      error  // What the reader sees at once, instead of bytes.
	}
	changed *sync.Cond
	readBy  deadline
	writeBy deadline
}

func newStream() *stream {
	s := &stream{}
	s.changed = sync.NewCond(&s.mu)
	s.readBy.stream, s.writeBy.stream = s, s
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.mu.noRead:
			return 0, net.ErrClosed
		case s.readBy.passed:
			return 0, os.ErrDeadlineExceeded
		case s.mu.err != nil:
			return 0, s.mu.err
		case len(p) == 0:
			return 0, nil
		case len(s.mu.buf) > 0:
			n := copy(p, s.mu.buf)
			if s.mu.buf = s.mu.buf[n:]; len(s.mu.buf) == 0 {
				s.mu.buf = nil
			}
			s.changed.Broadcast()
			return n, nil
		case s.mu.finished:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte) (written int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.mu.noWrite || s.mu.finished:
			return written, net.ErrClosed
		case s.writeBy.passed:
			return written, os.ErrDeadlineExceeded
		case s.mu.noRead || s.mu.err != nil:
			return written, os.NewSyscallError("write", syscall.EPIPE)
		}
		if n := min(len(p), bufferBytes-len(s.mu.buf)); n > 0 {
			s.mu.buf = append(s.mu.buf, p[:n]...)
			p, written = p[n:], written+n
			s.changed.Broadcast()
		}
		if len(p) == 0 {
			return written, nil
		}
		s.changed.Wait()
	}
}

// closeReader says whether bytes were left unread.
func (s *stream) closeReader() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.noRead = true
	s.readBy.stopLocked()
	s.changed.Broadcast()
	return len(s.mu.buf) > 0
}

func (s *stream) closeWriter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.noWrite, s.mu.finished = true, true
	s.writeBy.stopLocked()
	s.changed.Broadcast()
}

func (s *stream) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.finished = true
	s.changed.Broadcast()
}

func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.err = err
	s.changed.Broadcast()
}

// deadline is one of a stream's two; it is guarded by the stream's lock.
type deadline struct {
	stream *stream
	timer  *time.Timer
	passed bool
	times  int // How often it was set, so that a late timer is not taken for the last.
}

func (d *deadline) set(t time.Time) {
	d.stream.mu.Lock()
	defer d.stream.mu.Unlock()
	d.stopLocked()
	d.passed = false
	if t.IsZero() {
		return
	}
	wait := time.Until(t)
	if wait <= 0 {
		d.passed = true
		d.stream.changed.Broadcast()
		return
	}
	mine := d.times
	d.timer = time.AfterFunc(wait, func() {
		d.stream.mu.Lock()
		defer d.stream.mu.Unlock()
		if d.times == mine {
			d.passed = true
			d.stream.changed.Broadcast()
		}
	})
}

func (d *deadline) stopLocked() {
	d.times++
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
