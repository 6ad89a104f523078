package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	groups     int
	kfake      string
	apache     string
	only       string
	dir        string
	report     string
	picture    string
	commit     string

	progress io.Writer
	limit    time.Duration // How long a workload may take on a broker.
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
			c.progress, c.limit = cmd.ErrOrStderr(), cellLimit
			return c.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	set.Float64Var(&c.scale, "scale", 0.25, "how much is done; 1 moves a GiB in most workloads")
	set.IntVar(&c.runs, "runs", 3, "how often each workload is played on each broker; the median counts")
	set.IntVar(&c.starts, "starts", 5, "how often each broker is started to time it")
	set.DurationVar(&c.idle, "idle", 20*time.Second, "how long brokers are watched doing nothing")
	set.IntVar(&c.partitions, "idle-partitions", 10_000, "how many partitions they then have, and have when they are started again; 0 leaves both out")
	set.IntVar(&c.groups, "groups", 10_000, "how many groups with offsets they have when they are started again; 0 leaves it out")
	set.StringVar(&c.kfake, "kfake", "", "the `program` built from compat/kfake (default: leave kfake out)")
	set.StringVar(&c.apache, "apache", "", "the `script` compat/apache/control (default: leave Apache Kafka out)")
	set.StringVar(&c.only, "only", "", "play only rows whose name contains this `text`")
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
	startErr   error
	idle       Usage
	idleErr    error
	idleFor    time.Duration
	created    time.Duration // Making the idle partitions.
	partitions Usage
	err        error // Of the idle partitions.
}

// findings is everything that a comparison has found.
type findings struct {
	comparison

	peers     []string
	rows      []row
	restarted []restartRow
	standing  map[string]*standing
	machine   machine
	cut       error // Why it ended early, nil if it did not.
}

// run plays all there is. What a broker fails is told in its place, and the rest goes
// on: only the end of ctx ends it.
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
		f.standing[p.name] = &standing{}
	}
	if err := c.measure(ctx, peers, &f); err != nil {
		return f.cutShort(out, err)
	}
	f.machine.loadAfter = loadAverage()
	return errors.Join(f.write(out), f.failed())
}

// failed is an error if something could not be measured.
func (f findings) failed() error {
	n := 0
	count := func(errs ...error) {
		for _, err := range errs {
			if err != nil {
				n++
			}
		}
	}
	for _, s := range f.standing {
		count(s.startErr, s.idleErr, s.err)
	}
	for _, r := range f.rows {
		for _, c := range r.cells {
			count(c.err)
		}
	}
	for _, r := range f.restarted {
		for _, found := range r.found {
			count(found.err)
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d measurements failed; the report says which and why", n)
}

// measure starts the brokers, plays the rows and watches the brokers at rest. Its
// error is that of ctx.
func (c comparison) measure(ctx context.Context, peers []*peer, f *findings) error {
	left := c.estimate(peers)
	c.say("all of it takes about %s on a quiet machine of two cores", left.text())
	for _, p := range peers {
		c.boot(ctx, p, f.standing[p.name])
	}
	c.watchIdle(ctx, peers, func(p *peer, u Usage, d time.Duration, err error) {
		s := f.standing[p.name]
		s.idle, s.idleFor, s.idleErr = u, d, err
	})
	c.warm(ctx, peers)
	left.done("starting, idling and warming", c)
	for _, w := range c.workloads() {
		r, err := c.play(ctx, w, peers)
		if err != nil {
			return err
		}
		f.rows = append(f.rows, r)
		left.done(w.name, c)
	}
	if c.crowded() {
		c.crowd(ctx, peers, f.standing)
		left.done(c.crowdName(), c)
	}
	for _, r := range c.restarts() {
		played, err := c.playRestart(ctx, r, peers)
		if len(played.found) > 0 { // Of some brokers is better than of none.
			f.restarted = append(f.restarted, played)
		}
		if err != nil {
			return err
		}
		left.done(r.name, c)
	}
	return context.Cause(ctx)
}

// workloads are those that were asked for.
func (c comparison) workloads() []workload {
	return slices.DeleteFunc(workloads(scale(c.scale)), func(w workload) bool { return !contains(w.name, c.only) })
}

// crowdName is the row of the idle partitions.
func (c comparison) crowdName() string { return fmt.Sprintf("%d idle partitions", c.partitions) }

// crowded says whether it was asked for.
func (c comparison) crowded() bool { return c.partitions > 0 && contains(c.crowdName(), c.only) }

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
		p, err := apachePeer(ctx, dir, c.apache)
		if err != nil {
			c.say("Apache Kafka takes no part: %v", err)
			p = &peer{name: nameApache, lost: err}
		}
		add(p, ctx.Err())
	}
	return peers, errors.Join(errs...)
}

