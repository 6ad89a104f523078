package differential

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

var otherActions = []action{
	{kmsg.FindCoordinator, 2, (*gen).findCoordinator},
	{kmsg.DescribeCluster, 1, (*gen).describeCluster},
	{kmsg.DescribeACLs, 1, (*gen).describeACLs},
}

func (g *gen) findCoordinator() {
	kind := pick(g, int8(0), 0, 1, 1)
	if g.one(15) {
		kind = pick(g, int8(3), -1)
	}
	names := unique(some(g, 2, func() string { return pick(g, "g0", "x0", "c0", "!") }))
	g.ask(kmsg.FindCoordinator, func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType = kind
		if version < 1 {
			req.CoordinatorType = 0
		}
		for _, n := range names {
			req.CoordinatorKeys = append(req.CoordinatorKeys, v.name(n))
		}
		if version < 4 {
			req.CoordinatorKey, req.CoordinatorKeys = v.name(names[0]), nil
		}
		return req
	}, nil)
}

func (g *gen) describeCluster() {
	operations, endpoint, fenced := g.one(3), int8(1), g.one(3)
	if g.one(8) {
		endpoint = pick(g, int8(0), 2, 9)
	}
	g.ask(kmsg.DescribeCluster, func(_ *view, version int16) kmsg.Request {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.IncludeClusterAuthorizedOperations, req.EndpointType = operations, 1
		if version >= 1 {
			req.EndpointType = endpoint
		}
		if version >= 2 {
			req.IncludeFencedBrokers = fenced
		}
		return req
	}, nil)
}

func (g *gen) describeACLs() {
	kind, pattern := pick(g, kmsg.ACLResourceTypeAny, kmsg.ACLResourceTypeTopic), pick(g, kmsg.ACLResourcePatternTypeAny, kmsg.ACLResourcePatternTypeLiteral)
	g.ask(kmsg.DescribeACLs, func(_ *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType = kind, pattern
		req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		return req
	}, nil)
}
