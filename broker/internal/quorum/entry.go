package quorum

import (
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// maxControlBytes bounds what the control batches that are read here may hold.
const maxControlBytes = 1 << 20

// raftID is a voter's Raft id: never 0, and another one for a node whose disk was
// lost, which is a new voter (trap C-9).
func raftID(nodeID int32, directory [16]byte) uint64 {
	return uint64(nodeID+1)<<32 | uint64(binary.BigEndian.Uint32(directory[12:]))
}

// nodeID is the node id in a Raft id; -1 for none.
func nodeID(raftID uint64) int32 { return int32(raftID>>32) - 1 }

// stored returns the batch that an entry becomes in the log at offset base.
// lastTimestampMs is the newest timestamp of the log before it, -1 for none: one
// that is not a time would make the log roll when the first true one comes.
//
// An empty entry, one per election and one in place of each change of voters that
// Raft refuses, becomes a NoOp record in bytes that depend on nothing else, so
// that every node stores the same.
func stored(e *raftpb.Entry, base, lastTimestampMs int64) (batch.Batch, error) {
	data := e.GetData()
	if e.GetType() == raftpb.EntryConfChangeV2 {
		var change raftpb.ConfChangeV2
		if err := proto.Unmarshal(data, &change); err != nil {
			return nil, fmt.Errorf("entry %d is not a change of voters: %w", e.GetIndex(), err)
		}
		data = change.GetContext()
	}
	epoch := int32(e.GetTerm())
	if len(data) == 0 {
		b := batch.NewBuilder(batch.Meta{
			BaseOffset: base, LeaderEpoch: epoch,
			ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
		})
		b.Append(lastTimestampMs, nil, metadata.Encode(&metadata.NoOp{}, 0))
		return b.Build(), nil
	}
	b, rest, err := batch.Next(slices.Clone(data))
	if err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("entry %d is not one batch: %d bytes over, %w", e.GetIndex(), len(rest), err)
	}
	b.SetBaseOffset(base)
	b.SetLeaderEpoch(epoch)
	return b, nil
}

// entryOf is the entry that a stored batch is. A batch that changes the voters is
// a configuration change from before to the set it holds.
func entryOf(b batch.Batch, index uint64, before *metadata.Voters) (*raftpb.Entry, error) {
	e := &raftpb.Entry{
		Type: raftpb.EntryNormal.Enum(), Index: new(index), Term: new(uint64(b.LeaderEpoch())),
		Data: slices.Clone([]byte(b)),
	}
	after, err := votersIn(b)
	if err != nil || after == nil {
		return e, err
	}
	change := changeOf(before, after, e.Data)
	data, err := proto.Marshal(change)
	if err != nil {
		return nil, err
	}
	e.Type, e.Data = raftpb.EntryConfChangeV2.Enum(), data
	return e, nil
}

// votersIn returns the set of voters that a batch holds; nil for none.
func votersIn(b batch.Batch) (*metadata.Voters, error) {
	if !b.Control() {
		return nil, nil
	}
	it := b.Records(maxControlBytes)
	defer it.Close()
	for it.Next() {
		typ, ok := batch.ControlType(it.Record().Key)
		if !ok || typ != metadata.ControlVoters {
			continue
		}
		r, err := metadata.DecodeControl(typ, it.Record().Value)
		if err != nil {
			return nil, fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
		}
		return r.(*metadata.Voters), nil
	}
	return nil, it.Err()
}

// changeOf is the Raft change from one set of voters to another; batch travels
// with it, since it is what gets stored.
func changeOf(before, after *metadata.Voters, stored []byte) *raftpb.ConfChangeV2 {
	old, now := raftIDs(before), raftIDs(after)
	change := &raftpb.ConfChangeV2{Context: stored}
	add := func(t raftpb.ConfChangeType, id uint64) {
		change.Changes = append(change.Changes, &raftpb.ConfChangeSingle{Type: t.Enum(), NodeId: new(id)})
	}
	for _, id := range now {
		if !slices.Contains(old, id) {
			add(raftpb.ConfChangeAddNode, id)
		}
	}
	for _, id := range old {
		if !slices.Contains(now, id) {
			add(raftpb.ConfChangeRemoveNode, id)
		}
	}
	if len(change.Changes) == 0 && len(now) > 0 {
		add(raftpb.ConfChangeUpdateNode, now[0]) // Only endpoints differ.
	}
	return change
}

// raftIDs lists the voters' Raft ids in order.
func raftIDs(v *metadata.Voters) []uint64 {
	if v == nil {
		return nil
	}
	ids := make([]uint64, len(v.Voters))
	for i, n := range v.Voters {
		ids[i] = raftID(n.ID, n.DirectoryID)
	}
	slices.Sort(ids)
	return ids
}

// controlBatch is a batch of control records. Its offset and epoch are stamped
// when it is stored.
func controlBatch(nowMs int64, base int64, epoch int32, records ...metadata.Control) batch.Batch {
	b := batch.NewBuilder(batch.Meta{
		BaseOffset: base, LeaderEpoch: epoch, Control: true,
		ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	})
	for _, r := range records {
		b.Append(nowMs, metadata.ControlKey(r.ControlType()), metadata.EncodeControl(r))
	}
	return b.Build()
}
