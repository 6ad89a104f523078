package coordinator

import (
	"math/rand/v2"
	"time"
)

// Record is one record of a shard's log. A nil Value is a tombstone: it takes
// the key back, and compaction may later remove both.
type Record struct {
	Key, Value []byte
}

// Ticket names who waits for the answer to an input. It is chosen by the
// runtime; a shard only keeps it and puts it into a Reply. 0 is nobody.
type Ticket uint64

// Moment is what a shard may know of the world in one step.
type Moment struct {
	// Now is the time of the step. As Go measures it, by Sub and After, it never
	// falls between the steps of one load, and timers go by that. What is written
	// to a log is of the wall clock, which somebody may set back.
	Now time.Time
	// Rand is the only source of chance. A test passes a seeded one.
	Rand *rand.Rand
	// NextOffset is the offset that the first record of this step would get.
	NextOffset int64
}

// Effects is what a step wants done: nothing of it has happened when the step
// returns. The records are appended first, as one batch. The replies are sent
// when everything that the shard had seen is committed; those with a zero
// ticket are dropped. Sends leave under the same condition, after them. The timers
// are set last.
type Effects struct {
	Records []Record
	// Within, if not nil, is the producer in whose transaction the records are.
	Within  *Within
	Replies []Reply
	// Sends are messages to whom Options.Deliver knows, in order. One that had not
	// left when the election ended, or the shard failed, never will: what must not
	// be lost is sent again by Loaded.
	Sends  []any
	Timers []Timer
}

// Reply answers one ticket, once: a second reply to a ticket is a bug.
type Reply struct {
	To   Ticket
	Body any
	Err  error
}

// Timer asks that Fired be called with Key at or after At. A key has one timer:
// setting it again moves it, and the zero time cancels it.
type Timer struct {
	Key any // Comparable.
	At  time.Time
}

// At is where a replayed record stands in the log, and who wrote it.
type At struct {
	Offset      int64
	TimestampMs int64
	// ProducerID and ProducerEpoch are those of a transactional record, which
	// does not count until ReplayMarker commits it; -1 and -1 for a plain one.
	ProducerID    int64
	ProducerEpoch int16
}

// Shard is one coordinator's state machine: it decides, and the runtime acts.
// All methods are called by one goroutine at a time.
//
// A shard has two kinds of state. Hard state is what its log says; only Replay
// and ReplayMarker change it, and replaying the log into a new shard gives it
// again. Soft state (who waits, when a session ends) is lost when the shard
// moves, and the other methods may change it freely.
//
// No method blocks, does I/O, starts a goroutine or reads a clock.
type Shard interface {
	// Step decides what one input does. t is answered by a Reply of this step or
	// of a later one.
	Step(m Moment, t Ticket, in any) Effects

	// Refused is called instead of Replay when the log did not take the records
	// of a step: nothing was written. t and in are those of the Step, 0 and the
	// timer's key for Fired, 0 and nil for Loaded. The replies and timers of the refused step were
	// dropped; the effects of Refused are carried out in their place, and hold no
	// records.
	Refused(m Moment, t Ticket, in any, err error) Effects

	// Fired says that a timer is due. The timer is no longer set.
	Fired(m Moment, key any) Effects

	// Replay applies one record to hard state: at load, and right after each
	// append. An error means that the log cannot be read, and stops the shard. The
	// record's bytes are the shard's to keep, not to change.
	Replay(at At, r Record) error

	// ReplayMarker ends the transaction of a producer: the records that it wrote
	// count from now on (commit), or never.
	ReplayMarker(producerID int64, epoch int16, commit bool)

	// Loaded is called once, after the whole log was replayed and before the
	// first step: the time to set timers.
	Loaded(m Moment) Effects
}

// Publisher is a Shard that wants to know when its log is committed.
type Publisher interface {
	// Published says that the log is committed up to committed (not included).
	// Calls come in order and never fall, and only between steps.
	Published(committed int64)
}
