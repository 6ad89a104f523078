package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// frameOf makes a frame with its size: a Produce request as far as the limits
// look, so that any size up to theirs is allowed.
func frameOf(size int, fill byte) []byte {
	f := binary.BigEndian.AppendUint32(nil, uint32(size))
	f = append(f, 0, 0)
	return append(f, bytes.Repeat([]byte{fill}, size-2)...)
}

// next takes the next frame whole, as a server does. It is valid until the reader is
// used again.
func next(r *Reader, l Limits) ([]byte, error) {
	if _, err := r.Begin(l, true); err != nil {
		return nil, err
	}
	frame, err := r.Peek(r.Left())
	if err != nil {
		return nil, err
	}
	r.Skip(len(frame))
	return frame, nil
}

// TestReaderTakesEveryFrame reads streams of frames of all kinds of sizes, cut
// into pieces of all kinds of sizes, and wants the same frames in order.
func TestReaderTakesEveryFrame(t *testing.T) {
	var pool Pool
	limits := Limits{}.WithDefaults()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(
			rapid.IntRange(MinRequestBytes, 200),
			rapid.SampledFrom([]int{508, 509, 44, 4091, 4092, 4093, 4096, 16<<10 - 4, 16 << 10, 64<<10 - 4, 64 << 10, 64<<10 + 1, 300_000}),
		), 1, 8).Draw(t, "sizes")
		var stream []byte
		for i, n := range sizes {
			stream = append(stream, frameOf(n, byte(i+1))...)
		}
		src := &chunks{rest: stream, next: func() int { return rapid.SampledFrom([]int{1, 3, 511, 512, 513, 5000, 1 << 20}).Draw(t, "chunk") }}
		reserved := 0
		r := NewReader(src, &pool, func(n int) error { reserved += n; return nil })
		for i, n := range sizes {
			frame, err := next(r, limits)
			if err != nil {
				t.Fatalf("frame %d: %v", i, err)
			}
			if want := frameOf(n, byte(i+1))[sizeBytes:]; !bytes.Equal(frame, want) {
				t.Fatalf("frame %d has %d bytes or other content, want %d", i, len(frame), n)
			}
			r.Release()
		}
		if _, err := next(r, limits); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last frame: %v", err)
		}
		if r.buf != nil {
			t.Fatal("holds a buffer with nothing in it")
		}
		if reserved != 0 {
			t.Fatalf("still has %d bytes reserved", reserved)
		}
	})
}

// TestReaderByPieces takes frames in pieces of all sizes, sometimes not to their
// end, and wants what was sent; and memory for the largest piece, not the frame.
func TestReaderByPieces(t *testing.T) {
	var pool Pool
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{MinRequestBytes, 100, 5000, 100_000, 1_000_000}), 1, 4).Draw(t, "sizes")
		var stream []byte
		for i, n := range sizes {
			stream = append(stream, frameOf(n, byte(i+1))...)
		}
		chunk := rapid.SampledFrom([]int{7_000, 50_000, 1 << 20}).Draw(t, "chunk")
		r := NewReader(&chunks{rest: stream, next: func() int { return chunk }}, &pool, nil)
		largest := 0
		for i, size := range sizes {
			if _, err := r.Begin(Limits{}.WithDefaults(), true); err != nil {
				t.Fatalf("frame %d: %v", i, err)
			}
			if r.Left() != size {
				t.Fatalf("frame %d has %d bytes, want %d", i, r.Left(), size)
			}
			want := frameOf(size, byte(i+1))[sizeBytes:]
			for r.Left() > 0 && rapid.IntRange(0, 20).Draw(t, "go on") > 0 {
				n := min(r.Left(), rapid.SampledFrom([]int{1, 9, 60, 4096, 30_000, 200_000}).Draw(t, "piece"))
				largest = max(largest, n)
				got, err := r.Peek(n)
				if err != nil || !bytes.Equal(got, want[:n]) {
					t.Fatalf("frame %d: %d bytes, %v", i, len(got), err)
				}
				if held := len(r.buf.B); held > max(freeBytes, 4*largest) {
					t.Fatalf("holds %d bytes for pieces of %d", held, largest)
				}
				skip := rapid.IntRange(0, n).Draw(t, "skip")
				r.Skip(skip)
				want = want[skip:]
			}
			if _, err := r.Peek(r.Left() + 1); !errors.Is(err, ErrFrameEnd) {
				t.Fatalf("beyond the frame: %v", err)
			}
		}
		if _, err := r.Begin(Limits{}.WithDefaults(), true); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last frame: %v", err)
		}
	})
}

