package config

var clientMetricsDefs = index([]*Def{
	{
		Name: "interval.ms", Type: Int, Default: "300000",
		Doc: "How often the clients that a subscription selects push their metrics.",
	},
	{
		Name: "match", Type: List, Default: "",
		Doc: "Which clients a subscription selects: patterns of their ids, software and addresses. Empty selects all.",
	},
	{
		Name: "metrics", Type: List, Default: "",
		Doc: "Prefixes of the names of the metrics that are pushed. Empty pushes none.",
	},
})

// ClientMetrics lists the settings of a client metrics subscription (KIP-714,
// resource type 16) by name. They are kept and described; no client is asked for
// its metrics.
func ClientMetrics() []*Def { return clientMetricsDefs.sorted }
