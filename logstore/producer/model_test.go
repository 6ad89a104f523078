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

// world is a State beside its model; both see the same.
type world struct {
	s   *State
	h   history
	end int64
}

// TestStateAgainstHistory drives a State with what clients, coordinators and
// restarts do to it, and compares it with the model after every step.
func TestStateAgainstHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{s: New(expiry)}
		t.Repeat(map[string]func(*rapid.T){
			"client":  w.client,
			"replica": w.replica,
			"marker":  w.marker,
			"plain":   func(t *rapid.T) { w.apply(t, event{head: head{pid: -1, epoch: -1, seq: -1, count: 2}}) },
			"restart": w.restart,
			"high watermark": func(t *rapid.T) {
				w.h.hw = max(w.h.hw, rapid.Int64Range(0, w.end).Draw(t, "hw"))
				w.s.OnHighWatermark(w.h.hw)
			},
			"": w.compare,
		})
	})
}

func (w *world) compare(t *rapid.T) {
	if err := w.s.check(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.h.entries(), w.s.Entries()); diff != "" {
		t.Fatalf("entries (-want +got):\n%s", diff)
	}
	got, ok := w.s.FirstUnstable()
	if !ok {
		got = -1
	}
	if got != w.h.firstUnstable() || w.s.MapEnd() != w.end {
		t.Fatalf("first unstable %d, want %d; map end %d, want %d", got, w.h.firstUnstable(), w.s.MapEnd(), w.end)
	}
}

// apply appends an event to both and compares the transaction that it completes.
func (w *world) apply(t *rapid.T, e event) {
	e.offset, e.ts = w.end, w.end*10
	w.end = e.last() + 1
	var m *Marker
	if e.control {
		m = &Marker{Abort: e.abort, CoordinatorEpoch: e.coordinator}
	}
	before := w.h.open(e.pid)
	w.h.events = append(w.h.events, e)
	done := w.s.Apply(e.batch(), m)
	if (done != nil) != (e.control && before >= 0) {
		t.Fatalf("completed %+v, open since %d", done, before)
	}
	if done == nil {
		return
	}
	stable := w.end
	for _, o := range slices.Backward(w.h.txns()) {
		if o.marker < 0 {
			stable = o.first
		}
	}
	want := Txn{ProducerID: e.pid, First: before, Last: e.offset, Aborted: e.abort, LastStable: stable}
	if diff := cmp.Diff(want, *done); diff != "" {
		t.Fatalf("completed (-want +got):\n%s", diff)
	}
}

// draw makes a batch near what a producer may send, right or a little wrong.
func (w *world) draw(t *rapid.T) event {
	pid := rapid.Int64Range(0, 3).Draw(t, "pid")
	window := w.h.window(pid)
	next := int32(math.MaxInt32 - 5)
	if len(window) > 0 {
		next = seqPlus(window[len(window)-1].lastSeq(), 1)
	} else if w.h.epoch(pid) >= 0 {
		next = 0
	}
	epoch := max(0, w.h.epoch(pid))
	switch twist := rapid.IntRange(0, 7).Draw(t, "twist"); {
	case twist == 0:
		next = max(0, next+rapid.Int32Range(-6, 1).Draw(t, "shift"))
	case twist == 1:
		epoch, next = epoch+1, 0
	case twist == 2:
		epoch = max(0, epoch-1)
	case twist == 3 && len(window) > 0:
		again := window[rapid.IntRange(0, len(window)-1).Draw(t, "which")]
		return event{head: head{pid: pid, epoch: again.epoch, seq: again.seq, count: again.count, txn: again.txn}}
	}
	txn := w.h.open(pid) >= 0
	if rapid.IntRange(0, 3).Draw(t, "flip") == 0 {
		txn = !txn
	}
	return event{head: head{pid: pid, epoch: epoch, seq: next, count: rapid.Int32Range(1, 3).Draw(t, "count"), txn: txn}}
}

func (w *world) client(t *rapid.T) {
	e := w.draw(t)
	want := w.h.verdict(e)
	v, err := w.s.Check(e.batch(), Client, Trusted)
	if got := verdictOf(v, err); got != want {
		t.Fatalf("%+v: %s, want %s", e, got, want)
	}
	if want == "ok" {
		w.apply(t, e)
	}
}

func (w *world) replica(t *rapid.T) {
	e := w.draw(t)
	if got := verdictOf(w.s.Check(e.batch(), Replica, Trusted)); got != "ok" {
		t.Fatalf("%+v: %s", e, got)
	}
	w.apply(t, e)
}

func (w *world) marker(t *rapid.T) {
	pid := rapid.Int64Range(0, 3).Draw(t, "pid")
	e := event{
		head:        head{pid: pid, epoch: max(0, w.h.epoch(pid)+rapid.Int16Range(-1, 1).Draw(t, "epoch")), control: true},
		abort:       rapid.Bool().Draw(t, "abort"),
		coordinator: max(0, w.h.coordinator(pid)+rapid.Int32Range(-1, 1).Draw(t, "coordinator")),
	}
	version := rapid.Int16Range(0, 2).Draw(t, "version")
	want := w.h.markerVerdict(e, version)
	err := w.s.CheckMarker(e.batch(), Marker{Abort: e.abort, CoordinatorEpoch: e.coordinator}, Coordinator, version)
	if got := verdictOf(Verdict{}, err); got != want {
		t.Fatalf("%+v, version %d: %s, want %s", e, version, got, want)
	}
	if want == "ok" {
		w.apply(t, e)
	}
}

// restart loads the state from a snapshot of itself.
func (w *world) restart(t *rapid.T) {
	entries, err := Decode(w.s.Encode())
	if err != nil {
		t.Fatal(err)
	}
	w.s.Load(entries, w.end, 0)
	w.h.loaded = len(w.h.events)
}
