package server

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// counted is the value of a counter or gauge, summed over its labels.
func counted(t *testing.T, reg *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
		return sum
	}
	t.Fatalf("no metric is named %s", name)
	return 0
}

func TestMetricsLint(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	m.Connections.WithLabelValues("PLAINTEXT")
	m.Accepted.WithLabelValues("PLAINTEXT")
	m.Refused.WithLabelValues("ip")
	m.BrokenPeers.WithLabelValues("size")
	m.QueuedBytes.WithLabelValues("frames")
	for range 2 {
		m.observe(kmsg.Fetch.Int16(), 0.01)
	}
	m.observe(-1, 1)
	m.observe(9999, 1)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "moldau_server_") {
			t.Errorf("%s is not named after its package", f.GetName())
		}
	}
	if n := counted(t, reg, "moldau_server_request_duration_seconds"); n != 2 {
		t.Errorf("%v requests observed", n)
	}
}
