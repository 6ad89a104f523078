package configs

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// incrementalScenarios are about IncrementalAlterConfigs.
var incrementalScenarios = []scenario.Scenario{
	{ID: "configs.incremental.set-delete", Says: "IncrementalAlterConfigs sets and takes back single settings.", Refs: []string{"KIP-339"}, Run: incrementalSetDelete},
	{ID: "configs.incremental.append-subtract", Says: "Items of lists are added and removed; settings that are no lists refuse it.", Refs: []string{"KIP-339", "KAFKA-9644", "case A09"}, Run: incrementalLists},
	{ID: "configs.incremental.validate-only", Says: "With validate_only nothing changes.", Run: incrementalValidate},
	{ID: "configs.incremental.duplicates", Says: "A setting twice in a resource, or a resource twice, is INVALID_REQUEST.", Refs: []string{"KIP-339"}, Run: incrementalDuplicates},
	{ID: "configs.incremental.errors", Says: "Unknown topics, settings, operations and values are refused.", Run: incrementalErrors},
	{ID: "configs.incremental.all-or-nothing", Says: "A resource's changes are made together or not at all; other resources are not affected.", Run: incrementalAtomic},
	{ID: "configs.incremental.broker", Says: "A dynamic setting of all brokers takes effect, is told with its source, and goes.", Refs: []string{"KIP-226"}, Alone: true, Run: incrementalBroker},
	{ID: "configs.incremental.broker.read-only", Says: "Settings of a broker that need a restart are INVALID_REQUEST.", Refs: []string{"KIP-226"}, Run: incrementalBrokerReadOnly},
	{ID: "configs.incremental.group", Says: "Groups have settings of their own.", Refs: []string{"KIP-848"}, Since: "3.8", Run: incrementalGroup},
}

func incrementalSetDelete(t *scenario.T) {
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		topic := t.Topic(1, "retention.ms=1000000")
		got := t.Alter(v, kmsg.ConfigResourceTypeTopic, topic, scenario.Set("segment.bytes", "2000000"))
		t.OK("set", got.ErrorCode)
		scenario.Equal(t, "resource", got.ResourceName, topic)
		t.Becomes(topic, "segment.bytes", "2000000")
		scenario.Equal(t, "retention.ms stays", t.TopicSetting(topic, "retention.ms"), "1000000")
		t.OK("delete", t.Alter(v, kmsg.ConfigResourceTypeTopic, topic, scenario.Unset("retention.ms")).ErrorCode)
		t.Becomes(topic, "retention.ms", "604800000")
		t.OK("delete what is not set", t.Alter(v, kmsg.ConfigResourceTypeTopic, topic, scenario.Unset("flush.ms")).ErrorCode)
	})
}

func incrementalLists(t *scenario.T) {
	appending := func(name, value string) scenario.Change {
		return scenario.Change{Op: kmsg.IncrementalAlterConfigOpAppend, Name: name, Value: &value}
	}
	subtracting := func(name, value string) scenario.Change {
		return scenario.Change{Op: kmsg.IncrementalAlterConfigOpSubtract, Name: name, Value: &value}
	}
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		topic := t.Topic(1, "cleanup.policy=compact")
		t.OK("append", t.Alter(v, kmsg.ConfigResourceTypeTopic, topic, appending("cleanup.policy", "delete")).ErrorCode)
		t.Becomes(topic, "cleanup.policy", "compact,delete")
		t.OK("append again", t.Alter(v, kmsg.ConfigResourceTypeTopic, topic, appending("cleanup.policy", "delete")).ErrorCode)
		scenario.Equal(t, "cleanup.policy", t.TopicSetting(topic, "cleanup.policy"), "compact,delete")
		t.OK("subtract", t.Alter(v, kmsg.ConfigResourceTypeTopic, topic, subtracting("cleanup.policy", "delete")).ErrorCode)
		t.Becomes(topic, "cleanup.policy", "compact")
		t.Code("append to a number", t.Alter(v, kmsg.ConfigResourceTypeTopic, topic, appending("retention.ms", "1")).ErrorCode, kerr.InvalidConfig)
		t.Code("subtract from a number", t.Alter(v, kmsg.ConfigResourceTypeTopic, topic, subtracting("retention.ms", "1")).ErrorCode, kerr.InvalidConfig)
		t.Code("append nonsense", t.Alter(v, kmsg.ConfigResourceTypeTopic, topic, appending("cleanup.policy", "burn")).ErrorCode, kerr.InvalidConfig)
	})
}

