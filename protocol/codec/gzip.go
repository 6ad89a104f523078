package codec

import (
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipDecoder reads gzip members one after another, as Java's GZIPInputStream
// does.
type gzipDecoder struct {
	in plain
	zr gzip.Reader
}

func (d *gzipDecoder) reset(src []byte) error {
	d.in.rest = src
	err := d.zr.Reset(&d.in)
	if errors.Is(err, io.EOF) { // No bytes are not an empty member.
		return io.ErrUnexpectedEOF
	}
	return err
}

func (d *gzipDecoder) Read(p []byte) (int, error) { return d.zr.Read(p) }
func (d *gzipDecoder) release() bool              { return d.in.release() }

func newGzipEncoder(level int) encoder {
	// gzipLevel has put the level in range, which is all that can fail.
	zw, err := gzip.NewWriterLevel(nil, level)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return zw
}

// gzipLevel maps compression.gzip.level (-1, or 1 to 9) to the library's.
func gzipLevel(level int) int {
	if level == DefaultLevel {
		return gzip.DefaultCompression
	}
	return min(max(level, gzip.DefaultCompression), gzip.BestCompression)
}
