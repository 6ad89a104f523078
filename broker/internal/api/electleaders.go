package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
)

// electLeaders serves ElectLeaders (43), versions 0 to 2: partitions get back their
// preferred leader, or, from version 1 on, any leader at the cost of data. Null
// topics are all there are.
func electLeaders(ctx context.Context, env *Env, call *Call, req *kmsg.ElectLeadersRequest) (*kmsg.ElectLeadersResponse, error) {
	if !env.MayCluster(call.Conn, kmsg.ACLOperationAlter) {
		return refusedElection(req, kerr.ClusterAuthorizationFailed.Code), nil
	}
	out, err := env.Control(ctx, controller.Request{Body: req})
	if err != nil {
		return refusedElection(req, controlCode(err)), ctx.Err()
	}
	return out.(*kmsg.ElectLeadersResponse), nil
}

// refusedElection refuses all that was asked for. Version 0 has no code for all, so
// each partition has it.
func refusedElection(req *kmsg.ElectLeadersRequest, errorCode int16) *kmsg.ElectLeadersResponse {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	resp.ErrorCode = errorCode
	for _, t := range req.Topics {
		rt := kmsg.NewElectLeadersResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewElectLeadersResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p, errorCode
			rp.ErrorMessage = kmsg.StringPtr(kerr.TypedErrorForCode(errorCode).Description)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
