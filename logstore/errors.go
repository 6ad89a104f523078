package logstore

import (
	"fmt"
	"os"

	"github.com/moldau-broker/moldau/logstore/internal/segment"
)

// OffsetError says that an offset lies outside the log.
type OffsetError struct {
	Want       int64
	Start, End int64 // The log holds [Start, End).
}

func (e *OffsetError) Error() string {
	return fmt.Sprintf("offset %d outside log [%d, %d)", e.Want, e.Start, e.End)
}

// AppendOffsetError says that a replica was given a batch that lies below its end,
// which would give one offset two records.
type AppendOffsetError struct {
	Base, End int64 // The batch's first offset, and the log's end.
}

func (e *AppendOffsetError) Error() string {
	return fmt.Sprintf("batch at offset %d cannot follow a log that ends at %d", e.Base, e.End)
}

// BatchTooLargeError says that a batch does not fit a segment. Kafka answers
// RECORD_LIST_TOO_LARGE.
type BatchTooLargeError struct {
	SizeBytes, SegmentBytes int64
}

func (e *BatchTooLargeError) Error() string {
	return fmt.Sprintf("batch of %d bytes exceeds the topic's segment.bytes of %d", e.SizeBytes, e.SegmentBytes)
}

// StorageError says that the disk refused an operation. The log is as it was before.
// Kafka answers KAFKA_STORAGE_ERROR.
type StorageError struct {
	Op  string // What was tried: "append", "roll", "read", ...
	Dir string // The partition's directory.
	Err error
}

func (e *StorageError) Error() string {
	return fmt.Sprintf("%s in %s: %v", e.Op, e.Dir, e.Err)
}

func (e *StorageError) Unwrap() error { return e.Err }

// FailedError says that the log takes no more writes until the process restarts: a
// sync failed, or a broken write could not be undone. What the first failure was is
// in Err. Kafka answers KAFKA_STORAGE_ERROR.
type FailedError struct {
	Dir string
	Err error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("log in %s refuses writes until restart: %v", e.Dir, e.Err)
}

func (e *FailedError) Unwrap() error { return e.Err }

// CorruptError says that bytes of a segment are not a valid batch, and where. A read
// never repairs; only the scan after an unclean stop cuts.
type CorruptError = segment.CorruptError

// OldMagicError says that a segment holds batches of message format 0 or 1, which
// Kafka stopped writing in 0.11 and this store does not read.
type OldMagicError = segment.OldMagicError

// LockedError says that another process uses the data directory.
type LockedError struct {
	Dir string
	Err error
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("data directory %s is in use by another process (%v); stop that one or choose another log.dirs", e.Dir, e.Err)
}

func (e *LockedError) Unwrap() error { return e.Err }

// NotWritableError says that the data directory cannot be written to.
type NotWritableError struct {
	Dir string
	Err error
}

func (e *NotWritableError) Error() string {
	return fmt.Sprintf("data directory %s is not writable%s: %v; check its owner and mode, and that the volume is mounted read-write",
		e.Dir, byWhom(), e.Err)
}

func (e *NotWritableError) Unwrap() error { return e.Err }

// byWhom names whom this process runs as, which is seldom known of a container; it is
// empty on Windows, which has no such numbers.
func byWhom() string {
	uid := os.Getuid()
	if uid < 0 {
		return ""
	}
	return fmt.Sprintf(" by uid %d, gid %d", uid, os.Getgid())
}

// NewerFormatError says that a file was written by a newer release.
type NewerFormatError struct {
	Path       string
	Have, Want int // Its version, and the newest that this release reads.
}

func (e *NewerFormatError) Error() string {
	return fmt.Sprintf("%s has version %d and this release reads up to %d; start the release that wrote it", e.Path, e.Have, e.Want)
}

// ExistsError says that a partition is already in the store.
type ExistsError struct{ Name string }

func (e *ExistsError) Error() string { return fmt.Sprintf("partition %s exists already", e.Name) }

// DirNameError says that a directory below the data directory is not a partition's.
type DirNameError struct{ Path, Reason string }

func (e *DirNameError) Error() string {
	return fmt.Sprintf("directory %s is not named <topic>-<partition> (%s); a data directory may hold nothing else, move it away", e.Path, e.Reason)
}

// ClosedError says that the log was closed or deleted.
type ClosedError struct{ Dir string }

func (e *ClosedError) Error() string { return fmt.Sprintf("log in %s is closed", e.Dir) }
