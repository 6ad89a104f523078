package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/protocol/config"
)

// describeConfigs serves DescribeConfigs (32), versions 0 to 4: the settings of
// topics, of this broker, of all brokers, of groups and of client metrics
// subscriptions, and the level of this broker's log, each with the layers that
// its value could come from. Version 1 lists those layers, 3 types and
// documentation.
func describeConfigs(_ context.Context, env *Env, call *Call, req *kmsg.DescribeConfigsRequest) (*kmsg.DescribeConfigsResponse, error) {
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	im := env.Image()
	if slices.ContainsFunc(req.Resources, func(r kmsg.DescribeConfigsRequestResource) bool { return !describable(r.ResourceType) }) {
		// As Kafka: all of them, and without a word of what is wrong.
		return refuseResources(req, configRefusal(kerr.InvalidRequest, "%s", kerr.InvalidRequest.Description)), nil
	}
	var hidden []kmsg.DescribeConfigsResponseResource // They come last.
	for _, r := range req.Resources {
		d := describer{env: env, im: im, req: req, names: r.ConfigNames}
		rr := kmsg.NewDescribeConfigsResponseResource()
		rr.ResourceType, rr.ResourceName, rr.ErrorMessage = r.ResourceType, r.ResourceName, kmsg.StringPtr("")
		if refusal := env.mayConfigs(call.Conn, kmsg.ACLOperationDescribeConfigs, r.ResourceType, r.ResourceName); refusal != nil {
			rr.ErrorCode, rr.ErrorMessage = refusal.Kerr.Code, &refusal.Message
			hidden = append(hidden, rr)
			continue
		}
		configs, err := d.resource(r)
		if refusal, ok := errors.AsType[*controller.Refusal](err); ok {
			rr.ErrorCode, rr.ErrorMessage = refusal.Kerr.Code, kmsg.StringPtr(refusal.Message)
		} else if err != nil {
			rr.ErrorCode, rr.ErrorMessage = code(err), nil
		}
		rr.Configs = configs
		if err := call.charge(&rr); err != nil {
			return resp, err
		}
		resp.Resources = append(resp.Resources, rr)
	}
	resp.Resources = append(resp.Resources, hidden...)
	return resp, nil
}

// describer answers one resource of a DescribeConfigs request.
type describer struct {
	env   *Env
	im    *controller.Image
	req   *kmsg.DescribeConfigsRequest
	names []string // Those asked for; none is all.
}

// configRefusal is an error with a message for the client.
func configRefusal(k *kerr.Error, format string, args ...any) *controller.Refusal {
	return &controller.Refusal{Kerr: k, Message: fmt.Sprintf(format, args...)}
}

func (d *describer) resource(r kmsg.DescribeConfigsRequestResource) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	switch r.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		return d.topic(r.ResourceName)
	case kmsg.ConfigResourceTypeBroker:
		return d.broker(r.ResourceName)
	case kmsg.ConfigResourceTypeBrokerLogger:
		return d.loggers(r.ResourceName)
	case kmsg.ConfigResourceTypeClientMetrics:
		return d.clientMetrics(r.ResourceName)
	case kmsg.ConfigResourceTypeGroupConfig:
		return d.group(r.ResourceName)
	}
	panic(fmt.Sprintf("BUG: api: settings of kind %d are describable and nobody describes them", r.ResourceType))
}

// describable says whether there are settings of a kind of resource.
func describable(kind kmsg.ConfigResourceType) bool {
	switch kind {
	case kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger,
		kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig:
		return true
	}
	return false
}

// refuseResources answers all resources of a request with one error.
func refuseResources(req *kmsg.DescribeConfigsRequest, refusal *controller.Refusal) *kmsg.DescribeConfigsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	for _, r := range req.Resources {
		rr := kmsg.NewDescribeConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = r.ResourceType, r.ResourceName
		rr.ErrorCode, rr.ErrorMessage = refusal.Kerr.Code, kmsg.StringPtr(refusal.Message)
		resp.Resources = append(resp.Resources, rr)
	}
	return resp
}

// mayConfigs asks for the right to see or change the settings of a resource.
func (e *Env) mayConfigs(c *Conn, op kmsg.ACLOperation, kind kmsg.ConfigResourceType, name string) *controller.Refusal {
	switch {
	case kind == kmsg.ConfigResourceTypeTopic && !e.MayTopic(c, op, name):
		return configRefusal(kerr.TopicAuthorizationFailed, "%s", *denied(kerr.TopicAuthorizationFailed))
	case kind == kmsg.ConfigResourceTypeGroupConfig && !e.MayGroup(c, op, name):
		return configRefusal(kerr.GroupAuthorizationFailed, "%s", *denied(kerr.GroupAuthorizationFailed))
	case kind != kmsg.ConfigResourceTypeTopic && kind != kmsg.ConfigResourceTypeGroupConfig && !e.MayCluster(c, op):
		return configRefusal(kerr.ClusterAuthorizationFailed, "%s", *denied(kerr.ClusterAuthorizationFailed))
	}
	return nil
}

func (d *describer) wanted(name string) bool {
	return len(d.names) == 0 || slices.Contains(d.names, name)
}

