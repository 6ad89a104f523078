package compat

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// adminScenarios are about what only admin tools ask.
var adminScenarios = []Scenario{
	{ID: "admin.elect.not-needed", Says: "Electing a leader that leads already is ELECTION_NOT_NEEDED, and left out when all are asked for.", Refs: []string{"KIP-460"}, Run: electNotNeeded},
	{ID: "admin.elect.unknown", Says: "Electing a leader of an unknown partition is UNKNOWN_TOPIC_OR_PARTITION.", Refs: []string{"KIP-460"}, Run: electUnknown},
	{ID: "admin.elect.type", Says: "A type of election that is none is INVALID_REQUEST, of the request and of each partition.", Refs: []string{"KIP-460"}, Run: electType},
	{ID: "admin.reassign.none", Says: "No reassignment is listed where there is none, and none can be cancelled.", Refs: []string{"KIP-455"}, Run: reassignNone},
	{ID: "admin.reassign.errors", Says: "Reassignments to unknown brokers, of unknown topics or without replicas are refused.", Refs: []string{"KIP-455"}, Run: reassignErrors},
	{ID: "admin.reassign.same", Says: "A reassignment to the same replicas is done at once.", Refs: []string{"KIP-455"}, Run: reassignSame},
	{ID: "admin.reassign.factor", Says: "From version 1 a reassignment can hold the number of replicas, which the answer repeats.", Refs: []string{"KIP-860"}, Since: "4.1", Run: reassignFactor},
	{ID: "admin.unregister.unknown", Says: "Unregistering a broker that is not registered is BROKER_ID_NOT_REGISTERED.", Refs: []string{"KIP-631"}, Run: unregisterUnknown},
	{ID: "admin.move-log-dir.errors", Says: "Moving a replica to a directory that is none is LOG_DIR_NOT_FOUND.", Refs: []string{"KIP-113"}, Run: moveLogDir},
	{ID: "admin.config-resources", Says: "ListConfigResources lists topics, brokers and groups with settings, and version 0 client metrics alone.", Refs: []string{"KIP-1142"}, Since: "4.1", Run: configResources},
	{ID: "admin.config-resources.groups", Says: "A group is listed by ListConfigResources once it has settings.", Refs: []string{"KIP-1142"}, Since: "4.1", Run: configResourcesGroups},
	{ID: "admin.client-metrics", Says: "Client metrics subscriptions are settings of their own kind.", Refs: []string{"KIP-714"}, Since: "3.7", Run: clientMetrics},
	{ID: "admin.loggers.alter", Says: "Levels of loggers are set one by one, not appended to.", Refs: []string{"KIP-412"}, Alone: true, Run: alterLoggers},
	{ID: "admin.acls.disabled", Says: "Without an authorizer ACLs can neither be made nor deleted: SECURITY_DISABLED for each.", Run: changeACLs},
}

func (t *T) elect(version int16, kind int8, topics map[string][]int32) *kmsg.ElectLeadersResponse {
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType = kind
	for name, partitions := range topics {
		rt := kmsg.NewElectLeadersRequestTopic()
		rt.Topic, rt.Partitions = name, partitions
		req.Topics = append(req.Topics, rt)
	}
	return ask[*kmsg.ElectLeadersResponse](t, version, req)
}

func electNotNeeded(t *T) {
	topic := t.Topic(2)
	t.each(kmsg.ElectLeaders, 0, 2, func(v int16) {
		for kind := range int8(2) {
			if v == 0 && kind > 0 {
				continue
			}
			resp := t.elect(v, kind, map[string][]int32{topic: {0, 1}})
			t.ok("elect", resp.ErrorCode)
			rt := one(t, "topics", resp.Topics)
			equal(t, "partitions", len(rt.Partitions), 2)
			for _, p := range rt.Partitions {
				t.code(fmt.Sprint("partition ", p.Partition), p.ErrorCode, kerr.ElectionNotNeeded)
			}
		}
		resp := t.elect(v, 0, nil)
		t.ok("elect all", resp.ErrorCode)
		for _, rt := range resp.Topics {
			if rt.Topic == topic {
				equal(t, "partitions told", len(rt.Partitions), 0)
			}
		}
	})
}

