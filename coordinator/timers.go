package coordinator

import (
	"container/heap"
	"time"
)

// timers holds what a shard wants to be woken for. The owner of the shard only.
// Timers due at the same time go off in the order in which they were set, so that
// a shard sees the same in every run.
type timers struct {
	byKey map[any]*timer
	heap  timerHeap
	seq   uint64
}

type timer struct {
	key   any
	at    time.Time
	seq   uint64
	index int // Within the heap.
}

// set moves the timer of a key, or cancels it if at is zero.
func (ts *timers) set(key any, at time.Time) {
	t, ok := ts.byKey[key]
	switch {
	case at.IsZero() && ok:
		heap.Remove(&ts.heap, t.index)
		delete(ts.byKey, key)
	case at.IsZero():
	case ok:
		ts.seq++
		t.at, t.seq = at, ts.seq
		heap.Fix(&ts.heap, t.index)
	default:
		if ts.byKey == nil {
			ts.byKey = make(map[any]*timer)
		}
		ts.seq++
		t = &timer{key: key, at: at, seq: ts.seq}
		ts.byKey[key] = t
		heap.Push(&ts.heap, t)
	}
}

// pop takes the next timer that is due.
func (ts *timers) pop(now time.Time) (key any, ok bool) {
	at, ok := ts.next()
	if !ok || at.After(now) {
		return nil, false
	}
	t := heap.Pop(&ts.heap).(*timer)
	delete(ts.byKey, t.key)
	return t.key, true
}

// next says when the next timer is due.
func (ts *timers) next() (time.Time, bool) {
	if len(ts.heap) == 0 {
		return time.Time{}, false
	}
	return ts.heap[0].at, true
}

// timerHeap implements heap.Interface.
type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].seq < h[j].seq
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
