package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/protocol"
)

// Server accepts connections and serves them. Any goroutine may use it.
//
// Bind and Start are two steps because clients must not reach a broker before
// it serves, while its port, if the system chose it, is needed to register.
type Server struct {
	cfg       Config
	frames    *budget // Memory of large requests that arrive or are handled,
	decoding  *budget // and of what they become when they are decoded.
	unread    *unread // Memory of answers.
	admission *admission
	warner    warner
	ids       atomic.Uint64

	ctx      context.Context // Of all connections.
	cancel   context.CancelCauseFunc
	draining chan struct{} // Closed when Shutdown begins.
	// accepting ends then too.
	accepting     context.Context
	stopAccepting context.CancelFunc
	running       sync.WaitGroup

	mu struct {
		sync.Mutex

		bound   map[string]net.Listener // By listener name.
		started map[string]bool
		conns   map[*conn]struct{}
		closed  bool
	}
}

// New makes a server that does not listen yet.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg.withDefaults(), draining: make(chan struct{})}
	// No request may be larger than the budget allows to decode, even alone.
	s.cfg.Limits.Other = min(s.cfg.Limits.Other, int(s.cfg.QueuedBytes/2/protocol.DecodeFactor))
	// Two budgets, so that requests that have arrived can always be decoded
	// while others fill the memory for arriving. The buffer of the largest request
	// fits into the latter whatever its size is rounded up to.
	frames := max(s.cfg.QueuedBytes/2, int64(s.cfg.Limits.Produce), protocol.LargeBuffer)
	s.frames = newBudget(frames, 2*s.cfg.QueuedWait, s.cfg.Metrics.QueuedBytes.WithLabelValues("frames"))
	s.decoding = newBudget(s.cfg.QueuedBytes/2, s.cfg.QueuedWait, s.cfg.Metrics.QueuedBytes.WithLabelValues("decoding"))
	s.unread = newUnread(s.cfg.QueuedBytes/4, s.cfg.Metrics.QueuedBytes.WithLabelValues("answers"))
	s.admission = newAdmission(s.cfg)
	s.warner.log = s.cfg.Logger
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.accepting, s.stopAccepting = context.WithCancel(s.ctx)
	s.mu.bound = make(map[string]net.Listener)
	s.mu.started = make(map[string]bool)
	s.mu.conns = make(map[*conn]struct{})
	return s, nil
}

// Bind opens the socket of a listener and returns its address. Clients can
// connect from then on, but are not answered before Start.
func (s *Server) Bind(name string) (net.Addr, error) {
	l, err := s.listener(name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if bound := s.mu.bound[name]; bound != nil {
		return bound.Addr(), nil
	}
	if s.mu.closed {
		return nil, net.ErrClosed
	}
	bound, err := s.cfg.Listen("tcp", l.Bind)
	if err != nil {
		return nil, fmt.Errorf("listener %s cannot listen on %s: %w", name, l.Bind, err)
	}
	s.mu.bound[name] = bound
	return bound.Addr(), nil
}

// Start serves the clients of a listener, which it binds if that was not done.
func (s *Server) Start(name string) error {
	if _, err := s.Bind(name); err != nil {
		return err
	}
	l, err := s.listener(name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return net.ErrClosed
	}
	if s.mu.started[name] {
		return nil
	}
	s.mu.started[name] = true
	bound := s.mu.bound[name]
	s.running.Go(func() { s.accept(l, bound) })
	s.cfg.Logger.LogAttrs(s.ctx, slog.LevelDebug, "listener started",
		slog.String("listener", name), slog.String("protocol", l.Protocol), slog.Any("address", bound.Addr()))
	return nil
}

// Addr is where a bound listener listens; nil when it is not bound.
func (s *Server) Addr(name string) net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.bound[name]; l != nil {
		return l.Addr()
	}
	return nil
}

// Connections is how many are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.conns)
}

func (s *Server) listener(name string) (Listener, error) {
	for _, l := range s.cfg.Listeners {
		if l.Name == name {
			return l, nil
		}
	}
	return Listener{}, fmt.Errorf("server: no listener is named %q", name)
}

// Shutdown stops accepting, closes connections that are silent, and lets those
// whose request is being handled finish it, until ctx ends: then they are cut.
// Handlers that wait for more records see api.Conn.Draining and answer at once.
// It returns when no goroutine of the server is left, with ctx's error if
// connections had to be cut.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopListening()
	s.wake()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.cancel(errShutdown)
		return nil
	case <-ctx.Done():
	}
	s.cancel(errShutdown)
	s.mu.Lock()
	for c := range s.mu.conns {
		c.raw.Close() // It may be closed already.
	}
	s.mu.Unlock()
	<-done
	return context.Cause(ctx)
}

func (s *Server) stopListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return
	}
	s.mu.closed = true
	close(s.draining)
	s.stopAccepting()
	for _, l := range s.mu.bound {
		l.Close()
	}
}

func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

// wake ends the reads of connections that wait for a request.
func (s *Server) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.mu.conns {
		c.wake()
	}
}

// accept takes connections from one listener until it is closed.
func (s *Server) accept(l Listener, bound net.Listener) {
	failures := 0
	for s.admission.wait(s.accepting, l) == nil {
		nc, err := bound.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			failures++
			s.acceptFailed(l, err, failures)
			continue
		}
		failures = 0
		s.admit(l, nc)
	}
}

// acceptFailed waits before the next try. The cause is most often that the
// process has no file descriptor left, which passes.
func (s *Server) acceptFailed(l Listener, err error, failures int) {
	s.warner.warn(s.ctx, "cannot accept connections", slog.String("listener", l.Name), slog.Any("err", err))
	pause := min(5*time.Millisecond<<min(failures, 8), time.Second)
	select {
	case <-time.After(pause):
	case <-s.accepting.Done():
	}
}

// admit begins to serve a connection, or closes it.
func (s *Server) admit(l Listener, nc net.Conn) {
	ip := ipOf(nc)
	if !s.admission.enter(l, ip, time.Now()) {
		nc.Close()
		s.cfg.Metrics.Refused.WithLabelValues("ip").Inc()
		s.warner.warn(s.ctx, "connection refused: too many from one address (max.connections.per.ip)",
			slog.String("listener", l.Name), slog.String("ip", ip))
		return
	}
	c := &conn{server: s, listener: l, raw: nc}
	c.setConn(nc)
	c.info = api.Conn{
		ID: s.ids.Add(1), Listener: l.Name, Protocol: l.Protocol, Controller: l.Controller,
		Peer: nc.RemoteAddr(), Local: nc.LocalAddr(),
		Authenticated: !l.sasl(), Draining: s.draining,
	}
	if !l.sasl() {
		c.info.Principal = anonymous
	}
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		nc.Close()
		s.admission.exit(l, ip)
		return
	}
	s.mu.conns[c] = struct{}{}
	s.running.Add(1)
	s.mu.Unlock()
	s.cfg.Metrics.Accepted.WithLabelValues(l.Name).Inc()
	s.cfg.Metrics.Connections.WithLabelValues(l.Name).Inc()
	go c.serve(s.ctx)
}

// forget is the end of a connection.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.mu.conns, c)
	s.mu.Unlock()
	s.admission.exit(c.listener, ipOf(c.raw))
	s.cfg.Metrics.Connections.WithLabelValues(c.listener.Name).Dec()
	s.running.Done()
}
