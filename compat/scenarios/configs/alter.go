package configs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// alterScenarios are about AlterConfigs, and settings that nothing sets.
var alterScenarios = []scenario.Scenario{
	{ID: "configs.alter.replaces", Says: "AlterConfigs replaces all settings of a topic.", Run: alterReplaces},
	{ID: "configs.alter.errors", Says: "AlterConfigs refuses unknown topics, settings and values and changes nothing.", Run: alterErrors},
	{ID: "configs.small-segments", Says: "segment.bytes below 1 MiB is INVALID_CONFIG.", Refs: []string{"KIP-1030"}, Since: "4.0", Run: smallSegments},
	{ID: "configs.removed", Says: "Settings of topics that were removed are INVALID_CONFIG.", Refs: []string{"KIP-724"}, Since: "4.0", Run: removedSettings},
	{ID: "configs.alter.whole-answer", Says: "AlterConfigs and IncrementalAlterConfigs answer each resource with a code and why in every version.", Run: alterConfigAnswers},
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

func alterReplaces(t *scenario.T) {
	t.Each(kmsg.AlterConfigs, 0, 2, func(v int16) {
		topic := t.Topic(1, "retention.ms=1000000", "segment.bytes=2000000")
		got := scenario.One(t, "resources", scenario.Ask[*kmsg.AlterConfigsResponse](t, v, alterRequest(topic, "retention.ms=2000000")).Resources)
		t.OK("alter", got.ErrorCode)
		scenario.Equal(t, "resource", got.ResourceName, topic)
		t.Becomes(topic, "retention.ms", "2000000")
		t.Becomes(topic, "segment.bytes", "1073741824")
		t.OK("alter to nothing", scenario.One(t, "resources", scenario.Ask[*kmsg.AlterConfigsResponse](t, v, alterRequest(topic)).Resources).ErrorCode)
		t.Becomes(topic, "retention.ms", "604800000")
		req := alterRequest(topic, "retention.ms=5")
		req.ValidateOnly = true
		t.OK("validate", scenario.One(t, "resources", scenario.Ask[*kmsg.AlterConfigsResponse](t, v, req).Resources).ErrorCode)
		scenario.Equal(t, "retention.ms", t.TopicSetting(topic, "retention.ms"), "604800000")
	})
}

func alterErrors(t *scenario.T) {
	topic := t.Topic(1, "retention.ms=1000000")
	t.Each(kmsg.AlterConfigs, 0, 2, func(v int16) {
		try := func(what string, req *kmsg.AlterConfigsRequest, want *kerr.Error) {
			got := scenario.One(t, "resources", scenario.Ask[*kmsg.AlterConfigsResponse](t, v, req).Resources)
			scenario.Equal(t, "resource", got.ResourceName, req.Resources[0].ResourceName)
			t.Code(what, got.ErrorCode, want)
			if got.ErrorMessage == nil {
				t.Fatalf("%s: there is no error message", what)
			}
		}
		try("unknown topic", alterRequest(t.Name("missing"), "retention.ms=1"), kerr.UnknownTopicOrPartition)
		try("unknown setting", alterRequest(topic, "foo.bar=1"), kerr.InvalidConfig)
		try("bad value", alterRequest(topic, "retention.ms=abc"), kerr.InvalidConfig)
		try("null", alterRequest(topic, "retention.ms"), kerr.InvalidRequest)
		// A resource twice is not tried: Kafka 4.2 never answers it.
	})
	scenario.Equal(t, "retention.ms", t.TopicSetting(topic, "retention.ms"), "1000000")
}

func smallSegments(t *scenario.T) {
	for _, size := range []string{"14", "1048575"} {
		name := t.Name("t")
		got := t.TryCreateTopic(t.Newest(kmsg.CreateTopics, 5), scenario.CreateTopicRequest(name, 1, "segment.bytes="+size))
		if got.ErrorCode == 0 {
			t.DeleteTopicAtEnd(name)
			t.Deviates("segment.bytes may be as low as 14")
		} else {
			t.Code(size, got.ErrorCode, kerr.InvalidConfig)
		}
	}
	got := t.TryCreateTopic(t.Newest(kmsg.CreateTopics, 5), scenario.CreateTopicRequest(t.Name("t"), 1, "segment.bytes=13"))
	t.Code("13", got.ErrorCode, kerr.InvalidConfig)
}

func removedSettings(t *scenario.T) {
	for _, s := range []string{"message.format.version=2.8", "message.timestamp.difference.max.ms=1000", "message.downconversion.enable=true"} {
		name := t.Name("t")
		got := t.TryCreateTopic(t.Newest(kmsg.CreateTopics, 5), scenario.CreateTopicRequest(name, 1, s))
		if got.ErrorCode != 0 {
			t.Code(s, got.ErrorCode, kerr.InvalidConfig)
			continue
		}
		t.DeleteTopicAtEnd(name)
		t.Deviates("settings of topics that Kafka 4.0 removed are accepted and forgotten")
		key, _, _ := strings.Cut(s, "=")
		t.Until("the topic", func() bool { return t.TopicExists(name) })
		resp := t.DescribeConfigs(t.Newest(kmsg.DescribeConfigs, 2), kmsg.ConfigResourceTypeTopic, name, []string{key}, nil)
		scenario.Equal(t, "settings described", len(resp.Configs), 0)
	}
}

func alterConfigAnswers(t *scenario.T) {
	topic, missing, other := t.Topic(1), t.Name("missing"), strconv.Itoa(int(t.Node()+1))
	names := []string{topic, missing, other, "many"}
	kind := func(name string) kmsg.ConfigResourceType {
		if name == topic || name == missing {
			return kmsg.ConfigResourceTypeTopic
		}
		return kmsg.ConfigResourceTypeBroker
	}
	type told struct {
		code int16
		says *string
	}
	want := map[string]told{
		topic:   {0, nil},
		missing: {kerr.UnknownTopicOrPartition.Code, new("The topic '" + missing + "' does not exist.")},
		other:   {kerr.InvalidRequest.Code, new("Unexpected broker id, expected " + t.NodeName() + ", but received " + other)},
		"many":  {kerr.InvalidRequest.Code, new("Node id must be an integer, but it is: many")},
	}
	t.Each(kmsg.AlterConfigs, 0, 2, func(v int16) {
		req, resp := kmsg.NewPtrAlterConfigsRequest(), kmsg.NewPtrAlterConfigsResponse()
		for _, name := range names {
			req.Resources = append(req.Resources, kmsg.AlterConfigsRequestResource{
				ResourceType: kind(name), ResourceName: name,
				Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: new("777")}},
			})
			resp.Resources = append(resp.Resources, kmsg.AlterConfigsResponseResource{ResourceType: kind(name), ResourceName: name, ErrorCode: want[name].code, ErrorMessage: want[name].says})
		}
		got := scenario.Ask[*kmsg.AlterConfigsResponse](t, v, req)
		for _, r := range []*kmsg.AlterConfigsResponse{got, resp} {
			slices.SortFunc(r.Resources, func(a, b kmsg.AlterConfigsResponseResource) int {
				return strings.Compare(a.ResourceName, b.ResourceName)
			})
		}
		scenario.Whole(t, "AlterConfigs", got, resp)
		t.Until("the setting", func() bool { return t.TopicSetting(topic, "retention.ms") == "777" })
	})
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		req, resp := kmsg.NewPtrIncrementalAlterConfigsRequest(), kmsg.NewPtrIncrementalAlterConfigsResponse()
		for _, name := range names {
			req.Resources = append(req.Resources, kmsg.IncrementalAlterConfigsRequestResource{
				ResourceType: kind(name), ResourceName: name,
				Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: new("888")}},
			})
			resp.Resources = append(resp.Resources, kmsg.IncrementalAlterConfigsResponseResource{ResourceType: kind(name), ResourceName: name, ErrorCode: want[name].code, ErrorMessage: want[name].says})
		}
		got := scenario.Ask[*kmsg.IncrementalAlterConfigsResponse](t, v, req)
		for _, r := range []*kmsg.IncrementalAlterConfigsResponse{got, resp} {
			slices.SortFunc(r.Resources, func(a, b kmsg.IncrementalAlterConfigsResponseResource) int {
				return strings.Compare(a.ResourceName, b.ResourceName)
			})
		}
		scenario.Whole(t, "IncrementalAlterConfigs", got, resp)
		t.Until("the setting", func() bool { return t.TopicSetting(topic, "retention.ms") == "888" })
	})
}
