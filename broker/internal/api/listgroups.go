package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/group"
)

// listGroups serves ListGroups (16), versions 0 to 5: the groups that this broker
// coordinates. Version 4 filters by state, 5 by type.
func listGroups(ctx context.Context, env *Env, call *Call, req *kmsg.ListGroupsRequest) (*kmsg.ListGroupsResponse, error) {
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	outs, err := env.Groups.AskAll(ctx, func() any { return group.Request{ClientID: call.Client(), Body: req} })
	if err != nil {
		if ctx.Err() != nil {
			return resp, ctx.Err()
		}
		resp.ErrorCode = coordinatorCode(err)
		return resp, nil
	}
	all := env.MayCluster(call.Conn, kmsg.ACLOperationDescribe)
	for _, out := range outs {
		for _, g := range out.(*kmsg.ListGroupsResponse).Groups {
			if all || env.MayGroup(call.Conn, kmsg.ACLOperationDescribe, g.Group) {
				resp.Groups = append(resp.Groups, g)
			}
		}
	}
	slices.SortFunc(resp.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
	return resp, nil
}
