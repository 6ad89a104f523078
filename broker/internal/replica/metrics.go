package replica

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts what the partitions of one broker do. Names are
// moldau_replica_<what>; a topic is never a label.
type Metrics struct {
	Leaders    prometheus.Gauge   // moldau_replica_leaders
	Offline    prometheus.Gauge   // moldau_replica_offline
	ISRChanges prometheus.Counter // moldau_replica_isr_proposals_total
}

// NewMetrics makes the metrics and registers them with reg, if it is not nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		Leaders: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "moldau_replica_leaders", Help: "Partitions that this broker leads.",
		}),
		Offline: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "moldau_replica_offline", Help: "Replicas that cannot be used because their disk failed.",
		}),
		ISRChanges: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "moldau_replica_isr_proposals_total", Help: "Changes of in-sync replicas that were proposed to the controller.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.Leaders, m.Offline, m.ISRChanges)
	}
	return m
}
