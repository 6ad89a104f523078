package logstore

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moldau-broker/moldau/logstore/compact"
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

	CompactSeconds    prometheus.Histogram // moldau_logstore_compact_duration_seconds
	CompactReadBytes  prometheus.Counter   // moldau_logstore_compact_read_bytes_total
	CompactedBytes    prometheus.Counter   // moldau_logstore_compacted_bytes_total
	CompactedRecords  prometheus.Counter   // moldau_logstore_compacted_records_total
	DirtyRatio        prometheus.Gauge     // moldau_logstore_max_dirty_ratio
	UncompactableLogs prometheus.Gauge     // moldau_logstore_uncompactable_logs
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
	m.compaction()
	reg.MustRegister(m.AppendBytes, m.Rolls, m.SyncSeconds, m.FailedLogs, m.RemovedBytes,
		m.CompactSeconds, m.CompactReadBytes, m.CompactedBytes, m.CompactedRecords, m.DirtyRatio, m.UncompactableLogs)
	return m
}

// compaction makes the metrics of the cleaner.
func (m *Metrics) compaction() {
	m.CompactSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "moldau_logstore_compact_duration_seconds",
		Help:    "Time of one round of compaction over one log.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 12),
	})
	m.CompactReadBytes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "moldau_logstore_compact_read_bytes_total",
		Help: "Bytes of record batches that compaction has gone over.",
	})
	m.CompactedBytes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "moldau_logstore_compacted_bytes_total",
		Help: "Bytes of record batches that compaction has taken away.",
	})
	m.CompactedRecords = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "moldau_logstore_compacted_records_total",
		Help: "Records that compaction has taken away.",
	})
	m.DirtyRatio = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "moldau_logstore_max_dirty_ratio",
		Help: "The largest share of a compacted log that was not compacted yet, when the cleaner last looked.",
	})
	m.UncompactableLogs = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "moldau_logstore_uncompactable_logs",
		Help: "Logs that are not compacted because they were found damaged.",
	})
}

// looked notes what the cleaner found when it looked for work.
func (m *Metrics) looked(ratio float64, damaged int) {
	if m != nil {
		m.DirtyRatio.Set(ratio)
		m.UncompactableLogs.Set(float64(damaged))
	}
}

func (m *Metrics) compacted(s compact.Stats, took time.Duration) {
	if m != nil {
		m.CompactSeconds.Observe(took.Seconds())
		m.CompactReadBytes.Add(float64(s.Bytes))
		m.CompactedBytes.Add(float64(max(s.Bytes-s.BytesKept, 0)))
		m.CompactedRecords.Add(float64(s.Records - s.RecordsKept))
	}
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
