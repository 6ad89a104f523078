package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/txn"
)

// Transactions is the transaction coordinator, as far as this broker is one.
type Transactions interface {
	// Ask hands an input to the shard of a transactional id and waits for its reply.
	// The errors are coordinator.ErrLoading, ErrNotCoordinator, ErrUnavailable and
	// ctx's.
	Ask(ctx context.Context, transactionalID string, in any) (any, error)
	// AskAll hands an input to every shard of this broker.
	AskAll(ctx context.Context, newInput func() any) ([]any, error)
	// Coordinator is the broker that coordinates a transactional id. It makes the
	// topic of transactions if there is none yet.
	Coordinator(ctx context.Context, transactionalID string) (nodeID int32, err error)
}

// MayTransactionalID says whether the principal of conn may do that to the
// transactional id.
func (e *Env) MayTransactionalID(conn *Conn, op kmsg.ACLOperation, id string) bool {
	return e.May(conn, op, kmsg.ACLResourceTypeTransactionalId, id)
}

// askTransaction hands a request to the shard of its transactional id. When no shard
// answers, the code says why.
func askTransaction[R kmsg.Response](ctx context.Context, env *Env, id string, body kmsg.Request) (resp R, errorCode int16, err error) {
	out, err := env.Transactions.Ask(ctx, id, txn.Request{Body: body})
	switch {
	case err == nil:
		return out.(R), 0, nil
	case ctx.Err() != nil:
		return resp, 0, ctx.Err() // The client is gone: nobody reads an answer.
	}
	return resp, coordinatorCode(err), nil
}
