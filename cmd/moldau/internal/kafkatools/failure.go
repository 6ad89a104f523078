package kafkatools

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// failure is what in Kafka's tool is a Java exception: scripts grep for the names
// of some.
type failure struct {
	class   string // With its package.
	message string
}

func (f *failure) Error() string { return f.message }

// String is the exception as Java prints it.
func (f *failure) String() string {
	if f.message == "" {
		return f.class
	}
	return f.class + ": " + f.message
}

// illegalArgument is a value that a tool refuses by itself.
func illegalArgument(message string) error {
	return &failure{"java.lang.IllegalArgumentException", message}
}

// errorsPackage holds the exceptions that stand for a broker's error codes.
const errorsPackage = "org.apache.kafka.common.errors."

// irregular are the exceptions whose names do not follow from their error code's.
var irregular = map[string]string{
	"TOPIC_ALREADY_EXISTS":       "TopicExistsException",
	"INVALID_TOPIC_EXCEPTION":    "InvalidTopicException",
	"INVALID_CONFIG":             "InvalidConfigurationException",
	"MESSAGE_TOO_LARGE":          "RecordTooLargeException",
	"RECORD_LIST_TOO_LARGE":      "RecordBatchTooLargeException",
	"REQUEST_TIMED_OUT":          "TimeoutException",
	"CORRUPT_MESSAGE":            "CorruptRecordException",
	"NOT_LEADER_FOR_PARTITION":   "NotLeaderOrFollowerException",
	"NON_EMPTY_GROUP":            "GroupNotEmptyException",
	"UNSUPPORTED_SASL_MECHANISM": "UnsupportedSaslMechanismException",
	"NETWORK_EXCEPTION":          "DisconnectException",
}

// brokerFailure is the exception for an error code, with the broker's own words if
// it had any; nil for none.
func brokerFailure(code int16, message *string) error {
	known := kerr.TypedErrorForCode(code)
	if known == nil {
		return nil
	}
	return knownFailure(known, message)
}

func knownFailure(known *kerr.Error, message *string) *failure {
	f := &failure{message: known.Description}
	if message != nil && *message != "" {
		f.message = *message
	}
	if name, ok := irregular[known.Message]; ok {
		f.class = errorsPackage + name
		return f
	}
	var name strings.Builder
	for word := range strings.SplitSeq(known.Message, "_") {
		name.WriteString(word[:1] + strings.ToLower(word[1:]))
	}
	f.class = errorsPackage + name.String() + "Exception"
	return f
}

// thrown is any error as an exception.
func thrown(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if known, ok := errors.AsType[*kerr.Error](err); ok {
		return knownFailure(known, nil)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &failure{errorsPackage + "TimeoutException", "The request timed out."}
	}
	if path, ok := errors.AsType[*os.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		return &failure{"java.nio.file.NoSuchFileException", path.Path}
	}
	return &failure{"java.lang.RuntimeException", err.Error()}
}

// stack is the exception as a tool's log has it, without the trace: what stands
// behind it in the log is on a line of its own.
func (f *failure) stack() string { return f.String() + "\n" }
