package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
)

// The xerial framing: a header once, then chunks of a big-endian length and a
// snappy block. snappy-java writes it, and with it every JVM client.
const (
	xerialMagic     = "\x82SNAPPY\x00"
	xerialHeaderLen = len(xerialMagic) + 8 // Version and lowest compatible version, both 1.
	xerialChunk     = 32 << 10             // Raw bytes in a chunk, snappy-java's default.
)

// snappyExpansion bounds how many times larger than its input a snappy block
// may become: the densest element makes 64 bytes of 3.
const snappyExpansion = 22

// snappyKeepBytes is the largest block buffer that an idle decoder keeps.
const snappyKeepBytes = 1 << 20

// snappyDecoder decodes a block at a time; the format allows no less.
type snappyDecoder struct {
	rest   []byte // Input not yet decoded.
	xerial bool
	buf    []byte // The block being read.
	out    []byte // What of buf is still to be read.
}

func (d *snappyDecoder) reset(src []byte) error {
	d.xerial = bytes.HasPrefix(src, []byte(xerialMagic))
	d.rest, d.out = src, nil
	if !d.xerial && len(src) == 0 {
		return fmt.Errorf("%w: no snappy block", ErrCorrupt)
	}
	return nil
}

func (d *snappyDecoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		if len(d.rest) == 0 {
			return 0, io.EOF
		}
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

// next decodes one block into out. Streams of several writers may follow each
// other, so a header is skipped wherever a chunk may begin.
func (d *snappyDecoder) next() error {
	block := d.rest
	if d.xerial {
		if bytes.HasPrefix(d.rest, []byte(xerialMagic)) {
			if len(d.rest) < xerialHeaderLen {
				return fmt.Errorf("%w: xerial header cut short", ErrCorrupt)
			}
			d.rest = d.rest[xerialHeaderLen:]
			return nil
		}
		if len(d.rest) < 4 {
			return fmt.Errorf("%w: %d bytes after the last xerial chunk", ErrCorrupt, len(d.rest))
		}
		size := binary.BigEndian.Uint32(d.rest)
		if int64(size) > int64(len(d.rest)-4) {
			return fmt.Errorf("%w: xerial chunk of %d bytes, %d left", ErrCorrupt, size, len(d.rest)-4)
		}
		block, d.rest = d.rest[4:4+size], d.rest[4+size:]
	} else {
		d.rest = nil
	}
	size, err := s2.DecodedLen(block)
	if err != nil {
		return err
	}
	// The length is the sender's word, and is allocated at once: believe only
	// what the input could make.
	if size > snappyExpansion*len(block) {
		return fmt.Errorf("%w: %d bytes cannot decode to %d", ErrCorrupt, len(block), size)
	}
	if isS2(block) {
		return fmt.Errorf("%w: the block is S2, not snappy", ErrCorrupt)
	}
	d.buf, err = s2.Decode(d.buf[:cap(d.buf)], block)
	d.out = d.buf
	return err
}

// isS2 reports whether a block has an element that snappy does not know and S2 reads
// as a repeat: a copy with an offset of at most 11 bits that is zero. The library
// decodes both, Kafka's other clients only snappy. Broken blocks are left to it.
func isS2(block []byte) bool {
	_, i := binary.Uvarint(block)
	for i < len(block) {
		tag := block[i]
		switch tag & 3 {
		case 0: // A literal, its length in the tag or in one to four bytes after it.
			n := int(tag >> 2)
			if more := n - 59; more > 0 {
				if len(block)-i <= more {
					return false
				}
				var length [8]byte
				copy(length[:], block[i+1:i+1+more])
				n = int(binary.LittleEndian.Uint32(length[:]))
				i += more
			}
			i += n + 2
		case 1:
			if i+1 < len(block) && tag>>5 == 0 && block[i+1] == 0 {
				return true
			}
			i += 2
		case 2:
			i += 3
		case 3:
			i += 5
		}
	}
	return false
}

func (d *snappyDecoder) release() bool {
	d.rest, d.out = nil, nil
	if cap(d.buf) > snappyKeepBytes {
		d.buf = nil
	}
	return true
}

// snappyEncoder writes the xerial framing.
type snappyEncoder struct {
	w     io.Writer
	raw   []byte // Fewer than xerialChunk bytes that wait for a chunk.
	head  []byte // Scratch for what goes before a chunk.
	chunk []byte
	begun bool // The header is written.
}

func newSnappyEncoder() *snappyEncoder {
	return &snappyEncoder{raw: make([]byte, 0, xerialChunk)}
}

func (e *snappyEncoder) Reset(w io.Writer) {
	e.w, e.raw, e.begun = w, e.raw[:0], false
}

func (e *snappyEncoder) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		m := min(len(p), xerialChunk-len(e.raw))
		e.raw, p = append(e.raw, p[:m]...), p[m:]
		if len(e.raw) == xerialChunk {
			if err := e.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

func (e *snappyEncoder) Close() error {
	if len(e.raw) == 0 && e.begun {
		return nil
	}
	return e.flush()
}

// flush writes what waits as one chunk, and the header before the first.
func (e *snappyEncoder) flush() error {
	head := e.head[:0]
	if !e.begun {
		e.begun = true
		head = append(head, xerialMagic...)
		head = binary.BigEndian.AppendUint32(head, 1)
		head = binary.BigEndian.AppendUint32(head, 1)
	}
	if len(e.raw) > 0 {
		e.chunk = s2.EncodeSnappy(e.chunk[:cap(e.chunk)], e.raw)
		head = binary.BigEndian.AppendUint32(head, uint32(len(e.chunk)))
	}
	e.head = head
	if _, err := e.w.Write(head); err != nil || len(e.raw) == 0 {
		return err
	}
	e.raw = e.raw[:0]
	_, err := e.w.Write(e.chunk)
	return err
}
