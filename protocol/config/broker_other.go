package config

// otherTable lists the settings that are none of the other tables'.
func otherTable() []*Def {
	return []*Def{
		{
			Name: "config.providers", Type: List, Update: ClusterWide,
			Doc: "Classes that look values up elsewhere; no Java runs here.",
		},
		{
			Name: "delete.records.purgatory.purge.interval.requests", Type: Int, Default: "1",
			Doc: "Setting of Kafka's purgatories, which do not exist here.",
		},
		{
			Name: "kafka.metrics.polling.interval.secs", Type: Int, Default: "10",
			Doc: "Setting of Kafka's JMX metrics; see /metrics on the admin listener instead.",
		},
		{
			Name: "kafka.metrics.reporters", Type: List,
			Doc: "Setting of Kafka's JMX metrics; see /metrics on the admin listener instead.",
		},
		{
			Name: "metric.reporters", Type: List, Default: "org.apache.kafka.common.metrics.JmxReporter", Update: ClusterWide,
			Doc: "Setting of Kafka's JMX metrics; see /metrics on the admin listener instead.",
		},
		{
			Name: "metrics.num.samples", Type: Int, Default: "2",
			Doc: "Setting of Kafka's JMX metrics; see /metrics on the admin listener instead.", check: atLeast(1),
		},
		{
			Name: "metrics.recording.level", Type: String, Default: "INFO",
			Doc: "Setting of Kafka's JMX metrics; see /metrics on the admin listener instead.",
		},
		{
			Name: "metrics.sample.window.ms", Type: Long, Default: "30000",
			Doc: "Setting of Kafka's JMX metrics; see /metrics on the admin listener instead.", check: atLeast(1),
		},
		{
			Name: "producer.purgatory.purge.interval.requests", Type: Int, Default: "1000",
			Doc: "Setting of Kafka's purgatories, which do not exist here.",
		},
		{
			Name: "telemetry.max.bytes", Type: Int, Default: "1048576",
			Doc: "Setting of client telemetry, which is not served yet.",
		},
	}
}
