package compat

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicAnswers are about every field of what is answered to those who make, change
// and delete topics, and their settings.
var topicAnswers = []Scenario{
	{ID: "topics.create.whole-answer", Says: "CreateTopics answers each topic with id, partitions and settings, or a code and why, in every version.", Refs: []string{"KIP-525"}, Run: createAnswers},
	{ID: "topics.delete.whole-answer", Says: "DeleteTopics answers each topic in every version, by name or id.", Refs: []string{"KIP-516"}, Run: deleteAnswers},
	{ID: "topics.partitions.whole-answer", Says: "CreatePartitions answers each topic with a code and why in every version.", Run: partitionsAnswers},
	{ID: "topics.delete-records.whole-answer", Says: "DeleteRecords answers each partition, also those one behind the last, with its new start.", Run: deleteRecordsAnswers},
	{ID: "admin.elect.whole-answer", Says: "ElectLeaders answers each partition with a code and why in every version.", Refs: []string{"KIP-460"}, Run: electAnswers},
	{ID: "admin.reassign.whole-answer", Says: "AlterPartitionReassignments answers each partition with a code and why; what is under way is listed.", Refs: []string{"KIP-455"}, Run: reassignAnswers},
	{ID: "admin.config-resources.whole-answer", Says: "ListConfigResources lists kinds and names, and refuses kinds that are none.", Refs: []string{"KIP-1142"}, Since: "4.1", Run: configResourceAnswers},
	{ID: "configs.describe.whole-answer", Says: "DescribeConfigs tells every field of a setting in every version.", Run: describeConfigAnswers},
	{ID: "configs.describe.whole-answer.refused", Says: "DescribeConfigs refuses each resource that is not there with a code and why.", Run: describeConfigRefusals},
	{ID: "configs.describe.whole-answer.kinds", Says: "DescribeConfigs tells every field of settings of brokers, groups and client metrics, and refuses groups and subscriptions without a name.", Refs: []string{"KIP-848", "KIP-714"}, Since: "4.0", Run: describeConfigKinds},
	{ID: "configs.alter.whole-answer", Says: "AlterConfigs and IncrementalAlterConfigs answer each resource with a code and why in every version.", Run: alterConfigAnswers},
}

func createAnswers(t *T) {
	version := t.newest(kmsg.DescribeConfigs, 2)
	t.each(kmsg.CreateTopics, 0, 7, func(v int16) {
		name, twice := t.name("t"), t.name("none")
		req := createTopic(name, 2, "retention.ms=12345")
		req.Topics = append(req.Topics, createTopic(twice, 0).Topics...)
		got := ask[*kmsg.CreateTopicsResponse](t, v, req)
		t.deleteAtEnd(name)
		t.served(name, 2)
		slices.SortFunc(got.Topics, func(a, b kmsg.CreateTopicsResponseTopic) int { return -strings.Compare(a.Topic, b.Topic) })
		described := byName(t.describeConfigs(version, kmsg.ConfigResourceTypeTopic, name, nil, nil).Configs)
		made := filled(func(rt *kmsg.CreateTopicsResponseTopic) {
			rt.Topic, rt.TopicID, rt.NumPartitions, rt.ReplicationFactor = name, t.topicID(name), 2, 1
			for _, c := range described {
				rt.Configs = append(rt.Configs, kmsg.CreateTopicsResponseTopicConfig{Name: c.Name, Value: c.Value, ReadOnly: c.ReadOnly, Source: int8(c.Source), IsSensitive: c.IsSensitive})
			}
		})
		refused := filled(func(rt *kmsg.CreateTopicsResponseTopic) {
			rt.Topic, rt.ErrorCode, rt.ErrorMessage = twice, kerr.InvalidPartitions.Code, new("Number of partitions was set to an invalid non-positive value.")
			rt.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
		})
		for _, rt := range []*kmsg.CreateTopicsResponseTopic{&made, &got.Topics[0]} {
			slices.SortFunc(rt.Configs, func(a, b kmsg.CreateTopicsResponseTopicConfig) int { return strings.Compare(a.Name, b.Name) })
		}
		whole(t, "CreateTopics", got, filledPtr(func(r *kmsg.CreateTopicsResponse) {
			r.Topics = []kmsg.CreateTopicsResponseTopic{made, refused}
			slices.SortFunc(r.Topics, func(a, b kmsg.CreateTopicsResponseTopic) int { return -strings.Compare(a.Topic, b.Topic) })
		}))
	})
}

