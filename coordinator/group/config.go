package group

import (
	"log/slog"
	"math"
	"time"

	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// Config sets the limits of a shard's groups. Begin with DefaultConfig: the zero
// value of a field means zero.
type Config struct {
	// InitialRebalanceDelay is how long the first rebalance of an empty group waits
	// for more members; it is extended while they keep coming, up to the rebalance
	// timeout. Default 3 s. Kafka's group.initial.rebalance.delay.ms.
	InitialRebalanceDelay time.Duration
	// MinSession and MaxSession bound the session timeout that a member may ask
	// for. Default 6 s and 30 min. Kafka's group.min.session.timeout.ms and
	// group.max.session.timeout.ms.
	MinSession, MaxSession time.Duration
	// NewMemberJoinTimeout is how long a new member may wait for its first
	// rebalance. It cannot heartbeat, so nothing else would notice that it is gone.
	// Default 5 min; Kafka has no setting for it.
	NewMemberJoinTimeout time.Duration
	// MaxSize is how many members a group may have. Default 2^31-1. Kafka's
	// group.max.size.
	MaxSize int
	// OffsetMetadataMaxBytes is how long the metadata of a committed offset may be,
	// in UTF-16 units as Kafka counts. Default 4096. Kafka's
	// offset.metadata.max.bytes.
	OffsetMetadataMaxBytes int
	// OffsetsRetention is how long offsets are kept after their group went empty,
	// or after the commit if the group does not use the membership protocol. Default
	// 7 days. Kafka's offsets.retention.minutes.
	OffsetsRetention time.Duration
	// RetentionCheckInterval is how often expired offsets are looked for. Default
	// 10 min. Kafka's offsets.retention.check.interval.ms.
	RetentionCheckInterval time.Duration
	// Consumer is about groups of the consumer protocol (KIP-848).
	Consumer ConsumerConfig
	// Logger gets what happens to groups. Default: discarded.
	Logger *slog.Logger
}

// DefaultConfig is what Kafka does when nothing is configured.
func DefaultConfig() Config {
	return Config{
		InitialRebalanceDelay:  3 * time.Second,
		MinSession:             6 * time.Second,
		MaxSession:             30 * time.Minute,
		NewMemberJoinTimeout:   5 * time.Minute,
		MaxSize:                math.MaxInt32,
		OffsetMetadataMaxBytes: 4096,
		OffsetsRetention:       7 * 24 * time.Hour,
		RetentionCheckInterval: 10 * time.Minute,
		Consumer: ConsumerConfig{
			Session:           45 * time.Second,
			HeartbeatInterval: 5 * time.Second,
			MaxSize:           math.MaxInt32,
			Assignors:         []string{assign.UniformName, assign.RangeName},
			Upgrade:           true,
			Downgrade:         true,
			RegexRefresh:      10 * time.Minute,
		},
		Logger: slog.New(slog.DiscardHandler),
	}
}

// ConsumerConfig sets the limits of groups of the consumer protocol.
type ConsumerConfig struct {
	// Session is how long nothing need be heard of a member. Default 45 s. Kafka's
	// group.consumer.session.timeout.ms; a group may have its own.
	Session time.Duration
	// HeartbeatInterval is how often members are told to heartbeat. Default 5 s.
	// Kafka's group.consumer.heartbeat.interval.ms; a group may have its own.
	HeartbeatInterval time.Duration
	// MaxSize is how many members a group may have. Default 2^31-1. Kafka's
	// group.consumer.max.size.
	MaxSize int
	// Assignors are the names of those that members may ask for; the first is used
	// if they ask for none. Default uniform and range. Kafka's
	// group.consumer.assignors, without assignors of the user's own.
	Assignors []string
	// Upgrade and Downgrade say whether a classic group becomes one of the consumer
	// protocol when somebody joins by it, and a classic one again when no such member
	// is left. Default both. Kafka's group.consumer.migration.policy.
	Upgrade, Downgrade bool
	// RegexRefresh is after what time the topics that regular expressions match are
	// looked up again, even if the cluster has not changed. Default 10 min. Kafka's
	// group.consumer.regex.refresh.interval.ms.
	RegexRefresh time.Duration
}
