package integration

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"
)

// Broker is one broker in a process of its own. Its address and its data directory stay
// the same over restarts. Every method ends the test if it does not succeed, and
// belongs to the test's goroutine.
type Broker interface {
	// Addr is the HOST:PORT that clients are given.
	Addr() string
	// Dir is the data directory, Kafka's log.dirs.
	Dir() string
	// Start starts a stopped broker and returns when it serves.
	Start(t testing.TB)
	// Stop ends it by SIGTERM and waits for its end.
	Stop(t testing.TB)
	// Kill ends it by SIGKILL and waits for its end.
	Kill(t testing.TB)
}

// readyIn is how long a broker may take until it serves. Apache Kafka needs about
// five seconds on two idle cores.
const readyIn = 2 * time.Minute

// until calls ok every few milliseconds until it is true, or the context ends,
// which is an error that names what was waited for.
func until(ctx context.Context, what string, ok func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}

// freeAddr returns a loopback address that nobody listens on. Another process may
// take it before it is used; the broker then says so.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
