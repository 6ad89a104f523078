package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// TestDamage: every prefix of a compressed stream, and every stream with a byte
// changed, is an error or the same data; never a panic.
func TestDamage(t *testing.T) {
	src := append(text(300), noise(200)...)
	for c := Gzip; c <= Zstd; c++ {
		packed := compress(t, c, src)
		for n := range packed {
			if got, err := read(c, packed[:n], 1<<20); err == nil {
				// Xerial chunks end anywhere; the rest have an end of their own.
				if c != Snappy || (n != 0 && n != xerialHeaderLen) || len(got) != 0 {
					t.Errorf("%v: the first %d of %d bytes are %d bytes of data", c, n, len(packed), len(got))
				}
			} else if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v: the first %d of %d bytes: %v", c, n, len(packed), err)
			}
		}
		for at := range packed {
			damaged := bytes.Clone(packed)
			damaged[at] ^= 0xff
			if _, err := read(c, damaged, 1<<20); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
				t.Errorf("%v: byte %d changed: %v", c, at, err)
			}
		}
		if _, err := read(c, append(bytes.Clone(packed), "garbage"...), 1<<20); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v: garbage after the stream: %v", c, err)
		}
	}
}

// allocated is how many bytes a call allocates.
func allocated(call func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// zeros is n bytes that compress well, without having them all in memory.
type zeros struct{ n int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.n == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.n))
	clear(p[:n])
	z.n -= int64(n)
	return n, nil
}

// TestBombs: a small input that decompresses to far more than its limit is stopped
// there, having taken no more memory than a decoder does.
func TestBombs(t *testing.T) {
	const size, limit, most = 64 << 20, 2 << 20, 24 << 20
	for c := Gzip; c <= Zstd; c++ {
		var out sink
		w, err := NewWriter(&out, c, DefaultLevel)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, &zeros{size}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var n int64
		got := allocated(func() {
			r, err2 := Open(c, out.b, limit)
			if err = err2; err == nil {
				n, err = io.Copy(io.Discard, r)
				r.Close()
			}
		})
		t.Logf("%v: %d bytes for %d, %d allocated", c, len(out.b), size, got)
		if !errors.Is(err, ErrTooLarge) || n != limit {
			t.Errorf("%v: %d bytes came out, %v", c, n, err)
		}
		if got > most {
			t.Errorf("%v: %d bytes allocated", c, got)
		}
	}
}