// chunks is a stream that arrives in pieces.
type chunks struct {
	rest []byte
	next func() int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.next())], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func TestReaderErrors(t *testing.T) {
	limits := Limits{}.WithDefaults()
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		src  io.Reader
		want error
	}{
		"nothing":             {bytes.NewReader(nil), io.EOF},
		"half a size":         {bytes.NewReader([]byte{0, 0}), io.ErrUnexpectedEOF},
		"half a frame":        {bytes.NewReader(frameOf(100, 1)[:50]), io.ErrUnexpectedEOF},
		"half a large frame":  {bytes.NewReader(frameOf(1<<20, 1)[:1<<19]), io.ErrUnexpectedEOF},
		"an error in a frame": {io.MultiReader(bytes.NewReader(frameOf(100, 1)[:50]), iotest.ErrReader(broken)), broken},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(tc.src, new(Pool), nil)
			if _, err := next(r, limits); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

// TestReaderMemoryFollowsArrivedBytes announces the largest frame and sends a
// little of it: what the reader holds is bounded by that little.
func TestReaderMemoryFollowsArrivedBytes(t *testing.T) {
	for _, arrived := range []int{10, 50, 5_000, 100_000, 1 << 20, 5 << 20} {
		t.Run(fmt.Sprint(arrived), func(t *testing.T) {
			stream := frameOf(100<<20, 1)[:arrived]
			r := NewReader(bytes.NewReader(stream), new(Pool), nil)
			_, err := next(r, Limits{}.WithDefaults())
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
			if held, most := len(r.buf.B), max(freeBytes, 4*arrived); held > most {
				t.Errorf("holds %d bytes, want at most %d", held, most)
			}
		})
	}
}

// TestReaderRefusesBeforeReading gives an oversize frame and wants it refused
// with no more read than its size and its API.
func TestReaderRefusesBeforeReading(t *testing.T) {
	limits := Limits{Other: 1000}.WithDefaults()
	metadata := binary.BigEndian.AppendUint32(nil, 1001)
	metadata = append(metadata, 0, 3)
	giant := binary.BigEndian.AppendUint32(nil, 1<<31-1)
	for name, in := range map[string][]byte{"for its API": metadata, "for any": giant} {
		t.Run(name, func(t *testing.T) {
			// The stream ends after these bytes: to need more would be ErrUnexpectedEOF.
			_, err := next(NewReader(bytes.NewReader(in), new(Pool), nil), limits)
			if _, ok := errors.AsType[*SizeError](err); !ok {
				t.Errorf("error %v, want a SizeError", err)
			}
		})
	}
}

func TestReaderReserves(t *testing.T) {
	refused := errors.New("no memory left")
	for name, tc := range map[string]struct {
		size, budget int
		want         error
	}{
		"small frames are free":  {freeBytes, 0, nil},
		"a large one is counted": {freeBytes + 1, 1 << 20, nil},
		"and may be refused":     {freeBytes + 1, 1000, refused},
	} {
		t.Run(name, func(t *testing.T) {
			left := tc.budget
			r := NewReader(bytes.NewReader(frameOf(tc.size, 1)), new(Pool), func(n int) error {
				if n > left {
					return refused
				}
				left -= n
				return nil
			})
			if _, err := next(r, Limits{}.WithDefaults()); !errors.Is(err, tc.want) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			if r.Close(); left != tc.budget {
				t.Errorf("%d of %d left after all was given back", left, tc.budget)
			}
		})
	}
}

// countedReads gives a frame a read, as a client that waits for its answers does,
// and counts the reads.
type countedReads struct {
	frame, rest []byte
	reads       int
}

func (c *countedReads) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		c.rest = c.frame
	}
	c.reads++
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// TestReaderLearnsFrameSize wants one read for each frame but the first of a
// stream of alike small ones, and little memory for it.
func TestReaderLearnsFrameSize(t *testing.T) {
	for name, tc := range map[string]struct{ size, reads, holds int }{
		"smaller than the array":     {400, 10, 512},
		"a record of a KiB":          {1100, 11, 2048},
		"the largest that is learnt": {SmallBuffer - sizeBytes, 11, SmallBuffer},
		"larger ones are not":        {SmallBuffer, 20, 512},
	} {
		t.Run(name, func(t *testing.T) {
			src := &countedReads{frame: frameOf(tc.size, 1)}
			r := NewReader(src, new(Pool), nil)
			for range 10 {
				frame, err := next(r, Limits{}.WithDefaults())
				if err != nil || !bytes.Equal(frame, src.frame[sizeBytes:]) {
					t.Fatalf("%d bytes, %v", len(frame), err)
				}
			}
			if src.reads != tc.reads || len(r.first) != tc.holds {
				t.Errorf("%d reads, %d bytes held; want %d, %d", src.reads, len(r.first), tc.reads, tc.holds)
			}
		})
	}
}

