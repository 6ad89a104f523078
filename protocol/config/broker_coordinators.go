package config

// coordinatorTable lists the settings of groups, offsets, transactions and producer ids.
func coordinatorTable() []*Def {
	return []*Def{
		{
			Name: "add.partitions.to.txn.retry.backoff.max.ms", Type: Int, Default: "100", Class: Works,
			Doc: "For how long a broker asks again, in a produce, to add a partition to a transaction whose predecessor is still ending.",
		},
		{
			Name: "add.partitions.to.txn.retry.backoff.ms", Type: Int, Default: "20", Class: Works,
			Doc: "How long it waits between two such questions.",
		},
		{
			Name: "group.consumer.assignors", Type: List, Default: "uniform,range", Class: Works,
			Doc: "The assignors that members of consumer groups may ask for; the first is the default. Only uniform and range are known.",
		},
		{
			Name: "group.consumer.heartbeat.interval.ms", Type: Int, Default: "5000", Class: Works, check: atLeast(1),
			Doc: "How often members of consumer groups are told to send heartbeats.",
		},
		{
			Name: "group.consumer.max.heartbeat.interval.ms", Type: Int, Default: "15000", Class: Works, check: atLeast(1),
			Doc: "The longest heartbeat interval that may be set for a single consumer group.",
		},
		{
			Name: "group.consumer.max.session.timeout.ms", Type: Int, Default: "60000", Class: Works, check: atLeast(1),
			Doc: "The longest session timeout that may be set for a single consumer group.",
		},
		{
			Name: "group.consumer.max.size", Type: Int, Default: "2147483647", Class: Works, check: atLeast(1),
			Doc: "The most members that a consumer group may have.",
		},
		{
			Name: "group.consumer.migration.policy", Type: String, Default: "bidirectional", Class: Works,
			Doc: "Whether classic groups become consumer groups when a member of the new protocol joins, and classic ones again when the last has gone: bidirectional, upgrade, downgrade or disabled.",
		},
		{
			Name: "group.consumer.min.heartbeat.interval.ms", Type: Int, Default: "5000", Class: Works, check: atLeast(1),
			Doc: "The shortest heartbeat interval that may be set for a single consumer group.",
		},
		{
			Name: "group.consumer.min.session.timeout.ms", Type: Int, Default: "45000", Class: Works, check: atLeast(1),
			Doc: "The shortest session timeout that may be set for a single consumer group.",
		},
		{
			Name: "group.consumer.session.timeout.ms", Type: Int, Default: "45000", Class: Works, check: atLeast(1),
			Doc: "After how long without a heartbeat a member of a consumer group is removed.",
		},
		{
			Name: "group.coordinator.append.linger.ms", Type: Int, Default: "-1",
			Doc: "Setting of the threads and batches of Kafka's group coordinator.",
		},
		{
			Name: "group.coordinator.rebalance.protocols", Type: List, Default: "classic,consumer,streams",
			Doc: "Setting of the threads and batches of Kafka's group coordinator.",
		},
		{
			Name: "group.coordinator.threads", Type: Int, Default: "4",
			Doc: "Setting of the threads and batches of Kafka's group coordinator.",
		},
		{
			Name: "group.initial.rebalance.delay.ms", Type: Int, Default: "3000", Class: Works,
			Doc: "How long the first rebalance of an empty group waits for more members.",
		},
		{
			Name: "group.max.session.timeout.ms", Type: Int, Default: "1800000", Class: Works,
			Doc: "The longest session timeout that a member of a classic group may ask.",
		},
		{
			Name: "group.max.size", Type: Int, Default: "2147483647", Class: Works,
			Doc: "The most members that a classic group may have.", check: atLeast(1),
		},
		{
			Name: "group.min.session.timeout.ms", Type: Int, Default: "6000", Class: Works,
			Doc: "The shortest session timeout that a member of a classic group may ask.",
		},
		{
			Name: "group.share.assignors", Type: List, Default: "simple",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.delivery.count.limit", Type: Int, Default: "5",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.heartbeat.interval.ms", Type: Int, Default: "5000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.max.heartbeat.interval.ms", Type: Int, Default: "15000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.max.record.lock.duration.ms", Type: Int, Default: "60000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.max.session.timeout.ms", Type: Int, Default: "60000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.max.share.sessions", Type: Int, Default: "2000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.max.size", Type: Int, Default: "200",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.min.heartbeat.interval.ms", Type: Int, Default: "5000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.min.record.lock.duration.ms", Type: Int, Default: "15000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.min.session.timeout.ms", Type: Int, Default: "45000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.partition.max.record.locks", Type: Int, Default: "2000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.record.lock.duration.ms", Type: Int, Default: "30000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.share.session.timeout.ms", Type: Int, Default: "45000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "group.streams.heartbeat.interval.ms", Type: Int, Default: "5000",
			Doc: "Setting of streams groups, which are not served yet.",
		},
		{
			Name: "group.streams.initial.rebalance.delay.ms", Type: Int, Default: "3000",
			Doc: "Setting of streams groups, which are not served yet.",
		},
		{
			Name: "group.streams.max.heartbeat.interval.ms", Type: Int, Default: "15000",
			Doc: "Setting of streams groups, which are not served yet.",
		},
		{
			Name: "group.streams.max.session.timeout.ms", Type: Int, Default: "60000",
			Doc: "Setting of streams groups, which are not served yet.",
		},
		{
			Name: "group.streams.max.size", Type: Int, Default: "2147483647",
			Doc: "Setting of streams groups, which are not served yet.",
		},
		{
			Name: "group.streams.max.standby.replicas", Type: Int, Default: "2",
			Doc: "Setting of streams groups, which are not served yet.",
		},
		{
			Name: "group.streams.min.heartbeat.interval.ms", Type: Int, Default: "5000",
			Doc: "Setting of streams groups, which are not served yet.",
		},
		{
			Name: "group.streams.min.session.timeout.ms", Type: Int, Default: "45000",
			Doc: "Setting of streams groups, which are not served yet.",
		},
		{
			Name: "group.streams.num.standby.replicas", Type: Int, Default: "0",
			Doc: "Setting of streams groups, which are not served yet.",
		},
		{
			Name: "group.streams.session.timeout.ms", Type: Int, Default: "45000",
			Doc: "Setting of streams groups, which are not served yet.",
		},
		{
			Name: "offset.metadata.max.bytes", Type: Int, Default: "4096", Class: Works,
			Doc: "The longest text that may be committed with an offset.", check: atLeast(0),
		},
		{
			Name: "offsets.commit.timeout.ms", Type: Int, Default: "5000",
			Doc: "Setting of how Kafka loads and writes committed offsets.",
		},
		{
			Name: "offsets.load.buffer.size", Type: Int, Default: "5242880",
			Doc: "Setting of how Kafka loads and writes committed offsets.",
		},
		{
			Name: "offsets.retention.check.interval.ms", Type: Long, Default: "600000", Class: Works,
			Doc: "How often committed offsets are looked at for old ones.", check: atLeast(1),
		},
		{
			Name: "offsets.retention.minutes", Type: Int, Default: "10080", Class: Works,
			Doc: "How long the committed offsets of an empty group are kept.", check: atLeast(1),
		},
		{
			Name: "offsets.topic.compression.codec", Type: Int, Default: "0",
			Doc: "Setting of how Kafka loads and writes committed offsets.",
		},
		{
			Name: "offsets.topic.num.partitions", Type: Int, Default: "50", Class: Works,
			Doc: "How many partitions the topic of committed offsets is created with.", check: atLeast(1),
		},
		{
			Name: "offsets.topic.replication.factor", Type: Short, Default: "3", Class: Works,
			Doc: "The replication factor of the topic of committed offsets; as many as there are brokers, at most.", check: atLeast(1),
		},
		{
			Name: "offsets.topic.segment.bytes", Type: Int, Default: "104857600", Class: Works,
			Doc: "How large a segment of the topic of committed offsets grows.", check: atLeast(1),
		},
		{
			Name: "producer.id.expiration.ms", Type: Int, Default: "86400000", Class: Works, Update: ClusterWide,
			Doc: "How long a producer id that writes nothing is remembered.", check: atLeast(1),
		},
		{
			Name: "share.coordinator.append.linger.ms", Type: Int, Default: "-1",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "share.coordinator.load.buffer.size", Type: Int, Default: "5242880",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "share.coordinator.snapshot.update.records.per.snapshot", Type: Int, Default: "500",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "share.coordinator.state.topic.compression.codec", Type: Int, Default: "0",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "share.coordinator.state.topic.min.isr", Type: Short, Default: "2",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "share.coordinator.state.topic.num.partitions", Type: Int, Default: "50",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "share.coordinator.state.topic.replication.factor", Type: Short, Default: "3",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "share.coordinator.state.topic.segment.bytes", Type: Int, Default: "104857600",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "share.coordinator.threads", Type: Int, Default: "1",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "share.coordinator.write.timeout.ms", Type: Int, Default: "5000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "share.fetch.purgatory.purge.interval.requests", Type: Int, Default: "1000",
			Doc: "Setting of share groups, which are not served yet.",
		},
		{
			Name: "transaction.abort.timed.out.transaction.cleanup.interval.ms", Type: Int, Default: "10000", Class: Works,
			Doc: "How often transactions are looked for that have outlived their timeout.", check: atLeast(1),
		},
		{
			Name: "transaction.max.timeout.ms", Type: Int, Default: "900000", Class: Works,
			Doc: "The longest timeout that a producer may ask for its transactions.", check: atLeast(1),
		},
		{
			Name: "transaction.partition.verification.enable", Type: Boolean, Default: "true", Update: ClusterWide, Class: Works,
			Doc: "Whether a partition asks the coordinator before a transaction of an older producer begins in it.",
		},
		{
			Name: "transaction.remove.expired.transaction.cleanup.interval.ms", Type: Int, Default: "3600000", Class: Works,
			Doc: "How often transactional ids are looked for that nobody uses any more.", check: atLeast(1),
		},
		{
			Name: "transaction.state.log.load.buffer.size", Type: Int, Default: "5242880",
			Doc: "How much of the topic of transactions is read at once at start; batches are read one by one here.",
		},
		{
			Name: "transaction.state.log.min.isr", Type: Int, Default: "2", Class: Works,
			Doc: "min.insync.replicas of the topic of transactions.", check: atLeast(1),
		},
		{
			Name: "transaction.state.log.num.partitions", Type: Int, Default: "50", Class: Works,
			Doc: "Partitions of the topic of transactions, when it is made.", check: atLeast(1),
		},
		{
			Name: "transaction.state.log.replication.factor", Type: Short, Default: "3", Class: Works,
			Doc: "Replicas of the topic of transactions; as many as there are brokers, if those are fewer.", check: atLeast(1),
		},
		{
			Name: "transaction.state.log.segment.bytes", Type: Int, Default: "104857600", Class: Works,
			Doc: "segment.bytes of the topic of transactions.", check: atLeast(1),
		},
		{
			Name: "transaction.two.phase.commit.enable", Type: Boolean, Default: "false", Class: Rejected,
			Doc: "Whether two-phase commit transactions are allowed; they are not served yet.",
		},
		{
			Name: "transactional.id.expiration.ms", Type: Int, Default: "604800000", Class: Works,
			Doc: "How long a transactional id is remembered after its last transaction.", check: atLeast(1),
		},
	}
}
