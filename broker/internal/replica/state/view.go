package state

import "slices"

// View is what readers need to know of a partition's replication. It is
// immutable: any goroutine may use it.
type View struct {
	Role           Role
	Leader         int32 // -1: nobody.
	LeaderEpoch    int32
	PartitionEpoch int32
	Replicas       []int32
	Adding         []int32
	// ISR as committed; nil at a follower.
	ISR []int32
	// EpochStart is the end of the log when the leader epoch began; -1 at a
	// follower.
	EpochStart int64
}

// View returns what is to be published after a step whose effects say so.
func (s *State) View() *View {
	return &View{
		Role: s.role, Leader: s.known.Leader,
		LeaderEpoch: s.known.LeaderEpoch, PartitionEpoch: s.known.PartitionEpoch,
		Replicas: s.known.Replicas, Adding: s.known.Adding,
		ISR: slices.Clone(s.isr), EpochStart: s.epochStart,
	}
}

// CheckEpoch compares the leader epoch that a request carries, -1 if none, with
// ours.
func (v *View) CheckEpoch(current int32) error {
	if current >= 0 && current != v.LeaderEpoch {
		return &EpochError{Got: current, Have: v.LeaderEpoch}
	}
	return nil
}

// CheckLeader says whether this broker leads.
func (v *View) CheckLeader() error {
	if v.Role != Leader {
		return &NotLeaderError{Leader: v.Leader, Epoch: v.LeaderEpoch}
	}
	return nil
}

// CheckReplica says whether a broker may fetch as a follower. hasEpoch says that
// its request carries the leader epoch.
func (v *View) CheckReplica(id int32, hasEpoch bool) error {
	if id == v.Leader || !slices.Contains(v.Replicas, id) {
		return &UnknownReplicaError{Replica: id, Epoch: v.LeaderEpoch, HasEpoch: hasEpoch}
	}
	return nil
}

// Compare tells whether a log whose last record at offset-1 has the epoch
// lastEpoch agrees with ours up to there. If not, it returns where our largest
// epoch not above lastEpoch ends. Our log begins at start.
//
// The offset is out of range, and ok false, if the epoch is not known here, or if
// it lies below our start, even if the logs differ: there is nothing to compare.
func Compare(epochs Epochs, lastEpoch int32, offset, start int64) (diverging *EpochEnd, ok bool) {
	epoch, epochEnd := epochs.EpochEnd(lastEpoch)
	if epoch < 0 || epochEnd < 0 || offset < start {
		return nil, false
	}
	if epoch < lastEpoch || epochEnd < offset {
		return &EpochEnd{Epoch: epoch, End: epochEnd}, true
	}
	return nil, true
}