func (c comparison) say(format string, args ...any) {
	fmt.Fprintf(c.progress, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// boot times starts of a broker and leaves it running.
func (c comparison) boot(ctx context.Context, p *peer, to *standing) {
	to.start, to.startErr = c.startMedian(ctx, p)
	if to.startErr != nil {
		c.say("%s: %v", p.name, to.startErr)
		return
	}
	c.say("%s started in %s", p.name, short(to.start))
}

func (c comparison) startMedian(ctx context.Context, p *peer) (time.Duration, error) {
	// The first start makes the data directory and reads the program from disk.
	if err := c.revive(ctx, p); err != nil {
		return 0, err
	}
	starts := c.starts
	if p.name == nameApache {
		starts = min(starts, apacheStarts)
	}
	var took []time.Duration
	for range max(starts, 1) {
		if err := p.stop(); err != nil {
			return 0, err
		}
		d, err := p.start(ctx)
		if err != nil {
			return 0, err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// apacheStarts is how often Apache Kafka is started at most: it takes seconds.
const apacheStarts = 2

// revive has a broker run that does not. One that cannot be started is lost for the
// rest of the comparison.
func (c comparison) revive(ctx context.Context, p *peer) error {
	if p.lost != nil || p.running() {
		return p.lost
	}
	if err := p.stop(); err != nil {
		c.say("%v; it is started again", err)
	}
	if _, err := p.start(ctx); err != nil {
		if ctx.Err() == nil {
			p.lost = fmt.Errorf("could not be started: %w", err)
		}
		return err
	}
	return nil
}

// because returns why what was asked of a broker failed: if ctx has ended, that is
// the reason, and not what a client made of it.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// watchIdle measures all brokers at once, while nothing asks anything of them.
func (c comparison) watchIdle(ctx context.Context, peers []*peer, found func(*peer, Usage, time.Duration, error)) {
	if pause(ctx, min(3*time.Second, c.idle)) != nil { // What starting left to do.
		return
	}
	meters := map[*peer]*meter{}
	for _, p := range peers {
		if !p.running() {
			found(p, Usage{}, 0, fmt.Errorf("%s does not run", p.name))
			continue
		}
		m, err := watch(p.pid())
		if err != nil {
			found(p, Usage{}, 0, err)
			continue
		}
		meters[p] = m
	}
	began := time.Now()
	_ = pause(ctx, c.idle) // If it was cut short the caller sees that from ctx.
	for p, m := range meters {
		u, err := m.done()
		if err != nil {
			found(p, Usage{}, 0, err)
			continue
		}
		found(p, *u, time.Since(began), nil)
	}
}

// warmBytes is how much a broker is warmed with.
func (c comparison) warmBytes(name string) int64 {
	if name == nameApache {
		return scale(c.scale).bytes(4 * gib)
	}
	return scale(c.scale).bytes(gib / 8)
}

// warm puts a load on each broker before any is measured: Apache Kafka's machine
// code is made while it runs. What fails here fails again where it counts.
func (c comparison) warm(ctx context.Context, peers []*peer) {
	for _, p := range peers {
		if c.revive(ctx, p) != nil {
			continue
		}
		c.say("warming %s with %s", p.name, size(c.warmBytes(p.name)))
		limited, cancel := p.whileRunning(ctx, cellLimit)
		if err := because(limited, c.warmOne(limited, p)); err != nil {
			c.say("warming %s failed: %v", p.name, err)
		}
		cancel()
	}
}

func (c comparison) warmOne(ctx context.Context, p *peer) error {
	for range 4 {
		load := ConsumeLoad{Fill: ProduceLoad{RecordBytes: 1 << 10, Acks: -1, Count: c.warmBytes(p.name) / 4 >> 10}}
		if _, err := Consume(ctx, p.target(), load); err != nil {
			return err
		}
	}
	small := ProduceLoad{RecordBytes: 1 << 10, Acks: -1, OneByOne: true, Count: scale(c.scale).count(warmSmall)}
	_, err := Produce(ctx, p.target(), small)
	return err
}

// warmSmall is how many records of a request each a broker is warmed with.
const warmSmall = 40_000

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
	all := map[string][]cell{}
	for n := range c.runsOf(w) {
		// Each run begins with another: what one leaves behind is not always the same
		// one's advantage.
		first := n % len(peers)
		for _, p := range slices.Concat(peers[first:], peers[:first]) {
			if slices.Contains(w.except, p.name) || hopeless(all[p.name]) {
				continue
			}
			if err := pause(ctx, settleFor); err != nil {
				return row{}, err
			}
			r, err := c.playOnce(ctx, w, p)
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

func (c comparison) runsOf(w workload) int {
	if w.once {
		return 1
	}
	return max(c.runs, 1)
}

// hopeless says that a broker failed a workload twice, which is not tried a third
// time: it may have taken all of its time.
func hopeless(cells []cell) bool {
	return len(cells) == 2 && cells[0].err != nil && cells[1].err != nil
}

// playOnce runs a workload on one broker. One that took all of its time may be stuck:
// it is stopped, so that the next row finds it fresh.
func (c comparison) playOnce(ctx context.Context, w workload, p *peer) (Result, error) {
	if err := c.revive(ctx, p); err != nil {
		return Result{}, err
	}
	if err := makeRoom(filepath.Dir(p.log), 5*scale(c.scale).bytes(gib)/4); err != nil {
		return Result{}, err
	}
	runtime.GC() // This process is the client; each begins with it alike.
	limited, cancel := p.whileRunning(ctx, c.limit)
	defer cancel()
	r, err := w.play(limited, p.target(), scale(c.scale))
	err = because(limited, err)
	if err != nil && limited.Err() != nil && p.running() {
		err = errors.Join(err, p.stop())
	}
	return r, err
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

// crowd gives each broker many partitions and watches them again.
func (c comparison) crowd(ctx context.Context, peers []*peer, to map[string]*standing) {
	var there []*peer
	for _, p := range peers {
		if p.name == nameFloor || p.name == nameHeader {
			continue
		}
		s := to[p.name]
		if s.err = c.revive(ctx, p); s.err != nil {
			continue
		}
		began := time.Now()
		limited, cancel := p.whileRunning(ctx, cellLimit)
		made, err := makeCrowd(limited, p.target(), c.partitions)
		defer c.cleanUp(ctx, p, made.remover(p.target()))
		s.created, s.err = time.Since(began), because(limited, err)
		cancel()
		if s.err != nil {
			c.say("%s could not make %d partitions: %v", p.name, c.partitions, s.err)
			continue
		}
		c.say("%s made %d partitions in %s", p.name, c.partitions, short(s.created))
		there = append(there, p)
	}
	c.watchIdle(ctx, there, func(p *peer, u Usage, d time.Duration, err error) {
		s := to[p.name]
		s.partitions, s.err = u, err
		if s.idleFor == 0 {
			s.idleFor = d
		}
	})
}