func electUnknown(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.ElectLeaders, 0, 2, func(v int16) {
		for name, partition := range map[string]int32{topic: 7, t.name("missing"): 0} {
			resp := t.elect(v, 0, map[string][]int32{name: {partition}})
			p := one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
			t.code(name, p.ErrorCode, kerr.UnknownTopicOrPartition)
		}
	})
}

func electType(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.ElectLeaders, 1, 2, func(v int16) {
		for _, name := range []string{topic, t.name("missing")} {
			resp := t.elect(v, 2, map[string][]int32{name: {0}})
			t.code("elect", resp.ErrorCode, kerr.InvalidRequest)
			p := one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
			t.code("partition", p.ErrorCode, kerr.InvalidRequest)
			t.contains("message", p.ErrorMessage, "2")
		}
		resp := t.elect(v, 2, nil)
		t.code("elect all", resp.ErrorCode, kerr.InvalidRequest)
		equal(t, "topics", len(resp.Topics), 0)
	})
}

func (t *T) reassign(version int16, topic string, partition int32, replicas []int32) int16 {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	rt := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	rp.Partition, rp.Replicas = partition, replicas
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp := ask[*kmsg.AlterPartitionAssignmentsResponse](t, version, req)
	t.ok("reassign", resp.ErrorCode)
	return one(t, "partitions", one(t, "topics", resp.Topics).Partitions).ErrorCode
}

func reassignNone(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.AlterPartitionAssignments, 0, 1, func(v int16) {
		t.code("cancel", t.reassign(v, topic, 0, nil), kerr.NoReassignmentInProgress)
	})
	t.each(kmsg.ListPartitionReassignments, 0, 0, func(v int16) {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		rt := kmsg.NewListPartitionReassignmentsRequestTopic()
		rt.Topic, rt.Partitions = topic, []int32{0}
		req.Topics = append(req.Topics, rt)
		resp := ask[*kmsg.ListPartitionReassignmentsResponse](t, v, req)
		t.ok("list", resp.ErrorCode)
		equal(t, "topics", len(resp.Topics), 0)
		req.Topics = nil
		for _, rt := range ask[*kmsg.ListPartitionReassignmentsResponse](t, v, req).Topics {
			equal(t, "the topic is told", rt.Topic == topic, false)
		}
	})
}

func reassignErrors(t *T) {
	topic := t.Topic(1)
	node := t.Node()
	t.each(kmsg.AlterPartitionAssignments, 0, 1, func(v int16) {
		t.code("unknown broker", t.reassign(v, topic, 0, []int32{node + 1000}), kerr.InvalidReplicaAssignment)
		t.code("no replicas", t.reassign(v, topic, 0, []int32{}), kerr.InvalidReplicaAssignment)
		t.code("a broker twice", t.reassign(v, topic, 0, []int32{node, node}), kerr.InvalidReplicaAssignment)
		t.code("unknown partition", t.reassign(v, topic, 5, []int32{node}), kerr.UnknownTopicOrPartition)
		t.code("unknown topic", t.reassign(v, t.name("missing"), 0, []int32{node}), kerr.UnknownTopicOrPartition)
	})
}

func reassignSame(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.AlterPartitionAssignments, 0, 1, func(v int16) {
		t.ok("reassign", t.reassign(v, topic, 0, []int32{t.Node()}))
		t.append(topic, plainBatch("a"))
	})
}

func reassignFactor(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.AlterPartitionAssignments, 1, 1, func(v int16) {
		for _, may := range []bool{true, false} {
			req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			req.AllowReplicationFactorChange = may
			rt := kmsg.NewAlterPartitionAssignmentsRequestTopic()
			rt.Topic = topic
			for _, replicas := range [][]int32{{t.Node()}, {}} {
				rp := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
				rp.Replicas = replicas
				rt.Partitions = append(rt.Partitions, rp)
			}
			req.Topics = append(req.Topics, rt)
			resp := ask[*kmsg.AlterPartitionAssignmentsResponse](t, v, req)
			t.ok("reassign", resp.ErrorCode)
			equal(t, "the number may change", resp.AllowReplicationFactorChange, may)
			partitions := one(t, "topics", resp.Topics).Partitions
			equal(t, "partitions", len(partitions), 2)
			t.ok("the same number", partitions[0].ErrorCode)
			t.code("none", partitions[1].ErrorCode, kerr.InvalidReplicaAssignment)
		}
	})
}

