package admin

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// resourcesScenarios are about resources that have settings, beside topics and brokers.
var resourcesScenarios = []scenario.Scenario{
	{ID: "admin.config-resources", Says: "ListConfigResources lists topics, brokers and groups with settings, and version 0 client metrics alone.", Refs: []string{"KIP-1142"}, Since: "4.1", Run: configResources},
	{ID: "admin.config-resources.groups", Says: "A group is listed by ListConfigResources once it has settings.", Refs: []string{"KIP-1142"}, Since: "4.1", Run: configResourcesGroups},
	{ID: "admin.client-metrics", Says: "Client metrics subscriptions are settings of their own kind.", Refs: []string{"KIP-714"}, Since: "3.7", Run: clientMetrics},
	{ID: "admin.loggers.alter", Says: "Levels of loggers are set one by one, not appended to.", Refs: []string{"KIP-412"}, Alone: true, Run: alterLoggers},
	{ID: "admin.config-resources.whole-answer", Says: "ListConfigResources lists kinds and names, and refuses kinds that are none.", Refs: []string{"KIP-1142"}, Since: "4.1", Run: configResourceAnswers},
}

// listConfigResources asks which resources there are, by kind.
func listConfigResources(t *scenario.T, version int16, kinds ...kmsg.ConfigResourceType) (map[kmsg.ConfigResourceType][]string, int16) {
	req := kmsg.NewPtrListConfigResourcesRequest()
	for _, k := range kinds {
		req.ResourceTypes = append(req.ResourceTypes, int8(k))
	}
	resp := scenario.Ask[*kmsg.ListConfigResourcesResponse](t, version, req)
	got := map[kmsg.ConfigResourceType][]string{}
	for _, r := range resp.ConfigResources {
		kind := kmsg.ConfigResourceType(r.Type)
		if version == 0 { // Which does not tell.
			kind = kmsg.ConfigResourceTypeClientMetrics
		}
		got[kind] = append(got[kind], r.Name)
	}
	return got, resp.ErrorCode
}

func configResources(t *scenario.T) {
	topic := t.Topic(1)
	metrics := t.Name("metrics")
	newest := t.Newest(kmsg.IncrementalAlterConfigs, 1)
	t.UnsetAtEnd(newest, kmsg.ConfigResourceTypeClientMetrics, metrics, "interval.ms")
	t.OK("set", t.Alter(newest, kmsg.ConfigResourceTypeClientMetrics, metrics, scenario.Set("interval.ms", "60000")).ErrorCode)
	listed := func(v int16, kinds ...kmsg.ConfigResourceType) map[kmsg.ConfigResourceType][]string {
		got, code := listConfigResources(t, v, kinds...)
		t.OK("list", code)
		return got
	}
	t.Each(kmsg.ListConfigResources, 0, 0, func(v int16) {
		t.Until("the subscription", func() bool {
			return slices.Contains(listed(v)[kmsg.ConfigResourceTypeClientMetrics], metrics)
		})
		scenario.Equal(t, "the topic is there", slices.Contains(listed(v)[kmsg.ConfigResourceTypeClientMetrics], topic), false)
	})
	t.Each(kmsg.ListConfigResources, 1, 1, func(v int16) {
		here := map[kmsg.ConfigResourceType]string{
			kmsg.ConfigResourceTypeTopic: topic, kmsg.ConfigResourceTypeClientMetrics: metrics,
			kmsg.ConfigResourceTypeBroker: t.NodeName(), kmsg.ConfigResourceTypeBrokerLogger: t.NodeName(),
		}
		for kind, name := range here {
			t.Until("what was made", func() bool { return slices.Contains(listed(v)[kind], name) })
			alone := listed(v, kind, kind) // Asked for twice, told once.
			scenario.Equal(t, "kinds", len(alone), 1)
			times := 0
			for _, n := range alone[kind] {
				if n == name {
					times++
				}
			}
			scenario.Equal(t, fmt.Sprint(kind, " ", name, " is told"), times, 1)
		}
		scenario.Equal(t, "kinds", len(listed(v, kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker)), 2)
		for _, kind := range []kmsg.ConfigResourceType{0, 3, 64} {
			got, code := listConfigResources(t, v, kmsg.ConfigResourceTypeTopic, kind)
			t.Code("a kind that is none", code, kerr.UnsupportedVersion)
			scenario.Equal(t, "kinds", len(got), 0)
		}
	})
}

func configResourcesGroups(t *scenario.T) {
	const kind = kmsg.ConfigResourceTypeGroupConfig
	group := t.Name("group")
	newest := t.Newest(kmsg.IncrementalAlterConfigs, 1)
	t.Each(kmsg.ListConfigResources, 1, 1, func(v int16) {
		there := func() bool {
			got, code := listConfigResources(t, v, kind)
			t.OK("list", code)
			return slices.Contains(got[kind], group)
		}
		scenario.Equal(t, "it is there before", there(), false)
		t.UnsetAtEnd(newest, kind, group, "consumer.session.timeout.ms")
		t.OK("set", t.Alter(newest, kind, group, scenario.Set("consumer.session.timeout.ms", "50000")).ErrorCode)
		t.Until("the group", there)
		// Without settings again, Kafka 4.2 goes on listing it until it restarts; later
		// releases do not.
	})
}

