package api

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/broker/internal/session"
	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// TestCode: the code of each error that the packages below return, also when others
// wrap it.
func TestCode(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want *kerr.Error
	}{
		{kerr.InvalidConfig, kerr.InvalidConfig},
		{&replica.EpochError{Got: 3, Have: 4}, kerr.FencedLeaderEpoch},
		{&replica.EpochError{Got: 4, Have: 3}, kerr.UnknownLeaderEpoch},
		{&replica.UnknownReplicaError{HasEpoch: true}, kerr.UnknownLeaderEpoch},
		{&replica.UnknownReplicaError{}, kerr.NotLeaderForPartition},
		{&replica.NotLeaderError{}, kerr.NotLeaderForPartition},
		{&replica.StaleBrokerError{}, kerr.NotLeaderForPartition},
		{&replica.NotEnoughReplicasError{Appended: true}, kerr.NotEnoughReplicasAfterAppend},
		{&replica.NotEnoughReplicasError{}, kerr.NotEnoughReplicas},
		{&replica.UnknownPartitionError{}, kerr.UnknownTopicOrPartition},
		{&replica.OfflineError{Err: errors.New("no disk")}, kerr.KafkaStorageError},
		{&logstore.StorageError{}, kerr.KafkaStorageError},
		{&logstore.FailedError{}, kerr.KafkaStorageError},
		{&logstore.ClosedError{}, kerr.KafkaStorageError},
		{&logstore.OffsetError{}, kerr.OffsetOutOfRange},
		{&replica.OffsetNotAvailableError{}, kerr.OffsetNotAvailable},
		{&replica.PolicyError{}, kerr.PolicyViolation},
		{&logstore.BatchTooLargeError{}, kerr.RecordListTooLarge},
		{&batch.RecordsError{Timestamp: true}, kerr.InvalidTimestamp},
		{&batch.RecordsError{}, kerr.InvalidRecord},
		{&batch.CorruptError{Legacy: true}, kerr.InvalidRecord},
		{&batch.CorruptError{}, kerr.CorruptMessage},
		{&batch.TooLargeError{}, kerr.MessageTooLarge},
		{&batch.CodecError{}, kerr.UnsupportedCompressionType},
		{&producer.EpochError{}, kerr.InvalidProducerEpoch},
		{&producer.SequenceError{}, kerr.OutOfOrderSequenceNumber},
		{&producer.TxnStateError{}, kerr.InvalidTxnState},
		{&producer.UnverifiedError{}, kerr.InvalidTxnState},
		{&producer.CoordinatorFencedError{}, kerr.TransactionCoordinatorFenced},
		{session.ErrNotFound, kerr.FetchSessionIDNotFound},
		{session.ErrEpoch, kerr.InvalidFetchSessionEpoch},
		{session.ErrTopicID, kerr.FetchSessionTopicIDError},
		{context.DeadlineExceeded, kerr.RequestTimedOut},
		{context.Canceled, kerr.RequestTimedOut},
		{errRecreated, kerr.NotLeaderForPartition},
		{errors.New("nobody thought of this"), kerr.UnknownServerError},
	} {
		for _, err := range []error{tc.err, fmt.Errorf("wrapped: %w", tc.err)} {
			if got := code(err); got != tc.want.Code {
				t.Errorf("%T %v: %v, want %v", err, err, kerr.TypedErrorForCode(got), tc.want)
			}
		}
	}
	if got := code(nil); got != 0 {
		t.Errorf("no error: %d", got)
	}
}

