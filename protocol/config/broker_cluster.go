package config

// clusterTable lists the settings of nodes, controllers and replication.
func clusterTable() []*Def {
	return []*Def{
		{
			Name: "alter.config.policy.class.name", Type: ClassRef, NoDefault: true, Class: Rejected,
			Doc: "A Java class that may refuse settings; no Java runs here.",
		},
		{
			Name: "alter.log.dirs.replication.quota.window.num", Type: Int, Default: "11",
			Doc: "Quota of moves between data directories, which are not served yet.",
		},
		{
			Name: "alter.log.dirs.replication.quota.window.size.seconds", Type: Int, Default: "1",
			Doc: "Quota of moves between data directories, which are not served yet.",
		},
		{
			Name: "auto.create.topics.enable", Type: Boolean, Default: "true", Class: Works,
			Doc: "Whether asking for the metadata of a missing topic creates it.",
		},
		{
			Name: "auto.leader.rebalance.enable", Type: Boolean, Default: "true",
			Doc: "Setting of leader balancing; there is one broker yet.",
		},
		{
			Name: "broker.heartbeat.interval.ms", Type: Int, Default: "2000", Class: Works,
			Doc: "How often a broker tells the controller that it lives.",
		},
		{
			Name: "broker.id", Type: Int, Default: "-1", Class: Works,
			Doc: "The old name of node.id.",
		},
		{
			Name: "broker.rack", Type: String, NoDefault: true, Class: Works,
			Doc: "The rack that this broker stands in, for placing replicas and for clients near it.",
		},
		{
			Name: "broker.session.timeout.ms", Type: Int, Default: "9000", Class: Works,
			Doc: "After how long without a heartbeat the controller fences a broker.",
		},
		{
			Name: "controlled.shutdown.enable", Type: Boolean, Default: "true", Class: Works,
			Doc: "Whether a stopping broker hands its partitions over first.",
		},
		{
			Name: "controller.listener.names", Type: List, NoDefault: true, Class: Works,
			Doc: "The listeners that the controller uses; clients are not served there.", check: listOf(false),
		},
		{
			Name: "controller.quorum.append.linger.ms", Type: Int, Default: "25",
			Doc: "Timing of the controllers' quorum; with one controller there is nobody to wait for.",
		},
		{
			Name: "controller.quorum.auto.join.enable", Type: Boolean, Default: "false",
			Doc: "Timing of the controllers' quorum; with one controller there is nobody to wait for.",
		},
		{
			Name: "controller.quorum.bootstrap.servers", Type: List,
			Doc: "Timing of the controllers' quorum; with one controller there is nobody to wait for.",
		},
		{
			Name: "controller.quorum.election.backoff.max.ms", Type: Int, Default: "1000",
			Doc: "Timing of the controllers' quorum; with one controller there is nobody to wait for.",
		},
		{
			Name: "controller.quorum.election.timeout.ms", Type: Int, Default: "1000",
			Doc: "Timing of the controllers' quorum; with one controller there is nobody to wait for.",
		},
		{
			Name: "controller.quorum.fetch.timeout.ms", Type: Int, Default: "2000",
			Doc: "Timing of the controllers' quorum; with one controller there is nobody to wait for.",
		},
		{
			Name: "controller.quorum.request.timeout.ms", Type: Int, Default: "2000",
			Doc: "Timing of the controllers' quorum; with one controller there is nobody to wait for.",
		},
		{
			Name: "controller.quorum.retry.backoff.ms", Type: Int, Default: "20",
			Doc: "Timing of the controllers' quorum; with one controller there is nobody to wait for.",
		},
		{
			Name: "controller.quorum.voters", Type: List, Class: Works,
			Doc: "The controllers as id@host:port; one here.",
		},
		{
			Name: "controller.quota.window.num", Type: Int, Default: "11",
			Doc: "Quota window; quotas are not served yet.",
		},
		{
			Name: "controller.quota.window.size.seconds", Type: Int, Default: "1",
			Doc: "Quota window; quotas are not served yet.",
		},
		{
			Name: "controller.socket.timeout.ms", Type: Int, Default: "30000",
			Doc: "Timeout between broker and controller; they are one process yet.",
		},
		{
			Name: "create.topic.policy.class.name", Type: ClassRef, NoDefault: true, Class: Rejected,
			Doc: "A Java class that may refuse new topics; no Java runs here.",
		},
		{
			Name: "default.replication.factor", Type: Int, Default: "1", Class: Works,
			Doc: "The replication factor of topics made without one.",
		},
		{
			Name: "delete.topic.enable", Type: Boolean, Default: "true", Class: Works,
			Doc: "Whether topics can be deleted.",
		},
		{
			Name: "early.start.listeners", Type: List, NoDefault: true,
			Doc: "Listeners that open before the broker is ready; only the controller's does.",
		},
		{
			Name: "initial.broker.registration.timeout.ms", Type: Int, Default: "60000", Class: Works,
			Doc: "How long a starting broker tries to register.",
		},
		{
			Name: "inter.broker.listener.name", Type: String, NoDefault: true, Class: Works,
			Doc: "The listener that brokers use between themselves.",
		},
		{
			Name: "leader.imbalance.check.interval.seconds", Type: Long, Default: "300",
			Doc: "Setting of leader balancing; there is one broker yet.",
		},
		{
			Name: "metadata.log.dir", Type: String, NoDefault: true,
			Doc: "Setting of the metadata log.",
		},
		{
			Name: "metadata.log.max.record.bytes.between.snapshots", Type: Long, Default: "20971520", Class: Works,
			Doc: "After how many bytes of metadata records a snapshot is made.", check: atLeast(1),
		},
		{
			Name: "metadata.log.max.snapshot.interval.ms", Type: Long, Default: "3600000", Class: Works,
			Doc: "After how long a snapshot of new metadata records is made.", check: atLeast(0),
		},
		{
			Name: "metadata.log.segment.bytes", Type: Int, Default: "1073741824", Class: Works,
			Doc: "How large a segment of the metadata log grows.", check: atLeast(8388608),
		},
		{
			Name: "metadata.log.segment.ms", Type: Long, Default: "604800000", Class: Works,
			Doc: "How old a segment of the metadata log grows.",
		},
		{
			Name: "metadata.max.idle.interval.ms", Type: Int, Default: "500",
			Doc: "Setting of the metadata log.",
		},
		{
			Name: "metadata.max.retention.bytes", Type: Long, Default: "104857600", Class: Works,
			Doc: "How many bytes of metadata log and snapshots are kept.",
		},
		{
			Name: "metadata.max.retention.ms", Type: Long, Default: "604800000", Class: Works,
			Doc: "How long metadata log and snapshots are kept.",
		},
		{
			Name: "node.id", Type: Int, NoDefault: true, Class: Works,
			Doc: "The id of this node.", check: atLeast(0),
		},
		{
			Name: "num.partitions", Type: Int, Default: "1", Class: Works,
			Doc: "How many partitions a topic made without a count gets.", check: atLeast(1),
		},
		{
			Name: "num.replica.fetchers", Type: Int, Default: "1", Update: ClusterWide,
			Doc: "Size of a thread pool that does not exist here.", check: atLeast(1),
		},
		{
			Name: "process.roles", Type: List, NoDefault: true, Class: Works,
			Doc: "What this node does; broker,controller is the only combination served yet.", check: listOf(false, "broker", "controller"),
		},
		{
			Name: "replica.fetch.backoff.ms", Type: Int, Default: "1000",
			Doc: "Setting of followers' fetching; there is one replica yet.",
		},
		{
			Name: "replica.fetch.max.bytes", Type: Int, Default: "1048576",
			Doc: "Setting of followers' fetching; there is one replica yet.",
		},
		{
			Name: "replica.fetch.min.bytes", Type: Int, Default: "1",
			Doc: "Setting of followers' fetching; there is one replica yet.",
		},
		{
			Name: "replica.fetch.response.max.bytes", Type: Int, Default: "10485760",
			Doc: "Setting of followers' fetching; there is one replica yet.",
		},
		{
			Name: "replica.fetch.wait.max.ms", Type: Int, Default: "500",
			Doc: "Setting of followers' fetching; there is one replica yet.",
		},
		{
			Name: "replica.high.watermark.checkpoint.interval.ms", Type: Long, Default: "5000", Class: Works,
			Doc: "How often high watermarks are written.",
		},
		{
			Name: "replica.lag.time.max.ms", Type: Long, Default: "30000",
			Doc: "Setting of followers' fetching; there is one replica yet.",
		},
		{
			Name: "replica.selector.class", Type: String, NoDefault: true, Class: Rejected,
			Doc: "The class that picks the replica a consumer reads from; there is one replica yet.",
		},
		{
			Name: "replica.socket.receive.buffer.bytes", Type: Int, Default: "65536",
			Doc: "Setting of followers' fetching; there is one replica yet.",
		},
		{
			Name: "replica.socket.timeout.ms", Type: Int, Default: "30000",
			Doc: "Setting of followers' fetching; there is one replica yet.",
		},
		{
			Name: "replication.quota.window.num", Type: Int, Default: "11",
			Doc: "Replication quota setting; there is one replica yet.", check: atLeast(1),
		},
		{
			Name: "replication.quota.window.size.seconds", Type: Int, Default: "1",
			Doc: "Replication quota setting; there is one replica yet.", check: atLeast(1),
		},
	}
}
