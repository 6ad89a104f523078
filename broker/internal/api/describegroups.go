package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/group"
)

// describeGroups serves DescribeGroups (15), versions 0 to 6: state, members and
// assignments of classic groups. Version 3 lists authorized operations; 6 answers
// GROUP_ID_NOT_FOUND where the versions before have a dead group. Groups that the
// principal may not describe come first, as with Kafka.
func describeGroups(ctx context.Context, env *Env, call *Call, req *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, error) {
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	may, not := env.mayGroups(call.Conn, kmsg.ACLOperationDescribe, req.Groups)
	for i, id := range append(not, may...) {
		g := failedGroup(id, kerr.GroupAuthorizationFailed.Code)
		if i >= len(not) {
			var err error
			if g, err = env.describeGroup(ctx, call, req, id); err != nil {
				return resp, err
			}
		}
		if req.IncludeAuthorizedOperations && g.ErrorCode == 0 {
			g.AuthorizedOperations = env.authorized(call.Conn, groupOperations, kmsg.ACLResourceTypeGroup, id)
		} else {
			g.AuthorizedOperations = unasked
		}
		if err := call.charge(&g); err != nil {
			return resp, err
		}
		resp.Groups = append(resp.Groups, g)
	}
	return resp, nil
}

func (e *Env) describeGroup(ctx context.Context, call *Call, req *kmsg.DescribeGroupsRequest, id string) (kmsg.DescribeGroupsResponseGroup, error) {
	one := kmsg.NewPtrDescribeGroupsRequest()
	one.Version, one.Groups = req.Version, []string{id}
	out, err := e.Groups.Ask(ctx, id, group.Request{ClientID: call.Client(), Body: one})
	if ctx.Err() != nil {
		return kmsg.DescribeGroupsResponseGroup{}, ctx.Err()
	}
	if err != nil {
		return failedGroup(id, coordinatorCode(err)), nil
	}
	return out.(*kmsg.DescribeGroupsResponse).Groups[0], nil
}

func failedGroup(id string, errorCode int16) kmsg.DescribeGroupsResponseGroup {
	g := kmsg.NewDescribeGroupsResponseGroup()
	g.Group, g.ErrorCode = id, errorCode
	return g
}
