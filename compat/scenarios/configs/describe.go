package configs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// describeScenarios are about DescribeConfigs.
var describeScenarios = []scenario.Scenario{
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
	{ID: "configs.describe.whole-answer", Says: "DescribeConfigs tells every field of a setting in every version.", Run: describeConfigAnswers},
	{ID: "configs.describe.whole-answer.refused", Says: "DescribeConfigs refuses each resource that is not there with a code and why.", Run: describeConfigRefusals},
	{ID: "configs.describe.whole-answer.kinds", Says: "DescribeConfigs tells every field of settings of brokers, groups and client metrics, and refuses groups and subscriptions without a name.", Refs: []string{"KIP-848", "KIP-714"}, Since: "4.0", Run: describeConfigKinds},
	{ID: "configs.describe.one-bad-type", Says: "A kind of resource that does not exist fails the whole DescribeConfigs.", Run: oneBadType}, // Found by a differential run.
	{ID: "configs.describe.doubles", Says: "A setting that is a double is described as Java prints it.", Run: describedDoubles},             // Found by a differential run.
}

func describeTopicAll(t *scenario.T) {
	topic := t.Topic(1)
	types := map[string]kmsg.ConfigType{
		"cleanup.policy": kmsg.ConfigTypeList, "retention.ms": kmsg.ConfigTypeLong, "segment.bytes": kmsg.ConfigTypeInt,
		"min.cleanable.dirty.ratio": kmsg.ConfigTypeDouble, "preallocate": kmsg.ConfigTypeBoolean, "compression.type": kmsg.ConfigTypeString,
	}
	t.Each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		got := t.DescribeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, nil, nil)
		t.OK("describe", got.ErrorCode)
		m := scenario.ByName(got.Configs)
		for _, name := range scenario.TopicSettings {
			c, ok := m[name]
			if !ok {
				t.Fatalf("%s is missing", name)
			}
			scenario.Equal(t, name+" is read only", c.ReadOnly, false)
			scenario.Equal(t, name+" is sensitive", c.IsSensitive, false)
			scenario.Equal(t, name+" has synonyms", len(c.ConfigSynonyms), 0)
			if v >= 3 && types[name] != 0 {
				scenario.Equal(t, "type of "+name, c.ConfigType, types[name])
			}
		}
		scenario.Equal(t, "settings", len(got.Configs), len(scenario.TopicSettings))
		for name, want := range map[string]string{
			"retention.bytes": "-1", "segment.bytes": "1073741824", "max.message.bytes": "1048588", "compression.type": "producer",
			"message.timestamp.type": "CreateTime", "min.cleanable.dirty.ratio": "0.5", "flush.messages": "9223372036854775807",
		} {
			t.Text(name, m[name].Value, want)
			if v >= 1 {
				scenario.Equal(t, "source of "+name, m[name].Source, kmsg.ConfigSourceDefaultConfig)
			} else {
				scenario.Equal(t, name+" is a default", m[name].IsDefault, true)
			}
		}
	})
}

func describeTopicKeys(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		got := t.DescribeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, []string{"retention.ms", "segment.bytes", "no.such.setting"}, nil)
		t.OK("describe", got.ErrorCode)
		t.Text("message", got.ErrorMessage, "")
		var names []string
		for _, c := range got.Configs {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		scenario.EqualLists(t, "settings", names, []string{"retention.ms", "segment.bytes"})
		got = t.DescribeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, []string{}, nil)
		scenario.Equal(t, "settings of an empty list", len(got.Configs), len(scenario.TopicSettings))
	})
}

func describeTopicOverride(t *scenario.T) {
	topic := t.Topic(1, "retention.ms=777", "cleanup.policy=compact")
	t.Each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		m := scenario.ByName(t.DescribeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, nil, nil).Configs)
		t.Text("retention.ms", m["retention.ms"].Value, "777")
		t.Text("cleanup.policy", m["cleanup.policy"].Value, "compact")
		if v >= 1 {
			scenario.Equal(t, "source", m["retention.ms"].Source, kmsg.ConfigSourceDynamicTopicConfig)
		} else {
			scenario.Equal(t, "is a default", m["retention.ms"].IsDefault, false)
		}
	})
}

