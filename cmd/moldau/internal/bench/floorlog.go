package bench

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"sort"
	"sync"
)

// Where the fields of a record batch lie (magic 2).
const (
	batchLengthAt    = 8
	batchMagicAt     = 16
	batchCRCAt       = 17
	batchCheckedAt   = 21 // The CRC covers all from here.
	batchLastDeltaAt = 23
	batchHeaderLen   = 61
	batchLengthFrom  = 12 // The length counts from here.
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errBadBatch = errors.New("not a record batch, or its CRC is wrong")

// floorPartition is one file and where each batch begins in it.
type floorPartition struct {
	path  string
	flush bool

	mu struct {
		sync.Mutex

		file    *os.File // Nil before the first append.
		closed  bool
		end     int64 // The next offset.
		size    int64
		batches []floorBatch
	}
}

// floorBatch is where a batch lies.
type floorBatch struct{ base, position int64 }

// checkBatch returns how many offsets the one batch in b takes.
func checkBatch(b []byte) (int64, error) {
	if len(b) < batchHeaderLen || b[batchMagicAt] != 2 ||
		int(binary.BigEndian.Uint32(b[batchLengthAt:])) != len(b)-batchLengthFrom ||
		binary.BigEndian.Uint32(b[batchCRCAt:]) != crc32.Checksum(b[batchCheckedAt:], castagnoli) {
		return 0, errBadBatch
	}
	return int64(int32(binary.BigEndian.Uint32(b[batchLastDeltaAt:]))) + 1, nil
}

// append writes a batch and returns its base offset.
func (p *floorPartition) append(b []byte) (int64, error) {
	n, err := checkBatch(b)
	if err != nil {
		return 0, err
	}
	base, file, err := p.write(b, n)
	if err == nil && p.flush {
		err = datasync(file)
	}
	return base, err
}

func (p *floorPartition) write(b []byte, n int64) (int64, *os.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed {
		return 0, nil, os.ErrClosed
	}
	if p.mu.file == nil {
		file, err := os.OpenFile(p.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return 0, nil, err
		}
		p.mu.file = file
	}
	base := p.mu.end
	binary.BigEndian.PutUint64(b, uint64(base))
	if _, err := p.mu.file.WriteAt(b, p.mu.size); err != nil {
		return 0, nil, err
	}
	p.mu.batches = append(p.mu.batches, floorBatch{base, p.mu.size})
	p.mu.end += n
	p.mu.size += int64(len(b))
	return base, p.mu.file, nil
}

// floorSpan is a stretch of whole batches in a partition's file.
type floorSpan struct {
	file     *os.File
	position int64
	size     int64
}

// read returns whole batches from the one that holds offset on, at most maxBytes
// of them but one batch at least, and the end of the log.
func (p *floorPartition) read(offset, maxBytes int64) (floorSpan, int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if offset >= p.mu.end || offset < 0 {
		return floorSpan{}, p.mu.end
	}
	all := p.mu.batches
	first := sort.Search(len(all), func(i int) bool { return all[i].base > offset }) - 1
	start := all[first].position
	last := first + sort.Search(len(all)-first, func(i int) bool { return p.stop(first+i)-start > maxBytes })
	return floorSpan{p.mu.file, start, p.stop(max(last-1, first)) - start}, p.mu.end
}

// stop is the position after batch i. Call it with the lock held.
func (p *floorPartition) stop(i int) int64 {
	if i+1 < len(p.mu.batches) {
		return p.mu.batches[i+1].position
	}
	return p.mu.size
}

func (p *floorPartition) endOffset() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.end
}

func (p *floorPartition) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.closed = true
	if p.mu.file != nil {
		_ = p.mu.file.Close()
	}
}
