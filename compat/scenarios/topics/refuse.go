package topics

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// refuseScenarios are topics that CreateTopics does not make.
var refuseScenarios = []scenario.Scenario{
	{ID: "topics.create.exists", Says: "A topic that exists is TOPIC_ALREADY_EXISTS.", Run: createExists},
	{ID: "topics.create.names", Says: "Names that cannot be are INVALID_TOPIC_EXCEPTION.", Run: createNames},
	{ID: "topics.create.collision", Says: "A name that differs from another only by dots and underscores is INVALID_TOPIC_EXCEPTION.", Run: createCollision},
	{ID: "topics.create.partitions", Says: "A number of partitions that cannot be is INVALID_PARTITIONS.", Refs: []string{"case A05"}, Run: refuseCreate(func(r *kmsg.CreateTopicsRequestTopic, i int) { r.NumPartitions = []int32{0, -2, -100}[i] }, 3, kerr.InvalidPartitions)},
	{ID: "topics.create.replication", Says: "A replication factor that cannot be is INVALID_REPLICATION_FACTOR.", Refs: []string{"case A05"}, Run: refuseCreate(func(r *kmsg.CreateTopicsRequestTopic, i int) { r.ReplicationFactor = []int16{0, -2, 3000, 32767}[i] }, 4, kerr.InvalidReplicationFactor)},
	{ID: "topics.create.too-many-partitions", Says: "An absurd number of partitions is refused and the broker lives.", Refs: []string{"redpanda PR 24135", "KAFKA-14996", "case A19"}, Run: createTooMany},
	{ID: "topics.create.config.null", Says: "A setting without a value is INVALID_CONFIG.", Refs: []string{"KAFKA-9695", "case A07"}, Run: refuseCreate(func(r *kmsg.CreateTopicsRequestTopic, _ int) {
		r.Configs = configs("retention.ms")
		r.Configs[0].Value = nil
	}, 1, kerr.InvalidConfig)},
	{ID: "topics.create.config.unknown", Says: "A setting that does not exist is INVALID_CONFIG.", Refs: []string{"redpanda#135", "case A25"}, Run: refuseCreate(func(r *kmsg.CreateTopicsRequestTopic, _ int) { r.Configs = configs("foo.bar.baz=1") }, 1, kerr.InvalidConfig)},
	{ID: "topics.create.config.values", Says: "A setting's value out of its range is INVALID_CONFIG.", Run: createBadSettings},
	{ID: "topics.create.duplicate", Says: "A topic named twice in a request is INVALID_REQUEST and not made.", Run: createDuplicate},
	{ID: "topics.create.metadata-topic", Says: "__cluster_metadata cannot be made.", Run: createMetadataTopic},
	{ID: "topics.create.refused-has-no-configs", Says: "A topic that was not made is answered with an empty list of settings from version 5, not with null.", Refs: []string{"KIP-525"}, Run: refusedConfigs}, // Found by a differential run.
}

// badSettings are settings of topics that are out of range.
var badSettings = []string{
	"retention.ms=abc", "retention.ms=-2", "cleanup.policy=burn", "compression.type=rar", "max.message.bytes=-1",
	"segment.bytes=1", "min.insync.replicas=0", "message.timestamp.type=Never", "min.cleanable.dirty.ratio=1.1",
	"preallocate=maybe", "segment.ms=0", "compression.gzip.level=10", "min.compaction.lag.ms=-1", "index.interval.bytes=-1",
	"unclean.leader.election.enable=", "max.compaction.lag.ms=0", "leader.replication.throttled.replicas=nonsense",
}

func configs(settings ...string) []kmsg.CreateTopicsRequestTopicConfig {
	return scenario.CreateTopicRequest("", 1, settings...).Topics[0].Configs
}

// refuseCreate makes a scenario of topics that every version refuses with a code
// and a message, and that are not there after it.
func refuseCreate(spoil func(r *kmsg.CreateTopicsRequestTopic, i int), n int, want *kerr.Error) func(*scenario.T) {
	return func(t *scenario.T) {
		t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
			for i := range n {
				name := t.Name("refused")
				req := scenario.CreateTopicRequest(name, 1)
				spoil(&req.Topics[0], i)
				got := t.TryCreateTopic(v, req)
				if got.ErrorCode == 0 {
					t.DeleteTopicAtEnd(name)
				}
				t.Code("create "+scenario.Plain(req.Topics[0]), got.ErrorCode, want)
				if v >= 1 && (got.ErrorMessage == nil || *got.ErrorMessage == "") {
					t.Fatalf("there is no error message")
				}
				if v >= 5 {
					scenario.Equal(t, "partitions", got.NumPartitions, -1)
					scenario.Equal(t, "replication factor", got.ReplicationFactor, -1)
				}
				scenario.Equal(t, "it is there", t.TopicExists(name), false)
			}
		})
	}
}