func describeSynonyms(t *scenario.T) {
	topic := t.Topic(1, "segment.bytes=2000000")
	t.Each(kmsg.DescribeConfigs, 1, 4, func(v int16) {
		m := scenario.ByName(t.DescribeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, nil, func(r *kmsg.DescribeConfigsRequest) { r.IncludeSynonyms = true }).Configs)
		var got []string
		for _, s := range m["segment.bytes"].ConfigSynonyms {
			got = append(got, fmt.Sprintf("%s=%s %s", s.Name, scenario.ValueOr(s.Value, "null"), s.Source))
		}
		scenario.EqualLists(t, "synonyms", got, []string{
			"segment.bytes=2000000 DYNAMIC_TOPIC_CONFIG", "log.segment.bytes=1073741824 DEFAULT_CONFIG",
		})
		scenario.Equal(t, "synonyms of retention.bytes", len(m["retention.bytes"].ConfigSynonyms) > 0, true)
	})
}

func describeUnknownTopic(t *scenario.T) {
	t.Each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		got := t.DescribeConfigs(v, kmsg.ConfigResourceTypeTopic, t.Name("missing"), nil, nil)
		t.Code("unknown", got.ErrorCode, kerr.UnknownTopicOrPartition)
		scenario.Equal(t, "settings", len(got.Configs), 0)
		t.Code("bad name", t.DescribeConfigs(v, kmsg.ConfigResourceTypeTopic, "a b", nil, nil).ErrorCode, kerr.InvalidTopicException)
		t.Code("no name", t.DescribeConfigs(v, kmsg.ConfigResourceTypeTopic, "", nil, nil).ErrorCode, kerr.InvalidTopicException)
	})
}

func describeDocumentation(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.DescribeConfigs, 3, 4, func(v int16) {
		c := scenario.One(t, "settings", t.DescribeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, []string{"retention.ms"}, nil).Configs)
		if c.Documentation != nil {
			t.Fatalf("documentation that was not asked for: %q", *c.Documentation)
		}
		c = scenario.One(t, "settings", t.DescribeConfigs(v, kmsg.ConfigResourceTypeTopic, topic, []string{"retention.ms"},
			func(r *kmsg.DescribeConfigsRequest) { r.IncludeDocumentation = true }).Configs)
		if c.Documentation == nil || *c.Documentation == "" {
			t.Fatalf("there is no documentation")
		}
	})
}

func describeBroker(t *scenario.T) {
	t.Each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		got := t.DescribeConfigs(v, kmsg.ConfigResourceTypeBroker, t.NodeName(), nil, nil)
		t.OK("describe", got.ErrorCode)
		m := scenario.ByName(got.Configs)
		for name, readOnly := range map[string]bool{
			"num.partitions": true, "log.dirs": true, "listeners": false, "log.retention.ms": false, "message.max.bytes": false,
			"node.id": true, "auto.create.topics.enable": true, "offsets.topic.num.partitions": true, "num.io.threads": false,
			"log.segment.bytes": false, "min.insync.replicas": false, "controller.quorum.voters": true,
		} {
			c, ok := m[name]
			if !ok {
				t.Fatalf("%s is missing", name)
			}
			scenario.Equal(t, name+" is read only", c.ReadOnly, readOnly)
		}
		t.Text("node.id", m["node.id"].Value, t.NodeName())
		if v >= 1 {
			scenario.Equal(t, "source of the session timeout", m["group.max.session.timeout.ms"].Source, kmsg.ConfigSourceDefaultConfig)
		}
		c := m["ssl.keystore.password"]
		scenario.Equal(t, "a password is sensitive", c.IsSensitive, true)
		if c.Value != nil {
			t.Fatalf("a password's value is told")
		}
	})
}

func describeBrokerDefault(t *scenario.T) {
	t.Each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		got := t.DescribeConfigs(v, kmsg.ConfigResourceTypeBroker, "", nil, nil)
		t.OK("describe", got.ErrorCode)
		for _, c := range got.Configs {
			if v >= 1 {
				scenario.Equal(t, "source of "+c.Name, c.Source, kmsg.ConfigSourceDynamicDefaultBrokerConfig)
			}
		}
	})
}

func describeBrokerOther(t *scenario.T) {
	t.Each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		for _, name := range []string{"4711", "-1", "abc"} {
			got := t.DescribeConfigs(v, kmsg.ConfigResourceTypeBroker, name, nil, nil)
			t.Code("broker "+name, got.ErrorCode, kerr.InvalidRequest)
			if got.ErrorMessage == nil {
				t.Fatalf("there is no error message")
			}
		}
	})
}

