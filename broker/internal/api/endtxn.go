package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// endTxn serves EndTxn (26), versions 0 to 5: a transaction commits or aborts. The
// answer comes when that is decided; the markers follow. Version 2 knows
// PRODUCER_FENCED, 4 TRANSACTION_ABORTABLE, and 5 answers the epoch of the next
// transaction (KIP-890).
func endTxn(ctx context.Context, env *Env, call *Call, req *kmsg.EndTxnRequest) (*kmsg.EndTxnResponse, error) {
	resp := req.ResponseKind().(*kmsg.EndTxnResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if !env.MayTransactionalID(call.Conn, kmsg.ACLOperationWrite, req.TransactionalID) {
		resp.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		return resp, nil
	}
	out, errorCode, err := askTransaction[*kmsg.EndTxnResponse](ctx, env, req.TransactionalID, req)
	if resp.ErrorCode = errorCode; errorCode != 0 || err != nil {
		return resp, err
	}
	return out, nil
}
