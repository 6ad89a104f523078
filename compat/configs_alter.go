package compat

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterConfigScenarios are about AlterConfigs and IncrementalAlterConfigs.
var alterConfigScenarios = []Scenario{
	{ID: "configs.alter.replaces", Says: "AlterConfigs replaces all settings of a topic.", Run: alterReplaces},
	{ID: "configs.alter.errors", Says: "AlterConfigs refuses unknown topics, settings and values and changes nothing.", Run: alterErrors},
	{ID: "configs.incremental.set-delete", Says: "IncrementalAlterConfigs sets and takes back single settings.", Refs: []string{"KIP-339"}, Run: incrementalSetDelete},
	{ID: "configs.incremental.append-subtract", Says: "Items of lists are added and removed; settings that are no lists refuse it.", Refs: []string{"KIP-339", "KAFKA-9644", "case A09"}, Run: incrementalLists},
	{ID: "configs.incremental.validate-only", Says: "With validate_only nothing changes.", Run: incrementalValidate},
	{ID: "configs.incremental.duplicates", Says: "A setting twice in a resource, or a resource twice, is INVALID_REQUEST.", Refs: []string{"KIP-339"}, Run: incrementalDuplicates},
	{ID: "configs.incremental.errors", Says: "Unknown topics, settings, operations and values are refused.", Run: incrementalErrors},
	{ID: "configs.incremental.all-or-nothing", Says: "A resource's changes are made together or not at all; other resources are not affected.", Run: incrementalAtomic},
	{ID: "configs.incremental.broker", Says: "A dynamic setting of all brokers takes effect, is told with its source, and goes.", Refs: []string{"KIP-226"}, Alone: true, Run: incrementalBroker},
	{ID: "configs.incremental.broker.read-only", Says: "Settings of a broker that need a restart are INVALID_REQUEST.", Refs: []string{"KIP-226"}, Run: incrementalBrokerReadOnly},
	{ID: "configs.incremental.group", Says: "Groups have settings of their own.", Refs: []string{"KIP-848"}, Since: "3.8", Run: incrementalGroup},
	{ID: "configs.small-segments", Says: "segment.bytes below 1 MiB is INVALID_CONFIG.", Refs: []string{"KIP-1030"}, Since: "4.0", Run: smallSegments},
	{ID: "configs.removed", Says: "Settings of topics that were removed are INVALID_CONFIG.", Refs: []string{"KIP-724"}, Since: "4.0", Run: removedSettings},
	{ID: "configs.effect.max-message-bytes", Says: "A changed max.message.bytes holds for the next produce.", Run: effectMaxMessageBytes},
	{ID: "configs.effect.retention-synonyms", Says: "A dynamic log.retention.ms wins over hours, and what was before comes back when it goes.", Refs: []string{"KAFKA-17584", "case O11"}, Alone: true, Run: effectRetention},
	{ID: "configs.effect.timestamp-type", Says: "A changed message.timestamp.type holds for the next produce.", Run: effectTimestampType},
	{ID: "configs.effect.cleanup-policy", Says: "cleanup.policy is told exactly as it was set.", Refs: []string{"KAFKA-9216", "case C13"}, Run: effectCleanupPolicy},
}

// change is one operation of an IncrementalAlterConfigs request.
type change struct {
	op    kmsg.IncrementalAlterConfigOp
	name  string
	value *string
}

// set is a change that gives a setting a value.
func set(name, value string) change {
	return change{kmsg.IncrementalAlterConfigOpSet, name, &value}
}

// unset is a change that takes a setting back.
func unset(name string) change { return change{kmsg.IncrementalAlterConfigOpDelete, name, nil} }

// incremental is an IncrementalAlterConfigs of one resource.
func incremental(kind kmsg.ConfigResourceType, name string, changes ...change) *kmsg.IncrementalAlterConfigsRequest {
	rr := kmsg.NewIncrementalAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = kind, name
	for _, c := range changes {
		rc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		rc.Op, rc.Name, rc.Value = c.op, c.name, c.value
		rr.Configs = append(rr.Configs, rc)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, rr)
	return req
}

// alter changes settings of one resource and returns the answer.
func (t *T) alter(version int16, kind kmsg.ConfigResourceType, name string, changes ...change) kmsg.IncrementalAlterConfigsResponseResource {
	return one(t, "resources", ask[*kmsg.IncrementalAlterConfigsResponse](t, version, incremental(kind, name, changes...)).Resources)
}