func describeBadType(t *scenario.T) {
	t.Each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		for _, kind := range []kmsg.ConfigResourceType{0, 1, 3, 99} {
			req := kmsg.NewPtrDescribeConfigsRequest()
			rr := kmsg.NewDescribeConfigsRequestResource()
			rr.ResourceType, rr.ResourceName = kind, "x"
			req.Resources = append(req.Resources, rr)
			got := scenario.One(t, "resources", scenario.Ask[*kmsg.DescribeConfigsResponse](t, v, req).Resources)
			t.Code(fmt.Sprint("type ", kind), got.ErrorCode, kerr.InvalidRequest)
		}
	})
}

func describeLoggers(t *scenario.T) {
	t.Each(kmsg.DescribeConfigs, 1, 4, func(v int16) {
		got := t.DescribeConfigs(v, kmsg.ConfigResourceTypeBrokerLogger, t.NodeName(), nil, nil)
		t.OK("describe", got.ErrorCode)
		if !slices.ContainsFunc(got.Configs, func(c kmsg.DescribeConfigsResponseResourceConfig) bool { return c.Name == "root" }) {
			t.Fatalf("the logger root is missing: %s", scenario.Plain(got.Configs))
		}
		for _, c := range got.Configs {
			if c.Value == nil || !slices.Contains([]string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"}, strings.ToUpper(*c.Value)) {
				t.Fatalf("logger %s has level %s", c.Name, scenario.Plain(c.Value))
			}
			scenario.Equal(t, "source", c.Source, kmsg.ConfigSourceDynamicBrokerLoggerConfig)
		}
		t.Code("another broker", t.DescribeConfigs(v, kmsg.ConfigResourceTypeBrokerLogger, "4711", nil, nil).ErrorCode, kerr.InvalidRequest)
	})
}

func describeConfigAnswers(t *scenario.T) {
	topic := t.Topic(1, "retention.ms=12345")
	t.Each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic, ConfigNames: []string{"retention.ms", "no.such.setting", "delete.retention.ms"}}}
		for _, synonyms := range []bool{false, true} {
			req.IncludeSynonyms = synonyms
			got := scenario.Ask[*kmsg.DescribeConfigsResponse](t, v, req)
			for _, r := range got.Resources {
				slices.SortFunc(r.Configs, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return -strings.Compare(a.Name, b.Name) })
			}
			synonym := func(name, value string, source kmsg.ConfigSource) kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
				return kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{Name: name, Value: &value, Source: source}
			}
			own := scenario.Filled(func(c *kmsg.DescribeConfigsResponseResourceConfig) {
				c.Name, c.Value, c.Source, c.ConfigType = "retention.ms", new("12345"), kmsg.ConfigSourceDynamicTopicConfig, kmsg.ConfigTypeLong
				c.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
					synonym("retention.ms", "12345", kmsg.ConfigSourceDynamicTopicConfig),
				}
			})
			byDefault := scenario.Filled(func(c *kmsg.DescribeConfigsResponseResourceConfig) {
				c.Name, c.Value, c.IsDefault, c.Source, c.ConfigType = "delete.retention.ms", new("86400000"), true, kmsg.ConfigSourceDefaultConfig, kmsg.ConfigTypeLong
				c.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{synonym("log.cleaner.delete.retention.ms", "86400000", kmsg.ConfigSourceDefaultConfig)}
			})
			if !synonyms {
				own.ConfigSynonyms, byDefault.ConfigSynonyms = nil, nil
			}
			scenario.Whole(t, "DescribeConfigs", got, scenario.FilledPtr(func(r *kmsg.DescribeConfigsResponse) {
				r.Resources = []kmsg.DescribeConfigsResponseResource{scenario.Filled(func(rr *kmsg.DescribeConfigsResponseResource) {
					rr.ErrorMessage, rr.ResourceType, rr.ResourceName = new(""), kmsg.ConfigResourceTypeTopic, topic
					rr.Configs = []kmsg.DescribeConfigsResponseResourceConfig{own, byDefault}
				})}
			}))
		}
	})
}

