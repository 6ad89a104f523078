package producer

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// history is the naive model of a State: all that was ever appended. Every answer
// is worked out from it anew, by reading it from front to back.
type history struct {
	events []event
	hw     int64
	loaded int // Events before this one were seen through a snapshot.
}

type event struct {
	head
	abort       bool
	coordinator int32
}

func (e event) last() int64 { return e.offset + int64(max(e.count, 1)) - 1 }

func (e event) lastSeq() int32 { return seqPlus(e.seq, max(e.count, 1)-1) }

// seqPlus counts one by one: after the largest sequence comes 0.
func seqPlus(seq, n int32) int32 {
	for range n {
		if seq == math.MaxInt32 {
			seq = 0
		} else {
			seq++
		}
	}
	return seq
}

// of lists the events of one producer.
func (h *history) of(pid int64) (list []event) {
	for _, e := range h.events {
		if e.pid == pid {
			list = append(list, e)
		}
	}
	return list
}

// window is the batches of the producer that a duplicate may match, oldest first.
func (h *history) window(pid int64) (list []event) {
	epoch := int16(-1)
	for i, e := range h.events {
		if e.pid != pid {
			continue
		}
		if e.epoch != epoch {
			epoch, list = e.epoch, nil
		}
		if !e.control {
			list = append(list, e)
		}
		keep := 5
		if i < h.loaded {
			keep = 1
		}
		list = list[max(0, len(list)-keep):]
	}
	return list
}

type span struct {
	first, marker int64 // marker -1: open.
	pid           int64
	seenDecided   bool // Before the last load: no longer held back by the high watermark.
}

// txns lists all transactions there ever were, by first offset.
func (h *history) txns() (list []span) {
	for i, e := range h.events {
		open := slices.IndexFunc(list, func(s span) bool { return s.pid == e.pid && s.marker < 0 })
		switch {
		case e.control && open >= 0:
			list[open].marker = e.offset
			list[open].seenDecided = i < h.loaded
		case !e.control && e.txn && open < 0:
			list = append(list, span{first: e.offset, marker: -1, pid: e.pid})
		}
	}
	return list
}

func (h *history) open(pid int64) int64 {
	for _, s := range h.txns() {
		if s.pid == pid && s.marker < 0 {
			return s.first
		}
	}
	return -1
}

func (h *history) firstUnstable() int64 {
	for _, s := range h.txns() {
		if s.marker < 0 || (s.marker >= h.hw && !s.seenDecided) {
			return s.first
		}
	}
	return -1
}

func (h *history) epoch(pid int64) int16 {
	if list := h.of(pid); len(list) > 0 {
		return list[len(list)-1].epoch
	}
	return -1
}

func (h *history) coordinator(pid int64) int32 {
	for _, e := range slices.Backward(h.of(pid)) {
		if e.control {
			return e.coordinator
		}
	}
	return -1
}

// verdict is what Check must say of a client's batch: "ok", "duplicate of" an
// offset, or the kind of error.
func (h *history) verdict(e event) string {
	if len(h.of(e.pid)) == 0 {
		return "ok"
	}
	window := h.window(e.pid)
	for _, w := range window {
		if w.epoch == e.epoch && w.seq == e.seq && w.lastSeq() == e.lastSeq() {
			return "duplicate"
		}
	}
	next := int32(0)
	if h.epoch(e.pid) == e.epoch && len(window) > 0 {
		next = seqPlus(window[len(window)-1].lastSeq(), 1)
	}
	switch {
	case e.epoch < h.epoch(e.pid):
		return "epoch"
	case e.seq != next:
		return "sequence"
	case h.open(e.pid) >= 0 && !e.txn:
		return "transaction"
	}
	return "ok"
}

func (h *history) markerVerdict(e event, version int16) string {
	epoch := h.epoch(e.pid)
	again := e.epoch == epoch && h.open(e.pid) < 0
	switch {
	case e.epoch < epoch, version == 2 && e.epoch == epoch && !again:
		return "epoch"
	case e.coordinator < h.coordinator(e.pid):
		return "coordinator"
	}
	return "ok"
}

func verdictOf(v Verdict, err error) string {
	switch {
	case errors.As(err, new(*EpochError)):
		return "epoch"
	case errors.As(err, new(*SequenceError)):
		return "sequence"
	case errors.As(err, new(*TxnStateError)):
		return "transaction"
	case errors.As(err, new(*CoordinatorFencedError)):
		return "coordinator"
	case err != nil:
		return err.Error()
	case v.Duplicate:
		return "duplicate"
	}
	return "ok"
}

// entries is what Entries must say.
func (h *history) entries() []Entry {
	list := []Entry{}
	for pid := range int64(4) {
		events := h.of(pid)
		if len(events) == 0 {
			continue
		}
		e := Entry{
			ProducerID: pid, Epoch: h.epoch(pid), LastSequence: -1, LastOffset: -1,
			TimestampMs: events[len(events)-1].ts, CoordinatorEpoch: h.coordinator(pid), TxnFirst: h.open(pid),
		}
		if w := h.window(pid); len(w) > 0 {
			last := w[len(w)-1]
			e.LastSequence, e.LastOffset, e.OffsetDelta = last.lastSeq(), last.last(), max(last.count, 1)-1
		}
		list = append(list, e)
	}
	return list
}

