package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"
)

// read is all of what src decompresses to.
func read(c Codec, src []byte, limit int64) ([]byte, error) {
	r, err := Open(c, src, limit)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// compress is Compress for data that cannot fail.
func compress(t testing.TB, c Codec, src []byte) []byte {
	t.Helper()
	out, err := Compress(nil, c, DefaultLevel, src)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// text compresses; noise does not.
func text(n int) []byte {
	return []byte(strings.Repeat("the quick brown fox jumps over the lazy dog, ", n/45+1)[:n])
}

func noise(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

func TestNames(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		if got, ok := Parse(c.String()); !ok || got != c || !c.Known() {
			t.Errorf("%d is called %q, which is %d", c, c, got)
		}
	}
	if c, ok := Parse("uncompressed"); !ok || c != None {
		t.Errorf("uncompressed is %v", c)
	}
	for _, name := range []string{"", "producer", "GZIP", "lzma"} {
		if c, ok := Parse(name); ok {
			t.Errorf("%q is %v", name, c)
		}
	}
	if Codec(5).Known() || Codec(-1).Known() || Codec(5).String() != "codec(5)" {
		t.Errorf("codec 5 is known as %v", Codec(5))
	}
	if _, err := Open(5, nil, NoLimit); !errors.Is(err, ErrUnknown) {
		t.Errorf("open codec 5: %v", err)
	}
	if _, err := Compress(nil, 5, 0, nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("compress with codec 5: %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	prefix := []byte("kept ")
	for c := None; c <= Zstd; c++ {
		for _, size := range []int{0, 1, 100, xerialChunk - 1, xerialChunk, xerialChunk + 1, 64 << 10, 300_000} {
			for kind, src := range map[string][]byte{"text": text(size), "noise": noise(size)} {
				t.Run(fmt.Sprintf("%v/%s/%d", c, kind, size), func(t *testing.T) {
					packed, err := Compress(bytes.Clone(prefix), c, DefaultLevel, src)
					if err != nil || !bytes.HasPrefix(packed, prefix) {
						t.Fatalf("%v, begins %.10q", err, packed)
					}
					got, err := read(c, packed[len(prefix):], int64(size)+1)
					if err != nil || !bytes.Equal(got, src) {
						t.Errorf("%d bytes came back as %d, %v", len(src), len(got), err)
					}
				})
			}
		}
	}
}

// TestLevels: every level that Kafka lets a topic set works, and one beyond does no
// harm; the levels of a codec differ.
func TestLevels(t *testing.T) {
	src := text(20_000)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range src {
		if rng.IntN(9) == 0 {
			src[i] = byte(rng.Uint32())
		}
	}
	for c, levels := range map[Codec][]int{
		Gzip: {-1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 99, -99},
		LZ4:  {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 99, -99},
		Zstd: {-131072, -5, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 19, 22, 99},
	} {
		sizes := map[int]bool{}
		for _, level := range levels {
			packed, err := Compress(nil, c, level, src)
			if err != nil {
				t.Fatalf("%v level %d: %v", c, level, err)
			}
			if got, err := read(c, packed, NoLimit); err != nil || !bytes.Equal(got, src) {
				t.Errorf("%v level %d: %d bytes, %v", c, level, len(got), err)
			}
			sizes[len(packed)] = true
		}
		if len(sizes) < 2 {
			t.Errorf("%v: all levels give sizes %v", c, sizes)
		}
	}
}

func TestLimit(t *testing.T) {
	src := text(100_000)
	for c := None; c <= Zstd; c++ {
		packed := compress(t, c, src)
		if got, err := read(c, packed, int64(len(src))); err != nil || len(got) != len(src) {
			t.Errorf("%v: at the limit %d bytes, %v", c, len(got), err)
		}
		got, err := read(c, packed, int64(len(src)-1))
		if !errors.Is(err, ErrTooLarge) || len(got) != len(src)-1 {
			t.Errorf("%v: past the limit %d bytes, %v", c, len(got), err)
		}
	}
}

func TestAfterClose(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		r, err := Open(c, compress(t, c, text(100)), NoLimit)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Errorf("%v: closing: %v", c, err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("%v: read %d bytes after close, %v", c, n, err)
		}
		w, err := NewWriter(io.Discard, c, DefaultLevel)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Errorf("%v: closing the writer: %v", c, err)
		}
		if _, err := w.Write([]byte("x")); err == nil {
			t.Errorf("%v: wrote after close", c)
		}
	}
}

// TestErrorsStay: a reader that failed does not come to itself again.
func TestErrorsStay(t *testing.T) {
	for c := Gzip; c <= Zstd; c++ {
		packed := compress(t, c, noise(100_000))
		r, err := Open(c, packed, 10)
		if err != nil {
			t.Fatal(err)
		}
		_, first := io.ReadAll(r)
		_, second := r.Read(make([]byte, 1))
		if first == nil || !errors.Is(second, first) {
			t.Errorf("%v: first %v, then %v", c, first, second)
		}
		r.Close()
	}
}

// failing is a destination that takes some bytes and then no more.
type failing struct{ room int }

var errNoRoom = errors.New("no room")

func (f *failing) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errNoRoom
	}
	return len(p), nil
}

