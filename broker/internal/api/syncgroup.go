package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// syncGroup serves SyncGroup (14), versions 0 to 5: the leader hands in the
// assignment of every member, and each gets its own.
func syncGroup(ctx context.Context, env *Env, call *Call, req *kmsg.SyncGroupRequest) (*kmsg.SyncGroupResponse, error) {
	return askGroup(ctx, env, call, req.Group, req, func(resp *kmsg.SyncGroupResponse, errorCode int16) {
		resp.ErrorCode, resp.MemberAssignment = errorCode, []byte{}
	})
}
