package hostile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// Mutate damages a frame at places that matter, and says how. other lends its
// bytes and its version.
func Mutate(rng *rand.Rand, f, other Frame) (body []byte, how string) {
	m := mutations[rng.IntN(len(mutations))]
	body = m.do(rng, f, other)
	if rng.IntN(6) == 0 { // Two wrongs at once.
		second := mutations[rng.IntN(len(mutations))]
		g := f
		g.Body = body
		g.Fields = fitting(f.Fields, len(body))
		return second.do(rng, g, other), m.name + ", " + second.name
	}
	return body, m.name
}

// fitting are the fields that lie in a body of that length.
func fitting(fields []Field, length int) []Field {
	var in []Field
	for _, f := range fields {
		if f.Offset+f.Width <= length {
			in = append(in, f)
		}
	}
	return in
}

var mutations = []struct {
	name string
	do   func(rng *rand.Rand, f, other Frame) []byte
}{
	{"a number at the edge", number},
	{"a length that lies", length},
	{"a length that lies", length},
	{"a null", null},
	{"cut short", cut},
	{"bits flipped", flip},
	{"two fields swapped", swap},
	{"a piece of another request", splice},
	{"tags", tags},
	{"a varint without end", varint},
	{"a piece twice", double},
	{"records damaged and sealed", records},
}

func pick(rng *rand.Rand, f Frame, accept func(Field) bool) (Field, bool) {
	var of []Field
	for _, field := range f.Fields {
		if accept(field) {
			of = append(of, field)
		}
	}
	if len(of) == 0 {
		return Field{}, false
	}
	return of[rng.IntN(len(of))], true
}

func number(rng *rand.Rand, f, other Frame) []byte {
	at, ok := pick(rng, f, func(x Field) bool { return x.Kind == Number })
	if !ok {
		return flip(rng, f, other)
	}
	n := edges[rng.IntN(len(edges))]
	if rng.IntN(3) == 0 {
		n = f.Get(at) + int64(rng.IntN(5)) - 2
	}
	return f.Set(at, n)
}

func length(rng *rand.Rand, f, other Frame) []byte {
	at, ok := pick(rng, f, func(x Field) bool { return x.Kind != Number })
	if !ok {
		return cut(rng, f, other)
	}
	left := int64(len(f.Body) - at.Offset - at.Width)
	n := []int64{
		-1, -2, 0, 1, f.Get(at) - 1, f.Get(at) + 1, left, left + 1, left - 1, left / 2, 127, 128, 0x7ffe, 0x7fff, 0x8000,
		0xffff, 1 << 20, 1<<31 - 2, 1<<31 - 1, -1 << 31, 1<<32 - 2,
	}
	return f.Set(at, n[rng.IntN(len(n))])
}

func null(rng *rand.Rand, f, other Frame) []byte {
	at, ok := pick(rng, f, func(x Field) bool { return x.Kind != Number })
	if !ok {
		return cut(rng, f, other)
	}
	body := f.Set(at, -1)
	// What it counted goes too, if it is a text: the rest then still fits.
	if n := int(f.Get(at)); at.Kind != Array && n > 0 && at.Offset+at.Width+n <= len(body) {
		return append(body[:at.Offset+at.Width:at.Offset+at.Width], body[at.Offset+at.Width+n:]...)
	}
	return body
}

func cut(rng *rand.Rand, f, _ Frame) []byte {
	if len(f.Body) == 0 {
		return nil
	}
	return bytes.Clone(f.Body[:rng.IntN(len(f.Body))])
}

func flip(rng *rand.Rand, f, _ Frame) []byte {
	body := bytes.Clone(f.Body)
	for range 1 + rng.IntN(3) {
		if len(body) > 0 {
			body[rng.IntN(len(body))] ^= 1 << rng.IntN(8)
		}
	}
	return body
}

func swap(rng *rand.Rand, f, other Frame) []byte {
	a, ok := pick(rng, f, func(Field) bool { return true })
	if !ok {
		return flip(rng, f, other)
	}
	b, _ := pick(rng, f, func(Field) bool { return true })
	body := bytes.Clone(f.Body)
	n := min(a.Width, b.Width, len(body)-max(a.Offset, b.Offset))
	for i := range n {
		body[a.Offset+i], body[b.Offset+i] = body[b.Offset+i], body[a.Offset+i]
	}
	return body
}

func splice(rng *rand.Rand, f, other Frame) []byte {
	from, to := 0, 0
	if len(f.Body) > 0 {
		from = rng.IntN(len(f.Body) + 1)
	}
	if len(other.Body) > 0 {
		to = rng.IntN(len(other.Body) + 1)
	}
	return append(bytes.Clone(f.Body[:from]), other.Body[to:]...)
}

// tags puts tagged fields where the last structure of the body ends, with known
// and unknown numbers and with lengths that lie.
func tags(rng *rand.Rand, f, _ Frame) []byte {
	body := bytes.Clone(f.Body)
	at := len(body)
	if at > 0 && body[at-1] == 0 {
		at--
	}
	n := rng.IntN(4)
	out := binary.AppendUvarint(body[:at:at], uint64(n+rng.IntN(2)*rng.IntN(1<<20)))
	for range n {
		out = binary.AppendUvarint(out, []uint64{0, 1, 2, 3, 4, 5, 127, 10_000, 1<<32 - 1}[rng.IntN(9)])
		size := rng.IntN(20)
		out = binary.AppendUvarint(out, uint64(size+rng.IntN(8)/7*rng.IntN(1<<30)))
		for range size {
			out = append(out, byte(rng.Uint32()))
		}
	}
	return out
}

func varint(rng *rand.Rand, f, other Frame) []byte {
	at, ok := pick(rng, f, func(x Field) bool { return x.Compact })
	if !ok {
		return flip(rng, f, other)
	}
	out := append(bytes.Clone(f.Body[:at.Offset]), bytes.Repeat([]byte{0xff}, 1+rng.IntN(12))...)
	return append(out, f.Body[at.Offset+at.Width:]...)
}

func double(rng *rand.Rand, f, _ Frame) []byte {
	if len(f.Body) == 0 {
		return nil
	}
	from := rng.IntN(len(f.Body))
	to := from + rng.IntN(len(f.Body)-from+1)
	return append(bytes.Clone(f.Body[:to]), f.Body[from:]...)
}

// records damages what stands inside a batch and makes its checksum right again,
// or nothing behind the checksum would be reached.
func records(rng *rand.Rand, f, other Frame) []byte {
	at, ok := pick(rng, f, func(x Field) bool {
		return x.Kind == Blob && f.Get(x) > batch.HeaderLen && x.Offset+x.Width+int(f.Get(x)) <= len(f.Body)
	})
	if !ok {
		return flip(rng, f, other)
	}
	body := bytes.Clone(f.Body)
	b := body[at.Offset+at.Width:][:f.Get(at)]
	for range 1 + rng.IntN(3) {
		i := 16 + rng.IntN(len(b)-16) // Behind the size and the magic.
		if rng.IntN(2) == 0 {
			i = 21 + rng.IntN(batch.HeaderLen-21) // Attributes, counts, producer.
		}
		b[i] = [...]byte{0, 1, 0x7f, 0x80, 0xff, b[i] + 1, b[i] - 1, byte(rng.Uint32())}[rng.IntN(8)]
	}
	b[16] = 2
	batch.Batch(b).Seal()
	return body
}
