package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupFeature is the feature that finalizes the consumer protocol.
const groupFeature = "group.version"

// consumerGroupHeartbeat serves ConsumerGroupHeartbeat (68), versions 0 and 1
// (KIP-848): a member joins, stays or leaves, and hears what it is to read. Version
// 1 has patterns, and members that make their ids themselves.
func consumerGroupHeartbeat(ctx context.Context, env *Env, call *Call, req *kmsg.ConsumerGroupHeartbeatRequest) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	switch {
	case !env.servesConsumerGroups():
		resp.ErrorCode = kerr.UnsupportedVersion.Code
		return resp, nil
	case !env.MayGroup(call.Conn, kmsg.ACLOperationRead, req.Group):
		resp.ErrorCode = kerr.GroupAuthorizationFailed.Code
		return resp, nil
	}
	for _, topic := range req.SubscribedTopicNames {
		if !env.MayTopic(call.Conn, kmsg.ACLOperationDescribe, topic) {
			resp.ErrorCode = kerr.TopicAuthorizationFailed.Code
			return resp, nil
		}
	}
	return askGroup(ctx, env, call, req.Group, req, func(resp *kmsg.ConsumerGroupHeartbeatResponse, errorCode int16) {
		resp.ErrorCode = errorCode
	})
}

// servesConsumerGroups says whether the cluster has the consumer protocol.
func (e *Env) servesConsumerGroups() bool {
	return e.features().Finalized[groupFeature] >= 1
}