func incrementalValidate(t *scenario.T) {
	topic := t.Topic(1, "retention.ms=1000000")
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		req := scenario.IncrementalAlter(kmsg.ConfigResourceTypeTopic, topic, scenario.Set("retention.ms", "5"))
		req.ValidateOnly = true
		t.OK("validate", scenario.One(t, "resources", scenario.Ask[*kmsg.IncrementalAlterConfigsResponse](t, v, req).Resources).ErrorCode)
		req = scenario.IncrementalAlter(kmsg.ConfigResourceTypeTopic, topic, scenario.Set("retention.ms", "x"))
		req.ValidateOnly = true
		t.Code("validate nonsense", scenario.One(t, "resources", scenario.Ask[*kmsg.IncrementalAlterConfigsResponse](t, v, req).Resources).ErrorCode, kerr.InvalidConfig)
		scenario.Equal(t, "retention.ms", t.TopicSetting(topic, "retention.ms"), "1000000")
	})
}

func incrementalDuplicates(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		t.Code("setting twice", t.Alter(v, kmsg.ConfigResourceTypeTopic, topic, scenario.Set("retention.ms", "5"), scenario.Set("retention.ms", "6")).ErrorCode, kerr.InvalidRequest)
		req := scenario.IncrementalAlter(kmsg.ConfigResourceTypeTopic, topic, scenario.Set("retention.ms", "5"))
		req.Resources = append(req.Resources, req.Resources[0])
		answers := scenario.Ask[*kmsg.IncrementalAlterConfigsResponse](t, v, req).Resources
		scenario.Equal(t, "answers", len(answers), 2)
		for _, got := range answers {
			scenario.Equal(t, "resource", got.ResourceName, topic)
			t.Code("resource twice", got.ErrorCode, kerr.InvalidRequest)
		}
		scenario.Equal(t, "retention.ms", t.TopicSetting(topic, "retention.ms"), "604800000")
	})
}

func incrementalErrors(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		try := func(what, name string, c scenario.Change, want *kerr.Error) {
			got := t.Alter(v, kmsg.ConfigResourceTypeTopic, name, c)
			t.Code(what, got.ErrorCode, want)
			if got.ErrorMessage == nil || *got.ErrorMessage == "" {
				t.Fatalf("%s: there is no error message", what)
			}
		}
		try("unknown topic", t.Name("missing"), scenario.Set("retention.ms", "5"), kerr.UnknownTopicOrPartition)
		try("bad name", "a b", scenario.Set("retention.ms", "5"), kerr.InvalidTopicException)
		try("unknown setting", topic, scenario.Set("foo.bar", "5"), kerr.InvalidConfig)
		try("bad value", topic, scenario.Set("retention.ms", "-2"), kerr.InvalidConfig)
		try("null", topic, scenario.Change{Op: kmsg.IncrementalAlterConfigOpSet, Name: "retention.ms", Value: nil}, kerr.InvalidRequest)
		// AlterConfigOp.OpType.forId gives null, over which Kafka falls.
		unknown := t.Alter(v, kmsg.ConfigResourceTypeTopic, topic, scenario.Change{Op: 9, Name: "retention.ms", Value: new("5")})
		t.Code("unknown operation", unknown.ErrorCode, kerr.UnknownServerError)
	})
}

func incrementalAtomic(t *scenario.T) {
	a, b := t.Topic(1), t.Topic(1)
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		req := scenario.IncrementalAlter(kmsg.ConfigResourceTypeTopic, a, scenario.Set("retention.ms", "777"), scenario.Set("segment.bytes", "x"))
		req.Resources = append(req.Resources, scenario.IncrementalAlter(kmsg.ConfigResourceTypeTopic, b, scenario.Set("retention.ms", "888")).Resources...)
		codes := map[string]int16{}
		for _, got := range scenario.Ask[*kmsg.IncrementalAlterConfigsResponse](t, v, req).Resources {
			codes[got.ResourceName] = got.ErrorCode
		}
		t.Code("first", codes[a], kerr.InvalidConfig)
		t.OK("second", codes[b])
		t.Becomes(b, "retention.ms", "888")
		scenario.Equal(t, "retention.ms of the first", t.TopicSetting(a, "retention.ms"), "604800000")
	})
}

