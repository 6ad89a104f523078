package controller

import (
	"cmp"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// Config is what a controller needs to know about its cluster and its node. Only
// ClusterID and Schema must be set.
type Config struct {
	// NodeID is this controller's node.id.
	NodeID int32
	// ClusterID is the cluster's id, as meta.properties holds it. A broker of
	// another cluster is not registered.
	ClusterID string
	// Schema knows the settings of topics, brokers, groups and client metrics.
	Schema ConfigSchema
	// Bootstrap is what an empty log begins with. Default Bootstrap(Level42IV1).
	Bootstrap []metadata.Record
	// Supported are the levels of features that this controller understands.
	// Default SupportedFeatures().
	Supported map[string]FeatureRange
	// NumPartitions and ReplicationFactor are for topics that ask for -1. Default
	// 1 and 1. Kafka's num.partitions and default.replication.factor.
	NumPartitions     int32
	ReplicationFactor int16
	// MinInsyncReplicas is what a new cluster sets for all topics. Default 1.
	// Kafka's min.insync.replicas.
	MinInsyncReplicas int
	// NoTopicDeletion refuses DeleteTopics. Kafka's delete.topic.enable=false.
	NoTopicDeletion bool
	// SessionTimeout is after how long without a heartbeat a broker is fenced.
	// Default 9s. Kafka's broker.session.timeout.ms.
	SessionTimeout time.Duration
	// BalanceInterval is how often leadership goes back to preferred replicas.
	// Default 5m; negative is never. Kafka's leader.imbalance.check.interval.seconds
	// and auto.leader.rebalance.enable.
	BalanceInterval time.Duration
	// UncleanInterval is how often a leader is looked for among replicas that lag,
	// for topics that allow it. Default 5m; negative is never. Kafka's
	// unclean.leader.election.interval.ms.
	UncleanInterval time.Duration
	// KRaftVersion tells the finalized level of kraft.version, which is not in the
	// shard's own log. Default: always 1.
	KRaftVersion func() int16
	// Voters tells the ids of the quorum's voters. Default: NodeID alone.
	Voters func() []int32
	// Leader tells the quorum's leader and its epoch, for the images. Default
	// NodeID and 0.
	Leader func() (id, epoch int32)
	// Publish gets each image, in the order of offsets. It is called between steps
	// and returns at once.
	Publish func(*Image)
}

func (c Config) withDefaults() Config {
	if c.Bootstrap == nil {
		c.Bootstrap = Bootstrap(metadata.Level42IV1)
	}
	if c.Supported == nil {
		c.Supported = SupportedFeatures()
	}
	c.NumPartitions = cmp.Or(c.NumPartitions, 1)
	c.ReplicationFactor = cmp.Or(c.ReplicationFactor, 1)
	c.MinInsyncReplicas = cmp.Or(c.MinInsyncReplicas, 1)
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 9*time.Second)
	c.BalanceInterval = cmp.Or(c.BalanceInterval, 5*time.Minute)
	c.UncleanInterval = cmp.Or(c.UncleanInterval, 5*time.Minute)
	if c.KRaftVersion == nil {
		c.KRaftVersion = func() int16 { return 1 }
	}
	if c.Voters == nil {
		c.Voters = func() []int32 { return []int32{c.NodeID} }
	}
	if c.Leader == nil {
		c.Leader = func() (int32, int32) { return c.NodeID, 0 }
	}
	if c.Publish == nil {
		c.Publish = func(*Image) {}
	}
	return c
}

// ConfigKind is the kind of a resource that has settings, with the number that
// requests and records use.
type ConfigKind int8

// The kinds of resources. Brokers' loggers are not in the metadata: each broker
// answers for its own.
const (
	KindTopic         ConfigKind = 2
	KindBroker        ConfigKind = 4 // Named by the broker's id; "" is every broker.
	KindBrokerLogger  ConfigKind = 8
	KindClientMetrics ConfigKind = 16
	KindGroup         ConfigKind = 32
)

// ConfigResource names one resource that has settings.
type ConfigResource struct {
	Kind ConfigKind
	Name string
}

// ConfigSchema knows the settings that there are. All maps are read only.
type ConfigSchema interface {
	// Check says whether a resource may have the settings in after, all of them,
	// before being those it has. The error's text is for the client; it counts as
	// INVALID_CONFIG unless it is a *Refusal.
	Check(r ConfigResource, before, after map[string]string) error
	// IsList reports whether a setting takes APPEND and SUBTRACT.
	IsList(kind ConfigKind, key string) bool
	// Default is the value that APPEND and SUBTRACT begin with if nobody set one.
	Default(kind ConfigKind, key string) string
	// Forgotten reports whether a setting is accepted but not kept.
	Forgotten(kind ConfigKind, key string) bool
	// TopicValue is the value of a topic's setting under the settings given: the
	// topic's own, those of one broker, and those of every broker.
	TopicValue(key string, topic, broker, cluster map[string]string) string
	// TopicConfigs lists the settings of a topic as CreateTopics answers them, by
	// name.
	TopicConfigs(topic, broker, cluster map[string]string) []kmsg.CreateTopicsResponseTopicConfig
}

// FeatureRange is the range of levels of a feature that a node supports.
type FeatureRange struct {
	Min, Max int16
}

func (r FeatureRange) contains(level int16) bool { return r.Min <= level && level <= r.Max }
