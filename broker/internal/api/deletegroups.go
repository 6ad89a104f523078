package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/group"
)

// deleteGroups serves DeleteGroups (42), versions 0 to 2: empty groups go, with
// what they committed.
func deleteGroups(ctx context.Context, env *Env, call *Call, req *kmsg.DeleteGroupsRequest) (*kmsg.DeleteGroupsResponse, error) {
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	seen := map[string]bool{}
	for _, id := range req.Groups {
		if seen[id] {
			continue // Kafka takes the list for a set.
		}
		seen[id] = true
		g := kmsg.NewDeleteGroupsResponseGroup()
		g.Group = id
		if !env.MayGroup(call.Conn, kmsg.ACLOperationDelete, id) {
			g.ErrorCode = kerr.GroupAuthorizationFailed.Code
			resp.Groups = append(resp.Groups, g)
			continue
		}
		one := kmsg.NewPtrDeleteGroupsRequest()
		one.Version, one.Groups = req.Version, []string{id}
		out, err := env.Groups.Ask(ctx, id, group.Request{ClientID: call.Client(), Body: one})
		if ctx.Err() != nil {
			return resp, ctx.Err()
		}
		if err != nil {
			g.ErrorCode = coordinatorCode(err)
		} else {
			g = out.(*kmsg.DeleteGroupsResponse).Groups[0]
		}
		resp.Groups = append(resp.Groups, g)
	}
	return resp, nil
}
