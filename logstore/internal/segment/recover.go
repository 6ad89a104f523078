package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// Recover scans the data file from its beginning and makes the indexes anew. visit is
// called for each valid batch in order; it may call AppendAborted. It returns how many
// bytes behind the last valid batch were not valid, and why: nil if none. With cut
// those bytes are cut off, durably, so that they cannot come back; without, they stay
// for a reader to stumble on.
//
// Valid means: a whole batch of format 2 with the right checksum, whose offsets
// follow those before and whose leader epoch is not older. The last is ours: bytes of
// a tail that was cut off and came back after a power cut can line up behind what was
// written in its place.
func (s *Segment) Recover(cut bool, visit func(b batch.Batch) error) (invalidBytes int64, reason error, err error) {
	if err := s.forgetIndexes(); err != nil {
		return 0, nil, err
	}
	f, err := s.data.Pin(true)
	if err != nil {
		return 0, nil, err
	}
	defer f.Unpin()
	info, err := f.Stat()
	if err != nil {
		return 0, nil, err
	}
	size := info.Size()
	valid, reason, err := s.scanValid(newReader(f, 0, size), size, visit)
	if err != nil {
		return 0, nil, err
	}
	s.size.Store(size)
	if valid < size && cut {
		s.size.Store(valid)
		if err := errors.Join(f.Truncate(valid), f.Sync()); err != nil {
			return 0, nil, err
		}
	}
	return size - valid, reason, s.Seal()
}

// CutInvalid cuts off the bytes that a Recover without cut found invalid, durably.
func (s *Segment) CutInvalid(bytes int64) error { return s.cutData(s.Size() - bytes) }

// forgetIndexes empties the indexes and what is known from them.
func (s *Segment) forgetIndexes() error {
	// The sizes may be odd, so the files are made anew instead of being cut.
	for _, x := range []*index{&s.offsets, &s.times} {
		if err := x.file.remove(); err != nil {
			return err
		}
		x.mu.Lock()
		x.stored, x.tail, x.exists = 0, nil, false
		x.mu.Unlock()
	}
	if err := s.txns.file.remove(); err != nil {
		return err
	}
	s.txns.size.Store(0)
	s.size.Store(0)
	s.sinceEntry = 0
	s.firstTime = optionalInt64{}
	s.lastTime = optionalInt64{NoTimestamp, true}
	s.setNewest(NoTimestamp, s.base)
	return nil
}

// scanValid walks whole batches and returns where the valid ones end. reason is nil
// when that is the end of the file; err is for errors that say nothing about the bytes.
func (s *Segment) scanValid(r *reader, size int64, visit func(batch.Batch) error) (valid int64, reason, err error) {
	defer r.close()
	next, epoch := s.base, int32(batch.NoLeaderEpoch)
	for valid < size {
		b, why, err := s.validBatch(r, valid, size)
		if why != nil || err != nil {
			return valid, why, err
		}
		switch {
		case b.BaseOffset() < next:
			return valid, &CorruptError{s.Path(), valid, fmt.Sprintf("offset %d follows %d", b.BaseOffset(), next-1)}, nil
		case b.LeaderEpoch() < epoch && b.LeaderEpoch() >= 0:
			return valid, &CorruptError{s.Path(), valid, fmt.Sprintf("leader epoch %d follows %d", b.LeaderEpoch(), epoch)}, nil
		}
		next, epoch = b.NextOffset(), max(epoch, b.LeaderEpoch())
		s.note(b, valid)
		if err := visit(b); err != nil {
			return valid, nil, err
		}
		valid += int64(len(b))
	}
	return valid, nil, nil
}

// validBatch returns the batch at pos, or why there is none.
func (s *Segment) validBatch(r *reader, pos, size int64) (b batch.Batch, why, err error) {
	h, err := r.bytes(pos, batch.HeaderLen)
	if err != nil {
		return nil, s.torn(pos, err), unlessTorn(err)
	}
	if err := s.checkHeader(h, pos, size); err != nil {
		if old, ok := errors.AsType[*OldMagicError](err); ok && s.isOldFormat(r, h, pos) {
			return nil, nil, old
		}
		return nil, err, nil
	}
	whole, err := r.bytes(pos, int64(batch.Batch(h).Size()))
	if err != nil {
		return nil, s.torn(pos, err), unlessTorn(err)
	}
	b = whole
	if err := b.CheckCRC(); err != nil {
		return nil, &CorruptError{s.Path(), pos, err.Error()}, nil
	}
	return b, nil, nil
}

func (s *Segment) torn(pos int64, err error) error {
	if unlessTorn(err) != nil {
		return nil
	}
	return &CorruptError{s.Path(), pos, "the file ends within a batch"}
}

func unlessTorn(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// isOldFormat says whether a message of format 0 or 1 lies at pos, rather than a
// batch whose magic byte a power cut took: it must have that format's checksum.
func (s *Segment) isOldFormat(r *reader, h batch.Batch, pos int64) bool {
	const crcAt, coveredFrom = 12, 16
	msg, err := r.bytes(pos, int64(h.Size()))
	return err == nil && binary.BigEndian.Uint32(msg[crcAt:]) == crc32.ChecksumIEEE(msg[coveredFrom:])
}
