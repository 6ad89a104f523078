package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// comparison is what `moldau bench compare` is asked for.
type comparison struct {
	scale      float64
	runs       int
	starts     int
	idle       time.Duration
	partitions int
	kfake      string
	apache     string
	only       string
	dir        string
	report     string
	picture    string
	commit     string

	progress io.Writer
}

func compareCommand() *cobra.Command {
	var c comparison
	cmd := &cobra.Command{
		Use:    "compare",
		Hidden: true,
		Short:  "Measure this broker, the floor and others in turn (make bench)",
		Long: "Measure this broker, the floor, kfake and Apache Kafka in turn, workload by workload,\n" +
			"and print the costs with their ratio to the floor's. `make bench` builds what it\n" +
			"needs and runs it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.progress = cmd.ErrOrStderr()
			return c.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	set.Float64Var(&c.scale, "scale", 0.25, "how much is done; 1 moves a GiB in most workloads")
	set.IntVar(&c.runs, "runs", 3, "how often each workload is played on each broker; the median counts")
	set.IntVar(&c.starts, "starts", 5, "how often each broker is started to time it")
	set.DurationVar(&c.idle, "idle", 20*time.Second, "how long brokers are watched doing nothing")
	set.IntVar(&c.partitions, "idle-partitions", 10_000, "how many partitions they then have; 0 leaves it out")
	set.StringVar(&c.kfake, "kfake", "", "the `program` built from compat/kfake (default: leave kfake out)")
	set.StringVar(&c.apache, "apache", "", "the `script` compat/apache/control (default: leave Apache Kafka out)")
	set.StringVar(&c.only, "only", "", "play only workloads whose name contains this `text`")
	set.StringVar(&c.dir, "dir", "", "the `directory` for everybody's data (default: the system's temporary one)")
	set.StringVar(&c.report, "report", "", "write the report to this Markdown `file`")
	set.StringVar(&c.picture, "picture", "", "write the ratios as a picture to this SVG `file`")
	set.StringVar(&c.commit, "commit", "unknown", "what the report calls the state that was measured")
	return cmd
}

// cell is what a workload found on one broker.
type cell struct {
	Result

	err    error
	failed int // Of several runs, which count as worse than all others.
	runs   int
}

// row is a workload with what was found.
type row struct {
	workload

	cells map[string]cell
}

// standing is what a broker costs that nobody uses.
type standing struct {
	start      time.Duration // Process start to first answered request, median.
	idle       Usage
	idleFor    time.Duration
	created    time.Duration // Making the idle partitions.
	partitions Usage
	err        error // Of the idle partitions.
}

// findings is everything that a comparison has found.
type findings struct {
	comparison

	peers    []string
	rows     []row
	standing map[string]*standing
	machine  machine
	cut      error // Why it ended early, nil if it did not.
}

func (c comparison) run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp(c.dir, "moldau-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // In a temporary directory: left over at worst.
	peers, err := c.peers(ctx, dir)
	if err != nil {
		return err
	}
	defer func() {
		for _, p := range peers {
			_ = p.stop()
		}
	}()
	f := findings{comparison: c, standing: map[string]*standing{}, machine: thisMachine()}
	for _, p := range peers {
		f.peers = append(f.peers, p.name)
		s, err := c.boot(ctx, p)
		if err != nil {
			return err
		}
		f.standing[p.name] = s
	}
	if err := c.watchIdle(ctx, peers, f.standing, func(s *standing) *Usage { return &s.idle }); err != nil {
		return err
	}
	if err := c.warm(ctx, peers); err != nil {
		return err
	}
	if err := c.measure(ctx, peers, &f); err != nil {
		return f.cutShort(out, err)
	}
	f.machine.loadAfter = loadAverage()
	return f.write(out)
}

// measure plays the workloads and then watches the brokers with many partitions.
func (c comparison) measure(ctx context.Context, peers []*peer, f *findings) error {
	for _, w := range workloads(scale(c.scale)) {
		if !contains(w.name, c.only) {
			continue
		}
		r, err := c.play(ctx, w, peers)
		if err != nil {
			return err
		}
		f.rows = append(f.rows, r)
	}
	if c.partitions > 0 {
		return c.crowd(ctx, peers, f.standing)
	}
	return nil
}

// peers readies the brokers to compare; none runs yet.
func (c comparison) peers(ctx context.Context, dir string) ([]*peer, error) {
	var peers []*peer
	var errs []error
	add := func(p *peer, err error) {
		peers, errs = append(peers, p), append(errs, err)
	}
	add(floorPeer(dir))
	add(ourPeer(nameOurs, dir))
	add(ourPeer(nameHeader, dir, "moldau.produce.validation=header"))
	if c.kfake != "" {
		add(kfakePeer(dir, c.kfake))
	}
	if c.apache != "" {
		c.say("readying Apache Kafka")
		add(apachePeer(ctx, dir, c.apache))
	}
	return peers, errors.Join(errs...)
}

func (c comparison) say(format string, args ...any) {
	fmt.Fprintf(c.progress, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// boot times starts of a broker and leaves it running.
func (c comparison) boot(ctx context.Context, p *peer) (*standing, error) {
	// The first start makes the data directory and reads the program from disk.
	if _, err := p.start(ctx); err != nil {
		return nil, err
	}
	starts := c.starts
	if p.name == nameApache {
		starts = min(starts, 2) // Seconds each.
	}
	var took []time.Duration
	for range max(starts, 1) {
		if err := p.stop(); err != nil {
			return nil, err
		}
		d, err := p.start(ctx)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	median := took[len(took)/2]
	c.say("%s started in %s", p.name, short(median))
	return &standing{start: median}, nil
}

// watchIdle measures all brokers at once, while nothing asks anything of them.
func (c comparison) watchIdle(ctx context.Context, peers []*peer, to map[string]*standing, where func(*standing) *Usage) error {
	if err := pause(ctx, min(3*time.Second, c.idle)); err != nil { // What starting left to do.
		return err
	}
	meters := map[string]*meter{}
	for _, p := range peers {
		m, err := watch(p.pid())
		if err != nil {
			return err
		}
		meters[p.name] = m
	}
	began := time.Now()
	waited := pause(ctx, c.idle)
	for name, m := range meters {
		u, err := m.done()
		if err != nil {
			return err
		}
		*where(to[name]) = *u
		to[name].idleFor = time.Since(began)
	}
	return waited
}

// warm puts a load on each broker before any is measured: Apache Kafka's machine
// code is made while it runs.
func (c comparison) warm(ctx context.Context, peers []*peer) error {
	for _, p := range peers {
		bytes := scale(c.scale).bytes(gib / 8)
		if p.name == nameApache {
			bytes = scale(c.scale).bytes(4 * gib)
		}
		c.say("warming %s with %s", p.name, size(bytes))
		for range 4 {
			load := ConsumeLoad{Fill: ProduceLoad{RecordBytes: 1 << 10, Acks: -1, Count: bytes / 4 >> 10}}
			if _, err := Consume(ctx, p.target(), load); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		small := ProduceLoad{RecordBytes: 1 << 10, Acks: -1, OneByOne: true, Count: scale(c.scale).count(40_000)}
		if _, err := Produce(ctx, p.target(), small); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// target is the peer with topics whose files go as soon as they are deleted: Kafka
// keeps them for a minute, and with them the memory that the next broker needs.
func (p *peer) target() Target {
	return Target{
		Bootstrap: []string{p.addr}, PID: p.pid(),
		TopicConfigs: map[string]string{"file.delete.delay.ms": "0"},
	}
}

// settleFor is how long a broker has to delete a topic before the next is measured.
const settleFor = 100 * time.Millisecond

// cellLimit is how long one workload may take on one broker.
const cellLimit = 5 * time.Minute

// play runs a workload on each broker in turn, as often as wanted, and keeps
// the median.
func (c comparison) play(ctx context.Context, w workload, peers []*peer) (row, error) {
	runs := max(c.runs, 1)
	if w.once {
		runs = 1
	}
	all := map[string][]cell{}
	for n := range runs {
		// Whoever comes after a broker that has just freed the memory of its files
		// writes into it more cheaply: each run begins with another.
		first := n % len(peers)
		for _, p := range slices.Concat(peers[first:], peers[:first]) {
			if slices.Contains(w.except, p.name) {
				continue
			}
			if err := pause(ctx, settleFor); err != nil {
				return row{}, err
			}
			runtime.GC() // This process is the client; each begins with it alike.
			limited, cancel := context.WithTimeout(ctx, cellLimit)
			r, err := w.play(limited, p.target(), scale(c.scale))
			cancel()
			if ctx.Err() != nil {
				return row{}, context.Cause(ctx)
			}
			if err != nil {
				c.say("%s: %s failed: %v", w.name, p.name, err)
			}
			all[p.name] = append(all[p.name], cell{Result: r, err: err})
		}
	}
	out := row{workload: w, cells: map[string]cell{}}
	for name, cells := range all {
		out.cells[name] = median(cells, w.by)
		if got := out.cells[name]; got.err == nil {
			c.say("%s: %s %s, %.0f records/s, p99 %s", w.name, name, w.by.text(got.Result), got.RecordsPerSecond(), short(got.Latency.P99))
		}
	}
	return out, nil
}

// median returns the cell in the middle by a measure. A run that failed is worse
// than any that did not.
func median(cells []cell, by measure) cell {
	sorted := slices.Clone(cells)
	slices.SortStableFunc(sorted, func(a, b cell) int {
		switch {
		case a.err != nil && b.err != nil:
			return 0
		case a.err != nil:
			return 1
		case b.err != nil:
			return -1
		}
		return cmp.Compare(by.of(a.Result), by.of(b.Result))
	})
	middle := sorted[(len(sorted)-1)/2]
	middle.runs = len(sorted)
	for _, c := range sorted {
		if c.err != nil {
			middle.failed++
		}
	}
	return middle
}

// topicsOfCrowd is how many topics the idle partitions are spread over: Kafka
// refuses to make more than 10,000 records of metadata at once.
const topicsOfCrowd = 10

// fill makes the idle partitions on a broker, and returns what removes them.
func (c comparison) fill(ctx context.Context, p *peer) (remove func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, cellLimit)
	defer cancel()
	var made []func()
	remove = func() {
		for _, one := range made {
			one()
		}
	}
	t := p.target()
	for left, topics := c.partitions, topicsOfCrowd; topics > 0; topics-- {
		t.Partitions = left / topics
		if left -= t.Partitions; t.Partitions == 0 {
			continue
		}
		_, one, err := t.topic(ctx)
		if err != nil {
			return remove, err
		}
		made = append(made, one)
	}
	return remove, nil
}

// crowd gives each broker many partitions and watches them again.
func (c comparison) crowd(ctx context.Context, peers []*peer, to map[string]*standing) error {
	for _, p := range peers {
		if p.name == nameFloor || p.name == nameHeader {
			continue
		}
		s := to[p.name]
		began := time.Now()
		remove, err := c.fill(ctx, p)
		defer remove()
		if s.created, s.err = time.Since(began), err; err != nil {
			c.say("%s could not make %d partitions: %v", p.name, c.partitions, err)
			continue
		}
		c.say("%s made %d partitions in %s", p.name, c.partitions, short(s.created))
	}
	return c.watchIdle(ctx, peers, to, func(s *standing) *Usage { return &s.partitions })
}
