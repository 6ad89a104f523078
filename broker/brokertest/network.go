package brokertest

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/moldau-broker/moldau/broker/internal/memnet"
)

// network is where clients reach the broker. It outlives the broker, so that the
// address stays the same over a restart.
type network interface {
	// addr is the address, as HOST:PORT.
	addr() string
	// listen is what the broker listens by, once at a time.
	listen(network, address string) (net.Listener, error)
	dial(ctx context.Context, network, address string) (net.Conn, error)
	// sever resets every connection and refuses new ones until mend.
	sever()
	mend()
	close()
}

// memory is a network in memory.
type memory struct {
	mem     *memnet.Network
	at      string
	severed atomic.Bool
}

func newMemory(port int) *memory {
	if port == 0 {
		port = 9092
	}
	return &memory{mem: memnet.New(), at: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
}

func (m *memory) addr() string { return m.at }

func (m *memory) listen(network, address string) (net.Listener, error) {
	return m.mem.Listen(network, address)
}

func (m *memory) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if host, port, err := net.SplitHostPort(address); err == nil && host == "localhost" {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	refused := &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	if m.severed.Load() {
		return nil, refused
	}
	c, err := m.mem.Dial(ctx, network, address)
	if err == nil && m.severed.Load() { // Meanwhile: it may have missed the cut.
		c.Close()
		return nil, refused
	}
	return c, err
}

func (m *memory) sever() {
	m.severed.Store(true)
	m.mem.Cut(m.at)
}

func (m *memory) mend() { m.severed.Store(false) }

func (m *memory) close() { m.sever() }

// sockets is a TCP port that is held for as long as the test runs, so that
// nobody else gets it while the broker is down. A connection that the broker is
// not there to take is reset.
type sockets struct {
	listener *net.TCPListener
	done     chan struct{}

	mu struct {
		sync.Mutex

		severed bool
		broker  *door // The broker's listener; nil while it is down.
		conns   []*net.TCPConn
		prune   int // Length of conns at which the closed ones are looked for.
	}
}

func newSockets(port int) (*sockets, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	s := &sockets{listener: l.(*net.TCPListener), done: make(chan struct{})}
	s.mu.prune = 64
	go s.run()
	return s, nil
}

func (s *sockets) addr() string { return s.listener.Addr().String() }

func (s *sockets) dial(ctx context.Context, network, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, address)
}

// run takes connections from the port until close.
func (s *sockets) run() {
	defer close(s.done)
	for {
		c, err := s.listener.AcceptTCP()
		if err != nil {
			return
		}
		s.mu.Lock()
		d := s.mu.broker
		if s.mu.severed || d == nil {
			s.mu.Unlock()
			reset(c)
			continue
		}
		s.rememberLocked(c)
		s.mu.Unlock()
		select {
		case d.conns <- c:
		case <-d.done:
			reset(c)
		}
	}
}

// rememberLocked keeps a connection for sever, and forgets some of those that
// were closed since.
func (s *sockets) rememberLocked(c *net.TCPConn) {
	if len(s.mu.conns) >= s.mu.prune {
		open := s.mu.conns[:0]
		for _, c := range s.mu.conns {
			if raw, err := c.SyscallConn(); err == nil && raw.Control(func(uintptr) {}) == nil {
				open = append(open, c)
			}
		}
		clear(s.mu.conns[len(open):])
		s.mu.conns = open
		s.mu.prune = max(64, 2*len(open))
	}
	s.mu.conns = append(s.mu.conns, c)
}

// reset closes a connection so that its peer sees an error, not an end.
func reset(c *net.TCPConn) {
	c.SetLinger(0) //nolint:errcheck // A closed connection needs none.
	c.Close()      //nolint:errcheck // Nor does it need this.
}

func (s *sockets) sever() {
	s.mu.Lock()
	s.mu.severed = true
	conns := s.mu.conns
	s.mu.conns = nil
	s.mu.Unlock()
	for _, c := range conns {
		reset(c)
	}
}

func (s *sockets) mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.severed = false
}

func (s *sockets) close() {
	s.listener.Close() //nolint:errcheck // The port is given up either way.
	<-s.done
	s.sever()
}

func (s *sockets) listen(_, address string) (net.Listener, error) {
	if address != s.addr() {
		return nil, fmt.Errorf("this test's broker listens on %s only, not on %s", s.addr(), address)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.broker != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: s.listener.Addr(), Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	s.mu.broker = &door{sockets: s, conns: make(chan *net.TCPConn), done: make(chan struct{})}
	return s.mu.broker, nil
}

// door is the broker's listener, fed from the port that is held.
type door struct {
	sockets *sockets
	conns   chan *net.TCPConn
	once    sync.Once
	done    chan struct{}
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.done:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: d.Addr(), Err: net.ErrClosed}
	}
}

// Close implements net.Listener. The port stays held.
func (d *door) Close() error {
	d.once.Do(func() {
		d.sockets.mu.Lock()
		d.sockets.mu.broker = nil
		d.sockets.mu.Unlock()
		close(d.done)
	})
	return nil
}

// Addr implements net.Listener.
func (d *door) Addr() net.Addr { return d.sockets.listener.Addr() }
