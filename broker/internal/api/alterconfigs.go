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
	answer := func(i int, errorCode int16, message *string) {
		rr := kmsg.NewAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
		rr.ErrorCode, rr.ErrorMessage = errorCode, message
		resp.Resources[i] = rr
	}
	resp.Resources = make([]kmsg.AlterConfigsResponseResource, len(req.Resources)) // In the order of asking.
	times := make(map[configResource]int)
	for _, r := range req.Resources {
		times[configResource{r.ResourceType, r.ResourceName}]++
	}
	body := *req
	body.Resources = nil
	var left []int // What the controller answers.
	for i, r := range req.Resources {
		cr := configResource{r.ResourceType, r.ResourceName}
		if times[cr] == 1 {
			if err := env.alterable(call.Conn, cr, true); err != nil {
				answer(i, err.Kerr.Code, &err.Message)
				continue
			}
		}
		body.Resources = append(body.Resources, r)
		left = append(left, i)
	}
	if len(left) == 0 {
		return resp, nil
	}
	out, err := env.Control(ctx, controller.Request{Body: &body})
	if err != nil {
		for _, i := range left {
			answer(i, controlCode(err), nil)
		}
		return resp, ctx.Err()
	}
	for i, rr := range out.(*kmsg.AlterConfigsResponse).Resources {
		resp.Resources[left[i]] = rr
	}
	return resp, nil
}

// incrementalAlterConfigs serves IncrementalAlterConfigs (44), versions 0 and 1:
// single settings are set, taken back, or have items added and removed.
func incrementalAlterConfigs(ctx context.Context, env *Env, call *Call, req *kmsg.IncrementalAlterConfigsRequest) (*kmsg.IncrementalAlterConfigsResponse, error) {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	answer := func(i int, errorCode int16, message *string) {
		rr := kmsg.NewIncrementalAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
		rr.ErrorCode, rr.ErrorMessage = errorCode, message
		resp.Resources[i] = rr
	}
	resp.Resources = make([]kmsg.IncrementalAlterConfigsResponseResource, len(req.Resources)) // In the order of asking.
	times := make(map[configResource]int)
	for _, r := range req.Resources {
		times[configResource{r.ResourceType, r.ResourceName}]++
	}
	body := *req
	body.Resources = nil
	var left []int // What the controller answers.
	for i, r := range req.Resources {
		cr := configResource{r.ResourceType, r.ResourceName}
		if times[cr] == 1 {
			if err := env.alterable(call.Conn, cr, false); err != nil {
				answer(i, err.Kerr.Code, &err.Message)
				continue
			}
		}
		body.Resources = append(body.Resources, r)
		left = append(left, i)
	}
	if len(left) == 0 {
		return resp, nil
	}
	out, err := env.Control(ctx, controller.Request{Body: &body})
	if err != nil {
		for _, i := range left {
			answer(i, controlCode(err), nil)
		}
		return resp, ctx.Err()
	}
	for i, rr := range out.(*kmsg.IncrementalAlterConfigsResponse).Resources {
		resp.Resources[left[i]] = rr
	}
	return resp, nil
}

// configResource is what has settings.
type configResource struct {
	kind kmsg.ConfigResourceType
	name string
}

// alterable says why the settings of a resource cannot be changed through this
// broker; nil if they can, or if the controller refuses whoever asks: what is of no
// kind that can be changed, as loggers are for the older of the two requests.
func (e *Env) alterable(c *Conn, r configResource, older bool) *controller.Refusal {
	refuse := func(format string, args ...any) *controller.Refusal {
		return configRefusal(kerr.InvalidRequest, format, args...)
	}
	logger := r.kind == kmsg.ConfigResourceTypeBrokerLogger
	if !describable(r.kind) || older && logger {
		return nil
	}
	if r.kind == kmsg.ConfigResourceTypeBroker && r.name != "" { // Before any right is asked for.
		id, err := strconv.ParseInt(r.name, 10, 32)
		if err != nil {
			return refuse("Node id must be an integer, but it is: %s", r.name)
		}
		if int32(id) != e.NodeID {
			return refuse("Unexpected broker id, expected %d, but received %s", e.NodeID, r.name)
		}
	}
	if refusal := e.mayConfigs(c, kmsg.ACLOperationAlterConfigs, r.kind, r.name); refusal != nil {
		return refusal
	}
	if logger {
		return refuse("This broker's loggers have no levels of their own.")
	}
	return nil
}
