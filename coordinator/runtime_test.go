package coordinator_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// bubble runs a test in a synctest bubble: it fails if a goroutine outlives it,
// so a test that does not close its runtime shows that idle shards have none.
func bubble(t *testing.T, f func(*testing.T, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t)) })
}

func TestAsk(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.fails(get{"a"}, coordinator.ErrNotCoordinator)
		r.elect()
		if got := r.ask(put{"a", "1"}); got != "1" {
			t.Errorf("put answered %v", got)
		}
		if got := r.ask(get{"a"}); got != "1" {
			t.Errorf("get answered %v", got)
		}
	})
}

// TestReadsWaitToo: an answer that rests on records which may still be lost must
// not be given, and a read rests on all that came before it.
func TestReadsWaitToo(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		r.log.Hold()
		write, read := r.begin(t.Context(), put{"a", "1"}), (*result)(nil)
		synctest.Wait()
		read = r.begin(t.Context(), get{"a"})
		synctest.Wait()
		if write.done || read.done {
			t.Fatalf("answered before the commit: write %v, read %v", *write, *read)
		}
		r.log.Commit()
		synctest.Wait()
		if !write.done || !read.done || read.body != "1" {
			t.Errorf("after the commit: write %v, read %v", *write, *read)
		}
	})
}

// TestSends: what a shard sends leaves once it is committed, and not at all when
// the election ends before that.
func TestSends(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		r.log.Hold()
		r.begin(t.Context(), notify{"a", "1"})
		synctest.Wait()
		if len(r.sent) != 0 {
			t.Fatalf("sent %v before the commit", r.sent)
		}
		r.log.Commit()
		synctest.Wait()
		r.begin(t.Context(), notify{"a", "2"})
		synctest.Wait()
		r.prep = func(s *toy) { s.owed = []any{"again"} }
		r.rt.Elect(0, 2, r.log)
		r.log.Release()
		r.ready()
		synctest.Wait()
		if want := []string{"0/1 1", "0/2 again"}; !slices.Equal(r.sent, want) {
			t.Errorf("sent %v, want %v", r.sent, want)
		}
	})
}

// TestTransactions: what is written in a transaction counts when its marker says
// so, now and after the next load; a marker that the log refuses does nothing.
func TestTransactions(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		r.ask(within{"a", "1", 7})
		r.ask(within{"b", "2", 8})
		r.ask(put{"c", "3"})
		if got := r.ask(get{"a"}); got != "" {
			t.Errorf("an open transaction put %v", got)
		}
		full := errors.New("disk full")
		r.log.Fail(&coordinator.RefusedError{Err: full})
		r.fails(coordinator.Marker{ProducerID: 7, Commit: true}, full)
		if got := r.ask(get{"a"}); got != "" {
			t.Errorf("a refused marker put %v", got)
		}
		r.ask(coordinator.Marker{ProducerID: 8})
		r.log.Hold()
		end := r.begin(t.Context(), coordinator.Marker{ProducerID: 7, Commit: true})
		synctest.Wait()
		if end.done {
			t.Error("a marker was acknowledged before it is committed")
		}
		r.log.Release()
		synctest.Wait()
		for range 2 {
			for key, want := range map[string]string{"a": "1", "b": "", "c": "3"} {
				if got := r.ask(get{key}); got != want {
					t.Errorf("%s is %q, want %q", key, got, want)
				}
			}
			r.rt.Elect(0, 2, r.log)
			r.ready()
		}
	})
}

// TestPublished: the shard hears of a commit before those who wait for it, so
// that what they ask next, elsewhere, finds it.
func TestPublished(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		r.log.Hold()
		a := r.begin(t.Context(), put{"a", "1"})
		synctest.Wait()
		b := r.begin(t.Context(), put{"b", "2"})
		synctest.Wait()
		r.log.CommitTo(1)
		synctest.Wait()
		if !a.done || b.done {
			t.Errorf("committed 1 of 2, answered %v and %v", a.done, b.done)
		}
		r.log.Commit()
		synctest.Wait()
		if want := []int64{0, 1, 2}; !slices.Equal(r.toy().told, want) {
			t.Errorf("Published said %v, want %v", r.toy().told, want)
		}
		if !b.done {
			t.Error("second put was not answered")
		}
	})
}

