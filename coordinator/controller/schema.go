package controller

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/config"
)

// Schema is the ConfigSchema of a broker that has the settings of protocol/config.
// The zero value has Kafka's defaults.
type Schema struct {
	// Static is what this node's file sets. Read only.
	Static map[string]string
}

var _ ConfigSchema = Schema{}

// Check implements ConfigSchema.
func (s Schema) Check(r ConfigResource, before, after map[string]string) error {
	switch r.Kind {
	case KindTopic:
		_, err := config.CheckTopic(after, config.Layers{Static: s.Static}.TopicValues())
		return err
	case KindGroup:
		return s.checkGroup(after)
	case KindClientMetrics:
		return checkClientMetrics(r.Name, after)
	}
	return checkBroker(r.Name != "", before, after)
}

// checkGroup checks a group's settings, by themselves and against the bounds that
// the broker sets: group.consumer.max.session.timeout.ms bounds the groups'
// consumer.session.timeout.ms.
func (s Schema) checkGroup(after map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		d, ok := config.Group(name)
		if !ok {
			return fmt.Errorf("Unknown group config name: %s", name) //nolint:staticcheck // Kafka's words.
		}
		if _, err := d.Normalize(after[name]); err != nil {
			return err
		}
		if err := s.checkGroupBounds(name, after[name]); err != nil {
			return err
		}
	}
	return s.checkGroupSessions(after)
}

func (s Schema) checkGroupBounds(name, value string) error {
	kind, what, _ := strings.Cut(name, ".")
	what = strings.TrimPrefix(what, "num.")
	low, least := s.brokerNumber("group." + kind + ".min." + what)
	high, most := s.brokerNumber("group." + kind + ".max." + what)
	if !least && !most {
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return nil //nolint:nilerr // No number: Normalize has judged it.
	}
	if least && n < low {
		return fmt.Errorf("%s is %d, the broker's group.%s.min.%s is %d", name, n, kind, what, low)
	}
	if most && n > high {
		return fmt.Errorf("%s is %d, the broker's group.%s.max.%s is %d", name, n, kind, what, high)
	}
	return nil
}

// checkGroupSessions refuses a session that ends before a heartbeat is due.
func (s Schema) checkGroupSessions(after map[string]string) error {
	for _, kind := range []string{"consumer", "share", "streams"} {
		number := func(what string) (n int64, set bool) {
			if v, ok := after[kind+"."+what]; ok {
				n, err := strconv.ParseInt(v, 10, 64)
				return n, err == nil
			}
			n, _ = s.brokerNumber("group." + kind + "." + what)
			return n, false
		}
		session, a := number("session.timeout.ms")
		heartbeat, b := number("heartbeat.interval.ms")
		if (a || b) && session <= heartbeat {
			return fmt.Errorf("%s.session.timeout.ms (%d) must be more than %s.heartbeat.interval.ms (%d)", kind, session, kind, heartbeat)
		}
	}
	return nil
}

// brokerNumber is the value of a broker's setting that is a number, if there is
// such a one.
func (s Schema) brokerNumber(name string) (int64, bool) {
	d, ok := config.Broker(name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(config.Layers{Static: s.Static}.BrokerValue(d), 10, 64)
	return n, err == nil
}

// checkBroker checks what changed of a broker's dynamic settings. What was there
// before was checked then, perhaps by another release.
func checkBroker(one bool, before, after map[string]string) error {
	var fixed, perBroker []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if old, ok := before[name]; ok && old == after[name] {
			continue
		}
		d, ok := config.Broker(name)
		if !ok {
			continue // Kafka keeps what it does not know: a plugin may.
		}
		switch {
		case d.Update == config.ReadOnly:
			fixed = append(fixed, name)
		case d.Update == config.PerBroker && !one:
			perBroker = append(perBroker, name)
		default:
			if _, err := d.Normalize(after[name]); err != nil {
				return refuse(kerr.InvalidRequest, "%s", err.Error())
			}
		}
	}
	if fixed != nil {
		return refuse(kerr.InvalidRequest, "Cannot update these configs dynamically: Set(%s)", strings.Join(fixed, ", "))
	}
	if perBroker != nil {
		return refuse(kerr.InvalidRequest, "Cannot update these configs at default cluster level, broker id must be specified: Set(%s)",
			strings.Join(perBroker, ", "))
	}
	return nil
}