// alterTopic changes settings of a topic, which must succeed.
func (t *T) alterTopic(topic string, changes ...change) {
	t.ok("alter "+topic, t.alter(t.newest(kmsg.IncrementalAlterConfigs, 1), kmsg.ConfigResourceTypeTopic, topic, changes...).ErrorCode)
}

// unsetAtEnd takes settings back at the end.
func (t *T) unsetAtEnd(version int16, kind kmsg.ConfigResourceType, name string, keys ...string) {
	t.cleanup(func() {
		var changes []change
		for _, key := range keys {
			changes = append(changes, unset(key))
		}
		t.ok(fmt.Sprintf("unset %v of %s %q", keys, kind, name), t.alter(version, kind, name, changes...).ErrorCode)
	})
}

// becomes waits until a setting has a value: other brokers, and Kafka's own, hear
// of changes a little later.
func (t *T) becomes(topic, key, want string) {
	got := ""
	t.until(fmt.Sprintf("%s of %s becoming %q", key, topic, want), func() bool {
		got = t.topicSetting(topic, key)
		return got == want
	})
}

func alterRequest(topic string, settings ...string) *kmsg.AlterConfigsRequest {
	rr := kmsg.NewAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	for _, s := range settings {
		rc := kmsg.NewAlterConfigsRequestResourceConfig()
		name, value, given := strings.Cut(s, "=")
		rc.Name = name
		if given {
			rc.Value = &value
		}
		rr.Configs = append(rr.Configs, rc)
	}
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Resources = append(req.Resources, rr)
	return req
}

func alterReplaces(t *T) {
	t.each(kmsg.AlterConfigs, 0, 2, func(v int16) {
		topic := t.Topic(1, "retention.ms=1000000", "segment.bytes=2000000")
		got := one(t, "resources", ask[*kmsg.AlterConfigsResponse](t, v, alterRequest(topic, "retention.ms=2000000")).Resources)
		t.ok("alter", got.ErrorCode)
		equal(t, "resource", got.ResourceName, topic)
		t.becomes(topic, "retention.ms", "2000000")
		t.becomes(topic, "segment.bytes", "1073741824")
		t.ok("alter to nothing", one(t, "resources", ask[*kmsg.AlterConfigsResponse](t, v, alterRequest(topic)).Resources).ErrorCode)
		t.becomes(topic, "retention.ms", "604800000")
		req := alterRequest(topic, "retention.ms=5")
		req.ValidateOnly = true
		t.ok("validate", one(t, "resources", ask[*kmsg.AlterConfigsResponse](t, v, req).Resources).ErrorCode)
		equal(t, "retention.ms", t.topicSetting(topic, "retention.ms"), "604800000")
	})
}

func alterErrors(t *T) {
	topic := t.Topic(1, "retention.ms=1000000")
	t.each(kmsg.AlterConfigs, 0, 2, func(v int16) {
		try := func(what string, req *kmsg.AlterConfigsRequest, want *kerr.Error) {
			got := one(t, "resources", ask[*kmsg.AlterConfigsResponse](t, v, req).Resources)
			equal(t, "resource", got.ResourceName, req.Resources[0].ResourceName)
			t.code(what, got.ErrorCode, want)
			if got.ErrorMessage == nil {
				t.Fatalf("%s: there is no error message", what)
			}
		}
		try("unknown topic", alterRequest(t.name("missing"), "retention.ms=1"), kerr.UnknownTopicOrPartition)
		try("unknown setting", alterRequest(topic, "foo.bar=1"), kerr.InvalidConfig)
		try("bad value", alterRequest(topic, "retention.ms=abc"), kerr.InvalidConfig)
		try("null", alterRequest(topic, "retention.ms"), kerr.InvalidRequest)
		// A resource twice is not tried: Kafka 4.2 never answers it.
	})
	equal(t, "retention.ms", t.topicSetting(topic, "retention.ms"), "1000000")
}

