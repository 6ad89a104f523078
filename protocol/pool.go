package protocol

import "sync"

// Buffer is a pooled run of bytes. Its owner gives it back with Put, and must
// not hold on to B or a slice of it afterwards.
type Buffer struct {
	B     []byte
	class int8 // Index into Pool.classes; -1 for one too large to keep.
}

// Sizes of pooled buffers: 4 KiB, 16 KiB, ... 4 MiB. A larger one is rare, and
// is left to the garbage collector so that one giant request does not stay in
// resident memory.
const (
	minClassBits = 12
	classes      = 6
	classStep    = 2 // Each class is 1<<classStep times the one before.
)

// Sizes of the smallest and of the largest pooled buffer, in bytes.
const (
	SmallBuffer = 1 << minClassBits
	LargeBuffer = SmallBuffer << ((classes - 1) * classStep)
)

// Pool lends buffers of a few fixed sizes. Fresh memory costs half a
// millisecond a MiB in page faults, a pooled buffer 30 ns; what is not used is
// given up at garbage collections. The zero Pool is ready, and any goroutine
// may use it.
type Pool struct {
	classes [classes]sync.Pool
}

// Get returns a buffer whose B has length n, at least; B is cut to the size of
// its class. Its bytes are those of an earlier use.
func (p *Pool) Get(n int) *Buffer {
	for c := range p.classes {
		size := SmallBuffer << (c * classStep)
		if n > size {
			continue
		}
		if b, _ := p.classes[c].Get().(*Buffer); b != nil {
			return b
		}
		return &Buffer{B: make([]byte, size), class: int8(c)}
	}
	return &Buffer{B: make([]byte, n), class: -1}
}

// Put takes a buffer back. A nil buffer is allowed.
func (p *Pool) Put(b *Buffer) {
	if b == nil || b.class < 0 {
		return
	}
	b.B = b.B[:cap(b.B)]
	if len(b.B) != SmallBuffer<<(int(b.class)*classStep) {
		return // Its owner let it grow into other memory.
	}
	poison(b.B)
	p.classes[b.class].Put(b)
}
