package metadata

// Topic makes a topic; its partitions follow, one Partition each.
type Topic struct {
	Name    string
	TopicID [16]byte
}

// Key implements Record.
func (*Topic) Key() Key { return KeyTopic }

func (r *Topic) fields(c *codec) {
	c.string(&r.Name)
	c.uuid(&r.TopicID)
	c.tags()
}

// RemoveTopic deletes a topic, its partitions and its configuration.
type RemoveTopic struct {
	TopicID [16]byte
}

// Key implements Record.
func (*RemoveTopic) Key() Key { return KeyRemoveTopic }

func (r *RemoveTopic) fields(c *codec) {
	c.uuid(&r.TopicID)
	c.tags()
}

// Values of Leader in Partition and PartitionChange.
const (
	NoLeader       int32 = -1 // The partition has no leader.
	LeaderAsBefore int32 = -2 // PartitionChange only: the leader does not change.
)

// Values of LeaderRecoveryState.
const (
	RecoveryAsBefore int8 = -1 // PartitionChange only: the state does not change.
	Recovered        int8 = 0  // The leader was elected from the ISR, or has recovered.
	Recovering       int8 = 1  // The leader was elected uncleanly and still recovers.
)

// Partition makes a partition, or states all of it (in a snapshot).
// Version 1 added Directories (KIP-858), version 2 the eligible leaders (KIP-966).
type Partition struct {
	PartitionID         int32
	TopicID             [16]byte
	Replicas            []int32 // Broker ids, the preferred leader first.
	ISR                 []int32
	RemovingReplicas    []int32
	AddingReplicas      []int32
	Leader              int32 // NoLeader if there is none.
	LeaderRecoveryState int8
	LeaderEpoch         int32
	PartitionEpoch      int32
	Directories         [][16]byte // The directory of each replica, in the order of Replicas.
	ELR                 []int32    // Eligible leader replicas; nil if unset.
	LastKnownELR        []int32    // nil if unset.
}

// Key implements Record.
func (*Partition) Key() Key { return KeyPartition }

func (r *Partition) fields(c *codec) {
	c.int32(&r.PartitionID)
	c.uuid(&r.TopicID)
	c.int32s(&r.Replicas)
	c.int32s(&r.ISR)
	c.int32s(&r.RemovingReplicas)
	c.int32s(&r.AddingReplicas)
	c.int32(&r.Leader)
	c.int32(&r.LeaderEpoch)
	c.int32(&r.PartitionEpoch)
	c.since(1, len(r.Directories) > 0, func() { c.uuids(&r.Directories) })
	c.tags(
		tag{0, 0, r.LeaderRecoveryState != Recovered, func() { c.int8(&r.LeaderRecoveryState) }},
		tag{1, 2, r.ELR != nil, func() { c.nullInt32s(&r.ELR) }},
		tag{2, 2, r.LastKnownELR != nil, func() { c.nullInt32s(&r.LastKnownELR) }},
	)
}

// PartitionChange changes a partition. A nil slice, LeaderAsBefore and
// RecoveryAsBefore leave what they name as it was, so make one with
// NewPartitionChange. It raises the partition epoch by one; if it names a leader,
// even the same one, the leader epoch too.
type PartitionChange struct {
	PartitionID         int32
	TopicID             [16]byte
	ISR                 []int32
	Leader              int32
	Replicas            []int32
	RemovingReplicas    []int32
	AddingReplicas      []int32
	LeaderRecoveryState int8
	ELR                 []int32
	LastKnownELR        []int32
	Directories         [][16]byte
}

// NewPartitionChange returns a record that changes nothing yet.
func NewPartitionChange(topic [16]byte, partition int32) *PartitionChange {
	return &PartitionChange{
		TopicID:             topic,
		PartitionID:         partition,
		Leader:              LeaderAsBefore,
		LeaderRecoveryState: RecoveryAsBefore,
	}
}

// Empty reports whether the record changes nothing.
func (r *PartitionChange) Empty() bool {
	return r.ISR == nil && r.Leader == LeaderAsBefore && r.Replicas == nil && r.RemovingReplicas == nil &&
		r.AddingReplicas == nil && r.LeaderRecoveryState == RecoveryAsBefore && r.ELR == nil &&
		r.LastKnownELR == nil && r.Directories == nil
}

// Key implements Record.
func (*PartitionChange) Key() Key { return KeyPartitionChange }

func (r *PartitionChange) fields(c *codec) {
	c.int32(&r.PartitionID)
	c.uuid(&r.TopicID)
	c.tags(
		tag{0, 0, r.ISR != nil, func() { c.nullInt32s(&r.ISR) }},
		tag{1, 0, r.Leader != LeaderAsBefore, func() { c.int32(&r.Leader) }},
		tag{2, 0, r.Replicas != nil, func() { c.nullInt32s(&r.Replicas) }},
		tag{3, 0, r.RemovingReplicas != nil, func() { c.nullInt32s(&r.RemovingReplicas) }},
		tag{4, 0, r.AddingReplicas != nil, func() { c.nullInt32s(&r.AddingReplicas) }},
		tag{5, 0, r.LeaderRecoveryState != RecoveryAsBefore, func() { c.int8(&r.LeaderRecoveryState) }},
		tag{6, 2, r.ELR != nil, func() { c.nullInt32s(&r.ELR) }},
		tag{7, 2, r.LastKnownELR != nil, func() { c.nullInt32s(&r.LastKnownELR) }},
		tag{8, 1, r.Directories != nil, func() { c.nullUUIDs(&r.Directories) }},
	)
}

// ClearELR forgets the eligible leader replicas of a topic, or of all topics if
// TopicName is empty: the bound that they were computed with, min.insync.replicas,
// has changed.
type ClearELR struct {
	TopicName string
}

// Key implements Record.
func (*ClearELR) Key() Key { return KeyClearELR }

func (r *ClearELR) fields(c *codec) {
	c.string(&r.TopicName)
	c.tags()
}
