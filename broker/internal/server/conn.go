package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/protocol"
)

// conn is one connection. All of it belongs to the goroutine that runs serve,
// but for what watch.go says.
type conn struct {
	server   *Server
	listener Listener
	raw      net.Conn     // As accepted; other goroutines may use it, and nothing else here.
	nc       net.Conn     // raw, or what was made of it by the listener's Upgrade.
	tcp      *net.TCPConn // nc, when it is one: the fast ways to write.
	info     api.Conn
	ctx      context.Context // Ends with the connection; handlers get it as callContext.
	cancel   context.CancelCauseFunc
	watch    watch
	in       *protocol.Reader
	out      output
	iov      net.Buffers             // Reused by sendTCP: what the next writev sends,
	iovArray net.Buffers             // and the array behind it.
	call     api.Call                // Reused: one request at a time.
	clientID *string                 // Of the last request, which is nearly always that of the next.
	reserved int                     // Bytes of the frames budget that the reader's buffer takes.
	made     int64                   // Bytes of the decoding budget that the request takes.
	room     func(bytes int64) error // makeRoom, made once.
	counted  bool                    // The answer that is being written counts in Server.unread.
}

// errShutdown ends connections that are silent when the broker stops.
var errShutdown = errors.New("the broker shuts down")

// peerError is a connection that ends because of what the peer sent.
type peerError struct {
	reason string // A label of Metrics.BrokenPeers.
	err    error
}

func (e *peerError) Error() string { return e.err.Error() }
func (e *peerError) Unwrap() error { return e.err }

// serve is the life of a connection. It returns when nothing is left of it.
func (c *conn) serve(ctx context.Context) {
	ctx, c.cancel = context.WithCancelCause(ctx)
	c.watch.c = c
	c.room = c.makeRoom
	c.ctx = callContext{Context: ctx, watch: &c.watch}
	defer c.close()
	defer c.recovered()

	err := c.upgrade(ctx)
	if err == nil {
		c.in = protocol.NewReader(idleReader{c}, c.server.cfg.Buffers, c.reserve)
		for err == nil {
			err = c.next()
		}
	}
	c.flush() //nolint:errcheck // Answers to what came before the reason to close; the peer may be gone.
	c.report(err)
}

// next serves one request.
func (c *conn) next() error {
	size, err := c.receive()
	if err != nil {
		return err
	}
	answer, err := c.handle(size)
	if err != nil {
		return err
	}
	throttle := answer.Throttle
	err = c.finish(answer)
	c.server.cfg.Metrics.observe(c.call.Key, time.Since(c.call.Received).Seconds())
	c.in.Release()
	c.takeAhead()
	if err == nil && throttle > 0 {
		err = c.mute(throttle)
	}
	return err
}

// handle gives the call to the handler.
func (c *conn) handle(size int) (api.Answer, error) {
	c.watch.arm(c.call.Stream != nil)
	answer, err := c.serveCall(size)
	watchErr := c.watch.disarm()
	if err == nil && c.in.Left() > 0 {
		// The answer is known before all of the request was looked at.
		err = c.in.SkipFrame()
	}
	if err = cmp.Or(err, watchErr); err == nil {
		return answer, nil
	}
	if answer.Release != nil {
		answer.Release()
	}
	if c.ctx.Err() != nil {
		err = context.Cause(c.ctx) // The reason, not its effect.
	}
	return api.Answer{}, err
}

// serveCall calls the handler with the memory set aside that the decoded
// request may need. Produce is decoded in place, so its buffer is all it needs.
func (c *conn) serveCall(size int) (api.Answer, error) {
	defer func() {
		if c.made > 0 {
			c.server.decoding.collected(c.made)
			c.made = 0
		}
	}()
	if c.call.Key != int16(kmsg.Produce) && size > freeDecodeBytes {
		if err := c.reserveDecoding(size); err != nil {
			return api.Answer{}, err
		}
	}
	answer, err := c.server.cfg.Handler.Serve(c.ctx, &c.call)
	if _, known := errors.AsType[*peerError](err); err != nil && !known {
		err = &peerError{"request", err}
	}
	return answer, err
}

// finish writes an answer, or holds it back when the next request is there.
func (c *conn) finish(a api.Answer) error {
	var err error
	if !a.None {
		more := c.in.Ready() && a.Throttle == 0 && !a.Close
		c.counted = c.server.unread.begin(c, a.Parts)
		err = c.send(a.Parts, more)
	}
	if a.Release != nil {
		a.Release()
	}
	if c.counted && !c.server.unread.end(c) {
		err = &peerError{"unread", errUnread}
	}
	c.counted = false
	if err == nil && a.Close {
		if err = c.flush(); err == nil {
			err = errClosedByAnswer
		}
	}
	return err
}

