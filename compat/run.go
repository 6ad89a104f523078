package compat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
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
func (r Runner) Run(ctx context.Context, scenarios []Scenario) (*Report, error) {
	target, err := r.target(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Bootstrap, err)
	}
	var together, alone, restarting []Scenario
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
	slices.SortStableFunc(together, func(a, b Scenario) int { return cmp.Compare(order(a), order(b)) })
	results := &results{failFast: r.FailFast, all: len(together) + len(alone) + len(restarting), progress: r.Progress}
	r.play(ctx, target, together, cmp.Or(r.Parallel, 8), results)
	r.play(ctx, target, alone, 1, results)
	if r.Restart != nil {
		target.restarts = newRestarts(r.restarted)
	}
	r.play(ctx, target, restarting, len(restarting), results) // They wait for each other.
	slices.SortFunc(results.list, func(a, b Result) int { return strings.Compare(a.ID, b.ID) })
	return &Report{Name: r.Name, Bootstrap: r.Bootstrap, APIs: apis(target), Results: results.list}, ctx.Err()
}

func order(s Scenario) int {
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

func (r Runner) play(ctx context.Context, target *target, scenarios []Scenario, workers int, results *results) {
	queue := make(chan Scenario)
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

// restarted restarts the broker and waits until it answers.
func (r Runner) restarted(ctx context.Context) error {
	if err := r.Restart(ctx); err != nil {
		return err
	}
	for {
		_, err := r.target(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer after it was restarted: %w", r.Bootstrap, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// one plays one scenario and clears up after it.
func (r Runner) one(ctx context.Context, target *target, s Scenario) Result {
	res := Result{ID: s.ID, Area: s.Area(), Says: s.Says, Refs: s.Refs, Since: s.Since, Outcome: Passed}
	if s.Newer(r.Release) {
		res.Outcome, res.Why = NotApplicable, "Kafka does so since "+s.Since
		return res
	}
	if s.Restarts && target.restarts != nil {
		if err := target.restarts.begin(ctx); err != nil {
			res.Outcome, res.Why = Failed, err.Error()
			return res
		}
		defer target.restarts.end(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, s.limit())
	defer cancel()
	began := time.Now()
	t := newT(limited, target)
	if f := t.guarded(s.Run); f != nil {
		res.Outcome, res.Why = Failed, f.text
		if f.notApplicable {
			res.Outcome = NotApplicable
		}
		res.Wire = wire(f.exchanges)
	} else if t.deviation != "" {
		res.Outcome, res.Why, res.Wire = Deviates, t.deviation, wire(t.exchanges())
		if r.Strict {
			res.Outcome = Failed
		}
	}
	res.Took = time.Since(began)

	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancelLast()
	t.ctx = last
	t.main = nil // Its deadline is the scenario's limit, and it may be broken: undoing dials anew.
	res.Left = t.end()
	return res
}

func newT(ctx context.Context, target *target) *T {
	return &T{
		target: target, ctx: ctx,
		prefix: "compat-" + target.run + "-" + strconv.FormatInt(target.serial.Add(1), 10),
	}
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

func wire(exchanges []Exchange) (all []Wire) {
	for _, e := range exchanges {
		all = append(all, e.readable())
	}
	return all
}

func (e Exchange) readable() Wire {
	w := Wire{Request: Readable(e.Request), Response: Readable(e.Response)}
	if e.Err != nil {
		w.Response = e.Err.Error()
	}
	return w
}

// target asks the broker what it serves and who it is.
func (r Runner) target(ctx context.Context) (*target, error) {
	t := &target{
		addr: r.Bootstrap, dial: r.Dial, versions: make(map[int16]kmsg.ApiVersionsResponseApiKey),
		answered: new(answered), run: strconv.FormatInt(time.Now().UnixMilli(), 36), serial: new(atomic.Int64),
	}
	if t.dial == nil {
		t.dial = new(net.Dialer).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := dial(ctx, t.dial, t.addr, "moldau-compat")
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	c.answered = t.answered
	resp, err := c.Do(kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return nil, err
	}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		t.versions[k.ApiKey] = k
	}
	if len(t.versions) == 0 {
		return nil, errors.New("the broker advertises no API")
	}
	md := kmsg.NewPtrMetadataRequest()
	md.Version = 1
	md.Topics = []kmsg.MetadataRequestTopic{}
	if resp, err = c.Do(md); err != nil {
		return nil, err
	}
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
		t.node = b.NodeID
	}
	return t, nil
}
