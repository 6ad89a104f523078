package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeTransactions serves DescribeTransactions (65), version 0: the state of
// transactional ids, and those of their partitions that the client may know of.
func describeTransactions(ctx context.Context, env *Env, call *Call, req *kmsg.DescribeTransactionsRequest) (*kmsg.DescribeTransactionsResponse, error) {
	resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	for _, id := range req.TransactionalIDs {
		st, err := env.describeTransaction(ctx, call, id)
		if err != nil {
			return resp, err
		}
		resp.TransactionStates = append(resp.TransactionStates, st)
	}
	return resp, nil
}

func (e *Env) describeTransaction(ctx context.Context, call *Call, id string) (kmsg.DescribeTransactionsResponseTransactionState, error) {
	st := kmsg.NewDescribeTransactionsResponseTransactionState()
	st.TransactionalID = id
	if !e.MayTransactionalID(call.Conn, kmsg.ACLOperationDescribe, id) {
		st.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		return st, nil
	}
	one := kmsg.NewPtrDescribeTransactionsRequest()
	one.TransactionalIDs = []string{id}
	out, errorCode, err := askTransaction[*kmsg.DescribeTransactionsResponse](ctx, e, id, one)
	if st.ErrorCode = errorCode; errorCode != 0 || err != nil {
		return st, err
	}
	st = out.TransactionStates[0]
	topics := st.Topics
	st.Topics = nil
	for _, t := range topics {
		if e.MayTopic(call.Conn, kmsg.ACLOperationDescribe, t.Topic) {
			st.Topics = append(st.Topics, t)
		}
	}
	return st, nil
}
