package topics

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// createScenarios are about CreateTopics.
var createScenarios = []scenario.Scenario{
	{ID: "topics.create.versions", Says: "A topic is made; the answer tells partitions, replicas and settings from version 5 and the id from 7.", Refs: []string{"KIP-525", "KIP-516", "redpanda@d94bf32c99", "case A13"}, Run: createVersions},
	{ID: "topics.create.validate-only", Says: "With validate_only nothing is made and the answer is as if.", Refs: []string{"redpanda@d94bf32c99", "case A13"}, Run: createValidateOnly},
	{ID: "topics.create.defaults", Says: "-1 partitions and replicas stand for the broker's defaults.", Refs: []string{"KIP-464", "kop#591", "case A05"}, Run: createDefaults},
	{ID: "topics.create.assignment", Says: "A manual assignment is kept.", Run: createAssignment},
	{ID: "topics.create.assignment.invalid", Says: "A manual assignment with holes, unknown brokers or none is INVALID_REPLICA_ASSIGNMENT.", Refs: []string{"KAFKA-14129", "case A15"}, Run: createBadAssignment},
	{ID: "topics.create.assignment.and-counts", Says: "An assignment beside a number of partitions or replicas is INVALID_REQUEST.", Run: createAssignmentAndCounts},
	{ID: "topics.create.partial", Says: "Topics of a request fail alone.", Run: createPartial},
	{ID: "topics.create.nothing", Says: "A request without topics is answered with none.", Run: createNothing},
	{ID: "topics.create.whole-answer", Says: "CreateTopics answers each topic with id, partitions and settings, or a code and why, in every version.", Refs: []string{"KIP-525"}, Run: createAnswers},
}

func createVersions(t *scenario.T) {
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		name := t.Name("t")
		got := t.TryCreateTopic(v, scenario.CreateTopicRequest(name, 3, "retention.ms=12345", "cleanup.policy=compact,delete"))
		t.DeleteTopicAtEnd(name)
		t.OK("create", got.ErrorCode)
		if got.ErrorMessage != nil {
			t.Fatalf("a success has the message %q", *got.ErrorMessage)
		}
		t.Served(name, 3)
		checkDetails(t, v, got, 3)
		if v >= 7 {
			scenario.Equal(t, "topic id", got.TopicID, t.TopicID(name))
		}
	})
}

// checkDetails checks what version 5 and up tell of a topic made with
// retention.ms=12345.
func checkDetails(t *scenario.T, v int16, got kmsg.CreateTopicsResponseTopic, partitions int32) {
	if v < 5 {
		return
	}
	scenario.Equal(t, "partitions", got.NumPartitions, partitions)
	scenario.Equal(t, "replication factor", got.ReplicationFactor, 1)
	scenario.Equal(t, "config error", got.ConfigErrorCode, 0)
	seen := map[string]kmsg.CreateTopicsResponseTopicConfig{}
	for _, c := range got.Configs {
		seen[c.Name] = c
	}
	t.Text("retention.ms", seen["retention.ms"].Value, "12345")
	scenario.Equal(t, "source of retention.ms", seen["retention.ms"].Source, int8(kmsg.ConfigSourceDynamicTopicConfig))
	t.Text("segment.bytes", seen["segment.bytes"].Value, "1073741824")
	scenario.Equal(t, "source of segment.bytes is not the topic", seen["segment.bytes"].Source != int8(kmsg.ConfigSourceDynamicTopicConfig), true)
	for _, name := range scenario.TopicSettings {
		if _, ok := seen[name]; !ok {
			t.Fatalf("the settings lack %s", name)
		}
	}
}

func createValidateOnly(t *scenario.T) {
	t.Each(kmsg.CreateTopics, 1, 7, func(v int16) {
		name := t.Name("t")
		req := scenario.CreateTopicRequest(name, 4, "retention.ms=12345")
		req.ValidateOnly = true
		got := t.TryCreateTopic(v, req)
		t.OK("validate", got.ErrorCode)
		checkDetails(t, v, got, 4)
		scenario.Equal(t, "it is there", t.TopicExists(name), false)
	})
}

func createDefaults(t *scenario.T) {
	t.Each(kmsg.CreateTopics, 4, 7, func(v int16) {
		name := t.Name("t")
		req := scenario.CreateTopicRequest(name, -1)
		req.Topics[0].ReplicationFactor = -1
		got := t.TryCreateTopic(v, req)
		t.DeleteTopicAtEnd(name)
		t.OK("create", got.ErrorCode)
		want := t.Setting(kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(t.Node())), "num.partitions")
		t.Until("the topic", func() bool { return t.TopicExists(name) })
		scenario.Equal(t, "partitions", strconv.Itoa(len(t.MetadataOf(t.Newest(kmsg.Metadata, 8), name).Partitions)), want)
		if v >= 5 {
			scenario.Equal(t, "partitions", strconv.Itoa(int(got.NumPartitions)), want)
		}
	})
}

