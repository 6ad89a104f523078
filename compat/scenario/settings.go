package scenario

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicSettings are the settings of topics in Kafka 4.2.
var TopicSettings = []string{
	"cleanup.policy", "compression.gzip.level", "compression.lz4.level", "compression.type", "compression.zstd.level",
	"delete.retention.ms", "file.delete.delay.ms", "flush.messages", "flush.ms",
	"follower.replication.throttled.replicas", "index.interval.bytes", "leader.replication.throttled.replicas",
	"local.retention.bytes", "local.retention.ms", "max.compaction.lag.ms", "max.decompressed.message.bytes", "max.message.bytes",
	"message.timestamp.after.max.ms", "message.timestamp.before.max.ms", "message.timestamp.type",
	"min.cleanable.dirty.ratio", "min.compaction.lag.ms", "min.insync.replicas", "preallocate",
	"remote.log.copy.disable", "remote.log.delete.on.disable", "remote.storage.enable", "retention.bytes", "retention.ms",
	"segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms", "unclean.leader.election.enable",
}

// DescribeConfigs describes settings of one resource, all if keys is nil; change may
// alter the request.
func (t *T) DescribeConfigs(version int16, kind kmsg.ConfigResourceType, name string, keys []string, change func(*kmsg.DescribeConfigsRequest)) kmsg.DescribeConfigsResponseResource {
	req := kmsg.NewPtrDescribeConfigsRequest()
	rr := kmsg.NewDescribeConfigsRequestResource()
	rr.ResourceType, rr.ResourceName, rr.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, rr)
	if change != nil {
		change(req)
	}
	got := One(t, "resources", Ask[*kmsg.DescribeConfigsResponse](t, version, req).Resources)
	Equal(t, "resource type", got.ResourceType, kind)
	Equal(t, "resource name", got.ResourceName, name)
	return got
}

// ByName are settings by their names.
func ByName(cs []kmsg.DescribeConfigsResponseResourceConfig) map[string]kmsg.DescribeConfigsResponseResourceConfig {
	m := map[string]kmsg.DescribeConfigsResponseResourceConfig{}
	for _, c := range cs {
		m[c.Name] = c
	}
	return m
}

// Setting is one setting's value, "" if it has none.
func (t *T) Setting(kind kmsg.ConfigResourceType, name, key string) string {
	got := t.DescribeConfigs(t.Newest(kmsg.DescribeConfigs, 2), kind, name, []string{key}, nil)
	t.OK("describe "+name, got.ErrorCode)
	for _, c := range got.Configs {
		if c.Value != nil {
			return *c.Value
		}
	}
	return ""
}

// TopicSetting is the value of a topic's setting.
func (t *T) TopicSetting(topic, key string) string {
	return t.Setting(kmsg.ConfigResourceTypeTopic, topic, key)
}

// Change is one operation of an IncrementalAlterConfigs request.
type Change struct {
	Op    kmsg.IncrementalAlterConfigOp
	Name  string
	Value *string
}

// Set is a change that gives a setting a value.
func Set(name, value string) Change {
	return Change{kmsg.IncrementalAlterConfigOpSet, name, &value}
}

// Unset is a change that takes a setting back.
func Unset(name string) Change { return Change{kmsg.IncrementalAlterConfigOpDelete, name, nil} }

// IncrementalAlter is an IncrementalAlterConfigs of one resource.
func IncrementalAlter(kind kmsg.ConfigResourceType, name string, changes ...Change) *kmsg.IncrementalAlterConfigsRequest {
	rr := kmsg.NewIncrementalAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = kind, name
	for _, c := range changes {
		rc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		rc.Op, rc.Name, rc.Value = c.Op, c.Name, c.Value
		rr.Configs = append(rr.Configs, rc)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, rr)
	return req
}

// Alter changes settings of one resource and returns the answer.
func (t *T) Alter(version int16, kind kmsg.ConfigResourceType, name string, changes ...Change) kmsg.IncrementalAlterConfigsResponseResource {
	return One(t, "resources", Ask[*kmsg.IncrementalAlterConfigsResponse](t, version, IncrementalAlter(kind, name, changes...)).Resources)
}

// AlterTopic changes settings of a topic, which must succeed.
func (t *T) AlterTopic(topic string, changes ...Change) {
	t.OK("alter "+topic, t.Alter(t.Newest(kmsg.IncrementalAlterConfigs, 1), kmsg.ConfigResourceTypeTopic, topic, changes...).ErrorCode)
}

// UnsetAtEnd takes settings back at the end.
func (t *T) UnsetAtEnd(version int16, kind kmsg.ConfigResourceType, name string, keys ...string) {
	t.Cleanup(func() {
		var changes []Change
		for _, key := range keys {
			changes = append(changes, Unset(key))
		}
		t.OK(fmt.Sprintf("unset %v of %s %q", keys, kind, name), t.Alter(version, kind, name, changes...).ErrorCode)
	})
}

// Becomes waits until a setting has a value: other brokers, and Kafka's own, hear
// of changes a little later.
func (t *T) Becomes(topic, key, want string) {
	got := ""
	t.Until(fmt.Sprintf("%s of %s becoming %q", key, topic, want), func() bool {
		got = t.TopicSetting(topic, key)
		return got == want
	})
}
