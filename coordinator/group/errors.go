package group

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// appendCode is what a member is told when the group's record was refused. A
// record that is too large is the only one that trying again cannot help; Kafka
// says UNKNOWN_SERVER_ERROR then.
func appendCode(err error) int16 {
	if _, ok := errors.AsType[*batch.TooLargeError](err); ok {
		return kerr.UnknownServerError.Code
	}
	return kerr.CoordinatorNotAvailable.Code
}

// replyRefused answers a request whose records were refused.
func (s *Shard) replyRefused(t coordinator.Ticket, in any, err error) {
	rq, ok := in.(Request)
	if !ok {
		s.eff.Replies = append(s.eff.Replies, coordinator.Reply{To: t, Err: err})
		return
	}
	code := appendCode(err)
	switch req := rq.Body.(type) {
	case *kmsg.OffsetCommitRequest:
		if code == kerr.UnknownServerError.Code {
			code = kerr.InvalidCommitOffsetSize.Code
		}
		s.reply(t, commitError(req, code))
	case *kmsg.JoinGroupRequest:
		s.reply(t, joinError(req, "", code))
	case *kmsg.ConsumerGroupHeartbeatRequest:
		resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
		resp.ErrorCode = code
		s.reply(t, resp)
	case *kmsg.LeaveGroupRequest:
		resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
		resp.ErrorCode = code
		s.reply(t, resp)
	case *kmsg.OffsetDeleteRequest:
		resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
		resp.ErrorCode = code
		s.reply(t, resp)
	case *kmsg.DeleteGroupsRequest:
		resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
		for _, id := range req.Groups {
			resp.Groups = append(resp.Groups, deleteResult(id, code))
		}
		s.reply(t, resp)
	default:
		s.eff.Replies = append(s.eff.Replies, coordinator.Reply{To: t, Err: err})
	}
}