func deleteAnswers(t *T) {
	t.each(kmsg.DeleteTopics, 0, 6, func(v int16) {
		name, missing := t.Topic(1), t.name("missing")
		id := t.topicID(name)
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames, req.TimeoutMillis = []string{name, missing}, 5000
		req.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: id}, {Topic: &missing}, {TopicID: [16]byte{8}}}
		got := ask[*kmsg.DeleteTopicsResponse](t, v, req)
		slices.SortFunc(got.Topics, func(a, b kmsg.DeleteTopicsResponseTopic) int {
			return strings.Compare(or(a.Topic, ""), or(b.Topic, ""))
		})
		answered := func(name *string, id [16]byte, e *kerr.Error) kmsg.DeleteTopicsResponseTopic {
			return filled(func(rt *kmsg.DeleteTopicsResponseTopic) {
				if rt.Topic, rt.TopicID = name, id; e != nil {
					rt.ErrorCode, rt.ErrorMessage = e.Code, &e.Description
				}
			})
		}
		want := []kmsg.DeleteTopicsResponseTopic{answered(&missing, [16]byte{}, kerr.UnknownTopicOrPartition), answered(&name, id, nil)}
		if v >= 6 {
			want = slices.Insert(want, 0, answered(nil, [16]byte{8}, kerr.UnknownTopicID))
		}
		whole(t, "DeleteTopics", got, filledPtr(func(r *kmsg.DeleteTopicsResponse) { r.Topics = want }))
	})
}

func partitionsAnswers(t *T) {
	t.each(kmsg.CreatePartitions, 0, 3, func(v int16) {
		name, same, missing := t.Topic(1), t.Topic(2), t.name("missing")
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis = 5000
		for topic, count := range map[string]int32{name: 2, same: 2, missing: 2} {
			req.Topics = append(req.Topics, kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: count})
		}
		got := ask[*kmsg.CreatePartitionsResponse](t, v, req)
		want := kmsg.NewPtrCreatePartitionsResponse()
		want.Topics = []kmsg.CreatePartitionsResponseTopic{
			{Topic: name},
			{Topic: same, ErrorCode: kerr.InvalidPartitions.Code, ErrorMessage: new("Topic already has 2 partition(s).")},
			{Topic: missing, ErrorCode: kerr.UnknownTopicOrPartition.Code},
		}
		for _, r := range []*kmsg.CreatePartitionsResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.CreatePartitionsResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
		}
		whole(t, "CreatePartitions", got, want)
	})
}

func deleteRecordsAnswers(t *T) {
	t.each(kmsg.DeleteRecords, 0, 2, func(v int16) {
		name, missing := t.Topic(2), t.name("missing")
		t.append(name, plainBatch("a", "b", "c"))
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.TimeoutMillis = 5000
		req.Topics = []kmsg.DeleteRecordsRequestTopic{
			{Topic: name, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 2}, {Partition: 1, Offset: 1}, {Partition: 2, Offset: 0}, {Partition: -1, Offset: 0}}},
			{Topic: missing, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 0}}},
		}
		got := ask[*kmsg.DeleteRecordsResponse](t, v, req)
		refused := func(n int32, e *kerr.Error) kmsg.DeleteRecordsResponseTopicPartition {
			return kmsg.DeleteRecordsResponseTopicPartition{Partition: n, LowWatermark: -1, ErrorCode: e.Code}
		}
		want := kmsg.NewPtrDeleteRecordsResponse()
		want.Topics = []kmsg.DeleteRecordsResponseTopic{
			{Topic: name, Partitions: []kmsg.DeleteRecordsResponseTopicPartition{
				refused(-1, kerr.UnknownTopicOrPartition), {Partition: 0, LowWatermark: 2}, refused(1, kerr.OffsetOutOfRange), refused(2, kerr.UnknownTopicOrPartition),
			}},
			{Topic: missing, Partitions: []kmsg.DeleteRecordsResponseTopicPartition{refused(0, kerr.UnknownTopicOrPartition)}},
		}
		for _, r := range []*kmsg.DeleteRecordsResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.DeleteRecordsResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
			for _, rt := range r.Topics {
				slices.SortFunc(rt.Partitions, func(a, b kmsg.DeleteRecordsResponseTopicPartition) int { return int(a.Partition - b.Partition) })
			}
		}
		whole(t, "DeleteRecords", got, want)
	})
}

