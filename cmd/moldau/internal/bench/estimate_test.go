package bench

import (
	"strings"
	"testing"
	"time"
)

// TestEstimate: more to do takes longer, what is not asked for nothing, and what is
// left shrinks to nothing.
func TestEstimate(t *testing.T) {
	peers := []*peer{{name: nameFloor}, {name: nameOurs}}
	c := comparison{scale: 0.25, runs: 1, partitions: 100, groups: 100, progress: &strings.Builder{}}
	base := c.estimate(peers).left()
	for name, change := range map[string]func(*comparison){
		"scale":      func(c *comparison) { c.scale = 1 },
		"runs":       func(c *comparison) { c.runs = 3 },
		"idle":       func(c *comparison) { c.idle = time.Minute },
		"groups":     func(c *comparison) { c.groups = 100_000 },
		"partitions": func(c *comparison) { c.partitions = 100_000 },
	} {
		more := c
		change(&more)
		if got := more.estimate(peers).left(); got <= base {
			t.Errorf("more of %s takes %v, less %v", name, got, base)
		}
	}
	if got := c.estimate(append(peers, &peer{name: nameApache})).left(); got <= base {
		t.Errorf("Apache Kafka too takes %v, without it %v", got, base)
	}
	less := c
	less.only = "end to end"
	if got := less.estimate(peers).left(); got >= base {
		t.Errorf("one row takes %v, all %v", got, base)
	}
	e := c.estimate(peers)
	if want := 1 + len(c.workloads()) + 1 + len(c.restarts()); len(e.steps) != want {
		t.Fatalf("%d steps, want %d", len(e.steps), want)
	}
	for len(e.steps) > 0 {
		e.done("a step", c)
	}
	if e.left() != 0 {
		t.Errorf("%v left at the end", e.left())
	}
}
