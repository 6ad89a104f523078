package scenario

import (
	"context"
	"fmt"
	"time"
)

// restarts lets scenarios that stop and start the broker run at once: it is restarted
// when all that run have come to where they ask for it.
type restarts struct {
	restart func(ctx context.Context) error

	free    chan struct{} // Holds one token; who has it may change what follows.
	playing int           // How many scenarios run.
	waiting int           // How many of them wait for the restart.
	next    *restart
}

// restart is one that some scenarios wait for.
type restart struct {
	done chan struct{}
	err  error // Why it failed, once done is closed.
}

func newRestarts(do func(ctx context.Context) error) *restarts {
	r := &restarts{restart: do, free: make(chan struct{}, 1), next: &restart{done: make(chan struct{})}}
	r.free <- struct{}{}
	return r
}

// locked runs f alone, or not at all if the context ends first. It waits on a
// channel because a restart, which takes long, runs so too.
func (r *restarts) locked(ctx context.Context, f func()) error {
	select {
	case <-r.free:
		defer func() { r.free <- struct{}{} }()
		f()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin has a scenario counted as one that runs, and end as one that does no longer.
func (r *restarts) begin(ctx context.Context) error {
	return r.locked(ctx, func() { r.playing++ })
}

func (r *restarts) end(ctx context.Context) {
	_ = r.locked(context.WithoutCancel(ctx), func() {
		r.playing--
		r.due(ctx)
	})
}

// meet waits until the broker has been restarted for all that run.
func (r *restarts) meet(ctx context.Context) error {
	var mine *restart
	if err := r.locked(ctx, func() {
		mine = r.next
		r.waiting++
		r.due(ctx)
	}); err != nil {
		return err
	}
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
	}
	_ = r.locked(context.WithoutCancel(ctx), func() {
		if mine == r.next {
			r.waiting--
		}
	})
	return fmt.Errorf("while other scenarios came to the restart, or during it: %w", context.Cause(ctx))
}

// restartLimit bounds one restart, until the broker answers.
const restartLimit = 2 * time.Minute

// due restarts the broker if nobody is to be waited for.
func (r *restarts) due(ctx context.Context) {
	if r.waiting == 0 || r.waiting < r.playing {
		return
	}
	// The scenario that came last may have little time left, which is not that of the others.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartLimit)
	defer cancel()
	r.next.err = r.restart(limited)
	close(r.next.done)
	r.waiting, r.next = 0, &restart{done: make(chan struct{})}
}

// Restart has the broker stopped and started again, at the address and with the data
// that it had, and forgets the connections. Other scenarios that restart take part.
func (t *T) Restart() {
	if t.restarts == nil {
		t.Fatalf("a scenario that restarts the broker says so (Scenario.Restarts)")
	}
	if err := t.restarts.meet(t.ctx); err != nil {
		t.Fatalf("restart of the broker: %v", err)
	}
	t.Reconnect()
}

// Reconnect forgets the connections, which a restart has broken or time closed.
func (t *T) Reconnect() {
	for _, c := range t.conns {
		_ = c.Close()
	}
	t.conns, t.main = nil, nil
}
