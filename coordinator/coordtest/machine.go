package coordtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// Machine steps one shard as the runtime would, with the time of its own. It
// panics where the runtime would take the shard down. One goroutine only.
type Machine struct {
	// Log holds the shard's records.
	Log *Log
	// Replies holds the answers that were sent, by ticket.
	Replies map[coordinator.Ticket]coordinator.Reply
	// OnEvent, if set, is told what happens, as it happens.
	OnEvent func(Event)

	newShard func() coordinator.Shard
	shard    coordinator.Shard
	rand     *rand.Rand
	now      time.Time
	last     coordinator.Ticket
	timers   map[any]timer
	timerSeq int
	parked   []parked
	told     int64 // What the shard was told of commits.
}

// Event is something that a machine did: a timer, a record, a reply or a message.
type Event struct {
	Due    any // The key of a timer that went off.
	Record *coordinator.Record
	Offset int64 // That of Record.
	// Within is the transaction that Record is in, nil if none.
	Within *coordinator.Within
	Reply  *coordinator.Reply
	Send   any
}

type timer struct {
	at  time.Time
	seq int
}

type parked struct {
	end   int64
	reply coordinator.Reply
	send  any // Not a reply then.
}

// Start is the time at which every machine begins.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// NewMachine returns a machine with a new shard that has loaded its empty log.
// Machines with the same seed do the same.
func NewMachine(newShard func() coordinator.Shard, seed uint64) *Machine {
	m := &Machine{
		Log:      NewLog(),
		Replies:  make(map[coordinator.Ticket]coordinator.Reply),
		newShard: newShard,
		rand:     rand.New(rand.NewPCG(seed, seed)),
		now:      Start,
	}
	m.load()
	return m
}

// Now is the machine's time.
func (m *Machine) Now() time.Time { return m.now }

// Shard is the shard being run.
func (m *Machine) Shard() coordinator.Shard { return m.shard }

// Do gives the shard an input and returns its ticket.
func (m *Machine) Do(in any) coordinator.Ticket {
	m.last++
	t := m.last
	if marker, ok := in.(coordinator.Marker); ok {
		m.mark(t, marker)
		return t
	}
	m.step(t, in, func(at coordinator.Moment) coordinator.Effects { return m.shard.Step(at, t, in) })
	return t
}

// Ask gives the shard an input and returns its answer, and whether it has come.
func (m *Machine) Ask(in any) (coordinator.Reply, bool) {
	r, ok := m.Replies[m.Do(in)]
	return r, ok
}

// Tick lets time pass, and the timers that are due in it go off at their times.
func (m *Machine) Tick(d time.Duration) {
	until := m.now.Add(d)
	for {
		key, at, ok := m.next()
		if !ok || at.After(until) {
			break
		}
		delete(m.timers, key)
		if at.After(m.now) {
			m.now = at
		}
		m.event(Event{Due: key})
		m.step(0, key, func(at coordinator.Moment) coordinator.Effects { return m.shard.Fired(at, key) })
	}
	m.now = until
}

// SetClock moves the wall clock by d, back if d is negative. Timers keep their
// distance: they go by how much time passes.
func (m *Machine) SetClock(d time.Duration) {
	m.now = m.now.Add(d)
	for key, t := range m.timers {
		t.at = t.at.Add(d)
		m.timers[key] = t
	}
}

// Commit commits the log, if Log.Hold had kept it, and sends what waited for it.
func (m *Machine) Commit() {
	m.Log.Commit()
	m.flush()
}

// Failover loads the log into a new shard, as the next leader would. Nobody who
// waits is answered.
func (m *Machine) Failover() {
	m.parked = nil
	m.load()
}

// Replayed returns a new shard that has replayed the log, and was not stepped.
func (m *Machine) Replayed() coordinator.Shard {
	shard := m.newShard()
	if err := Replay(shard, m.Log); err != nil {
		panic(fmt.Sprintf("replay: %v", err))
	}
	return shard
}

func (m *Machine) load() {
	m.shard = m.Replayed()
	m.timers = make(map[any]timer)
	m.told = -1
	m.flush()
	m.step(0, nil, m.shard.Loaded)
}

