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

// slot is one place of the table. next is the offset after the key's last record, so
// that the zero slot is a free one.
type slot struct {
	hash [2]uint64
	next int64
}

// Map remembers the offset of the last record of each key, in a bounded table. It
// starts small and doubles; in the moment of doubling it holds half as much again.
type Map struct {
	slots   []slot // A power of two of them, except at the limit.
	used    int
	most    int // Slots that there may be.
	load    float64
	secret  [16]byte
	scratch []byte

	end      int64 // Offset below which every batch was taken in.
	resisted bool  // A batch did not fit.
}

// minSlots is how large a table begins.
const minSlots = 1 << 10

// NewMap returns a map that begins at offset start and takes at most sizeBytes, of
// which the share load is used: Kafka's log.cleaner.dedupe.buffer.size and
// log.cleaner.io.buffer.load.factor. The secret makes collisions unpredictable.
func NewMap(start, sizeBytes int64, load float64, secret [16]byte) *Map {
	most := int(min(max(sizeBytes/slotBytes, 2), math.MaxInt32))
	return &Map{
		slots: make([]slot, min(most, minSlots)), most: most, load: min(max(load, 0.1), 0.95),
		secret: secret, end: start,
	}
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
	return m.slots[m.find(m.slots, m.hash(key))].next - 1
}

func (m *Map) put(key []byte, offset int64, always bool) bool {
	h := m.hash(key)
	i := m.find(m.slots, h)
	if m.slots[i].next == 0 {
		if float64(m.used+1) > m.load*float64(len(m.slots)) {
			if !m.grow(always) {
				return false
			}
			i = m.find(m.slots, h)
		}
		m.used++
	}
	m.slots[i] = slot{h, max(m.slots[i].next, offset+1)}
	return true
}

// grow doubles the table, up to the limit; with always also beyond.
func (m *Map) grow(always bool) bool {
	n := 2 * len(m.slots)
	if !always {
		n = min(n, m.most)
	}
	if n <= len(m.slots) {
		return false
	}
	larger := make([]slot, n)
	for _, s := range m.slots {
		if s.next != 0 {
			larger[m.find(larger, s.hash)] = s
		}
	}
	m.slots = larger
	return true
}

// find returns where a hash is in a table, or the free slot where it would go. Some
// slot is free.
func (m *Map) find(slots []slot, h [2]uint64) int {
	// The high bits of the product are spread evenly over any number of slots.
	at, _ := bits.Mul64(h[0], uint64(len(slots)))
	for i := int(at); ; i++ {
		if i == len(slots) {
			i = 0
		}
		if slots[i].next == 0 || slots[i].hash == h {
			return i
		}
	}
}

func (m *Map) hash(key []byte) [2]uint64 {
	m.scratch = append(append(m.scratch[:0], m.secret[:]...), key...)
	sum := sha256.Sum256(m.scratch)
	return [2]uint64{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])}
}
