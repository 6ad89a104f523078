package coordinator

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts what one runtime does. Names are moldau_coordinator_<what>, and
// the label coordinator holds Options.Name.
type Metrics struct {
	Records     prometheus.Counter   // moldau_coordinator_records_total
	Refused     prometheus.Counter   // moldau_coordinator_refused_appends_total
	Rejected    prometheus.Counter   // moldau_coordinator_rejected_inputs_total: the queue was full.
	Failures    prometheus.Counter   // moldau_coordinator_shard_failures_total
	Panics      prometheus.Counter   // moldau_coordinator_shard_panics_total
	LoadSeconds prometheus.Histogram // moldau_coordinator_load_duration_seconds
}

// NewMetrics makes the metrics of the coordinator of the given name, and
// registers them with reg unless that is nil.
func NewMetrics(reg prometheus.Registerer, name string) *Metrics {
	labels := prometheus.Labels{"coordinator": name}
	counter := func(what, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "moldau", Subsystem: "coordinator", Name: what, Help: help, ConstLabels: labels,
		})
	}
	m := &Metrics{
		Records:  counter("records_total", "Records that shards wrote to their logs."),
		Refused:  counter("refused_appends_total", "Appends that the log refused without harm, for instance for want of in-sync replicas."),
		Rejected: counter("rejected_inputs_total", "Inputs turned away because too many waited for one shard."),
		Failures: counter("shard_failures_total", "Times that a shard was dropped, to be loaded again or put offline."),
		Panics:   counter("shard_panics_total", "Times that a shard panicked: each is a bug."),
		LoadSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "moldau", Subsystem: "coordinator", Name: "load_duration_seconds",
			Help: "Time to load a shard from its log.", ConstLabels: labels,
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}),
	}
	if reg != nil {
		reg.MustRegister(m.Records, m.Refused, m.Rejected, m.Failures, m.Panics, m.LoadSeconds)
	}
	return m
}
