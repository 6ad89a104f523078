package server

import (
	"context"
	"net"
	"sync"
	"time"
)

// admission counts connections and says who may come in. Any goroutine may use
// it.
type admission struct {
	max       int
	perIP     int
	overrides map[string]int
	rate      int // A second.

	mu struct {
		sync.Mutex

		open      int
		listeners map[string]int
		ips       map[string]int
		freed     chan struct{} // Closed and replaced when a connection ends.

		// A bucket of a second's worth of connections.
		tokens float64
		filled time.Time
	}
}

func newAdmission(c Config) *admission {
	a := &admission{max: c.MaxConnections, perIP: c.MaxConnectionsPerIP, overrides: c.PerIPOverrides, rate: c.AcceptRate}
	a.mu.listeners = make(map[string]int)
	a.mu.ips = make(map[string]int)
	a.mu.freed = make(chan struct{})
	a.mu.tokens = float64(c.AcceptRate)
	return a
}

// wait blocks until another connection may be accepted on the listener. While
// it blocks, clients wait in the socket's backlog, as with Kafka.
func (a *admission) wait(ctx context.Context, l Listener) error {
	for {
		freed, pause := a.ask(l, time.Now())
		if freed == nil && pause == 0 {
			return nil
		}
		var timer <-chan time.Time
		if pause > 0 {
			timer = time.After(pause)
		}
		select {
		case <-freed:
		case <-timer:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ask says whether a connection may be accepted now: neither a channel that is
// closed when one ends, nor a time to wait for the rate.
func (a *admission) ask(l Listener, now time.Time) (freed <-chan struct{}, pause time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.open >= a.max || l.MaxConnections > 0 && a.mu.listeners[l.Name] >= l.MaxConnections {
		return a.mu.freed, 0
	}
	a.fillLocked(now)
	if a.mu.tokens < 1 {
		return nil, time.Duration((1 - a.mu.tokens) / float64(a.rate) * float64(time.Second))
	}
	return nil, 0
}

func (a *admission) fillLocked(now time.Time) {
	if !a.mu.filled.IsZero() {
		a.mu.tokens += now.Sub(a.mu.filled).Seconds() * float64(a.rate)
	}
	a.mu.tokens = min(a.mu.tokens, float64(a.rate))
	a.mu.filled = now
}

// enter counts an accepted connection; false says that its address has too
// many, and that it has to be closed.
func (a *admission) enter(l Listener, ip string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fillLocked(now)
	a.mu.tokens--
	most, ok := a.overrides[ip]
	if !ok {
		most = a.perIP
	}
	if a.mu.ips[ip] >= most {
		return false
	}
	a.mu.open++
	a.mu.listeners[l.Name]++
	a.mu.ips[ip]++
	return true
}

// exit takes a connection that had entered off the count.
func (a *admission) exit(l Listener, ip string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.open--
	a.mu.listeners[l.Name]--
	if a.mu.ips[ip]--; a.mu.ips[ip] == 0 {
		delete(a.mu.ips, ip)
	}
	close(a.mu.freed)
	a.mu.freed = make(chan struct{})
}

// ipOf is the address that connections are counted by.
func ipOf(nc net.Conn) string {
	if nc.RemoteAddr() == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(nc.RemoteAddr().String())
	if err != nil {
		return nc.RemoteAddr().String()
	}
	return host
}
