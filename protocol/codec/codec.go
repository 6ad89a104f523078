// Package codec compresses and decompresses the records of a batch.
//
// A broker decompresses strangers' bytes, so everything here streams: Open
// never holds more than a window of the output (at most 8 MiB for zstd and
// lz4, a block for snappy, 32 KiB for gzip), stops at a limit on the total, and
// answers damage with ErrCorrupt. Readers and writers are pooled, because
// building one costs more than decompressing a small batch.
//
// The formats are those of Kafka's Java client: a gzip member, snappy in
// "xerial" framing (a bare snappy block is read too), an LZ4 frame of
// independent blocks, a zstd frame. Begin with Open and Compress.
//
// Not here: where compressed bytes begin in a batch and what they must decode
// to (protocol/batch).
package codec

import (
	"errors"
	"strconv"
)

// Codec is a compression as bits 0 to 2 of a batch's attributes name it.
type Codec int8

// The codecs that Kafka defines. Values 5 to 7 fit the bits but mean nothing.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

// DefaultLevel asks for Kafka's default level of a codec: gzip -1 (zlib's own
// choice, 6), lz4 9 (the fast compressor), zstd 3.
const DefaultLevel = 0

// NoLimit as the limit of Open lets any output through.
const NoLimit = 0

var (
	// ErrCorrupt says that bytes are not what their codec should make.
	ErrCorrupt = errors.New("compressed data is corrupt")
	// ErrTooLarge says that bytes decompress to more than the reader was allowed,
	// or need a larger window than it grants.
	ErrTooLarge = errors.New("decompressed data exceeds its limit")
	// ErrUnknown says that a codec number names no codec.
	ErrUnknown = errors.New("unknown compression codec")
)

// names are Kafka's, as in compression.type, by codec number.
var names = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// Known reports whether c is one of the five codecs.
func (c Codec) Known() bool { return c >= None && c <= Zstd }

// String is Kafka's name of the codec, as in a producer's compression.type.
func (c Codec) String() string {
	if !c.Known() {
		return "codec(" + strconv.Itoa(int(c)) + ")"
	}
	return names[c]
}

// Parse finds a codec by Kafka's name. A topic's compression.type says
// "uncompressed" where a producer says "none": both are None. "producer" names
// no codec.
func Parse(name string) (Codec, bool) {
	if name == "uncompressed" {
		return None, true
	}
	for c, n := range names {
		if n == name {
			return Codec(c), true
		}
	}
	return None, false
}
