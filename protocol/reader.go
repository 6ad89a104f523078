package protocol

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
)

// sizeBytes is the length of the size before a frame.
const sizeBytes = 4

// freeBytes is how much buffer a frame may have before its bytes have arrived.
// It lets a common produce request come in with one read.
const freeBytes = 64 << 10

// aheadBytes is how much may be read beyond what was asked for: enough for what
// stands between the batches of a large request, and so little that moving it to
// the front of the buffer costs nothing.
const aheadBytes = 64

// ErrFrameEnd says that a frame ends before what was asked for.
var ErrFrameEnd = errors.New("the frame ends too early")

// Reader takes request frames from a stream: Begin finds the next, Peek waits for some
// or all of it, Skip takes that.
//
// It holds no buffer while the peer is silent: the first bytes of a frame
// arrive in a small array, of 4 KiB at most where frames have been as large, and
// memory is borrowed once they are there. A buffer
// of 64 KiB is had for the asking; from there it grows fourfold at a time, when
// it is full, so a peer that announces a large frame holds no more than that or
// four times what it has really sent.
//
// One goroutine at a time may use a Reader.
type Reader struct {
	src     io.Reader
	pool    *Pool
	reserve Reserve
	small   [512]byte // Enough for most requests without records.
	first   []byte    // Where a frame's first bytes arrive: small, or what prefer made.

	buf  *Buffer // Borrowed; nil while nothing is buffered.
	r, w int     // buf.B[r:w] has arrived and is not taken.
	left int     // Bytes of the frame that Begin began and that are not skipped.
	err  error   // Of src, told once everything before it is taken.
}

// Reserve is asked before a Reader takes n bytes of buffer beyond what every
// connection may have, and told with a negative n when they are given back. It
// may block, or refuse with an error, which Peek returns.
type Reserve func(n int) error

// NewReader returns a Reader of the frames of src, with buffers from pool.
// A nil reserve allows any that the limits of Begin allow.
func NewReader(src io.Reader, pool *Pool, reserve Reserve) *Reader {
	if reserve == nil {
		reserve = func(int) error { return nil }
	}
	f := &Reader{src: src, pool: pool, reserve: reserve}
	f.first = f.small[:]
	return f
}

// Buffered is how many bytes have arrived that no frame was taken from.
func (f *Reader) Buffered() int { return f.w - f.r }

// Ready says whether a whole frame has arrived, so that Begin and Peek will not block.
func (f *Reader) Ready() bool {
	return f.Buffered() >= sizeBytes && int64(f.Buffered()-sizeBytes) >= f.size()
}

// Begin waits for the next frame, and returns the API that it is for. What is
// left of the frame before is skipped. authenticated tells which of the limits
// hold.
//
// At the end of the stream the error is io.EOF, and io.ErrUnexpectedEOF when
// that is inside a frame.
func (f *Reader) Begin(l Limits, authenticated bool) (key int16, err error) {
	if err := f.SkipFrame(); err != nil {
		return 0, err
	}
	f.Release()
	if err := f.need(sizeBytes); err != nil {
		return 0, err
	}
	size := f.size()
	if err := l.Check(size, authenticated); err != nil {
		return 0, err
	}
	if err := f.need(sizeBytes + 2); err != nil {
		return 0, err
	}
	key = int16(binary.BigEndian.Uint16(f.buf.B[f.r+sizeBytes:]))
	if err := l.CheckAPI(key, size); err != nil {
		return 0, err
	}
	f.r += sizeBytes
	f.left = int(size)
	f.prefer(sizeBytes + f.left)
	return key, nil
}

// prefer makes the next frame of n bytes arrive with one read. Whoever sends one
// record a request sends frames of nearly the same size again and again; a
// second read for each costs a tenth of what serving it does. Larger frames need
// further reads anyhow.
func (f *Reader) prefer(n int) {
	if len(f.first) < n && n <= SmallBuffer {
		f.first = make([]byte, 1<<bits.Len(uint(n-1)))
	}
}

// Left is how much of the frame is not skipped.
func (f *Reader) Left() int { return f.left }

