package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// Groups is the group coordinator, as far as this broker is one.
type Groups interface {
	// Ask hands an input to the shard of a group and waits for its reply. The
	// errors are coordinator.ErrLoading, ErrNotCoordinator, ErrUnavailable and
	// ctx's.
	Ask(ctx context.Context, groupID string, in any) (any, error)
	// AskAll hands an input to every shard of this broker.
	AskAll(ctx context.Context, newInput func() any) ([]any, error)
	// OffsetsPartition is the partition of __consumer_offsets that a group belongs to.
	OffsetsPartition(groupID string) int32
	// Mark ends a producer's transaction in a partition of __consumer_offsets, and
	// waits until that is committed. The errors are those of Ask and of the log.
	Mark(ctx context.Context, partition int32, m coordinator.Marker) error
	// Coordinator is the broker that coordinates a group. It makes the topic of
	// committed offsets if there is none yet.
	Coordinator(ctx context.Context, groupID string) (nodeID int32, err error)
}

// The two kinds of coordinator that FindCoordinator asks for.
const (
	coordinatorOfGroups       = 0
	coordinatorOfTransactions = 1
)

// coordinatorCode is the code of a request that no shard of a coordinator answered.
func coordinatorCode(err error) int16 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, coordinator.ErrLoading):
		return kerr.CoordinatorLoadInProgress.Code
	case errors.Is(err, coordinator.ErrNotCoordinator):
		return kerr.NotCoordinator.Code
	}
	return kerr.CoordinatorNotAvailable.Code
}

// askGroup hands one group's request to its shard. When no shard answers, failed
// makes the response from the code.
func askGroup[R kmsg.Response](ctx context.Context, env *Env, call *Call, groupID string, body kmsg.Request, failed func(resp R, errorCode int16)) (R, error) {
	resp := body.ResponseKind().(R)
	if !env.MayGroup(call.Conn, kmsg.ACLOperationRead, groupID) {
		failed(resp, kerr.GroupAuthorizationFailed.Code)
		return resp, nil
	}
	out, err := env.Groups.Ask(ctx, groupID, env.groupRequest(call, body))
	if err == nil {
		return out.(R), nil
	}
	if ctx.Err() != nil {
		return resp, ctx.Err() // The client is gone: nobody reads an answer.
	}
	failed(resp, coordinatorCode(err))
	return resp, nil
}
