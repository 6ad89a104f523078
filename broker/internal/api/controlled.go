package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/controller"
)

// controlCode is the code of an admin request that the controller did not answer.
// Each is one that clients try again after.
func controlCode(err error) int16 {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return kerr.RequestTimedOut.Code
	case errors.Is(err, coordinator.ErrNotCoordinator), errors.Is(err, coordinator.ErrLoading):
		return kerr.NotController.Code
	}
	return kerr.RequestTimedOut.Code
}

// updateFeatures serves UpdateFeatures (57), versions 0 to 2: the finalized levels
// of features change. From version 2 on an error is told once, for all.
func updateFeatures(ctx context.Context, env *Env, call *Call, req *kmsg.UpdateFeaturesRequest) (*kmsg.UpdateFeaturesResponse, error) {
	resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	if !env.MayCluster(call.Conn, kmsg.ACLOperationAlter) {
		resp.ErrorCode, resp.ErrorMessage = kerr.ClusterAuthorizationFailed.Code, denied(kerr.ClusterAuthorizationFailed)
		return resp, nil
	}
	out, err := env.Control(ctx, controller.Request{Body: req})
	if err != nil {
		resp.ErrorCode = controlCode(err)
		return resp, ctx.Err()
	}
	return out.(*kmsg.UpdateFeaturesResponse), nil
}
