package replica

import (
	"sync"
	"sync/atomic"
)

// Isolation is how far a reader may see.
type Isolation int8

const (
	// Uncommitted readers see what is replicated: up to the high watermark.
	// Kafka's read_uncommitted.
	Uncommitted Isolation = iota
	// Committed readers see what no open transaction may undo: up to the last
	// stable offset. Kafka's read_committed.
	Committed
	// LogEnd readers see everything: followers, and who debugs.
	LogEnd
)

// Waiter is what one fetch session waits with, for any number of partitions: a
// Watch is registered with each of them once, and a partition that changes puts
// its Watch into the Waiter's set. Any goroutine may use it; one receives from C.
type Waiter struct {
	wake chan struct{}

	mu struct {
		sync.Mutex
		changed []*Watch // Each once.
	}
}

// NewWaiter returns a Waiter that watches nothing.
func NewWaiter() *Waiter { return &Waiter{wake: make(chan struct{}, 1)} }

// C receives when a partition has something to be read that it had not, or is
// led otherwise. It may receive once too often.
func (w *Waiter) C() <-chan struct{} { return w.wake }

// Take appends to dst the watches whose partitions changed since they were taken
// last, and forgets them. Among them are such that did not make C receive: their
// high watermark or log start is news for an answer, not a reason for one.
func (w *Waiter) Take(dst []*Watch) []*Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.mu.changed {
		c.mark.Store(unmarked)
	}
	dst = append(dst, w.mu.changed...)
	clear(w.mu.changed)
	w.mu.changed = w.mu.changed[:0]
	return dst
}

// mark puts c into the set, and wakes who waits if need be. What has been marked
// and not been taken costs a look: sessions that nobody polls any more may be many.
func (w *Waiter) mark(c *Watch, wake bool) {
	want := marked
	if wake {
		want = woken
	}
	if c.mark.Load() >= want {
		return // Whoever takes it does so after this, and reads after that.
	}
	w.mu.Lock()
	if c.mark.Load() == unmarked {
		w.mu.changed = append(w.mu.changed, c)
	}
	c.mark.Store(max(want, c.mark.Load()))
	w.mu.Unlock()
	if wake {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Watch is a partition in a Waiter's eyes.
type Watch struct {
	// Tag is what Partition.Watch was given.
	Tag any

	waiter    *Waiter
	isolation Isolation
	mark      atomic.Int32 // Written under waiter.mu only.

	in         *watches
	prev, next *Watch // In the list of in, guarded by in's lock.
}

// What a Watch's mark says.
const (
	unmarked int32 = iota
	marked         // In waiter.mu.changed.
	woken          // And who waits was woken for it.
)

// watches are all that watch one partition: a ring with root as its seam.
type watches struct {
	sync.Mutex
	root  Watch
	ended bool // The partition has gone from this broker.
}

// Watch makes changes of the partition known to w, until Stop. A reader who
// registers first and reads then misses nothing.
func (p *Partition) Watch(w *Waiter, isolation Isolation, tag any) *Watch {
	c := &Watch{Tag: tag, waiter: w, isolation: isolation}
	ws := &p.watches
	ws.Lock()
	defer ws.Unlock()
	if ws.ended {
		w.mark(c, true)
		return c
	}
	root := &ws.root
	if root.next == nil {
		root.prev, root.next = root, root
	}
	c.in, c.prev, c.next = ws, root.prev, root
	c.prev.next, root.prev = c, c
	return c
}

// Stop ends the watch. It may be called more than once.
func (c *Watch) Stop() {
	if c.in == nil {
		return
	}
	c.in.Lock()
	defer c.in.Unlock()
	if c.next != nil {
		c.prev.next, c.next.prev = c.next, c.prev
		c.prev, c.next = nil, nil
	}
}

// change is what is new in a partition.
type change uint8

const (
	changedEnd change = 1 << iota
	changedWatermark
	changedStable
	changedStart
	changedRole // The leader, its epoch, or whether it is online.
)

// wakes is what makes a reader read again, rather than being news only.
var wakes = [...]change{
	Uncommitted: changedWatermark | changedRole,
	Committed:   changedStable | changedRole,
	LogEnd:      changedEnd | changedRole,
}

// news is what goes into an answer that is made anyway.
const news = changedWatermark | changedStart | changedRole

func (ws *watches) mark(what change) {
	ws.Lock()
	defer ws.Unlock()
	if ws.root.next == nil {
		return
	}
	for c := ws.root.next; c != &ws.root; c = c.next {
		if wake := what&wakes[c.isolation] != 0; wake || what&news != 0 {
			c.waiter.mark(c, wake)
		}
	}
}

// end tells all that the partition has gone.
func (ws *watches) end() {
	ws.mark(changedRole)
	ws.Lock()
	ws.ended = true
	ws.Unlock()
}
