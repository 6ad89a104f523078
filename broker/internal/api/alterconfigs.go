package api

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
)

// alterConfigs serves AlterConfigs (33), versions 0 to 2: the settings given
// replace all that somebody set before.
func alterConfigs(ctx context.Context, env *Env, call *Call, req *kmsg.AlterConfigsRequest) (*kmsg.AlterConfigsResponse, error) {
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	answer := func(r kmsg.AlterConfigsRequestResource, errorCode int16, message *string) {
		rr := kmsg.NewAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName, rr.ErrorCode, rr.ErrorMessage = r.ResourceType, r.ResourceName, errorCode, message
		resp.Resources = append(resp.Resources, rr)
	}
	body := *req
	body.Resources = nil
	for _, r := range req.Resources {
		if err := env.alterable(call.Conn, r.ResourceType, r.ResourceName); err != nil {
			answer(r, err.Kerr.Code, &err.Message)
		} else {
			body.Resources = append(body.Resources, r)
		}
	}
	if len(body.Resources) == 0 {
		return resp, nil
	}
	out, err := env.Control(ctx, controller.Request{Body: &body})
	if err != nil {
		for _, r := range body.Resources {
			answer(r, controlCode(err), nil)
		}
		return resp, ctx.Err()
	}
	resp.Resources = append(resp.Resources, out.(*kmsg.AlterConfigsResponse).Resources...)
	return resp, nil
}

// incrementalAlterConfigs serves IncrementalAlterConfigs (44), versions 0 and 1:
// single settings are set, taken back, or have items added and removed.
func incrementalAlterConfigs(ctx context.Context, env *Env, call *Call, req *kmsg.IncrementalAlterConfigsRequest) (*kmsg.IncrementalAlterConfigsResponse, error) {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	answer := func(r kmsg.IncrementalAlterConfigsRequestResource, errorCode int16, message *string) {
		rr := kmsg.NewIncrementalAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName, rr.ErrorCode, rr.ErrorMessage = r.ResourceType, r.ResourceName, errorCode, message
		resp.Resources = append(resp.Resources, rr)
	}
	body := *req
	body.Resources = nil
	for _, r := range req.Resources {
		if err := env.alterable(call.Conn, r.ResourceType, r.ResourceName); err != nil {
			answer(r, err.Kerr.Code, &err.Message)
		} else {
			body.Resources = append(body.Resources, r)
		}
	}
	if len(body.Resources) == 0 {
		return resp, nil
	}
	out, err := env.Control(ctx, controller.Request{Body: &body})
	if err != nil {
		for _, r := range body.Resources {
			answer(r, controlCode(err), nil)
		}
		return resp, ctx.Err()
	}
	resp.Resources = append(resp.Resources, out.(*kmsg.IncrementalAlterConfigsResponse).Resources...)
	return resp, nil
}

// alterable says why the settings of a resource cannot be changed through this
// broker; nil if they can.
func (e *Env) alterable(c *Conn, kind kmsg.ConfigResourceType, name string) *controller.Refusal {
	if refusal := e.mayConfigs(c, kmsg.ACLOperationAlterConfigs, kind, name); refusal != nil {
		return refusal
	}
	refuse := func(format string, args ...any) *controller.Refusal {
		return configRefusal(kerr.InvalidRequest, format, args...)
	}
	switch kind {
	case kmsg.ConfigResourceTypeBrokerLogger:
		return refuse("This broker's loggers have no levels of their own.")
	case kmsg.ConfigResourceTypeBroker:
		if name == "" {
			return nil
		}
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			return refuse("Node id must be an integer, but it is: %s", name)
		}
		if int32(id) != e.NodeID {
			return refuse("Unexpected broker id, expected %d, but received %s", e.NodeID, name)
		}
	}
	return nil
}