func incrementalSetDelete(t *T) {
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		topic := t.Topic(1, "retention.ms=1000000")
		got := t.alter(v, kmsg.ConfigResourceTypeTopic, topic, set("segment.bytes", "2000000"))
		t.ok("set", got.ErrorCode)
		equal(t, "resource", got.ResourceName, topic)
		t.becomes(topic, "segment.bytes", "2000000")
		equal(t, "retention.ms stays", t.topicSetting(topic, "retention.ms"), "1000000")
		t.ok("delete", t.alter(v, kmsg.ConfigResourceTypeTopic, topic, unset("retention.ms")).ErrorCode)
		t.becomes(topic, "retention.ms", "604800000")
		t.ok("delete what is not set", t.alter(v, kmsg.ConfigResourceTypeTopic, topic, unset("flush.ms")).ErrorCode)
	})
}

func incrementalLists(t *T) {
	appending := func(name, value string) change { return change{kmsg.IncrementalAlterConfigOpAppend, name, &value} }
	subtracting := func(name, value string) change { return change{kmsg.IncrementalAlterConfigOpSubtract, name, &value} }
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		topic := t.Topic(1, "cleanup.policy=compact")
		t.ok("append", t.alter(v, kmsg.ConfigResourceTypeTopic, topic, appending("cleanup.policy", "delete")).ErrorCode)
		t.becomes(topic, "cleanup.policy", "compact,delete")
		t.ok("append again", t.alter(v, kmsg.ConfigResourceTypeTopic, topic, appending("cleanup.policy", "delete")).ErrorCode)
		equal(t, "cleanup.policy", t.topicSetting(topic, "cleanup.policy"), "compact,delete")
		t.ok("subtract", t.alter(v, kmsg.ConfigResourceTypeTopic, topic, subtracting("cleanup.policy", "delete")).ErrorCode)
		t.becomes(topic, "cleanup.policy", "compact")
		t.code("append to a number", t.alter(v, kmsg.ConfigResourceTypeTopic, topic, appending("retention.ms", "1")).ErrorCode, kerr.InvalidConfig)
		t.code("subtract from a number", t.alter(v, kmsg.ConfigResourceTypeTopic, topic, subtracting("retention.ms", "1")).ErrorCode, kerr.InvalidConfig)
		t.code("append nonsense", t.alter(v, kmsg.ConfigResourceTypeTopic, topic, appending("cleanup.policy", "burn")).ErrorCode, kerr.InvalidConfig)
	})
}

func incrementalValidate(t *T) {
	topic := t.Topic(1, "retention.ms=1000000")
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		req := incremental(kmsg.ConfigResourceTypeTopic, topic, set("retention.ms", "5"))
		req.ValidateOnly = true
		t.ok("validate", one(t, "resources", ask[*kmsg.IncrementalAlterConfigsResponse](t, v, req).Resources).ErrorCode)
		req = incremental(kmsg.ConfigResourceTypeTopic, topic, set("retention.ms", "x"))
		req.ValidateOnly = true
		t.code("validate nonsense", one(t, "resources", ask[*kmsg.IncrementalAlterConfigsResponse](t, v, req).Resources).ErrorCode, kerr.InvalidConfig)
		equal(t, "retention.ms", t.topicSetting(topic, "retention.ms"), "1000000")
	})
}

func incrementalDuplicates(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		t.code("setting twice", t.alter(v, kmsg.ConfigResourceTypeTopic, topic, set("retention.ms", "5"), set("retention.ms", "6")).ErrorCode, kerr.InvalidRequest)
		req := incremental(kmsg.ConfigResourceTypeTopic, topic, set("retention.ms", "5"))
		req.Resources = append(req.Resources, req.Resources[0])
		answers := ask[*kmsg.IncrementalAlterConfigsResponse](t, v, req).Resources
		equal(t, "answers", len(answers), 2)
		for _, got := range answers {
			equal(t, "resource", got.ResourceName, topic)
			t.code("resource twice", got.ErrorCode, kerr.InvalidRequest)
		}
		equal(t, "retention.ms", t.topicSetting(topic, "retention.ms"), "604800000")
	})
}

