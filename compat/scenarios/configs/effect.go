package configs

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// effectScenarios are about what a changed setting does.
var effectScenarios = []scenario.Scenario{
	{ID: "configs.effect.max-message-bytes", Says: "A changed max.message.bytes holds for the next produce.", Run: effectMaxMessageBytes},
	{ID: "configs.effect.retention-synonyms", Says: "A dynamic log.retention.ms wins over hours, and what was before comes back when it goes.", Refs: []string{"KAFKA-17584", "case O11"}, Alone: true, Run: effectRetention},
	{ID: "configs.effect.timestamp-type", Says: "A changed message.timestamp.type holds for the next produce.", Run: effectTimestampType},
	{ID: "configs.effect.cleanup-policy", Says: "cleanup.policy is told exactly as it was set.", Refs: []string{"KAFKA-9216", "case C13"}, Run: effectCleanupPolicy},
}

func effectMaxMessageBytes(t *scenario.T) {
	topic := t.Topic(1)
	version := t.Newest(kmsg.Produce, 9)
	t.OK("before", t.Produce(version, topic, scenario.BigBatch(5000).Bytes()).ErrorCode)
	t.AlterTopic(topic, scenario.Set("max.message.bytes", "1000"))
	t.Until("the bound", func() bool {
		return t.Produce(version, topic, scenario.BigBatch(5000).Bytes()).ErrorCode == kerr.MessageTooLarge.Code
	})
	t.AlterTopic(topic, scenario.Unset("max.message.bytes"))
	t.Until("no bound", func() bool { return t.Produce(version, topic, scenario.BigBatch(5000).Bytes()).ErrorCode == 0 })
}

func effectRetention(t *scenario.T) {
	topic := t.Topic(1)
	before := t.TopicSetting(topic, "retention.ms")
	version := t.Newest(kmsg.IncrementalAlterConfigs, 1)
	t.UnsetAtEnd(version, kmsg.ConfigResourceTypeBroker, "", "log.retention.ms")
	t.OK("set", t.Alter(version, kmsg.ConfigResourceTypeBroker, "", scenario.Set("log.retention.ms", "7654321")).ErrorCode)
	t.Becomes(topic, "retention.ms", "7654321")
	t.OK("delete", t.Alter(version, kmsg.ConfigResourceTypeBroker, "", scenario.Unset("log.retention.ms")).ErrorCode)
	t.Becomes(topic, "retention.ms", before)
}

func effectTimestampType(t *scenario.T) {
	topic := t.Topic(1)
	version := t.Newest(kmsg.Produce, 9)
	scenario.Equal(t, "append time", t.Produce(version, topic, scenario.PlainBatch("a").Bytes()).LogAppendTime, -1)
	t.AlterTopic(topic, scenario.Set("message.timestamp.type", "LogAppendTime"))
	t.Until("an append time", func() bool { return t.Produce(version, topic, scenario.PlainBatch("a").Bytes()).LogAppendTime > 0 })
}

func effectCleanupPolicy(t *scenario.T) {
	for _, policy := range []string{"compact", "delete", "compact,delete", "delete,compact"} {
		scenario.Equal(t, "cleanup.policy", t.TopicSetting(t.Topic(1, "cleanup.policy="+policy), "cleanup.policy"), policy)
	}
}
