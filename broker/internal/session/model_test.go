package session

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The model is Kafka's way: a session is a list of partitions, each poll reads
// all of them in order, those that gave records move to the end. Ours reads only
// what is ready; both must answer the same.
type model struct {
	list []*modelPart
}

type modelPart struct {
	n         int32
	want      int64
	hw, start int64
}

// world is what the partitions hold.
type world struct {
	end, start [6]int64
	failed     [6]bool
}

func (w *world) read(n int32, offset int64, limit int) Result {
	if w.failed[n] {
		return Result{HighWatermark: -1, LogStart: -1, Failed: true}
	}
	have := int(max(0, w.end[n]-offset))
	return Result{Bytes: min(have, limit), HighWatermark: w.end[n], LogStart: w.start[n], More: have > limit}
}

// poll reads all in order, up to limit bytes in total, and returns what the
// answer contains.
func (m *model) poll(w *world, limit int) (included []int32) {
	for _, p := range slices.Clone(m.list) {
		r := w.read(p.n, p.want, limit)
		limit -= r.Bytes
		if r.Bytes == 0 && !r.Failed && r.HighWatermark == p.hw && r.LogStart == p.start {
			continue
		}
		included = append(included, p.n)
		p.hw, p.start = r.HighWatermark, r.LogStart
		if r.Bytes > 0 {
			i := slices.Index(m.list, p)
			m.list = append(slices.Delete(m.list, i, i+1), p)
		}
	}
	return included
}

func (m *model) update(parts []Part, forgotten []Key) {
	for _, p := range parts {
		i := slices.IndexFunc(m.list, func(x *modelPart) bool { return x.n == p.Key.Partition })
		if i < 0 {
			i = len(m.list)
			m.list = append(m.list, &modelPart{n: p.Key.Partition, hw: -1, start: -1})
		}
		m.list[i].want = p.Offset
	}
	m.list = slices.DeleteFunc(m.list, func(x *modelPart) bool {
		return slices.ContainsFunc(forgotten, func(k Key) bool { return k.Partition == x.n })
	})
}

// change lets something happen to a partition, and reports it to the session if
// that has the partition.
func (w *world) change(t *rapid.T, s *Session) {
	n := rapid.Int32Range(0, 5).Draw(t, "partition")
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0, 1:
		w.end[n] += rapid.Int64Range(1, 5).Draw(t, "grow")
	case 2:
		w.start[n] = rapid.Int64Range(w.start[n], w.end[n]).Draw(t, "start")
	case 3:
		w.failed[n] = !w.failed[n]
	}
	for e := range s.Entries() {
		if e.Partition == n {
			s.Ready(e)
		}
	}
}

func TestSessionIsKafkas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, m, c := &world{}, &model{}, NewCache(Config{})
		p, _ := c.Begin(t0, Fetch{Parts: []Part{part("t", 0, 0), part("t", 1, 0), part("t", 2, 0)}})
		for _, a := range p.Asks() {
			p.Include(a.Entry, w.read(a.Key.Partition, a.Want.Offset, 0))
			m.list = append(m.list, &modelPart{n: a.Key.Partition})
		}
		id, _ := p.Done(t0, rng)
		epoch := FirstEpoch
		for range rapid.IntRange(1, 40).Draw(t, "polls") {
			for range rapid.IntRange(0, 4).Draw(t, "changes") {
				w.change(t, p.Session)
			}
			parts, forgotten := drawChanges(t, w)
			epoch = nextEpoch(epoch)
			next, err := c.Begin(t0, Fetch{SessionID: id, Epoch: epoch, Parts: parts, Forgotten: forgotten})
			if err != nil {
				t.Fatal(err)
			}
			m.update(parts, forgotten)
			if len(m.list) == 0 {
				if len(next.Closed) != 1 {
					t.Fatal("empty, and not closed")
				}
				return
			}
			p = next
			limit := rapid.IntRange(0, 12).Draw(t, "limit")
			want := m.poll(w, limit)
			var got []int32
			for _, a := range p.Asks() {
				r := w.read(a.Key.Partition, a.Want.Offset, limit)
				limit -= r.Bytes
				if p.Include(a.Entry, r) {
					got = append(got, a.Key.Partition)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("answer has %v, Kafka's %v", got, want)
			}
			if _, err := p.Done(t0, rng); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// drawChanges is what a request changes: partitions that it goes on with, adds or
// drops.
func drawChanges(t *rapid.T, w *world) (parts []Part, forgotten []Key) {
	for n := range int32(6) {
		switch rapid.IntRange(0, 9).Draw(t, "request") {
		case 0, 1:
			parts = append(parts, part("t", n, rapid.Int64Range(0, w.end[n]).Draw(t, "offset")))
		case 2:
			forgotten = append(forgotten, key("t", n))
		}
	}
	return parts, forgotten
}
