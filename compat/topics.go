package compat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// createScenarios are about CreateTopics.
var createScenarios = []Scenario{
	{ID: "topics.create.versions", Says: "A topic is made; the answer tells partitions, replicas and settings from version 5 and the id from 7.", Refs: []string{"KIP-525", "KIP-516", "redpanda@d94bf32c99", "case A13"}, Run: createVersions},
	{ID: "topics.create.validate-only", Says: "With validate_only nothing is made and the answer is as if.", Refs: []string{"redpanda@d94bf32c99", "case A13"}, Run: createValidateOnly},
	{ID: "topics.create.defaults", Says: "-1 partitions and replicas stand for the broker's defaults.", Refs: []string{"KIP-464", "kop#591", "case A05"}, Run: createDefaults},
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
	{ID: "topics.create.assignment", Says: "A manual assignment is kept.", Run: createAssignment},
	{ID: "topics.create.assignment.invalid", Says: "A manual assignment with holes, unknown brokers or none is INVALID_REPLICA_ASSIGNMENT.", Refs: []string{"KAFKA-14129", "case A15"}, Run: createBadAssignment},
	{ID: "topics.create.assignment.and-counts", Says: "An assignment beside a number of partitions or replicas is INVALID_REQUEST.", Run: createAssignmentAndCounts},
	{ID: "topics.create.duplicate", Says: "A topic named twice in a request is INVALID_REQUEST and not made.", Run: createDuplicate},
	{ID: "topics.create.partial", Says: "Topics of a request fail alone.", Run: createPartial},
	{ID: "topics.create.metadata-topic", Says: "__cluster_metadata cannot be made.", Run: createMetadataTopic},
	{ID: "topics.create.nothing", Says: "A request without topics is answered with none.", Run: createNothing},
}

// badSettings are settings of topics that are out of range.
var badSettings = []string{
	"retention.ms=abc", "retention.ms=-2", "cleanup.policy=burn", "compression.type=rar", "max.message.bytes=-1",
	"segment.bytes=1", "min.insync.replicas=0", "message.timestamp.type=Never", "min.cleanable.dirty.ratio=1.1",
	"preallocate=maybe", "segment.ms=0", "compression.gzip.level=10", "min.compaction.lag.ms=-1", "index.interval.bytes=-1",
	"unclean.leader.election.enable=", "max.compaction.lag.ms=0", "leader.replication.throttled.replicas=nonsense",
}

func configs(settings ...string) []kmsg.CreateTopicsRequestTopicConfig {
	return createTopic("", 1, settings...).Topics[0].Configs
}

// tryCreate sends one topic and returns its answer.
func (t *T) tryCreate(version int16, req *kmsg.CreateTopicsRequest) kmsg.CreateTopicsResponseTopic {
	resp := ask[*kmsg.CreateTopicsResponse](t, version, req)
	got := one(t, "topics", resp.Topics)
	equal(t, "topic", got.Topic, req.Topics[0].Topic)
	return got
}

// refuseCreate makes a scenario of topics that every version refuses with a code
// and a message, and that are not there after it.
func refuseCreate(spoil func(r *kmsg.CreateTopicsRequestTopic, i int), n int, want *kerr.Error) func(*T) {
	return func(t *T) {
		t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
			for i := range n {
				name := t.name("refused")
				req := createTopic(name, 1)
				spoil(&req.Topics[0], i)
				got := t.tryCreate(v, req)
				if got.ErrorCode == 0 {
					t.deleteAtEnd(name)
				}
				t.code("create "+plain(req.Topics[0]), got.ErrorCode, want)
				if v >= 1 && (got.ErrorMessage == nil || *got.ErrorMessage == "") {
					t.Fatalf("there is no error message")
				}
				if v >= 5 {
					equal(t, "partitions", got.NumPartitions, -1)
					equal(t, "replication factor", got.ReplicationFactor, -1)
				}
				equal(t, "it is there", t.exists(name), false)
			}
		})
	}
}

// createBadSettings tries each setting in one version and one in each.
func createBadSettings(t *T) {
	version := t.newest(kmsg.CreateTopics, 7)
	for _, s := range badSettings {
		got := t.tryCreate(version, createTopic(t.name("refused"), 1, s))
		t.code(s, got.ErrorCode, kerr.InvalidConfig)
	}
	refuseCreate(func(r *kmsg.CreateTopicsRequestTopic, _ int) { r.Configs = configs("retention.ms=abc") }, 1, kerr.InvalidConfig)(t)
}

