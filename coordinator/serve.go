package coordinator

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// work is one round of the owner: what changed, or one input.
type work struct {
	commit, due bool
	job         job // Ticket 0: none.
}

// run works off what there is, at most the given number of rounds (-1: all), and
// leaves the rest to a goroutine. The caller is the owner, and is no longer when
// run returns.
func (a *actor) run(rounds int) {
	for ; rounds != 0; rounds-- {
		w, ok := a.take()
		if !ok {
			return
		}
		if err := a.guard(func() error { return a.do(w) }); err != nil {
			a.fail(err)
			return
		}
	}
	if a.more() {
		go a.run(-1)
	}
}

// more gives up ownership if nothing is left to do.
func (a *actor) more() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.phase == active && len(a.mu.queue) == 0 && !a.mu.commit && !a.mu.due {
		a.mu.running = false
		return false
	}
	return true
}

// take returns the next round's work, or gives up ownership. Commits come first,
// for they free those who wait longest.
func (a *actor) take() (work, bool) {
	a.mu.Lock()
	if a.mu.phase == stopped {
		a.mu.Unlock()
		a.end()
		return work{}, false
	}
	defer a.mu.Unlock()
	w := work{commit: a.mu.commit, due: a.mu.due}
	a.mu.commit, a.mu.due = false, false
	if !w.commit && !w.due {
		if len(a.mu.queue) == 0 {
			a.mu.queue = nil // Gives back what a burst had grown.
			a.mu.running = false
			return w, false
		}
		w.job = a.mu.queue[0]
		a.mu.queue[0] = job{}
		a.mu.queue = a.mu.queue[1:]
	}
	return w, true
}

// do is one round. An error drops the shard.
func (a *actor) do(w work) error {
	if w.commit {
		a.publish()
	}
	if w.due {
		if err := a.fireDue(); err != nil {
			return err
		}
	}
	if m, ok := w.job.in.(Marker); ok {
		return a.mark(w.job.ticket, m)
	}
	if w.job.ticket != 0 {
		return a.step(w.job.ticket, w.job.in, func(m Moment) Effects {
			return a.shard.Step(m, w.job.ticket, w.job.in)
		})
	}
	return nil
}

// fireDue fires the timers that are due now. One that is set meanwhile for the
// past waits for the next round, so that a shard cannot hold its owner.
func (a *actor) fireDue() error {
	a.alarmAt = time.Time{}
	now := a.moment().Now
	for range len(a.timers.heap) {
		key, ok := a.timers.pop(now)
		if !ok {
			break
		}
		err := a.step(0, key, func(m Moment) Effects { return a.shard.Fired(m, key) })
		if err != nil {
			return err
		}
	}
	a.setAlarm()
	return nil
}

// step lets the shard decide and does what it wants done.
func (a *actor) step(t Ticket, in any, decide func(Moment) Effects) error {
	m := a.moment()
	eff := decide(m)
	if len(eff.Records) > 0 {
		refused, err := a.write(m, eff)
		if err != nil {
			return err
		}
		if refused != nil {
			eff = a.shard.Refused(a.moment(), t, in, refused)
			if len(eff.Records) > 0 {
				panic(fmt.Sprintf("BUG: shard wrote %d records because an append was refused: %v", len(eff.Records), refused))
			}
		}
	}
	a.carryOut(eff)
	return nil
}

// write appends a step's records and replays them. refused says that they were
// not written and that the shard may go on.
func (a *actor) write(m Moment, eff Effects) (refused, err error) {
	recs := eff.Records
	base, err := a.append(m.Now, eff)
	if r, ok := errors.AsType[*RefusedError](err); ok {
		a.rt.opts.Metrics.Refused.Inc()
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("append %d records at offset %d: %w", len(recs), m.NextOffset, err)
	}
	if base != m.NextOffset {
		panic(fmt.Sprintf("BUG: records were decided for offset %d and appended at %d: somebody else writes to the shard's log", m.NextOffset, base))
	}
	at := At{TimestampMs: m.Now.UnixMilli(), ProducerID: -1, ProducerEpoch: -1}
	if w := eff.Within; w != nil {
		at.ProducerID, at.ProducerEpoch = w.ProducerID, w.Epoch
	}
	for i, r := range recs {
		at.Offset = base + int64(i)
		if err := a.shard.Replay(at, r); err != nil {
			panic(fmt.Sprintf("BUG: shard cannot replay its own record at offset %d: %v", at.Offset, err))
		}
	}
	a.rt.opts.Metrics.Records.Add(float64(len(recs)))
	return nil, nil
}

// carryOut parks the replies and sends, frees those that rest on committed state already,
// and sets the timers.
func (a *actor) carryOut(eff Effects) {
	end := a.log.End()
	for _, r := range eff.Replies {
		if r.To != 0 {
			a.parked = append(a.parked, parked{end: end, reply: r})
		}
	}
	for _, message := range eff.Sends {
		a.parked = append(a.parked, parked{end: end, send: message})
	}
	for _, t := range eff.Timers {
		a.timers.set(t.Key, t.At)
	}
	if len(eff.Timers) > 0 {
		a.setAlarm()
	}
	a.publish()
}

// publish tells the shard how far its log is committed, and lets go the replies
// and sends that waited for it.
func (a *actor) publish() {
	committed := a.log.Committed()
	if committed > a.published {
		a.published = committed
		if p, ok := a.shard.(Publisher); ok {
			p.Published(committed)
		}
	}
	n := 0
	for n < len(a.parked) && a.parked[n].end <= a.published {
		if message := a.parked[n].send; message != nil {
			a.rt.opts.Deliver(a.partition, a.epoch, message)
		} else {
			a.send(a.parked[n].reply)
		}
		a.parked[n] = parked{}
		n++
	}
	a.parked = a.parked[n:]
	if len(a.parked) == 0 {
		a.parked = nil
	}
}

// send answers a ticket.
func (a *actor) send(r Reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w, ok := a.mu.waiters[r.To]
	if !ok {
		if a.mu.phase != active {
			return // Everybody who waited was told already.
		}
		panic(fmt.Sprintf("BUG: shard answers ticket %d, which is answered already or was never given: %+v", r.To, r.Body))
	}
	delete(a.mu.waiters, r.To)
	w <- answer{r.Body, r.Err}
}

// moment is now, for the shard.
func (a *actor) moment() Moment {
	return Moment{Now: time.Now(), Rand: a.rand, NextOffset: a.log.End()}
}

// setAlarm sets the one real timer to the next timer that is due.
func (a *actor) setAlarm() {
	at, ok := a.timers.next()
	if at.Equal(a.alarmAt) {
		return // As most often: a heartbeat moves a timer that is not the next.
	}
	a.alarmAt = at
	switch {
	case !ok && a.alarm != nil:
		a.alarm.Stop()
	case !ok:
	case a.alarm == nil:
		a.alarm = time.AfterFunc(max(0, time.Until(at)), a.onAlarm)
	default:
		a.alarm.Reset(max(0, time.Until(at)))
	}
}

// guard runs f and makes an error of a panic: a bug in one shard must not take
// the others down.
func (a *actor) guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.rt.opts.Metrics.Panics.Inc()
			a.logger.LogAttrs(a.ctx, slog.LevelError, "shard panicked; please report this with the stack",
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = fmt.Errorf("shard panicked: %v", p)
		}
	}()
	return f()
}
