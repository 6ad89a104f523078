package compat_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/broker"
	"github.com/moldau-broker/moldau/compat"
)

// address is the broker under test: MOLDAU_COMPAT if set (the control, say, with
// MOLDAU_COMPAT_STRICT=1), else one of ours in this process.
func address(t *testing.T) string {
	if addr := os.Getenv("MOLDAU_COMPAT"); addr != "" {
		return addr
	}
	b, err := broker.New(broker.Config{
		Dir: t.TempDir(), Listen: "127.0.0.1:0",
		Settings: map[string]string{"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "4"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the broker ended: %v", err)
		}
	})
	select {
	case <-b.Ready():
	case err := <-done:
		t.Fatalf("the broker did not start: %v", err)
	}
	return b.Addr().String()
}

// TestScenarios plays every scenario that is not slow; with -short, and the slow
// ones too with MOLDAU_COMPAT_SLOW.
func TestScenarios(t *testing.T) {
	r := compat.Runner{
		Bootstrap: address(t), Parallel: 16,
		Quick:  os.Getenv("MOLDAU_COMPAT_SLOW") == "",
		Strict: os.Getenv("MOLDAU_COMPAT_STRICT") != "",
	}
	began := time.Now()
	report, err := r.Run(t.Context(), compat.Scenarios())
	if err != nil {
		t.Fatal(err)
	}
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
	_, all := report.Counts()
	t.Logf("%d passed, %d deviate, %d do not apply, in %v", all.Passed, all.Deviates, all.NotApplicable, time.Since(began))
	if all.Passed < len(report.Results)/2 {
		t.Errorf("only %d of %d scenarios passed: the suite tells nothing", all.Passed, len(report.Results))
	}
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
		case s.Run == nil:
			t.Errorf("%s: nothing to run", s.ID)
		}
		seen[s.ID] = true
	}
}