// TestCodesOfCoordinators: what a request is told that no shard answered, as the API
// has it.
func TestCodesOfCoordinators(t *testing.T) {
	type codes struct{ coordinator, control, mark, commit *kerr.Error }
	for err, want := range map[error]codes{
		coordinator.ErrLoading:                    {kerr.CoordinatorLoadInProgress, kerr.NotController, kerr.NotLeaderForPartition, kerr.CoordinatorLoadInProgress},
		coordinator.ErrNotCoordinator:             {kerr.NotCoordinator, kerr.NotController, kerr.NotLeaderForPartition, kerr.NotCoordinator},
		coordinator.ErrUnavailable:                {kerr.CoordinatorNotAvailable, kerr.RequestTimedOut, kerr.NotLeaderForPartition, kerr.CoordinatorNotAvailable},
		context.DeadlineExceeded:                  {kerr.CoordinatorNotAvailable, kerr.RequestTimedOut, kerr.RequestTimedOut, kerr.RequestTimedOut},
		error(&replica.NotLeaderError{}):          {kerr.CoordinatorNotAvailable, kerr.RequestTimedOut, kerr.NotLeaderForPartition, kerr.NotLeaderForPartition},
		error(&producer.CoordinatorFencedError{}): {kerr.CoordinatorNotAvailable, kerr.RequestTimedOut, kerr.TransactionCoordinatorFenced, kerr.TransactionCoordinatorFenced},
	} {
		got := [4]int16{coordinatorCode(err), controlCode(err), markCode(err), txnCommitRefusal(err)}
		if want := [4]int16{want.coordinator.Code, want.control.Code, want.mark.Code, want.commit.Code}; got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
	if coordinatorCode(nil) != 0 {
		t.Error("no error has a code")
	}
}

// TestCodesByVersion: clients of old versions are told only what they know.
func TestCodesByVersion(t *testing.T) {
	fenced, epoch := kerr.ProducerFenced.Code, kerr.InvalidProducerEpoch.Code
	for name, got := range map[string][2]int16{
		"fenced before 2, in 1":       {fencedBefore(2, 1, fenced), epoch},
		"fenced before 2, in 2":       {fencedBefore(2, 2, fenced), fenced},
		"another before 2, in 1":      {fencedBefore(2, 1, kerr.InvalidTxnState.Code), kerr.InvalidTxnState.Code},
		"loading, in 1":               {txnCommitCode(kerr.CoordinatorLoadInProgress.Code, 1), kerr.CoordinatorNotAvailable.Code},
		"loading, in 2":               {txnCommitCode(kerr.CoordinatorLoadInProgress.Code, 2), kerr.CoordinatorLoadInProgress.Code},
		"unknown partition":           {txnCommitCode(kerr.UnknownTopicOrPartition.Code, 3), kerr.CoordinatorNotAvailable.Code},
		"not enough replicas":         {txnCommitCode(kerr.NotEnoughReplicas.Code, 3), kerr.CoordinatorNotAvailable.Code},
		"not enough replicas, after":  {txnCommitCode(kerr.NotEnoughReplicasAfterAppend.Code, 3), kerr.CoordinatorNotAvailable.Code},
		"timed out":                   {txnCommitCode(kerr.RequestTimedOut.Code, 3), kerr.CoordinatorNotAvailable.Code},
		"not the leader":              {txnCommitCode(kerr.NotLeaderForPartition.Code, 3), kerr.NotCoordinator.Code},
		"the disk failed":             {txnCommitCode(kerr.KafkaStorageError.Code, 3), kerr.NotCoordinator.Code},
		"message too large":           {txnCommitCode(kerr.MessageTooLarge.Code, 3), kerr.UnknownServerError.Code},
		"record list too large":       {txnCommitCode(kerr.RecordListTooLarge.Code, 3), kerr.UnknownServerError.Code},
		"what a coordinator says":     {txnCommitCode(kerr.InvalidTxnState.Code, 0), kerr.InvalidTxnState.Code},
		"offset not available, in 4":  {listOffsetsCode(&replica.OffsetNotAvailableError{}, 4), kerr.LeaderNotAvailable.Code},
		"offset not available, in 5":  {listOffsetsCode(&replica.OffsetNotAvailableError{}, 5), kerr.OffsetNotAvailable.Code},
		"not the leader, in 4":        {listOffsetsCode(&replica.NotLeaderError{}, 4), kerr.NotLeaderForPartition.Code},
		"admission: fenced":           {admissionCode(fenced, verifyAbortable), epoch},
		"admission: abortable, plain": {admissionCode(kerr.TransactionAbortable.Code, verifyPlain), kerr.InvalidTxnState.Code},
		"admission: abortable":        {admissionCode(kerr.TransactionAbortable.Code, verifyAbortable), kerr.TransactionAbortable.Code},
		"admission: abortable, added": {admissionCode(kerr.TransactionAbortable.Code, addPartitions), kerr.TransactionAbortable.Code},
		"admission: another, plain":   {admissionCode(kerr.InvalidProducerIDMapping.Code, verifyPlain), kerr.InvalidProducerIDMapping.Code},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %v, want %v", name, kerr.TypedErrorForCode(got[0]), kerr.TypedErrorForCode(got[1]))
		}
	}
}

// TestAdmissionOf: the versions in which a request changes how it comes into a
// transaction, each at its bound.
func TestAdmissionOf(t *testing.T) {
	for version, want := range map[int16]admission{
		3: verifyPlain, 10: verifyPlain, 11: verifyAbortable, 12: addPartitions, 13: addPartitions,
	} {
		if got := admissionOf(version, produceAbortable, produceAdd); got != want {
			t.Errorf("Produce version %d: %d, want %d", version, got, want)
		}
	}
	for version, want := range map[int16]admission{0: verifyPlain, 3: verifyPlain, 4: verifyAbortable, 5: addPartitions} {
		if got := admissionOf(version, txnOffsetsAbortable, txnOffsetsAdd); got != want {
			t.Errorf("TxnOffsetCommit version %d: %d, want %d", version, got, want)
		}
	}
}

// TestNotEntered: what a producer is told of a partition that did not come into its
// transaction.
func TestNotEntered(t *testing.T) {
	again := "the coordinator of the transaction did not confirm the partition: "
	for _, tc := range []struct {
		code    *kerr.Error
		how     admission
		want    *kerr.Error
		message string
	}{
		{kerr.NetworkException, verifyPlain, kerr.NotEnoughReplicas, again + "NETWORK_EXCEPTION"},
		{kerr.CoordinatorLoadInProgress, addPartitions, kerr.NotEnoughReplicas, again + "COORDINATOR_LOAD_IN_PROGRESS"},
		{kerr.CoordinatorNotAvailable, verifyPlain, kerr.NotEnoughReplicas, again + "COORDINATOR_NOT_AVAILABLE"},
		{kerr.NotCoordinator, verifyAbortable, kerr.NotEnoughReplicas, again + "NOT_COORDINATOR"},
		{kerr.ConcurrentTransactions, verifyAbortable, kerr.NotEnoughReplicas, again + "CONCURRENT_TRANSACTIONS"},
		{kerr.ConcurrentTransactions, addPartitions, kerr.ConcurrentTransactions, ""},
		{kerr.InvalidTxnState, verifyPlain, kerr.InvalidTxnState, "the partition is not in the transaction"},
		{kerr.InvalidProducerEpoch, verifyPlain, kerr.InvalidProducerEpoch, ""},
	} {
		got := notEntered(tc.code.Code, tc.how)
		message := ""
		if got.message != nil {
			message = *got.message
		}
		if got.code != tc.want.Code || message != tc.message || got.baseOffset != -1 || got.logStart != -1 {
			t.Errorf("%v of %d: %v %q, want %v %q", tc.code.Message, tc.how, kerr.TypedErrorForCode(got.code), message, tc.want, tc.message)
		}
	}
}