// TestLies: inputs that claim to be large are not believed.
func TestLies(t *testing.T) {
	frame := func(window byte, rest ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, zstdMagic), append([]byte{0, window}, rest...)...)
	}
	single := func(size uint64) []byte {
		head := append(binary.LittleEndian.AppendUint32(nil, zstdMagic), 0b1110_0000)
		return append(binary.LittleEndian.AppendUint64(head, size), 1, 0, 0)
	}
	chunk := func(size uint32, block ...byte) []byte {
		head := append([]byte(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
		return append(binary.BigEndian.AppendUint32(head, size), block...)
	}
	// "abcd", a copy of it, and a repeat of that copy, which is not snappy.
	s2Repeat := []byte("\x0c\x0cabcd\x01\x04\x01\x00")
	if got, err := s2.Decode(nil, s2Repeat); err != nil || string(got) != "abcdabcdabcd" {
		t.Fatalf("the S2 block decodes to %q, %v", got, err)
	}
	for name, tc := range map[string]struct {
		codec Codec
		src   []byte
		want  error
	}{
		"snappy block of 4 GiB":        {Snappy, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0}, ErrCorrupt},
		"snappy block of 1 GiB":        {Snappy, append(binary.AppendUvarint(nil, 1<<30), make([]byte, 1000)...), ErrCorrupt},
		"xerial chunk longer than all": {Snappy, chunk(100, 1, 0, 'x'), ErrCorrupt},
		"xerial chunk of 4 GiB":        {Snappy, chunk(0xffff_ffff, 1, 0, 'x'), ErrCorrupt},
		"xerial chunk claims 1 GiB":    {Snappy, chunk(7, append(binary.AppendUvarint(nil, 1<<30), 0, 0)...), ErrCorrupt},
		"an s2 block":                  {Snappy, s2Repeat, ErrCorrupt},
		"a snappy literal of 4 GiB":    {Snappy, []byte{40, 63 << 2, 0xff, 0xff, 0xff, 0xff, 0, 0}, ErrCorrupt},
		"a snappy literal length cut":  {Snappy, []byte{10, 63 << 2, 0xff}, ErrCorrupt},
		"xerial header cut":            {Snappy, []byte(xerialMagic + "\x00\x00"), ErrCorrupt},
		"zstd window of 3 TiB":         {Zstd, frame(0xff, 1, 0, 0), ErrTooLarge},
		"zstd window of 256 MiB":       {Zstd, frame(18<<3, 1, 0, 0), ErrTooLarge},
		"zstd content of 1 GiB":        {Zstd, single(1 << 30), ErrTooLarge},
		"zstd content of 2^64-1":       {Zstd, single(1<<64 - 1), ErrTooLarge},
		"zstd content of 100 MiB":      {Zstd, single(100 << 20), ErrCorrupt},
		"lz4 block of 2 GiB":           {LZ4, []byte("\x04\x22\x4d\x18\x60\x70\x73\xff\xff\xff\x7f"), ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			got := allocated(func() { _, err = read(tc.codec, tc.src, 1<<30) })
			if !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if got > 12<<20 {
				t.Errorf("%d bytes allocated", got)
			}
		})
	}
}