// TestPublishedAfterFailure: a shard that was loaded again knows nothing of what
// its forerunner was told.
func TestPublishedAfterFailure(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		r.ask(put{"a", "1"})
		r.log.Fail(errors.New("input/output error"))
		r.fails(put{"a", "2"}, coordinator.ErrUnavailable)
		r.ready()
		synctest.Wait()
		if want := []int64{1}; !slices.Equal(r.toy().told, want) {
			t.Errorf("Published said %v, want %v", r.toy().told, want)
		}
	})
}

// TestRefused: an append that wrote nothing fails its input and no other.
func TestRefused(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		short := errors.New("not enough in-sync replicas")
		r.log.Hold()
		before := r.begin(t.Context(), put{"a", "1"})
		synctest.Wait()
		r.log.Fail(&coordinator.RefusedError{Err: short})
		refused := r.begin(t.Context(), put{"a", "2"})
		synctest.Wait()
		r.log.Release()
		synctest.Wait()
		if !before.done || before.err != nil {
			t.Errorf("the input before: %+v", *before)
		}
		if !errors.Is(refused.err, short) {
			t.Errorf("the refused input: %+v", *refused)
		}
		if got := r.ask(get{"a"}); got != "1" {
			t.Errorf("the refused record shows: %v", got)
		}
		if len(r.toys) != 1 {
			t.Errorf("loaded %d times", len(r.toys))
		}
	})
}

// TestBrokenAppend: when it is unknown what was written, the shard is what its
// log says, and who waits is told that the outcome is open.
func TestBrokenAppend(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		r.log.Hold()
		waiting := r.begin(t.Context(), put{"a", "1"})
		synctest.Wait()
		broken := errors.New("input/output error")
		r.log.FailAfterWrite(broken)
		failing := r.begin(t.Context(), put{"b", "2"})
		synctest.Wait()
		for name, res := range map[string]*result{"waiting": waiting, "failing": failing} {
			if !errors.Is(res.err, coordinator.ErrUnavailable) {
				t.Errorf("%s: %+v", name, *res)
			}
		}
		if !errors.Is(failing.err, broken) {
			t.Errorf("the cause is lost: %v", failing.err)
		}
		r.log.Release()
		r.ready()
		if got := r.ask(get{"b"}); got != "2" {
			t.Errorf("after the load b is %q, the log says 2", got)
		}
	})
}

func TestLostLeadershipIsNotAFailure(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		r.log.Fail(coordinator.ErrNotCoordinator)
		r.fails(put{"a", "1"}, coordinator.ErrNotCoordinator)
		r.fails(get{"a"}, coordinator.ErrNotCoordinator)
		if len(r.toys) != 1 {
			t.Errorf("read the log %d times; leading is over", len(r.toys))
		}
		r.rt.Elect(0, 2, r.log)
		r.ready()
		r.ask(put{"a", "1"})
	})
}

// TestFailsAgain: the first failure loads the shard anew, one soon after puts it
// offline until the next election, one much later is a first one again.
func TestFailsAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		in     any // What makes the shard fail.
		broken error
	}{
		"a panic in the shard":       {boom{}, nil},
		"a broken log":               {put{"a", "1"}, errors.New("broken")},
		"an answer given twice":      {reply{1}, nil},
		"a record it does not know":  {put{"unreadable", ""}, nil},
		"an answer to nobody's call": {reply{99}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.elect()
				r.ask(get{"a"}) // Ticket 1.
				fail := func() {
					t.Helper()
					if tc.broken != nil {
						r.log.Fail(tc.broken)
					}
					r.fails(tc.in, coordinator.ErrUnavailable)
					synctest.Wait()
				}
				fail()
				if tc.in == (put{"unreadable", ""}) {
					// It is in the log now, and no load gets past it.
					r.fails(get{"a"}, coordinator.ErrUnavailable)
					return
				}
				r.ask(get{"a"})
				time.Sleep(time.Hour)
				fail()
				r.ask(get{"a"})
				time.Sleep(time.Hour - 1)
				fail()
				r.fails(get{"a"}, coordinator.ErrUnavailable)
				r.rt.Elect(0, 2, r.log)
				r.ready()
				r.ask(get{"a"})
			})
		})
	}
}

// gatedLog is a log whose Replay waits.
type gatedLog struct {
	*coordtest.Log
	gate chan struct{}
}