func unregisterUnknown(t *T) {
	t.each(kmsg.UnregisterBroker, 0, 0, func(v int16) {
		req := kmsg.NewPtrUnregisterBrokerRequest()
		req.BrokerID = 4711
		t.code("unregister", ask[*kmsg.UnregisterBrokerResponse](t, v, req).ErrorCode, kerr.BrokerIDNotRegistered)
	})
}

func moveLogDir(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.AlterReplicaLogDirs, 0, 2, func(v int16) {
		move := func(dir, topic string, partition int32) int16 {
			req := kmsg.NewPtrAlterReplicaLogDirsRequest()
			rd := kmsg.NewAlterReplicaLogDirsRequestDir()
			rd.Dir = dir
			rt := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
			rt.Topic, rt.Partitions = topic, []int32{partition}
			rd.Topics = append(rd.Topics, rt)
			req.Dirs = append(req.Dirs, rd)
			resp := ask[*kmsg.AlterReplicaLogDirsResponse](t, v, req)
			return one(t, "partitions", one(t, "topics", resp.Topics).Partitions).ErrorCode
		}
		t.code("no such directory", move("/no/such/directory", topic, 0), kerr.LogDirNotFound)
		var dir string
		for _, d := range ask[*kmsg.DescribeLogDirsResponse](t, t.newest(kmsg.DescribeLogDirs, 2), kmsg.NewPtrDescribeLogDirsRequest()).Dirs {
			dir = d.Dir
		}
		t.ok("where it is", move(dir, topic, 0))
		t.code("unknown topic", move(dir, t.name("missing"), 0), kerr.UnknownTopicOrPartition)
	})
}

// configResources asks which resources there are, by kind.
func (t *T) configResources(version int16, kinds ...kmsg.ConfigResourceType) (map[kmsg.ConfigResourceType][]string, int16) {
	req := kmsg.NewPtrListConfigResourcesRequest()
	for _, k := range kinds {
		req.ResourceTypes = append(req.ResourceTypes, int8(k))
	}
	resp := ask[*kmsg.ListConfigResourcesResponse](t, version, req)
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

func configResources(t *T) {
	topic := t.Topic(1)
	metrics := t.name("metrics")
	newest := t.newest(kmsg.IncrementalAlterConfigs, 1)
	t.unsetAtEnd(newest, kmsg.ConfigResourceTypeClientMetrics, metrics, "interval.ms")
	t.ok("set", t.alter(newest, kmsg.ConfigResourceTypeClientMetrics, metrics, set("interval.ms", "60000")).ErrorCode)
	listed := func(v int16, kinds ...kmsg.ConfigResourceType) map[kmsg.ConfigResourceType][]string {
		got, code := t.configResources(v, kinds...)
		t.ok("list", code)
		return got
	}
	t.each(kmsg.ListConfigResources, 0, 0, func(v int16) {
		t.until("the subscription", func() bool {
			return slices.Contains(listed(v)[kmsg.ConfigResourceTypeClientMetrics], metrics)
		})
		equal(t, "the topic is there", slices.Contains(listed(v)[kmsg.ConfigResourceTypeClientMetrics], topic), false)
	})
	t.each(kmsg.ListConfigResources, 1, 1, func(v int16) {
		here := map[kmsg.ConfigResourceType]string{
			kmsg.ConfigResourceTypeTopic: topic, kmsg.ConfigResourceTypeClientMetrics: metrics,
			kmsg.ConfigResourceTypeBroker: t.nodeName(), kmsg.ConfigResourceTypeBrokerLogger: t.nodeName(),
		}
		for kind, name := range here {
			t.until("what was made", func() bool { return slices.Contains(listed(v)[kind], name) })
			alone := listed(v, kind, kind) // Asked for twice, told once.
			equal(t, "kinds", len(alone), 1)
			times := 0
			for _, n := range alone[kind] {
				if n == name {
					times++
				}
			}
			equal(t, fmt.Sprint(kind, " ", name, " is told"), times, 1)
		}
		equal(t, "kinds", len(listed(v, kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker)), 2)
		for _, kind := range []kmsg.ConfigResourceType{0, 3, 64} {
			got, code := t.configResources(v, kmsg.ConfigResourceTypeTopic, kind)
			t.code("a kind that is none", code, kerr.UnsupportedVersion)
			equal(t, "kinds", len(got), 0)
		}
	})
}

func configResourcesGroups(t *T) {
	const kind = kmsg.ConfigResourceTypeGroupConfig
	group := t.name("group")
	newest := t.newest(kmsg.IncrementalAlterConfigs, 1)
	t.each(kmsg.ListConfigResources, 1, 1, func(v int16) {
		there := func() bool {
			got, code := t.configResources(v, kind)
			t.ok("list", code)
			return slices.Contains(got[kind], group)
		}
		equal(t, "it is there before", there(), false)
		t.unsetAtEnd(newest, kind, group, "consumer.session.timeout.ms")
		t.ok("set", t.alter(newest, kind, group, set("consumer.session.timeout.ms", "50000")).ErrorCode)
		t.until("the group", there)
		// Without settings again, Kafka 4.2 goes on listing it until it restarts; later
		// releases do not.
	})
}

func clientMetrics(t *T) {
	name := t.name("metrics")
	const kind = kmsg.ConfigResourceTypeClientMetrics
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		t.unsetAtEnd(v, kind, name, "interval.ms", "metrics")
		t.ok("set", t.alter(v, kind, name, set("interval.ms", "60000"), set("metrics", "org.apache.kafka.producer")).ErrorCode)
		t.code("too often", t.alter(v, kind, name, set("interval.ms", "1")).ErrorCode, kerr.InvalidRequest)
		t.code("unknown", t.alter(v, kind, name, set("foo", "1")).ErrorCode, kerr.InvalidRequest)
		t.code("bad pattern", t.alter(v, kind, name, set("match", "nonsense")).ErrorCode, kerr.InvalidConfig)
		t.until("the setting", func() bool {
			got := t.describeConfigs(t.newest(kmsg.DescribeConfigs, 4), kind, name, nil, nil)
			t.ok("describe", got.ErrorCode)
			return or(byName(got.Configs)["interval.ms"].Value, "") == "60000"
		})
	})
}