func incrementalErrors(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		try := func(what, name string, c change, want *kerr.Error) {
			got := t.alter(v, kmsg.ConfigResourceTypeTopic, name, c)
			t.code(what, got.ErrorCode, want)
			if got.ErrorMessage == nil || *got.ErrorMessage == "" {
				t.Fatalf("%s: there is no error message", what)
			}
		}
		try("unknown topic", t.name("missing"), set("retention.ms", "5"), kerr.UnknownTopicOrPartition)
		try("bad name", "a b", set("retention.ms", "5"), kerr.InvalidTopicException)
		try("unknown setting", topic, set("foo.bar", "5"), kerr.InvalidConfig)
		try("bad value", topic, set("retention.ms", "-2"), kerr.InvalidConfig)
		try("null", topic, change{kmsg.IncrementalAlterConfigOpSet, "retention.ms", nil}, kerr.InvalidRequest)
		// AlterConfigOp.OpType.forId gives null, over which Kafka falls.
		switch got := t.alter(v, kmsg.ConfigResourceTypeTopic, topic, change{9, "retention.ms", new("5")}).ErrorCode; got {
		case kerr.InvalidRequest.Code:
			t.Deviates("INVALID_REQUEST instead of UNKNOWN_SERVER_ERROR for an unknown operation")
		default:
			t.code("unknown operation", got, kerr.UnknownServerError)
		}
	})
}

func incrementalAtomic(t *T) {
	a, b := t.Topic(1), t.Topic(1)
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		req := incremental(kmsg.ConfigResourceTypeTopic, a, set("retention.ms", "777"), set("segment.bytes", "x"))
		req.Resources = append(req.Resources, incremental(kmsg.ConfigResourceTypeTopic, b, set("retention.ms", "888")).Resources...)
		codes := map[string]int16{}
		for _, got := range ask[*kmsg.IncrementalAlterConfigsResponse](t, v, req).Resources {
			codes[got.ResourceName] = got.ErrorCode
		}
		t.code("first", codes[a], kerr.InvalidConfig)
		t.ok("second", codes[b])
		t.becomes(b, "retention.ms", "888")
		equal(t, "retention.ms of the first", t.topicSetting(a, "retention.ms"), "604800000")
	})
}

func incrementalBroker(t *T) {
	const key = "message.max.bytes"
	topic := t.Topic(1)
	before := t.setting(kmsg.ConfigResourceTypeBroker, t.nodeName(), key)
	t.unsetAtEnd(t.newest(kmsg.IncrementalAlterConfigs, 1), kmsg.ConfigResourceTypeBroker, "", key)
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		t.ok("set", t.alter(v, kmsg.ConfigResourceTypeBroker, "", set(key, "54321")).ErrorCode)
		t.becomes(topic, "max.message.bytes", "54321")
		got := t.describeConfigs(t.newest(kmsg.DescribeConfigs, 4), kmsg.ConfigResourceTypeTopic, topic, []string{"max.message.bytes"}, nil)
		equal(t, "source", one(t, "settings", got.Configs).Source, kmsg.ConfigSourceDynamicDefaultBrokerConfig)
		t.until("the bound", func() bool {
			return t.produce(t.newest(kmsg.Produce, 9), topic, big(60000).bytes()).ErrorCode == kerr.MessageTooLarge.Code
		})
		t.ok("delete", t.alter(v, kmsg.ConfigResourceTypeBroker, "", unset(key)).ErrorCode)
		t.until("the old value", func() bool { return t.setting(kmsg.ConfigResourceTypeBroker, t.nodeName(), key) == before })
	})
}

func incrementalBrokerReadOnly(t *T) {
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		for _, c := range []change{set("num.partitions", "2"), set("node.id", "7"), set("auto.create.topics.enable", "false")} {
			got := t.alter(v, kmsg.ConfigResourceTypeBroker, "", c)
			t.code(c.name, got.ErrorCode, kerr.InvalidRequest)
		}
		t.code("bad value", t.alter(v, kmsg.ConfigResourceTypeBroker, "", set("log.retention.ms", "x")).ErrorCode, kerr.InvalidRequest)
		t.code("another broker", t.alter(v, kmsg.ConfigResourceTypeBroker, "4711", set("log.retention.ms", "5")).ErrorCode, kerr.InvalidRequest)
	})
}

func incrementalGroup(t *T) {
	group := t.Group()
	const key = "consumer.session.timeout.ms"
	value := func() string { return t.setting(kmsg.ConfigResourceTypeGroupConfig, group, key) }
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		t.unsetAtEnd(v, kmsg.ConfigResourceTypeGroupConfig, group, key)
		equal(t, "default", value(), "45000")
		t.ok("set", t.alter(v, kmsg.ConfigResourceTypeGroupConfig, group, set(key, "50000")).ErrorCode)
		t.until("the value", func() bool { return value() == "50000" })
		t.code("above the broker's bound", t.alter(v, kmsg.ConfigResourceTypeGroupConfig, group, set(key, "100000000")).ErrorCode, kerr.InvalidConfig)
		t.code("unknown", t.alter(v, kmsg.ConfigResourceTypeGroupConfig, group, set("foo", "1")).ErrorCode, kerr.InvalidConfig)
		t.code("no name", t.alter(v, kmsg.ConfigResourceTypeGroupConfig, "", set(key, "50000")).ErrorCode, kerr.InvalidRequest)
		t.ok("delete", t.alter(v, kmsg.ConfigResourceTypeGroupConfig, group, unset(key)).ErrorCode)
		t.until("the default", func() bool { return value() == "45000" })
	})
}