func (l *gatedLog) Replay(ctx context.Context, f func(batch.Batch) error) error {
	select {
	case <-l.gate:
		return l.Log.Replay(ctx, f)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestLoading(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		now := time.Now()
		if _, err := r.log.Append(now, []coordinator.Record{{Key: []byte("a"), Value: []byte("1")}}); err != nil {
			t.Fatal(err)
		}
		for producer, commit := range []bool{false, true} {
			_, err := r.log.AppendTxn(now, int64(producer), 0, []coordinator.Record{{Key: []byte("b"), Value: []byte{'0' + byte(producer)}}})
			if err != nil {
				t.Fatal(err)
			}
			r.log.AppendMarker(now, int64(producer), 0, commit)
		}
		log := &gatedLog{r.log, make(chan struct{})}
		r.rt.Elect(0, 1, log)
		r.fails(get{"a"}, coordinator.ErrLoading)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.rt.Ready(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Ready while loading: %v", err)
		}
		if _, err := r.rt.Broadcast(t.Context(), func() any { return get{"a"} }); !errors.Is(err, coordinator.ErrLoading) {
			t.Errorf("Broadcast while loading: %v", err)
		}
		close(log.gate)
		r.ready()
		if a, b := r.ask(get{"a"}), r.ask(get{"b"}); a != "1" || b != "1" {
			t.Errorf("loaded a=%v b=%v; want 1 and that of the committed transaction, 1", a, b)
		}
	})
}

// TestLoadsAreBounded: a broker that leads thousands of partitions must not read
// all of their logs at once.
func TestLoadsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, _ *rig) {
		rt := coordinator.New(coordinator.Options{
			Name:      "toy",
			NewShard:  func(int32) coordinator.Shard { return newToy() },
			Logger:    slog.New(slog.DiscardHandler),
			LoadLimit: 2,
		})
		gate := make(chan struct{})
		var reading atomic.Int32
		for p := range int32(5) {
			rt.Elect(p, 1, &countedLog{gatedLog{coordtest.NewLog(), gate}, &reading})
		}
		for range 3 {
			synctest.Wait()
			if n := reading.Load(); n > 2 || n == 0 {
				t.Errorf("%d logs are read at once, want 1 or 2", n)
			}
			gate <- struct{}{}
		}
		close(gate)
		if err := rt.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// countedLog counts how many are being read.
type countedLog struct {
	gatedLog
	reading *atomic.Int32
}

func (l *countedLog) Replay(ctx context.Context, f func(batch.Batch) error) error {
	l.reading.Add(1)
	defer l.reading.Add(-1)
	return l.gatedLog.Replay(ctx, f)
}

func TestLoadThatFailsIsTriedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.log.FailReplay(errors.New("checksum"))
		r.rt.Elect(0, 1, r.log)
		r.ready()
		r.fails(get{"a"}, coordinator.ErrUnavailable)
		if len(r.toys) != 2 {
			t.Errorf("tried to load %d times, want 2", len(r.toys))
		}
	})
}

// TestCloseWaitsForTheLastAppend: nothing is written once Close has returned, not
// even by a shard whose leadership had gone before.
func TestCloseWaitsForTheLastAppend(t *testing.T) {
	for name, before := range map[string]func(*rig){
		"leading":  func(*rig) {},
		"resigned": func(r *rig) { r.rt.Resign(0, 2) },
		"deleted":  func(r *rig) { r.rt.Resign(0, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.elect()
				_, _, release := r.atWork()
				before(r)
				closed := false
				go func() {
					r.rt.Close()
					closed = true
				}()
				synctest.Wait()
				if closed {
					t.Error("Close did not wait for the shard at work")
				}
				release()
				synctest.Wait()
				if !closed {
					t.Error("Close waits for ever")
				}
			})
		})
	}
}

func TestQueueIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		hold := block{make(chan struct{}), make(chan struct{})}
		first := r.begin(t.Context(), hold)
		<-hold.entered
		var queued []*result
		for range 4 {
			queued = append(queued, r.begin(t.Context(), put{"a", "1"}))
		}
		synctest.Wait()
		r.fails(get{"a"}, coordinator.ErrUnavailable)
		close(hold.until)
		synctest.Wait()
		for _, res := range append(queued, first) {
			if !res.done || res.err != nil {
				t.Errorf("%+v", *res)
			}
		}
	})
}

// TestGivingUp: who stops waiting is not missed when the answer comes.
func TestGivingUp(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		ctx, cancel := context.WithCancel(t.Context())
		res := r.begin(ctx, sleep{"s", time.Minute})
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !errors.Is(res.err, context.Canceled) {
			t.Errorf("%+v", *res)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		r.ask(get{"a"})
	})
}

