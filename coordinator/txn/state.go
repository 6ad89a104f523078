package txn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The states of a transactional id, under shorter names.
const (
	empty          = kmsg.TransactionStateEmpty
	ongoing        = kmsg.TransactionStateOngoing
	prepareCommit  = kmsg.TransactionStatePrepareCommit
	prepareAbort   = kmsg.TransactionStatePrepareAbort
	completeCommit = kmsg.TransactionStateCompleteCommit
	completeAbort  = kmsg.TransactionStateCompleteAbort
)

const (
	// maxEpoch is never told to a client: it is left for fencing the last one.
	maxEpoch int16 = math.MaxInt16
	// lastEpoch is the last epoch of a producer id that a client gets.
	lastEpoch = maxEpoch - 1
	// noEpoch and noID stand for none.
	noEpoch int16 = -1
	noID    int64 = -1
	// noTimeout is the timeout of a transaction that takes part in a two-phase
	// commit (KIP-939): it waits for its outcome for ever.
	noTimeout = math.MaxInt32
)

// transaction is what the log says of one transactional id: its newest record. A
// value is never changed once it is in a shard.
type transaction struct {
	id         string
	producerID int64
	// prevProducerID is the producer id that producerID took the place of in this
	// record, else noID: it is by this that the repetition of a request is known
	// which had used up the old one.
	prevProducerID int64
	// nextProducerID takes the place of producerID when the transaction is complete,
	// unless it is noID. In preparing states only.
	nextProducerID int64
	epoch          int16
	timeoutMs      int32
	status         kmsg.TransactionState
	topics         []Topic // In order, without duplicates.
	// startMs is when the newest transaction began, -1 if there was none since the
	// producer was initialized.
	startMs  int64
	updateMs int64
	// clientVersion is the version of transactions (KIP-890) that the newest
	// transaction is under.
	clientVersion int16
}

// entry is a transactional id in a shard: what the log says, and what it does not.
type entry struct {
	transaction

	// last is the epoch that epoch took the place of, if the producer who had it is
	// the one who asked for the new one: asking again, it gets the same answer.
	// noEpoch: nobody. It is not in the log, and lost in a failover; the producer is
	// then fenced, which is safe.
	last int16
	// written says that all markers are written, and that the record which says so
	// was refused: it is tried again.
	written bool
}

// Topic names partitions of one topic, in order.
type Topic struct {
	Name       string
	Partitions []int32
}

// preparing says that the outcome is decided, and not yet written everywhere.
func (t *transaction) preparing() bool {
	return t.status == prepareCommit || t.status == prepareAbort
}

// commits says whether the outcome is, or was, to commit.
func (t *transaction) commits() bool {
	return t.status == prepareCommit || t.status == completeCommit
}

// exhausted says that the producer id has no epoch left for another client.
func (t *transaction) exhausted() bool { return t.epoch >= lastEpoch }

// nextEpoch is the epoch after this one. The highest has none after it: a short
// that wraps would let every zombie back in.
func (t *transaction) nextEpoch() int16 { return min(t.epoch, lastEpoch) + 1 }

// contains says whether a partition is in the transaction.
func (t *transaction) contains(topic string, partition int32) bool {
	i, ok := findTopic(t.topics, topic)
	if !ok {
		return false
	}
	_, ok = slices.BinarySearch(t.topics[i].Partitions, partition)
	return ok
}

func findTopic(topics []Topic, name string) (int, bool) {
	return slices.BinarySearchFunc(topics, name, func(t Topic, name string) int { return cmp.Compare(t.Name, name) })
}

// union is all of both, in order; the arguments stay as they are. add need not be
// in order.
func union(topics, add []Topic) []Topic {
	topics = slices.Clone(topics)
	for _, a := range add {
		if len(a.Partitions) == 0 {
			continue
		}
		i, ok := findTopic(topics, a.Name)
		if !ok {
			topics = slices.Insert(topics, i, Topic{Name: a.Name})
		}
		all := append(slices.Clone(topics[i].Partitions), a.Partitions...)
		slices.Sort(all)
		topics[i].Partitions = slices.Compact(all)
	}
	return topics
}

// mayFollow says whether a record with one status may stand after one with another.
func mayFollow(from, to kmsg.TransactionState) bool {
	resting := from == empty || from == completeCommit || from == completeAbort
	switch to {
	case empty:
		return resting
	case ongoing:
		return resting || from == ongoing
	case prepareCommit:
		return from == ongoing
	case prepareAbort:
		return resting || from == ongoing
	case completeCommit:
		return from == prepareCommit
	case completeAbort:
		return from == prepareAbort
	}
	return false
}

// mustFollow panics where a decision breaks the rules of the log.
func mustFollow(from *entry, to transaction) {
	switch {
	case from == nil && to.status != empty:
		panic(fmt.Sprintf("BUG: transactional id %q would begin as %v", to.id, to.status))
	case from != nil && !mayFollow(from.status, to.status):
		panic(fmt.Sprintf("BUG: transactional id %q would go from %v to %v", to.id, from.status, to.status))
	case to.producerID < 0 || to.epoch < 0:
		panic(fmt.Sprintf("BUG: transactional id %q would get producer %d epoch %d", to.id, to.producerID, to.epoch))
	case from != nil && to.producerID == from.producerID && to.epoch < from.epoch:
		panic(fmt.Sprintf("BUG: epoch of transactional id %q would fall from %d to %d", to.id, from.epoch, to.epoch))
	}
}
