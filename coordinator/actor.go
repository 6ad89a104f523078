package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// relapse is how soon after a failure the next one puts a shard offline. A shard
// that fails on every load would otherwise read its log without end; one that
// failed a day ago has shown that loading helps.
const relapse = time.Hour

// phase is how far a shard's life has come.
type phase int8

const (
	loading phase = iota // Its log is being read.
	active               // It answers.
	offline              // It failed twice, and waits for the next election.
	stopped              // Its election is over, or the runtime closed.
)

// actor is one shard at work during one election.
//
// Whoever sets mu.running owns the shard and all fields below mu, until it
// finds no more work and clears it. Everything in mu may be touched by any
// goroutine that holds the lock.
type actor struct {
	rt        *Runtime
	partition int32
	epoch     int32
	log       Log
	logger    *slog.Logger
	ctx       context.Context // Ends with the election.
	cancel    context.CancelFunc
	done      chan struct{} // Closed when stopped and without owner.

	mu struct {
		sync.Mutex
		phase    phase
		err      error // What posting gets while not active.
		running  bool
		queue    []job
		waiters  map[Ticket]chan<- answer
		last     Ticket
		commit   bool          // The log's Committed may have moved.
		due      bool          // The alarm went off.
		settled  chan struct{} // Closed when not loading.
		failedAt time.Time     // Zero: never.
	}

	rand      *rand.Rand
	shard     Shard
	timers    timers
	alarm     *time.Timer
	alarmAt   time.Time // What it is set to; zero: it is not.
	parked    []parked  // Replies and sends in order of their offsets.
	published int64
}

// job is one input in the queue.
type job struct {
	ticket Ticket
	in     any
}

// parked is a reply, or a message if send is not nil, that waits until the log is
// committed up to end.
type parked struct {
	end   int64
	reply Reply
	send  any
}

func newActor(rt *Runtime, partition, epoch int32, log Log) *actor {
	a := &actor{
		rt:        rt,
		partition: partition,
		epoch:     epoch,
		log:       log,
		logger:    rt.opts.Logger.With(slog.Int("partition", int(partition)), slog.Int("epoch", int(epoch))),
		done:      make(chan struct{}),
		rand:      newRand(),
		published: -1,
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.mu.phase, a.mu.err = loading, ErrLoading
	a.mu.running = true // begin is the first owner.
	a.mu.waiters = make(map[Ticket]chan<- answer)
	a.mu.settled = make(chan struct{})
	return a
}

// begin waits for the end of the last election's actor, whose append may still
// be under way, and loads the shard.
func (a *actor) begin(old *actor) {
	if old != nil {
		<-old.done
	}
	a.log.OnCommit(a.onCommit)
	a.load()
}

// post puts an input into the queue and says where the answer will come. An idle
// shard takes it before post returns.
func (a *actor) post(in any) (<-chan answer, error) {
	a.mu.Lock()
	if a.mu.phase != active {
		defer a.mu.Unlock()
		return nil, a.mu.err
	}
	if len(a.mu.queue) >= a.rt.opts.QueueLimit {
		a.mu.Unlock()
		a.rt.opts.Metrics.Rejected.Inc()
		return nil, fmt.Errorf("%w: %d inputs wait for partition %d", ErrUnavailable, a.rt.opts.QueueLimit, a.partition)
	}
	answers := make(chan answer, 1)
	a.mu.last++
	a.mu.waiters[a.mu.last] = answers
	a.mu.queue = append(a.mu.queue, job{a.mu.last, in})
	wake := a.wakeLocked()
	a.mu.Unlock()
	if wake {
		a.run(1)
	}
	return answers, nil
}

// onCommit is the log's news that Committed moved. It may come while the log's
// own lock is held, so it never runs the shard itself.
func (a *actor) onCommit() {
	a.mu.Lock()
	a.mu.commit = true
	wake := a.mu.phase == active && a.wakeLocked()
	a.mu.Unlock()
	if wake {
		go a.run(-1)
	}
}

// onAlarm is the news that a timer is due.
func (a *actor) onAlarm() {
	a.mu.Lock()
	a.mu.due = true
	wake := a.mu.phase == active && a.wakeLocked()
	a.mu.Unlock()
	if wake {
		a.run(-1)
	}
}

// wakeLocked makes the caller the owner if there is none.
func (a *actor) wakeLocked() bool {
	if a.mu.running {
		return false
	}
	a.mu.running = true
	return true
}

// stop ends the actor: everybody who waits gets err, now; an owner at work ends
// with the step that it is in.
func (a *actor) stop(err error) {
	a.cancel()
	a.mu.Lock()
	was := a.mu.phase
	if was == stopped {
		a.mu.Unlock()
		return
	}
	a.mu.phase, a.mu.err = stopped, err
	a.mu.queue = nil
	a.failWaitersLocked(err)
	if was == loading {
		close(a.mu.settled)
	}
	wake := a.wakeLocked()
	a.mu.Unlock()
	if wake {
		a.end()
	}
}

// end is the owner's last act.
func (a *actor) end() {
	if a.alarm != nil {
		a.alarm.Stop()
	}
	a.log.OnCommit(nil)
	a.log, a.shard, a.parked, a.timers = nil, nil, nil, timers{}
	close(a.done)
}

// fail drops the shard: everybody who waits gets an error, and the shard is
// loaded again, unless it failed a short time ago. That the leadership has gone is
// no failure. The owner calls it, and is the owner no longer afterwards.
func (a *actor) fail(err error) {
	if a.alarm != nil {
		a.alarm.Stop()
	}
	a.shard, a.parked, a.timers, a.alarmAt = nil, nil, timers{}, time.Time{}
	a.published = -1 // Nothing was published to the next shard.

	a.mu.Lock()
	if a.mu.phase == stopped {
		a.mu.Unlock()
		a.end()
		return
	}
	defer a.mu.Unlock()
	lost := errors.Is(err, ErrNotCoordinator)
	now := time.Now()
	again := !lost && (a.mu.failedAt.IsZero() || now.Sub(a.mu.failedAt) >= relapse)
	answer := err
	if !lost {
		a.rt.opts.Metrics.Failures.Inc()
		a.mu.failedAt = now
		answer = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if was := a.mu.phase; was == loading && !again {
		close(a.mu.settled)
	} else if was != loading && again {
		a.mu.settled = make(chan struct{})
	}
	a.mu.queue = nil
	a.failWaitersLocked(answer)
	switch {
	case again:
		a.mu.phase, a.mu.err = loading, ErrLoading
		go a.load() // It is the owner now.
		return
	case lost:
		// The next election or resignation is on its way; reading the log now would
		// be for nothing.
		a.mu.phase, a.mu.err = offline, ErrNotCoordinator
	default:
		a.mu.phase, a.mu.err = offline, fmt.Errorf("%w: partition %d is offline after a failure", ErrUnavailable, a.partition)
		a.logger.LogAttrs(a.ctx, slog.LevelError,
			"shard went offline after failing again; it comes back when the partition is elected anew, or on restart",
			slog.Any("err", err))
	}
	a.mu.running = false
}

func (a *actor) failWaitersLocked(err error) {
	for t, w := range a.mu.waiters {
		delete(a.mu.waiters, t)
		w <- answer{err: err}
	}
}

// settled returns a channel that is closed once the actor is not loading.
func (a *actor) settled() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.settled
}
