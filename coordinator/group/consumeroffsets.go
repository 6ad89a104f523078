package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitKnowsEpochs is the OffsetCommit version from which on a client can be told
// that its member epoch is stale.
const commitKnowsEpochs = 9

// validateCommit says whether offsets may be committed by who says to be this
// member, at this epoch. It must be the member's own: when the epoch has moved on,
// the partition may be another's.
func (c *consumers) validateCommit(id string, epoch int32, version int16) int16 {
	if epoch < 0 && len(c.members) == 0 {
		return 0 // A tool, or a consumer that assigns partitions to itself.
	}
	m := c.members[id]
	switch {
	case m == nil:
		return kerr.UnknownMemberID.Code
	case m.classic == nil && version < commitKnowsEpochs:
		return kerr.UnsupportedVersion.Code
	}
	return m.validateAt(epoch)
}

// validateTxnCommit is validateCommit for offsets of a transaction: who says nothing
// is believed, and no client knows of stale epochs.
func (c *consumers) validateTxnCommit(id string, instance *string, epoch int32) int16 {
	if epoch == -1 && id == "" && instance == nil || epoch < 0 && len(c.members) == 0 {
		return 0
	}
	m := c.members[id]
	switch {
	case m == nil:
		return kerr.UnknownMemberID.Code
	case m.epoch != epoch:
		return kerr.IllegalGeneration.Code
	}
	return 0
}

// validateFetch says whether a member may see the group's offsets: if it names
// itself, it must be at the epoch that it says.
func (s *Shard) validateFetch(rg kmsg.OffsetFetchRequestGroup) int16 {
	g := s.groups[rg.Group]
	if g == nil || g.consumers == nil || rg.MemberID == nil && rg.MemberEpoch < 0 {
		return 0
	}
	var m *consumer
	if rg.MemberID != nil {
		m = g.consumers.members[*rg.MemberID]
	}
	if m == nil {
		return kerr.UnknownMemberID.Code
	}
	return m.validateAt(rg.MemberEpoch)
}

func (m *consumer) validateAt(epoch int32) int16 {
	switch {
	case epoch == m.epoch:
		return 0
	case m.classic != nil:
		return kerr.IllegalGeneration.Code
	}
	return kerr.StaleMemberEpoch.Code
}