func describeConfigRefusals(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		describe := func(what string, want map[string]kmsg.DescribeConfigsResponseResource, asked ...kmsg.DescribeConfigsRequestResource) {
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.Resources = asked
			got := scenario.Ask[*kmsg.DescribeConfigsResponse](t, v, req)
			resp := kmsg.NewPtrDescribeConfigsResponse()
			for _, a := range asked {
				rr := want[a.ResourceName]
				rr.ResourceType, rr.ResourceName = a.ResourceType, a.ResourceName
				resp.Resources = append(resp.Resources, rr)
			}
			for _, r := range []*kmsg.DescribeConfigsResponse{got, resp} {
				slices.SortFunc(r.Resources, func(a, b kmsg.DescribeConfigsResponseResource) int {
					return strings.Compare(a.ResourceName, b.ResourceName)
				})
			}
			scenario.Whole(t, what, got, resp)
		}
		of := func(kind kmsg.ConfigResourceType, name string) kmsg.DescribeConfigsRequestResource {
			return kmsg.DescribeConfigsRequestResource{ResourceType: kind, ResourceName: name, ConfigNames: []string{"none"}}
		}
		refused := func(e *kerr.Error, says string) kmsg.DescribeConfigsResponseResource {
			return kmsg.DescribeConfigsResponseResource{ErrorCode: e.Code, ErrorMessage: &says}
		}
		other := strconv.Itoa(int(t.Node() + 1))
		describe("some are not there", map[string]kmsg.DescribeConfigsResponseResource{
			topic:     {ErrorMessage: new("")},
			"missing": refused(kerr.UnknownTopicOrPartition, ""),
			"a b":     refused(kerr.InvalidTopicException, "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
			other:     refused(kerr.InvalidRequest, "Unexpected broker id, expected "+t.NodeName()+" or empty string, but received "+other),
			"many":    refused(kerr.InvalidRequest, "Broker id must be an integer, but it is: many"),
		}, of(kmsg.ConfigResourceTypeTopic, topic), of(kmsg.ConfigResourceTypeTopic, "missing"), of(kmsg.ConfigResourceTypeTopic, "a b"),
			of(kmsg.ConfigResourceTypeBroker, other), of(kmsg.ConfigResourceTypeBroker, "many"))
		if v < 1 {
			return
		}
		for _, kind := range []int8{0, 3, 64, math.MaxInt8} {
			asked := of(kmsg.ConfigResourceType(kind), "odd")
			for _, all := range [][]kmsg.DescribeConfigsRequestResource{{asked}, {asked, of(kmsg.ConfigResourceTypeTopic, topic)}, {of(kmsg.ConfigResourceTypeTopic, topic), asked}} {
				req := kmsg.NewPtrDescribeConfigsRequest()
				req.Resources = all
				for _, r := range scenario.Ask[*kmsg.DescribeConfigsResponse](t, v, req).Resources {
					t.Code("a kind that is none, and what is beside it", r.ErrorCode, kerr.InvalidRequest)
				}
			}
		}
	})
}

// alterKinds sets or takes back a setting of a group, and one of a client metrics
// subscription of the same name.
func alterKinds(t *scenario.T, name string, op kmsg.IncrementalAlterConfigOp) {
	set := kmsg.NewPtrIncrementalAlterConfigsRequest()
	add := func(kind kmsg.ConfigResourceType, key, value string) {
		set.Resources = append(set.Resources, kmsg.IncrementalAlterConfigsRequestResource{
			ResourceType: kind, ResourceName: name,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Op: op, Value: &value}},
		})
	}
	add(kmsg.ConfigResourceTypeGroupConfig, "consumer.session.timeout.ms", "50000")
	add(kmsg.ConfigResourceTypeClientMetrics, "interval.ms", "60000")
	for _, r := range scenario.AskOn[*kmsg.IncrementalAlterConfigsResponse](t, t.Dial(), 1, set).Resources {
		t.OK("alter", r.ErrorCode)
	}
}

