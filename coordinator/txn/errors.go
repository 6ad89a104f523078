package txn

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// The first versions whose clients know PRODUCER_FENCED; older ones are told
// INVALID_PRODUCER_EPOCH, which makes them do the same.
const (
	initFenced = 4
	endFenced  = 2
)

// fenced is how a client of this version is told that another took its place.
func fenced(code, version, since int16) int16 {
	if code == kerr.ProducerFenced.Code && version < since {
		return kerr.InvalidProducerEpoch.Code
	}
	return code
}

// appendCode is what a producer is told when the record was refused. A record that
// is too large is the only one that trying again cannot help; Kafka says
// UNKNOWN_SERVER_ERROR then.
func appendCode(err error) int16 {
	if _, ok := errors.AsType[*batch.TooLargeError](err); ok {
		return kerr.UnknownServerError.Code
	}
	return kerr.CoordinatorNotAvailable.Code
}

// refuse answers a question with nothing but an error.
func (s *Shard) refuse(q question, code int16) {
	switch in := q.in.(type) {
	case Add:
		s.reply(q.ticket, addResult(in, func(string, int32) int16 { return code }))
	case Request:
		switch req := in.Body.(type) {
		case *kmsg.InitProducerIDRequest:
			s.replyInit(q, req, noID, noEpoch, code)
		case *kmsg.EndTxnRequest:
			s.replyEnd(q, req, noID, noEpoch, code)
		}
	}
}
