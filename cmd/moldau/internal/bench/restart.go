package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// restart is a row about a broker that comes back: it is given something, stopped
// in good order, started again, and timed until all is done that it then has to do.
type restart struct {
	name string
	// done says in a few words what it is timed until.
	done string
	// count is how much of units there is, of which the rate is told; else 0.
	count int64
	units string
	want  restartTarget
	limit time.Duration // Of each of its steps but start and stop.
	takes func(name string) time.Duration
	fill  func(ctx context.Context, p *peer) (contents, error)
}

// restartTarget is what was promised of a restart. Zero promises nothing.
type restartTarget struct {
	first         time.Duration // From exec to the first answered request.
	done          time.Duration // From exec.
	anonBytes     int64         // The peak on the way there.
	residentBytes int64         // The same with what is file-backed.
}

// contents is what a broker was given.
type contents struct {
	// await returns when all is done.
	await func(ctx context.Context, p *peer) error
	// check says whether it was done right. Nil if await sees that.
	check func(ctx context.Context, p *peer) error
	// remove takes away what can be.
	remove func(ctx context.Context)
}

// revival is what a restart found on one broker.
type revival struct {
	filled, stopped time.Duration
	first, done     time.Duration // From exec.
	usage           Usage         // From exec until done.
	err             error
}

// restartRow is a restart with what was found.
type restartRow struct {
	restart

	found map[string]revival
}

// restarts is what is played after the workloads. Groups are last: what is deleted of
// them stays in their log for a while, and would be read at the next start.
func (c comparison) restarts() []restart {
	rows := []restart{compaction(scale(c.scale).count(10_000_000))}
	if c.partitions > 0 {
		rows = append(rows, manyPartitions(c.partitions))
	}
	if c.groups > 0 {
		rows = append(rows, manyGroups(c.groups))
	}
	return slices.DeleteFunc(rows, func(r restart) bool { return !contains(r.name, c.only) })
}

// takesPart says whether restarts are played on a broker: the others keep nothing,
// or do nothing but ours over again.
func takesPart(name string) bool { return name == nameOurs || name == nameApache }

// playRestart plays one on each broker in turn.
func (c comparison) playRestart(ctx context.Context, r restart, peers []*peer) (restartRow, error) {
	out := restartRow{restart: r, found: map[string]revival{}}
	for _, p := range peers {
		if !takesPart(p.name) {
			continue
		}
		found := c.revivalOf(ctx, r, p)
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		out.found[p.name] = found
		if found.err != nil {
			c.say("%s: %s failed: %v", r.name, p.name, found.err)
			continue
		}
		c.say("%s: %s first answer after %s, %s after %s, anonymous %s", r.name, p.name,
			short(found.first), r.done, short(found.done), size(found.usage.AnonPeakBytes))
	}
	return out, nil
}

func (c comparison) revivalOf(ctx context.Context, r restart, p *peer) (found revival) {
	if found.err = c.revive(ctx, p); found.err != nil {
		return found
	}
	began := time.Now()
	limited, cancel := p.whileRunning(ctx, r.limit)
	given, err := r.fill(limited, p)
	if given.remove != nil {
		defer func() { c.cleanUp(ctx, p, given.remove) }()
	}
	err = because(limited, err)
	cancel()
	if err != nil {
		found.err = fmt.Errorf("before the restart: %w", err)
		return found
	}
	found.filled = time.Since(began)
	began = time.Now()
	if found.err = p.stop(); found.err != nil {
		return found
	}
	found.stopped = time.Since(began)
	found.err = found.measure(ctx, r, p, given)
	return found
}

// measure starts the broker and waits until all is done.
func (found *revival) measure(ctx context.Context, r restart, p *peer, given contents) error {
	if err := p.launch(); err != nil {
		return err
	}
	m, err := watch(p.pid())
	if err != nil {
		return errors.Join(err, p.stop())
	}
	found.first, err = p.answers(ctx)
	if err == nil {
		limited, cancel := p.whileRunning(ctx, r.limit)
		err = because(limited, given.await(limited, p))
		found.done = time.Since(p.began)
		cancel()
	}
	usage, gone := m.done()
	if err := errors.Join(err, gone); err != nil {
		return err
	}
	found.usage = *usage
	if given.check == nil {
		return nil
	}
	limited, cancel := p.whileRunning(ctx, r.limit)
	defer cancel()
	return because(limited, given.check(limited, p))
}

// cleanUp removes what a row has made, if the broker is there to be asked.
func (c comparison) cleanUp(ctx context.Context, p *peer, remove func(context.Context)) {
	if !p.running() {
		return
	}
	limited, cancel := p.whileRunning(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	remove(limited)
}

// removeLimit is how long a broker may take to remove what a row has made.
const removeLimit = time.Minute

// verdicts holds a row against its target.
func (r restartRow) verdicts() []verdict {
	found, there := r.found[nameOurs]
	known := there && found.err == nil
	var all []verdict
	add := func(promise, value string, ok bool) {
		if !known {
			value = "not measured"
		}
		all = append(all, verdict{r.name, promise, value, known && ok})
	}
	if limit := r.want.first; limit > 0 {
		add("first answer after a clean stop < "+short(limit), short(found.first), found.first < limit)
	}
	if limit := r.want.done; limit > 0 {
		add(r.done+" < "+short(limit)+" from exec", short(found.done), found.done < limit)
	}
	if limit := r.want.anonBytes; limit > 0 {
		add("anonymous memory < "+size(limit), size(found.usage.AnonPeakBytes), found.usage.AnonPeakBytes < limit)
	}
	if limit := r.want.residentBytes; limit > 0 {
		bytes := found.usage.AnonPeakBytes + found.usage.FilePeakBytes
		add("resident memory < "+size(limit), size(bytes), bytes < limit)
	}
	return all
}

// rate is how much of the row's units was done a second, starting not counted.
func (r restartRow) rate(found revival) string {
	if r.count == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %s", per(float64(r.count), (found.done-found.first).Seconds()), r.units)
}
