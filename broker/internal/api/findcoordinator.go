package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// findCoordinator serves FindCoordinator (10), versions 0 to 6: which broker
// coordinates a group or a transactional id. Version 1 asks by kind of coordinator,
// 4 for several keys at a time.
func findCoordinator(ctx context.Context, env *Env, call *Call, req *kmsg.FindCoordinatorRequest) (*kmsg.FindCoordinatorResponse, error) {
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	keys := req.CoordinatorKeys
	if req.Version < 4 {
		keys = []string{req.CoordinatorKey}
	}
	for _, key := range keys {
		c := env.coordinatorOf(ctx, call, req.CoordinatorType, key)
		if req.Version >= 4 {
			resp.Coordinators = append(resp.Coordinators, c)
			continue
		}
		resp.ErrorCode, resp.ErrorMessage = c.ErrorCode, c.ErrorMessage
		resp.NodeID, resp.Host, resp.Port = c.NodeID, c.Host, c.Port
	}
	return resp, nil
}

// coordinatorOf finds the coordinator of one key.
func (e *Env) coordinatorOf(ctx context.Context, call *Call, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Port = key, -1, -1
	refuse := func(err *kerr.Error) kmsg.FindCoordinatorResponseCoordinator {
		c.ErrorCode, c.ErrorMessage = err.Code, kmsg.StringPtr(err.Description)
		if err == kerr.CoordinatorNotAvailable && call.Version >= 4 {
			c.ErrorMessage = kmsg.StringPtr("") // As Apache, where nothing was thrown.
		}
		return c
	}
	deny := func(err *kerr.Error) kmsg.FindCoordinatorResponseCoordinator {
		c.ErrorCode, c.ErrorMessage = err.Code, denied(err)
		if call.Version >= 4 {
			c.ErrorMessage = kmsg.StringPtr("") // Nothing was thrown here either.
		}
		return c
	}
	find := e.Groups.Coordinator
	switch {
	case kind == coordinatorOfGroups:
		if !e.MayGroup(call.Conn, kmsg.ACLOperationDescribe, key) {
			return deny(kerr.GroupAuthorizationFailed)
		}
	case kind == coordinatorOfTransactions:
		if !e.MayTransactionalID(call.Conn, kmsg.ACLOperationDescribe, key) {
			return deny(kerr.TransactionalIDAuthorizationFailed)
		}
		find = e.Transactions.Coordinator
	default:
		return refuse(kerr.InvalidRequest)
	}
	nodeID, err := find(ctx, key)
	if err != nil {
		return refuse(kerr.CoordinatorNotAvailable)
	}
	b, ok := e.Image().Broker(nodeID)
	if !ok || b.Fenced {
		return refuse(kerr.CoordinatorNotAvailable)
	}
	host, port, ok := e.endpoint(call.Conn, b)
	if !ok {
		return refuse(kerr.CoordinatorNotAvailable)
	}
	c.NodeID, c.Host, c.Port = nodeID, host, port
	c.ErrorMessage = kmsg.StringPtr("")
	if call.Version < 4 {
		c.ErrorMessage = kmsg.StringPtr("NONE")
	}
	return c
}
