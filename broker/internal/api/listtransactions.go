package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/txn"
)

// listTransactions serves ListTransactions (66), versions 0 to 2: the transactional
// ids that this broker coordinates. Version 1 filters by how long a transaction is
// open, 2 by a pattern of ids.
func listTransactions(ctx context.Context, env *Env, call *Call, req *kmsg.ListTransactionsRequest) (*kmsg.ListTransactionsResponse, error) {
	resp := req.ResponseKind().(*kmsg.ListTransactionsResponse)
	filter, unknown, errorCode := txn.NewFilter(req)
	if resp.ErrorCode = errorCode; errorCode != 0 {
		return resp, nil
	}
	resp.UnknownStateFilters = unknown
	outs, err := env.Transactions.AskAll(ctx, func() any { return txn.List{Filter: filter} })
	if err != nil {
		resp.ErrorCode = coordinatorCode(err)
		return resp, ctx.Err()
	}
	for _, out := range outs {
		for _, st := range out.([]kmsg.ListTransactionsResponseTransactionState) {
			if env.MayTransactionalID(call.Conn, kmsg.ACLOperationDescribe, st.TransactionalID) {
				resp.TransactionStates = append(resp.TransactionStates, st)
			}
		}
	}
	slices.SortFunc(resp.TransactionStates, func(a, b kmsg.ListTransactionsResponseTransactionState) int {
		return cmp.Compare(a.TransactionalID, b.TransactionalID)
	})
	return resp, nil
}