// errClosedByAnswer ends a connection as its last answer asked for.
var errClosedByAnswer = errors.New("closed after the answer")

// mute leaves the connection unread for that time, as a quota demands, but
// notices when it ends.
func (c *conn) mute(d time.Duration) error {
	if err := c.flush(); err != nil {
		return err
	}
	c.server.cfg.Metrics.Throttled.Add(d.Seconds())
	timer := time.NewTimer(d)
	defer timer.Stop()
	c.watch.arm(false)
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	case <-c.server.draining:
	}
	err := c.watch.disarm()
	c.takeAhead()
	return err
}

// takeAhead hands the byte that the watch read to the reader.
func (c *conn) takeAhead() {
	if c.watch.gotAhead {
		c.in.Unread(c.watch.ahead)
		c.watch.gotAhead = false
	}
}

// upgrade runs the listener's handshake.
func (c *conn) upgrade(ctx context.Context) error {
	if c.listener.Upgrade != nil {
		ctx, cancel := context.WithTimeout(ctx, c.server.cfg.UpgradeTimeout)
		defer cancel()
		nc, principal, err := c.listener.Upgrade(ctx, c.nc)
		switch {
		case err != nil && c.server.isDraining():
			return errShutdown
		case err != nil:
			return &peerError{"handshake", err}
		}
		c.setConn(nc)
		c.info.Principal = principal
	}
	return nil
}

// setConn makes nc the connection that is spoken over.
func (c *conn) setConn(nc net.Conn) {
	c.nc = nc
	c.tcp, _ = nc.(*net.TCPConn)
}

// wake ends a read that waits for a request, once the server is draining. Any
// goroutine may call it.
func (c *conn) wake() {
	c.raw.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // A closed connection does not wait.
}

// close gives back what the connection held.
func (c *conn) close() {
	c.cancel(net.ErrClosed)
	c.nc.Close()
	if c.in != nil {
		c.in.Close()
	}
	c.server.cfg.Buffers.Put(c.out.held)
	c.server.unread.end(c) // After a defect; else it has ended.
	c.server.forget(c)
}

// recovered keeps the defect that showed on this connection from the others.
func (c *conn) recovered() {
	r := recover()
	if r == nil {
		return
	}
	if isFatal() {
		panic(r)
	}
	c.server.cfg.Metrics.Panics.Inc()
	c.server.cfg.Logger.LogAttrs(context.Background(), slog.LevelError, "connection lost to a defect",
		append(c.attrs(), slog.Any("panic", r), slog.String("stack", string(debug.Stack())))...)
	// A watch may still read; the handler it watched is gone.
	c.nc.Close()
	c.watch.disarm() //nolint:errcheck // The connection is lost anyway.
}

// report says why a connection ended: a warning when the peer is broken, and
// nothing of note when it just left.
func (c *conn) report(err error) {
	peer, broken := errors.AsType[*peerError](err)
	if broken {
		c.server.cfg.Metrics.BrokenPeers.WithLabelValues(peer.reason).Inc()
		c.server.warner.warn(context.Background(), "connection closed: broken peer", append(c.attrs(), slog.Any("err", peer.err))...)
		return
	}
	if !c.server.cfg.Logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	ctx, log, attrs := context.Background(), c.server.cfg.Logger, append(c.attrs(), slog.Any("err", err))
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, net.ErrClosed):
		log.LogAttrs(ctx, slog.LevelDebug, "connection closed by peer", attrs...)
	case errors.Is(err, os.ErrDeadlineExceeded):
		log.LogAttrs(ctx, slog.LevelDebug, "connection closed: idle (connections.max.idle.ms)", attrs...)
	case errors.Is(err, errShutdown), errors.Is(err, errClosedByAnswer):
		log.LogAttrs(ctx, slog.LevelDebug, "connection closed", attrs...)
	default:
		log.LogAttrs(ctx, slog.LevelDebug, "connection failed", attrs...)
	}
}

// attrs name the connection, and the call it last served, in a log line.
func (c *conn) attrs() []slog.Attr {
	attrs := []slog.Attr{
		slog.Uint64("conn", c.info.ID),
		slog.String("listener", c.info.Listener),
		slog.Any("peer", c.info.Peer),
	}
	if c.call.Conn != nil {
		attrs = append(attrs, slog.String("api", kmsg.NameForKey(c.call.Key)), slog.Int("version", int(c.call.Version)))
	}
	if c.clientID != nil {
		attrs = append(attrs, slog.String("client_id", *c.clientID))
	}
	if c.info.SoftwareName != "" {
		attrs = append(attrs, slog.String("software", c.info.SoftwareName+" "+c.info.SoftwareVersion))
	}
	return attrs
}
