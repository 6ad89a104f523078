package txn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// world is a machine that is driven at random, and what those around it know.
type world struct {
	begun    int16 // The level in the beginning.
	level    int16
	machine  *coordtest.Machine
	ops      []func(*coordtest.Machine) // All that was done, to be done again.
	log      strings.Builder            // What came of it.
	since    coordinator.Ticket         // Tickets up to here were lost in a failover.
	last     coordinator.Ticket         // The newest.
	known    []told                     // Producers that some client was told of.
	owed     []Markers                  // Sent and not yet known to be written.
	wants    int                        // Producer ids asked for.
	nextID   int64
	owner    map[int64]string             // The id that each producer id was given to.
	decided  map[coordinator.Ticket]error // What an EndTxn must not be told to be done.
	acked    map[Written]bool             // Markers said to be written.
	newest   map[string]*transaction      // Newest record by id.
	problems []string
}

// told is a producer as a client knows it.
type told struct {
	id string
	producer
}

func newWorld(t *rapid.T) *world {
	w := &world{
		begun:   rapid.Int16Range(0, 2).Draw(t, "level"),
		nextID:  1000,
		owner:   make(map[int64]string),
		decided: make(map[coordinator.Ticket]error),
		acked:   make(map[Written]bool),
		newest:  make(map[string]*transaction),
	}
	w.machine = w.newMachine()
	w.machine.OnEvent = w.event
	return w
}

// newMachine has an id that has but a few epochs left, and one with none, whose
// transaction is open.
func (w *world) newMachine() *coordtest.Machine {
	w.level = w.begun
	cfg := DefaultConfig()
	cfg.Version = func() int16 { return w.level }
	cfg.IDExpiration = 3 * time.Hour
	m := coordtest.NewMachine(func() coordinator.Shard { return New(cfg) }, 1)
	old := transaction{
		id: "old", producerID: 7, prevProducerID: noID, nextProducerID: noID, epoch: lastEpoch - 3,
		timeoutMs: 60_000, startMs: -1, updateMs: m.Now().UnixMilli(),
	}
	worn := old
	worn.id, worn.producerID, worn.epoch, worn.status, worn.startMs = "worn", 8, lastEpoch, ongoing, old.updateMs
	worn.topics, worn.clientVersion = []Topic{{"t", []int32{0}}}, epochBump
	for _, x := range []*transaction{&old, &worn} {
		if _, err := m.Log.Append(m.Now(), []coordinator.Record{x.record(w.level)}); err != nil {
			panic(err)
		}
		w.newest[x.id], w.owner[x.producerID] = x, x.id
	}
	m.Failover()
	return m
}

// do does something to the machine, and remembers it.
func (w *world) do(op func(*coordtest.Machine)) {
	w.ops = append(w.ops, op)
	op(w.machine)
}

func (w *world) ask(in any) {
	w.do(func(m *coordtest.Machine) { w.last = m.Do(in) })
}

func (w *world) event(e coordtest.Event) {
	describeEvent(&w.log, e)
	switch {
	case e.Record != nil:
		w.record(*e.Record)
	case e.Reply != nil:
		w.reply(*e.Reply)
	case e.Send != nil:
		switch m := e.Send.(type) {
		case Markers:
			w.owed = append(w.owed, m)
		case WantProducerIDs:
			w.wants += int(m.Count)
		}
	}
}

func describeEvent(log *strings.Builder, e coordtest.Event) {
	switch {
	case e.Due != nil:
		fmt.Fprintln(log, "due", e.Due)
	case e.Record != nil:
		fmt.Fprintln(log, "record", e.Offset, showRecord(*e.Record))
	case e.Reply != nil:
		fmt.Fprintln(log, "reply", e.Reply.To, showReply(*e.Reply))
	case e.Send != nil:
		fmt.Fprintln(log, "send", showSend(e.Send))
	}
}

