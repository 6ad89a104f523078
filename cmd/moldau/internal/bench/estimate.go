package bench

import (
	"time"
)

// rate is how long n of something take.
func rate(n, perSecond float64) time.Duration {
	return time.Duration(n / perSecond * float64(time.Second))
}

// cellOverhead is what each measurement costs beside its load: making and deleting a
// topic, and waiting until that is done.
const cellOverhead = 400 * time.Millisecond

// startTakes is how long a broker takes to start and stop again.
func startTakes(name string) time.Duration {
	if name == nameApache {
		return 7 * time.Second
	}
	return 100 * time.Millisecond
}

// estimate is how long is left of a comparison. The figures behind it are of a quiet
// machine of two cores; on another one they are off by the same factor throughout,
// roughly, which shows as the rows go by.
type estimate struct {
	steps []time.Duration // That are left.
	past  time.Duration   // What those behind should have taken.
	began time.Time
}

func (c comparison) estimate(peers []*peer) *estimate {
	e := &estimate{began: time.Now()}
	s := scale(c.scale)
	first := 3*time.Second + c.idle
	for _, p := range peers {
		starts := c.starts
		if p.name == nameApache {
			starts = min(starts, apacheStarts)
		}
		first += time.Duration(1+max(starts, 1)) * startTakes(p.name)
		warm := float64(c.warmBytes(p.name))
		first += rate(warm, 280<<20) + rate(warm, 550<<20) + rate(float64(s.count(warmSmall)), 7000)
	}
	e.steps = append(e.steps, first)
	for _, w := range c.workloads() {
		plays := c.runsOf(w) * (len(peers) - len(exceptOf(w, peers)))
		e.steps = append(e.steps, time.Duration(plays)*(w.takes(s)+cellOverhead))
	}
	if c.crowded() {
		step := 3*time.Second + c.idle
		for _, p := range peers {
			if p.name == nameApache {
				step += rate(float64(c.partitions), 250)
			}
		}
		e.steps = append(e.steps, step)
	}
	for _, r := range c.restarts() {
		var step time.Duration
		for _, p := range peers {
			if takesPart(p.name) {
				step += r.takes(p.name)
			}
		}
		e.steps = append(e.steps, step)
	}
	return e
}

// exceptOf are the peers that a workload leaves out.
func exceptOf(w workload, peers []*peer) (out []*peer) {
	for _, p := range peers {
		for _, name := range w.except {
			if p.name == name {
				out = append(out, p)
			}
		}
	}
	return out
}

// left is what should be left, by how long it took so far.
func (e *estimate) left() time.Duration {
	var sum time.Duration
	for _, step := range e.steps {
		sum += step
	}
	if e.past == 0 {
		return sum
	}
	return time.Duration(float64(sum) * float64(time.Since(e.began)) / float64(e.past))
}

func (e *estimate) text() string {
	d := e.left()
	if d < 2*time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Minute).String()
}

// done ends a step, and says how much is left.
func (e *estimate) done(what string, c comparison) {
	e.past += e.steps[0]
	e.steps = e.steps[1:]
	if len(e.steps) > 0 {
		c.say("%s done, about %s left", what, e.text())
	}
}
