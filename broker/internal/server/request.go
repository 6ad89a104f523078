package server

import (
	"errors"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/protocol"
)

// streamBytes is the size from which a Produce request is handled while it
// arrives.
const streamBytes = 256 << 10

// headerBytes is what a request header takes at most, but for tagged fields,
// which no client sends there.
const headerBytes = 34 << 10

// receive reads the next request into c.call, or its beginning if the rest is to
// be read by the handler. It returns the size of the request.
func (c *conn) receive() (size int, err error) {
	c.call = api.Call{}
	key, err := c.in.Begin(c.server.cfg.Limits, c.info.Authenticated)
	if err != nil {
		if _, ok := errors.AsType[*protocol.SizeError](err); ok {
			return 0, &peerError{"size", err}
		}
		return 0, err
	}
	size = c.in.Left()
	c.server.cfg.Metrics.RequestBytes.Add(float64(4 + size))
	streams := key == int16(kmsg.Produce) && size >= streamBytes
	first := size
	if streams {
		first = headerBytes
	}
	frame, err := c.in.Peek(first)
	if err != nil {
		return 0, err
	}
	h, body, err := protocol.ReadRequestHeader(frame)
	if err != nil {
		return 0, &peerError{"header", err}
	}
	c.call = api.Call{
		Key: h.Key, Version: h.Version, Correlation: h.Correlation, ClientID: c.intern(h.ClientID),
		Conn: &c.info, Received: time.Now(), Reserve: c.room,
	}
	if streams {
		c.in.Skip(len(frame) - len(body))
		c.call.Stream = arriving{c}
	} else {
		c.in.Skip(size)
		c.call.Body = body
	}
	return size, nil
}

// arriving is api.Call.Stream: the connection's reader, which tells the watch
// when the request is all there.
type arriving struct{ c *conn }

func (a arriving) Peek(n int) ([]byte, error) { return a.c.in.Peek(n) }
func (a arriving) Left() int                  { return a.c.in.Left() }
func (a arriving) Skip(n int) {
	if a.c.in.Skip(n); a.c.in.Left() == 0 {
		a.c.watch.arrived()
	}
}

// intern returns the client id as a string, the same one as long as it does not
// change.
func (c *conn) intern(id []byte) *string {
	if id == nil {
		return nil
	}
	if c.clientID == nil || *c.clientID != string(id) {
		s := string(id)
		c.clientID = &s
	}
	return c.clientID
}

// idleReader reads from the connection when there is time to: before it might
// block, held answers leave, and the peer has IdleTimeout for its next byte.
type idleReader struct{ c *conn }

func (r idleReader) Read(p []byte) (int, error) {
	c := r.c
	if err := c.flush(); err != nil {
		return 0, err
	}
	for began := time.Now(); ; {
		deadline := c.readDeadline(began)
		if err := c.nc.SetReadDeadline(deadline); err != nil {
			return 0, err
		}
		// Shutdown closes draining first and sets a deadline in the past
		// then, so one of the two is seen here.
		if c.server.isDraining() {
			return 0, errShutdown
		}
		n, err := c.nc.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if c.reserved > 0 && c.server.frames.contended() {
			return 0, &peerError{"budget", errStalled}
		}
		if idle := c.server.cfg.IdleTimeout; idle > 0 && time.Since(began) >= idle {
			return 0, err
		}
	}
}

// errStalled ends a connection that keeps others from memory with a request
// that does not arrive.
var errStalled = errors.New("a large request stopped arriving while others wait for memory (queued.max.request.bytes)")

// readDeadline is when to look again at a connection that has been silent since
// began: sooner inside a large request, whose memory others may need.
func (c *conn) readDeadline(began time.Time) time.Time {
	var deadline time.Time
	if idle := c.server.cfg.IdleTimeout; idle > 0 {
		deadline = began.Add(idle)
	}
	if look := time.Now().Add(c.server.cfg.QueuedWait); c.reserved > 0 && (deadline.IsZero() || look.Before(deadline)) {
		deadline = look
	}
	return deadline
}

// freeDecodeBytes is the size of a request up to which the memory of its
// decoded form is not counted: it is in the order of what a connection itself
// takes.
const freeDecodeBytes = 64 << 10 / protocol.DecodeFactor

// reserveDecoding takes from the budget what decoding a request of that size
// may need, and lets the handler give back what it did not.
func (c *conn) reserveDecoding(size int) error {
	n, err := c.server.decoding.acquire(c.ctx, int64(size)*protocol.DecodeFactor)
	if err != nil {
		return c.noBudget(err)
	}
	c.made += n
	c.call.Retain = func(used int64) {
		if used < n {
			c.server.decoding.release(n - used)
			c.made -= n - used
			n = used
		}
	}
	return nil
}

// reserve is what the reader asks before it takes a large buffer. It is granted all
// or nothing, so that what the reader gives back is what it took.
func (c *conn) reserve(n int) error {
	if n < 0 {
		c.reserved += n
		c.server.frames.collected(int64(-n))
		return nil
	}
	if int64(c.reserved+n) > c.server.frames.total {
		return c.noBudget(errNoBudget) // Waiting would be for itself.
	}
	if _, err := c.server.frames.acquire(c.ctx, int64(n)); err != nil {
		return c.noBudget(err)
	}
	c.reserved += n
	return nil
}

// makeRoom is api.Call.Reserve: memory for what a handler itself makes of a
// request.
func (c *conn) makeRoom(bytes int64) error {
	if c.made+bytes > c.server.decoding.total {
		return c.noBudget(errNoBudget) // Waiting would be for itself.
	}
	n, err := c.server.decoding.acquire(c.ctx, bytes)
	if err != nil {
		return c.noBudget(err)
	}
	c.made += n
	return nil
}

func (c *conn) noBudget(err error) error {
	if errors.Is(err, errNoBudget) {
		return &peerError{"budget", err}
	}
	return err
}
