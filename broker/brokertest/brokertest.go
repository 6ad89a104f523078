package brokertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/broker"
	"github.com/moldau-broker/moldau/broker/internal/server"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// Cluster is a broker that runs for a test. Any goroutine may use it. A method
// that cannot do what it is for fails the test.
type Cluster struct {
	t       testing.TB
	opts    *options
	net     network
	hooks   *hooks
	log     *tail
	chance  *rand.Rand    // For power cuts; of the holder of turn only.
	turn    chan struct{} // Holds a token while nobody starts or stops the broker.
	storage storage       // Of the holder of turn only.

	mu struct {
		sync.Mutex

		node *node // Nil while the broker is down.
		cut  bool  // By Cut: it lasts over a restart.
	}
}

// node is one run of the broker.
type node struct {
	stop    context.CancelFunc
	handler server.Handler // The broker's own, behind all hooks.
	done    chan struct{}
	err     error          // How it ended; to be read when done is closed.
	calls   sync.WaitGroup // Of Do.
	ctx     context.Context
}

// Start runs a broker until the test ends, with what the options ask for. It
// returns when clients are served. If that cannot be had the test fails.
func Start(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	o := &options{settings: defaults()}
	for _, opt := range opts {
		opt(o)
	}
	if len(o.errs) > 0 {
		t.Fatal(errors.Join(o.errs...))
	}
	c := &Cluster{
		t: t, opts: o, hooks: &hooks{defect: t.Errorf}, log: new(tail),
		chance: rand.New(rand.NewPCG(1, 1)), turn: make(chan struct{}, 1),
	}
	c.turn <- struct{}{}
	if o.logger == nil {
		o.logger = slog.New(slog.NewTextHandler(c.log, nil))
	}
	var err error
	if c.storage, err = newStorage(t, o); err != nil {
		t.Fatal(err)
	}
	if o.memoryNet || inBubble() {
		c.net = newMemory(o.port)
	} else if c.net, err = newSockets(o.port); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.end)
	if err := c.first(); err != nil {
		t.Fatal(err)
	}
	return c
}

// inBubble says whether the caller runs in a testing/synctest bubble. There time
// begins at midnight of 2000-01-01, and a real clock has not shown that for long.
func inBubble() bool { return time.Now().Year() < 2020 }

// Addrs is where clients find the broker: HOST:PORT, once for each broker. It
// stays the same over every restart.
func (c *Cluster) Addrs() []string { return []string{c.net.addr()} }

// Addr is Addrs joined by commas, as many clients want it.
func (c *Cluster) Addr() string { return strings.Join(c.Addrs(), ",") }

// Dial connects to the broker. Clients inside a testing/synctest bubble, and
// those of a MemoryNetwork, have no other way; elsewhere it is net.Dialer's.
func (c *Cluster) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return c.net.dial(ctx, network, address)
}

// first starts the broker with all that the options want to be in it.
func (c *Cluster) first() error {
	if err := c.start(); err != nil {
		return err
	}
	return c.fill()
}

// start runs the broker on what is stored. The caller has the turn, or is Start.
func (c *Cluster) start() error {
	n := &node{done: make(chan struct{})}
	b, err := broker.New(broker.Config{
		Dir: c.storage.dir, FS: c.storage.fs, Listen: c.net.addr(), ListenFunc: c.net.listen,
		Settings: c.opts.settings, ClusterID: c.opts.clusterID, Logger: c.opts.logger,
		Wrap: func(next server.Handler) server.Handler {
			n.handler = limit(next, c.opts.versions)
			return &hooked{next: n.handler, hooks: c.hooks}
		},
	})
	if err != nil {
		return err
	}
	n.ctx, n.stop = context.WithCancel(context.Background())
	go func() {
		defer close(n.done)
		n.err = b.Run(n.ctx)
	}()
	select {
	case <-b.Ready():
	case <-n.done:
		n.stop()
		return fmt.Errorf("the broker did not start: %w", n.err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.node = n
	if !c.mu.cut {
		c.net.mend()
	}
	return nil
}

// stop stops the broker, if it runs, and returns how that ended.
func (c *Cluster) stop() error {
	c.mu.Lock()
	n := c.mu.node
	c.mu.node = nil
	c.mu.Unlock()
	if n == nil {
		return nil
	}
	n.stop()
	n.calls.Wait()
	<-n.done
	return n.err
}

// end is the end of the test.
func (c *Cluster) end() {
	<-c.turn
	c.net.sever() // No client is worth waiting for now.
	err := c.stop()
	c.net.close()
	if err != nil {
		c.t.Errorf("the broker failed: %v", err)
	}
	if c.t.Failed() {
		if log := c.log.String(); log != "" {
			c.t.Log("the broker's log:\n" + log)
		}
	}
}

// storage is the disk of a broker.
type storage struct {
	fs    vfs.FS
	dir   string
	mem   *vfs.Mem   // In memory; else nil.
	fault *vfs.Fault // On disk: what Kill stops it with; else nil.
	keep  bool       // The directory is the caller's.
}

func newStorage(t testing.TB, o *options) (storage, error) {
	switch {
	case o.dir != "":
		return onDisk(o.dir, true), nil
	case o.disk:
		return onDisk(t.TempDir(), false), nil
	}
	return inMemory(vfs.NewMem()), nil
}

func inMemory(m *vfs.Mem) storage { return storage{fs: m, dir: "/data", mem: m} }

func onDisk(dir string, keep bool) storage {
	f := vfs.NewFault(vfs.OS)
	return storage{fs: f, dir: dir, fault: f, keep: keep}
}
