package group

import (
	"log/slog"
	"math"
	"time"
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
		Logger:                 slog.New(slog.DiscardHandler),
	}
}
