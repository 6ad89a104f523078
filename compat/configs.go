package compat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicSettings are the settings of topics in Kafka 4.2.
var topicSettings = []string{
	"cleanup.policy", "compression.gzip.level", "compression.lz4.level", "compression.type", "compression.zstd.level",
	"delete.retention.ms", "file.delete.delay.ms", "flush.messages", "flush.ms",
	"follower.replication.throttled.replicas", "index.interval.bytes", "leader.replication.throttled.replicas",
	"local.retention.bytes", "local.retention.ms", "max.compaction.lag.ms", "max.decompressed.message.bytes", "max.message.bytes",
	"message.timestamp.after.max.ms", "message.timestamp.before.max.ms", "message.timestamp.type",
	"min.cleanable.dirty.ratio", "min.compaction.lag.ms", "min.insync.replicas", "preallocate",
	"remote.log.copy.disable", "remote.log.delete.on.disable", "remote.storage.enable", "retention.bytes", "retention.ms",
	"segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms", "unclean.leader.election.enable",
}

// describeConfigScenarios are about DescribeConfigs.
var describeConfigScenarios = []Scenario{
	{ID: "configs.describe.topic.all", Says: "All settings of a topic are described, with defaults, sources and types.", Refs: []string{"KAFKA-12235", "case A11"}, Run: describeTopicAll},
	{ID: "configs.describe.topic.keys", Says: "Named settings are described and no others; an empty list names all, as null does.", Refs: []string{"KAFKA-12235", "nisshi FINDINGS rdk 5", "case A11"}, Run: describeTopicKeys},
	{ID: "configs.describe.topic.override", Says: "A topic's own setting is described with its source.", Run: describeTopicOverride},
	{ID: "configs.describe.topic.synonyms", Says: "Synonyms, from version 1 when asked for, tell where a value comes from, the topic first.", Refs: []string{"KIP-226"}, Run: describeSynonyms},
	{ID: "configs.describe.topic.unknown", Says: "An unknown topic is UNKNOWN_TOPIC_OR_PARTITION, a bad name INVALID_TOPIC_EXCEPTION.", Run: describeUnknownTopic},
	{ID: "configs.describe.documentation", Says: "Documentation is told from version 3 when asked for.", Refs: []string{"KIP-569"}, Run: describeDocumentation},
	{ID: "configs.describe.broker", Says: "A broker's settings are described, read only those that need a restart.", Run: describeBroker},
	{ID: "configs.describe.broker.default", Says: "Without a name only the cluster-wide dynamic settings are described.", Refs: []string{"KIP-226"}, Run: describeBrokerDefault},
	{ID: "configs.describe.broker.other", Says: "Another broker's id, or no number, is INVALID_REQUEST.", Run: describeBrokerOther},
	{ID: "configs.describe.type", Says: "A kind of resource that has no settings is INVALID_REQUEST.", Run: describeBadType},
	{ID: "configs.describe.logger", Says: "A broker's loggers have levels.", Refs: []string{"KIP-412"}, Run: describeLoggers},
}

// describeConfigs describes settings of one resource, all if keys is nil; change may
// alter the request.
func (t *T) describeConfigs(version int16, kind kmsg.ConfigResourceType, name string, keys []string, change func(*kmsg.DescribeConfigsRequest)) kmsg.DescribeConfigsResponseResource {
	req := kmsg.NewPtrDescribeConfigsRequest()
	rr := kmsg.NewDescribeConfigsRequestResource()
	rr.ResourceType, rr.ResourceName, rr.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, rr)
	if change != nil {
		change(req)
	}
	got := one(t, "resources", ask[*kmsg.DescribeConfigsResponse](t, version, req).Resources)
	equal(t, "resource type", got.ResourceType, kind)
	equal(t, "resource name", got.ResourceName, name)
	return got
}

// byName are settings by their names.
func byName(cs []kmsg.DescribeConfigsResponseResourceConfig) map[string]kmsg.DescribeConfigsResponseResourceConfig {
	m := map[string]kmsg.DescribeConfigsResponseResourceConfig{}
	for _, c := range cs {
		m[c.Name] = c
	}
	return m
}

// setting is one setting's value, "" if it has none.
func (t *T) setting(kind kmsg.ConfigResourceType, name, key string) string {
	got := t.describeConfigs(t.newest(kmsg.DescribeConfigs, 2), kind, name, []string{key}, nil)
	t.ok("describe "+name, got.ErrorCode)
	for _, c := range got.Configs {
		if c.Value != nil {
			return *c.Value
		}
	}
	return ""
}