// record checks a record against the one before it of its id: a decided outcome is
// carried out, and only when its markers are written.
func (w *world) record(r coordinator.Record) {
	var key kmsg.TxnMetadataKey
	must(key.ReadFrom(r.Key))
	id, was := key.TransactionalID, w.newest[key.TransactionalID]
	if r.Value == nil {
		if was.preparing() || was.status == ongoing {
			w.fail("%s was forgotten while %v", id, was.status)
		}
		delete(w.newest, id)
		return
	}
	v := kmsg.NewTxnMetadataValue()
	must(v.ReadFrom(r.Value))
	is, err := fromRecord(id, &v)
	must(err)
	w.newest[id] = &is
	if owner, ok := w.owner[is.producerID]; ok && owner != id {
		w.fail("producer %d belongs to %s and to %s", is.producerID, owner, id)
	}
	w.owner[is.producerID] = id
	if was == nil {
		return
	}
	if is.producerID == was.producerID && is.epoch < was.epoch {
		w.fail("the epoch of %s fell from %d to %d", id, was.epoch, is.epoch)
	}
	if was.preparing() {
		switch {
		case is.preparing(), is.commits() != was.commits():
			w.fail("%s became %v after %v", id, is.status, was.status)
		case len(was.topics) > 0 && !w.acked[Written{id, was.producerID, was.epoch}]:
			w.fail("%s is complete before its markers are written", id)
		}
	}
	if is.preparing() && is.clientVersion >= epochBump && is.epoch <= was.epoch && was.epoch != maxEpoch {
		w.fail("%s ended with epoch %d, not above %d", id, is.epoch, was.epoch)
	}
}

// reply learns from an answer, and checks that it may be given.
func (w *world) reply(r coordinator.Reply) {
	switch b := r.Body.(type) {
	case *kmsg.InitProducerIDResponse:
		if b.ErrorCode == 0 {
			w.tell(b.ProducerID, b.ProducerEpoch)
		}
	case *kmsg.EndTxnResponse:
		if b.ErrorCode != 0 {
			return
		}
		if err := w.decided[r.To]; err != nil {
			w.fail("ticket %d: %v", r.To, err)
		}
		if b.Version >= endEpochBump {
			w.tell(b.ProducerID, b.ProducerEpoch)
		}
	}
}

func (w *world) tell(id int64, epoch int16) {
	if epoch < 0 || epoch > lastEpoch {
		w.fail("a client was given epoch %d", epoch)
	}
	if w.owner[id] != "" {
		w.known = append(w.known, told{w.owner[id], producer{id, epoch}})
	}
}

func (w *world) fail(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

// client is one that a client may say it is, most often a recent one.
func (w *world) client(t *rapid.T) told {
	if n := len(w.known); n > 0 && rapid.IntRange(0, 9).Draw(t, "known") > 0 {
		c := w.known[rapid.IntRange(max(0, n-3), n-1).Draw(t, "client")]
		c.epoch += pick(t, "off", int16(0), 0, 0, 0, 0, -1, 1)
		return c
	}
	return told{pick(t, "id", "a", "b", "old", "worn", ""), producer{rapid.Int64Range(-1, 9).Draw(t, "pid"), pick(t, "epoch", int16(-1), 0, 1, lastEpoch, maxEpoch)}}
}

func (w *world) init(t *rapid.T) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = pick(t, "version", int16(0), 3, 4, 5)
	id := pick(t, "id", "a", "b", "old", "old", "worn", "")
	req.ProducerID, req.ProducerEpoch = noID, noEpoch
	if rapid.Bool().Draw(t, "again") {
		c := w.client(t)
		id, req.ProducerID, req.ProducerEpoch = c.id, c.producer.id, c.epoch
	}
	req.TransactionalID = &id
	req.TransactionTimeoutMillis = pick(t, "timeout", int32(60_000), 5_000, 900_000, 0, 900_001)
	w.ask(Request{Body: req})
}

