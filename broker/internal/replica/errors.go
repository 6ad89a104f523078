package replica

import (
	"fmt"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
	"github.com/moldau-broker/moldau/logstore"
)

// Errors that the replication state gives.
type (
	// NotLeaderError is NOT_LEADER_OR_FOLLOWER.
	NotLeaderError = state.NotLeaderError
	// EpochError is FENCED_LEADER_EPOCH if Fenced, else UNKNOWN_LEADER_EPOCH.
	EpochError = state.EpochError
	// UnknownReplicaError is UNKNOWN_LEADER_EPOCH if HasEpoch, else
	// NOT_LEADER_OR_FOLLOWER.
	UnknownReplicaError = state.UnknownReplicaError
	// StaleBrokerError is NOT_LEADER_OR_FOLLOWER.
	StaleBrokerError = state.StaleBrokerError
	// NotEnoughReplicasError is NOT_ENOUGH_REPLICAS_AFTER_APPEND if Appended, else
	// NOT_ENOUGH_REPLICAS.
	NotEnoughReplicasError = state.NotEnoughReplicasError
	// OffsetError is OFFSET_OUT_OF_RANGE.
	OffsetError = logstore.OffsetError
)

// UnknownPartitionError says that this broker has no replica of the partition.
// Kafka's UNKNOWN_TOPIC_OR_PARTITION; who knows from the image that another
// broker has one answers NOT_LEADER_OR_FOLLOWER.
type UnknownPartitionError struct {
	Topic     string
	Partition int32
}

func (e *UnknownPartitionError) Error() string {
	return fmt.Sprintf("no replica of %s-%d on this broker", e.Topic, e.Partition)
}

// OfflineError says that the replica cannot be used until the broker is started
// again, because its disk failed. Kafka's KAFKA_STORAGE_ERROR.
type OfflineError struct {
	Topic     string
	Partition int32
	Err       error // What failed.

	id [16]byte // Of the topic.
}

func (e *OfflineError) Error() string {
	return fmt.Sprintf("replica of %s-%d is offline until restart: %v", e.Topic, e.Partition, e.Err)
}

func (e *OfflineError) Unwrap() error { return e.Err }

// OffsetNotAvailableError says that a new leader does not know yet how far its
// predecessor had committed, so that its answer might go back (KIP-207). Kafka's
// OFFSET_NOT_AVAILABLE, before version 5 of ListOffsets LEADER_NOT_AVAILABLE.
type OffsetNotAvailableError struct {
	HighWatermark, EpochStart int64
}

func (e *OffsetNotAvailableError) Error() string {
	return fmt.Sprintf("high watermark %d has not reached %d, where the leader epoch began", e.HighWatermark, e.EpochStart)
}

// PolicyError says that records of a topic that is only compacted cannot be
// deleted by offset. Kafka's POLICY_VIOLATION.
type PolicyError struct{ Topic string }

func (e *PolicyError) Error() string {
	return fmt.Sprintf("records of %s cannot be deleted: its cleanup.policy is compact", e.Topic)
}