func incrementalBroker(t *scenario.T) {
	const key = "message.max.bytes"
	topic := t.Topic(1)
	before := t.Setting(kmsg.ConfigResourceTypeBroker, t.NodeName(), key)
	t.UnsetAtEnd(t.Newest(kmsg.IncrementalAlterConfigs, 1), kmsg.ConfigResourceTypeBroker, "", key)
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		t.OK("set", t.Alter(v, kmsg.ConfigResourceTypeBroker, "", scenario.Set(key, "54321")).ErrorCode)
		t.Becomes(topic, "max.message.bytes", "54321")
		got := t.DescribeConfigs(t.Newest(kmsg.DescribeConfigs, 4), kmsg.ConfigResourceTypeTopic, topic, []string{"max.message.bytes"}, nil)
		scenario.Equal(t, "source", scenario.One(t, "settings", got.Configs).Source, kmsg.ConfigSourceDynamicDefaultBrokerConfig)
		t.Until("the bound", func() bool {
			return t.Produce(t.Newest(kmsg.Produce, 9), topic, scenario.BigBatch(60000).Bytes()).ErrorCode == kerr.MessageTooLarge.Code
		})
		t.OK("delete", t.Alter(v, kmsg.ConfigResourceTypeBroker, "", scenario.Unset(key)).ErrorCode)
		t.Until("the old value", func() bool { return t.Setting(kmsg.ConfigResourceTypeBroker, t.NodeName(), key) == before })
	})
}

func incrementalBrokerReadOnly(t *scenario.T) {
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		for _, c := range []scenario.Change{scenario.Set("num.partitions", "2"), scenario.Set("node.id", "7"), scenario.Set("auto.create.topics.enable", "false")} {
			got := t.Alter(v, kmsg.ConfigResourceTypeBroker, "", c)
			t.Code(c.Name, got.ErrorCode, kerr.InvalidRequest)
		}
		t.Code("bad value", t.Alter(v, kmsg.ConfigResourceTypeBroker, "", scenario.Set("log.retention.ms", "x")).ErrorCode, kerr.InvalidRequest)
		t.Code("another broker", t.Alter(v, kmsg.ConfigResourceTypeBroker, "4711", scenario.Set("log.retention.ms", "5")).ErrorCode, kerr.InvalidRequest)
	})
}

func incrementalGroup(t *scenario.T) {
	group := t.Group()
	const key = "consumer.session.timeout.ms"
	value := func() string { return t.Setting(kmsg.ConfigResourceTypeGroupConfig, group, key) }
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		t.UnsetAtEnd(v, kmsg.ConfigResourceTypeGroupConfig, group, key)
		scenario.Equal(t, "default", value(), "45000")
		t.OK("set", t.Alter(v, kmsg.ConfigResourceTypeGroupConfig, group, scenario.Set(key, "50000")).ErrorCode)
		t.Until("the value", func() bool { return value() == "50000" })
		t.Code("above the broker's bound", t.Alter(v, kmsg.ConfigResourceTypeGroupConfig, group, scenario.Set(key, "100000000")).ErrorCode, kerr.InvalidConfig)
		t.Code("unknown", t.Alter(v, kmsg.ConfigResourceTypeGroupConfig, group, scenario.Set("foo", "1")).ErrorCode, kerr.InvalidConfig)
		t.Code("no name", t.Alter(v, kmsg.ConfigResourceTypeGroupConfig, "", scenario.Set(key, "50000")).ErrorCode, kerr.InvalidRequest)
		t.OK("delete", t.Alter(v, kmsg.ConfigResourceTypeGroupConfig, group, scenario.Unset(key)).ErrorCode)
		t.Until("the default", func() bool { return value() == "45000" })
	})
}
