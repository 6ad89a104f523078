package coordinator

import "errors"

var (
	// ErrLoading says that the shard is being loaded from its log: ask again.
	// Kafka's COORDINATOR_LOAD_IN_PROGRESS.
	ErrLoading = errors.New("coordinator is loading its log")

	// ErrNotCoordinator says that this process does not lead the shard's
	// partition: look for the coordinator elsewhere. Kafka's NOT_COORDINATOR.
	ErrNotCoordinator = errors.New("not the coordinator of this key")

	// ErrUnavailable says that the shard cannot answer now: its queue is full, it
	// is offline after a failure, or the process ends. What was asked may or may
	// not have been done. Kafka's COORDINATOR_NOT_AVAILABLE.
	ErrUnavailable = errors.New("coordinator is not available")
)

// RefusedError is what Log.Append returns when it wrote nothing: the input that
// made the records fails, and the shard goes on. Any other error leaves in doubt
// what was written.
type RefusedError struct {
	Err error // Why; never nil.
}

func (e *RefusedError) Error() string { return "append refused: " + e.Err.Error() }

func (e *RefusedError) Unwrap() error { return e.Err }