func (w *world) add(t *rapid.T) {
	c := w.client(t)
	var in Add
	in.TransactionalID, in.ProducerID, in.ProducerEpoch = c.id, c.producer.id, c.epoch
	in.ClientVersion = pick(t, "tv", int16(0), epochBump)
	in.VerifyOnly = rapid.IntRange(0, 4).Draw(t, "verify") == 0
	for range rapid.IntRange(0, 2).Draw(t, "topics") {
		in.Topics = append(in.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{
			Topic: pick(t, "topic", "t", "u"), Partitions: rapid.SliceOfN(rapid.Int32Range(0, 3), 0, 3).Draw(t, "partitions"),
		})
	}
	w.ask(in)
	r, _ := w.machine.Replies[w.last].Body.(*kmsg.AddPartitionsToTxnResponseTransaction)
	if r == nil {
		return
	}
	e := w.newest[c.id]
	for _, rt := range r.Topics {
		for _, p := range rt.Partitions {
			if p.ErrorCode == 0 && (e == nil || e.status != ongoing || e.producerID != c.producer.id || e.epoch != c.epoch || !e.contains(rt.Topic, p.Partition)) {
				t.Fatalf("%s/%d is said to be in the transaction of %+v, and the log says %+v", rt.Topic, p.Partition, c, e)
			}
		}
	}
}

func (w *world) end(t *rapid.T) {
	c := w.client(t)
	req := kmsg.NewPtrEndTxnRequest()
	req.Version = pick(t, "version", int16(1), 4, 5, 5, 5)
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = c.id, c.producer.id, c.epoch
	req.Commit = rapid.Bool().Draw(t, "commit")
	w.ask(Request{Body: req})
	// The answer may come later; what it rests on is now, unless it waits for an id.
	s := w.machine.Shard().(*Shard)
	if slices.ContainsFunc(s.waiting, func(q question) bool { return q.ticket == w.last }) {
		return
	}
	if e := s.ids[c.id]; e == nil || e.status == empty || e.status == ongoing || e.commits() != req.Commit {
		w.decided[w.last] = fmt.Errorf("EndTxn commit=%v, and the id is now %v", req.Commit, e)
	}
}

// written says that markers are written, mostly of those that are owed.
func (w *world) written(t *rapid.T) {
	in := Written{TransactionalID: "a", ProducerID: 1000, Epoch: 0}
	if n := len(w.owed); n > 0 && rapid.IntRange(0, 9).Draw(t, "owed") > 0 {
		m := w.owed[rapid.IntRange(max(0, n-3), n-1).Draw(t, "which")]
		in = Written{m.TransactionalID, m.ProducerID, m.Epoch}
	}
	w.acked[in] = true
	w.ask(in)
}

func (w *world) ids(t *rapid.T) {
	if w.wants == 0 {
		return
	}
	w.wants = 0
	n := rapid.Int32Range(0, 3).Draw(t, "count")
	w.nextID += int64(n)
	w.ask(ProducerIDs{First: w.nextID - int64(n), Count: n})
}

func (w *world) tools(t *rapid.T) {
	if rapid.Bool().Draw(t, "describe") {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = []string{"a", "none", ""}
		w.ask(Request{Body: req})
		return
	}
	req := kmsg.NewPtrListTransactionsRequest()
	req.StateFilters = pick(t, "states", nil, []string{"Ongoing"}, []string{"?", "Empty"})
	req.Version, req.ProducerIDFilters = 2, pick(t, "producers", nil, []int64{7, 1000})
	req.TransactionalIDPattern = pick(t, "pattern", nil, new("o.*"), new(""), new("("))
	req.DurationFilterMillis = pick(t, "duration", int64(-1), 0, 1000)
	f, _, _ := NewFilter(req)
	w.ask(List{Filter: f})
}

func (w *world) failover(*rapid.T) {
	w.since, w.wants, w.owed = w.last, 0, nil
	w.do((*coordtest.Machine).Failover)
}

// refuse has the next append refused; what is done then must leave the hard state
// as it is.
func (w *world) refuse(t *rapid.T) {
	shard := w.machine.Shard().(*Shard)
	before, end := shard.hard(), w.machine.Log.End()
	w.do(func(m *coordtest.Machine) { m.Log.Fail(&coordinator.RefusedError{Err: errors.New("refused")}) })
	pick(t, "input", w.init, w.add, w.end, w.written, w.ids, w.tick)(t)
	w.do(func(m *coordtest.Machine) { m.Log.Fail(nil) })
	if w.machine.Log.End() == end && shard.hard() != before {
		t.Fatalf("nothing was written, and the hard state changed:\n%s\nwas\n%s", shard.hard(), before)
	}
}