// assigned is a topic with a manual assignment, partition to replicas.
func assigned(name string, replicas map[int32][]int32) *kmsg.CreateTopicsRequest {
	req := scenario.CreateTopicRequest(name, -1)
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

func createAssignment(t *scenario.T) {
	node := t.Node()
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		name := t.Name("t")
		got := t.TryCreateTopic(v, assigned(name, map[int32][]int32{0: {node}, 1: {node}, 2: {node}}))
		t.DeleteTopicAtEnd(name)
		t.OK("create", got.ErrorCode)
		t.Served(name, 3)
		if v >= 5 {
			scenario.Equal(t, "partitions", got.NumPartitions, 3)
			scenario.Equal(t, "replication factor", got.ReplicationFactor, 1)
		}
	})
}

func createBadAssignment(t *scenario.T) {
	node := t.Node()
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		for what, a := range map[string]map[int32][]int32{
			"a hole":              {0: {node}, 2: {node}},
			"not from 0":          {1: {node}},
			"no such broker":      {0: {node + 1000}},
			"no replicas":         {0: {}},
			"a broker twice":      {0: {node, node}},
			"a negative broker":   {0: {-1}},
			"a partition without": {0: {node}, 1: {}},
		} {
			got := t.TryCreateTopic(v, assigned(t.Name("t"), a))
			t.Code(what, got.ErrorCode, kerr.InvalidReplicaAssignment)
		}
	})
}

func createAssignmentAndCounts(t *scenario.T) {
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		req := assigned(t.Name("t"), map[int32][]int32{0: {t.Node()}})
		req.Topics[0].NumPartitions = 1
		t.Code("with partitions", t.TryCreateTopic(v, req).ErrorCode, kerr.InvalidRequest)
		req = assigned(t.Name("t"), map[int32][]int32{0: {t.Node()}})
		req.Topics[0].ReplicationFactor = 1
		t.Code("with replicas", t.TryCreateTopic(v, req).ErrorCode, kerr.InvalidRequest)
	})
}

func createPartial(t *scenario.T) {
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		good, bad := t.Name("t"), t.Name("t")
		req := scenario.CreateTopicRequest(bad, 0)
		req.Topics = append(req.Topics, scenario.CreateTopicRequest(good, 1).Topics[0])
		t.DeleteTopicAtEnd(good)
		got := map[string]int16{}
		for _, rt := range scenario.Ask[*kmsg.CreateTopicsResponse](t, v, req).Topics {
			got[rt.Topic] = rt.ErrorCode
		}
		scenario.Equal(t, "topics in the answer", len(got), 2)
		t.Code("bad", got[bad], kerr.InvalidPartitions)
		t.OK("good", got[good])
		t.Until("the good one", func() bool { return t.TopicExists(good) })
		scenario.Equal(t, "the bad one is there", t.TopicExists(bad), false)
	})
}

func createNothing(t *scenario.T) {
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		scenario.Equal(t, "topics", len(scenario.Ask[*kmsg.CreateTopicsResponse](t, v, kmsg.NewPtrCreateTopicsRequest()).Topics), 0)
	})
}

func createAnswers(t *scenario.T) {
	version := t.Newest(kmsg.DescribeConfigs, 2)
	t.Each(kmsg.CreateTopics, 0, 7, func(v int16) {
		name, twice := t.Name("t"), t.Name("none")
		req := scenario.CreateTopicRequest(name, 2, "retention.ms=12345")
		req.Topics = append(req.Topics, scenario.CreateTopicRequest(twice, 0).Topics...)
		got := scenario.Ask[*kmsg.CreateTopicsResponse](t, v, req)
		t.DeleteTopicAtEnd(name)
		t.Served(name, 2)
		slices.SortFunc(got.Topics, func(a, b kmsg.CreateTopicsResponseTopic) int { return -strings.Compare(a.Topic, b.Topic) })
		described := scenario.ByName(t.DescribeConfigs(version, kmsg.ConfigResourceTypeTopic, name, nil, nil).Configs)
		made := scenario.Filled(func(rt *kmsg.CreateTopicsResponseTopic) {
			rt.Topic, rt.TopicID, rt.NumPartitions, rt.ReplicationFactor = name, t.TopicID(name), 2, 1
			for _, c := range described {
				rt.Configs = append(rt.Configs, kmsg.CreateTopicsResponseTopicConfig{Name: c.Name, Value: c.Value, ReadOnly: c.ReadOnly, Source: int8(c.Source), IsSensitive: c.IsSensitive})
			}
		})
		refused := scenario.Filled(func(rt *kmsg.CreateTopicsResponseTopic) {
			rt.Topic, rt.ErrorCode, rt.ErrorMessage = twice, kerr.InvalidPartitions.Code, new("Number of partitions was set to an invalid non-positive value.")
			rt.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
		})
		for _, rt := range []*kmsg.CreateTopicsResponseTopic{&made, &got.Topics[0]} {
			slices.SortFunc(rt.Configs, func(a, b kmsg.CreateTopicsResponseTopicConfig) int { return strings.Compare(a.Name, b.Name) })
		}
		scenario.Whole(t, "CreateTopics", got, scenario.FilledPtr(func(r *kmsg.CreateTopicsResponse) {
			r.Topics = []kmsg.CreateTopicsResponseTopic{made, refused}
			slices.SortFunc(r.Topics, func(a, b kmsg.CreateTopicsResponseTopic) int { return -strings.Compare(a.Topic, b.Topic) })
		}))
	})
}
