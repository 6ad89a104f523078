package api

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/broker/internal/session"
)

// Fetches are the fetch sessions of a broker (KIP-227) and what each of them
// watches. A session has one waiter, which is registered with a partition once,
// when it enters the session: a poll over ten thousand partitions registers
// nothing. Any goroutine may use it.
type Fetches struct {
	mu struct {
		sync.Mutex // Held for moments: never while something is read or waited for.

		cache *session.Cache
		rng   *rand.Rand
	}
}

// NewFetches makes an empty cache of sessions, whose ids rng draws.
func NewFetches(cfg session.Config, rng *rand.Rand) *Fetches {
	f := &Fetches{}
	f.mu.cache = session.NewCache(cfg)
	f.mu.rng = rng
	return f
}

// Stats counts, for metrics.
func (f *Fetches) Stats() session.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.cache.Stats()
}

// listener is what a session's Tag holds: how it waits.
type listener struct {
	waiter    *replica.Waiter
	isolation replica.Isolation
	passed    chan struct{} // Receives what woke a fetch that was overtaken.
}

// watched is what an entry's Tag holds: the partition that is watched for it.
type watched struct {
	partition *replica.Partition
	watch     *replica.Watch
}

// polling is a fetch under way. The session may be used by another connection
// meanwhile, so what it holds is only looked at with the lock of Fetches.
type polling struct {
	*session.Poll
	listener *listener // The session's when the fetch began.
}

// begin finds the session of a fetch, and the partitions to read first.
func (f *Fetches) begin(now time.Time, q session.Fetch, isolation replica.Isolation) (polling, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	poll, err := f.mu.cache.Begin(now, q)
	if err != nil {
		return polling{}, err
	}
	for _, e := range poll.Removed {
		unwatch(e)
	}
	f.dropLocked(poll)
	if l, ok := poll.Session.Tag.(*listener); ok && l.isolation == isolation {
		return polling{poll, l}, nil
	}
	// A new session, or a client that has changed its mind about isolation: what
	// was watched for the other is to be looked at once more.
	for e := range poll.Session.Entries() {
		unwatch(e)
		poll.Session.Ready(e)
	}
	l := &listener{replica.NewWaiter(), isolation, make(chan struct{}, 1)}
	poll.Session.Tag = l
	return polling{poll, l}, nil
}

// dropLocked stops watching for sessions that have ended.
func (f *Fetches) dropLocked(poll *session.Poll) {
	for _, s := range poll.Closed {
		for e := range s.Entries() {
			unwatch(e)
		}
	}
	poll.Closed = nil
}

func unwatch(e *session.Entry) {
	if w, ok := e.Tag.(*watched); ok {
		w.watch.Stop()
		e.Tag = nil
	}
}

// asks are the partitions to read now, after those that have changed since were
// counted among them, and of how many partitions of the session they are. name finds
// the name of a topic. ok is false when a later fetch of the session runs on another
// connection: that one is to hear of the changes.
func (f *Fetches) asks(poll polling, name func(id [16]byte) string) (asks []session.Ask, of int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range poll.listener.waiter.Take(nil) {
		poll.Session.Ready(w.Tag.(*session.Entry))
	}
	if poll.Overtaken() {
		select {
		case poll.listener.passed <- struct{}{}:
		default:
		}
		return nil, 0, false
	}
	poll.Session.Resolve(name)
	return poll.Asks(), poll.Session.Len(), true
}

// watch sees that the session hears of changes of its partitions. It is called
// before they are read, so that no change is missed.
func (f *Fetches) watch(poll polling, reads []reading) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := poll.listener
	if poll.Session.Tag != any(l) {
		return // A later fetch of the session wants another isolation.
	}
	for i := range reads {
		e, p := reads[i].ask.Entry, reads[i].partition
		if w, ok := e.Tag.(*watched); ok {
			if w.partition == p {
				continue
			}
			unwatch(e)
		}
		if p != nil {
			e.Tag = &watched{p, p.Watch(l.waiter, l.isolation, e)}
		}
	}
}

// done ends a poll: it says which of the readings the client is told, and the
// session id of the answer.
func (f *Fetches) done(now time.Time, poll polling, reads []reading) (id int32, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range reads {
		r := &reads[i]
		r.included = poll.Include(r.ask.Entry, session.Result{
			Bytes: r.out.size(), HighWatermark: r.out.highWatermark, LogStart: r.out.logStart,
			Failed: r.out.code != 0, Diverging: r.out.diverging != nil, Preferred: r.out.preferred >= 0, More: r.more,
		})
	}
	id, err = poll.Done(now, f.mu.rng)
	f.dropLocked(poll.Poll)
	f.forgetLocked(poll.Poll)
	return id, err
}

// abandon ends a poll whose client is gone.
func (f *Fetches) abandon(poll polling) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgetLocked(poll.Poll)
}

// forgetLocked stops watching for a fetch without a session.
func (f *Fetches) forgetLocked(poll *session.Poll) {
	if poll.Kept() {
		return
	}
	for e := range poll.Session.Entries() {
		unwatch(e)
	}
}
