package differential

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat"
)

// Fuzzer plays worlds on two brokers.
type Fuzzer struct {
	// Here is the broker that is judged, There the control: Apache Kafka.
	Here, There string
	// Seed draws the worlds, First is the first of them.
	Seed  uint64
	First int
	// Worlds and Duration bound the run; zero is no bound.
	Worlds   int
	Duration time.Duration
	// Steps is how many requests a world has. Default 40.
	Steps int
	// APIs, if not empty, are the only ones asked, beside what makes the world.
	APIs []string
	// Patience is how long two brokers may take until they tell the same: what was
	// changed is not seen at once. Default 3 s.
	Patience time.Duration
	// KeepGoing goes on after a difference that is not known.
	KeepGoing bool
	// Out is where differences are printed as they are found, and now and then
	// how far the run has come.
	Out io.Writer
}

// Difference is a place where two answers do not agree.
type Difference struct {
	Seed        uint64
	World       int
	API         kmsg.Key
	Version     int16
	Path        string // Where in the answer.
	Here, There string // What stands there.

	HereAnswer, ThereAnswer string
	Lines                   []Line // The world up to there.
	Known                   *Known

	sent    kmsg.Request // As the control was asked.
	answers [2]kmsg.Response
	near    [2]node // What holds the place, here and there.
	line    int     // Of Lines, the one that differs.
}

// signature is what makes two differences the same one.
func (d *Difference) signature() string {
	return fmt.Sprintf("%s%s: %s, not %s", d.API.Name(), d.Path, kind(d.Here), kind(d.There))
}

// kind keeps a code and forgets numbers and structures.
func kind(s string) string {
	if strings.ContainsAny(s, "{[") || len(s) > 60 {
		return "…"
	}
	return s
}

// Tally is what came of a run.
type Tally struct {
	Worlds, Requests int
	Known            map[string]int
	Found            map[string]int // By signature, how often.
	APIs             map[string]int // How often each was asked.
}

// Run plays worlds until the time is over.
func (f Fuzzer) Run(ctx context.Context) (*Tally, error) {
	f.Steps, f.Patience = cmp.Or(f.Steps, 40), cmp.Or(f.Patience, 3*time.Second)
	offered, err := f.offered(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.warm(ctx); err != nil {
		return nil, err
	}
	r := &run{
		Fuzzer: f, offered: offered, tag: strconv.FormatInt(time.Now().UnixMilli(), 36), printed: time.Now(),
		tally: Tally{Known: map[string]int{}, Found: map[string]int{}, APIs: map[string]int{}},
	}
	begin := time.Now()
	for n := f.First; f.Worlds == 0 || n < f.First+f.Worlds; n++ {
		if f.Duration > 0 && time.Since(begin) > f.Duration || ctx.Err() != nil {
			break
		}
		if err := r.world(ctx, n); err != nil {
			if errors.Is(err, context.Canceled) {
				break
			}
			return &r.tally, fmt.Errorf("seed %d, world %d: %w", f.Seed, n, err)
		}
		if len(r.tally.Found) > 0 && !f.KeepGoing {
			break
		}
		r.progress(time.Since(begin))
	}
	return &r.tally, nil
}

// run is a run under way.
type run struct {
	Fuzzer
	offered versions
	tag     string
	serial  int
	tally   Tally
	printed time.Time
}

func (r *run) play(ctx context.Context, steps []Step, count bool) (*Difference, int, error) {
	r.serial++
	base := time.Now().Add(-10 * time.Hour).UnixMilli()
	w := newWorld(r.Here, r.There, fmt.Sprintf("fz%s-%d-", r.tag, r.serial), base, r.Patience, func(d *Difference) {
		if count {
			r.tally.Known[d.Known.Name]++
		}
	})
	d, err := w.play(ctx, steps)
	return d, len(w.lines), err
}

func (r *run) world(ctx context.Context, n int) error {
	steps := r.Draw(n, r.offered)
	d, asked, err := r.play(ctx, steps, true)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		r.tally.Found[tooLong]++
		_, err := fmt.Fprintf(r.Out, "\n%s: seed %d, world %d, after %d of %d steps\n", tooLong, r.Seed, n, asked, len(steps))
		return err
	}
	if err != nil {
		return err
	}
	r.tally.Worlds++
	r.tally.Requests += asked
	for _, s := range steps[:min(asked, len(steps))] {
		r.tally.APIs[s.API.Name()]++
	}
	if d == nil || d.Known != nil {
		return nil
	}
	d.Seed, d.World = r.Seed, n
	sig := d.signature()
	r.tally.Found[sig]++
	if r.tally.Found[sig] > 1 { // Not shrunk again; but it may be of another cause.
		_, err := fmt.Fprintf(r.Out, "\nagain %s (seed %d, world %d)\n  %s\n  here:    %s\n  control: %s\n", sig, d.Seed, d.World,
			cutAt(d.Lines[d.line].Request, 400), cutAt(d.HereAnswer, 400), cutAt(d.ThereAnswer, 400))
		return err
	}
	return r.report(ctx, steps, d)
}

