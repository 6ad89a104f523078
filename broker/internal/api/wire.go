package api

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"

	"github.com/moldau-broker/moldau/protocol"
)

// wireReader reads the fields of a request from a stream, without making
// anything of them. After the first field that cannot be read, err says why, and
// all that follow are empty.
type wireReader struct {
	in   Stream
	flex bool // Compact lengths and tagged fields (KIP-482).
	err  error
}

// errMalformed says that a field is not what it should be.
var errMalformed = errors.New("a length or a null that cannot be")

// take reads n bytes. They are valid until the next field is read.
func (r *wireReader) take(n int) []byte {
	b := r.peek(n)
	r.in.Skip(len(b))
	return b
}

// peek looks at n bytes, which skip goes over.
func (r *wireReader) peek(n int) []byte {
	if r.err != nil {
		return nil
	}
	b, err := r.in.Peek(n)
	if err != nil {
		r.err = err
		return nil
	}
	return b
}

func (r *wireReader) fail() { r.err = cmp.Or(r.err, errMalformed) }

func (r *wireReader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *wireReader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *wireReader) uuid() (id [16]byte) {
	copy(id[:], r.take(16))
	return id
}

func (r *wireReader) uvarint() uint32 {
	b := r.peek(min(binary.MaxVarintLen32, r.in.Left()))
	v, n := binary.Uvarint(b)
	if n <= 0 || v > math.MaxUint32 {
		r.fail()
		return 0
	}
	r.in.Skip(n)
	return uint32(v)
}

// length reads the length of an array or of bytes; -1 is null.
func (r *wireReader) length() int {
	if r.flex {
		return int(r.uvarint()) - 1
	}
	return int(r.int32())
}

// array reads the number of elements of an array, each of which takes at least
// that many bytes. Null is no array.
func (r *wireReader) array(elementBytes int) int {
	n := r.length()
	if r.err != nil || n < 0 || n > r.in.Left()/elementBytes {
		r.fail()
		return 0
	}
	return n
}

// str reads a string; nil is null.
func (r *wireReader) str() *string {
	n := 0
	if r.flex {
		n = r.length()
	} else {
		n = int(r.int16())
	}
	if r.err != nil || n == -1 {
		return nil
	}
	s := string(r.take(n))
	return &s
}

// name reads a string that may not be null.
func (r *wireReader) name() string {
	s := r.str()
	if s == nil {
		r.fail()
		return ""
	}
	return *s
}

// blob looks at bytes, which the caller has to skip; nil is null.
func (r *wireReader) blob() []byte {
	n := r.length()
	if r.err != nil || n == -1 {
		return nil
	}
	b := r.peek(n)
	if b == nil && r.err == nil {
		b = []byte{}
	}
	return b
}

// skip goes over bytes that were looked at.
func (r *wireReader) skip(n int) { r.in.Skip(n) }

// tags skips the tagged fields at the end of a structure.
func (r *wireReader) tags() {
	if !r.flex {
		return
	}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		r.uvarint()
		r.take(int(r.uvarint()))
	}
}

// memory is a Stream of what is all there.
type memory []byte

// Peek implements Stream.
func (m *memory) Peek(n int) ([]byte, error) {
	if n < 0 || n > len(*m) {
		return nil, protocol.ErrFrameEnd
	}
	if n == 0 {
		return nil, nil
	}
	return (*m)[:n:n], nil
}

// Skip implements Stream.
func (m *memory) Skip(n int) { *m = (*m)[n:] }

// Left implements Stream.
func (m *memory) Left() int { return len(*m) }

// wireWriter appends the fields of a response.
type wireWriter struct {
	b    []byte
	flex bool
}

func (w *wireWriter) int16(v int16) { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *wireWriter) int32(v int32) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *wireWriter) int64(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }
func (w *wireWriter) uuid(v [16]byte) {
	w.b = append(w.b, v[:]...)
}
func (w *wireWriter) uvarint(v int) { w.b = binary.AppendUvarint(w.b, uint64(v)) }

// length writes the length of an array or of bytes; -1 is null.
func (w *wireWriter) length(n int) {
	if w.flex {
		w.uvarint(n + 1)
		return
	}
	w.int32(int32(n))
}

func (w *wireWriter) str(s string) {
	if w.flex {
		w.uvarint(len(s) + 1)
	} else {
		w.int16(int16(len(s)))
	}
	w.b = append(w.b, s...)
}

// strOrNull writes nil as null.
func (w *wireWriter) strOrNull(s *string) {
	switch {
	case s != nil:
		w.str(*s)
	case w.flex:
		w.uvarint(0)
	default:
		w.int16(-1)
	}
}

// noTags ends a structure that has no tagged field to tell.
func (w *wireWriter) noTags() {
	if w.flex {
		w.b = append(w.b, 0)
	}
}

// tag begins a tagged field of that size.
func (w *wireWriter) tag(tag, size int) {
	w.uvarint(tag)
	w.uvarint(size)
}

// leaderTagBytes is the size of a CurrentLeader field: two numbers and no tags.
const leaderTagBytes = 4 + 4 + 1

// leader writes a CurrentLeader field (KIP-951).
func (w *wireWriter) leader(tag int, l leaderHint) {
	w.tag(tag, leaderTagBytes)
	w.int32(l.id)
	w.int32(l.epoch)
	w.noTags()
}

// endpoints ends a response with a NodeEndpoints field (KIP-951), or with none.
func (w *wireWriter) endpoints(nodes []node) {
	if !w.flex {
		return
	}
	if len(nodes) == 0 {
		w.noTags()
		return
	}
	content := wireWriter{flex: true}
	content.length(len(nodes))
	for _, n := range nodes {
		content.int32(n.id)
		content.str(n.host)
		content.int32(n.port)
		content.strOrNull(n.rack)
		content.noTags()
	}
	w.uvarint(1)
	w.tag(0, len(content.b))
	w.b = append(w.b, content.b...)
}

// leaderHint tells a client that asked the wrong broker who leads a partition.
type leaderHint struct{ id, epoch int32 }

// noLeader tells nothing.
var noLeader = leaderHint{-1, -1}

// node is where the client reaches a broker, on the listener it uses.
type node struct {
	id   int32
	host string
	port int32
	rack *string
}