// createBadSettings tries each setting in one version and one in each.
func createBadSettings(t *scenario.T) {
	version := t.Newest(kmsg.CreateTopics, 7)
	for _, s := range badSettings {
		got := t.TryCreateTopic(version, scenario.CreateTopicRequest(t.Name("refused"), 1, s))
		t.Code(s, got.ErrorCode, kerr.InvalidConfig)
	}
	refuseCreate(func(r *kmsg.CreateTopicsRequestTopic, _ int) { r.Configs = configs("retention.ms=abc") }, 1, kerr.InvalidConfig)(t)
}

func createExists(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		got := t.TryCreateTopic(v, scenario.CreateTopicRequest(topic, 1))
		t.Code("create", got.ErrorCode, kerr.TopicAlreadyExists)
		if v >= 1 {
			t.Contains("message", got.ErrorMessage, topic)
		}
		req := scenario.CreateTopicRequest(topic, 1)
		req.ValidateOnly = v >= 1
		t.Code("validate", t.TryCreateTopic(v, req).ErrorCode, kerr.TopicAlreadyExists)
	})
}

func createNames(t *scenario.T) {
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		for _, name := range []string{"", ".", "..", "a b", "a/b", "ä", "a\x00b", strings.Repeat("x", 250)} {
			req := scenario.CreateTopicRequest(name, 1)
			t.Code(fmt.Sprintf("%q", name), t.TryCreateTopic(v, req).ErrorCode, kerr.InvalidTopicException)
		}
	})
	name := t.Name("long-")
	name += strings.Repeat("x", 249-len(name))
	t.CreateTopic(name, 1)
}

func createCollision(t *scenario.T) {
	a := t.Name("a.b")
	t.CreateTopic(a, 1)
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		got := t.TryCreateTopic(v, scenario.CreateTopicRequest(strings.ReplaceAll(a, ".", "_"), 1))
		t.Code("create", got.ErrorCode, kerr.InvalidTopicException)
	})
}

func createTooMany(t *scenario.T) {
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		for _, n := range []int32{2_000_000_000, 10_001} {
			got := t.TryCreateTopic(v, scenario.CreateTopicRequest(t.Name("t"), n))
			if got.ErrorCode != kerr.PolicyViolation.Code && got.ErrorCode != kerr.InvalidPartitions.Code {
				t.Fatalf("%d partitions: got error %s, want POLICY_VIOLATION or INVALID_PARTITIONS", n, scenario.CodeName(got.ErrorCode))
			}
		}
	})
}

func createDuplicate(t *scenario.T) {
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		name, other := t.Name("t"), t.Name("t")
		req := scenario.CreateTopicRequest(name, 1)
		req.Topics = append(req.Topics, scenario.CreateTopicRequest(name, 1).Topics[0], scenario.CreateTopicRequest(other, 1).Topics[0])
		t.DeleteTopicAtEnd(other)
		got := map[string]int16{}
		for _, rt := range scenario.Ask[*kmsg.CreateTopicsResponse](t, v, req).Topics {
			got[rt.Topic] = rt.ErrorCode
		}
		scenario.Equal(t, "topics in the answer", len(got), 2)
		t.Code("twice", got[name], kerr.InvalidRequest)
		t.OK("once", got[other])
		scenario.Equal(t, "it is there", t.TopicExists(name), false)
	})
}

func createMetadataTopic(t *scenario.T) {
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		t.Code("create", t.TryCreateTopic(v, scenario.CreateTopicRequest("__cluster_metadata", 1)).ErrorCode, kerr.InvalidRequest)
	})
}

func refusedConfigs(t *scenario.T) {
	t.Each(kmsg.CreateTopics, 5, 7, func(v int16) {
		resp := scenario.Ask[*kmsg.CreateTopicsResponse](t, v, scenario.CreateTopicRequest("not/a/name", 1))
		got := scenario.One(t, "topics", resp.Topics)
		t.Code("create", got.ErrorCode, kerr.InvalidTopicException)
		if got.Configs == nil {
			t.Fatalf("the settings are null")
		}
		scenario.Equal(t, "settings", len(got.Configs), 0)
	})
}
