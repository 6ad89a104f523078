package compact

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// slotBytes is what a key costs in a Map, whatever its length.
const slotBytes = 24

// Memory hands out bytes that are zero, and what takes them back.
type Memory func(bytes int) (table []byte, free func())

// Map remembers the offset of the last record of each key, in a bounded table. It
// starts small and doubles; in the moment of doubling it holds half as much again.
//
// A slot is two halves of the key's hash and the offset after its last record, so that
// a slot of zeros is a free one.
type Map struct {
	memory  Memory
	table   []byte // Of slots.
	free    func()
	used    int
	most    int // Slots that there may be.
	halved  int // How often they were halved for the table; below 0 it was doubled.
	load    float64
	secret  [16]byte
	scratch []byte

	end      int64 // Offset below which every batch was taken in.
	resisted bool  // A batch did not fit.
}

// minSlots is how small a table begins, at least.
const minSlots = 1 << 10

// NewMap returns a map that begins at offset start and takes at most sizeBytes, of
// which the share load is used: Kafka's log.cleaner.dedupe.buffer.size and
// log.cleaner.io.buffer.load.factor. The secret makes collisions unpredictable. Close
// gives its memory back.
func NewMap(start, sizeBytes int64, load float64, secret [16]byte, memory Memory) *Map {
	m := &Map{
		memory: memory, most: int(min(max(sizeBytes/slotBytes, 2), math.MaxInt32)),
		load: min(max(load, 0.1), 0.95), secret: secret, end: start,
	}
	for m.size() > 2*minSlots {
		m.halved++
	}
	m.table, m.free = memory(m.size() * slotBytes)
	return m
}

// size is how many slots the table is to have.
func (m *Map) size() int {
	if m.halved < 0 {
		return m.most << -m.halved
	}
	return (m.most + 1<<m.halved - 1) >> m.halved
}

// Close gives the memory back. The map must not be used afterwards.
func (m *Map) Close() {
	m.free()
	m.table, m.free = nil, func() {}
}

// End is the offset below which the last record of every key is known.
func (m *Map) End() int64 { return m.end }

// Len is how many keys are known.
func (m *Map) Len() int { return m.used }

// Full says that a batch did not fit: the round ends at End.
func (m *Map) Full() bool { return m.resisted }

// Fill is which part of the table is used, from 0 to 1.
func (m *Map) Fill() float64 { return float64(m.used) / float64(m.most) }

// Skip says that nothing below offset is left to be taken in.
func (m *Map) Skip(offset int64) { m.end = max(m.end, offset) }

// maxRecordsBytes bounds what the records of one batch may decompress to. It was
// admitted under a bound of its own; this one is for what came from elsewhere.
const maxRecordsBytes = 1 << 30

// Add takes in the records of a batch at or above End, and says whether there was
// room. If there was none the map is full, and has taken in a part of the batch. That
// does no harm: the records of a key below the one taken in may go all the same, for
// that one lies at or above End, where everything stays.
func (m *Map) Add(b batch.Batch) (bool, error) {
	it := b.Records(maxRecordsBytes)
	defer it.Close()
	// The first batch is taken in whole, beyond the limit too: else a round over a batch
	// of more keys than fit would end where it began, for ever.
	first := m.used == 0
	for it.Next() {
		if it.Record().Key == nil || it.Offset() < m.end {
			continue
		}
		if !m.put(it.Record().Key, it.Offset(), first) {
			m.resisted = true
			return false, nil
		}
	}
	if err := it.Err(); err != nil {
		return false, err
	}
	m.Skip(b.NextOffset())
	return true, nil
}

// Last returns the offset of the last record of a key, -1 if the map has none.
func (m *Map) Last(key []byte) int64 {
	h := m.hash(key)
	return next(m.table[find(m.table, h):]) - 1
}

func (m *Map) put(key []byte, offset int64, always bool) bool {
	h := m.hash(key)
	at := find(m.table, h)
	if next(m.table[at:]) == 0 {
		if float64(m.used+1) > m.load*float64(len(m.table)/slotBytes) {
			if !m.grow(always) {
				return false
			}
			at = find(m.table, h)
		}
		m.used++
	}
	set(m.table[at:], h, max(next(m.table[at:]), offset+1))
	return true
}

// grow doubles the table, up to the limit; with always also beyond.
func (m *Map) grow(always bool) bool {
	if m.halved <= 0 && !always {
		return false
	}
	m.halved--
	larger, free := m.memory(m.size() * slotBytes)
	for at := 0; at < len(m.table); at += slotBytes {
		if n := next(m.table[at:]); n != 0 {
			h := hashAt(m.table[at:])
			set(larger[find(larger, h):], h, n)
		}
	}
	m.free()
	m.table, m.free = larger, free
	return true
}

func hashAt(slot []byte) [2]uint64 {
	return [2]uint64{binary.LittleEndian.Uint64(slot), binary.LittleEndian.Uint64(slot[8:])}
}

func next(slot []byte) int64 { return int64(binary.LittleEndian.Uint64(slot[16:])) }

func set(slot []byte, h [2]uint64, next int64) {
	binary.LittleEndian.PutUint64(slot, h[0])
	binary.LittleEndian.PutUint64(slot[8:], h[1])
	binary.LittleEndian.PutUint64(slot[16:], uint64(next))
}

// find returns where in a table the slot of a hash begins, or the free one where it
// would go. Some slot is free.
func find(table []byte, h [2]uint64) int {
	// The high bits of the product are spread evenly over any number of slots.
	n, _ := bits.Mul64(h[0], uint64(len(table)/slotBytes))
	for at := int(n) * slotBytes; ; at += slotBytes {
		if at == len(table) {
			at = 0
		}
		if slot := table[at : at+slotBytes]; next(slot) == 0 || hashAt(slot) == h {
			return at
		}
	}
}

func (m *Map) hash(key []byte) [2]uint64 {
	m.scratch = append(append(m.scratch[:0], m.secret[:]...), key...)
	sum := sha256.Sum256(m.scratch)
	return [2]uint64{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])}
}