// TestZstdWindows: a frame may ask for up to 128 MiB of window, as level 22 of
// Kafka's producers does, and is read with less.
func TestZstdWindows(t *testing.T) {
	src := append(noise(200_000), noise(200_000)...) // The second half is one far match.
	var out bytes.Buffer
	zw, err := zstd.NewWriter(&out, zstd.WithWindowSize(1<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	// In two writes, so that the frame does not know its size.
	_, err1 := zw.Write(src[:100])
	if err := errors.Join(err1, zw.Flush()); err != nil {
		t.Fatal(err)
	}
	_, err1 = zw.Write(src[100:])
	if err := errors.Join(err1, zw.Close()); err != nil {
		t.Fatal(err)
	}
	frame := out.Bytes()
	if frame[5] != 10<<3 {
		t.Fatalf("frame begins %x, expected a window of 1 MiB", frame[:8])
	}
	for log := 20; log <= 28; log++ {
		frame[5] = byte(log-10) << 3
		before := bytes.Clone(frame)
		got, err := read(Zstd, frame, NoLimit)
		if log == 28 {
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("window 2^%d: %v", log, err)
			}
		} else if err != nil || !bytes.Equal(got, src) {
			t.Errorf("window 2^%d: %d bytes, %v", log, len(got), err)
		}
		if !bytes.Equal(before, frame) {
			t.Errorf("window 2^%d: the input was changed", log)
		}
	}
	// A frame that is its own window.
	large := bytes.Repeat(noise(1000), 10_000)
	zw, err = zstd.NewWriter(nil, zstd.WithSingleSegment(true), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read(Zstd, zw.EncodeAll(large, nil), NoLimit); err != nil || !bytes.Equal(got, large) {
		t.Errorf("single segment of %d: %d bytes, %v", len(large), len(got), err)
	}
}

func TestSnappyForms(t *testing.T) {
	a, b := text(1000), noise(1000)
	block := s2.EncodeSnappy(nil, a)
	framedA, framedB := compress(t, Snappy, a), compress(t, Snappy, b)
	both := append(bytes.Clone(a), b...)
	for name, tc := range map[string]struct{ src, want []byte }{
		"a bare block":           {block, a},
		"an empty bare block":    {s2.EncodeSnappy(nil, nil), nil},
		"framed":                 {framedA, a},
		"two streams":            {append(bytes.Clone(framedA), framedB...), both},
		"chunks of one stream":   {append(bytes.Clone(framedA), framedB[xerialHeaderLen:]...), both},
		"a header and no chunks": {framedA[:xerialHeaderLen], nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := read(Snappy, tc.src, NoLimit); err != nil || !bytes.Equal(got, tc.want) {
				t.Errorf("%d bytes, want %d: %v", len(got), len(tc.want), err)
			}
		})
	}
	if _, err := read(Snappy, nil, NoLimit); !errors.Is(err, ErrCorrupt) {
		t.Errorf("nothing at all: %v", err)
	}
}

// TestLZ4Frames: what Kafka's LZ4 reader takes we take, and what it refuses we
// refuse, as Java's consumers could not read it.
func TestLZ4Frames(t *testing.T) {
	src := append(text(100_000), noise(100_000)...)
	frame := func(opts ...lz4.Option) []byte {
		var out bytes.Buffer
		zw := lz4.NewWriter(&out)
		if err := zw.Apply(opts...); err != nil {
			t.Fatal(err)
		}
		_, err := zw.Write(src)
		if err := errors.Join(err, zw.Close()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	change := func(src []byte, at int, b byte) []byte {
		src = bytes.Clone(src)
		src[at] = b
		return src
	}
	plain := compress(t, LZ4, src)
	if plain[4] != 0x60 || plain[5] != 0x40 {
		t.Errorf("our frames have flags %x and %x, Java's 60 and 40", plain[4], plain[5])
	}
	for name, tc := range map[string]struct {
		src  []byte
		want bool
	}{
		"as Java writes it":        {plain, true},
		"blocks of 4 MiB":          {frame(lz4.BlockSizeOption(lz4.Block4Mb)), true},
		"block checksums":          {frame(lz4.BlockChecksumOption(true)), true},
		"content checksum":         {frame(lz4.ChecksumOption(true)), true},
		"content size":             {frame(lz4.SizeOption(uint64(len(src)))), true},
		"legacy frame":             {frame(lz4.LegacyOption(true)), false},
		"two frames":               {append(bytes.Clone(plain), plain...), false},
		"wrong header checksum":    {change(plain, 6, plain[6]^1), false},
		"dependent blocks":         {change(plain, 4, 0x40), false},
		"dictionary":               {change(plain, 4, 0x61), false},
		"version 0":                {change(plain, 4, 0x20), false},
		"block size of no meaning": {change(plain, 5, 0x30), false},
		"no end mark":              {plain[:len(plain)-4], false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(LZ4, tc.src, NoLimit)
			if tc.want && (err != nil || !bytes.Equal(got, src)) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if !tc.want && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

func TestGzipMembers(t *testing.T) {
	a, b := text(1000), noise(1000)
	two := append(compress(t, Gzip, a), compress(t, Gzip, b)...)
	if got, err := read(Gzip, two, NoLimit); err != nil || !bytes.Equal(got, append(a, b...)) {
		t.Errorf("two members: %d bytes, %v", len(got), err)
	}
}

// FuzzDecompress: any bytes give data within the limit or one of our errors, and no
// panic.
func FuzzDecompress(f *testing.F) {
	for c := Gzip; c <= Zstd; c++ {
		f.Add(compress(f, c, text(500)), uint8(c))
		f.Add(compress(f, c, noise(100)), uint8(c))
	}
	f.Add(s2.EncodeSnappy(nil, text(500)), uint8(Snappy))
	f.Fuzz(func(t *testing.T, src []byte, c uint8) {
		const limit = 1 << 20
		got, err := read(Codec(c%5), src, limit)
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
			t.Fatalf("an error of no kind: %v", err)
		}
		if len(got) > limit {
			t.Fatalf("%d bytes past the limit", len(got))
		}
		if bytes.Contains([]byte(errText(err)), []byte("panicked")) {
			t.Fatal(err)
		}
	})
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