// Peek returns the next n bytes of the frame, and waits for them. They are valid
// until the next Peek. ErrFrameEnd says that there are fewer.
func (f *Reader) Peek(n int) ([]byte, error) {
	if n < 0 || n > f.left {
		return nil, ErrFrameEnd
	}
	if err := f.need(n); err != nil {
		if errors.Is(err, io.EOF) && f.left > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if n == 0 {
		return nil, nil
	}
	return f.buf.B[f.r : f.r+n : f.r+n], nil
}

// Skip goes over n bytes that were peeked at.
func (f *Reader) Skip(n int) {
	if n > f.left || n > f.Buffered() {
		panic("BUG: protocol: bytes were skipped that have not arrived")
	}
	f.r += n
	f.left -= n
}

// SkipFrame goes over what is left of the frame, and waits for it.
func (f *Reader) SkipFrame() error {
	for f.left > 0 {
		n := min(f.left, freeBytes/2)
		if _, err := f.Peek(n); err != nil {
			return err
		}
		f.Skip(n)
	}
	return nil
}

// Release gives the buffer back when nothing is left in it. The last frame is
// no longer valid then. Begin does the same; a caller about to do
// something else may call it earlier.
func (f *Reader) Release() {
	if f.buf != nil && f.r == f.w {
		f.Close()
	}
}

// Close gives the buffer back with whatever is in it.
func (f *Reader) Close() {
	if f.buf == nil {
		return
	}
	n := beyondFree(f.buf)
	f.pool.Put(f.buf)
	f.buf, f.r, f.w, f.left = nil, 0, 0, 0
	if n > 0 {
		f.reserve(-n) //nolint:errcheck // Giving back cannot fail.
	}
}

// beyondFree is how many bytes of b have to be reserved.
func beyondFree(b *Buffer) int { return max(0, len(b.B)-freeBytes) }

// Unread puts a byte that the caller took from the stream itself before all
// that has not been read from it. Nothing may be buffered.
func (f *Reader) Unread(b byte) {
	f.Release()
	if f.buf != nil {
		panic("BUG: protocol: a byte read past buffered ones")
	}
	f.buf = f.pool.Get(SmallBuffer)
	f.buf.B[0] = b
	f.r, f.w = 0, 1
}

func (f *Reader) size() int64 {
	return int64(int32(binary.BigEndian.Uint32(f.buf.B[f.r:])))
}

// need blocks until n bytes are buffered.
func (f *Reader) need(n int) error {
	for f.Buffered() < n {
		if err := f.fill(n); err != nil {
			if errors.Is(err, io.EOF) && f.Buffered() > 0 {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// fill reads at least one byte towards the n that are needed.
func (f *Reader) fill(n int) error {
	if f.err != nil {
		return f.err
	}
	if f.buf == nil {
		got, err := f.src.Read(f.first)
		if got > 0 {
			f.buf = f.pool.Get(SmallBuffer)
			f.r, f.w = 0, copy(f.buf.B, f.first[:got])
		}
		return f.note(got, err)
	}
	if f.r == f.w {
		f.r, f.w = 0, 0 // Memory that was just used is in the processor's cache.
	}
	if err := f.makeRoom(n); err != nil {
		return err
	}
	// What is large is read to its end and hardly further, or the start of what
	// follows would have to be moved.
	end := len(f.buf.B)
	if n > SmallBuffer {
		end = min(end, f.r+n+aheadBytes)
	}
	got, err := f.src.Read(f.buf.B[f.w:end])
	f.w += got
	return f.note(got, err)
}

// note keeps an error for later when bytes came with it.
func (f *Reader) note(got int, err error) error {
	if got == 0 {
		if err == nil {
			err = io.ErrNoProgress
		}
		return err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	f.err = err
	return nil
}

// makeRoom sees that there is space behind w for at least one of the n bytes
// that are needed from r on.
func (f *Reader) makeRoom(n int) error {
	switch {
	case f.r+n <= len(f.buf.B):
	case n <= len(f.buf.B):
		f.w = copy(f.buf.B, f.buf.B[f.r:f.w])
		f.r = 0
	case f.w == len(f.buf.B) || len(f.buf.B) < freeBytes:
		return f.grow(min(n, max(freeBytes, len(f.buf.B)<<classStep)))
	}
	return nil
}

func (f *Reader) grow(n int) error {
	bigger := f.pool.Get(n)
	if more := beyondFree(bigger) - beyondFree(f.buf); more > 0 {
		if err := f.reserve(more); err != nil {
			f.pool.Put(bigger)
			return err
		}
	}
	f.w = copy(bigger.B, f.buf.B[f.r:f.w])
	f.r = 0
	f.pool.Put(f.buf)
	f.buf = bigger
	return nil
}

// ReadFrame reads one frame of at most limit bytes into memory of its own,
// which grows only with the bytes that arrive. It is for the ends of a
// connection that do not serve: clients, peers and tests.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var head [sizeBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int64(int32(binary.BigEndian.Uint32(head[:])))
	if size < 0 || size > int64(limit) {
		return nil, &SizeError{Key: -1, Size: size, Max: int64(limit)}
	}
	frame := make([]byte, 0, min(size, SmallBuffer))
	for int64(len(frame)) < size {
		if len(frame) == cap(frame) {
			grown := make([]byte, len(frame), min(size, 4*int64(cap(frame))))
			copy(grown, frame)
			frame = grown
		}
		n, err := io.ReadFull(r, frame[len(frame):cap(frame)])
		frame = frame[:len(frame)+n]
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return frame, nil
}
