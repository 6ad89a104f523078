package compat

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// Runner plays scenarios against one broker.
type Runner struct {
	// Name is what the report calls the broker. Default its address.
	Name string
	// Bootstrap is the broker's HOST:PORT.
	Bootstrap string
	// Dial connects. Default net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Parallel is how many scenarios run at once. Default 8.
	Parallel int
	// Strict counts deliberate differences as failures: for the control.
	Strict bool
	// Release is the Kafka release that the broker is to behave like, as 3.9. What Kafka
	// does only since a later one does not apply. The newest, if it is empty.
	Release string
	// Quick leaves out scenarios that are slow.
	Quick bool
	// Restart, if not nil, stops the broker and starts it again at the same address and
	// with its data; how it is stopped is its own affair. Without it, scenarios that
	// restart the broker do not apply.
	Restart func(ctx context.Context) error
	// FailFast begins no scenario after one has failed.
	FailFast bool
	// Progress, if not nil, hears of every result as it comes, one at a time.
	Progress func(done, all int, r Result)
}

// Outcome is how a scenario ended.
type Outcome string

// Outcomes.
const (
	Passed        Outcome = "passed"
	Deviates      Outcome = "deviates"       // As a row of docs/deviations.md says.
	Failed        Outcome = "failed"         //
	NotApplicable Outcome = "not-applicable" // The broker does not offer it.
)

// Result is what came of one scenario.
type Result struct {
	ID      string        `json:"id"`
	Area    string        `json:"area"`
	Says    string        `json:"says"`
	Refs    []string      `json:"refs,omitempty"`
	Since   string        `json:"since,omitempty"` // The lowest Kafka release that behaves so.
	Outcome Outcome       `json:"outcome"`
	Why     string        `json:"why,omitempty"`
	Left    []string      `json:"left,omitempty"` // What could not be undone, and why.
	Wire    []Wire        `json:"wire,omitempty"` // The last exchange of each connection.
	Took    time.Duration `json:"took_ns"`
}

// Wire is an exchange in readable form.
type Wire struct {
	Request  string `json:"request"`
	Response string `json:"response"`
}

// Run plays scenarios. The error says that the broker cannot be asked at all.
func (r Runner) Run(ctx context.Context, scenarios []scenario.Scenario) (*Report, error) {
	target, err := scenario.NewTarget(ctx, r.Bootstrap, r.Dial)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Bootstrap, err)
	}
	var together, alone, restarting []scenario.Scenario
	for _, s := range scenarios {
		switch {
		case r.Quick && s.Slow:
		case s.Restarts:
			restarting = append(restarting, s)
		case s.Alone:
			alone = append(alone, s)
		default:
			together = append(together, s)
		}
	}
	// What waits longest begins first, so that it does not end last.
	slices.SortStableFunc(together, func(a, b scenario.Scenario) int { return cmp.Compare(order(a), order(b)) })
	results := &results{failFast: r.FailFast, all: len(together) + len(alone) + len(restarting), progress: r.Progress}
	r.play(ctx, target, together, cmp.Or(r.Parallel, 8), results)
	r.play(ctx, target, alone, 1, results)
	if r.Restart != nil {
		target.RestartBy(r.Restart)
	}
	r.play(ctx, target, restarting, len(restarting), results) // They wait for each other.
	slices.SortFunc(results.list, func(a, b Result) int { return strings.Compare(a.ID, b.ID) })
	return &Report{Name: r.Name, Bootstrap: r.Bootstrap, APIs: apis(target), Results: results.list}, ctx.Err()
}

func order(s scenario.Scenario) int {
	if s.Slow {
		return 0
	}
	return 1
}

// results collects from several goroutines.
type results struct {
	all      int
	failFast bool
	progress func(done, all int, r Result)
	mu       sync.Mutex
	list     []Result
	failed   bool
}

func (rs *results) add(r Result) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.list = append(rs.list, r)
	rs.failed = rs.failed || r.Outcome == Failed
	if rs.progress != nil {
		rs.progress(len(rs.list), rs.all, r)
	}
}

// enough says that nothing more is to be found out.
func (rs *results) enough() bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.failFast && rs.failed
}

func (r Runner) play(ctx context.Context, target *scenario.Target, scenarios []scenario.Scenario, workers int, results *results) {
	queue := make(chan scenario.Scenario)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for s := range queue {
				if !results.enough() {
					results.add(r.one(ctx, target, s))
				}
			}
		})
	}
	for _, s := range scenarios {
		if ctx.Err() != nil {
			break
		}
		queue <- s
	}
	close(queue)
	wg.Wait()
}

// one plays one scenario.
func (r Runner) one(ctx context.Context, target *scenario.Target, s scenario.Scenario) Result {
	res := Result{ID: s.ID, Area: s.Area(), Says: s.Says, Refs: s.Refs, Since: s.Since, Outcome: Passed}
	if s.Newer(r.Release) {
		res.Outcome, res.Why = NotApplicable, "Kafka does so since "+s.Since
		return res
	}
	end := scenario.Play(ctx, target, s)
	res.Why, res.Wire, res.Left, res.Took = end.Why, wire(end.Exchanges), end.Left, end.Took
	switch {
	case end.Failed, end.Deviates && r.Strict:
		res.Outcome = Failed
	case end.NotApplicable:
		res.Outcome = NotApplicable
	case end.Deviates:
		res.Outcome = Deviates
	}
	return res
}

func wire(exchanges []scenario.Exchange) (all []Wire) {
	for _, e := range exchanges {
		request, response := e.Readable()
		all = append(all, Wire{request, response})
	}
	return all
}
