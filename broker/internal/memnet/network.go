// Package memnet is a network in memory: Listen and Dial that stand where
// package net's do, for tests of servers and clients inside one process.
//
// It works inside testing/synctest bubbles, where a goroutine in a system call
// would keep the bubble's clock from moving: everything here blocks on
// condition variables, and deadlines are timers. Connections behave as TCP's
// do where it matters: bounded buffers in both directions, bytes written before
// a close still arrive, a close with unread bytes resets the other side, and
// deadlines work on a call that is already waiting.
//
// Begin with Network. Make it, and all that uses it, inside the bubble.
//
// Not here: latency, loss and partitions, other than Cut.
package memnet

import (
	"context"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// Network is a set of listeners that can be dialled by their addresses. Any
// goroutine may use it.
type Network struct {
	mu struct {
		sync.Mutex

		listeners map[string]*Listener
		conns     map[*Conn]string // The dialling ends, and where they went.
		port      int              // The last that was given away.
	}
}

// New makes an empty network.
func New() *Network {
	n := &Network{}
	n.mu.listeners = make(map[string]*Listener)
	n.mu.conns = make(map[*Conn]string)
	n.mu.port = 32767
	return n
}

// Listen opens a listener at that address, which may be any name and port;
// port 0 is replaced by a free one. The network argument is ignored.
func (n *Network) Listen(_, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "mem", Err: err}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if port == "0" {
		port = strconv.Itoa(n.nextPortLocked())
	}
	at := net.JoinHostPort(host, port)
	if n.mu.listeners[at] != nil {
		return nil, &net.OpError{Op: "listen", Net: "mem", Addr: addr(at), Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	l := &Listener{network: n, at: addr(at), done: make(chan struct{}), conns: make(chan *Conn, backlog)}
	n.mu.listeners[at] = l
	return l, nil
}

// Dial connects to the listener at that address, from 127.0.0.1.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return n.DialFrom(ctx, "127.0.0.1", network, address)
}

// DialFrom is Dial from a host of the caller's choice, an IP address.
func (n *Network) DialFrom(ctx context.Context, host, _, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.mu.listeners[address]
	from := &net.TCPAddr{IP: net.ParseIP(host), Port: n.nextPortLocked()}
	n.mu.Unlock()
	fail := func(err error) error {
		return &net.OpError{Op: "dial", Net: "mem", Source: from, Addr: addr(address), Err: err}
	}
	if l == nil {
		return nil, fail(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	client, server := pipe(from, l.at)
	client.forget = func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.mu.conns, client)
	}
	n.mu.Lock()
	n.mu.conns[client] = address
	n.mu.Unlock()
	select {
	case <-l.done:
	case <-ctx.Done():
		_ = client.Close() // It never fails.
		return nil, fail(context.Cause(ctx))
	case l.conns <- server:
		select {
		case <-l.done: // Closed meanwhile, perhaps before it saw this one.
		default:
			return client, nil
		}
	}
	_ = client.Close() // It never fails.
	return nil, fail(os.NewSyscallError("connect", syscall.ECONNREFUSED))
}

// Cut resets every connection to that address, as a pulled cable is seen by
// both sides in the end. The listener stays.
func (n *Network) Cut(address string) {
	n.mu.Lock()
	var cut []*Conn
	for c, to := range n.mu.conns {
		if to == address {
			cut = append(cut, c)
		}
	}
	n.mu.Unlock()
	for _, c := range cut {
		c.reset()
	}
}

func (n *Network) nextPortLocked() int {
	n.mu.port++
	return n.mu.port
}

// backlog is how many connections wait for Accept before Dial blocks, as
// Kafka's socket.listen.backlog.size.
const backlog = 50

// Listener is the side of Network.Listen.
type Listener struct {
	network *Network
	at      net.Addr
	conns   chan *Conn
	once    sync.Once
	done    chan struct{}
}

// Accept returns the next connection, or net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.done: // Before a waiting connection, which Close has reset.
	default:
		select {
		case c := <-l.conns:
			return c, nil
		case <-l.done:
		}
	}
	return nil, &net.OpError{Op: "accept", Net: "mem", Addr: l.at, Err: net.ErrClosed}
}

// Close stops listening and resets what was not accepted.
func (l *Listener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		delete(l.network.mu.listeners, l.at.String())
		l.network.mu.Unlock()
		close(l.done)
	})
	for {
		select {
		case c := <-l.conns:
			c.reset()
		default:
			return nil
		}
	}
}

// Addr is where the listener can be dialled.
func (l *Listener) Addr() net.Addr { return l.at }

// addr is a listener's address: a TCPAddr where the host is an IP address, so
// that callers who ask for its port find it, and else a name.
func addr(at string) net.Addr {
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return name(at)
	}
	ip := net.ParseIP(host)
	n, err := strconv.Atoi(port)
	if ip == nil || err != nil {
		return name(at)
	}
	return &net.TCPAddr{IP: ip, Port: n}
}

type name string

func (name) Network() string    { return "mem" }
func (n name) String() string   { return string(n) }
func (n name) GoString() string { return "memnet " + string(n) }
