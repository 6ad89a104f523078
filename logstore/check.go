//go:build invariants

package logstore

import "fmt"

// check panics if an invariant of Log does not hold; see doc.go.
func (l *Log) check() {
	st := l.state.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert := func(ok bool, format string, args ...any) {
		if !ok {
			panic("BUG: log " + l.Dir() + ": " + fmt.Sprintf(format, args...))
		}
	}
	assert(len(st.segments) > 0, "no segment")
	assert(st.start <= st.stable.Offset && st.stable.Offset <= st.hw.Offset && st.hw.Offset <= st.end.Offset,
		"start %d, stable %d, high watermark %d, end %d", st.start, st.stable.Offset, st.hw.Offset, st.end.Offset)
	assert(st.segments[0].Base() <= st.start || len(st.segments) == 1, "first segment %d, start %d", st.segments[0].Base(), st.start)
	for i := 1; i < len(st.segments); i++ {
		assert(st.segments[i-1].Base() < st.segments[i].Base(), "segment %d before %d", st.segments[i-1].Base(), st.segments[i].Base())
	}
	active := st.active()
	assert(st.end.Segment <= active.Base(), "end in segment %d, active is %d", st.end.Segment, active.Base())
	for i := 1; i < len(l.mu.epochs); i++ {
		a, b := l.mu.epochs[i-1], l.mu.epochs[i]
		assert(a.Epoch < b.Epoch && a.Start < b.Start, "epochs %v", l.mu.epochs)
	}
	for i := 1; i < len(l.mu.recent.batches); i++ {
		assert(l.mu.recent.batches[i-1].next <= l.mu.recent.batches[i].Offset, "recent batches %v", l.mu.recent.batches)
	}
}
