package logstore

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what the logs of one broker do. Names are moldau_logstore_<what>, the
// unit comes last, counters end in _total. A topic is never a label, as there may be
// thousands: DescribeLogDirs tells sizes. A nil *Metrics counts nothing.
type Metrics struct {
	AppendBytes  prometheus.Counter   // moldau_logstore_append_bytes_total
	Rolls        prometheus.Counter   // moldau_logstore_segment_rolls_total
	SyncSeconds  prometheus.Histogram // moldau_logstore_sync_duration_seconds
	FailedLogs   prometheus.Gauge     // moldau_logstore_failed_logs
	RemovedBytes prometheus.Counter   // moldau_logstore_removed_bytes_total
}

// NewMetrics makes the metrics and registers them with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		AppendBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "moldau_logstore_append_bytes_total",
			Help: "Bytes of record batches appended to logs.",
		}),
		Rolls: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "moldau_logstore_segment_rolls_total",
			Help: "Segments closed and followed by a new one.",
		}),
		SyncSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "moldau_logstore_sync_duration_seconds",
			Help:    "Time to make a log durable, waiting for others not included.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 12),
		}),
		FailedLogs: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "moldau_logstore_failed_logs",
			Help: "Logs that refuse writes until restart because the disk failed.",
		}),
		RemovedBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "moldau_logstore_removed_bytes_total",
			Help: "Bytes of record batches that left logs: by retention, truncation and deletion.",
		}),
	}
	reg.MustRegister(m.AppendBytes, m.Rolls, m.SyncSeconds, m.FailedLogs, m.RemovedBytes)
	return m
}

func (m *Metrics) appended(bytes int) {
	if m != nil {
		m.AppendBytes.Add(float64(bytes))
	}
}

func (m *Metrics) rolled() {
	if m != nil {
		m.Rolls.Inc()
	}
}

func (m *Metrics) synced(took time.Duration) {
	if m != nil {
		m.SyncSeconds.Observe(took.Seconds())
	}
}

func (m *Metrics) failed() {
	if m != nil {
		m.FailedLogs.Inc()
	}
}

func (m *Metrics) removed(bytes int64) {
	if m != nil {
		m.RemovedBytes.Add(float64(bytes))
	}
}
