package session

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Errors that answer a whole fetch.
var (
	// ErrNotFound: there is no such session, any more or at all. Kafka's
	// FETCH_SESSION_ID_NOT_FOUND; the client begins anew.
	ErrNotFound = errors.New("fetch session is not known: it was evicted, closed, or is another broker's")
	// ErrEpoch: the request is not the one that follows the last. Kafka's
	// INVALID_FETCH_SESSION_EPOCH; the session stays as it is (B-19).
	ErrEpoch = errors.New("fetch session epoch is not the expected one")
	// ErrTopicID: the session was begun with topic names and goes on with topic
	// ids, or the reverse. Kafka's FETCH_SESSION_TOPIC_ID_ERROR.
	ErrTopicID = errors.New("fetch session was begun with topic names and continued with topic ids, or the reverse")
)

const (
	// NoSession is the id of those who have no session.
	NoSession int32 = 0
	// FirstEpoch asks for a new session.
	FirstEpoch int32 = 0
	// FinalEpoch closes the session and wants no other.
	FinalEpoch int32 = -1
)

// nextEpoch skips zero and negative epochs when it wraps around.
func nextEpoch(e int32) int32 {
	switch {
	case e < 0:
		return FinalEpoch
	case e == math.MaxInt32:
		return 1
	}
	return e + 1
}

// Config bounds a Cache.
type Config struct {
	// Slots is how many sessions there may be. Default 1000, Kafka's
	// max.incremental.fetch.session.cache.slots; negative: none.
	Slots int
	// EvictAfter is how long a session must lie unused before anybody may take
	// its slot, and how old it must be before a larger one may. Default 2 min,
	// as fixed in Kafka.
	EvictAfter time.Duration
}

// Cache holds the sessions of one broker. One call at a time.
type Cache struct {
	cfg       Config
	sessions  map[int32]*Session
	evictions int64
}

// NewCache returns an empty cache.
func NewCache(cfg Config) *Cache {
	if cfg.Slots == 0 {
		cfg.Slots = 1000
	}
	if cfg.EvictAfter == 0 {
		cfg.EvictAfter = 2 * time.Minute
	}
	return &Cache{cfg: cfg, sessions: map[int32]*Session{}}
}

// Stats are what Kafka's FetchSessionCache metrics show.
type Stats struct {
	Sessions   int
	Partitions int
	Evictions  int64
}

// Stats counts.
func (c *Cache) Stats() Stats {
	st := Stats{Sessions: len(c.sessions), Evictions: c.evictions}
	for _, s := range c.sessions {
		st.Partitions += s.size
	}
	return st
}

// Begin finds the session that a fetch belongs to, and changes what it fetches
// as the request says. An error answers the whole request.
func (c *Cache) Begin(now time.Time, f Fetch) (*Poll, error) {
	if f.Epoch == FirstEpoch || f.Epoch == FinalEpoch {
		return c.beginFull(f), nil
	}
	s, ok := c.sessions[f.SessionID]
	switch {
	case !ok:
		return nil, ErrNotFound
	case s.epoch != f.Epoch:
		return nil, ErrEpoch
	case s.usesIDs != f.UsesIDs:
		return nil, ErrTopicID
	}
	p := &Poll{cache: c, Session: s, epoch: nextEpoch(f.Epoch), kind: incremental}
	p.Removed = s.update(f.Parts, f.Forgotten)
	if len(s.entries) == 0 {
		c.remove(s)
		p.Closed = append(p.Closed, s)
		p.Session, p.kind = newSession(f), sessionless
		return p, nil
	}
	s.touch(now)
	s.epoch = p.epoch
	return p, nil
}

// beginFull reads all that the request names. Whatever session it came with ends.
func (c *Cache) beginFull(f Fetch) *Poll {
	p := &Poll{cache: c, Session: newSession(f), kind: full}
	if s, ok := c.sessions[f.SessionID]; ok {
		c.remove(s)
		p.Closed = append(p.Closed, s)
	}
	if f.Epoch == FinalEpoch {
		p.kind = sessionless
	}
	return p
}

func (c *Cache) remove(s *Session) { delete(c.sessions, s.id) }

// admit gives a new session a slot and an id, if one is free or can be freed.
func (c *Cache) admit(now time.Time, rng *rand.Rand, s *Session) (evicted *Session, ok bool) {
	if len(c.sessions) >= c.cfg.Slots {
		evicted = c.victim(now, s)
		if evicted == nil {
			return nil, false
		}
		c.remove(evicted)
		c.evictions++
	}
	for s.id == NoSession || c.sessions[s.id] != nil {
		s.id = 1 + rng.Int32N(math.MaxInt32-1)
	}
	s.epoch = nextEpoch(FirstEpoch)
	s.created = now
	s.touch(now)
	c.sessions[s.id] = s
	return evicted, true
}

// victim is whose slot a new session may take: the longest unused one if that is
// stale; else the least valuable of those that may be evicted, if the new one is
// worth more. A follower's session is worth more than a client's, then a larger
// one more than a smaller one. Clients may only evict what is not recent,
// followers recent clients too.
func (c *Cache) victim(now time.Time, fresh *Session) *Session {
	all := make([]*Session, 0, len(c.sessions))
	for _, s := range c.sessions {
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	oldest := slices.MinFunc(all, func(a, b *Session) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.id, b.id))
	})
	if now.Sub(oldest.used) > c.cfg.EvictAfter {
		return oldest
	}
	all = slices.DeleteFunc(all, func(s *Session) bool {
		recent := s.used.Sub(s.created) <= c.cfg.EvictAfter
		return recent && (s.privileged || !fresh.privileged)
	})
	if len(all) == 0 {
		return nil
	}
	least := slices.MinFunc(all, func(a, b *Session) int { return cmp.Or(compareWorth(a, b), cmp.Compare(a.id, b.id)) })
	fresh.size = len(fresh.entries)
	if compareWorth(fresh, least) <= 0 {
		return nil
	}
	return least
}

func compareWorth(a, b *Session) int {
	if a.privileged != b.privileged {
		if a.privileged {
			return 1
		}
		return -1
	}
	return cmp.Compare(a.size, b.size)
}
