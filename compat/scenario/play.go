package scenario

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"time"
)

// Ended is how a scenario ended. It passed if nothing else is said.
type Ended struct {
	Failed        bool
	NotApplicable bool   // The broker does not offer what it is about.
	Deviates      bool   // As a row of docs/deviations.md says.
	Why           string // Unless it passed.
	// Exchanges are the last of each connection, where it failed or deviates.
	Exchanges []Exchange
	Left      []string // What could not be undone, and why.
	Took      time.Duration
}

// Play plays one scenario against a broker and clears up after it.
func Play(ctx context.Context, target *Target, s Scenario) (end Ended) {
	var restarts *restarts
	if s.Restarts {
		if restarts = target.restarts; restarts == nil {
			return Ended{NotApplicable: true, Why: "nobody said how the broker is restarted"}
		}
		if err := restarts.begin(ctx); err != nil {
			return Ended{Failed: true, Why: err.Error()}
		}
		defer restarts.end(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, s.limit())
	defer cancel()
	began := time.Now()
	t := newT(limited, target)
	t.restarts = restarts
	if f := t.guarded(s.Run); f != nil {
		end.Failed, end.NotApplicable = !f.notApplicable, f.notApplicable
		end.Why, end.Exchanges = f.text, f.exchanges
	} else if t.deviation != "" {
		end.Deviates, end.Why, end.Exchanges = true, t.deviation, t.exchanges()
	}
	end.Took = time.Since(began)

	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancelLast()
	t.ctx = last
	t.main = nil // Its deadline is the scenario's limit, and it may be broken: undoing dials anew.
	end.Left = t.end()
	return end
}

func newT(ctx context.Context, target *Target) *T {
	return &T{
		target: target, ctx: ctx,
		prefix: "compat-" + target.run + "-" + strconv.FormatInt(target.serial.Add(1), 10),
	}
}

// failure ends a scenario: it failed, or it does not apply.
type failure struct {
	text          string
	notApplicable bool
	exchanges     []Exchange
}

// guarded runs f and returns how it ended early, if it did.
func (t *T) guarded(f func(*T)) (end *failure) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *failure:
			end = p
		default:
			end = &failure{text: fmt.Sprintf("the scenario itself panicked: %v\n%s", p, debug.Stack())}
		}
	}()
	f(t)
	return nil
}

// exchanges are the last ones of the connections.
func (t *T) exchanges() (all []Exchange) {
	for _, c := range t.conns {
		if c.exchange != nil {
			all = append(all, *c.exchange)
		}
	}
	return all
}

// end undoes and closes all. What cannot be undone it returns: that is no failure
// of the scenario, but the broker is not as it was.
func (t *T) end() (left []string) {
	t.part = ""
	for _, f := range slices.Backward(t.cleanups) {
		if end := t.guarded(func(*T) { f() }); end != nil {
			left = append(left, end.text)
		}
	}
	for _, c := range t.conns {
		_ = c.Close()
	}
	return left
}