func electAnswers(t *T) {
	topic, missing := t.Topic(2), t.name("missing")
	t.each(kmsg.ElectLeaders, 0, 2, func(v int16) {
		got := t.elect(v, 0, map[string][]int32{topic: {0, 2, -1}, missing: {0}})
		answered := func(n int32, e *kerr.Error, says string) kmsg.ElectLeadersResponseTopicPartition {
			return kmsg.ElectLeadersResponseTopicPartition{Partition: n, ErrorCode: e.Code, ErrorMessage: &says}
		}
		want := kmsg.NewPtrElectLeadersResponse()
		want.Topics = []kmsg.ElectLeadersResponseTopic{
			{Topic: topic, Partitions: []kmsg.ElectLeadersResponseTopicPartition{
				answered(-1, kerr.UnknownTopicOrPartition, "No such partition as "+topic+"--1"),
				answered(0, kerr.ElectionNotNeeded, "Leader election not needed for topic partition."),
				answered(2, kerr.UnknownTopicOrPartition, "No such partition as "+topic+"-2"),
			}},
			{Topic: missing, Partitions: []kmsg.ElectLeadersResponseTopicPartition{answered(0, kerr.UnknownTopicOrPartition, "No such topic as "+missing)}},
		}
		for _, r := range []*kmsg.ElectLeadersResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.ElectLeadersResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
			for _, rt := range r.Topics {
				slices.SortFunc(rt.Partitions, func(a, b kmsg.ElectLeadersResponseTopicPartition) int { return int(a.Partition - b.Partition) })
			}
		}
		whole(t, "ElectLeaders", got, want)
	})
}

func reassignAnswers(t *T) {
	topic, missing := t.Topic(2), t.name("missing")
	t.each(kmsg.AlterPartitionAssignments, 0, 1, func(v int16) {
		req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		req.TimeoutMillis = 5000
		add := func(name string, replicas map[int32][]int32) {
			rt := kmsg.NewAlterPartitionAssignmentsRequestTopic()
			rt.Topic = name
			for n, r := range replicas {
				rt.Partitions = append(rt.Partitions, kmsg.AlterPartitionAssignmentsRequestTopicPartition{Partition: n, Replicas: r})
			}
			req.Topics = append(req.Topics, rt)
		}
		node := []int32{t.Node()}
		add(topic, map[int32][]int32{0: node, 1: nil, 2: node, -1: node})
		add(missing, map[int32][]int32{0: node})
		got := ask[*kmsg.AlterPartitionAssignmentsResponse](t, v, req)
		refused := func(n int32, e *kerr.Error, says string) kmsg.AlterPartitionAssignmentsResponseTopicPartition {
			return kmsg.AlterPartitionAssignmentsResponseTopicPartition{Partition: n, ErrorCode: e.Code, ErrorMessage: &says}
		}
		want := filledPtr(func(r *kmsg.AlterPartitionAssignmentsResponse) {
			r.AllowReplicationFactorChange = true
			r.Topics = []kmsg.AlterPartitionAssignmentsResponseTopic{
				{Topic: topic, Partitions: []kmsg.AlterPartitionAssignmentsResponseTopicPartition{
					refused(-1, kerr.UnknownTopicOrPartition, "Unable to find partition "+topic+":-1."),
					{Partition: 0},
					{Partition: 1, ErrorCode: kerr.NoReassignmentInProgress.Code},
					refused(2, kerr.UnknownTopicOrPartition, "Unable to find partition "+topic+":2."),
				}},
				{Topic: missing, Partitions: []kmsg.AlterPartitionAssignmentsResponseTopicPartition{
					refused(0, kerr.UnknownTopicOrPartition, "Unable to find a topic named "+missing+"."),
				}},
			}
		})
		for _, r := range []*kmsg.AlterPartitionAssignmentsResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.AlterPartitionAssignmentsResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
			for _, rt := range r.Topics {
				slices.SortFunc(rt.Partitions, func(a, b kmsg.AlterPartitionAssignmentsResponseTopicPartition) int {
					return int(a.Partition - b.Partition)
				})
			}
		}
		whole(t, "AlterPartitionReassignments", got, want)
	})
	t.each(kmsg.ListPartitionReassignments, 0, 0, func(v int16) {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.TimeoutMillis = 5000
		req.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: topic, Partitions: []int32{0, 1, 2}}}
		whole(t, "ListPartitionReassignments", ask[*kmsg.ListPartitionReassignmentsResponse](t, v, req), kmsg.NewPtrListPartitionReassignmentsResponse())
	})
}