func alterLoggers(t *T) {
	const kind = kmsg.ConfigResourceTypeBrokerLogger
	t.each(kmsg.IncrementalAlterConfigs, 0, 1, func(v int16) {
		got := t.alter(v, kind, t.nodeName(), set("kafka.no.such.logger", "DEBUG"))
		t.code("append", t.alter(v, kind, t.nodeName(), change{kmsg.IncrementalAlterConfigOpAppend, "root", new("INFO")}).ErrorCode, kerr.InvalidRequest)
		t.code("another broker", t.alter(v, kind, "4711", set("root", "INFO")).ErrorCode, kerr.InvalidRequest)
		if got.ErrorCode == kerr.InvalidRequest.Code {
			t.Deviates("the log has one level, which is set at the start")
			return
		}
		t.code("no such logger", got.ErrorCode, kerr.InvalidConfig)
		t.code("no such level", t.alter(v, kind, t.nodeName(), set("root", "LOUD")).ErrorCode, kerr.InvalidConfig)
		root := byName(t.describeConfigs(t.newest(kmsg.DescribeConfigs, 4), kind, t.nodeName(), []string{"root"}, nil).Configs)["root"]
		t.ok("set", t.alter(v, kind, t.nodeName(), set("root", or(root.Value, "INFO"))).ErrorCode)
	})
}

func changeACLs(t *T) {
	t.each(kmsg.CreateACLs, 0, 3, func(v int16) {
		req := kmsg.NewPtrCreateACLsRequest()
		c := kmsg.NewCreateACLsRequestCreation()
		c.ResourceType, c.ResourceName, c.ResourcePatternType = kmsg.ACLResourceTypeTopic, "t", kmsg.ACLResourcePatternTypeLiteral
		c.Principal, c.Host, c.Operation, c.PermissionType = "User:a", "*", kmsg.ACLOperationRead, kmsg.ACLPermissionTypeAllow
		req.Creations = append(req.Creations, c)
		t.code("create", one(t, "results", ask[*kmsg.CreateACLsResponse](t, v, req).Results).ErrorCode, kerr.SecurityDisabled)
	})
	t.each(kmsg.DeleteACLs, 0, 3, func(v int16) {
		req := kmsg.NewPtrDeleteACLsRequest()
		f := kmsg.NewDeleteACLsRequestFilter()
		f.ResourceType, f.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
		f.Operation, f.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		req.Filters = append(req.Filters, f)
		t.code("delete", one(t, "results", ask[*kmsg.DeleteACLsResponse](t, v, req).Results).ErrorCode, kerr.SecurityDisabled)
	})
}
