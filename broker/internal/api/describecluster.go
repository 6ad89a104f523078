package api

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The endpoint types of DescribeCluster.
const (
	endpointBrokers     = 1
	endpointControllers = 2
)

// describeCluster serves DescribeCluster (60), versions 0 to 2: the brokers as
// clients of this listener reach them. Version 1 asks for brokers or controllers
// and gets only what the listener is for; version 2 can include fenced brokers.
func describeCluster(_ context.Context, env *Env, call *Call, req *kmsg.DescribeClusterRequest) (*kmsg.DescribeClusterResponse, error) {
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.EndpointType, resp.ControllerID, resp.ClusterAuthorizedOperations = endpointBrokers, -1, unasked
	if req.EndpointType != endpointBrokers {
		resp.ErrorCode = kerr.UnsupportedEndpointType.Code
		resp.ErrorMessage = kmsg.StringPtr(fmt.Sprintf("Unsupported endpoint type %d", req.EndpointType))
		if req.EndpointType == endpointControllers {
			resp.ErrorCode = kerr.MismatchedEndpointType.Code
			resp.ErrorMessage = kmsg.StringPtr("The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
		}
		return resp, nil
	}
	im := env.Image()
	resp.ClusterID, resp.ControllerID = im.ClusterID, env.contact(env.alive(call.Conn, im))
	for b := range im.Brokers() {
		host, port, ok := env.endpoint(call.Conn, b)
		if !ok || b.Fenced && !req.IncludeFencedBrokers {
			continue
		}
		rb := kmsg.NewDescribeClusterResponseBroker()
		rb.NodeID, rb.Host, rb.Port, rb.Rack, rb.IsFenced = b.ID, host, port, b.Rack, b.Fenced
		resp.Brokers = append(resp.Brokers, rb)
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = 0
		if env.MayCluster(call.Conn, kmsg.ACLOperationDescribe) {
			resp.ClusterAuthorizedOperations = env.authorized(call.Conn, clusterOperations, kmsg.ACLResourceTypeCluster, ClusterName)
		}
	}
	return resp, nil
}
