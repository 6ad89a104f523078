package coordinator_test

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/moldau-broker/moldau/coordinator"
)

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	metrics := coordinator.NewMetrics(reg, "toy")
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	bubble(t, func(t *testing.T, r *rig) {
		r.rt = coordinator.New(coordinator.Options{
			Name:     "toy",
			NewShard: func(int32) coordinator.Shard { return newToy() },
			Logger:   slog.New(slog.DiscardHandler),
			Metrics:  metrics,
		})
		r.elect()
		r.ask(put{"a", "1"})
		r.log.Fail(&coordinator.RefusedError{Err: errors.New("full")})
		r.rt.Ask(t.Context(), 0, put{"a", "2"})
		r.rt.Ask(t.Context(), 0, boom{})
		r.ready()
		r.log.Fail(coordinator.ErrNotCoordinator) // That is nobody's failure.
		r.fails(put{"a", "2"}, coordinator.ErrNotCoordinator)
	})
	if families, err = reg.Gather(); err != nil {
		t.Fatal(err)
	}
	counted := make(map[string]float64)
	for _, f := range families {
		counted[f.GetName()] = f.GetMetric()[0].GetCounter().GetValue()
	}
	for _, name := range []string{"records", "refused_appends", "shard_failures", "shard_panics"} {
		if got := counted["moldau_coordinator_"+name+"_total"]; got != 1 {
			t.Errorf("%s: counted %v, want 1", name, got)
		}
	}
}
