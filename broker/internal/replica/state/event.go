package state

import (
	"cmp"
	"slices"
)

// Event is what a State is stepped with: one of the types of this file.
type Event interface{ event() }

// Ticket names who waits for an answer. The owner of the State chooses them.
type Ticket uint64

// Assigned is the partition as the controller published it. An assignment older
// than what is known is ignored; one of the same partition epoch is taken, since
// the answer to a proposal may have told that epoch, but not the replicas.
type Assigned struct {
	Leader         int32 // -1: nobody leads.
	LeaderEpoch    int32
	PartitionEpoch int32
	Replicas       []int32 // In order of preference, those being added included.
	ISR            []int32
	Adding         []int32 // Of Replicas: not yet counted on by a reassignment.
}

// Brokers is what the metadata says of all brokers, in the order of their ids. It
// is shared between partitions and never changed.
type Brokers []Broker

// Broker is one registered broker.
type Broker struct {
	ID           int32
	Epoch        int64 // Offset of its registration; another for each incarnation.
	Fenced       bool
	ShuttingDown bool // In controlled shutdown.
}

func (b Brokers) find(id int32) (Broker, bool) {
	i, ok := slices.BinarySearchFunc(b, id, func(b Broker, id int32) int { return cmp.Compare(b.ID, id) })
	if !ok {
		return Broker{}, false
	}
	return b[i], true
}

// Tuned changes the settings while running.
type Tuned struct{ Config }

// Appended says that the leader's log grew to End.
type Appended struct{ End int64 }

// Flushed says that everything below To is on stable storage.
type Flushed struct{ To int64 }

// Started says that the log start moved up, by retention or DeleteRecords.
type Started struct{ Start int64 }

// Wait asks for an answer once everything below Offset is committed: the wait of
// a produce with acks=all.
type Wait struct {
	Ticket Ticket
	Offset int64
}

// WaitLow asks for an answer once no live replica holds a record below Offset:
// the wait of DeleteRecords.
type WaitLow struct {
	Ticket Ticket
	Offset int64
}

// Forget takes back a Wait or WaitLow: its asker has gone.
type Forget struct{ Ticket Ticket }

// FollowerFetched says that the leader has served a fetch of a follower; a
// fetch answered with an error or a diverging epoch does not count (B-4).
type FollowerFetched struct {
	Replica     int32
	BrokerEpoch int64 // Of the request; -1 if it carries none.
	Offset      int64 // What was asked for: the follower has everything below.
	LogStart    int64
	LeaderEnd   int64 // The leader's end, sampled before the read.
	// HasEpoch says that the request carried the current leader epoch.
	HasEpoch bool
}

// Tick lets time pass: followers that lag too long leave the in-sync replicas.
// Kafka checks every half replica.lag.time.max.ms.
type Tick struct{}

// Answered is the controller's answer to a Proposal.
type Answered struct {
	Proposal uint64
	Verdict  Verdict
	// With Accepted: the partition as the controller committed it.
	LeaderEpoch, PartitionEpoch int32
	ISR                         []int32
}

// Verdict is what an answer to a Proposal means for it.
type Verdict int8

const (
	// Accepted: the change is committed, or was already.
	Accepted Verdict = iota
	// Reverted: certainly not applied, and the partition epoch was right
	// (INELIGIBLE_REPLICA, OPERATION_NOT_ATTEMPTED). A new one may be made.
	Reverted
	// Unsettled: metadata will tell (UNKNOWN_TOPIC_OR_PARTITION,
	// UNKNOWN_TOPIC_ID, FENCED_LEADER_EPOCH, INVALID_UPDATE_VERSION,
	// INVALID_REQUEST, NEW_LEADER_ELECTED). Until then nothing is proposed.
	Unsettled
	// Unanswered: not known whether applied (any other error, or none came):
	// the same is proposed again.
	Unanswered
)

// Fetched is the leader's answer to a fetch that NextFetch asked for.
type Fetched struct {
	Request Fetch
	Failure Failure
	// Diverging is set if the follower's last epoch ends elsewhere in the
	// leader's log; no records come with it.
	Diverging     *EpochEnd
	HighWatermark int64
	LogStart      int64
	Records       bool // Some came. They begin at Request.Offset.
}

// Failure is what an error of the leader means for a fetch.
type Failure int8

