package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/group"
)

// deleteGroups serves DeleteGroups (42), versions 0 to 2: empty groups go, with
// what they committed. Groups that the principal may not delete come last, as with
// Kafka, which takes the list for a set.
func deleteGroups(ctx context.Context, env *Env, call *Call, req *kmsg.DeleteGroupsRequest) (*kmsg.DeleteGroupsResponse, error) {
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	add := func(id string, errorCode int16) {
		g := kmsg.NewDeleteGroupsResponseGroup()
		g.Group, g.ErrorCode = id, errorCode
		resp.Groups = append(resp.Groups, g)
	}
	may, not := env.mayGroups(call.Conn, kmsg.ACLOperationDelete, distinct(req.Groups))
	for _, id := range may {
		one := kmsg.NewPtrDeleteGroupsRequest()
		one.Version, one.Groups = req.Version, []string{id}
		out, err := env.Groups.Ask(ctx, id, group.Request{ClientID: call.Client(), Body: one})
		if ctx.Err() != nil {
			return resp, ctx.Err()
		}
		if err != nil {
			add(id, coordinatorCode(err))
		} else {
			resp.Groups = append(resp.Groups, out.(*kmsg.DeleteGroupsResponse).Groups[0])
		}
	}
	for _, id := range not {
		add(id, kerr.GroupAuthorizationFailed.Code)
	}
	return resp, nil
}

// distinct is the ids, each where it is first.
func distinct(ids []string) (once []string) {
	seen := map[string]bool{}
	for _, id := range ids {
		if !seen[id] {
			seen[id], once = true, append(once, id)
		}
	}
	return once
}
