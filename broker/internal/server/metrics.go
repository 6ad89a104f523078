package server

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Metrics counts what connections do. Names are moldau_server_<what>_<unit>;
// APIs and listeners are labels, clients and topics never.
type Metrics struct {
	Connections *prometheus.GaugeVec   // moldau_server_connections{listener}
	Accepted    *prometheus.CounterVec // moldau_server_connections_accepted_total{listener}
	Refused     *prometheus.CounterVec // moldau_server_connections_refused_total{reason}
	BrokenPeers *prometheus.CounterVec // moldau_server_broken_peers_total{reason}
	Panics      prometheus.Counter     // moldau_server_panics_total

	RequestBytes  prometheus.Counter       // moldau_server_request_bytes_total
	ResponseBytes prometheus.Counter       // moldau_server_response_bytes_total
	Seconds       *prometheus.HistogramVec // moldau_server_request_duration_seconds{api}
	Throttled     prometheus.Counter       // moldau_server_throttled_seconds_total
	QueuedBytes   *prometheus.GaugeVec     // moldau_server_queued_bytes{use}

	seconds [kmsg.MaxKey + 1]atomic.Pointer[prometheus.Observer] // Of Seconds, once an API was called.
}

// NewMetrics makes the metrics and registers them with reg, if that is not nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "moldau", Subsystem: "server", Name: name, Help: help}
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts(opts(name, help)))
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts(opts(name, help)), labels)
	}
	m := &Metrics{
		Connections:   prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("connections", "Open connections.")), []string{"listener"}),
		Accepted:      vec("connections_accepted_total", "Connections that were accepted.", "listener"),
		Refused:       vec("connections_refused_total", "Connections that were closed as they came.", "reason"),
		BrokenPeers:   vec("broken_peers_total", "Connections closed because of what the peer sent.", "reason"),
		Panics:        counter("panics_total", "Connections lost to a defect of the broker."),
		RequestBytes:  counter("request_bytes_total", "Bytes of requests, with their headers."),
		ResponseBytes: counter("response_bytes_total", "Bytes of responses, with their headers."),
		Seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "moldau", Subsystem: "server", Name: "request_duration_seconds",
			Help: "Time from when a request has arrived, or of a Produce of 256 KiB and more its header, " +
				"until its answer is written, or held back to be written with the next.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
		}, []string{"api"}),
		Throttled:   counter("throttled_seconds_total", "Time that connections were not read from because of quotas."),
		QueuedBytes: prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("queued_bytes", "Memory set aside for requests (queued.max.request.bytes).")), []string{"use"}),
	}
	if reg != nil {
		reg.MustRegister(m.Connections, m.Accepted, m.Refused, m.BrokenPeers, m.Panics,
			m.RequestBytes, m.ResponseBytes, m.Seconds, m.Throttled, m.QueuedBytes)
	}
	return m
}

// observe counts one request. Any goroutine may call it.
func (m *Metrics) observe(key int16, seconds float64) {
	if key < 0 || int(key) >= len(m.seconds) {
		return
	}
	o := m.seconds[key].Load()
	if o == nil {
		made := m.Seconds.WithLabelValues(kmsg.NameForKey(key))
		o = &made
		m.seconds[key].Store(o)
	}
	(*o).Observe(seconds)
}