// topicSetting is the value of a topic's setting.
func (t *T) topicSetting(topic, key string) string {
	return t.setting(kmsg.ConfigResourceTypeTopic, topic, key)
}

func describeTopicAll(t *T) {
	topic := t.Topic(1)
	types := map[string]kmsg.ConfigType{
		"cleanup.policy": kmsg.ConfigTypeList, "retention.ms": kmsg.ConfigTypeLong, "segment.bytes": kmsg.ConfigTypeInt,
		"min.cleanable.dirty.ratio": kmsg.ConfigTypeDouble, "preallocate": kmsg.ConfigTypeBoolean, "compression.type": kmsg.ConfigTypeString,
	}
	t.each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		got := t.describeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, nil, nil)
		t.ok("describe", got.ErrorCode)
		m := byName(got.Configs)
		for _, name := range topicSettings {
			c, ok := m[name]
			if !ok {
				t.Fatalf("%s is missing", name)
			}
			equal(t, name+" is read only", c.ReadOnly, false)
			equal(t, name+" is sensitive", c.IsSensitive, false)
			equal(t, name+" has synonyms", len(c.ConfigSynonyms), 0)
			if v >= 3 && types[name] != 0 {
				equal(t, "type of "+name, c.ConfigType, types[name])
			}
		}
		equal(t, "settings", len(got.Configs), len(topicSettings))
		for name, want := range map[string]string{
			"retention.bytes": "-1", "segment.bytes": "1073741824", "max.message.bytes": "1048588", "compression.type": "producer",
			"message.timestamp.type": "CreateTime", "min.cleanable.dirty.ratio": "0.5", "flush.messages": "9223372036854775807",
		} {
			t.text(name, m[name].Value, want)
			if v >= 1 {
				equal(t, "source of "+name, m[name].Source, kmsg.ConfigSourceDefaultConfig)
			} else {
				equal(t, name+" is a default", m[name].IsDefault, true)
			}
		}
	})
}

func describeTopicKeys(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		got := t.describeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, []string{"retention.ms", "segment.bytes", "no.such.setting"}, nil)
		t.ok("describe", got.ErrorCode)
		t.text("message", got.ErrorMessage, "")
		var names []string
		for _, c := range got.Configs {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		equals(t, "settings", names, []string{"retention.ms", "segment.bytes"})
		got = t.describeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, []string{}, nil)
		equal(t, "settings of an empty list", len(got.Configs), len(topicSettings))
	})
}

func describeTopicOverride(t *T) {
	topic := t.Topic(1, "retention.ms=777", "cleanup.policy=compact")
	t.each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		m := byName(t.describeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, nil, nil).Configs)
		t.text("retention.ms", m["retention.ms"].Value, "777")
		t.text("cleanup.policy", m["cleanup.policy"].Value, "compact")
		if v >= 1 {
			equal(t, "source", m["retention.ms"].Source, kmsg.ConfigSourceDynamicTopicConfig)
		} else {
			equal(t, "is a default", m["retention.ms"].IsDefault, false)
		}
	})
}

func describeSynonyms(t *T) {
	topic := t.Topic(1, "segment.bytes=2000000")
	t.each(kmsg.DescribeConfigs, 1, 4, func(v int16) {
		m := byName(t.describeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, nil, func(r *kmsg.DescribeConfigsRequest) { r.IncludeSynonyms = true }).Configs)
		var got []string
		for _, s := range m["segment.bytes"].ConfigSynonyms {
			got = append(got, fmt.Sprintf("%s=%s %s", s.Name, or(s.Value, "null"), s.Source))
		}
		equals(t, "synonyms", got, []string{
			"segment.bytes=2000000 DYNAMIC_TOPIC_CONFIG", "log.segment.bytes=1073741824 DEFAULT_CONFIG",
		})
		equal(t, "synonyms of retention.bytes", len(m["retention.bytes"].ConfigSynonyms) > 0, true)
	})
}

func describeUnknownTopic(t *T) {
	t.each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		got := t.describeConfigs(v, kmsg.ConfigResourceTypeTopic, t.name("missing"), nil, nil)
		t.code("unknown", got.ErrorCode, kerr.UnknownTopicOrPartition)
		equal(t, "settings", len(got.Configs), 0)
		t.code("bad name", t.describeConfigs(v, kmsg.ConfigResourceTypeTopic, "a b", nil, nil).ErrorCode, kerr.InvalidTopicException)
		t.code("no name", t.describeConfigs(v, kmsg.ConfigResourceTypeTopic, "", nil, nil).ErrorCode, kerr.InvalidTopicException)
	})
}