func describeConfigKinds(t *scenario.T) {
	group := t.Name("g")
	alterKinds(t, group, 0)
	t.Cleanup(func() { alterKinds(t, group, 1) })
	type setting = kmsg.DescribeConfigsResponseResourceConfig
	synonym := func(name, value string, source kmsg.ConfigSource) kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
		return kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{Name: name, Value: &value, Source: source}
	}
	plainSetting := func(name, value string, kind kmsg.ConfigType) setting {
		return scenario.Filled(func(c *setting) {
			c.Name, c.Value, c.IsDefault, c.Source, c.ConfigType = name, &value, true, kmsg.ConfigSourceDefaultConfig, kind
			c.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{synonym(name, value, kmsg.ConfigSourceDefaultConfig)}
		})
	}
	own := plainSetting("consumer.session.timeout.ms", "50000", kmsg.ConfigTypeInt)
	own.IsDefault, own.Source = false, 8 // DYNAMIC_GROUP_CONFIG
	own.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
		synonym(own.Name, "50000", 8),
	}
	unset := plainSetting("interval.ms", "300000", kmsg.ConfigTypeInt)
	interval := unset
	unset.ConfigSynonyms = nil
	interval.Value, interval.IsDefault, interval.Source = new("60000"), false, 7 // CLIENT_METRICS_CONFIG
	interval.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{synonym(interval.Name, "60000", 7)}
	readOnly := plainSetting("socket.listen.backlog.size", "50", kmsg.ConfigTypeInt)
	readOnly.ReadOnly = true
	t.Until("the setting of the group", func() bool {
		return t.Setting(kmsg.ConfigResourceTypeGroupConfig, group, own.Name) == "50000"
	})
	t.Each(kmsg.DescribeConfigs, 1, 4, func(v int16) {
		for _, c := range []struct {
			kind kmsg.ConfigResourceType
			name string
			want setting
			e    *kerr.Error
			says string
		}{
			{kind: kmsg.ConfigResourceTypeBroker, name: t.NodeName(), want: readOnly},
			{kind: kmsg.ConfigResourceTypeBroker, name: t.NodeName(), want: plainSetting("log.cleaner.threads", "1", kmsg.ConfigTypeInt)},
			{kind: kmsg.ConfigResourceTypeGroupConfig, name: group, want: own},
			{kind: kmsg.ConfigResourceTypeGroupConfig, name: group, want: plainSetting("consumer.heartbeat.interval.ms", "5000", kmsg.ConfigTypeInt)},
			{kind: kmsg.ConfigResourceTypeClientMetrics, name: "m", want: unset},
			{kind: kmsg.ConfigResourceTypeClientMetrics, name: group, want: interval},
			{kind: kmsg.ConfigResourceTypeGroupConfig, e: kerr.InvalidRequest, says: "Group name must not be empty"},
			{kind: kmsg.ConfigResourceTypeClientMetrics, e: kerr.InvalidRequest, says: "Client metrics subscription name must not be empty"},
			{kind: kmsg.ConfigResourceTypeBrokerLogger, e: kerr.InvalidRequest, says: "Broker id must not be empty"},
			{
				kind: kmsg.ConfigResourceTypeBrokerLogger, name: strconv.Itoa(int(t.Node() + 1)), e: kerr.InvalidRequest,
				says: "Unexpected broker id, expected " + t.NodeName() + " but received " + strconv.Itoa(int(t.Node()+1)),
			},
		} {
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.IncludeSynonyms = true
			req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: c.kind, ResourceName: c.name, ConfigNames: []string{c.want.Name}}}
			scenario.Whole(t, "DescribeConfigs of "+c.name, scenario.Ask[*kmsg.DescribeConfigsResponse](t, v, req), scenario.FilledPtr(func(r *kmsg.DescribeConfigsResponse) {
				r.Resources = []kmsg.DescribeConfigsResponseResource{scenario.Filled(func(rr *kmsg.DescribeConfigsResponseResource) {
					rr.ResourceType, rr.ResourceName, rr.ErrorMessage = c.kind, c.name, &c.says
					if c.e != nil {
						rr.ErrorCode = c.e.Code
						return
					}
					rr.Configs = []setting{c.want}
				})}
			}))
		}
	})
}

func oneBadType(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		for _, kind := range []kmsg.ConfigResourceType{kmsg.ConfigResourceTypeTopic, 3} {
			rr := kmsg.NewDescribeConfigsRequestResource()
			rr.ResourceType, rr.ResourceName = kind, topic
			req.Resources = append(req.Resources, rr)
		}
		resp := scenario.Ask[*kmsg.DescribeConfigsResponse](t, v, req)
		scenario.Equal(t, "resources", len(resp.Resources), 2)
		for _, r := range resp.Resources {
			t.Code("describe", r.ErrorCode, kerr.InvalidRequest)
			scenario.Equal(t, "settings", len(r.Configs), 0)
		}
	})
}

func describedDoubles(t *scenario.T) {
	for given, want := range map[string]string{"1": "1.0", "0": "0.0", "0.25": "0.25", "0.0005": "5.0E-4", "0.50": "0.5"} {
		topic := t.Topic(1, "min.cleanable.dirty.ratio="+given)
		got := t.DescribeConfigs(t.Newest(kmsg.DescribeConfigs, 4), kmsg.ConfigResourceTypeTopic, topic, []string{"min.cleanable.dirty.ratio"}, nil)
		t.OK("describe", got.ErrorCode)
		c := scenario.One(t, "settings", got.Configs)
		if c.Value == nil || *c.Value != want {
			t.Fatalf("%s is described as %s, want %s", given, scenario.Plain(c.Value), want)
		}
	}
}