func configResourceAnswers(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.ListConfigResources, 1, 1, func(v int16) {
		list := func(kinds ...int8) *kmsg.ListConfigResourcesResponse {
			req := kmsg.NewPtrListConfigResourcesRequest()
			req.ResourceTypes = kinds
			got := ask[*kmsg.ListConfigResourcesResponse](t, v, req)
			got.ConfigResources = slices.DeleteFunc(got.ConfigResources, func(r kmsg.ListConfigResourcesResponseConfigResource) bool {
				return r.Type == int8(kmsg.ConfigResourceTypeTopic) && r.Name != topic
			})
			return got
		}
		of := func(kind kmsg.ConfigResourceType, name string) kmsg.ListConfigResourcesResponseConfigResource {
			return filled(func(r *kmsg.ListConfigResourcesResponseConfigResource) { r.Type, r.Name = int8(kind), name })
		}
		answer := func(all ...kmsg.ListConfigResourcesResponseConfigResource) *kmsg.ListConfigResourcesResponse {
			return &kmsg.ListConfigResourcesResponse{ConfigResources: all}
		}
		whole(t, "topics", list(2), answer(of(kmsg.ConfigResourceTypeTopic, topic)))
		whole(t, "brokers", list(4), answer(of(kmsg.ConfigResourceTypeBroker, t.nodeName())))
		whole(t, "loggers and brokers", list(4, 8), answer(of(kmsg.ConfigResourceTypeBrokerLogger, t.nodeName()), of(kmsg.ConfigResourceTypeBroker, t.nodeName())))
		for _, kind := range []int8{0, 1, 3, 7, 9, 15, 17, 31, 33} {
			whole(t, "kind "+strconv.Itoa(int(kind)), list(2, kind), &kmsg.ListConfigResourcesResponse{ErrorCode: kerr.UnsupportedVersion.Code})
		}
	})
	t.each(kmsg.ListConfigResources, 0, 0, func(v int16) {
		got := ask[*kmsg.ListConfigResourcesResponse](t, v, kmsg.NewPtrListConfigResourcesRequest())
		t.ok("ListConfigResources", got.ErrorCode)
		for _, r := range got.ConfigResources {
			equal(t, "kind", r.Type, int8(kmsg.ConfigResourceTypeClientMetrics))
		}
	})
}