const (
	// OK: no error.
	OK Failure = iota
	// OutOfRange: OFFSET_OUT_OF_RANGE.
	OutOfRange
	// Fenced: FENCED_LEADER_EPOCH: we are behind the leader.
	Fenced
	// Later: any other error, or no answer. Fetched again after a pause:
	// UNKNOWN_LEADER_EPOCH means that the leader is behind, which heals.
	Later
)

// Bounds is the leader's answer to AskBounds.
type Bounds struct {
	CurrentEpoch int32 // The leader epoch it was asked with.
	Failure      Failure
	Start, End   int64 // Earliest and latest offset of the leader.
}

// Written says that the records of a response were appended to the follower's
// log, which now ends at End.
type Written struct{ End int64 }

// WriteFailed says that they were not, or only up to End.
type WriteFailed struct {
	End int64
	// Corrupt: the records were damaged. They are fetched again. If it is false,
	// the log itself failed, and the partition is not fetched any more.
	Corrupt bool
}

// Truncated says that the truncation asked for was done.
type Truncated struct{ Start, End int64 }

func (Assigned) event()        {}
func (Brokers) event()         {}
func (Tuned) event()           {}
func (Appended) event()        {}
func (Flushed) event()         {}
func (Started) event()         {}
func (Wait) event()            {}
func (WaitLow) event()         {}
func (Forget) event()          {}
func (FollowerFetched) event() {}
func (Tick) event()            {}
func (Answered) event()        {}
func (Fetched) event()         {}
func (Bounds) event()          {}
func (Written) event()         {}
func (WriteFailed) event()     {}
func (Truncated) event()       {}

// Effects is what a step wants done, in this order. Offsets and epochs are -1
// where nothing is to be done.
type Effects struct {
	// Err says that the event was refused; nothing changed.
	Err error
	// View says that View returns something new, to be published.
	View bool
	// AssignEpoch is to be noted in the log's epochs as beginning at its end.
	AssignEpoch int32
	// Truncate is to be done, then reported as Truncated.
	Truncate Truncation
	// Append asks to append the records of the response, then Written or
	// WriteFailed.
	Append bool
	// HighWatermark is to be set in the log.
	HighWatermark int64
	// AdvanceStart moves the log start of a follower up; it is counted already.
	AdvanceStart int64
	// Answers are to be given.
	Answers []Answer
	// Propose is to be sent to the controller.
	Propose *Proposal
	// AskBounds asks the leader for its earliest and latest offset, then Bounds.
	AskBounds bool
	// Flush asks to make the log durable, then Flushed: before that nothing more
	// is committed, or fetched. It is not asked for after each Appended: there
	// the log is flushed for several producers at once.
	Flush bool
	// Fetch says that what NextFetch returns has changed.
	Fetch bool
}

// nothing are the effects of an event that changes nothing.
func nothing() Effects {
	return Effects{AssignEpoch: -1, HighWatermark: -1, AdvanceStart: -1}
}

// Truncation cuts a log.
type Truncation struct {
	Kind   TruncationKind
	Offset int64
	// BelowHW says that records are lost that this replica knew as committed: an
	// error line is due, for it happens only after an unclean election.
	BelowHW bool
}

// TruncationKind says how a log is cut.
type TruncationKind int8

const (
	// Keep: nothing is cut.
	Keep TruncationKind = iota
	// To: everything at and above Offset goes.
	To
	// Fully: everything goes, and the log begins anew at Offset.
	Fully
)

// Answer settles a Wait or WaitLow.
type Answer struct {
	Ticket Ticket
	Err    error
	// LowWatermark is the least log start of the live replicas; WaitLow only.
	LowWatermark int64
}

// Proposal is a change of the in-sync replicas that the controller is asked for
// (AlterPartition). One is on its way at a time.
type Proposal struct {
	ID             uint64
	LeaderEpoch    int32
	PartitionEpoch int32
	ISR            []Member
}

// Member is one replica of a proposed ISR.
type Member struct {
	ID          int32
	BrokerEpoch int64 // -1 if the leader does not know it (KIP-903).
}

// Fetch is what a follower asks its leader for.
type Fetch struct {
	Leader       int32
	CurrentEpoch int32
	Offset       int64
	// LastEpoch is the epoch of the follower's last record or election; -1 if
	// its log knows none.
	LastEpoch     int32
	LogStart      int64
	HighWatermark int64
}

// EpochEnd is the end of a leader epoch in some log: the first offset that does
// not belong to it.
type EpochEnd struct {
	Epoch int32
	End   int64
}
