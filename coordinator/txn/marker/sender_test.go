package marker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/txn"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// rig is a Sender and the cluster around it.
type rig struct {
	t       *testing.T
	s       *Sender
	now     time.Time
	leaders map[partition]int32 // Of those that exist.
	wake    time.Time
}

func newRig(t *testing.T, cfg Config) *rig {
	r := &rig{t: t, now: start, leaders: make(map[partition]int32)}
	cfg.Leader = func(topic string, n int32) (int32, bool) {
		leader, ok := r.leaders[partition{topic, n}]
		return leader, ok
	}
	r.s = New(cfg)
	return r
}

// lead makes a broker the leader of a topic's first n partitions.
func (r *rig) lead(broker int32, topic string, n int32) {
	for p := range n {
		r.leaders[partition{topic, p}] = broker
	}
}

// step does a step and compares what it wants done.
func (r *rig) step(event any, want ...string) {
	r.t.Helper()
	eff := r.s.Step(r.now, event)
	r.wake = eff.Wake
	if err := r.s.check(); err != nil {
		r.t.Fatal(err)
	}
	if got := show(eff); !slices.Equal(got, want) {
		r.t.Fatalf("%T came to\n%s\nwant\n%s", event, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func show(eff Effects) (lines []string) {
	for _, q := range eff.Requests {
		s := fmt.Sprintf("request %d to %d:", q.ID, q.Broker)
		for _, m := range q.Body.Markers {
			s += fmt.Sprintf(" %d/%d commit=%v by %d v%d", m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch, m.TransactionVersion)
			for _, t := range m.Topics {
				s += fmt.Sprintf(" %s%v", t.Topic, t.Partitions)
			}
		}
		lines = append(lines, s)
	}
	for _, d := range eff.Done {
		lines = append(lines, fmt.Sprintf("done %d: %s %d/%d", d.Partition, d.Written.TransactionalID, d.Written.ProducerID, d.Written.Epoch))
	}
	return lines
}

// owed is what partition 3 of __transaction_state owes in an epoch.
func owed(epoch int32, id string, pid int64, topics ...txn.Topic) Owed {
	return Owed{3, epoch, txn.Markers{TransactionalID: id, ProducerID: pid, Epoch: 1, Commit: true, Version: 2, Topics: topics}}
}

// answer answers a request; each code is for one partition of one producer.
func answer(request uint64, codes map[marked]int16) Answered {
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	for m, code := range codes {
		rp := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
		rp.Partition, rp.ErrorCode = m.n, code
		resp.Markers = append(resp.Markers, kmsg.WriteTxnMarkersResponseMarker{
			ProducerID: m.producerID,
			Topics: []kmsg.WriteTxnMarkersResponseMarkerTopic{{
				Topic: m.topic, Partitions: []kmsg.WriteTxnMarkersResponseMarkerTopicPartition{rp},
			}},
		})
	}
	return Answered{request, resp}
}

func of(pid int64, topic string, n int32) marked { return marked{pid, partition{topic, n}} }

func TestMarkersGoToLeaders(t *testing.T) {
	r := newRig(t, Config{})
	r.lead(1, "t", 3)
	r.lead(2, "u", 1)
	r.leaders[partition{"t", 1}] = 2
	r.step(owed(7, "a", 100, txn.Topic{Name: "t", Partitions: []int32{0, 1, 2}}, txn.Topic{Name: "u", Partitions: []int32{0}}),
		"request 1 to 1: 100/1 commit=true by 7 v2 t[0 2]",
		"request 2 to 2: 100/1 commit=true by 7 v2 t[1] u[0]")
	r.step(answer(1, map[marked]int16{of(100, "t", 0): 0, of(100, "t", 2): 0}))
	r.step(answer(2, map[marked]int16{of(100, "t", 1): 0, of(100, "u", 0): 0}), "done 3: a 100/1")
	r.step(answer(2, nil)) // Once more: nothing.
}

func TestWhatFailsIsTriedAgain(t *testing.T) {
	for name, fail := range map[string]Answered{
		"no answer":           {1, nil},
		"an answer with less": answer(1, map[marked]int16{of(100, "t", 0): 0}),
		"not leader":          answer(1, map[marked]int16{of(100, "t", 0): 0, of(100, "t", 1): kerr.NotLeaderForPartition.Code}),
		"unknown topic":       answer(1, map[marked]int16{of(100, "t", 0): 0, of(100, "t", 1): kerr.UnknownTopicOrPartition.Code}),
		"too few replicas":    answer(1, map[marked]int16{of(100, "t", 0): 0, of(100, "t", 1): kerr.NotEnoughReplicasAfterAppend.Code}),
		"what nobody expects": answer(1, map[marked]int16{of(100, "t", 0): 0, of(100, "t", 1): kerr.UnknownServerError.Code}),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.lead(1, "t", 2)
			r.step(owed(7, "a", 100, txn.Topic{Name: "t", Partitions: []int32{0, 1}}), "request 1 to 1: 100/1 commit=true by 7 v2 t[0 1]")
			r.step(fail)
			if want := r.now.Add(100 * time.Millisecond); !r.wake.Equal(want) {
				t.Fatalf("wakes at %v, want %v", r.wake, want)
			}
			r.now = r.wake.Add(-1)
			r.step(Due{})
			r.now = r.wake
			if name == "no answer" {
				r.step(Due{}, "request 2 to 1: 100/1 commit=true by 7 v2 t[0 1]")
				r.step(answer(2, map[marked]int16{of(100, "t", 0): 0, of(100, "t", 1): 0}), "done 3: a 100/1")
				return
			}
			r.step(Due{}, "request 2 to 1: 100/1 commit=true by 7 v2 t[1]")
			r.step(answer(2, map[marked]int16{of(100, "t", 1): 0}), "done 3: a 100/1")
		})
	}
}

func TestLeaderMoves(t *testing.T) {
	r := newRig(t, Config{})
	r.lead(-1, "t", 1)
	r.step(owed(7, "a", 100, txn.Topic{Name: "t", Partitions: []int32{0}}))
	r.step(Moved{}) // Not this one.
	r.lead(4, "t", 1)
	r.step(Moved{}, "request 1 to 4: 100/1 commit=true by 7 v2 t[0]")
}

func TestDeletedTopic(t *testing.T) {
	r := newRig(t, Config{})
	r.step(owed(7, "a", 100, txn.Topic{Name: "gone", Partitions: []int32{0}}), "done 3: a 100/1")
	r.lead(1, "t", 1)
	r.lead(1, "u", 1)
	r.step(owed(7, "b", 101, txn.Topic{Name: "t", Partitions: []int32{0}}, txn.Topic{Name: "u", Partitions: []int32{0}}),
		"request 1 to 1: 101/1 commit=true by 7 v2 t[0] u[0]")
	delete(r.leaders, partition{"u", 0}) // While its marker is on the way.
	r.step(answer(1, map[marked]int16{of(101, "t", 0): 0, of(101, "u", 0): kerr.UnknownTopicOrPartition.Code}))
	r.step(Moved{}, "done 3: b 101/1")
}

// TestFenced: a marker that was turned away for good ends the sending of its
// transaction, and of that one alone.
func TestFenced(t *testing.T) {
	for _, code := range []int16{kerr.InvalidProducerEpoch.Code, kerr.TransactionCoordinatorFenced.Code} {
		r := newRig(t, Config{InFlight: 1})
		r.lead(1, "t", 2)
		both := txn.Topic{Name: "t", Partitions: []int32{0, 1}}
		r.step(owed(7, "z", 99, both), "request 1 to 1: 99/1 commit=true by 7 v2 t[0 1]")
		r.step(owed(7, "a", 100, both))
		r.step(owed(7, "b", 101, both))
		r.step(Answered{1, nil}, "request 2 to 1: 100/1 commit=true by 7 v2 t[0 1] 101/1 commit=true by 7 v2 t[0 1]")
		r.now = r.wake
		r.step(answer(2, map[marked]int16{of(100, "t", 0): 0, of(100, "t", 1): code, of(101, "t", 0): 0, of(101, "t", 1): 0}),
			"request 3 to 1: 99/1 commit=true by 7 v2 t[0 1]", "done 3: b 101/1")
		if r.s.Waiting() != 1 {
			t.Errorf("%d transactions wait, want z alone", r.s.Waiting())
		}
	}
}

// TestElections: a later election's markers take the place of an earlier one's,
// whose answers mean nothing any more.
func TestElections(t *testing.T) {
	r := newRig(t, Config{})
	r.lead(1, "t", 1)
	one := txn.Topic{Name: "t", Partitions: []int32{0}}
	r.step(owed(7, "a", 100, one), "request 1 to 1: 100/1 commit=true by 7 v2 t[0]")
	r.step(owed(9, "a", 100, one), "request 2 to 1: 100/1 commit=true by 9 v2 t[0]")
	r.step(owed(8, "a", 100, one))
	r.step(answer(1, map[marked]int16{of(100, "t", 0): 0}))
	r.step(Resigned{3, 8})
	r.step(Resigned{4, 9})
	r.step(answer(2, map[marked]int16{of(100, "t", 0): 0}), "done 3: a 100/1")

	r.step(owed(9, "b", 101, one), "request 3 to 1: 101/1 commit=true by 9 v2 t[0]")
	r.step(Resigned{3, 10})
	r.step(answer(3, map[marked]int16{of(101, "t", 0): 0}))
	if r.s.Waiting() != 0 {
		t.Errorf("%d transactions wait", r.s.Waiting())
	}
}

// TestLimits: requests hold as much as they may, and as many are on the way.
func TestLimits(t *testing.T) {
	r := newRig(t, Config{RequestPartitions: 3, InFlight: 2})
	r.lead(1, "t", 9)
	r.step(owed(7, "a", 100, txn.Topic{Name: "t", Partitions: []int32{0, 1, 2, 3, 4, 5, 6}}),
		"request 1 to 1: 100/1 commit=true by 7 v2 t[0 1 2]", "request 2 to 1: 100/1 commit=true by 7 v2 t[3 4 5]")
	r.step(owed(7, "b", 101, txn.Topic{Name: "t", Partitions: []int32{0, 1, 2}}))
	r.step(answer(2, map[marked]int16{of(100, "t", 3): 0, of(100, "t", 4): 0, of(100, "t", 5): 0}),
		"request 3 to 1: 100/1 commit=true by 7 v2 t[6] 101/1 commit=true by 7 v2 t[0 1]")
	r.step(answer(3, map[marked]int16{of(100, "t", 6): 0, of(101, "t", 0): 0, of(101, "t", 1): 0}),
		"request 4 to 1: 101/1 commit=true by 7 v2 t[2]")
	r.step(answer(1, map[marked]int16{of(100, "t", 0): 0, of(100, "t", 1): 0, of(100, "t", 2): 0}), "done 3: a 100/1")
	r.step(answer(4, map[marked]int16{of(101, "t", 2): 0}), "done 3: b 101/1")
}
