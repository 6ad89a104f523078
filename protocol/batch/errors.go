package batch

import (
	"fmt"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// CorruptError says that bytes are not a record batch: cut wrong, of another
// format, or changed since they were sealed.
type CorruptError struct {
	// Offset is the base offset in the header, as far as it can be believed.
	Offset int64
	Reason string
	// Legacy is set when all that is wrong is a magic of 0 or 1. Kafka answers a
	// producer INVALID_RECORD for that, and CORRUPT_MESSAGE for the rest.
	Legacy bool
	// Err is the cause where there is one, such as codec.ErrCorrupt.
	Err error
}

func (e *CorruptError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("record batch at offset %d is corrupt: %s: %v", e.Offset, e.Reason, e.Err)
	}
	return fmt.Sprintf("record batch at offset %d is corrupt: %s", e.Offset, e.Reason)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// corrupt makes a CorruptError about the batch that begins in.
func corrupt(in []byte, format string, args ...any) *CorruptError {
	return &CorruptError{Offset: Batch(in).BaseOffset(), Reason: fmt.Sprintf(format, args...)}
}

// RecordsError says that a batch came through whole, but what it says is not
// allowed: Kafka's INVALID_RECORD, or INVALID_TIMESTAMP when Timestamp is set.
type RecordsError struct {
	// Timestamp is set when any record's timestamp is at fault, whatever else is:
	// Kafka then answers INVALID_TIMESTAMP for the whole batch.
	Timestamp bool
	Message   string
	// Records names the records at fault by their place in the batch. It is empty
	// when the batch as a whole is at fault, and ends at MaxRecordErrors.
	Records []RecordError
}

// RecordError is one record's fault.
type RecordError struct {
	Index   int32 // From 0.
	Message string
}

// MaxRecordErrors bounds RecordsError.Records. Kafka has no bound, and a
// compressed batch of a megabyte can hold a hundred million faulty records.
const MaxRecordErrors = 10_000

func (e *RecordsError) Error() string {
	if len(e.Records) == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s; the first, record %d: %s", e.Message, e.Records[0].Index, e.Records[0].Message)
}

// invalid makes a RecordsError about the batch as a whole.
func invalid(format string, args ...any) *RecordsError {
	return &RecordsError{Message: fmt.Sprintf(format, args...)}
}

// TooLargeError says that a batch is larger than its topic takes: Kafka's
// MESSAGE_TOO_LARGE, on which producers split the batch and try again.
type TooLargeError struct {
	// Size and Max are bytes. When Decompressed is set, Size is only known to be
	// larger than Max, and is 0.
	Size, Max int64
	// Decompressed is set when not the batch but what it decompresses to is too
	// large: see Rules.MaxDecompressedBytes.
	Decompressed bool
}

func (e *TooLargeError) Error() string {
	if e.Decompressed {
		return fmt.Sprintf("record batch decompresses to more than %d bytes", e.Max)
	}
	return fmt.Sprintf("record batch of %d bytes is larger than max.message.bytes, %d", e.Size, e.Max)
}

// CodecError says that a batch's compression is unknown, or may not be used in
// this version of Produce: Kafka's UNSUPPORTED_COMPRESSION_TYPE.
type CodecError struct{ Codec codec.Codec }

func (e *CodecError) Error() string {
	if e.Codec == codec.Zstd {
		return "zstd needs Produce version 7 or later"
	}
	return fmt.Sprintf("compression type %d is unknown", int8(e.Codec))
}
