// Package history judges what clients of a broker saw over a run: which of it no
// correct Kafka could have shown them. The anomalies and their names are those of
// Jepsen's Kafka workload (jepsen.tests.kafka), with a few of our own; docs of each
// are at its check.
//
// It knows nothing of clients: a run records operations, marks and commits, and
// Check looks at them afterwards. Values are unique in a run, so that a record is
// known by its value wherever it turns up.
package history

import (
	"sync"
	"time"
)

// Partition names a partition of a topic, as "topic-0".
type Partition string

// Record is one record as a client sent or received it.
type Record struct {
	Partition Partition
	Offset    int64  // -1 where the client was not told.
	Value     string // Unique in the history.
	Of        string // The value of the record that it was derived from, if any.
}

// Outcome is what a client knows of the end of an operation.
type Outcome int8

// Outcomes.
const (
	Unknown   Outcome = iota // It was asked to commit, and the answer is not known.
	Committed                // It was committed, or acknowledged.
	Aborted                  // It was aborted, or never asked to commit.
)

// Op is one operation of one process: a transaction, a plain send, or a poll.
type Op struct {
	Process    int // A client that is made again is a new process.
	Begin, End time.Duration
	Outcome    Outcome
	Moved      bool     // Its positions were set anew since its operation before.
	Polls      []Record // In the order received.
	Sends      []Record // In the order sent.
}

// Mark is what the broker said of a partition's ends, seen by the one observer.
type Mark struct {
	Partition Partition
	Stable    int64 // Last stable offset.
	High      int64 // High watermark.
}

// Commit is a group's committed offset, seen by the one observer.
type Commit struct {
	Group     string
	Partition Partition
	Offset    int64 // -1: none.
}

// Processing names a group that derives one record for each record of some
// partitions.
type Processing struct {
	Group string
	In    []Partition
	Out   []Partition
}

// History is what was recorded in a run. Its methods may be called from anywhere;
// its fields belong to whoever has ended the run.
type History struct {
	Ops       []Op
	Marks     []Mark   // In the order seen.
	Commits   []Commit // In the order seen.
	Processed []Processing

	// Final is what a reader of committed records saw of each partition at the end,
	// from the beginning on, after everybody else had stopped.
	Final map[Partition][]Record

	mu sync.Mutex
}

// Add records an operation.
func (h *History) Add(op Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Ops = append(h.Ops, op)
}

// Mark records the ends of a partition.
func (h *History) Mark(m Mark) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Marks = append(h.Marks, m)
}

// Commit records a committed offset.
func (h *History) Commit(c Commit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Commits = append(h.Commits, c)
}
