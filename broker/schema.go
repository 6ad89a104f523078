package broker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/protocol/config"
)

// schema is what the controller needs to know of settings: the tables of
// protocol/config over this node's file.
type schema struct {
	static map[string]string
}

var _ controller.ConfigSchema = schema{}

// Check implements controller.ConfigSchema.
func (s schema) Check(r controller.ConfigResource, _, after map[string]string) error {
	switch r.Kind {
	case controller.KindTopic:
		_, err := config.CheckTopic(after, config.Layers{Static: s.static}.TopicValues())
		return err
	case controller.KindBroker:
		return checkDynamic(after, r.Name != "")
	case controller.KindGroup:
		for _, name := range slices.Sorted(maps.Keys(after)) {
			d, ok := config.Group(name)
			if !ok {
				return fmt.Errorf("Unknown group config name: %s", name)
			}
			if _, err := d.Normalize(after[name]); err != nil {
				return err
			}
		}
	case controller.KindClientMetrics:
		return &controller.Refusal{Kerr: kerr.InvalidRequest, Message: "Client metrics are not collected by this broker."}
	}
	return nil
}

// checkDynamic checks the settings that brokers are to have at run time. Kafka
// answers INVALID_REQUEST here, not INVALID_CONFIG (KAFKA-13609).
func checkDynamic(set map[string]string, oneBroker bool) error {
	refuse := func(format string, args ...any) error {
		return &controller.Refusal{Kerr: kerr.InvalidRequest, Message: fmt.Sprintf(format, args...)}
	}
	var fixed, single []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		d, ok := config.Broker(name)
		switch {
		case !ok: // Kafka keeps what it does not know, for plugins.
		case d.Update == config.ReadOnly:
			fixed = append(fixed, name)
		case d.Update == config.PerBroker:
			single = append(single, name)
		}
	}
	if len(fixed) > 0 {
		return refuse("Cannot update these configs dynamically: [%s]", strings.Join(fixed, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if d, ok := config.Broker(name); ok {
			if _, err := d.Normalize(set[name]); err != nil {
				return refuse("%v", err)
			}
		}
	}
	if len(single) > 0 && !oneBroker {
		return refuse("Cannot update these configs at default cluster level, broker id must be specified: [%s]",
			strings.Join(single, ", "))
	}
	return nil
}

// definition finds a setting of a resource.
func definition(kind controller.ConfigKind, key string) (*config.Def, bool) {
	switch kind {
	case controller.KindTopic:
		return config.Topic(key)
	case controller.KindBroker:
		return config.Broker(key)
	case controller.KindGroup:
		return config.Group(key)
	}
	return nil, false
}

// IsList implements controller.ConfigSchema.
func (schema) IsList(kind controller.ConfigKind, key string) bool {
	d, ok := definition(kind, key)
	return ok && d.Type == config.List
}

// Default implements controller.ConfigSchema.
func (s schema) Default(kind controller.ConfigKind, key string) string {
	d, ok := definition(kind, key)
	switch {
	case !ok:
		return ""
	case kind == controller.KindTopic:
		return config.Layers{Static: s.static}.TopicValue(d)
	case kind == controller.KindBroker:
		return config.Layers{Static: s.static}.BrokerValue(d)
	}
	return d.Default
}

// Forgotten implements controller.ConfigSchema.
func (schema) Forgotten(kind controller.ConfigKind, key string) bool {
	return kind == controller.KindTopic && config.Dropped(key)
}

// TopicValue implements controller.ConfigSchema.
func (s schema) TopicValue(key string, topic, broker, cluster map[string]string) string {
	return config.Layers{Topic: topic, Broker: broker, ClusterDefault: cluster, Static: s.static}.TopicValues()(key)
}

// TopicConfigs implements controller.ConfigSchema.
func (s schema) TopicConfigs(topic, broker, cluster map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
	layers := config.Layers{Topic: topic, Broker: broker, ClusterDefault: cluster, Static: s.static}
	var out []kmsg.CreateTopicsResponseTopicConfig
	for _, d := range config.Topics() {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value = d.Name, kmsg.StringPtr(layers.TopicValue(d))
		c.Source = int8(config.SourceDefault)
		if syn := layers.TopicSynonyms(d); len(syn) > 0 {
			c.Source = int8(syn[0].Source)
		}
		c.IsSensitive = d.Sensitive()
		out = append(out, c)
	}
	return out
}

// layers are this broker's settings as an image has them.
func (s schema) layers(im *controller.Image, nodeID int32) config.Layers {
	return config.Layers{
		Broker:         im.Config(controller.KindBroker, fmt.Sprint(nodeID)),
		ClusterDefault: im.Config(controller.KindBroker, ""),
		Static:         s.static,
	}
}