// exists says whether Metadata knows a topic.
func (t *T) exists(name string) bool {
	code := t.metadataOf(t.newest(kmsg.Metadata, 8), name).ErrorCode
	if code != kerr.UnknownTopicOrPartition.Code && code != kerr.InvalidTopicException.Code {
		t.ok("metadata of "+name, code)
	}
	return code == 0
}

func createVersions(t *T) {
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		name := t.name("t")
		got := t.tryCreate(v, createTopic(name, 3, "retention.ms=12345", "cleanup.policy=compact,delete"))
		t.deleteAtEnd(name)
		t.ok("create", got.ErrorCode)
		if got.ErrorMessage != nil {
			t.Fatalf("a success has the message %q", *got.ErrorMessage)
		}
		t.served(name, 3)
		t.checkDetails(v, got, 3)
		if v >= 7 {
			equal(t, "topic id", got.TopicID, t.topicID(name))
		}
	})
}

// checkDetails checks what version 5 and up tell of a topic made with
// retention.ms=12345.
func (t *T) checkDetails(v int16, got kmsg.CreateTopicsResponseTopic, partitions int32) {
	if v < 5 {
		return
	}
	equal(t, "partitions", got.NumPartitions, partitions)
	equal(t, "replication factor", got.ReplicationFactor, 1)
	equal(t, "config error", got.ConfigErrorCode, 0)
	seen := map[string]kmsg.CreateTopicsResponseTopicConfig{}
	for _, c := range got.Configs {
		seen[c.Name] = c
	}
	t.text("retention.ms", seen["retention.ms"].Value, "12345")
	equal(t, "source of retention.ms", seen["retention.ms"].Source, int8(kmsg.ConfigSourceDynamicTopicConfig))
	t.text("segment.bytes", seen["segment.bytes"].Value, "1073741824")
	equal(t, "source of segment.bytes is not the topic", seen["segment.bytes"].Source != int8(kmsg.ConfigSourceDynamicTopicConfig), true)
	for _, name := range topicSettings {
		if _, ok := seen[name]; !ok {
			t.Fatalf("the settings lack %s", name)
		}
	}
}

func createValidateOnly(t *T) {
	t.each(kmsg.CreateTopics, 1, 7, func(v int16) {
		name := t.name("t")
		req := createTopic(name, 4, "retention.ms=12345")
		req.ValidateOnly = true
		got := t.tryCreate(v, req)
		t.ok("validate", got.ErrorCode)
		t.checkDetails(v, got, 4)
		equal(t, "it is there", t.exists(name), false)
	})
}

func createDefaults(t *T) {
	t.each(kmsg.CreateTopics, 4, 7, func(v int16) {
		name := t.name("t")
		req := createTopic(name, -1)
		req.Topics[0].ReplicationFactor = -1
		got := t.tryCreate(v, req)
		t.deleteAtEnd(name)
		t.ok("create", got.ErrorCode)
		want := t.setting(kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(t.Node())), "num.partitions")
		t.until("the topic", func() bool { return t.exists(name) })
		equal(t, "partitions", strconv.Itoa(len(t.metadataOf(t.newest(kmsg.Metadata, 8), name).Partitions)), want)
		if v >= 5 {
			equal(t, "partitions", strconv.Itoa(int(got.NumPartitions)), want)
		}
	})
}

func createExists(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		got := t.tryCreate(v, createTopic(topic, 1))
		t.code("create", got.ErrorCode, kerr.TopicAlreadyExists)
		if v >= 1 {
			t.contains("message", got.ErrorMessage, topic)
		}
		req := createTopic(topic, 1)
		req.ValidateOnly = v >= 1
		t.code("validate", t.tryCreate(v, req).ErrorCode, kerr.TopicAlreadyExists)
	})
}

func createNames(t *T) {
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		for _, name := range []string{"", ".", "..", "a b", "a/b", "ä", "a\x00b", strings.Repeat("x", 250)} {
			req := createTopic(name, 1)
			t.code(fmt.Sprintf("%q", name), t.tryCreate(v, req).ErrorCode, kerr.InvalidTopicException)
		}
	})
	name := t.name("long-")
	name += strings.Repeat("x", 249-len(name))
	t.create(name, 1)
}

func createCollision(t *T) {
	a := t.name("a.b")
	t.create(a, 1)
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		got := t.tryCreate(v, createTopic(strings.ReplaceAll(a, ".", "_"), 1))
		t.code("create", got.ErrorCode, kerr.InvalidTopicException)
	})
}