func describeConfigAnswers(t *T) {
	topic := t.Topic(1, "retention.ms=12345")
	t.each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic, ConfigNames: []string{"retention.ms", "no.such.setting", "delete.retention.ms"}}}
		for _, synonyms := range []bool{false, true} {
			req.IncludeSynonyms = synonyms
			got := ask[*kmsg.DescribeConfigsResponse](t, v, req)
			for _, r := range got.Resources {
				slices.SortFunc(r.Configs, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return -strings.Compare(a.Name, b.Name) })
			}
			synonym := func(name, value string, source kmsg.ConfigSource) kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
				return kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{Name: name, Value: &value, Source: source}
			}
			own := filled(func(c *kmsg.DescribeConfigsResponseResourceConfig) {
				c.Name, c.Value, c.Source, c.ConfigType = "retention.ms", new("12345"), kmsg.ConfigSourceDynamicTopicConfig, kmsg.ConfigTypeLong
				c.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
					synonym("retention.ms", "12345", kmsg.ConfigSourceDynamicTopicConfig),
				}
			})
			byDefault := filled(func(c *kmsg.DescribeConfigsResponseResourceConfig) {
				c.Name, c.Value, c.IsDefault, c.Source, c.ConfigType = "delete.retention.ms", new("86400000"), true, kmsg.ConfigSourceDefaultConfig, kmsg.ConfigTypeLong
				c.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{synonym("log.cleaner.delete.retention.ms", "86400000", kmsg.ConfigSourceDefaultConfig)}
			})
			if !synonyms {
				own.ConfigSynonyms, byDefault.ConfigSynonyms = nil, nil
			}
			whole(t, "DescribeConfigs", got, filledPtr(func(r *kmsg.DescribeConfigsResponse) {
				r.Resources = []kmsg.DescribeConfigsResponseResource{filled(func(rr *kmsg.DescribeConfigsResponseResource) {
					rr.ErrorMessage, rr.ResourceType, rr.ResourceName = new(""), kmsg.ConfigResourceTypeTopic, topic
					rr.Configs = []kmsg.DescribeConfigsResponseResourceConfig{own, byDefault}
				})}
			}))
		}
	})
}

func describeConfigRefusals(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		describe := func(what string, want map[string]kmsg.DescribeConfigsResponseResource, asked ...kmsg.DescribeConfigsRequestResource) {
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.Resources = asked
			got := ask[*kmsg.DescribeConfigsResponse](t, v, req)
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
			whole(t, what, got, resp)
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
			other:     refused(kerr.InvalidRequest, "Unexpected broker id, expected "+t.nodeName()+" or empty string, but received "+other),
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
				for _, r := range ask[*kmsg.DescribeConfigsResponse](t, v, req).Resources {
					t.code("a kind that is none, and what is beside it", r.ErrorCode, kerr.InvalidRequest)
				}
			}
		}
	})
}

// alterKinds sets or takes back a setting of a group, and one of a client metrics
// subscription of the same name.
func (t *T) alterKinds(name string, op kmsg.IncrementalAlterConfigOp) {
	set := kmsg.NewPtrIncrementalAlterConfigsRequest()
	add := func(kind kmsg.ConfigResourceType, key, value string) {
		set.Resources = append(set.Resources, kmsg.IncrementalAlterConfigsRequestResource{
			ResourceType: kind, ResourceName: name,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Op: op, Value: &value}},
		})
	}
	add(kmsg.ConfigResourceTypeGroupConfig, "consumer.session.timeout.ms", "50000")
	add(kmsg.ConfigResourceTypeClientMetrics, "interval.ms", "60000")
	for _, r := range askOn[*kmsg.IncrementalAlterConfigsResponse](t, t.Dial(), 1, set).Resources {
		t.ok("alter", r.ErrorCode)
	}
}