func (w *world) tick(t *rapid.T) {
	d := pick(t, "time", time.Second, 10*time.Second, time.Minute, 20*time.Minute, 2*time.Hour)
	w.do(func(m *coordtest.Machine) { m.Tick(d) })
}

func (w *world) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"init": w.init, "add": w.add, "add more": w.add, "end": w.end, "end again": w.end,
		"written": w.written, "written again": w.written, "ids": w.ids, "tools": w.tools, "refuse": w.refuse,
		"tick": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "seldom") == 0 {
				w.tick(t)
			}
		},
		"failover": func(t *rapid.T) {
			if rapid.IntRange(0, 5).Draw(t, "seldom") == 0 {
				w.failover(t)
			}
		},
		"clock": func(t *rapid.T) {
			d := pick(t, "by", -10*time.Second, -time.Second, time.Minute)
			w.do(func(m *coordtest.Machine) { m.SetClock(d) })
		},
		"level": func(t *rapid.T) {
			level := rapid.Int16Range(0, 2).Draw(t, "level")
			w.do(func(*coordtest.Machine) { w.level = level })
		},
		"hold":    func(*rapid.T) { w.do(func(m *coordtest.Machine) { m.Log.Hold() }) },
		"release": func(*rapid.T) { w.release() },
		"":        w.check,
	}
}

func (w *world) release() {
	w.do(func(m *coordtest.Machine) {
		m.Log.Release()
		m.Commit()
	})
}

func (w *world) check(t *rapid.T) {
	shard := w.machine.Shard().(*Shard)
	if err := shard.check(); err != nil {
		t.Fatalf("%v\n%s", err, w.log.String())
	}
	if len(w.problems) > 0 {
		t.Fatalf("%v\n%s", w.problems, w.log.String())
	}
	if live, loaded := shard.hard(), w.machine.Replayed().(*Shard).hard(); live != loaded {
		t.Fatalf("live\n%s\nreplayed\n%s", live, loaded)
	}
}

// settle lets everything come to its end: ids are had, markers written, and open
// transactions outlive their timeouts.
func (w *world) settle(t *rapid.T) {
	w.release()
	for range 4 {
		w.wants = 0
		w.nextID += 100
		w.ask(ProducerIDs{First: w.nextID - 100, Count: 100})
		for _, m := range w.owed {
			in := Written{m.TransactionalID, m.ProducerID, m.Epoch}
			w.acked[in] = true
			w.ask(in)
		}
		w.owed = nil
		w.do(func(m *coordtest.Machine) { m.Tick(20 * time.Minute) })
	}
	w.check(t)
}

// TestWorld: whatever clients do, the shard does not panic, its invariants hold, its
// hard state is what its log says, a refused append changes none of it, no outcome
// is ever changed, everybody gets an answer in the end, no transaction stays open,
// and doing the same again comes to the same.
func TestWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(w.actions())
		w.settle(t)
		for ticket := w.since + 1; ticket <= w.last; ticket++ {
			if _, ok := w.machine.Replies[ticket]; !ok {
				t.Fatalf("ticket %d was never answered\n%s", ticket, w.log.String())
			}
		}
		for id, e := range w.machine.Shard().(*Shard).ids {
			if e.status == ongoing || e.preparing() {
				t.Fatalf("%s is %v in the end\n%s", id, e.status, w.log.String())
			}
		}
		var again strings.Builder
		m := w.newMachine()
		m.OnEvent = func(e coordtest.Event) { describeEvent(&again, e) }
		for _, op := range w.ops {
			op(m)
		}
		if again.String() != w.log.String() {
			t.Fatalf("the second run did\n%s, the first\n%s", again.String(), w.log.String())
		}
	})
}
