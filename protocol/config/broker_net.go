package config

// networkTable lists the settings of listeners, connections and requests.
func networkTable() []*Def {
	return []*Def{
		{
			Name: "advertised.listeners", Type: List, NoDefault: true, Class: Works,
			Doc: "The addresses handed to clients, one a listener; without it, what the listener is bound to.",
		},
		{
			Name: "background.threads", Type: Int, Default: "10", Update: ClusterWide,
			Doc: "Size of a thread pool or queue that does not exist here.", check: atLeast(1),
		},
		{
			Name: "client.quota.callback.class", Type: ClassRef, NoDefault: true, Class: Rejected,
			Doc: "A Java class that computes quotas; no Java runs here.",
		},
		{
			Name: "connections.max.idle.ms", Type: Long, Default: "600000", Class: Works,
			Doc: "After how long without traffic a connection is closed.",
		},
		{
			Name: "fetch.max.bytes", Type: Int, Default: "57671680", Class: Works,
			Doc: "The most bytes that one fetch answers, whatever the client asks.", check: atLeast(1024),
		},
		{
			Name: "fetch.purgatory.purge.interval.requests", Type: Int, Default: "1000",
			Doc: "Setting of Kafka's purgatories, which do not exist here.",
		},
		{
			Name: "listener.security.protocol.map", Type: String, Default: "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", Class: Works, Update: PerBroker,
			Doc: "Which security protocol each listener speaks; PLAINTEXT is the only one served yet.",
		},
		{
			Name: "listeners", Type: List, Default: "PLAINTEXT://:9092", Class: Works, Update: PerBroker,
			Doc: "The addresses to bind, as NAME://HOST:PORT; an empty host binds every interface.",
		},
		{
			Name: "max.connection.creation.rate", Type: Int, Default: "2147483647", Class: Works, Update: ClusterWide,
			Doc: "How many connections a second are accepted.", check: atLeast(0),
		},
		{
			Name: "max.connections", Type: Int, Default: "2147483647", Class: Works, Update: ClusterWide,
			Doc: "The most connections to this broker at a time.", check: atLeast(0),
		},
		{
			Name: "max.connections.per.ip", Type: Int, Default: "2147483647", Class: Works, Update: ClusterWide,
			Doc: "The most connections from one address at a time.", check: atLeast(0),
		},
		{
			Name: "max.connections.per.ip.overrides", Type: String, Class: Works, Update: ClusterWide,
			Doc: "Other limits for some addresses, as host:limit pairs.",
		},
		{
			Name: "max.incremental.fetch.session.cache.slots", Type: Int, Default: "1000", Class: Works,
			Doc: "How many incremental fetch sessions are kept.", check: atLeast(0),
		},
		{
			Name: "max.request.partition.size.limit", Type: Int, Default: "2000", Class: Works,
			Doc: "The most partitions that one DescribeTopicPartitions answer holds.", check: atLeast(1),
		},
		{
			Name: "num.io.threads", Type: Int, Default: "8", Update: ClusterWide,
			Doc: "Size of a thread pool or queue that does not exist here.", check: atLeast(1),
		},
		{
			Name: "num.network.threads", Type: Int, Default: "3", Update: ClusterWide,
			Doc: "Size of a thread pool or queue that does not exist here.", check: atLeast(1),
		},
		{
			Name: "queued.max.request.bytes", Type: Long, Default: "-1", Class: Works,
			Doc: "The memory that requests being decoded may take together; -1 is 256 MiB.",
		},
		{
			Name: "queued.max.requests", Type: Int, Default: "500",
			Doc: "Size of a thread pool or queue that does not exist here.", check: atLeast(1),
		},
		{
			Name: "quota.window.num", Type: Int, Default: "11",
			Doc: "Quota window; quotas are not served yet.", check: atLeast(1),
		},
		{
			Name: "quota.window.size.seconds", Type: Int, Default: "1",
			Doc: "Quota window; quotas are not served yet.", check: atLeast(1),
		},
		{
			Name: "request.timeout.ms", Type: Int, Default: "30000", Class: Works,
			Doc: "How long a request between brokers may take.",
		},
		{
			Name: "socket.connection.setup.timeout.max.ms", Type: Long, Default: "30000",
			Doc: "Size of a socket's buffers or queue; the system's own defaults are used.",
		},
		{
			Name: "socket.connection.setup.timeout.ms", Type: Long, Default: "10000",
			Doc: "Size of a socket's buffers or queue; the system's own defaults are used.",
		},
		{
			Name: "socket.listen.backlog.size", Type: Int, Default: "50",
			Doc: "Size of a socket's buffers or queue; the system's own defaults are used.",
		},
		{
			Name: "socket.receive.buffer.bytes", Type: Int, Default: "102400",
			Doc: "Size of a socket's buffers or queue; the system's own defaults are used.",
		},
		{
			Name: "socket.request.max.bytes", Type: Int, Default: "104857600", Class: Works,
			Doc: "The largest request that is read.", check: atLeast(1),
		},
		{
			Name: "socket.send.buffer.bytes", Type: Int, Default: "102400",
			Doc: "Size of a socket's buffers or queue; the system's own defaults are used.",
		},
	}
}
