package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/protocol"
)

// Handler answers requests. An error closes the connection. A Call and its Body
// are valid until Serve returns, and what an Answer refers to until its Release.
type Handler interface {
	Serve(ctx context.Context, call *api.Call) (api.Answer, error)
}

// Config is what a server needs. Listeners and Handler are required; the zero
// value of any other field means its default.
type Config struct {
	Listeners []Listener
	Handler   Handler
	// Listen opens sockets; the default is net.Listen.
	Listen  func(network, address string) (net.Listener, error)
	Logger  *slog.Logger
	Metrics *Metrics
	// Buffers is shared with the handler; the default is a pool of its own.
	Buffers *protocol.Pool

	// Limits bounds the size of requests: socket.request.max.bytes and
	// others.
	Limits protocol.Limits
	// QueuedBytes bounds the memory of all requests being read, decoded and
	// handled, beyond a small share that each connection has for itself: half
	// of it is for their bytes (but always enough for the largest request, and 4 MiB),
	// half for what they become when they are decoded. No request but Produce
	// may be larger than half of it divided by protocol.DecodeFactor: 1.4 MiB
	// with the default of 256 MiB.
	// A quarter of it beside that is for answers on their way, and as much again as
	// long as all clients read; beyond, who has not read for the longest time is cut.
	// Kafka's queued.max.request.bytes, where it counts only what is read, and
	// is off.
	QueuedBytes int64
	// QueuedWait is how long a large request may stop arriving while others
	// wait for memory, before its connection is closed; who waits gives up
	// after twice that. Default 30 s, Kafka clients' request.timeout.ms.
	QueuedWait time.Duration

	// MaxConnections is how many connections may be open; further ones wait
	// to be accepted. Default 2147483647; negative: none. Kafka's
	// max.connections, where 0 is none.
	MaxConnections int
	// MaxConnectionsPerIP is how many may come from one address; further ones
	// are closed at once. Default 2147483647; negative: none. Kafka's
	// max.connections.per.ip, where 0 is none.
	MaxConnectionsPerIP int
	// PerIPOverrides are other limits for some addresses. Kafka's
	// max.connections.per.ip.overrides.
	PerIPOverrides map[string]int
	// AcceptRate is how many connections are accepted a second; further ones
	// wait. Default 2147483647. Kafka's max.connection.creation.rate.
	AcceptRate int

	// IdleTimeout is how long a connection may be silent, and how long a
	// response may make no progress, before it is closed. Default 10 min;
	// negative never closes. Kafka's connections.max.idle.ms.
	IdleTimeout time.Duration
	// UpgradeTimeout bounds Listener.Upgrade. Default 10 s. Kafka has no
	// such setting: a silent peer stays until the connection is idle.
	UpgradeTimeout time.Duration
}

// Listener is one entry of Kafka's listeners.
type Listener struct {
	// Name is the listener's name, unique within a broker.
	Name string
	// Protocol is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL. Peers of the
	// last two have to authenticate before most requests.
	Protocol string
	// Bind is the host:port to listen on; the port may be 0.
	Bind string
	// Controller says that it is one of controller.listener.names.
	Controller bool
	// MaxConnections bounds the connections of this listener alone; zero is
	// no bound. Kafka's listener.name.<name>.max.connections.
	MaxConnections int
	// Upgrade, if not nil, turns an accepted connection into the one that is
	// spoken over, and names the peer: the TLS handshake. It ends when ctx
	// does.
	Upgrade func(ctx context.Context, nc net.Conn) (upgraded net.Conn, principal string, err error)
}

const anonymous = "User:ANONYMOUS"

func (l Listener) sasl() bool { return strings.HasPrefix(l.Protocol, "SASL_") }

const unlimited = 1<<31 - 1

// withDefaults fills in what is zero.
func (c Config) withDefaults() Config {
	if c.Listen == nil {
		c.Listen = net.Listen
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.Buffers == nil {
		c.Buffers = new(protocol.Pool)
	}
	c.Limits = c.Limits.WithDefaults()
	c.QueuedBytes = cmp.Or(c.QueuedBytes, 256<<20)
	c.QueuedWait = cmp.Or(c.QueuedWait, 30*time.Second)
	c.MaxConnections = cmp.Or(c.MaxConnections, unlimited)
	c.MaxConnectionsPerIP = cmp.Or(c.MaxConnectionsPerIP, unlimited)
	c.AcceptRate = cmp.Or(c.AcceptRate, unlimited)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 10*time.Minute)
	c.UpgradeTimeout = cmp.Or(c.UpgradeTimeout, 10*time.Second)
	return c
}

// Validate reports every field that cannot be served with, not just the first.
func (c Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("server: "+format, args...)) }
	if c.Handler == nil {
		fail("no handler")
	}
	if len(c.Listeners) == 0 {
		fail("no listeners")
	}
	names := make(map[string]bool)
	for _, l := range c.Listeners {
		if names[l.Name] {
			fail("listener %s is configured twice", l.Name)
		}
		names[l.Name] = true
		switch l.Protocol {
		case "PLAINTEXT", "SASL_PLAINTEXT":
		case "SSL", "SASL_SSL":
			if l.Upgrade == nil {
				fail("listener %s is %s and has no TLS configuration", l.Name, l.Protocol)
			}
		default:
			fail("listener %s has the unknown security protocol %q", l.Name, l.Protocol)
		}
	}
	if c.AcceptRate < 0 {
		fail("max.connection.creation.rate is %d", c.AcceptRate)
	}
	if c.QueuedBytes < 0 {
		fail("queued.max.request.bytes is %d", c.QueuedBytes)
	}
	return errors.Join(errs...)
}
