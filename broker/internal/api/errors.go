package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/broker/internal/session"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// code is the one place where an error of another package becomes a Kafka
// error code. Packages below return typed errors that say what happened; which
// number a client reads is decided here.
//
// An error without a line here is UNKNOWN_SERVER_ERROR, which is a defect: see
// mayBeUnknown.
func code(err error) int16 {
	if err == nil {
		return 0
	}
	if known, ok := errors.AsType[*kerr.Error](err); ok {
		return known.Code
	}
	if c, ok := replicaCode(err); ok {
		return c
	}
	if c, ok := batchCode(err); ok {
		return c
	}
	switch {
	case errors.Is(err, session.ErrNotFound):
		return kerr.FetchSessionIDNotFound.Code
	case errors.Is(err, session.ErrEpoch):
		return kerr.InvalidFetchSessionEpoch.Code
	case errors.Is(err, session.ErrTopicID):
		return kerr.FetchSessionTopicIDError.Code
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		// Cancelled: the client is gone, or the broker stops. Whoever still
		// reads this should try again elsewhere.
		return kerr.RequestTimedOut.Code
	}
	return kerr.UnknownServerError.Code
}

// replicaCode knows the errors of partitions and their logs.
func replicaCode(err error) (int16, bool) {
	if e, ok := errors.AsType[*replica.EpochError](err); ok {
		if e.Fenced() {
			return kerr.FencedLeaderEpoch.Code, true
		}
		return kerr.UnknownLeaderEpoch.Code, true
	}
	if e, ok := errors.AsType[*replica.UnknownReplicaError](err); ok && e.HasEpoch {
		return kerr.UnknownLeaderEpoch.Code, true
	}
	if e, ok := errors.AsType[*replica.NotEnoughReplicasError](err); ok {
		if e.Appended {
			return kerr.NotEnoughReplicasAfterAppend.Code, true
		}
		return kerr.NotEnoughReplicas.Code, true
	}
	switch {
	case is[*replica.UnknownPartitionError](err):
		return kerr.UnknownTopicOrPartition.Code, true
	case is[*replica.NotLeaderError](err), is[*replica.UnknownReplicaError](err), is[*replica.StaleBrokerError](err):
		return kerr.NotLeaderForPartition.Code, true
	case is[*replica.OfflineError](err), is[*logstore.StorageError](err), is[*logstore.FailedError](err), is[*logstore.ClosedError](err):
		return kerr.KafkaStorageError.Code, true
	case is[*logstore.OffsetError](err):
		return kerr.OffsetOutOfRange.Code, true
	case is[*replica.OffsetNotAvailableError](err):
		return kerr.OffsetNotAvailable.Code, true
	case is[*replica.PolicyError](err):
		return kerr.PolicyViolation.Code, true
	case is[*logstore.BatchTooLargeError](err):
		return kerr.RecordListTooLarge.Code, true
	}
	return 0, false
}

// batchCode knows what can be wrong with what a producer sends.
func batchCode(err error) (int16, bool) {
	if e, ok := errors.AsType[*batch.RecordsError](err); ok {
		if e.Timestamp {
			return kerr.InvalidTimestamp.Code, true
		}
		return kerr.InvalidRecord.Code, true
	}
	if e, ok := errors.AsType[*batch.CorruptError](err); ok {
		if e.Legacy {
			return kerr.InvalidRecord.Code, true
		}
		return kerr.CorruptMessage.Code, true
	}
	switch {
	case is[*batch.TooLargeError](err):
		return kerr.MessageTooLarge.Code, true
	case is[*batch.CodecError](err):
		return kerr.UnsupportedCompressionType.Code, true
	case is[*producer.EpochError](err):
		return kerr.InvalidProducerEpoch.Code, true
	case is[*producer.SequenceError](err):
		return kerr.OutOfOrderSequenceNumber.Code, true
	case is[*producer.TxnStateError](err), is[*producer.UnverifiedError](err):
		return kerr.InvalidTxnState.Code, true
	case is[*producer.CoordinatorFencedError](err):
		return kerr.TransactionCoordinatorFenced.Code, true
	}
	return 0, false
}

// denied is what Kafka says of a right that a client lacks, where it says more than
// the code. The texts of package kerr are those of Kafka's documentation.
func denied(err *kerr.Error) *string {
	texts := map[*kerr.Error]string{
		kerr.TopicAuthorizationFailed:           "Topic authorization failed.",
		kerr.GroupAuthorizationFailed:           "Group authorization failed.",
		kerr.ClusterAuthorizationFailed:         "Cluster authorization failed.",
		kerr.TransactionalIDAuthorizationFailed: "Transactional Id authorization failed.",
	}
	text, ok := texts[err]
	if !ok {
		panic(fmt.Sprintf("BUG: api: %v is not about rights", err))
	}
	return &text
}

// is says whether an error of that type is in err's chain.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// mayBeUnknown lists where Apache Kafka itself answers UNKNOWN_SERVER_ERROR. A
// test in which any other response carries it fails (see Unknowns).
var mayBeUnknown = map[kmsg.Key]string{
	kmsg.JoinGroup:    "the group's record is larger than the topic allows",
	kmsg.SyncGroup:    "the group's record is larger than the topic allows",
	kmsg.OffsetCommit: "the commit's record is larger than the topic allows",

	kmsg.CreatePartitions:        "more partitions than one change may make",
	kmsg.IncrementalAlterConfigs: "an operation of no known kind",
}
