package config

// logTable lists the settings of logs: the defaults of topic settings, and upkeep.
func logTable() []*Def {
	return []*Def{
		{Name: "compression.gzip.level", Type: Int, Default: "-1", Class: Works, Update: ClusterWide, check: gzipLevel()},
		{Name: "compression.lz4.level", Type: Int, Default: "9", Class: Works, Update: ClusterWide, check: between(1, 17)},
		{Name: "compression.type", Type: String, Default: "producer", Class: Works, Update: ClusterWide, check: oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")},
		{Name: "compression.zstd.level", Type: Int, Default: "3", Class: Works, Update: ClusterWide, check: between(-131072, 22)},
		{
			Name: "log.cleaner.backoff.ms", Type: Long, Default: "15000", Class: Works, Update: ClusterWide,
			Doc: "How long compaction waits when there is nothing to do; 100 ms at least.", check: atLeast(0),
		},
		{
			Name: "log.cleaner.dedupe.buffer.size", Type: Long, Default: "134217728", Class: Works, Update: ClusterWide,
			Doc: "Bounds the memory for the keys of a round of compaction, at 24 bytes a key.",
		},
		{Name: "log.cleaner.delete.retention.ms", Type: Long, Default: "86400000", Class: Works, Update: ClusterWide, check: atLeast(0)},
		{
			Name: "log.cleaner.enable", Type: Boolean, Default: "true", Class: Works,
			Doc: "Whether logs are compacted at all.",
		},
		{
			Name: "log.cleaner.io.buffer.load.factor", Type: Double, Default: "0.9", Class: Works, Update: ClusterWide,
			Doc: "Which part of the memory for keys is filled.",
		},
		{
			Name: "log.cleaner.io.buffer.size", Type: Int, Default: "524288", Update: ClusterWide,
			Doc: "Kafka's buffers of compaction; here they are of 1 MiB.", check: atLeast(0),
		},
		{
			Name: "log.cleaner.io.max.bytes.per.second", Type: Double, Default: "1.7976931348623157E308", Class: Works, Update: ClusterWide,
			Doc: "How many bytes compaction reads and writes a second at most.",
		},
		{Name: "log.cleaner.max.compaction.lag.ms", Type: Long, Default: maxLong, Class: Works, Update: ClusterWide, check: atLeast(1)},
		{Name: "log.cleaner.min.cleanable.ratio", Type: Double, Default: "0.5", Class: Works, Update: ClusterWide, check: between(0, 1)},
		{Name: "log.cleaner.min.compaction.lag.ms", Type: Long, Default: "0", Class: Works, Update: ClusterWide, check: atLeast(0)},
		{
			Name: "log.cleaner.threads", Type: Int, Default: "1", Update: ClusterWide,
			Doc: "How many threads compact; here one does.", check: atLeast(0),
		},
		{Name: "log.cleanup.policy", Type: List, Default: "delete", Class: Works, Update: ClusterWide, check: listOf(true, "compact", "delete")},
		{
			Name: "log.dir", Type: List, Default: "/tmp/kafka-logs", Class: Works,
			Doc: "The data directory, when log.dirs is not set.",
		},
		{
			Name: "log.dir.failure.timeout.ms", Type: Long, Default: "30000",
			Doc: "How long a broker waits to report a failed directory; with one directory the broker stops serving it.",
		},
		{
			Name: "log.dirs", Type: List, NoDefault: true, Class: Works,
			Doc: "The data directory; a list of several is not served yet.",
		},
		{Name: "log.flush.interval.messages", Type: Long, Default: maxLong, Class: Works, Update: ClusterWide, check: atLeast(1)},
		{Name: "log.flush.interval.ms", Type: Long, NoDefault: true, Class: Works, Update: ClusterWide},
		{
			Name: "log.flush.offset.checkpoint.interval.ms", Type: Int, Default: "60000", Class: Works,
			Doc: "How often the recovery points are written.", check: atLeast(0),
		},
		{Name: "log.flush.scheduler.interval.ms", Type: Long, Default: maxLong, Class: Works},
		{
			Name: "log.flush.start.offset.checkpoint.interval.ms", Type: Int, Default: "60000", Class: Works,
			Doc: "How often the log start offsets are written.", check: atLeast(0),
		},
		{Name: "log.index.interval.bytes", Type: Int, Default: "4096", Class: Works, Update: ClusterWide, check: atLeast(0)},
		{Name: "log.index.size.max.bytes", Type: Int, Default: "10485760", Class: Works, Update: ClusterWide, check: atLeast(4)},
		{Name: "log.local.retention.bytes", Type: Long, Default: "-2", Update: ClusterWide, check: atLeast(-2)},
		{Name: "log.local.retention.ms", Type: Long, Default: "-2", Update: ClusterWide, check: atLeast(-2)},
		{Name: "log.message.timestamp.after.max.ms", Type: Long, Default: "3600000", Class: Works, Update: ClusterWide, check: atLeast(0)},
		{Name: "log.message.timestamp.before.max.ms", Type: Long, Default: maxLong, Class: Works, Update: ClusterWide, check: atLeast(0)},
		{Name: "log.message.timestamp.type", Type: String, Default: "CreateTime", Class: Works, Update: ClusterWide, check: oneOf("CreateTime", "LogAppendTime")},
		{Name: "log.preallocate", Type: Boolean, Default: "false", Class: Works, Update: ClusterWide},
		{Name: "log.retention.bytes", Type: Long, Default: "-1", Class: Works, Update: ClusterWide},
		{
			Name: "log.retention.check.interval.ms", Type: Long, Default: "300000", Class: Works,
			Doc: "How often logs are looked at for segments to delete.", check: atLeast(1),
		},
		{Name: "log.retention.hours", Type: Int, Default: "168", Class: Works},
		{Name: "log.retention.minutes", Type: Int, NoDefault: true, Class: Works},
		{Name: "log.retention.ms", Type: Long, NoDefault: true, Class: Works, Update: ClusterWide},
		{Name: "log.roll.hours", Type: Int, Default: "168", Class: Works, check: atLeast(1)},
		{Name: "log.roll.jitter.hours", Type: Int, Default: "0", Class: Works, check: atLeast(0)},
		{Name: "log.roll.jitter.ms", Type: Long, NoDefault: true, Class: Works, Update: ClusterWide},
		{Name: "log.roll.ms", Type: Long, NoDefault: true, Class: Works, Update: ClusterWide},
		{Name: "log.segment.bytes", Type: Int, Default: "1073741824", Class: Works, Update: ClusterWide, check: atLeast(14)},
		{Name: "log.segment.delete.delay.ms", Type: Long, Default: "60000", Class: Works, Update: ClusterWide, check: atLeast(0)},
		{Name: "max.decompressed.message.bytes", Type: Int, Default: "2147483639", Class: Works, Update: ClusterWide, check: atLeast(0)},
		{Name: "message.max.bytes", Type: Int, Default: "1048588", Class: Works, Update: ClusterWide, check: atLeast(0)},
		{Name: "min.insync.replicas", Type: Int, Default: "1", Class: Works, Update: ClusterWide, check: atLeast(1)},
		{
			Name: "num.recovery.threads.per.data.dir", Type: Int, Default: "2", Class: Works, Update: ClusterWide,
			Doc: "How many logs are loaded, or recovered, at a time.", check: atLeast(1),
		},
		{
			Name: "num.replica.alter.log.dirs.threads", Type: Int, NoDefault: true,
			Doc: "Size of a thread pool or queue that does not exist here.",
		},
		{
			Name: "remote.fetch.max.wait.ms", Type: Int, Default: "500", Update: ClusterWide,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.list.offsets.request.timeout.ms", Type: Long, Default: "30000", Update: ClusterWide,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.index.file.cache.total.size.bytes", Type: Long, Default: "1073741824", Update: ClusterWide,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.manager.copier.thread.pool.size", Type: Int, Default: "10", Update: ClusterWide,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.manager.copy.max.bytes.per.second", Type: Long, Default: maxLong, Update: ClusterWide,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.manager.copy.quota.window.num", Type: Int, Default: "11",
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.manager.copy.quota.window.size.seconds", Type: Int, Default: "1",
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.manager.expiration.thread.pool.size", Type: Int, Default: "10", Update: ClusterWide,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.manager.fetch.max.bytes.per.second", Type: Long, Default: maxLong, Update: ClusterWide,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.manager.fetch.quota.window.num", Type: Int, Default: "11",
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.manager.fetch.quota.window.size.seconds", Type: Int, Default: "1",
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.manager.follower.thread.pool.size", Type: Int, Default: "2", Update: ClusterWide,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.manager.task.interval.ms", Type: Long, Default: "30000",
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.manager.thread.pool.size", Type: Int, Default: "2",
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.metadata.custom.metadata.max.bytes", Type: Int, Default: "128",
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.metadata.manager.class.name", Type: String, Default: "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.metadata.manager.class.path", Type: String, NoDefault: true,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.metadata.manager.impl.prefix", Type: String, Default: "rlmm.config.",
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.metadata.manager.listener.name", Type: String, NoDefault: true,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.reader.max.pending.tasks", Type: Int, Default: "100",
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.reader.threads", Type: Int, Default: "10", Update: ClusterWide,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.storage.manager.class.name", Type: String, NoDefault: true,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.storage.manager.class.path", Type: String, NoDefault: true,
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.storage.manager.impl.prefix", Type: String, Default: "rsm.config.",
			Doc: "Tiered storage setting; tiered storage is not served yet.",
		},
		{
			Name: "remote.log.storage.system.enable", Type: Boolean, Default: "false", Class: Rejected,
			Doc: "Whether tiered storage is on; it is not served yet.",
		},
		{Name: "unclean.leader.election.enable", Type: Boolean, Default: "false", Update: ClusterWide},
	}
}
