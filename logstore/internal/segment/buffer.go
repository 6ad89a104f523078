package segment

import "sync"

// bufferBytes is the size of the buffers in which headers and index entries are
// looked for: a page, which is also the distance of two index entries by default.
const bufferBytes = 4096

var buffers = sync.Pool{New: func() any { return new([bufferBytes]byte) }}

func getBuffer() *[bufferBytes]byte  { return buffers.Get().(*[bufferBytes]byte) }
func putBuffer(b *[bufferBytes]byte) { buffers.Put(b) }
