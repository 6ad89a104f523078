package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// code is the one place where an error of another package becomes a Kafka
// error code. Packages below return typed errors that say what happened; which
// number a client reads is decided here.
//
// An error without a line here is UNKNOWN_SERVER_ERROR, which is a defect: see
// mayBeUnknown.
func code(err error) int16 {
	if err == nil {
		return 0
	}
	if known, ok := errors.AsType[*kerr.Error](err); ok {
		return known.Code
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return kerr.RequestTimedOut.Code
	case errors.Is(err, context.Canceled):
		// The client is gone, or the broker stops: whoever still reads
		// this should try again elsewhere.
		return kerr.RequestTimedOut.Code
	}
	return kerr.UnknownServerError.Code
}

// mayBeUnknown lists where Apache Kafka itself answers UNKNOWN_SERVER_ERROR. A
// test in which any other response carries it fails (see Unknowns).
var mayBeUnknown = map[kmsg.Key]string{
	kmsg.JoinGroup:    "the group's record is larger than the topic allows",
	kmsg.SyncGroup:    "the group's record is larger than the topic allows",
	kmsg.OffsetCommit: "the commit's record is larger than the topic allows",
}
