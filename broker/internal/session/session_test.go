package session

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	t0  = time.Unix(9000, 0)
	rng = rand.New(rand.NewPCG(1, 2))
)

func key(topic string, n int32) Key { return Key{Topic: topic, Partition: n} }

func part(topic string, n int32, offset int64) Part {
	return Part{key(topic, n), Want{Offset: offset, LogStart: -1, MaxBytes: 100, CurrentEpoch: -1, LastEpoch: -1}}
}

// begin opens a session with n partitions at now, and returns its poll.
func begin(t *testing.T, c *Cache, now time.Time, n int, follower bool) *Poll {
	t.Helper()
	f := Fetch{Follower: follower}
	for i := range n {
		f.Parts = append(f.Parts, part("t", int32(i), 0))
	}
	p, err := c.Begin(now, f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Done(now, rng); err != nil {
		t.Fatal(err)
	}
	return p
}

func names(asks []Ask) (s string) {
	for _, a := range asks {
		s += fmt.Sprintf("%s%d@%d ", a.Topic, a.Key.Partition, a.Want.Offset)
	}
	return s
}

// answer includes every ask with a result and ends the poll.
func answer(t *testing.T, p *Poll, result func(Ask) Result) (included string, id int32) {
	t.Helper()
	for _, a := range p.Asks() {
		if p.Include(a.Entry, result(a)) {
			included += fmt.Sprintf("%s%d ", a.Topic, a.Key.Partition)
		}
	}
	id, err := p.Done(t0, rng)
	if err != nil {
		t.Fatal(err)
	}
	return included, id
}

// TestResolve: a name is looked up until it is found, and then no more.
func TestResolve(t *testing.T) {
	c, id := NewCache(Config{}), [16]byte{7}
	p, err := c.Begin(t0, Fetch{UsesIDs: true, Parts: []Part{{Key: Key{TopicID: id}}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"", "t", "", "other"} {
		p.Session.Resolve(func(of [16]byte) string {
			if of != id {
				t.Errorf("asked for %x", of)
			}
			return name
		})
		if got, want := p.Asks()[0].Name, []string{"", "t", "t", "t"}[i]; got != want {
			t.Errorf("after %q: %q, want %q", name, got, want)
		}
	}
	if p, _ = c.Begin(t0, Fetch{Parts: []Part{part("t", 0, 0)}}); p == nil {
		t.Fatal("no poll")
	}
	p.Session.Resolve(func([16]byte) string { t.Error("asked in a session of names"); return "" })
}

func nothingNew(Ask) Result { return Result{} }

func TestLifeOfASession(t *testing.T) {
	c := NewCache(Config{})
	p, err := c.Begin(t0, Fetch{Parts: []Part{part("a", 0, 5), part("b", 0, 6), part("a", 1, 7)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(p.Asks()); got != "a0@5 b0@6 a1@7 " {
		t.Errorf("first poll asks %s", got)
	}
	got, id := answer(t, p, nothingNew)
	if got != "a0 b0 a1 " || id <= 0 || !p.Kept() {
		t.Errorf("first answer has %q, session %d, kept %v", got, id, p.Kept())
	}
	next := func(epoch int32, parts []Part, forget ...Key) *Poll {
		p, err := c.Begin(t0, Fetch{SessionID: id, Epoch: epoch, Parts: parts, Forgotten: forget})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if got := names(next(1, nil).Asks()); got != "" {
		t.Errorf("nothing is new, asks %s", got)
	}
	p = next(2, []Part{part("a", 1, 8), part("c", 0, 1)}, key("b", 0))
	if got := names(p.Asks()); got != "a1@8 c0@1 " {
		t.Errorf("changed partitions: asks %s", got)
	}
	if len(p.Removed) != 1 || p.Removed[0].Topic != "b" || p.Session.Len() != 3 {
		t.Errorf("removed %v, %d left", p.Removed, p.Session.Len())
	}
	if got, same := answer(t, p, nothingNew); got != "c0 " || same != id {
		t.Errorf("answer has %q, session %d of %d", got, same, id)
	}
	// The last one is forgotten: the session ends.
	p = next(3, nil, key("a", 0), key("a", 1), key("c", 0))
	if len(p.Closed) != 1 || c.Stats().Sessions != 0 {
		t.Error("an empty session lives on")
	}
	if _, id := answer(t, p, nothingNew); id != NoSession {
		t.Errorf("session %d", id)
	}
}

func TestBeginErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		fetch Fetch
		want  error
	}{
		"unknown id":       {Fetch{SessionID: 77, Epoch: 1}, ErrNotFound},
		"epoch repeated":   {Fetch{SessionID: 1, Epoch: 1}, ErrEpoch},
		"epoch skipped":    {Fetch{SessionID: 1, Epoch: 3}, ErrEpoch},
		"ids for names":    {Fetch{SessionID: 1, Epoch: 2, UsesIDs: true}, ErrTopicID},
		"the expected one": {Fetch{SessionID: 1, Epoch: 2}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCache(Config{})
			id := begin(t, c, t0, 1, false).Session.ID()
			if _, err := c.Begin(t0, Fetch{SessionID: id, Epoch: 1}); err != nil {
				t.Fatal(err)
			}
			if tc.fetch.SessionID == 1 {
				tc.fetch.SessionID = id
			}
			if _, err := c.Begin(t0, tc.fetch); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if tc.want != nil {
				// The session is as it was.
				if _, err := c.Begin(t0, Fetch{SessionID: id, Epoch: 2}); err != nil {
					t.Errorf("the session suffered: %v", err)
				}
			}
		})
	}
}

func TestFullFetchClosesItsSession(t *testing.T) {
	for _, epoch := range []int32{FirstEpoch, FinalEpoch} {
		c := NewCache(Config{})
		old := begin(t, c, t0, 1, false).Session
		p, err := c.Begin(t0, Fetch{SessionID: old.ID(), Epoch: epoch, Parts: []Part{part("a", 0, 0)}})
		if err != nil || !slices.Equal(p.Closed, []*Session{old}) {
			t.Fatal(err, p)
		}
		if _, id := answer(t, p, nothingNew); (id != NoSession) != (epoch == FirstEpoch) {
			t.Errorf("epoch %d: session %d", epoch, id)
		}
	}
}

func TestEpochWrapsToOne(t *testing.T) {
	if nextEpoch(math.MaxInt32) != 1 || nextEpoch(0) != 1 || nextEpoch(FinalEpoch) != FinalEpoch {
		t.Error(nextEpoch(math.MaxInt32), nextEpoch(0), nextEpoch(FinalEpoch))
	}
}

func TestWhatAnAnswerContains(t *testing.T) {
	told := Result{HighWatermark: 10, LogStart: 2}
	for name, tc := range map[string]struct {
		result  Result
		include bool
		again   bool // Read at the next poll too.
	}{
		"nothing new":       {Result{HighWatermark: 10, LogStart: 2}, false, false},
		"records":           {Result{Bytes: 1, HighWatermark: 10, LogStart: 2}, true, true},
		"high watermark":    {Result{HighWatermark: 11, LogStart: 2}, true, false},
		"log start":         {Result{HighWatermark: 10, LogStart: 3}, true, false},
		"error":             {Result{HighWatermark: -1, LogStart: -1, Failed: true}, true, true},
		"diverging":         {Result{HighWatermark: 10, LogStart: 2, Diverging: true}, true, true},
		"preferred replica": {Result{HighWatermark: 10, LogStart: 2, Preferred: true}, true, true},
		"records held back": {Result{HighWatermark: 10, LogStart: 2, More: true}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCache(Config{})
			p, _ := c.Begin(t0, Fetch{Parts: []Part{part("a", 0, 0)}})
			_, id := answer(t, p, func(Ask) Result { return told })
			p, _ = c.Begin(t0, Fetch{SessionID: id, Epoch: 1, Parts: []Part{part("a", 0, 0)}})
			got, _ := answer(t, p, func(Ask) Result { return tc.result })
			if (got != "") != tc.include {
				t.Errorf("included: %q", got)
			}
			p, _ = c.Begin(t0, Fetch{SessionID: id, Epoch: 2})
			if got := names(p.Asks()); (got != "") != tc.again {
				t.Errorf("asked again: %q", got)
			}
		})
	}
}

// When an error goes away, the partition is told even if nothing else changed.
func TestErrorGoesAway(t *testing.T) {
	c := NewCache(Config{})
	p, _ := c.Begin(t0, Fetch{Parts: []Part{part("a", 0, 0)}})
	_, id := answer(t, p, nothingNew)
	p, _ = c.Begin(t0, Fetch{SessionID: id, Epoch: 1, Parts: []Part{part("a", 0, 0)}})
	answer(t, p, func(Ask) Result { return Result{Failed: true} })
	p, _ = c.Begin(t0, Fetch{SessionID: id, Epoch: 2})
	if got, _ := answer(t, p, nothingNew); got != "a0 " {
		t.Errorf("answer has %q", got)
	}
}

func TestTopicIDsTellPartitionsApart(t *testing.T) {
	c := NewCache(Config{})
	id1, id2 := [16]byte{1}, [16]byte{2}
	p, _ := c.Begin(t0, Fetch{UsesIDs: true, Parts: []Part{
		{Key: Key{TopicID: id1}}, {Key: Key{Topic: "t", TopicID: id2}},
	}})
	_, id := answer(t, p, nothingNew)
	// The name of the first is known by now, the second was made anew.
	p, err := c.Begin(t0, Fetch{UsesIDs: true, SessionID: id, Epoch: 1, Parts: []Part{
		{Key: Key{Topic: "s", TopicID: id1}}, {Key: Key{Topic: "t", TopicID: [16]byte{3}}},
	}, Forgotten: []Key{{TopicID: id2}}})
	if err != nil || p.Session.Len() != 2 || len(p.Removed) != 1 {
		t.Fatal(err, p.Session.Len(), p.Removed)
	}
}

// The same request over two connections: the first to answer has the session, the
// other is told that its epoch is over.
func TestOvertakenPoll(t *testing.T) {
	c := NewCache(Config{})
	id := begin(t, c, t0, 2, false).Session.ID()
	slow, _ := c.Begin(t0, Fetch{SessionID: id, Epoch: 1})
	if slow.Overtaken() {
		t.Error("overtaken by nobody")
	}
	quick, _ := c.Begin(t0, Fetch{SessionID: id, Epoch: 2})
	if !slow.Overtaken() || quick.Overtaken() {
		t.Error("overtaken:", slow.Overtaken(), quick.Overtaken())
	}
	e := quick.Asks()[0].Entry
	slow.Include(e, Result{HighWatermark: 7})
	if _, err := slow.Done(t0, rng); !errors.Is(err, ErrEpoch) {
		t.Error("slow:", err)
	}
	if !quick.Include(e, Result{HighWatermark: 7}) {
		t.Error("what the slow one would have told is lost")
	}
	if got, err := quick.Done(t0, rng); err != nil || got != id {
		t.Error(got, err)
	}
}

func TestReadyAfterForgotten(t *testing.T) {
	c := NewCache(Config{})
	p := begin(t, c, t0, 2, false)
	e := p.Asks()[0].Entry
	p, _ = c.Begin(t0, Fetch{SessionID: p.Session.ID(), Epoch: 1, Forgotten: []Key{e.Key}})
	p.Session.Ready(e)
	if got := names(p.Asks()); got != "t1@0 " {
		t.Errorf("asks %s", got)
	}
}

func TestEviction(t *testing.T) {
	const s = time.Second
	type old struct {
		size       int
		follower   bool
		made, used time.Duration
	}
	for name, tc := range map[string]struct {
		old      []old
		size     int
		follower bool
		at       time.Duration
		evicted  int // Index of old; -1: the new one gets no slot.
	}{
		"stale":                                {[]old{{9, true, 0, 0}, {1, false, 0, s}}, 1, false, 121 * s, 0},
		"exactly not stale":                    {[]old{{9, false, 0, 0}, {9, false, 0, s}}, 9, false, 120 * s, -1},
		"recent ones are safe from clients":    {[]old{{1, false, 0, 0}, {1, false, 0, 0}}, 9, false, 10 * s, -1},
		"but not from followers":               {[]old{{1, true, 0, 0}, {2, false, 0, 0}}, 1, true, 10 * s, 1},
		"an old smaller one goes":              {[]old{{3, false, 0, 125 * s}, {2, false, 0, 125 * s}}, 3, false, 130 * s, 1},
		"an old equal one stays":               {[]old{{3, false, 0, 125 * s}, {3, false, 0, 125 * s}}, 3, false, 130 * s, -1},
		"a client never evicts a live replica": {[]old{{1, true, 0, 125 * s}, {1, true, 0, 125 * s}}, 9, false, 130 * s, -1},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCache(Config{Slots: 2})
			var all []*Session
			for _, o := range tc.old {
				sess := begin(t, c, t0.Add(o.made), o.size, o.follower).Session
				if _, err := c.Begin(t0.Add(o.used), Fetch{SessionID: sess.ID(), Epoch: 1}); err != nil {
					t.Fatal(err)
				}
				all = append(all, sess)
			}
			p := begin(t, c, t0.Add(tc.at), tc.size, tc.follower)
			if tc.evicted < 0 {
				if p.Kept() || p.Session.ID() != NoSession || len(p.Closed) != 0 {
					t.Errorf("got slot %d, evicted %v", p.Session.ID(), p.Closed)
				}
				return
			}
			if !p.Kept() || !slices.Equal(p.Closed, []*Session{all[tc.evicted]}) || c.Stats().Evictions != 1 {
				t.Errorf("kept %v, evicted %v", p.Kept(), p.Closed)
			}
		})
	}
}

func TestNoSlots(t *testing.T) {
	c := NewCache(Config{Slots: -1})
	if p := begin(t, c, t0, 1, true); p.Kept() || p.Session.ID() != NoSession {
		t.Error("a session without a slot")
	}
}

// A poll over ten thousand quiet partitions costs nothing but what is ready.
func BenchmarkQuietPoll(b *testing.B) {
	c := NewCache(Config{})
	f := Fetch{}
	for i := range 10_000 {
		f.Parts = append(f.Parts, part("t", int32(i), 0))
	}
	p, _ := c.Begin(t0, f)
	asks := p.Asks()
	for _, a := range asks {
		p.Include(a.Entry, Result{})
	}
	id, _ := p.Done(t0, rng)
	b.ReportAllocs()
	epoch := int32(0)
	for b.Loop() {
		epoch = nextEpoch(epoch)
		p, err := c.Begin(t0, Fetch{SessionID: id, Epoch: epoch})
		if err != nil {
			b.Fatal(err)
		}
		p.Session.Ready(asks[epoch%10_000].Entry)
		for _, a := range p.Asks() {
			p.Include(a.Entry, Result{HighWatermark: int64(epoch)})
		}
		_, _ = p.Done(t0, rng)
	}
}
