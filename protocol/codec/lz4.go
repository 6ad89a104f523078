package codec

import (
	"encoding/binary"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

const (
	lz4Magic        = 0x184D2204
	lz4Uncompressed = 1 << 31 // In a block's length: stored as is.

	// Bits of the frame's FLG byte.
	lz4Reserved         = 0b0000_0011 // Dictionary ids among them: Kafka refuses those.
	lz4ContentChecksum  = 0b0000_0100
	lz4ContentSize      = 0b0000_1000
	lz4BlockChecksum    = 0b0001_0000
	lz4BlockIndependent = 0b0010_0000
	lz4VersionMask      = 0b1100_0000
	lz4Version          = 0b0100_0000
)

// lz4Decoder reads one LZ4 frame of independent blocks.
type lz4Decoder struct {
	in plain
	zr *lz4.Reader
}

func newLZ4Decoder() *lz4Decoder {
	d := &lz4Decoder{}
	d.zr = lz4.NewReader(&d.in)
	// The default is already one block at a time; say so, as more would mean
	// goroutines.
	if err := d.zr.Apply(lz4.ConcurrencyOption(1)); err != nil {
		panic("BUG: " + err.Error())
	}
	return d
}

func (d *lz4Decoder) reset(src []byte) error {
	if err := checkLZ4Frame(src); err != nil {
		return err
	}
	d.in.rest = src
	d.zr.Reset(&d.in)
	return nil
}

func (d *lz4Decoder) Read(p []byte) (int, error) { return d.zr.Read(p) }

func (d *lz4Decoder) release() bool {
	d.in.rest = nil
	d.zr.Reset(&d.in)
	return true
}

// checkLZ4Frame follows the frame from header to end mark without decompressing,
// and refuses what Kafka's reader refuses: the library also takes legacy,
// skippable and several frames, and dependent blocks. src must end with the frame.
func checkLZ4Frame(src []byte) error {
	if len(src) < 7 || binary.LittleEndian.Uint32(src) != lz4Magic {
		return fmt.Errorf("%w: no LZ4 frame header", ErrCorrupt)
	}
	flags, blocks := src[4], src[5]
	if flags&lz4VersionMask != lz4Version || flags&lz4BlockIndependent == 0 || flags&lz4Reserved != 0 {
		return fmt.Errorf("%w: LZ4 frame flags %08b not supported", ErrCorrupt, flags)
	}
	if blocks&0x8f != 0 || blocks>>4 < 4 {
		return fmt.Errorf("%w: LZ4 block descriptor %08b not supported", ErrCorrupt, blocks)
	}
	largest := uint32(1) << (8 + 2*(blocks>>4)) // 4 is 64 KiB, 7 is 4 MiB.
	at, after := 7, 0
	if flags&lz4ContentSize != 0 {
		at += 8
	}
	if flags&lz4BlockChecksum != 0 {
		after = 4
	}
	for {
		if len(src) < at+4 {
			return fmt.Errorf("%w: LZ4 frame without its end mark", ErrCorrupt)
		}
		size := binary.LittleEndian.Uint32(src[at:])
		at += 4
		if size == 0 {
			break
		}
		if size &^= lz4Uncompressed; size > largest {
			return fmt.Errorf("%w: LZ4 block of %d bytes, the frame allows %d", ErrCorrupt, size, largest)
		}
		at += int(size) + after
	}
	if flags&lz4ContentChecksum != 0 {
		at += 4
	}
	if at != len(src) {
		return fmt.Errorf("%w: LZ4 frame is %d bytes long, %d were sent", ErrCorrupt, at, len(src))
	}
	return nil
}

// newLZ4Encoder makes what Kafka's client makes: blocks of 64 KiB, independent,
// no checksums but the header's.
func newLZ4Encoder(level lz4.CompressionLevel) encoder {
	zw := lz4.NewWriter(nil)
	err := zw.Apply(
		lz4.BlockSizeOption(lz4.Block64Kb),
		lz4.ChecksumOption(false),
		lz4.BlockChecksumOption(false),
		lz4.ConcurrencyOption(1),
		lz4.CompressionLevelOption(level),
	)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return zw
}

// lz4Level maps compression.lz4.level to the library's. Kafka's 9 is its default
// and means the fast compressor; any other is a level of the slow one.
func lz4Level(level int) lz4.CompressionLevel {
	switch {
	case level == DefaultLevel || level == 9:
		return lz4.Fast
	case level > 9:
		return lz4.Level9
	default:
		return 1 << (8 + max(level, 1)) // Level1 to Level8.
	}
}