func describeDocumentation(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.DescribeConfigs, 3, 4, func(v int16) {
		c := one(t, "settings", t.describeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, []string{"retention.ms"}, nil).Configs)
		if c.Documentation != nil {
			t.Fatalf("documentation that was not asked for: %q", *c.Documentation)
		}
		c = one(t, "settings", t.describeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, []string{"retention.ms"},
			func(r *kmsg.DescribeConfigsRequest) { r.IncludeDocumentation = true }).Configs)
		if c.Documentation == nil || *c.Documentation == "" {
			t.Fatalf("there is no documentation")
		}
	})
}

func describeBroker(t *T) {
	t.each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		got := t.describeConfigs(v, kmsg.ConfigResourceTypeBroker, t.nodeName(), nil, nil)
		t.ok("describe", got.ErrorCode)
		m := byName(got.Configs)
		for name, readOnly := range map[string]bool{
			"num.partitions": true, "log.dirs": true, "listeners": false, "log.retention.ms": false, "message.max.bytes": false,
			"node.id": true, "auto.create.topics.enable": true, "offsets.topic.num.partitions": true, "num.io.threads": false,
			"log.segment.bytes": false, "min.insync.replicas": false, "controller.quorum.voters": true,
		} {
			c, ok := m[name]
			if !ok {
				t.Fatalf("%s is missing", name)
			}
			equal(t, name+" is read only", c.ReadOnly, readOnly)
		}
		t.text("node.id", m["node.id"].Value, t.nodeName())
		if v >= 1 {
			equal(t, "source of the session timeout", m["group.max.session.timeout.ms"].Source, kmsg.ConfigSourceDefaultConfig)
		}
		c := m["ssl.keystore.password"]
		equal(t, "a password is sensitive", c.IsSensitive, true)
		if c.Value != nil {
			t.Fatalf("a password's value is told")
		}
	})
}

func describeBrokerDefault(t *T) {
	t.each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		got := t.describeConfigs(v, kmsg.ConfigResourceTypeBroker, "", nil, nil)
		t.ok("describe", got.ErrorCode)
		for _, c := range got.Configs {
			if v >= 1 {
				equal(t, "source of "+c.Name, c.Source, kmsg.ConfigSourceDynamicDefaultBrokerConfig)
			}
		}
	})
}

func describeBrokerOther(t *T) {
	t.each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		for _, name := range []string{"4711", "-1", "abc"} {
			got := t.describeConfigs(v, kmsg.ConfigResourceTypeBroker, name, nil, nil)
			t.code("broker "+name, got.ErrorCode, kerr.InvalidRequest)
			if got.ErrorMessage == nil {
				t.Fatalf("there is no error message")
			}
		}
	})
}

func describeBadType(t *T) {
	t.each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		for _, kind := range []kmsg.ConfigResourceType{0, 1, 3, 99} {
			req := kmsg.NewPtrDescribeConfigsRequest()
			rr := kmsg.NewDescribeConfigsRequestResource()
			rr.ResourceType, rr.ResourceName = kind, "x"
			req.Resources = append(req.Resources, rr)
			got := one(t, "resources", ask[*kmsg.DescribeConfigsResponse](t, v, req).Resources)
			t.code(fmt.Sprint("type ", kind), got.ErrorCode, kerr.InvalidRequest)
		}
	})
}

func describeLoggers(t *T) {
	t.each(kmsg.DescribeConfigs, 1, 4, func(v int16) {
		got := t.describeConfigs(v, kmsg.ConfigResourceTypeBrokerLogger, t.nodeName(), nil, nil)
		t.ok("describe", got.ErrorCode)
		if !slices.ContainsFunc(got.Configs, func(c kmsg.DescribeConfigsResponseResourceConfig) bool { return c.Name == "root" }) {
			t.Fatalf("the logger root is missing: %s", plain(got.Configs))
		}
		for _, c := range got.Configs {
			if c.Value == nil || !slices.Contains([]string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"}, strings.ToUpper(*c.Value)) {
				t.Fatalf("logger %s has level %s", c.Name, plain(c.Value))
			}
			equal(t, "source", c.Source, kmsg.ConfigSourceDynamicBrokerLoggerConfig)
		}
		t.code("another broker", t.describeConfigs(v, kmsg.ConfigResourceTypeBrokerLogger, "4711", nil, nil).ErrorCode, kerr.InvalidRequest)
	})
}