func (d *describer) topic(name string) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	if why := controller.CheckTopicName(name); why != "" {
		return nil, configRefusal(kerr.InvalidTopicException, "%s", why)
	}
	if _, ok := d.im.Topic(name); !ok {
		return nil, &controller.Refusal{Kerr: kerr.UnknownTopicOrPartition} // Kafka says no more.
	}
	layers := d.env.Layers(d.im)
	layers.Topic = d.im.Config(controller.KindTopic, name)
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for _, def := range config.Topics() {
		if d.wanted(def.Name) {
			out = append(out, d.entry(def, layers.TopicValue(def), false, layers.TopicSynonyms(def)))
		}
	}
	return out, nil
}

func (d *describer) broker(name string) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	layers := d.env.Layers(d.im)
	if name == "" {
		// The defaults of all brokers: only those that somebody set.
		layers = config.Layers{ClusterDefault: layers.ClusterDefault}
	} else if err := d.thisBroker(name, " or empty string,"); err != nil {
		return nil, err
	}
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for _, def := range config.Brokers() {
		if !d.wanted(def.Name) {
			continue
		}
		synonyms := layers.BrokerSynonyms(def.Name)
		if name == "" {
			if _, set := layers.ClusterDefault[def.Name]; !set {
				continue
			}
			synonyms = synonyms[:1]
		}
		e := d.entry(def, layers.BrokerValue(def), def.Update == config.ReadOnly, synonyms)
		if def.NoDefault && len(synonyms) == 0 {
			e.Value = nil
		}
		out = append(out, e)
	}
	return out, nil
}

// thisBroker refuses a resource name that is not this broker's id.
func (d *describer) thisBroker(name, or string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return configRefusal(kerr.InvalidRequest, "Broker id must be an integer, but it is: %s", name)
	}
	if int32(id) != d.env.NodeID {
		return configRefusal(kerr.InvalidRequest, "Unexpected broker id, expected %d%s but received %s", d.env.NodeID, or, name)
	}
	return nil
}

// loggers describes the one logger that there is by the level it lets through.
func (d *describer) loggers(name string) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	if name == "" {
		return nil, configRefusal(kerr.InvalidRequest, "Broker id must not be empty")
	}
	if err := d.thisBroker(name, ""); err != nil {
		return nil, err
	}
	if !d.wanted("root") {
		return nil, nil
	}
	e := kmsg.NewDescribeConfigsResponseResourceConfig()
	e.Name, e.Value, e.Source = "root", kmsg.StringPtr(logLevel(d.env.Logger)), kmsg.ConfigSourceDynamicBrokerLoggerConfig
	return []kmsg.DescribeConfigsResponseResourceConfig{e}, nil
}

// logLevel is the lowest level that a logger lets through, as log4j names it.
func logLevel(l *slog.Logger) string {
	if l == nil {
		return "OFF"
	}
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if l.Enabled(context.Background(), level) {
			return level.String()
		}
	}
	return "OFF"
}

func (d *describer) group(name string) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	if name == "" {
		return nil, configRefusal(kerr.InvalidRequest, "Group name must not be empty")
	}
	return d.own(config.Groups(), d.im.Config(controller.KindGroup, name), config.SourceGroup, true), nil
}

func (d *describer) clientMetrics(name string) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	if name == "" {
		return nil, configRefusal(kerr.InvalidRequest, "Client metrics subscription name must not be empty")
	}
	return d.own(config.ClientMetrics(), d.im.Config(controller.KindClientMetrics, name), config.SourceClientMetrics, false), nil
}

// own describes the settings of a kind of resource that has no layers but its own
// values and the defaults. The list of where a value could come from has one layer:
// the default, if it is told for this kind at all, until there is an own value.
func (d *describer) own(defs []*config.Def, set map[string]string, source config.Source, tellsDefault bool) []kmsg.DescribeConfigsResponseResourceConfig {
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for _, def := range defs {
		if !d.wanted(def.Name) {
			continue
		}
		value, synonyms := def.Default, []config.Entry(nil)
		if v, ok := set[def.Name]; ok {
			value, synonyms = v, []config.Entry{{Name: def.Name, Value: v, Source: source}}
		} else if tellsDefault {
			synonyms = []config.Entry{{Name: def.Name, Value: value, Source: config.SourceDefault}}
		}
		out = append(out, d.entry(def, value, false, synonyms))
	}
	return out
}

// shown is a value as Kafka shows it, which is not always as it was given.
func shown(def *config.Def, value string) string {
	if normal, err := def.Normalize(value); err == nil {
		return normal
	}
	return value
}

// entry answers one setting.
func (d *describer) entry(def *config.Def, value string, readOnly bool, synonyms []config.Entry) kmsg.DescribeConfigsResponseResourceConfig {
	e := kmsg.NewDescribeConfigsResponseResourceConfig()
	e.Name, e.ReadOnly, e.IsSensitive = def.Name, readOnly, def.Sensitive()
	if !def.Sensitive() {
		e.Value = kmsg.StringPtr(shown(def, value))
	}
	source := config.SourceDefault
	if len(synonyms) > 0 {
		source = synonyms[0].Source
	}
	e.Source = kmsg.ConfigSource(source)
	e.IsDefault = source == config.SourceDefault
	e.ConfigType = kmsg.ConfigType(def.Type)
	if d.req.IncludeDocumentation {
		e.Documentation = kmsg.StringPtr(def.Doc)
	}
	if d.req.IncludeSynonyms {
		for _, syn := range synonyms {
			s := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			s.Name, s.Source = syn.Name, kmsg.ConfigSource(syn.Source)
			if !def.Sensitive() {
				s.Value = kmsg.StringPtr(shown(def, syn.Value))
			}
			e.ConfigSynonyms = append(e.ConfigSynonyms, s)
		}
	}
	return e
}
