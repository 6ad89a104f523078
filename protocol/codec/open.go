package codec

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// decoder is one codec's pooled state. A stream has it to itself from reset to
// release.
type decoder interface {
	io.Reader
	// reset begins a new input. It may read, but keeps no more than a header.
	reset(src []byte) error
	// release lets go of the input and reports whether the decoder is small
	// enough to be kept for the next stream.
	release() bool
}

// decoders holds idle decoders by codec. sync.Pool gives them back to the
// collector when a broker goes idle.
var decoders = [...]sync.Pool{
	Gzip:   {New: func() any { return new(gzipDecoder) }},
	Snappy: {New: func() any { return new(snappyDecoder) }},
	LZ4:    {New: func() any { return newLZ4Decoder() }},
	Zstd:   {New: func() any { return newZstdDecoder() }},
}

// Open returns a reader of what src decompresses to. It yields at most limit
// bytes and then ErrTooLarge (NoLimit lifts that); a damaged src gives an error
// that wraps ErrCorrupt, from Open or from Read. src must not change until the
// reader is closed, and Close must be called: it returns the decoder to its pool.
//
// Input after the end of the compressed stream is damage. So is an LZ4 frame
// with dependent blocks, which Kafka's own clients could not read back.
func Open(c Codec, src []byte, limit int64) (io.ReadCloser, error) {
	s := &stream{codec: c, capped: limit > NoLimit, left: limit}
	switch {
	case c == None:
		s.dec = &plain{src}
		return s, nil
	case !c.Known():
		return nil, fmt.Errorf("%w %d", ErrUnknown, c)
	}
	s.dec = decoders[c].Get().(decoder)
	if err := s.guard(func() error { return s.dec.reset(src) }); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// stream counts a decoder's output and dresses its errors.
type stream struct {
	dec    decoder // Nil after Close.
	codec  Codec
	capped bool
	left   int64 // Bytes still allowed when capped; the next one is too many.
	err    error // The first error, repeated ever after.
	broken bool  // The decoder panicked and must not be used again.
}

func (s *stream) Read(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.dec == nil {
		return 0, errors.New("read of a closed " + s.codec.String() + " stream")
	}
	if s.capped && int64(len(p)) > s.left {
		// One byte more than allowed tells a full stream from one that goes on.
		p = p[:s.left+1]
	}
	err = s.guard(func() error {
		var err error
		n, err = s.dec.Read(p)
		return err
	})
	if s.capped {
		if s.left -= int64(n); s.left < 0 {
			n, err = n-1, fmt.Errorf("%s: %w", s.codec, ErrTooLarge)
		}
	}
	s.err = err
	return n, err
}

// guard runs one call into a compression library on untrusted bytes. A panic
// there is that input's damage and not the broker's end.
func (s *stream) guard(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.broken = true
			err = fmt.Errorf("%s: %w: decoder panicked: %v", s.codec, ErrCorrupt, r)
		}
	}()
	return s.dress(call())
}

// dress gives a library's error one of this package's meanings.
func (s *stream) dress(err error) error {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrTooLarge):
		return fmt.Errorf("%s: %w", s.codec, err)
	default:
		return fmt.Errorf("%s: %w: %w", s.codec, ErrCorrupt, err)
	}
}

// Close gives the decoder back. Reading after it is an error.
func (s *stream) Close() error {
	dec := s.dec
	s.dec = nil
	if dec == nil || s.codec == None {
		return nil
	}
	if !s.broken && dec.release() {
		decoders[s.codec].Put(dec)
	}
	return nil
}

// plain is the decoder of None. It also feeds the others: unlike bytes.Reader it
// does not show its buffer, which makes zstd decode everything at once.
type plain struct{ rest []byte }

func (p *plain) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// ReadByte lets gzip read without a buffer of its own.
func (p *plain) ReadByte() (byte, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b, nil
}

func (p *plain) reset(src []byte) error { p.rest = src; return nil }
func (p *plain) release() bool          { p.rest = nil; return true }