// TestWriteError: the destination's error comes out, and the next stream of the
// encoder that met it knows nothing of it.
func TestWriteError(t *testing.T) {
	src := noise(500_000)
	for c := None; c <= Zstd; c++ {
		w, err := NewWriter(&failing{room: 1000}, c, DefaultLevel)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(src)
		if err := errors.Join(err, w.Close()); !errors.Is(err, errNoRoom) {
			t.Errorf("%v: %v", c, err)
		}
		if got, err := read(c, compress(t, c, src), NoLimit); err != nil || !bytes.Equal(got, src) {
			t.Errorf("%v: after a failure %d bytes, %v", c, len(got), err)
		}
	}
}

// TestFranz: franz-go reads what we write, and we what it writes.
func TestFranz(t *testing.T) {
	ours := map[Codec]kgo.CompressionCodec{
		Gzip: kgo.GzipCompression(), Snappy: kgo.SnappyCompression(), LZ4: kgo.Lz4Compression(), Zstd: kgo.ZstdCompression(),
	}
	theirs := kgo.DefaultDecompressor()
	compressors := map[Codec]kgo.Compressor{}
	for c, k := range ours {
		var err error
		if compressors[c], err = kgo.DefaultCompressor(k); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		src := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "src"), rapid.IntRange(1, 2000).Draw(t, "times"))
		for c, k := range compressors {
			packed, used := k.Compress(new(bytes.Buffer), src)
			if Codec(used) != c {
				t.Fatalf("franz-go used %v for %v", used, c)
			}
			if got, err := read(c, packed, int64(len(src))); err != nil || !bytes.Equal(got, src) {
				t.Fatalf("%v of franz-go: %d bytes of %d, %v", c, len(got), len(src), err)
			}
			mine, err := Compress(nil, c, DefaultLevel, src)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := theirs.Decompress(mine, kgo.CompressionCodecType(c)); err != nil || !bytes.Equal(got, src) {
				t.Fatalf("franz-go reads our %v: %d bytes of %d, %v", c, len(got), len(src), err)
			}
		}
	})
}

// TestPools: many streams at once, each to its own data.
func TestPools(t *testing.T) {
	done := make(chan error)
	const streams = 8
	for i := range streams {
		go func() {
			src := bytes.Repeat([]byte{byte(i)}, 50_000+i)
			var err error
			for n := range 40 {
				c := Codec(n % 5)
				packed, cerr := Compress(nil, c, DefaultLevel, src)
				got, rerr := read(c, packed, NoLimit)
				if cerr != nil || rerr != nil || !bytes.Equal(got, src) {
					err = fmt.Errorf("%v: %w, %w, %d bytes", c, cerr, rerr, len(got))
				}
			}
			done <- err
		}()
	}
	for range streams {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
