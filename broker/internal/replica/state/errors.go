package state

import "fmt"

// NotLeaderError says that this broker is not, or is no longer, the leader of
// the partition.
type NotLeaderError struct {
	Leader int32 // The leader this broker knows of; -1 if none.
	Epoch  int32 // Its leader epoch.
}

func (e *NotLeaderError) Error() string {
	if e.Leader < 0 {
		return fmt.Sprintf("this broker does not lead the partition, nobody does in leader epoch %d", e.Epoch)
	}
	return fmt.Sprintf("this broker does not lead the partition, broker %d does in leader epoch %d", e.Leader, e.Epoch)
}

// EpochError says that a request was made for another leader epoch than the
// one this broker knows.
type EpochError struct {
	Got  int32 // What the request carried.
	Have int32 // What this broker knows.
}

// Fenced reports whether the requester is behind (FENCED_LEADER_EPOCH); if not,
// this broker is (UNKNOWN_LEADER_EPOCH).
func (e *EpochError) Fenced() bool { return e.Got < e.Have }

func (e *EpochError) Error() string {
	return fmt.Sprintf("request is for leader epoch %d, this broker knows %d", e.Got, e.Have)
}

// UnknownReplicaError says that a follower fetched which the metadata of this
// broker does not assign to the partition. The follower's metadata is probably
// newer: it retries.
type UnknownReplicaError struct {
	Replica int32
	Epoch   int32 // The leader epoch this broker knows.
	// HasEpoch says that the request carried that leader epoch; Kafka answers
	// UNKNOWN_LEADER_EPOCH then, else NOT_LEADER_OR_FOLLOWER.
	HasEpoch bool
}

func (e *UnknownReplicaError) Error() string {
	return fmt.Sprintf("broker %d is not a replica of the partition in leader epoch %d", e.Replica, e.Epoch)
}

// StaleBrokerError says that a fetch was made by an earlier incarnation of the
// follower (KIP-903).
type StaleBrokerError struct {
	Replica   int32
	Got, Have int64 // Broker epochs: of the request, and of the registration.
}

func (e *StaleBrokerError) Error() string {
	return fmt.Sprintf("fetch of broker %d carries broker epoch %d, it is registered with %d", e.Replica, e.Got, e.Have)
}

// NotEnoughReplicasError says that fewer replicas are in sync than
// min.insync.replicas asks for.
type NotEnoughReplicasError struct {
	InSync, Min int
	// Appended says that the records are in the log of the leader all the same,
	// and may become committed.
	Appended bool
}

func (e *NotEnoughReplicasError) Error() string {
	if e.Appended {
		return fmt.Sprintf("records were appended, but only %d replicas are in sync and min.insync.replicas asks for %d", e.InSync, e.Min)
	}
	return fmt.Sprintf("only %d replicas are in sync, min.insync.replicas asks for %d", e.InSync, e.Min)
}