// TestStateAgainstHistory drives a State with what clients, coordinators and
// restarts do to it, and compares it with the model after every step.
func TestStateAgainstHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, h := New(expiry), &history{}
		end := int64(0)
		pids := rapid.Int64Range(0, 3)
		apply := func(t *rapid.T, e event) {
			e.offset, e.ts = end, end*10
			end = e.last() + 1
			var m *Marker
			if e.control {
				m = &Marker{Abort: e.abort, CoordinatorEpoch: e.coordinator}
			}
			before := h.open(e.pid)
			h.events = append(h.events, e)
			done := s.Apply(e.batch(), m)
			if (done != nil) != (e.control && before >= 0) {
				t.Fatalf("completed %+v, open since %d", done, before)
			}
			if done != nil {
				stable := end
				for _, o := range slices.Backward(h.txns()) {
					if o.marker < 0 {
						stable = o.first
					}
				}
				want := Txn{ProducerID: e.pid, First: before, Last: e.offset, Aborted: e.abort, LastStable: stable}
				if diff := cmp.Diff(want, *done); diff != "" {
					t.Fatalf("completed (-want +got):\n%s", diff)
				}
			}
		}
		// A batch near what the producer may send, right or a little wrong.
		draw := func(t *rapid.T) event {
			pid := pids.Draw(t, "pid")
			next := int32(math.MaxInt32 - 5)
			if w := h.window(pid); len(w) > 0 {
				next = seqPlus(w[len(w)-1].lastSeq(), 1)
			} else if h.epoch(pid) >= 0 {
				next = 0
			}
			epoch := max(0, h.epoch(pid))
			switch rapid.IntRange(0, 7).Draw(t, "twist") {
			case 0:
				next = max(0, next+rapid.Int32Range(-6, 1).Draw(t, "shift"))
			case 1:
				epoch, next = epoch+1, 0
			case 2:
				epoch = max(0, epoch-1)
			case 3:
				if w := h.window(pid); len(w) > 0 {
					again := w[rapid.IntRange(0, len(w)-1).Draw(t, "which")]
					return event{head: head{pid: pid, epoch: again.epoch, seq: again.seq, count: again.count, txn: again.txn}}
				}
			}
			txn := h.open(pid) >= 0
			if rapid.IntRange(0, 3).Draw(t, "flip") == 0 {
				txn = !txn
			}
			return event{head: head{pid: pid, epoch: epoch, seq: next, count: rapid.Int32Range(1, 3).Draw(t, "count"), txn: txn}}
		}
		t.Repeat(map[string]func(*rapid.T){
			"client": func(t *rapid.T) {
				e := draw(t)
				want := h.verdict(e)
				v, err := s.Check(e.batch(), Client, 0)
				if got := verdictOf(v, err); got != want {
					t.Fatalf("%+v: %s, want %s", e, got, want)
				}
				if want == "ok" {
					apply(t, e)
				}
			},
			"replica": func(t *rapid.T) {
				e := draw(t)
				if got := verdictOf(s.Check(e.batch(), Replica, 0)); got != "ok" {
					t.Fatalf("%+v: %s", e, got)
				}
				apply(t, e)
			},
			"marker": func(t *rapid.T) {
				pid := pids.Draw(t, "pid")
				e := event{
					head:        head{pid: pid, epoch: max(0, h.epoch(pid)+rapid.Int16Range(-1, 1).Draw(t, "epoch")), control: true},
					abort:       rapid.Bool().Draw(t, "abort"),
					coordinator: max(0, h.coordinator(pid)+rapid.Int32Range(-1, 1).Draw(t, "coordinator")),
				}
				version := rapid.Int16Range(0, 2).Draw(t, "version")
				want := h.markerVerdict(e, version)
				err := s.CheckMarker(e.batch(), Marker{Abort: e.abort, CoordinatorEpoch: e.coordinator}, Coordinator, version)
				if got := verdictOf(Verdict{}, err); got != want {
					t.Fatalf("%+v, version %d: %s, want %s", e, version, got, want)
				}
				if want == "ok" {
					apply(t, e)
				}
			},
			"plain": func(t *rapid.T) { apply(t, event{head: head{pid: -1, epoch: -1, seq: -1, count: 2}}) },
			"high watermark": func(t *rapid.T) {
				h.hw = max(h.hw, rapid.Int64Range(0, end).Draw(t, "hw"))
				s.OnHighWatermark(h.hw)
			},
			"restart": func(t *rapid.T) {
				entries, err := Decode(s.Encode())
				if err != nil {
					t.Fatal(err)
				}
				s.Load(entries, end, 0)
				h.loaded = len(h.events)
			},
			"": func(t *rapid.T) {
				if err := s.check(); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(h.entries(), s.Entries()); diff != "" {
					t.Fatalf("entries (-want +got):\n%s", diff)
				}
				got, ok := s.FirstUnstable()
				if !ok {
					got = -1
				}
				if got != h.firstUnstable() || s.MapEnd() != end {
					t.Fatalf("first unstable %d, want %d; map end %d, want %d", got, h.firstUnstable(), s.MapEnd(), end)
				}
			},
		})
	})
}
