package coordinator

import (
	"context"
	"time"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// Log is what a shard's state is made from: a partition, or the metadata quorum.
// A Log value belongs to one election. When the leadership that it was made for
// ends, Append fails with an error that is ErrNotCoordinator.
//
// The runtime calls Append from one goroutine at a time, and Replay only while it
// does not append.
type Log interface {
	// Append writes the records as one batch stamped with now, whole or not at
	// all, and returns the offset of the first. It does not wait until they are
	// committed. A *RefusedError says that nothing was written and that the log is
	// as good as before; any other error makes the runtime load the shard anew.
	// The records' bytes may be kept only until Append returns.
	Append(now time.Time, recs []Record) (base int64, err error)

	// End is the offset that the next record gets.
	End() int64

	// Committed is the first offset that may still be lost. It never falls while
	// the election lasts.
	Committed() int64

	// OnCommit sets the function to be called whenever Committed has moved; nil
	// removes it. It is called from any goroutine, may be called within Append,
	// and returns at once.
	OnCommit(func())

	// Replay reads all batches from the start of the log to its end, committed or
	// not, in order. The batch is f's until f returns.
	Replay(ctx context.Context, f func(batch.Batch) error) error
}
