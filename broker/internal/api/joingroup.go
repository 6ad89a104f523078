package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// joinGroup serves JoinGroup (11), versions 0 to 9: a member asks in, and is
// answered when the rebalance is over. Version 1 has a rebalance timeout of its
// own, 4 sends a new member away once with its id, 5 has static members.
func joinGroup(ctx context.Context, env *Env, call *Call, req *kmsg.JoinGroupRequest) (*kmsg.JoinGroupResponse, error) {
	return askGroup(ctx, env, call, req.Group, req, func(resp *kmsg.JoinGroupResponse, errorCode int16) {
		resp.ErrorCode, resp.Generation, resp.MemberID = errorCode, -1, req.MemberID
		if errorCode == kerr.GroupAuthorizationFailed.Code {
			resp.MemberID = "" // Only the group, once it was asked, repeats the id.
		}
		if req.Version < 7 {
			resp.Protocol = kmsg.StringPtr("")
		}
	})
}