func clientMetrics(t *scenario.T) {
	name := t.Name("metrics")
	const kind = kmsg.ConfigResourceTypeClientMetrics
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		t.UnsetAtEnd(v, kind, name, "interval.ms", "metrics")
		t.OK("set", t.Alter(v, kind, name, scenario.Set("interval.ms", "60000"), scenario.Set("metrics", "org.apache.kafka.producer")).ErrorCode)
		t.Code("too often", t.Alter(v, kind, name, scenario.Set("interval.ms", "1")).ErrorCode, kerr.InvalidRequest)
		t.Code("unknown", t.Alter(v, kind, name, scenario.Set("foo", "1")).ErrorCode, kerr.InvalidRequest)
		t.Code("bad pattern", t.Alter(v, kind, name, scenario.Set("match", "nonsense")).ErrorCode, kerr.InvalidConfig)
		t.Until("the setting", func() bool {
			got := t.DescribeConfigs(t.Newest(kmsg.DescribeConfigs, 4), kind, name, nil, nil)
			t.OK("describe", got.ErrorCode)
			return scenario.ValueOr(scenario.ByName(got.Configs)["interval.ms"].Value, "") == "60000"
		})
	})
}

func alterLoggers(t *scenario.T) {
	const kind = kmsg.ConfigResourceTypeBrokerLogger
	t.Each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		got := t.Alter(v, kind, t.NodeName(), scenario.Set("kafka.no.such.logger", "DEBUG"))
		t.Code("append", t.Alter(v, kind, t.NodeName(), scenario.Change{Op: kmsg.IncrementalAlterConfigOpAppend, Name: "root", Value: new("INFO")}).ErrorCode, kerr.InvalidRequest)
		t.Code("another broker", t.Alter(v, kind, "4711", scenario.Set("root", "INFO")).ErrorCode, kerr.InvalidRequest)
		if got.ErrorCode == kerr.InvalidRequest.Code {
			t.Deviates("the log has one level, which is set at the start")
			return
		}
		t.Code("no such logger", got.ErrorCode, kerr.InvalidConfig)
		t.Code("no such level", t.Alter(v, kind, t.NodeName(), scenario.Set("root", "LOUD")).ErrorCode, kerr.InvalidConfig)
		root := scenario.ByName(t.DescribeConfigs(t.Newest(kmsg.DescribeConfigs, 4), kind, t.NodeName(), []string{"root"}, nil).Configs)["root"]
		t.OK("set", t.Alter(v, kind, t.NodeName(), scenario.Set("root", scenario.ValueOr(root.Value, "INFO"))).ErrorCode)
	})
}

func configResourceAnswers(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.ListConfigResources, 1, 1, func(v int16) {
		list := func(kinds ...int8) *kmsg.ListConfigResourcesResponse {
			req := kmsg.NewPtrListConfigResourcesRequest()
			req.ResourceTypes = kinds
			got := scenario.Ask[*kmsg.ListConfigResourcesResponse](t, v, req)
			got.ConfigResources = slices.DeleteFunc(got.ConfigResources, func(r kmsg.ListConfigResourcesResponseConfigResource) bool {
				return r.Type == int8(kmsg.ConfigResourceTypeTopic) && r.Name != topic
			})
			return got
		}
		of := func(kind kmsg.ConfigResourceType, name string) kmsg.ListConfigResourcesResponseConfigResource {
			return scenario.Filled(func(r *kmsg.ListConfigResourcesResponseConfigResource) { r.Type, r.Name = int8(kind), name })
		}
		answer := func(all ...kmsg.ListConfigResourcesResponseConfigResource) *kmsg.ListConfigResourcesResponse {
			return &kmsg.ListConfigResourcesResponse{ConfigResources: all}
		}
		scenario.Whole(t, "topics", list(2), answer(of(kmsg.ConfigResourceTypeTopic, topic)))
		scenario.Whole(t, "brokers", list(4), answer(of(kmsg.ConfigResourceTypeBroker, t.NodeName())))
		scenario.Whole(t, "loggers and brokers", list(4, 8), answer(of(kmsg.ConfigResourceTypeBrokerLogger, t.NodeName()), of(kmsg.ConfigResourceTypeBroker, t.NodeName())))
		for _, kind := range []int8{0, 1, 3, 7, 9, 15, 17, 31, 33} {
			scenario.Whole(t, "kind "+strconv.Itoa(int(kind)), list(2, kind), &kmsg.ListConfigResourcesResponse{ErrorCode: kerr.UnsupportedVersion.Code})
		}
	})
	t.Each(kmsg.ListConfigResources, 0, 0, func(v int16) {
		got := scenario.Ask[*kmsg.ListConfigResourcesResponse](t, v, kmsg.NewPtrListConfigResourcesRequest())
		t.OK("ListConfigResources", got.ErrorCode)
		for _, r := range got.ConfigResources {
			scenario.Equal(t, "kind", r.Type, int8(kmsg.ConfigResourceTypeClientMetrics))
		}
	})
}
