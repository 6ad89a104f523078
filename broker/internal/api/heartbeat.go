package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// heartbeat serves Heartbeat (12), versions 0 to 4: a member lives, and learns
// whether the group rebalances. While the group is being loaded its members are
// told that all is well: they get a full session when it is there.
func heartbeat(ctx context.Context, env *Env, call *Call, req *kmsg.HeartbeatRequest) (*kmsg.HeartbeatResponse, error) {
	return askGroup(ctx, env, call, req.Group, req, func(resp *kmsg.HeartbeatResponse, errorCode int16) {
		if errorCode != kerr.CoordinatorLoadInProgress.Code {
			resp.ErrorCode = errorCode
		}
	})
}