// tooLong is found in place of a difference when a world does not come to its end.
const tooLong = "a world took longer than its limit"

// shrinkLimit bounds how long a difference is shrunk.
const shrinkLimit = time.Minute

// report shrinks the world of a difference and prints it.
func (r *run) report(ctx context.Context, steps []Step, d *Difference) error {
	for i, s := range steps { // What comes after is not needed.
		if s.Number == d.Lines[len(d.Lines)-1].Number {
			steps = steps[:i+1]
			break
		}
	}
	least, until := d, time.Now().Add(shrinkLimit)
	shrink(steps, 80, func(some []Step) bool {
		if time.Now().After(until) {
			return false
		}
		again, _, err := r.play(ctx, some, false)
		if err != nil || again == nil || again.signature() != d.signature() {
			return false
		}
		least = again
		return true
	})
	least.Seed, least.World = d.Seed, d.World
	_, err := io.WriteString(r.Out, least.String())
	return err
}

// String is the difference as a script.
func (d *Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s (seed %d, world %d)\n", d.signature(), d.Seed, d.World)
	fmt.Fprintf(&b, "  here:    %s\n  control: %s\n", cutAt(d.near[0].String(), 400), cutAt(d.near[1].String(), 400))
	for i, l := range d.Lines {
		fmt.Fprintf(&b, "  %2d. %s\n", l.Number, cut(l.Request))
		switch {
		case i == d.line:
			fmt.Fprintf(&b, "      here:    %s\n      control: %s\n", cut(d.HereAnswer), cut(d.ThereAnswer))
		case l.Answered:
			fmt.Fprintf(&b, "      → %s\n", cut(l.Answer))
		default:
			fmt.Fprintln(&b, "      → waits")
		}
	}
	return b.String()
}

func cut(s string) string { return cutAt(s, 3000) }

func cutAt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// progress prints once a minute how far the run has come.
func (r *run) progress(since time.Duration) {
	if time.Since(r.printed) < time.Minute {
		return
	}
	r.printed = time.Now()
	fmt.Fprintf(r.Out, "%s: %d worlds, %d requests, %d differences, %d known\n",
		since.Round(time.Second), r.tally.Worlds, r.tally.Requests, len(r.tally.Found), sum(r.tally.Known))
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// String is the table at the end of a run.
func (t *Tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d worlds, %d requests\n", t.Worlds, t.Requests)
	for _, api := range slices.Sorted(maps.Keys(t.APIs)) {
		fmt.Fprintf(&b, "  %6d  %s\n", t.APIs[api], api)
	}
	fmt.Fprintf(&b, "known differences: %d\n", sum(t.Known))
	for _, k := range known {
		if n := t.Known[k.Name]; n > 0 {
			fmt.Fprintf(&b, "  %6d  %s (%s)\n", n, k.Name, k.Reference)
		}
	}
	fmt.Fprintf(&b, "unexplained differences: %d\n", len(t.Found))
	for _, sig := range slices.Sorted(maps.Keys(t.Found)) {
		fmt.Fprintf(&b, "  %6d  %s\n", t.Found[sig], sig)
	}
	return b.String()
}

// versions are the lowest and highest of each API that both brokers advertise.
type versions map[kmsg.Key][2]int16

func (f Fuzzer) offered(ctx context.Context) (versions, error) {
	here, err := advertised(ctx, f.Here)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Here, err)
	}
	there, err := advertised(ctx, f.There)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.There, err)
	}
	both := versions{}
	for key, h := range here {
		if t, ok := there[key]; ok {
			lo, hi := max(h[0], t[0]), min(h[1], t[1], kmsg.RequestForKey(key.Int16()).MaxVersion())
			if lo <= hi {
				both[key] = [2]int16{lo, hi}
			}
		}
	}
	return both, nil
}

func advertised(ctx context.Context, addr string) (versions, error) {
	c, err := compat.Dial(ctx, addr, "fuzz")
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, "fuzz", "1"
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	all := versions{}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		if kmsg.RequestForKey(k.ApiKey) != nil {
			all[kmsg.Key(k.ApiKey)] = [2]int16{k.MinVersion, k.MaxVersion}
		}
	}
	return all, nil
}

// source is the chance that draws one world.
func (f Fuzzer) source(world int) *rand.Rand { return rand.New(rand.NewPCG(f.Seed, uint64(world))) }