func describeConfigKinds(t *T) {
	group := t.name("g")
	t.alterKinds(group, 0)
	t.cleanup(func() { t.alterKinds(group, 1) })
	type setting = kmsg.DescribeConfigsResponseResourceConfig
	synonym := func(name, value string, source kmsg.ConfigSource) kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
		return kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{Name: name, Value: &value, Source: source}
	}
	plainSetting := func(name, value string, kind kmsg.ConfigType) setting {
		return filled(func(c *setting) {
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
	t.until("the setting of the group", func() bool {
		return t.setting(kmsg.ConfigResourceTypeGroupConfig, group, own.Name) == "50000"
	})
	t.each(kmsg.DescribeConfigs, 1, 4, func(v int16) {
		for _, c := range []struct {
			kind kmsg.ConfigResourceType
			name string
			want setting
			e    *kerr.Error
			says string
		}{
			{kind: kmsg.ConfigResourceTypeBroker, name: t.nodeName(), want: readOnly},
			{kind: kmsg.ConfigResourceTypeBroker, name: t.nodeName(), want: plainSetting("log.cleaner.threads", "1", kmsg.ConfigTypeInt)},
			{kind: kmsg.ConfigResourceTypeGroupConfig, name: group, want: own},
			{kind: kmsg.ConfigResourceTypeGroupConfig, name: group, want: plainSetting("consumer.heartbeat.interval.ms", "5000", kmsg.ConfigTypeInt)},
			{kind: kmsg.ConfigResourceTypeClientMetrics, name: "m", want: unset},
			{kind: kmsg.ConfigResourceTypeClientMetrics, name: group, want: interval},
			{kind: kmsg.ConfigResourceTypeGroupConfig, e: kerr.InvalidRequest, says: "Group name must not be empty"},
			{kind: kmsg.ConfigResourceTypeClientMetrics, e: kerr.InvalidRequest, says: "Client metrics subscription name must not be empty"},
			{kind: kmsg.ConfigResourceTypeBrokerLogger, e: kerr.InvalidRequest, says: "Broker id must not be empty"},
			{
				kind: kmsg.ConfigResourceTypeBrokerLogger, name: strconv.Itoa(int(t.Node() + 1)), e: kerr.InvalidRequest,
				says: "Unexpected broker id, expected " + t.nodeName() + " but received " + strconv.Itoa(int(t.Node()+1)),
			},
		} {
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.IncludeSynonyms = true
			req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: c.kind, ResourceName: c.name, ConfigNames: []string{c.want.Name}}}
			whole(t, "DescribeConfigs of "+c.name, ask[*kmsg.DescribeConfigsResponse](t, v, req), filledPtr(func(r *kmsg.DescribeConfigsResponse) {
				r.Resources = []kmsg.DescribeConfigsResponseResource{filled(func(rr *kmsg.DescribeConfigsResponseResource) {
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

func alterConfigAnswers(t *T) {
	topic, missing, other := t.Topic(1), t.name("missing"), strconv.Itoa(int(t.Node()+1))
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
		other:   {kerr.InvalidRequest.Code, new("Unexpected broker id, expected " + t.nodeName() + ", but received " + other)},
		"many":  {kerr.InvalidRequest.Code, new("Node id must be an integer, but it is: many")},
	}
	t.each(kmsg.AlterConfigs, 0, 2, func(v int16) {
		req, resp := kmsg.NewPtrAlterConfigsRequest(), kmsg.NewPtrAlterConfigsResponse()
		for _, name := range names {
			req.Resources = append(req.Resources, kmsg.AlterConfigsRequestResource{
				ResourceType: kind(name), ResourceName: name,
				Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: new("777")}},
			})
			resp.Resources = append(resp.Resources, kmsg.AlterConfigsResponseResource{ResourceType: kind(name), ResourceName: name, ErrorCode: want[name].code, ErrorMessage: want[name].says})
		}
		got := ask[*kmsg.AlterConfigsResponse](t, v, req)
		for _, r := range []*kmsg.AlterConfigsResponse{got, resp} {
			slices.SortFunc(r.Resources, func(a, b kmsg.AlterConfigsResponseResource) int {
				return strings.Compare(a.ResourceName, b.ResourceName)
			})
		}
		whole(t, "AlterConfigs", got, resp)
		t.until("the setting", func() bool { return t.topicSetting(topic, "retention.ms") == "777" })
	})
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		req, resp := kmsg.NewPtrIncrementalAlterConfigsRequest(), kmsg.NewPtrIncrementalAlterConfigsResponse()
		for _, name := range names {
			req.Resources = append(req.Resources, kmsg.IncrementalAlterConfigsRequestResource{
				ResourceType: kind(name), ResourceName: name,
				Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: new("888")}},
			})
			resp.Resources = append(resp.Resources, kmsg.IncrementalAlterConfigsResponseResource{ResourceType: kind(name), ResourceName: name, ErrorCode: want[name].code, ErrorMessage: want[name].says})
		}
		got := ask[*kmsg.IncrementalAlterConfigsResponse](t, v, req)
		for _, r := range []*kmsg.IncrementalAlterConfigsResponse{got, resp} {
			slices.SortFunc(r.Resources, func(a, b kmsg.IncrementalAlterConfigsResponseResource) int {
				return strings.Compare(a.ResourceName, b.ResourceName)
			})
		}
		whole(t, "IncrementalAlterConfigs", got, resp)
		t.until("the setting", func() bool { return t.topicSetting(topic, "retention.ms") == "888" })
	})
}
