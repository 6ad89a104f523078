package quorum

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

const (
	snapshotSuffix = ".checkpoint"
	partSuffix     = ".part"
	deletedSuffix  = ".deleted"

	// snapshotBatchBytes is about how large the batches of a snapshot grow.
	snapshotBatchBytes = 64 << 10
)

// snapshotID names a snapshot: it holds everything below Offset, and Epoch is that
// of the record before. Kafka calls it OffsetAndEpoch.
type snapshotID struct {
	Offset int64
	Epoch  int32
}

// bootstrapID is the snapshot that formatting writes. It is never sent to others.
var bootstrapID = snapshotID{}

func (id snapshotID) fileName() string {
	return fmt.Sprintf("%020d-%010d%s", id.Offset, id.Epoch, snapshotSuffix)
}

// parseSnapshotName reads a file name; false for one that is no snapshot's.
func parseSnapshotName(name string) (snapshotID, bool) {
	stem, ok := strings.CutSuffix(name, snapshotSuffix)
	if !ok || len(stem) != 20+1+10 || stem[20] != '-' {
		return snapshotID{}, false
	}
	offset, err1 := strconv.ParseInt(stem[:20], 10, 64)
	epoch, err2 := strconv.ParseInt(stem[21:], 10, 32)
	return snapshotID{offset, int32(epoch)}, err1 == nil && err2 == nil && offset >= 0 && epoch >= 0
}

// snapshot is the content of a .checkpoint file.
type snapshot struct {
	id snapshotID
	// index is the Raft index of the last entry that it covers.
	index  uint64
	voters *metadata.Voters
	// batches are those of the data, in order, without the control batches.
	batches []batch.Batch
}

// snapshotContent is what a new snapshot is made of.
type snapshotContent struct {
	id              snapshotID
	index           uint64
	voters          *metadata.Voters
	lastTimestampMs int64 // Of the newest record that it covers.
	records         iter.Seq[[]byte]
}

// encode writes the file: header, kraft.version and voters in one control batch,
// the records in batches, and the footer that says it is whole. Offsets count
// from 0.
func (c snapshotContent) encode(nowMs int64) []byte {
	head := []metadata.Control{
		&metadata.SnapshotHeader{LastContainedLogTimestamp: c.lastTimestampMs, RaftIndex: int64(c.index) + 1},
		&metadata.KRaftVersion{KRaftVersion: 1},
		c.voters,
	}
	out := []byte(controlBatch(nowMs, 0, c.id.Epoch, head...))
	next := int64(len(head))

	newBuilder := func() *batch.Builder {
		return batch.NewBuilder(batch.Meta{
			BaseOffset: next, LeaderEpoch: c.id.Epoch, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
		})
	}
	b := newBuilder()
	flush := func() {
		if b.Count() > 0 {
			next += int64(b.Count())
			out = append(out, b.Build()...)
			b = newBuilder()
		}
	}
	for r := range c.records {
		b.Append(nowMs, nil, r)
		if b.Len() >= snapshotBatchBytes {
			flush()
		}
	}
	flush()
	return append(out, controlBatch(nowMs, next, c.id.Epoch, &metadata.SnapshotFooter{})...)
}

// decodeSnapshot reads a file. It ends with its footer: one without is incomplete,
// and what comes behind was not meant to be there. One without our index (Kafka
// wrote it) gets the offset as its index: only a cluster of one takes such a log
// over.
func decodeSnapshot(id snapshotID, in []byte) (*snapshot, error) {
	s := &snapshot{id: id, index: uint64(id.Offset)}
	whole := false
	for len(in) > 0 {
		b, rest, err := batch.Next(in)
		if err == nil {
			err = b.CheckCRC()
		}
		if err != nil {
			return nil, err
		}
		in = rest
		if whole {
			return nil, errPastFooter
		}
		if !b.Control() {
			s.batches = append(s.batches, b)
			continue
		}
		if whole, err = s.control(b); err != nil {
			return nil, err
		}
	}
	if !whole {
		return nil, errors.New("it has no footer: it was not written to its end")
	}
	return s, nil
}

var errPastFooter = errors.New("it goes on after its footer")

// control takes in a control batch; true when it ends the snapshot.
func (s *snapshot) control(b batch.Batch) (footer bool, err error) {
	it := b.Records(maxControlBytes)
	defer it.Close()
	for it.Next() {
		if footer {
			return false, errPastFooter
		}
		typ, ok := batch.ControlType(it.Record().Key)
		if !ok {
			return false, fmt.Errorf("control record at offset %d has no type", it.Offset())
		}
		switch typ {
		case metadata.ControlSnapshotHeader, metadata.ControlVoters, metadata.ControlSnapshotFooter:
		default:
			continue
		}
		r, err := metadata.DecodeControl(typ, it.Record().Value)
		if err != nil {
			return false, err
		}
		switch r := r.(type) {
		case *metadata.SnapshotHeader:
			if r.RaftIndex > 0 {
				s.index = uint64(r.RaftIndex - 1)
			}
		case *metadata.Voters:
			s.voters = r
		case *metadata.SnapshotFooter:
			footer = true
		}
	}
	return footer, it.Err()
}

// listSnapshots lists dir's snapshots, oldest first, and removes what an
// interrupted write or removal left.
func listSnapshots(fsys vfs.FS, dir string) ([]snapshotID, error) {
	files, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var ids []snapshotID
	for _, f := range files {
		name := f.Name()
		if strings.HasSuffix(name, snapshotSuffix+partSuffix) || strings.HasSuffix(name, snapshotSuffix+deletedSuffix) {
			if err := fsys.Remove(filepath.Join(dir, name)); err != nil {
				return nil, err
			}
		} else if id, ok := parseSnapshotName(name); ok {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b snapshotID) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Epoch, b.Epoch))
	})
	return ids, nil
}

// writeSnapshot writes a snapshot so that it appears whole or not at all.
func writeSnapshot(fsys vfs.FS, dir string, id snapshotID, content []byte) error {
	path := filepath.Join(dir, id.fileName())
	part := path + partSuffix
	f, err := fsys.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("snapshot %s was not written: %w", path, err)
	}
	if err := fsys.Rename(part, path); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

// readSnapshot reads and checks a snapshot.
func readSnapshot(fsys vfs.FS, dir string, id snapshotID) (*snapshot, error) {
	path := filepath.Join(dir, id.fileName())
	in, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return nil, err
	}
	s, err := decodeSnapshot(id, in)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s cannot be read: %w", path, err)
	}
	return s, nil
}

// removeSnapshot removes a snapshot, renamed first so that a half removed one is
// never taken for whole.
func removeSnapshot(fsys vfs.FS, dir string, id snapshotID) error {
	path := filepath.Join(dir, id.fileName())
	if err := fsys.Rename(path, path+deletedSuffix); err != nil {
		return err
	}
	return fsys.Remove(path + deletedSuffix)
}
