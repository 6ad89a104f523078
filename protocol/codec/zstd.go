package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"
)

const (
	zstdMagic = 0xFD2FB528
	// zstdSingleSegment in the frame header's descriptor says that the content is
	// the window, and that no window byte follows.
	zstdSingleSegment = 1 << 5

	// zstdWindowBytes is the window a decoder gets. The decoder allocates what the
	// frame asks for before the first byte, so this is what one hostile frame costs.
	zstdWindowBytes = 8 << 20
	// zstdWindowByte is zstdWindowBytes as a frame header writes it: 2^(10+13).
	zstdWindowByte = 13 << 3
	// zstdLongestWindowBytes is the most that a frame may ask for; libzstd, and so
	// every Java consumer, refuses more.
	zstdLongestWindowBytes = 128 << 20
	// zstdKeepWindowBytes is the largest window whose decoder is kept when idle.
	// The levels up to 9 use at most this.
	zstdKeepWindowBytes = 4 << 20
)

// zstdDecoder reads zstd frames one after another.
type zstdDecoder struct {
	head [6]byte // The first frame's header, changed to the window we give.
	at   int     // Read of head.
	in   plain   // What follows head.

	zr    *zstd.Decoder
	large bool // The window was too large for the pool.
}

func newZstdDecoder() *zstdDecoder {
	zr, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1), // No goroutines.
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindowBytes),
		zstd.WithDecoderMaxMemory(math.MaxInt32), // The stream counts the output itself.
		zstd.WithDecodeBuffersBelow(0),           // Never all at once.
	)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return &zstdDecoder{zr: zr}
}

func (d *zstdDecoder) reset(src []byte) error {
	d.at, d.large = len(d.head), false
	d.in.rest = src
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return err
	}
	if !h.Skippable {
		if err := d.narrow(src, h); err != nil {
			return err
		}
	}
	return d.zr.Reset(zstdInput{d})
}

// narrow rewrites a header that asks for a window larger than we give. High
// levels ask for up to 128 MiB however little they compress, and all that is
// needed is the window that was in fact used: a match from further back than
// zstdWindowBytes is then an error. So the highest levels work for any batch
// that decompresses to no more than that, at no cost in memory.
func (d *zstdDecoder) narrow(src []byte, h zstd.Header) error {
	window := h.WindowSize
	if h.SingleSegment {
		window = h.FrameContentSize
	}
	d.large = window > zstdKeepWindowBytes
	if window <= zstdWindowBytes {
		return nil
	}
	if window > zstdLongestWindowBytes {
		return fmt.Errorf("%w: zstd window of %d bytes", ErrTooLarge, window)
	}
	// Without the single-segment bit a window byte follows. The content size field
	// keeps its width: only one of a single byte would lose it.
	binary.LittleEndian.PutUint32(d.head[:], zstdMagic)
	d.head[4] = src[4] &^ zstdSingleSegment
	d.head[5] = zstdWindowByte
	d.at = 0
	d.in.rest = src[6:]
	if h.SingleSegment {
		d.in.rest = src[5:]
	}
	return nil
}

func (d *zstdDecoder) Read(p []byte) (int, error) {
	n, err := d.zr.Read(p)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return n, err
}

func (d *zstdDecoder) release() bool {
	d.in.rest = nil
	if d.large || d.zr.Reset(nil) != nil {
		d.zr.Close()
		return false
	}
	return true
}

// zstdInput is the decoder's input: the changed header, if there is one, and the
// rest.
type zstdInput struct{ *zstdDecoder }

func (in zstdInput) Read(p []byte) (int, error) {
	if in.at < len(in.head) {
		n := copy(p, in.head[in.at:])
		in.at += n
		return n, nil
	}
	return in.in.Read(p)
}

func newZstdEncoder(level zstd.EncoderLevel) encoder {
	zw, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(level),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(1<<20), // A batch is seldom larger, and readers allocate it.
		zstd.WithZeroFrames(true),  // Nothing is a frame too, not no bytes.
	)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return zw
}

// zstdLevel maps compression.zstd.level (-131072 to 22) to the library's four.
func zstdLevel(level int) zstd.EncoderLevel {
	if level == DefaultLevel {
		level = 3
	}
	return zstd.EncoderLevelFromZstd(level)
}