// Settings of a client metrics subscription (KIP-714).
const (
	metricsList     = "metrics"
	metricsInterval = "interval.ms"
	metricsMatch    = "match"
)

// Parts of a client that a subscription may select by.
var matchable = []string{"client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address", "client_source_port"}

func checkClientMetrics(name string, after map[string]string) error {
	if name == "" {
		return refuse(kerr.InvalidRequest, "Subscription name can't be empty")
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if key != metricsList && key != metricsInterval && key != metricsMatch {
			return refuse(kerr.InvalidRequest, "Unknown client metrics configuration: %s", key)
		}
	}
	if v, ok := after[metricsInterval]; ok {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil {
			return fmt.Errorf("Invalid value %s for configuration %s: Not a number of type INT", v, metricsInterval) //nolint:staticcheck // Kafka's words.
		}
		if n < 100 || n > 3600000 {
			return refuse(kerr.InvalidRequest, "Invalid value %s for %s, interval must be between 100 and 3600000 (1 hour)", v, metricsInterval)
		}
	}
	for _, pattern := range config.SplitList(after[metricsMatch]) {
		part, expr, ok := strings.Cut(pattern, "=")
		_, err := regexp.Compile(strings.TrimSpace(expr))
		if !ok || strings.Contains(expr, "=") || !slices.Contains(matchable, strings.TrimSpace(part)) || err != nil {
			return fmt.Errorf("Illegal client matching pattern: %s", pattern) //nolint:staticcheck // Kafka's words.
		}
	}
	return nil
}

// def finds a setting.
func def(kind ConfigKind, key string) (*config.Def, bool) {
	switch kind {
	case KindTopic:
		return config.Topic(key)
	case KindBroker:
		return config.Broker(key)
	case KindGroup:
		return config.Group(key)
	}
	return nil, false
}

// IsList implements ConfigSchema.
func (s Schema) IsList(kind ConfigKind, key string) bool {
	d, ok := def(kind, key)
	return ok && d.Type == config.List
}

// Default implements ConfigSchema.
func (s Schema) Default(kind ConfigKind, key string) string {
	d, ok := def(kind, key)
	if !ok || d.NoDefault {
		return ""
	}
	return d.Default
}

// Forgotten implements ConfigSchema.
func (s Schema) Forgotten(kind ConfigKind, key string) bool {
	return kind == KindTopic && config.Dropped(key)
}

// TopicValue implements ConfigSchema.
func (s Schema) TopicValue(key string, topic, broker, cluster map[string]string) string {
	return s.layers(topic, broker, cluster).TopicValues()(key)
}

func (s Schema) layers(topic, broker, cluster map[string]string) config.Layers {
	return config.Layers{Topic: topic, Broker: broker, ClusterDefault: cluster, Static: s.Static}
}

// TopicConfigs implements ConfigSchema.
func (s Schema) TopicConfigs(topic, broker, cluster map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
	layers := s.layers(topic, broker, cluster)
	var out []kmsg.CreateTopicsResponseTopicConfig
	for _, d := range config.Topics() {
		if d.Internal {
			continue
		}
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		value, source := layers.TopicValue(d), config.SourceDefault
		if from := layers.TopicSynonyms(d); len(from) > 0 {
			source = from[0].Source
		}
		c.Name, c.Source, c.IsSensitive = d.Name, int8(source), d.Sensitive()
		if !c.IsSensitive {
			c.Value = &value
		}
		out = append(out, c)
	}
	return out
}
