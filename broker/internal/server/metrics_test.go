package server

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
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

// TestRequestDuration holds the histogram to its help text.
func TestRequestDuration(t *testing.T) {
	handler := func(_ context.Context, call *api.Call) (api.Answer, error) {
		if _, err := bodyOf(call); err != nil {
			return api.Answer{}, err
		}
		time.Sleep(time.Second)
		return answerOf(call, make([]byte, 300_000)), nil // More than the network buffers.
	}
	for name, tc := range map[string]struct {
		key  kmsg.Key
		size int
		want time.Duration // The last byte is sent 10 s after the first, and the answer read after 3.
	}{
		"a request counts once it is there":     {kmsg.Fetch, 1000, 3 * time.Second},
		"a Produce that is small does too":      {kmsg.Produce, streamBytes - 100, 3 * time.Second},
		"a large one counts from its header on": {kmsg.Produce, streamBytes, 13 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reg := prometheus.NewRegistry()
				r := start(t, handler, func(c *Config) { c.Metrics = NewMetrics(reg) })
				c := r.dial()
				frame := request(tc.key, 1, strings.Repeat("x", tc.size))
				c.send(frame[:len(frame)-1])
				time.Sleep(10 * time.Second)
				c.send(frame[len(frame)-1:])
				time.Sleep(3 * time.Second)
				c.want(1, string(make([]byte, 300_000)))
				synctest.Wait()
				if got := observed(t, reg); got != tc.want {
					t.Errorf("%v", got)
				}
			})
		})
	}
}

// observed is the sum of all request durations.
func observed(t *testing.T, reg *prometheus.Registry) time.Duration {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() == "moldau_server_request_duration_seconds" {
			for _, m := range f.GetMetric() {
				sum += m.GetHistogram().GetSampleSum()
			}
		}
	}
	return time.Duration(sum * float64(time.Second)).Round(time.Millisecond)
}
