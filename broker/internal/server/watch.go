package server

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// watch looks at a connection while its handler waits, as net/http does: it
// reads one byte ahead, and when there will be none it ends the connection's
// context, and with it the wait.
//
// Most handlers do not wait, and a goroutine for each of their requests would
// double what a small request costs. So the watch begins when the handler asks
// the context for its Done channel, which is what waiting begins with.
type watch struct {
	c *conn

	mu struct {
		sync.Mutex

		serving  bool          // A handler runs,
		arriving bool          // and reads its request itself, so that it sees the end.
		wanted   bool          // It waits, or will when the request has arrived.
		done     chan struct{} // Of the goroutine, when there is one.
	}

	// Of the goroutine while there is one, and else of the connection's.
	ahead    byte
	gotAhead bool
	err      error
}

// callContext is the context that handlers get. It is the connection's, and
// lasts beyond a request: whoever holds on to it learns of the connection's
// end, no more.
type callContext struct {
	context.Context
	watch *watch
}

// Done is closed when the client is gone, or the broker gives up on its
// requests. To ask is to wait: see watch.
func (x callContext) Done() <-chan struct{} {
	x.watch.begin()
	return x.Context.Done()
}

// arm allows the watch to begin; when the request is still arriving, only once
// it has arrived. The connection's goroutine calls it before a handler runs.
func (w *watch) arm(arriving bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.serving, w.mu.arriving, w.mu.wanted = true, arriving, false
}

// begin is asked for by who waits.
func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.wanted = true
	w.startLocked()
}

// arrived says that all of the request is there.
func (w *watch) arrived() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.arriving = false
	w.startLocked()
}

func (w *watch) startLocked() {
	if !w.mu.serving || w.mu.arriving || !w.mu.wanted || w.mu.done != nil {
		return
	}
	done := make(chan struct{})
	w.mu.done = done
	go func() {
		defer close(done)
		w.look()
	}()
}

// look writes the answers that were held back, since this one may take long,
// and then waits for a byte or the end. With bytes waiting to be parsed there
// is nothing to learn from one more.
func (w *watch) look() {
	if err := w.c.flush(); err != nil {
		w.lost(err)
		return
	}
	if w.c.in.Buffered() > 0 || !w.unlimited() {
		return
	}
	var b [1]byte
	n, err := w.c.nc.Read(b[:])
	if n == 1 {
		w.ahead, w.gotAhead = b[0], true
		return
	}
	// A deadline is disarm's, or Shutdown's; neither says that the peer left.
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		w.lost(err)
	}
}

// unlimited lifts the deadline that the connection's own last read had set, if
// a handler still runs: it may take as long as it likes.
func (w *watch) unlimited() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.serving {
		w.c.nc.SetReadDeadline(time.Time{}) //nolint:errcheck // A closed connection fails in the read itself.
	}
	return w.mu.serving
}

// lost ends the connection's context.
func (w *watch) lost(err error) {
	w.err = err
	w.c.cancel(err)
}

// disarm ends the watch, if it began, and returns what it found to be wrong
// with the connection. The connection's goroutine calls it after a handler ran.
func (w *watch) disarm() error {
	w.mu.Lock()
	w.mu.serving = false
	done := w.mu.done
	w.mu.done = nil
	if done != nil {
		// The next read of the connection's own sets another.
		w.c.nc.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // A closed connection has no read to end.
	}
	w.mu.Unlock()
	if done == nil {
		return nil
	}
	<-done
	return w.err
}
