package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// asked is an input of a property test, and what is known about it.
type asked struct {
	in     any
	result result
	rests  int64 // The end of the log when it was taken.
}

// history drives one runtime with random events and holds it to its promises.
type history struct {
	t    *rapid.T
	rt   *coordinator.Runtime
	log  *coordtest.Log
	toy  *toy
	all  []*asked
	puts int
}

// TestHistories: whatever happens, nothing is answered before all that it rests
// on is committed, everything is answered once all is committed, a refused input
// leaves the state as it was, and the state is what the log says.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { inBubble(t, func() { runHistory(rt) }) })
}

// inBubble runs f in a bubble of its own. rapid ends a failing run by a panic,
// which must not end in the bubble's goroutine.
func inBubble(t *testing.T, f func()) {
	var failed any
	synctest.Test(t, func(*testing.T) {
		defer func() { failed = recover() }()
		f()
	})
	if failed != nil {
		panic(failed)
	}
}

func runHistory(rt *rapid.T) {
	h := &history{t: rt, log: coordtest.NewLog()}
	h.rt = coordinator.New(coordinator.Options{
		Name:     "toy",
		NewShard: func(int32) coordinator.Shard { h.toy = newToy(); return h.toy },
		Logger:   slog.New(slog.DiscardHandler),
	})
	defer h.rt.Close()
	h.rt.Elect(0, 1, h.log)
	synctest.Wait()
	h.log.Hold()
	rt.Repeat(map[string]func(*rapid.T){
		"put":    h.put,
		"get":    func(rt *rapid.T) { h.ask(get{key(rt)}) },
		"sleep":  func(rt *rapid.T) { h.ask(sleep{key(rt), time.Second}) },
		"tick":   func(*rapid.T) { time.Sleep(time.Second) },
		"commit": func(rt *rapid.T) { h.log.CommitTo(rapid.Int64Range(0, h.log.End()).Draw(rt, "to")) },
		"refuse": h.refuse,
		"break":  h.breakLog,
		"": func(*rapid.T) {
			synctest.Wait()
			h.check()
		},
	})
	h.log.Release()
	time.Sleep(time.Minute)
	synctest.Wait()
	h.atRest()
}

func key(rt *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "key") }

// ask takes an input to the shard; the shard has taken it when ask returns.
func (h *history) ask(in any) *asked {
	a := &asked{in: in}
	h.all = append(h.all, a)
	go func() {
		body, err := h.rt.Ask(context.Background(), 0, in)
		a.result = result{true, body, err}
	}()
	synctest.Wait()
	a.rests = h.log.End()
	return a
}

func (h *history) put(rt *rapid.T) {
	h.puts++
	h.ask(put{key(rt), fmt.Sprint(h.puts)})
}

func (h *history) refuse(rt *rapid.T) {
	before := maps.Clone(h.toy.values)
	why := errors.New("refused")
	h.log.Fail(&coordinator.RefusedError{Err: why})
	h.puts++
	a := h.ask(put{key(rt), "refused"})
	if a.result.done && !errors.Is(a.result.err, why) {
		rt.Fatalf("refused, and answered %+v", a.result)
	}
	if !maps.Equal(before, h.toy.values) {
		rt.Fatalf("a refused input made %v of %v", h.toy.values, before)
	}
}

func (h *history) breakLog(rt *rapid.T) {
	time.Sleep(2 * time.Hour) // So that it is not the second failure within one.
	synctest.Wait()
	fail := h.log.Fail
	if rapid.Bool().Draw(rt, "wrote") {
		fail = h.log.FailAfterWrite
	}
	fail(errors.New("broken"))
	h.puts++
	a := h.ask(put{key(rt), fmt.Sprint(h.puts)})
	if !errors.Is(a.result.err, coordinator.ErrUnavailable) {
		rt.Fatalf("the append broke, and the answer is %+v", a.result)
	}
	for _, a := range h.all {
		if !a.result.done {
			rt.Fatalf("%#v still waits after the shard was dropped", a.in)
		}
	}
}

func (h *history) check() {
	for _, a := range h.all {
		if a.result.done && a.result.err == nil && a.rests > h.log.Committed() {
			if _, asleep := a.in.(sleep); !asleep { // It rests on less: no promise broken.
				h.t.Fatalf("%#v answered at commit %d, rests on %d", a.in, h.log.Committed(), a.rests)
			}
		}
	}
	replayed := newToy()
	if err := coordtest.Replay(replayed, h.log); err != nil {
		h.t.Fatal(err)
	}
	if !maps.Equal(replayed.values, h.toy.values) {
		h.t.Fatalf("the shard holds %v, its log says %v", h.toy.values, replayed.values)
	}
}

// atRest is called when all is committed and no timer is left. A sleeper that
// another has replaced waits for ever: that is the toy's own doing.
func (h *history) atRest() {
	h.check()
	for _, a := range h.all {
		if _, asleep := a.in.(sleep); !asleep && !a.result.done {
			h.t.Fatalf("%#v was never answered", a.in)
		}
	}
	if told := h.toy.told; len(told) == 0 || told[len(told)-1] != h.log.End() {
		h.t.Fatalf("all is committed to %d, the shard was told %v", h.log.End(), told)
	}
}