func TestReaderUnread(t *testing.T) {
	stream := frameOf(20, 1)
	r := NewReader(bytes.NewReader(stream[1:]), new(Pool), nil)
	r.Unread(stream[0])
	frame, err := next(r, Limits{}.WithDefaults())
	if err != nil || !bytes.Equal(frame, stream[sizeBytes:]) {
		t.Errorf("%x, %v", frame, err)
	}
}

func TestReadFrame(t *testing.T) {
	for _, size := range []int{10, 4095, 4096, 4097, 100_000} {
		frame, err := ReadFrame(iotest.HalfReader(bytes.NewReader(frameOf(size, 1))), 1<<20)
		if err != nil || !bytes.Equal(frame, frameOf(size, 1)[sizeBytes:]) {
			t.Errorf("size %d: %d bytes, %v", size, len(frame), err)
		}
	}
	if _, err := ReadFrame(bytes.NewReader(frameOf(100, 1)[:60]), 1<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("short frame: %v", err)
	}
	if _, err := ReadFrame(bytes.NewReader(frameOf(100, 1)), 99); err == nil {
		t.Error("took a frame larger than the limit")
	}
}

// FuzzReader feeds any bytes and holds the reader to two things: it never
// returns a frame that was not sent, and never holds much more than has come.
func FuzzReader(f *testing.F) {
	f.Add(append(frameOf(20, 1), frameOf(5000, 2)...), uint8(7))
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff, 0, 0}, uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, chunk uint8) {
		src := &chunks{rest: in, next: func() int { return int(chunk) + 1 }}
		r := NewReader(src, new(Pool), nil)
		at := 0
		for {
			frame, err := next(r, Limits{}.WithDefaults())
			if r.buf != nil && len(r.buf.B) > max(freeBytes, 4*len(in)) {
				t.Fatalf("holds %d bytes of %d", len(r.buf.B), len(in))
			}
			if err != nil {
				return
			}
			if at+4+len(frame) > len(in) || !bytes.Equal(frame, in[at+4:at+4+len(frame)]) {
				t.Fatalf("frame at %d is not what was sent", at)
			}
			at += 4 + len(frame)
		}
	})
}
