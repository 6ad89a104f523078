package session

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Fetch is what a fetch request says of its session.
type Fetch struct {
	SessionID int32 // NoSession before version 7.
	Epoch     int32 // FinalEpoch before version 7.
	// UsesIDs: topics are told by id (version 13 and later), else by name.
	UsesIDs bool
	// Follower: it is a replica that fetches.
	Follower  bool
	Parts     []Part
	Forgotten []Key
}

// Key names a partition. Which of Topic and TopicID counts is the session's.
type Key struct {
	Topic     string
	TopicID   [16]byte
	Partition int32
}

// Part is one partition of a request.
type Part struct {
	Key
	Want
}

// Want is what is asked of a partition.
type Want struct {
	Offset       int64
	LogStart     int64 // Of a follower; -1 from clients.
	MaxBytes     int32
	CurrentEpoch int32 // -1 if not told.
	LastEpoch    int32 // -1 if not told.
}

// Entry is a partition in a session.
type Entry struct {
	Key
	// Tag is the owner's, for what it watches the partition with.
	Tag any

	name string // Of a topic that is told by id, once it was found.
	want Want
	// What the client was told last; -1 if nothing, or an error.
	highWatermark, logStart int64
	turn                    uint64 // Entries with lower turns come first.
	ready                   bool
	listed                  bool // In Session.listed.
}

// Session is what one client fetches.
type Session struct {
	// Tag is the owner's, for what waits for all partitions.
	Tag any

	id         int32
	epoch      int32 // Of the next request.
	privileged bool
	usesIDs    bool
	created    time.Time
	used       time.Time
	size       int // As it was when last used.
	entries    map[Key]*Entry
	turns      uint64
	listed     []*Entry // Those that are ready and some that were, in no order.
}

func newSession(f Fetch) *Session {
	s := &Session{
		privileged: f.Follower, usesIDs: f.UsesIDs,
		entries: make(map[Key]*Entry, len(f.Parts)),
	}
	s.update(f.Parts, nil)
	return s
}

// ID is the session's id; NoSession if it has no slot in the cache.
func (s *Session) ID() int32 { return s.id }

// Len is how many partitions the session has.
func (s *Session) Len() int { return len(s.entries) }

// Entries are all partitions of the session, in no order.
func (s *Session) Entries() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, e := range s.entries {
			if !yield(e) {
				return
			}
		}
	}
}

// key keeps of k what tells partitions apart in this session.
func (s *Session) key(k Key) Key {
	if s.usesIDs {
		k.Topic = ""
	} else {
		k.TopicID = [16]byte{}
	}
	return k
}

// update takes in the partitions of a request and drops the forgotten ones,
// which it returns.
func (s *Session) update(parts []Part, forgotten []Key) (removed []*Entry) {
	for _, p := range parts {
		e := s.entries[s.key(p.Key)]
		if e == nil {
			e = &Entry{Key: p.Key, highWatermark: -1, logStart: -1}
			s.moveToEnd(e)
			s.entries[s.key(p.Key)] = e
		}
		e.want = p.Want
		s.Ready(e)
	}
	for _, k := range forgotten {
		if e := s.entries[s.key(k)]; e != nil {
			delete(s.entries, s.key(k))
			e.ready = false
			removed = append(removed, e)
		}
	}
	return removed
}

// Resolve finds the names of topics that are told by id, of the partitions that are
// ready. A name that was found stays, whatever becomes of the topic: as in Kafka the
// client of a session is told of a topic that was deleted, not of an id that never was.
func (s *Session) Resolve(name func(id [16]byte) string) {
	if !s.usesIDs {
		return
	}
	for _, e := range s.listed {
		if e.name == "" {
			e.name = name(e.TopicID)
		}
	}
}

// Ready says that something may have changed with a partition of the session: it
// will be read at the next poll. For one that has left the session meanwhile it
// does nothing.
func (s *Session) Ready(e *Entry) {
	if s.entries[s.key(e.Key)] != e {
		return
	}
	e.ready = true
	if !e.listed {
		e.listed = true
		s.listed = append(s.listed, e)
	}
}

func (s *Session) moveToEnd(e *Entry) {
	s.turns++
	e.turn = s.turns
}

func (s *Session) touch(now time.Time) {
	s.used = now
	s.size = len(s.entries)
}

// inTurn are the entries that are ready, in the order in which they are served.
func (s *Session) inTurn() []*Entry {
	s.listed = slices.DeleteFunc(s.listed, func(e *Entry) bool {
		e.listed = e.ready
		return !e.ready
	})
	slices.SortFunc(s.listed, func(a, b *Entry) int { return cmp.Compare(a.turn, b.turn) })
	return slices.Clone(s.listed)
}
