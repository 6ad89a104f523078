package client

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// Cutter makes connections and breaks some of them at the worst moment for a
// producer: the broker has answered a Produce request, and its client never hears.
type Cutter struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	ctx  context.Context //nolint:containedctx // That of the scenario, for clients that dial without one.
	Left atomic.Int32    // How many connections are still to be broken.
	Cuts atomic.Int32    // How many were.
}

// NewCutter makes one that breaks nothing yet.
func NewCutter(t *scenario.T) *Cutter { return &Cutter{dial: t.DialContext, ctx: t.Context()} }

// DialContext makes a connection that may be one of those to break.
func (c *Cutter) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, cutter: c}, nil
}

// Dial is DialContext for golang.org/x/net/proxy, by which sarama dials.
func (c *Cutter) Dial(network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
	defer cancel()
	return c.DialContext(ctx, network, addr)
}

// cutConn is a connection that ends instead of handing over the answer to a Produce
// request, as long as its cutter has some to break.
type cutConn struct {
	net.Conn
	cutter *Cutter

	mu      sync.Mutex
	doomed  bool
	request []byte // The first bytes of the request that is written, to its API key.
	rest    int    // What is still to come of it.
}

// Write looks for the API keys among what is written, however it is cut into pieces.
func (c *cutConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	for in := b; len(in) > 0; {
		if c.rest == 0 && len(c.request) == 6 {
			c.request = c.request[:0]
		}
		if missing := 6 - len(c.request); missing > 0 {
			n := min(missing, len(in))
			c.request = append(c.request, in[:n]...)
			in = in[n:]
			if len(c.request) < 6 {
				break
			}
			c.rest = int(binary.BigEndian.Uint32(c.request)) - 2
			c.doomed = c.doomed || int16(binary.BigEndian.Uint16(c.request[4:])) == kmsg.Produce.Int16()
		}
		n := min(c.rest, len(in))
		c.rest -= n
		in = in[n:]
	}
	c.mu.Unlock()
	return c.Conn.Write(b)
}

// Read waits for bytes from the broker, so that it surely has appended what it was
// sent, and breaks the connection in their stead.
func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n == 0 || !c.doomed || c.cutter.Left.Add(-1) < 0 {
		return n, err
	}
	c.doomed = false
	c.cutter.Cuts.Add(1)
	_ = c.Close()
	return 0, net.ErrClosed
}
