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
		func(r kmsg.AlterConfigsRequestResource) alteredResource {
			a := alteredResource{configResource: configResource{r.ResourceType, r.ResourceName}}
			for _, c := range r.Configs {
				a.ops = append(a.ops, controller.Alteration{Key: c.Name, Op: kmsg.IncrementalAlterConfigOpSet, Value: c.Value})
			}
			return a
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
		func(r kmsg.IncrementalAlterConfigsRequestResource) alteredResource {
			a := alteredResource{configResource: configResource{r.ResourceType, r.ResourceName}}
			for _, c := range r.Configs {
				a.ops = append(a.ops, controller.Alteration{Key: c.Name, Op: c.Op, Value: c.Value})
			}
			return a
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
func alterEach[Q, R any](env *Env, call *Call, asked []Q, older bool, of func(Q) alteredResource,
	refusal func(r configResource, errorCode int16, message *string) R, control func([]Q) ([]R, error),
) []R {
	resources, times := make([]alteredResource, len(asked)), make(map[configResource]int)
	for i, q := range asked {
		resources[i] = of(q)
		times[resources[i].configResource]++
	}
	out := make([]R, len(asked))
	var rest []Q
	var places []int // Of the rest, in out.
	for i, q := range asked {
		r := resources[i]
		err := env.alterable(call.Conn, r, times[r.configResource], older)
		if err == nil {
			rest, places = append(rest, q), append(places, i)
			continue
		}
		var message *string
		if err.Message != "" {
			message = &err.Message
		}
		out[i] = refusal(r.configResource, err.Kerr.Code, message)
	}
	if len(rest) == 0 {
		return out
	}
	answers, err := control(rest)
	for n, i := range places {
		if err != nil {
			out[i] = refusal(resources[i].configResource, controlCode(err), nil)
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

// alteredResource is a resource of a request, and what is to become of its settings.
type alteredResource struct {
	configResource
	ops []controller.Alteration
}

// alterable says why the settings of a resource, named so many times in its request,
// cannot be changed through this broker; nil if they can. The form comes before the
// right: whoever sends nonsense is told so, whatever the client may do.
func (e *Env) alterable(c *Conn, r alteredResource, times int, older bool) *controller.Refusal {
	if times > 1 {
		return configRefusal(kerr.InvalidRequest, "Each resource must appear at most once.")
	}
	if refusal := controller.CheckAlterations(r.ops); refusal != nil {
		return refusal
	}
	logger := r.kind == kmsg.ConfigResourceTypeBrokerLogger
	switch {
	case !describable(r.kind) || older && logger:
		return configRefusal(kerr.InvalidRequest, "Unknown resource type %d", int8(r.kind))
	case logger || r.kind == kmsg.ConfigResourceTypeBroker:
		if !e.MayCluster(c, kmsg.ACLOperationAlterConfigs) {
			return &controller.Refusal{Kerr: kerr.ClusterAuthorizationFailed} // Kafka's brokers say no more,
		}
		if logger {
			return e.checkLogger(r.name)
		}
		return e.checkBroker(r)
	}
	return e.mayConfigs(c, kmsg.ACLOperationAlterConfigs, r.kind, r.name) // its controllers do.
}

// checkBroker refuses the settings of other brokers, and operations that there are not.
func (e *Env) checkBroker(r alteredResource) *controller.Refusal {
	if r.name != "" {
		if id, refusal := nodeID(r.name); refusal != nil {
			return refusal
		} else if id != e.NodeID {
			return configRefusal(kerr.InvalidRequest, "Unexpected broker id, expected %d, but received %s", e.NodeID, r.name)
		}
	}
	for _, o := range r.ops {
		if o.Op < kmsg.IncrementalAlterConfigOpSet || o.Op > kmsg.IncrementalAlterConfigOpSubtract {
			return configRefusal(kerr.InvalidRequest, "Unknown operations type %d", int8(o.Op))
		}
	}
	return nil
}

// checkLogger refuses all loggers: this broker's have no levels of their own.
func (e *Env) checkLogger(name string) *controller.Refusal {
	id, refusal := nodeID(name)
	switch {
	case refusal != nil:
		return refusal
	case id != e.NodeID:
		return configRefusal(kerr.InvalidRequest, "Unexpected node id. Expected %d, but received %d", e.NodeID, id)
	}
	return configRefusal(kerr.InvalidRequest, "This broker's loggers have no levels of their own.")
}

func nodeID(name string) (int32, *controller.Refusal) {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return 0, configRefusal(kerr.InvalidRequest, "Node id must be an integer, but it is: %s", name)
	}
	return int32(id), nil
}
