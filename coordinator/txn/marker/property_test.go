package marker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/coordinator/txn"
)

// world is a cluster that answers a Sender at random.
type world struct {
	s        *Sender
	now      time.Time
	leaders  map[partition]int32
	requests []Request
	written  map[marked]bool           // By producer id, which no two transactions share.
	open     map[int64]map[marked]bool // What each transaction that is not done owes.
	epoch    int32                     // That of the coordinator.
	log      strings.Builder           // What happened.
	wake     time.Time
	nextPID  int64
	t        *rapid.T
}

func newWorld(t *rapid.T) *world {
	w := &world{
		t: t, now: start, leaders: make(map[partition]int32), written: make(map[marked]bool),
		open: make(map[int64]map[marked]bool), epoch: 1,
	}
	w.s = w.newSender()
	for _, topic := range []string{"t", "u"} {
		for n := range int32(3) {
			w.leaders[partition{topic, n}] = n % 2
		}
	}
	return w
}

func (w *world) newSender() *Sender {
	return New(Config{RequestPartitions: 3, InFlight: 2, Leader: func(topic string, n int32) (int32, bool) {
		leader, ok := w.leaders[partition{topic, n}]
		return leader, ok
	}})
}

func (w *world) step(event any) {
	for _, owes := range w.open { // What is gone once need not be written, even if it comes again.
		for m := range owes {
			if _, exists := w.leaders[m.partition]; !exists {
				w.written[m] = true
			}
		}
	}
	eff := w.s.Step(w.now, event)
	fmt.Fprintf(&w.log, "%T: %s\n", event, strings.Join(show(eff), "; "))
	if err := w.s.check(); err != nil {
		w.t.Fatalf("%v\n%s", err, w.log.String())
	}
	w.requests, w.wake = append(w.requests, eff.Requests...), eff.Wake
	for _, d := range eff.Done {
		owes, ok := w.open[d.Written.ProducerID]
		if !ok {
			w.t.Fatalf("%v is done twice, or was never owed\n%s", d, w.log.String())
		}
		for m := range owes {
			if !w.written[m] {
				w.t.Fatalf("%v is done without %v\n%s", d, m, w.log.String())
			}
		}
		delete(w.open, d.Written.ProducerID)
	}
}

func (w *world) owe(t *rapid.T) {
	pid := w.nextPID
	w.nextPID++
	m := txn.Markers{TransactionalID: fmt.Sprint("id", pid), ProducerID: pid}
	owes := make(map[marked]bool)
	for _, topic := range []string{"t", "u"} {
		parts := rapid.SliceOfNDistinct(rapid.Int32Range(0, 3), 1, 3, rapid.ID[int32]).Draw(t, topic)
		m.Topics = append(m.Topics, txn.Topic{Name: topic, Partitions: parts})
		for _, n := range parts {
			owes[of(pid, topic, n)] = true
		}
	}
	w.open[pid] = owes
	w.step(Owed{0, w.epoch, m})
}

// answer answers some request, or not.
func (w *world) answer(t *rapid.T) {
	if len(w.requests) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.requests)-1).Draw(t, "request")
	q := w.requests[i]
	w.requests = append(w.requests[:i:i], w.requests[i+1:]...)
	silent := rapid.IntRange(0, 5).Draw(t, "silent") == 0
	codes := make(map[marked]int16)
	for _, m := range q.Body.Markers {
		for _, topic := range m.Topics {
			for _, n := range topic.Partitions {
				k := of(m.ProducerID, topic.Topic, n)
				codes[k] = rapid.SampledFrom([]int16{0, 0, 0, 0, kerr.NotLeaderForPartition.Code, kerr.UnknownTopicOrPartition.Code, kerr.InvalidProducerEpoch.Code}).Draw(t, "code")
				if codes[k] == 0 {
					w.written[k] = true
				}
			}
		}
	}
	if silent {
		w.step(Answered{Request: q.ID})
		return
	}
	w.step(answer(q.ID, codes))
}

// reelect makes the coordinator start again and owe all that is not done.
func (w *world) reelect(*rapid.T) {
	w.step(Resigned{0, w.epoch})
	w.epoch++
	for pid := range w.nextPID {
		if owes := w.open[pid]; owes != nil {
			m := txn.Markers{TransactionalID: fmt.Sprint("id", pid), ProducerID: pid}
			for _, topic := range []string{"t", "u"} {
				tp := txn.Topic{Name: topic}
				for n := range int32(4) {
					if owes[of(pid, topic, n)] {
						tp.Partitions = append(tp.Partitions, n)
					}
				}
				m.Topics = append(m.Topics, tp)
			}
			w.step(Owed{0, w.epoch, m})
		}
	}
}

func (w *world) move(t *rapid.T) {
	p := partition{rapid.SampledFrom([]string{"t", "u"}).Draw(t, "topic"), rapid.Int32Range(0, 3).Draw(t, "n")}
	if to := rapid.Int32Range(-2, 2).Draw(t, "leader"); to == -2 {
		delete(w.leaders, p)
	} else {
		w.leaders[p] = to
	}
	w.step(Moved{})
}

func (w *world) due(*rapid.T) {
	if !w.wake.IsZero() {
		w.now = w.wake
		w.step(Due{})
	}
}

// TestWorld: whatever brokers answer, each transaction is done once, when all its
// markers are written or its partitions are gone, and none is forgotten.
func TestWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"owe": w.owe, "answer": w.answer, "answer more": w.answer, "move": w.move, "due": w.due,
			"reelect": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "seldom") == 0 {
					w.reelect(t)
				}
			},
		})
		for p, leader := range w.leaders {
			w.leaders[p] = max(leader, 0)
		}
		w.step(Moved{})
		w.reelect(t) // What was turned away is sent again.
		for range 1000 {
			if len(w.requests) == 0 && w.wake.IsZero() {
				break
			}
			if len(w.requests) == 0 {
				w.due(t)
				continue
			}
			q := w.requests[0]
			w.requests = w.requests[1:]
			codes := make(map[marked]int16)
			for _, m := range q.Body.Markers {
				for _, topic := range m.Topics {
					for _, n := range topic.Partitions {
						codes[of(m.ProducerID, topic.Topic, n)] = 0
						w.written[of(m.ProducerID, topic.Topic, n)] = true
					}
				}
			}
			w.step(answer(q.ID, codes))
		}
		if len(w.open) > 0 || w.s.Waiting() > 0 {
			t.Fatalf("%d transactions are not done\n%s", len(w.open), w.log.String())
		}
	})
}