func createTooMany(t *T) {
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		for _, n := range []int32{2_000_000_000, 10_001} {
			got := t.tryCreate(v, createTopic(t.name("t"), n))
			if got.ErrorCode != kerr.PolicyViolation.Code && got.ErrorCode != kerr.InvalidPartitions.Code {
				t.Fatalf("%d partitions: got error %s, want POLICY_VIOLATION or INVALID_PARTITIONS", n, codeName(got.ErrorCode))
			}
		}
	})
}

// assigned is a topic with a manual assignment, partition to replicas.
func assigned(name string, replicas map[int32][]int32) *kmsg.CreateTopicsRequest {
	req := createTopic(name, -1)
	req.Topics[0].ReplicationFactor = -1
	for p := range int32(10) {
		if rs, ok := replicas[p]; ok {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = p, rs
			req.Topics[0].ReplicaAssignment = append(req.Topics[0].ReplicaAssignment, a)
		}
	}
	return req
}

func createAssignment(t *T) {
	node := t.Node()
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		name := t.name("t")
		got := t.tryCreate(v, assigned(name, map[int32][]int32{0: {node}, 1: {node}, 2: {node}}))
		t.deleteAtEnd(name)
		t.ok("create", got.ErrorCode)
		t.served(name, 3)
		if v >= 5 {
			equal(t, "partitions", got.NumPartitions, 3)
			equal(t, "replication factor", got.ReplicationFactor, 1)
		}
	})
}

func createBadAssignment(t *T) {
	node := t.Node()
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		for what, a := range map[string]map[int32][]int32{
			"a hole":              {0: {node}, 2: {node}},
			"not from 0":          {1: {node}},
			"no such broker":      {0: {node + 1000}},
			"no replicas":         {0: {}},
			"a broker twice":      {0: {node, node}},
			"a negative broker":   {0: {-1}},
			"a partition without": {0: {node}, 1: {}},
		} {
			got := t.tryCreate(v, assigned(t.name("t"), a))
			t.code(what, got.ErrorCode, kerr.InvalidReplicaAssignment)
		}
	})
}

func createAssignmentAndCounts(t *T) {
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		req := assigned(t.name("t"), map[int32][]int32{0: {t.Node()}})
		req.Topics[0].NumPartitions = 1
		t.code("with partitions", t.tryCreate(v, req).ErrorCode, kerr.InvalidRequest)
		req = assigned(t.name("t"), map[int32][]int32{0: {t.Node()}})
		req.Topics[0].ReplicationFactor = 1
		t.code("with replicas", t.tryCreate(v, req).ErrorCode, kerr.InvalidRequest)
	})
}

func createDuplicate(t *T) {
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		name, other := t.name("t"), t.name("t")
		req := createTopic(name, 1)
		req.Topics = append(req.Topics, createTopic(name, 1).Topics[0], createTopic(other, 1).Topics[0])
		t.deleteAtEnd(other)
		got := map[string]int16{}
		for _, rt := range ask[*kmsg.CreateTopicsResponse](t, v, req).Topics {
			got[rt.Topic] = rt.ErrorCode
		}
		equal(t, "topics in the answer", len(got), 2)
		t.code("twice", got[name], kerr.InvalidRequest)
		t.ok("once", got[other])
		equal(t, "it is there", t.exists(name), false)
	})
}

func createPartial(t *T) {
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		good, bad := t.name("t"), t.name("t")
		req := createTopic(bad, 0)
		req.Topics = append(req.Topics, createTopic(good, 1).Topics[0])
		t.deleteAtEnd(good)
		got := map[string]int16{}
		for _, rt := range ask[*kmsg.CreateTopicsResponse](t, v, req).Topics {
			got[rt.Topic] = rt.ErrorCode
		}
		equal(t, "topics in the answer", len(got), 2)
		t.code("bad", got[bad], kerr.InvalidPartitions)
		t.ok("good", got[good])
		t.until("the good one", func() bool { return t.exists(good) })
		equal(t, "the bad one is there", t.exists(bad), false)
	})
}

func createMetadataTopic(t *T) {
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		t.code("create", t.tryCreate(v, createTopic("__cluster_metadata", 1)).ErrorCode, kerr.InvalidRequest)
	})
}

func createNothing(t *T) {
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		equal(t, "topics", len(ask[*kmsg.CreateTopicsResponse](t, v, kmsg.NewPtrCreateTopicsRequest()).Topics), 0)
	})
}
