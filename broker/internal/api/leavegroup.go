package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// leaveGroup serves LeaveGroup (13), versions 0 to 5: members leave, one in the
// versions below 3 and several from there on.
func leaveGroup(ctx context.Context, env *Env, call *Call, req *kmsg.LeaveGroupRequest) (*kmsg.LeaveGroupResponse, error) {
	return askGroup(ctx, env, call, req.Group, req, func(resp *kmsg.LeaveGroupResponse, errorCode int16) {
		resp.ErrorCode = errorCode
	})
}