func (m *Machine) moment() coordinator.Moment {
	return coordinator.Moment{Now: m.now, Rand: m.rand, NextOffset: m.Log.End()}
}

func (m *Machine) step(t coordinator.Ticket, in any, decide func(coordinator.Moment) coordinator.Effects) {
	eff := decide(m.moment())
	if len(eff.Records) > 0 {
		base, err := m.append(eff)
		if refused, ok := errors.AsType[*coordinator.RefusedError](err); ok {
			eff = m.shard.Refused(m.moment(), t, in, refused)
			if len(eff.Records) > 0 {
				panic("BUG: records from Refused")
			}
		} else if err != nil {
			panic(fmt.Sprintf("append: %v", err))
		}
		for i, r := range eff.Records {
			at := coordinator.At{
				Offset: base + int64(i), TimestampMs: m.now.UnixMilli(), ProducerID: -1, ProducerEpoch: -1,
			}
			if w := eff.Within; w != nil {
				at.ProducerID, at.ProducerEpoch = w.ProducerID, w.Epoch
			}
			if err := m.shard.Replay(at, r); err != nil {
				panic(fmt.Sprintf("BUG: replay of own record: %v", err))
			}
			m.event(Event{Record: &r, Offset: at.Offset, Within: eff.Within})
		}
	}
	for _, r := range eff.Replies {
		if r.To != 0 {
			m.parked = append(m.parked, parked{end: m.Log.End(), reply: r})
		}
	}
	for _, message := range eff.Sends {
		m.parked = append(m.parked, parked{end: m.Log.End(), send: message})
	}
	for _, t := range eff.Timers {
		if delete(m.timers, t.Key); !t.At.IsZero() {
			m.timerSeq++
			m.timers[t.Key] = timer{t.At, m.timerSeq}
		}
	}
	m.flush()
}

func (m *Machine) append(eff coordinator.Effects) (int64, error) {
	if eff.Within != nil {
		return m.Log.AppendWithin(m.now, *eff.Within, eff.Records)
	}
	return m.Log.Append(m.now, eff.Records)
}

// mark ends a transaction.
func (m *Machine) mark(t coordinator.Ticket, marker coordinator.Marker) {
	reply := coordinator.Reply{To: t}
	err := m.Log.AppendEnd(m.now, marker)
	if refused, ok := errors.AsType[*coordinator.RefusedError](err); ok {
		reply.Err = refused.Err
	} else if err != nil {
		panic(fmt.Sprintf("append: %v", err))
	} else {
		m.shard.ReplayMarker(marker.ProducerID, marker.Epoch, marker.Commit)
	}
	m.parked = append(m.parked, parked{end: m.Log.End(), reply: reply})
	m.flush()
}

// flush lets go the replies and sends that rest on committed records.
func (m *Machine) flush() {
	committed := m.Log.Committed()
	if p, ok := m.shard.(coordinator.Publisher); ok && committed > m.told {
		p.Published(committed)
	}
	m.told = committed
	for len(m.parked) > 0 && m.parked[0].end <= committed {
		r, message := m.parked[0].reply, m.parked[0].send
		m.parked = m.parked[1:]
		if message != nil {
			m.event(Event{Send: message})
			continue
		}
		if _, ok := m.Replies[r.To]; ok || r.To > m.last {
			panic(fmt.Sprintf("BUG: ticket %d answered twice or never given", r.To))
		}
		m.Replies[r.To] = r
		m.event(Event{Reply: &r})
	}
}

func (m *Machine) event(e Event) {
	if m.OnEvent != nil {
		m.OnEvent(e)
	}
}

// next is the timer due next; of several the one set first.
func (m *Machine) next() (key any, at time.Time, ok bool) {
	var best timer
	for k, t := range m.timers {
		if c := t.at.Compare(best.at); !ok || c < 0 || c == 0 && t.seq < best.seq {
			key, best, ok = k, t, true
		}
	}
	return key, best.at, ok
}

// Replay gives a log's records and markers to a shard.
func Replay(s coordinator.Shard, l *Log) error {
	return l.Replay(context.Background(), func(b batch.Batch) error {
		_, err := coordinator.ReplayBatch(s, b)
		return err
	})
}
