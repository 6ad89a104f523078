package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// toy is a shard that keeps a map. It is as small as a shard can be that uses
// all that the runtime offers.
type toy struct {
	values  map[string]string            // Hard.
	pending map[int64]map[string]string  // Hard: open transactions.
	sleeper map[any]coordinator.Ticket   // Soft.
	told    []int64                      // What Published said.
	owed    []any                        // Sent by Loaded.
	onStep  func(m coordinator.Moment)   // For tests to look in.
	loaded  []coordinator.Timer          // Effects of Loaded.
	fired   func(key any, now time.Time) // Told of timers.
}

func newToy() *toy {
	return &toy{
		values:  make(map[string]string),
		pending: make(map[int64]map[string]string),
		sleeper: make(map[any]coordinator.Ticket),
	}
}

// The inputs of a toy.
type (
	put   struct{ key, value string } // Answered with the value.
	get   struct{ key string }        // Answered with the value.
	sleep struct {                    // Answered with "awake" after d, unless woken.
		key any
		d   time.Duration
	}
	cancel struct{ key any }                      // Cancels the timer of a sleeper.
	boom   struct{}                               // Panics.
	reply  struct{ to coordinator.Ticket }        // Answers a ticket of somebody else.
	block  struct{ until, entered chan struct{} } // Holds the shard.
	notify struct{ key, value string }            // As put, and sends the value.
	within struct {                               // As put, in a transaction.
		key, value string
		producerID int64
	}
)

func answer(t coordinator.Ticket, body any) coordinator.Effects {
	return coordinator.Effects{Replies: []coordinator.Reply{{To: t, Body: body}}}
}

func (s *toy) Step(m coordinator.Moment, t coordinator.Ticket, in any) coordinator.Effects {
	if s.onStep != nil {
		s.onStep(m)
	}
	switch in := in.(type) {
	case put:
		eff := answer(t, in.value)
		eff.Records = []coordinator.Record{{Key: []byte(in.key), Value: []byte(in.value)}}
		return eff
	case notify:
		eff := answer(t, in.value)
		eff.Records = []coordinator.Record{{Key: []byte(in.key), Value: []byte(in.value)}}
		eff.Sends = []any{in.value}
		return eff
	case within:
		eff := answer(t, in.value)
		eff.Records = []coordinator.Record{{Key: []byte(in.key), Value: []byte(in.value)}}
		eff.Within = &coordinator.Within{ProducerID: in.producerID}
		return eff
	case get:
		return answer(t, s.values[in.key])
	case sleep:
		s.sleeper[in.key] = t
		return coordinator.Effects{Timers: []coordinator.Timer{{Key: in.key, At: m.Now.Add(in.d)}}}
	case cancel:
		eff := answer(t, "cancelled")
		eff.Timers = []coordinator.Timer{{Key: in.key}}
		return eff
	case reply:
		return answer(in.to, nil)
	case block:
		close(in.entered)
		<-in.until
		return answer(t, nil)
	}
	panic(fmt.Sprintf("toy got %T", in))
}

func (s *toy) Refused(_ coordinator.Moment, t coordinator.Ticket, _ any, err error) coordinator.Effects {
	return coordinator.Effects{Replies: []coordinator.Reply{{To: t, Err: err}}}
}

func (s *toy) Fired(m coordinator.Moment, key any) coordinator.Effects {
	if s.fired != nil {
		s.fired(key, m.Now)
	}
	t := s.sleeper[key]
	delete(s.sleeper, key)
	return answer(t, "awake")
}

func (s *toy) Replay(at coordinator.At, r coordinator.Record) error {
	if string(r.Key) == "unreadable" {
		return errors.New("unreadable record")
	}
	if at.ProducerID >= 0 {
		if s.pending[at.ProducerID] == nil {
			s.pending[at.ProducerID] = make(map[string]string)
		}
		s.pending[at.ProducerID][string(r.Key)] = string(r.Value)
		return nil
	}
	s.values[string(r.Key)] = string(r.Value)
	return nil
}

func (s *toy) ReplayMarker(producerID int64, _ int16, commit bool) {
	if commit {
		maps.Copy(s.values, s.pending[producerID])
	}
	delete(s.pending, producerID)
}

func (s *toy) Loaded(coordinator.Moment) coordinator.Effects {
	return coordinator.Effects{Timers: s.loaded, Sends: s.owed}
}

func (s *toy) Published(committed int64) { s.told = append(s.told, committed) }

// rig is a runtime with toys for shards.
type rig struct {
	t    *testing.T
	rt   *coordinator.Runtime
	log  *coordtest.Log // That of partition 0.
	mu   sync.Mutex     // Guards toys while several shards load.
	toys []*toy         // Every toy made, in order.
	prep func(*toy)     // Called on every toy made.
	sent []string       // What was delivered, by whom and when.
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, log: coordtest.NewLog()}
	r.rt = coordinator.New(coordinator.Options{
		Name: "toy",
		NewShard: func(int32) coordinator.Shard {
			s := newToy()
			if r.prep != nil {
				r.prep(s)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.toys = append(r.toys, s)
			return s
		},
		Deliver: func(partition, epoch int32, message any) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.sent = append(r.sent, fmt.Sprintf("%d/%d %v", partition, epoch, message))
		},
		Logger:     slog.New(slog.DiscardHandler),
		QueueLimit: 4,
	})
	return r
}

// elect makes the runtime the leader of partition 0 in epoch 1, and waits.
func (r *rig) elect() *rig {
	r.rt.Elect(0, 1, r.log)
	r.ready()
	return r
}

func (r *rig) ready() {
	r.t.Helper()
	if err := r.rt.Ready(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// toy is the newest toy.
func (r *rig) toy() *toy { return r.toys[len(r.toys)-1] }

// ask asks and wants an answer without an error.
func (r *rig) ask(in any) any {
	r.t.Helper()
	body, err := r.rt.Ask(r.t.Context(), 0, in)
	if err != nil {
		r.t.Fatalf("Ask(%#v): %v", in, err)
	}
	return body
}

// fails asks and wants an error.
func (r *rig) fails(in any, want error) {
	r.t.Helper()
	if body, err := r.rt.Ask(r.t.Context(), 0, in); !errors.Is(err, want) {
		r.t.Fatalf("Ask(%#v) = %v, %v; want error %v", in, body, err, want)
	}
}

// atWork leaves the shard in the middle of a step until release, with a second
// input behind it.
func (r *rig) atWork() (first, second *result, release func()) {
	hold := block{make(chan struct{}), make(chan struct{})}
	first = r.begin(r.t.Context(), hold)
	<-hold.entered
	second = r.begin(r.t.Context(), get{"a"})
	synctest.Wait()
	return first, second, func() { close(hold.until) }
}

// result is what an Ask in the background came to.
type result struct {
	done bool
	body any
	err  error
}

// begin asks in the background. Read the result after synctest.Wait.
func (r *rig) begin(ctx context.Context, in any) *result {
	res := new(result)
	go func() {
		body, err := r.rt.Ask(ctx, 0, in)
		*res = result{true, body, err}
	}()
	return res
}
