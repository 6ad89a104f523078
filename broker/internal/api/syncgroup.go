package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// syncGroup serves SyncGroup (14), versions 0 to 5: the leader hands in the
// assignment of every member, and each gets its own.
func syncGroup(ctx context.Context, env *Env, call *Call, req *kmsg.SyncGroupRequest) (*kmsg.SyncGroupResponse, error) {
	// Since version 5 a member must say what protocol it means (KIP-559): Kafka looks for
	// that before it asks for any right, or for the group.
	if req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) {
		resp := req.ResponseKind().(*kmsg.SyncGroupResponse)
		resp.ErrorCode = kerr.InconsistentGroupProtocol.Code
		return resp, nil
	}
	return askGroup(ctx, env, call, req.Group, req, func(resp *kmsg.SyncGroupResponse, errorCode int16) {
		resp.ErrorCode, resp.MemberAssignment = errorCode, []byte{}
	})
}
