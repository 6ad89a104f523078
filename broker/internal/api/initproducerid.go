package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// initProducerID serves InitProducerId (22), versions 0 to 5, for producers that
// are idempotent but not transactional: it gives out a new producer id, at epoch
// 0. Nothing about it is written down; ids that nobody uses are lost.
//
// A transactional id is answered COORDINATOR_NOT_AVAILABLE, as by a Kafka whose
// transaction topic cannot be made: this broker coordinates no transactions, and
// does not advertise the APIs that it would take.
func initProducerID(ctx context.Context, env *Env, call *Call, req *kmsg.InitProducerIDRequest) (*kmsg.InitProducerIDResponse, error) {
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if resp.ErrorCode = env.mayInitProducer(call.Conn, req); resp.ErrorCode != 0 {
		return resp, nil
	}
	id, err := env.ProducerID(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		// The block of ids comes from the controller; a client tries again.
		resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code
		return resp, nil
	}
	resp.ProducerID, resp.ProducerEpoch = id, 0
	return resp, nil
}

// mayInitProducer is the code that refuses the request, or 0.
func (e *Env) mayInitProducer(c *Conn, req *kmsg.InitProducerIDRequest) int16 {
	if req.TransactionalID != nil {
		switch {
		case !e.May(c, kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTransactionalId, *req.TransactionalID):
			return kerr.TransactionalIDAuthorizationFailed.Code
		case *req.TransactionalID == "":
			return kerr.InvalidRequest.Code
		}
		return kerr.CoordinatorNotAvailable.Code
	}
	if !e.MayCluster(c, kmsg.ACLOperationIdempotentWrite) && !e.May(c, kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTopic, "") {
		return kerr.ClusterAuthorizationFailed.Code
	}
	if (req.ProducerID == -1) != (req.ProducerEpoch == -1) {
		return kerr.InvalidRequest.Code
	}
	return 0
}
