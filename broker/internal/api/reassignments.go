package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
)

// alterReassignments serves AlterPartitionReassignments (45), versions 0 and 1:
// partitions move to other brokers, or a move under way is taken back. Version 1
// can hold the number of replicas.
func alterReassignments(ctx context.Context, env *Env, call *Call, req *kmsg.AlterPartitionAssignmentsRequest) (*kmsg.AlterPartitionAssignmentsResponse, error) {
	if !env.MayCluster(call.Conn, kmsg.ACLOperationAlter) {
		return refusedReassignments(req, kerr.ClusterAuthorizationFailed.Code), nil
	}
	out, err := env.Control(ctx, controller.Request{Body: req})
	if err != nil {
		return refusedReassignments(req, controlCode(err)), ctx.Err()
	}
	return out.(*kmsg.AlterPartitionAssignmentsResponse), nil
}

// refusedReassignments refuses all that was asked for, as a whole and one by one.
func refusedReassignments(req *kmsg.AlterPartitionAssignmentsRequest, errorCode int16) *kmsg.AlterPartitionAssignmentsResponse {
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	message := kmsg.StringPtr(kerr.TypedErrorForCode(errorCode).Description)
	resp.ErrorCode, resp.ErrorMessage = errorCode, message
	for _, t := range req.Topics {
		rt := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.ErrorMessage = p.Partition, errorCode, message
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// listReassignments serves ListPartitionReassignments (46), version 0: the moves
// under way. Null topics are all there are.
func listReassignments(ctx context.Context, env *Env, call *Call, req *kmsg.ListPartitionReassignmentsRequest) (*kmsg.ListPartitionReassignmentsResponse, error) {
	if !env.MayCluster(call.Conn, kmsg.ACLOperationDescribe) {
		return refusedListing(req, kerr.ClusterAuthorizationFailed.Code), nil
	}
	out, err := env.Control(ctx, controller.Request{Body: req})
	if err != nil {
		return refusedListing(req, controlCode(err)), ctx.Err()
	}
	return out.(*kmsg.ListPartitionReassignmentsResponse), nil
}

// refusedListing names the partitions that were asked for all the same, as Kafka does:
// as if each moved, from nowhere to nowhere.
func refusedListing(req *kmsg.ListPartitionReassignmentsRequest, errorCode int16) *kmsg.ListPartitionReassignmentsResponse {
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	resp.ErrorCode = errorCode
	resp.ErrorMessage = kmsg.StringPtr(kerr.TypedErrorForCode(errorCode).Description)
	for _, t := range req.Topics {
		rt := kmsg.NewListPartitionReassignmentsResponseTopic()
		rt.Topic = t.Topic
		for _, n := range t.Partitions {
			rp := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
			rp.Partition = n
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
