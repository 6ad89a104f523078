package quorum

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// storage is Raft's view of the metadata log: which batch is which entry. It is
// used by the loop only.
//
// Always: entries are in offset order; entries[i] has Raft index snap.index+1+i;
// the first voter set is the snapshot's; the log is synced up to its end.
type storage struct {
	log *logstore.Log
	fs  vfs.FS
	dir string

	hard    hardState
	snap    *snapshot // The newest; its batches are dropped once replayed.
	entries []entryMark
	voters  []votersAt
	// lastTimestampMs is the newest timestamp in the log, -1 if there is none.
	lastTimestampMs int64
}

// entryMark is where an entry lies and in which term it was made.
type entryMark struct {
	offset int64
	term   int32
}

// votersAt is the set of voters from a Raft index on.
type votersAt struct {
	index uint64
	set   *metadata.Voters
}

// UnformattedError says that there is no snapshot to start from.
type UnformattedError struct{ Dir string }

func (e *UnformattedError) Error() string {
	return fmt.Sprintf("metadata directory %s has no snapshot: it was not formatted, or its *%s files were deleted; "+
		"restore them, or start with an empty data directory", e.Dir, snapshotSuffix)
}

// GapError says that records are missing between the snapshot and the log.
type GapError struct {
	Dir              string
	SnapshotEnd, Log int64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("metadata log %s begins at offset %d, its newest snapshot ends at %d: the records between are lost; "+
		"restore the directory from a backup", e.Dir, e.Log, e.SnapshotEnd)
}

// openStorage reads what a directory holds.
func openStorage(log *logstore.Log, fsys vfs.FS) (*storage, error) {
	s := &storage{log: log, fs: fsys, dir: log.Dir(), lastTimestampMs: -1}
	var err error
	if s.hard, err = readState(fsys, s.dir); err != nil {
		return nil, err
	}
	ids, err := listSnapshots(fsys, s.dir)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, &UnformattedError{s.dir}
	}
	if s.snap, err = readSnapshot(fsys, s.dir, ids[len(ids)-1]); err != nil {
		return nil, err
	}
	if s.snap.voters == nil {
		return nil, fmt.Errorf("snapshot %s names no voters: it was made with kraft.version 0, which this release does not take over",
			filepath.Join(s.dir, s.snap.id.fileName()))
	}
	if log.Start() > s.snap.id.Offset {
		return nil, &GapError{s.dir, s.snap.id.Offset, log.Start()}
	}
	if log.End().Offset < s.snap.id.Offset {
		// The log lost its tail, or a snapshot came without it: the snapshot has all.
		if err := log.TruncateFully(s.snap.id.Offset); err != nil {
			return nil, err
		}
	}
	s.voters = []votersAt{{s.snap.index, s.snap.voters}}
	for b, err := range log.Batches(s.snap.id.Offset, log.End().Offset) {
		if err != nil {
			return nil, fmt.Errorf("metadata log %s: %w", s.dir, err)
		}
		if err := s.note(b); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// note takes a batch of the log in as the next entry.
func (s *storage) note(b batch.Batch) error {
	s.entries = append(s.entries, entryMark{b.BaseOffset(), b.LeaderEpoch()})
	s.lastTimestampMs = max(s.lastTimestampMs, b.MaxTimestamp())
	set, err := votersIn(b)
	if set != nil {
		s.voters = append(s.voters, votersAt{s.last(), set})
	}
	return err
}

func (s *storage) last() uint64 { return s.snap.index + uint64(len(s.entries)) }

// mark is the entry with a Raft index that is in entries.
func (s *storage) mark(index uint64) *entryMark { return &s.entries[index-s.snap.index-1] }

// endOf is the offset after an entry.
func (s *storage) endOf(index uint64) int64 {
	switch {
	case index <= s.snap.index:
		return s.snap.id.Offset
	case index < s.last():
		return s.mark(index + 1).offset
	}
	return s.log.End().Offset
}

// before is the index of the last entry that ends at or below an offset.
func (s *storage) before(offset int64) uint64 {
	n := sort.Search(len(s.entries), func(i int) bool { return s.endOf(s.snap.index+1+uint64(i)) > offset })
	return s.snap.index + uint64(n)
}

// votersFor is the set of voters in force after an index was appended.
func (s *storage) votersFor(index uint64) *metadata.Voters {
	i := sort.Search(len(s.voters), func(i int) bool { return s.voters[i].index > index })
	if i == 0 {
		panic(fmt.Sprintf("BUG: no voters at index %d, the first are known at %d", index, s.voters[0].index))
	}
	return s.voters[i-1].set
}

// append stores new entries, synced. They may begin at or below the last one,
// which a new leader has overwritten; never at or below the commit.
func (s *storage) append(now time.Time, ents []*raftpb.Entry, committed uint64) error {
	if len(ents) == 0 {
		return nil
	}
	if first := ents[0].GetIndex(); first <= s.last() {
		if err := s.cut(first, committed); err != nil {
			return err
		}
	} else if first != s.last()+1 {
		panic(fmt.Sprintf("BUG: entry %d after %d", first, s.last()))
	}
	var out []byte
	next := s.log.End().Offset
	for _, e := range ents {
		b, err := stored(e, next, s.lastTimestampMs)
		if err != nil {
			return err
		}
		if err := s.note(b); err != nil {
			return err
		}
		next = b.NextOffset()
		out = append(out, b...)
	}
	if err := s.log.AppendMetadata(now, out); err != nil {
		return err
	}
	return s.log.Flush()
}

// cut removes the entry with an index and all after it.
func (s *storage) cut(index, committed uint64) error {
	if index <= committed {
		panic(fmt.Sprintf("BUG: entry %d is to be overwritten, the commit is at %d", index, committed))
	}
	to := s.mark(index).offset
	if err := s.log.Truncate(to); err != nil {
		return err
	}
	s.entries = s.entries[:index-s.snap.index-1]
	s.voters = slices.DeleteFunc(s.voters, func(v votersAt) bool { return v.index >= index })
	return nil
}

// compact makes a snapshot the newest: entries that it covers are forgotten here.
func (s *storage) compact(snap *snapshot) {
	set := s.votersFor(snap.index)
	s.entries = slices.Clone(s.entries[snap.index-s.snap.index:])
	s.voters = slices.DeleteFunc(s.voters, func(v votersAt) bool { return v.index <= snap.index })
	s.voters = slices.Insert(s.voters, 0, votersAt{snap.index, set})
	s.snap = snap
}

// The rest is raft.Storage.

// InitialState gives Raft term, vote, commit and voters as of the commit.
func (s *storage) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	term := s.hard.LeaderEpoch
	if n := len(s.entries); n > 0 {
		term = max(term, s.entries[n-1].term)
	}
	commit := max(s.before(s.hard.CommitOffset), s.snap.index)
	hs := &raftpb.HardState{Term: new(uint64(max(term, s.snap.id.Epoch))), Commit: new(commit)}
	if s.hard.VotedID >= 0 && s.hard.LeaderEpoch == term {
		hs.Vote = new(raftID(s.hard.VotedID, s.hard.VotedDirectory))
	}
	return hs, &raftpb.ConfState{Voters: raftIDs(s.votersFor(commit))}, nil
}