func effectMaxMessageBytes(t *T) {
	topic := t.Topic(1)
	version := t.newest(kmsg.Produce, 9)
	t.ok("before", t.produce(version, topic, big(5000).bytes()).ErrorCode)
	t.alterTopic(topic, set("max.message.bytes", "1000"))
	t.until("the bound", func() bool {
		return t.produce(version, topic, big(5000).bytes()).ErrorCode == kerr.MessageTooLarge.Code
	})
	t.alterTopic(topic, unset("max.message.bytes"))
	t.until("no bound", func() bool { return t.produce(version, topic, big(5000).bytes()).ErrorCode == 0 })
}

func effectRetention(t *T) {
	topic := t.Topic(1)
	before := t.topicSetting(topic, "retention.ms")
	version := t.newest(kmsg.IncrementalAlterConfigs, 1)
	t.unsetAtEnd(version, kmsg.ConfigResourceTypeBroker, "", "log.retention.ms")
	t.ok("set", t.alter(version, kmsg.ConfigResourceTypeBroker, "", set("log.retention.ms", "7654321")).ErrorCode)
	t.becomes(topic, "retention.ms", "7654321")
	t.ok("delete", t.alter(version, kmsg.ConfigResourceTypeBroker, "", unset("log.retention.ms")).ErrorCode)
	t.becomes(topic, "retention.ms", before)
}

func effectTimestampType(t *T) {
	topic := t.Topic(1)
	version := t.newest(kmsg.Produce, 9)
	equal(t, "append time", t.produce(version, topic, plainBatch("a").bytes()).LogAppendTime, -1)
	t.alterTopic(topic, set("message.timestamp.type", "LogAppendTime"))
	t.until("an append time", func() bool { return t.produce(version, topic, plainBatch("a").bytes()).LogAppendTime > 0 })
}

func effectCleanupPolicy(t *T) {
	for _, policy := range []string{"compact", "delete", "compact,delete", "delete,compact"} {
		equal(t, "cleanup.policy", t.topicSetting(t.Topic(1, "cleanup.policy="+policy), "cleanup.policy"), policy)
	}
}

func smallSegments(t *T) {
	for _, size := range []string{"14", "1048575"} {
		name := t.name("t")
		got := t.tryCreate(t.newest(kmsg.CreateTopics, 5), createTopic(name, 1, "segment.bytes="+size))
		if got.ErrorCode == 0 {
			t.deleteAtEnd(name)
			t.Deviates("segment.bytes may be as low as 14")
		} else {
			t.code(size, got.ErrorCode, kerr.InvalidConfig)
		}
	}
	got := t.tryCreate(t.newest(kmsg.CreateTopics, 5), createTopic(t.name("t"), 1, "segment.bytes=13"))
	t.code("13", got.ErrorCode, kerr.InvalidConfig)
}

func removedSettings(t *T) {
	for _, s := range []string{"message.format.version=2.8", "message.timestamp.difference.max.ms=1000", "message.downconversion.enable=true"} {
		name := t.name("t")
		got := t.tryCreate(t.newest(kmsg.CreateTopics, 5), createTopic(name, 1, s))
		if got.ErrorCode != 0 {
			t.code(s, got.ErrorCode, kerr.InvalidConfig)
			continue
		}
		t.deleteAtEnd(name)
		t.Deviates("settings of topics that Kafka 4.0 removed are accepted and forgotten")
		key, _, _ := strings.Cut(s, "=")
		t.until("the topic", func() bool { return t.exists(name) })
		resp := t.describeConfigs(t.newest(kmsg.DescribeConfigs, 2), kmsg.ConfigResourceTypeTopic, name, []string{key}, nil)
		equal(t, "settings described", len(resp.Configs), 0)
	}
}
