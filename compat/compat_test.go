package compat_test

import (
	"cmp"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moldau-broker/moldau/broker/brokertest"
	"github.com/moldau-broker/moldau/compat"
)

// address is the broker under test: MOLDAU_COMPAT if set (the control, say, with
// MOLDAU_COMPAT_STRICT=1), else one of ours in this process.
func address(t *testing.T) string {
	if addr := os.Getenv("MOLDAU_COMPAT"); addr != "" {
		return addr
	}
	return brokertest.Start(t, brokertest.Config("offsets.topic.num.partitions=4")).Addr()
}

// TestScenarios plays every scenario that is not slow over sockets, as they are
// played against Apache Kafka; with MOLDAU_COMPAT_SLOW the slow ones too.
func TestScenarios(t *testing.T) {
	r := compat.Runner{
		Bootstrap: address(t), Parallel: 16,
		Quick:  os.Getenv("MOLDAU_COMPAT_SLOW") == "",
		Strict: os.Getenv("MOLDAU_COMPAT_STRICT") != "",
	}
	began := time.Now()
	scenarios := compat.Scenarios()
	for i, s := range scenarios {
		scenarios[i].Limit = patience * cmp.Or(s.Limit, compat.DefaultLimit)
	}
	report, err := r.Run(t.Context(), scenarios)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, report)
	_, all := report.Counts()
	t.Logf("%d passed, %d deviate, %d do not apply, in %v", all.Passed, all.Deviates, all.NotApplicable, time.Since(began))
	if all.Passed < len(report.Results)/2 {
		t.Errorf("only %d of %d scenarios passed: the suite tells nothing", all.Passed, len(report.Results))
	}
}

// judge fails the test for every scenario that failed.
func judge(t *testing.T, report *compat.Report) {
	for _, res := range report.Results {
		if res.Outcome != compat.Failed {
			continue
		}
		var wire strings.Builder
		for _, w := range res.Wire {
			wire.WriteString("\n> " + w.Request + "\n< " + w.Response)
		}
		t.Errorf("%s: %s\n%s%s", res.ID, res.Says, res.Why, wire.String())
	}
}

// TestSlowScenarios plays in a bubble, where a session times out in no time, what
// is slow elsewhere.
func TestSlowScenarios(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t)
		slow := slices.DeleteFunc(compat.Scenarios(), func(s compat.Scenario) bool { return !s.Slow })
		r := compat.Runner{Bootstrap: mb.Addr(), Dial: mb.Dial}
		report, err := r.Run(t.Context(), slow)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Results) == 0 {
			t.Fatal("no scenario is slow")
		}
		judge(t, report)
	})
}

// TestFirstQuestion plays scenarios whose question is the first one that a broker is
// asked: no coordinator of groups serves yet.
func TestFirstQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t)
		first := slices.DeleteFunc(compat.Scenarios(), func(s compat.Scenario) bool { return s.ID != "groups.consumer.describe-empty-id" })
		report, err := compat.Runner{Bootstrap: mb.Addr(), Dial: mb.Dial}.Run(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Results) != 1 {
			t.Fatalf("%d scenarios were played", len(report.Results))
		}
		judge(t, report)
	})
}

// TestScenariosAreWellFormed holds the list to its own rules.
func TestScenariosAreWellFormed(t *testing.T) {
	id := regexp.MustCompile(`^[a-z]+(\.[a-z0-9-]+)+$`)
	seen := map[string]bool{}
	for _, s := range compat.Scenarios() {
		switch {
		case !id.MatchString(s.ID):
			t.Errorf("%s: not an id", s.ID)
		case seen[s.ID]:
			t.Errorf("%s: twice", s.ID)
		case s.Says == "" || !strings.HasSuffix(s.Says, "."):
			t.Errorf("%s: %q is no sentence", s.ID, s.Says)
		case s.Since != "" && !compat.ValidRelease(s.Since):
			t.Errorf("%s: %q is no release", s.ID, s.Since)
		case s.Run == nil:
			t.Errorf("%s: nothing to run", s.ID)
		}
		seen[s.ID] = true
	}
}

// TestRestarts plays what restarts the broker, with the ways in which one ends. It does so
// over sockets: clients that never rest would keep a bubble's time from passing.
func TestRestarts(t *testing.T) {
	for name, end := range map[string]func(*brokertest.Cluster){"stop": (*brokertest.Cluster).Stop, "kill": (*brokertest.Cluster).Kill} {
		t.Run(name, func(t *testing.T) {
			mb := brokertest.Start(t)
			restarting := slices.DeleteFunc(compat.Scenarios(), func(s compat.Scenario) bool { return !s.Restarts })
			times := 0
			r := compat.Runner{Bootstrap: mb.Addr(), Restart: func(context.Context) error {
				end(mb)
				mb.Restart()
				times++
				return nil
			}}
			report, err := r.Run(t.Context(), restarting)
			if err != nil {
				t.Fatal(err)
			}
			judge(t, report)
			if _, all := report.Counts(); all.Passed < 10 {
				t.Errorf("%d scenarios passed", all.Passed)
			}
			if times > 5 {
				t.Errorf("%d scenarios restarted the broker %d times: they share restarts", len(report.Results), times)
			}
		})
	}
}
