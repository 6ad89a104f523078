package segment

import (
	"fmt"
)

// CorruptError says that the bytes at a position of a segment are not a valid batch.
type CorruptError struct {
	Path     string
	Position int64
	Reason   string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: corrupt batch at position %d: %s", e.Path, e.Position, e.Reason)
}

// OldMagicError says that a segment holds a batch of an old message format.
type OldMagicError struct {
	Path     string
	Position int64
	Magic    int8
}

func (e *OldMagicError) Error() string {
	return fmt.Sprintf("%s: batch at position %d has message format %d; only format 2 is read: "+
		"copy the topic with a Kafka of release 3, which rewrites it", e.Path, e.Position, e.Magic)
}

// TornError says that a write failed half way and that what it left could not be
// cut off: the file must not be written to again.
type TornError struct {
	Path     string
	Position int64 // Where the valid bytes end.
	Write    error
	Cut      error
}

func (e *TornError) Error() string {
	return fmt.Sprintf("%s: write at %d failed (%v) and the file could not be cut back (%v)", e.Path, e.Position, e.Write, e.Cut)
}

func (e *TornError) Unwrap() []error { return []error{e.Write, e.Cut} }

// lengthOverhead is what the length field does not count: offset and length.
const lengthOverhead = 12
