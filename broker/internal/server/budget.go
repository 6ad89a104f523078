package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// errNoBudget says that a request waited too long for memory.
var errNoBudget = errors.New("no memory for the request (queued.max.request.bytes)")

// budget is an amount of memory that requests share. Whoever wants more than is
// left waits in line; the first in line is never overtaken, so that a large
// request is not starved by small ones. Any goroutine may use it.
type budget struct {
	total int64
	wait  time.Duration // How long to wait at most.
	gauge prometheus.Gauge

	mu struct {
		sync.Mutex

		used int64
		line []*claim // Waiting, first come first served.
	}
}

type claim struct {
	n     int64
	grant chan struct{} // Closed when the claim is counted as used.
}

func newBudget(total int64, wait time.Duration, gauge prometheus.Gauge) *budget {
	return &budget{total: total, wait: wait, gauge: gauge}
}

// acquire takes n bytes, or all there are when n is more than that: a single
// request is served whatever its size, but alone. It returns what it took.
func (b *budget) acquire(ctx context.Context, n int64) (int64, error) {
	n = min(n, b.total)
	b.mu.Lock()
	if len(b.mu.line) == 0 && b.mu.used+n <= b.total {
		b.mu.used += n
		b.gauge.Set(float64(b.mu.used))
		b.mu.Unlock()
		return n, nil
	}
	c := &claim{n: n, grant: make(chan struct{})}
	b.mu.line = append(b.mu.line, c)
	b.mu.Unlock()

	timer := time.NewTimer(b.wait)
	defer timer.Stop()
	err := errNoBudget
	select {
	case <-c.grant:
		return n, nil
	case <-timer.C:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if b.leave(c) {
		return 0, err
	}
	return n, nil // Granted in the same moment.
}

// leave takes a claim out of the line, unless it was granted.
func (b *budget) leave(c *claim) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.mu.line {
		if other == c {
			b.mu.line = append(b.mu.line[:i], b.mu.line[i+1:]...)
			b.grantLocked() // Those behind may fit where this one did not.
			return true
		}
	}
	return false
}

// release gives n bytes back.
func (b *budget) release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.used -= n
	if b.mu.used < 0 {
		panic(fmt.Sprintf("BUG: server: %d more bytes were given back to the budget than taken", -b.mu.used))
	}
	b.grantLocked()
}

// collectBytes is how much has to be given back at once for its garbage to be
// collected first.
const collectBytes = 16 << 20

// collected gives n bytes back that are garbage now. If they are many, the garbage
// is collected and goes back to the system before somebody else may have them: it
// would stay in memory beside what is made next, and the budget would bound less than
// half of what is used. Who sent the large request waits for it.
func (b *budget) collected(n int64) {
	if n >= collectBytes {
		debug.FreeOSMemory()
	}
	b.release(n)
}

func (b *budget) grantLocked() {
	for len(b.mu.line) > 0 && b.mu.used+b.mu.line[0].n <= b.total {
		b.mu.used += b.mu.line[0].n
		close(b.mu.line[0].grant)
		b.mu.line = b.mu.line[1:]
	}
	b.gauge.Set(float64(b.mu.used))
}

// contended says whether somebody waits.
func (b *budget) contended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.mu.line) > 0
}

func (b *budget) used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.used
}
