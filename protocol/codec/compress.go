package codec

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// encoder is what the libraries' writers have in common.
type encoder interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// strength is a codec with the level as its library counts them: pools are kept
// by it, so there are few of them whatever the settings say.
type strength struct {
	codec Codec
	level int
}

// encoders holds idle encoders: strength to *sync.Pool.
var encoders sync.Map

// strengthOf finds the pool of a codec at one of Kafka's levels.
func strengthOf(c Codec, level int) strength {
	switch c {
	case Gzip:
		return strength{c, gzipLevel(level)}
	case LZ4:
		return strength{c, int(lz4Level(level))}
	case Zstd:
		return strength{c, int(zstdLevel(level))}
	default:
		return strength{c, 0}
	}
}

// NewWriter compresses what is written to it into w. level is Kafka's
// compression.<codec>.level, or DefaultLevel; one out of range is brought into
// it, and codecs without levels ignore it. Close ends the compressed stream and
// must be called, also after an error: it returns the encoder to its pool. It
// does not close w.
func NewWriter(w io.Writer, c Codec, level int) (io.WriteCloser, error) {
	if c == None {
		return &writer{enc: stored{w}}, nil
	}
	if !c.Known() {
		return nil, fmt.Errorf("%w %d", ErrUnknown, c)
	}
	s := strengthOf(c, level)
	pool, ok := encoders.Load(s)
	if !ok {
		pool, _ = encoders.LoadOrStore(s, &sync.Pool{New: func() any { return newEncoder(s) }})
	}
	enc := pool.(*sync.Pool).Get().(encoder)
	enc.Reset(w)
	return &writer{enc: enc, pool: pool.(*sync.Pool)}, nil
}

func newEncoder(s strength) encoder {
	switch s.codec {
	case Gzip:
		return newGzipEncoder(s.level)
	case Snappy:
		return newSnappyEncoder()
	case LZ4:
		return newLZ4Encoder(lz4.CompressionLevel(s.level))
	case Zstd:
		return newZstdEncoder(zstd.EncoderLevel(s.level))
	default:
		panic(fmt.Sprintf("BUG: no encoder for %v", s.codec))
	}
}

// writer lends an encoder until Close.
type writer struct {
	enc  encoder // Nil after Close.
	pool *sync.Pool
}

func (w *writer) Write(p []byte) (int, error) {
	if w.enc == nil {
		return 0, errors.New("write to a closed compressor")
	}
	return w.enc.Write(p)
}

func (w *writer) Close() error {
	enc := w.enc
	if enc == nil {
		return nil
	}
	w.enc = nil
	err := enc.Close()
	if w.pool != nil {
		enc.Reset(nil) // Also after an error: it forgets everything.
		w.pool.Put(enc)
	}
	return err
}

// stored is the encoder of None.
type stored struct{ io.Writer }

func (stored) Close() error    { return nil }
func (stored) Reset(io.Writer) {}

// Compress appends src, compressed, to dst. For level see NewWriter.
func Compress(dst []byte, c Codec, level int, src []byte) ([]byte, error) {
	if c == None {
		return append(dst, src...), nil
	}
	out := sink{dst}
	w, err := NewWriter(&out, c, level)
	if err != nil {
		return dst, err
	}
	_, err = w.Write(src)
	if err := errors.Join(err, w.Close()); err != nil {
		return dst, err
	}
	return out.b, nil
}

// sink appends what is written to it.
type sink struct{ b []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}
