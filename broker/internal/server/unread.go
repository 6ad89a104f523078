package server

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moldau-broker/moldau/broker/internal/api"
)

// freeAnswerBytes is the size of an answer up to which its memory is not counted: it
// is in the order of what a connection itself takes.
const freeAnswerBytes = 64 << 10

// unreadGrace is how long an answer may stand still before its client counts as one that
// does not read.
const unreadGrace = time.Second

// errUnread ends a connection whose client does not read its answer.
var errUnread = errors.New("the client did not read its answer for the longest time of all, and answers took too much memory (a share of queued.max.request.bytes)")

// unread bounds the memory of encoded answers on their way. A connection has one at a
// time and reads no further request before it is written, but connections are many,
// and a client that does not read keeps its answer until it is idle. Nobody waits for
// memory here: when there is too much, the connection is cut that has not moved for the
// longest time. Up to twice as much is no reason to cut one that has moved within
// the last second: many clients that come at once may all be in order. Any goroutine
// may use it.
type unread struct {
	total int64
	gauge prometheus.Gauge

	mu struct {
		sync.Mutex

		used    int64
		answers map[*conn]*unreadAnswer
	}
}

type unreadAnswer struct {
	bytes int64
	moved time.Time // When the peer took some of it last, or it began.
}

func newUnread(total int64, gauge prometheus.Gauge) *unread {
	u := &unread{total: total, gauge: gauge}
	u.mu.answers = make(map[*conn]*unreadAnswer)
	return u
}

// begin counts an answer that c is about to write, unless it is small, and says
// whether it did.
func (u *unread) begin(c *conn, parts []api.Part) bool {
	n := int64(0)
	for _, p := range parts {
		n += int64(len(p.Bytes)) // Spans are the system's memory.
	}
	if n <= freeAnswerBytes {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.answers[c] = &unreadAnswer{bytes: n, moved: time.Now()}
	u.mu.used += n
	for u.mu.used > u.total && u.cutLocked(c) {
	}
	u.gauge.Set(float64(u.mu.used))
	return true
}

// cutLocked closes the connection other than c that has not moved for the longest time,
// if there is reason to.
func (u *unread) cutLocked(c *conn) bool {
	var stalled *conn
	for other, a := range u.mu.answers {
		if other != c && (stalled == nil || a.moved.Before(u.mu.answers[stalled].moved)) {
			stalled = other
		}
	}
	if stalled == nil || u.mu.used <= 2*u.total && time.Since(u.mu.answers[stalled].moved) < unreadGrace {
		return false
	}
	u.mu.used -= u.mu.answers[stalled].bytes
	delete(u.mu.answers, stalled)
	stalled.raw.Close() // Its write fails.
	return true
}

// moved says that c's peer took some of its answer.
func (u *unread) moved(c *conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if a := u.mu.answers[c]; a != nil {
		a.moved = time.Now()
	}
}

// end is when c's answer is written or given up; false says that it was cut.
func (u *unread) end(c *conn) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.mu.answers[c]
	if a == nil {
		return false
	}
	u.mu.used -= a.bytes
	delete(u.mu.answers, c)
	u.gauge.Set(float64(u.mu.used))
	return true
}

func (u *unread) used() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mu.used
}