func TestTimers(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		type firing struct {
			key any
			at  time.Duration
		}
		start := time.Now()
		var fired []firing
		r.prep = func(s *toy) {
			s.fired = func(key any, now time.Time) { fired = append(fired, firing{key, now.Sub(start)}) }
			s.loaded = []coordinator.Timer{{Key: "loaded", At: start.Add(5 * time.Second)}}
		}
		r.elect()
		late := r.begin(t.Context(), sleep{"late", 9 * time.Second})
		soon := r.begin(t.Context(), sleep{"soon", time.Second})
		never := r.begin(t.Context(), sleep{"never", 2 * time.Second})
		twin := r.begin(t.Context(), sleep{"moved", 3 * time.Second})
		synctest.Wait()
		r.ask(cancel{"never"})
		moved := r.begin(t.Context(), sleep{"moved", 4 * time.Second})
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []firing{{"soon", time.Second}, {"moved", 4 * time.Second}, {"loaded", 5 * time.Second}, {"late", 9 * time.Second}}
		if !slices.Equal(fired, want) {
			t.Errorf("fired %v, want %v", fired, want)
		}
		for name, res := range map[string]*result{"late": late, "soon": soon, "moved": moved} {
			if !res.done || res.body != "awake" {
				t.Errorf("%s: %+v", name, *res)
			}
		}
		if never.done || twin.done {
			t.Error("a cancelled or replaced sleeper was answered")
		}
		r.rt.Close()
	})
}

// TestDueInOrder: timers for the same time go off in the order they were set.
func TestDueInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var fired []any
		r.prep = func(s *toy) {
			for key := range 20 {
				s.loaded = append(s.loaded, coordinator.Timer{Key: key, At: time.Now().Add(time.Second)})
			}
			s.fired = func(key any, _ time.Time) { fired = append(fired, key) }
		}
		r.elect()
		time.Sleep(time.Minute)
		synctest.Wait()
		for i, key := range fired {
			if key != i {
				t.Fatalf("fired %v", fired)
			}
		}
		if len(fired) != 20 {
			t.Errorf("fired %d of 20", len(fired))
		}
	})
}

func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		r.log.Hold()
		parked := r.begin(t.Context(), put{"a", "1"})
		asleep := r.begin(t.Context(), sleep{"s", time.Hour})
		gated := &gatedLog{coordtest.NewLog(), make(chan struct{})}
		r.rt.Elect(1, 1, gated)
		synctest.Wait()
		r.rt.Close()
		synctest.Wait()
		for name, res := range map[string]*result{"parked": parked, "asleep": asleep} {
			if !errors.Is(res.err, coordinator.ErrUnavailable) {
				t.Errorf("%s: %+v", name, *res)
			}
		}
		r.fails(get{"a"}, coordinator.ErrUnavailable)
		r.rt.Elect(2, 1, coordtest.NewLog())
		r.rt.Close()
	})
}

func TestBroadcast(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for partition, value := range []string{"x", "y", "z"} {
			log := coordtest.NewLog()
			if _, err := log.Append(time.Now(), []coordinator.Record{{Key: []byte("a"), Value: []byte(value)}}); err != nil {
				t.Fatal(err)
			}
			r.rt.Elect(int32(partition), 1, log)
		}
		r.ready()
		got, err := r.rt.Broadcast(t.Context(), func() any { return get{"a"} })
		if want := []any{"x", "y", "z"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("Broadcast = %v, %v; want %v", got, err, want)
		}
	})
}

// TestNextOffset: what a shard decides by the offset of its records holds.
func TestNextOffset(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var offsets []int64
		r.prep = func(s *toy) {
			s.onStep = func(m coordinator.Moment) { offsets = append(offsets, m.NextOffset) }
		}
		r.elect()
		r.ask(put{"a", "1"})
		r.ask(get{"a"})
		r.log.Fail(&coordinator.RefusedError{Err: errors.New("full")})
		r.rt.Ask(t.Context(), 0, put{"a", "2"})
		r.ask(put{"a", "3"})
		if want := []int64{0, 1, 1, 1}; !slices.Equal(offsets, want) {
			t.Errorf("NextOffset was %v, want %v", offsets, want)
		}
	})
}