// Entries reads the entries [lo, hi), at least one, about maxSize bytes.
func (s *storage) Entries(lo, hi, maxSize uint64) ([]*raftpb.Entry, error) {
	if lo <= s.snap.index {
		return nil, raft.ErrCompacted
	}
	if hi > s.last()+1 {
		return nil, raft.ErrUnavailable
	}
	var out []*raftpb.Entry
	var size uint64
	index := lo
	for b, err := range s.log.Batches(s.mark(lo).offset, s.endOf(hi-1)) {
		if err != nil {
			return nil, err
		}
		size += uint64(len(b))
		if len(out) > 0 && size > maxSize {
			break
		}
		e, err := entryOf(b, index, s.votersFor(index-1))
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		index++
	}
	return out, nil
}

// Term is the term of an entry, or of the snapshot's last.
func (s *storage) Term(i uint64) (uint64, error) {
	switch {
	case i < s.snap.index:
		return 0, raft.ErrCompacted
	case i == s.snap.index:
		return uint64(s.snap.id.Epoch), nil
	case i > s.last():
		return 0, raft.ErrUnavailable
	}
	return uint64(s.mark(i).term), nil
}

// LastIndex is the index of the last entry.
func (s *storage) LastIndex() (uint64, error) { return s.last(), nil }

// FirstIndex is the index of the first entry after the snapshot.
func (s *storage) FirstIndex() (uint64, error) { return s.snap.index + 1, nil }

// Snapshot describes the newest snapshot. Its content travels by Kafka's
// FetchSnapshot, never in a Raft message.
func (s *storage) Snapshot() (*raftpb.Snapshot, error) {
	return &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{
		Index: new(s.snap.index), Term: new(uint64(s.snap.id.Epoch)),
		ConfState: &raftpb.ConfState{Voters: raftIDs(s.votersFor(s.snap.index))},
	}}, nil
}
