package scenario

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// counted restarts nothing, and counts how often.
func counted(times *int, err error) *restarts {
	return newRestarts(func(context.Context) error {
		*times++
		time.Sleep(time.Minute) // In a bubble.
		return err
	})
}

// plays runs scenarios at once, each of which asks for a restart after each of the times
// that it is told, but ends after a negative one; it returns what each was told last.
func plays(t *testing.T, r *restarts, limit time.Duration, scenarios ...[]time.Duration) []error {
	t.Helper()
	errs := make([]error, len(scenarios))
	for range scenarios {
		if err := r.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	for i, asks := range scenarios {
		go func() {
			defer func() { done <- struct{}{} }()
			defer r.end(t.Context())
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			for _, after := range asks {
				if time.Sleep(after.Abs()); after < 0 {
					return
				}
				if errs[i] = r.meet(ctx); errs[i] != nil {
					return
				}
			}
		}()
	}
	for range scenarios {
		<-done
	}
	return errs
}

// TestScenariosMeet: the broker is restarted when all that run wait for it, whoever comes
// last; who has ended is not waited for.
func TestScenariosMeet(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		scenarios [][]time.Duration
		want      int
	}{
		"one":                           {[][]time.Duration{{s}}, 1},
		"three that meet once":          {[][]time.Duration{{s}, {2 * s}, {3 * s}}, 1},
		"one that wants it twice":       {[][]time.Duration{{s, s}, {2 * s}}, 2},
		"one that ends and wants none":  {[][]time.Duration{{}, {s}, {2 * s}}, 1},
		"one that ends after the rest":  {[][]time.Duration{{-time.Hour}, {s}, {2 * s}}, 1},
		"none that wants one":           {[][]time.Duration{{}, {}}, 0},
		"all that want it three times":  {[][]time.Duration{{s, s, s}, {s, 2 * s, s}, {3 * s, s, s}}, 3},
		"one that comes after the rest": {[][]time.Duration{{s}, {time.Hour}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				times := 0
				for _, err := range plays(t, counted(&times, nil), 2*time.Hour, c.scenarios...) {
					if err != nil {
						t.Error(err)
					}
				}
				if times != c.want {
					t.Errorf("restarted %d times, want %d", times, c.want)
				}
			})
		})
	}
}

// TestWhoCannotWait: one whose limit comes first is told so, and the others have their
// restart when it has ended.
func TestWhoCannotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := 0
		r := counted(&times, nil)
		for range 2 {
			if err := r.begin(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		late := make(chan error)
		go func() {
			defer r.end(t.Context())
			time.Sleep(time.Hour)
			late <- r.meet(t.Context())
		}()
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.meet(hasty); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the hasty one was told %v", err)
		}
		r.end(t.Context())
		if err := <-late; err != nil || times != 1 {
			t.Errorf("the other was told %v after %d restarts", err, times)
		}
	})
}

// TestRestartThatFails tells everybody who waited, and the next is another.
func TestRestartThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times, broken := 0, errors.New("no such container")
		for _, err := range plays(t, counted(&times, broken), time.Hour, []time.Duration{time.Second}, []time.Duration{time.Second}) {
			if !errors.Is(err, broken) {
				t.Errorf("told %v", err)
			}
		}
		if times != 1 {
			t.Errorf("restarted %d times", times)
		}
	})
}

// TestWhoMayRestart: without a way to restart nothing is begun, and a scenario that does
// not say that it restarts is wrong.
func TestWhoMayRestart(t *testing.T) {
	ran := false
	end := Play(t.Context(), new(Target), Scenario{Restarts: true, Run: func(*T) { ran = true }})
	if !end.NotApplicable || ran {
		t.Errorf("%+v, ran %v", end, ran)
	}
	times := 0
	f := (&T{target: &Target{restarts: counted(&times, nil)}}).guarded((*T).Restart)
	if f == nil || f.notApplicable || !strings.Contains(f.text, "Scenario.Restarts") || times != 0 {
		t.Errorf("%+v after %d restarts", f, times)
	}
}
