package scenario

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxFrame is the largest response that is read: what Kafka's own clients take.
const maxFrame = 100 << 20

// Conn is one plain connection that says exactly what it is told to: any version,
// any number of requests before the first answer, any bytes. One goroutine uses it.
type Conn struct {
	net      net.Conn
	in       *bufio.Reader
	client   string
	next     int32 // The next correlation id.
	exchange *Exchange
	answered *answered // Nil notes nothing.
}

// Exchange is a request and what came back, for the report of a failure.
type Exchange struct {
	Request  kmsg.Request
	Response kmsg.Response // Nil while there is none.
	Err      error
}

// Pending is a request whose response has not been read.
type Pending struct {
	Correlation int32
	Request     kmsg.Request
}

// ErrClosed says that the broker closed the connection.
var ErrClosed = errors.New("the broker closed the connection")

func dial(ctx context.Context, dialer func(context.Context, string, string) (net.Conn, error), addr, client string) (*Conn, error) {
	c, err := dialer(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return &Conn{net: c, in: bufio.NewReaderSize(c, 64<<10), client: client, next: 1}, nil
}

// Dial connects to a broker, as the client that it is told. The context's deadline is
// the connection's.
func Dial(ctx context.Context, addr, clientID string) (*Conn, error) {
	return dial(ctx, new(net.Dialer).DialContext, addr, clientID)
}

// Close closes the connection.
func (c *Conn) Close() error { return c.net.Close() }

// Frame is a request as it goes over the wire, with the length before it.
func (c *Conn) Frame(req kmsg.Request, correlation int32) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.client)).AppendRequest(nil, req, correlation)
}

// Send writes a request of the version that it carries and reads nothing.
func (c *Conn) Send(req kmsg.Request) (Pending, error) {
	p := Pending{Correlation: c.next, Request: req}
	c.next++
	c.exchange = &Exchange{Request: req}
	err := c.SendRaw(c.Frame(req, p.Correlation))
	c.exchange.Err = err
	return p, err
}

// SendRaw writes bytes as they are.
func (c *Conn) SendRaw(b []byte) error {
	_, err := c.net.Write(b)
	return closedError(err)
}

// ReadFrame reads one response without its length: correlation id, header, body.
func (c *Conn) ReadFrame() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c.in, size[:]); err != nil {
		return nil, closedError(err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 4 || n > maxFrame {
		return nil, fmt.Errorf("a response of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(c.in, b)
	return b, closedError(err)
}

// Receive reads the next response, which must be that of p.
func (c *Conn) Receive(p Pending) (kmsg.Response, error) {
	c.exchange = &Exchange{Request: p.Request}
	resp, err := c.receive(p)
	c.exchange.Response, c.exchange.Err = resp, err
	return resp, err
}

func (c *Conn) receive(p Pending) (kmsg.Response, error) {
	b, err := c.ReadFrame()
	if err != nil {
		return nil, err
	}
	if got := int32(binary.BigEndian.Uint32(b)); got != p.Correlation {
		return nil, fmt.Errorf("the response has correlation id %d, the request %d", got, p.Correlation)
	}
	resp := p.Request.ResponseKind()
	resp.SetVersion(p.Request.GetVersion())
	err = c.read(resp, b[4:])
	c.answered.note(resp.Key(), resp.GetVersion(), err)
	return resp, err
}

// read decodes a response after its correlation id.
func (c *Conn) read(resp kmsg.Response, body []byte) error {
	// The header of ApiVersions never has tags: its reader may not know the version.
	if resp.IsFlexible() && resp.Key() != kmsg.ApiVersions.Int16() {
		if len(body) == 0 || body[0] != 0 {
			return fmt.Errorf("the response header has no empty tag section: % x", body[:min(len(body), 16)])
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return fmt.Errorf("the response cannot be decoded as version %d: %w", resp.GetVersion(), err)
	}
	return c.exact(resp, body)
}

// exact says whether a response is what its own encoding gives, which finds bytes
// after its end that a decoder does not see. Fields may carry unknown tags.
func (c *Conn) exact(resp kmsg.Response, body []byte) error {
	if again := resp.AppendTo(nil); len(again) != len(body) {
		return fmt.Errorf("the response has %d bytes, its fields take %d", len(body), len(again))
	}
	return nil
}

// Do sends a request and reads its response.
func (c *Conn) Do(req kmsg.Request) (kmsg.Response, error) {
	p, err := c.Send(req)
	if err != nil {
		return nil, err
	}
	return c.Receive(p)
}

// Closed reads until the broker closes the connection. Anything else is an error.
func (c *Conn) Closed() error {
	b, err := c.ReadFrame()
	switch {
	case errors.Is(err, ErrClosed):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("the broker answered with %d bytes instead of closing the connection", len(b))
}

// closedError makes one error of the ways in which a peer closes a connection.
func closedError(err error) error {
	var timeout net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &timeout) && timeout.Timeout():
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, new(*net.OpError)):
		return ErrClosed
	}
	return err
}
