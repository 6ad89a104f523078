package session

import (
	"math/rand/v2"
	"time"
)

// Poll is one fetch, from its request to its answer.
type Poll struct {
	// Session is what is fetched. It has no id if the fetch has no session, or
	// none yet.
	Session *Session
	// Removed are partitions that the request dropped from the session.
	Removed []*Entry
	// Closed are sessions that ended because of this fetch, after Begin or Done;
	// nobody needs to watch their partitions any more.
	Closed []*Session

	cache *Cache
	kind  kind
	epoch int32 // What the session's must still be when the answer is made.
}

type kind int8

const (
	sessionless kind = iota
	full             // Wants a session.
	incremental
)

// Ask is one partition to be read.
type Ask struct {
	*Entry
	Want
	// Name is what Session.Resolve found for a topic that is told by id; empty if it
	// never found any.
	Name string
}

// Asks are the partitions to read, in order. After a wait call it again: the
// order is the same, partitions reported meanwhile are added.
func (p *Poll) Asks() []Ask {
	entries := p.Session.inTurn()
	asks := make([]Ask, len(entries))
	for i, e := range entries {
		asks[i] = Ask{e, e.want, e.name}
	}
	return asks
}

// Result is what reading a partition gave.
type Result struct {
	Bytes         int   // Of records.
	HighWatermark int64 // -1 with an error.
	LogStart      int64 // -1 with an error.
	Failed        bool  // An error code is answered.
	Diverging     bool  // A diverging epoch is answered.
	Preferred     bool  // Another replica is preferred.
	// More: there were more records, held back by a limit.
	More bool
}

// Include takes the result of a partition and reports whether the answer
// contains it. It is called once for each of Asks, before Done.
func (p *Poll) Include(e *Entry, r Result) bool {
	include := p.kind != incremental || r.Bytes > 0 || r.Failed || r.Diverging || r.Preferred ||
		e.highWatermark != r.HighWatermark || e.logStart != r.LogStart
	if !p.current() {
		return include // Done refuses the answer; the session is another poll's.
	}
	e.highWatermark, e.logStart = r.HighWatermark, r.LogStart
	if r.Failed {
		// When the error goes away, the partition is told anew.
		e.highWatermark = -1
	}
	switch {
	case r.Bytes > 0:
		if p.kind == incremental {
			p.Session.moveToEnd(e)
		}
	case !r.Failed && !r.Diverging && !r.Preferred && !r.More:
		e.ready = false
	}
	return include
}

// Done ends the fetch and returns the session id of the answer. A fetch that
// wants a session gets it here, if there is room; its entries then stay.
func (p *Poll) Done(now time.Time, rng *rand.Rand) (id int32, err error) {
	switch p.kind {
	case full:
		evicted, ok := p.cache.admit(now, rng, p.Session)
		if evicted != nil {
			p.Closed = append(p.Closed, evicted)
		}
		if !ok {
			return NoSession, nil
		}
		return p.Session.id, nil
	case incremental:
		if !p.current() {
			return p.Session.id, ErrEpoch
		}
		return p.Session.id, nil
	}
	return NoSession, nil
}

// Kept reports whether the session lives on after Done. If not, nobody needs to
// watch its partitions any more.
func (p *Poll) Kept() bool {
	return p.Session.id != NoSession && p.cache.sessions[p.Session.id] == p.Session
}

// Overtaken reports whether another request has used the session since, so that
// Done will refuse the answer.
func (p *Poll) Overtaken() bool { return !p.current() }

// current is false if another request has used the session since: the same
// request sent twice, over two connections.
func (p *Poll) current() bool { return p.kind != incremental || p.Session.epoch == p.epoch }
