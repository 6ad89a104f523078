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
	resp.Resources = alterEach(env, call, req.Resources, true,
		func(r kmsg.AlterConfigsRequestResource) configResource {
			return configResource{r.ResourceType, r.ResourceName}
		},
		func(r configResource, errorCode int16, message *string) kmsg.AlterConfigsResponseResource {
			rr := kmsg.NewAlterConfigsResponseResource()
			rr.ResourceType, rr.ResourceName, rr.ErrorCode, rr.ErrorMessage = r.kind, r.name, errorCode, message
			return rr
		},
		func(rest []kmsg.AlterConfigsRequestResource) ([]kmsg.AlterConfigsResponseResource, error) {
			body := *req
			body.Resources = rest
			out, err := env.Control(ctx, controller.Request{Body: &body})
			if err != nil {
				return nil, err
			}
			return out.(*kmsg.AlterConfigsResponse).Resources, nil
		})
	return resp, ctx.Err()
}

// incrementalAlterConfigs serves IncrementalAlterConfigs (44), versions 0 and 1:
// single settings are set, taken back, or have items added and removed.
func incrementalAlterConfigs(ctx context.Context, env *Env, call *Call, req *kmsg.IncrementalAlterConfigsRequest) (*kmsg.IncrementalAlterConfigsResponse, error) {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	resp.Resources = alterEach(env, call, req.Resources, false,
		func(r kmsg.IncrementalAlterConfigsRequestResource) configResource {
			return configResource{r.ResourceType, r.ResourceName}
		},
		func(r configResource, errorCode int16, message *string) kmsg.IncrementalAlterConfigsResponseResource {
			rr := kmsg.NewIncrementalAlterConfigsResponseResource()
			rr.ResourceType, rr.ResourceName, rr.ErrorCode, rr.ErrorMessage = r.kind, r.name, errorCode, message
			return rr
		},
		func(rest []kmsg.IncrementalAlterConfigsRequestResource) ([]kmsg.IncrementalAlterConfigsResponseResource, error) {
			body := *req
			body.Resources = rest
			out, err := env.Control(ctx, controller.Request{Body: &body})
			if err != nil {
				return nil, err
			}
			return out.(*kmsg.IncrementalAlterConfigsResponse).Resources, nil
		})
	return resp, ctx.Err()
}

// alterEach has each resource of a request altered by the controller that may be altered
// through this broker, and answers in the order of asking.
func alterEach[Q, R any](env *Env, call *Call, asked []Q, older bool, of func(Q) configResource,
	refusal func(r configResource, errorCode int16, message *string) R, control func([]Q) ([]R, error),
) []R {
	times := make(map[configResource]int)
	for _, q := range asked {
		times[of(q)]++
	}
	out := make([]R, len(asked))
	var rest []Q
	var places []int // Of the rest, in out.
	for i, q := range asked {
		r := of(q)
		if times[r] == 1 { // One that is named twice the controller refuses, whoever asks.
			if err := env.alterable(call.Conn, r, older); err != nil {
				out[i] = refusal(r, err.Kerr.Code, &err.Message)
				continue
			}
		}
		rest, places = append(rest, q), append(places, i)
	}
	if len(rest) == 0 {
		return out
	}
	answers, err := control(rest)
	for n, i := range places {
		if err != nil {
			out[i] = refusal(of(rest[n]), controlCode(err), nil)
		} else {
			out[i] = answers[n]
		}
	}
	return out
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
