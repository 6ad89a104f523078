package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// initProducerID serves InitProducerId (22), versions 0 to 5. A producer without a
// transactional id gets a new producer id, at epoch 0; nothing about it is written
// down, and ids that nobody uses are lost. One with a transactional id is the
// transaction coordinator's to answer. From version 3 on a producer may say who it
// was (KIP-360), 4 knows PRODUCER_FENCED, 5 TRANSACTION_ABORTABLE.
func initProducerID(ctx context.Context, env *Env, call *Call, req *kmsg.InitProducerIDRequest) (*kmsg.InitProducerIDResponse, error) {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if resp.ErrorCode = env.mayInitProducer(call.Conn, req); resp.ErrorCode != 0 {
		return resp, nil
	}
	if req.TransactionalID != nil {
		out, errorCode, err := askTransaction[*kmsg.InitProducerIDResponse](ctx, env, *req.TransactionalID, req)
		if resp.ErrorCode = errorCode; errorCode != 0 || err != nil {
			return resp, err
		}
		return out, nil
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
		case !e.MayTransactionalID(c, kmsg.ACLOperationWrite, *req.TransactionalID):
			return kerr.TransactionalIDAuthorizationFailed.Code
		case *req.TransactionalID == "":
			return kerr.InvalidRequest.Code
		}
	} else if !e.MayCluster(c, kmsg.ACLOperationIdempotentWrite) && !e.May(c, kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTopic, "") {
		return kerr.ClusterAuthorizationFailed.Code
	}
	if (req.ProducerID == -1) != (req.ProducerEpoch == -1) {
		return kerr.InvalidRequest.Code
	}
	return 0
}
