package config

var groupDefs = index(groupTable())

// Group finds a group setting (resource type 32) by its name.
func Group(name string) (*Def, bool) { d, ok := groupDefs.byName[name]; return d, ok }

// Groups lists the group settings by name.
func Groups() []*Def { return groupDefs.sorted }

// groupTable lists Kafka 4.2's group settings. Those of share and streams groups
// (KIP-932 and KIP-1071) are for what is not served yet.
func groupTable() []*Def {
	return []*Def{
		{
			Name: "consumer.heartbeat.interval.ms", Type: Int, Default: "5000", Class: Works, check: atLeast(1),
			Doc: "How often the members of a consumer group send heartbeats.",
		},
		{
			Name: "consumer.session.timeout.ms", Type: Int, Default: "45000", Class: Works, check: atLeast(1),
			Doc: "After how long without a heartbeat a member of a consumer group is removed.",
		},
		{
			Name: "share.auto.offset.reset", Type: String, Default: "latest",
			Doc: "Where a share group starts: latest, earliest or by_duration:PnDTnHnMn.nS.",
		},
		{
			Name: "share.heartbeat.interval.ms", Type: Int, Default: "5000", check: atLeast(1),
			Doc: "How often the members of a share group send heartbeats.",
		},
		{
			Name: "share.isolation.level", Type: String, Default: "read_uncommitted",
			Doc:   "Whether a share group sees records of open and aborted transactions.",
			check: oneOf("read_committed", "read_uncommitted"),
		},
		{
			Name: "share.record.lock.duration.ms", Type: Int, Default: "30000", check: atLeast(1000),
			Doc: "How long a record stays with the member of a share group that acquired it.",
		},
		{
			Name: "share.session.timeout.ms", Type: Int, Default: "45000", check: atLeast(1),
			Doc: "After how long without a heartbeat a member of a share group is removed.",
		},
		{
			Name: "streams.heartbeat.interval.ms", Type: Int, Default: "5000", check: atLeast(1),
			Doc: "How often the members of a streams group send heartbeats.",
		},
		{
			Name: "streams.initial.rebalance.delay.ms", Type: Int, Default: "3000", check: atLeast(0),
			Doc: "How long the first rebalance of an empty streams group waits for more members.",
		},
		{
			Name: "streams.num.standby.replicas", Type: Int, Default: "0", check: atLeast(0),
			Doc: "How many standby copies of each task a streams group keeps.",
		},
		{
			Name: "streams.session.timeout.ms", Type: Int, Default: "45000", check: atLeast(1),
			Doc: "After how long without a heartbeat a member of a streams group is removed.",
		},
	}
}
