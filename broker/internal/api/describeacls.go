package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeACLs serves DescribeAcls (29), versions 0 to 3. Without an authorizer
// there are no ACLs to describe, and tools tell that by this very code.
func describeACLs(_ context.Context, env *Env, call *Call, req *kmsg.DescribeACLsRequest) (*kmsg.DescribeACLsResponse, error) {
	resp := req.ResponseKind().(*kmsg.DescribeACLsResponse)
	if !env.MayCluster(call.Conn, kmsg.ACLOperationDescribe) {
		resp.ErrorCode, resp.ErrorMessage = kerr.ClusterAuthorizationFailed.Code, denied(kerr.ClusterAuthorizationFailed)
		return resp, nil
	}
	resp.ErrorCode = kerr.SecurityDisabled.Code
	resp.ErrorMessage = kmsg.StringPtr("No Authorizer is configured on the broker")
	return resp, nil
}
