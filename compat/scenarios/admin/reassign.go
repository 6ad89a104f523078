package admin

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// reassignScenarios are about reassignments.
var reassignScenarios = []scenario.Scenario{
	{ID: "admin.reassign.none", Says: "No reassignment is listed where there is none, and none can be cancelled.", Refs: []string{"KIP-455"}, Run: reassignNone},
	{ID: "admin.reassign.errors", Says: "Reassignments to unknown brokers, of unknown topics or without replicas are refused.", Refs: []string{"KIP-455"}, Run: reassignErrors},
	{ID: "admin.reassign.same", Says: "A reassignment to the same replicas is done at once.", Refs: []string{"KIP-455"}, Run: reassignSame},
	{ID: "admin.reassign.factor", Says: "From version 1 a reassignment can hold the number of replicas, which the answer repeats.", Refs: []string{"KIP-860"}, Since: "4.1", Run: reassignFactor},
	{ID: "admin.reassign.whole-answer", Says: "AlterPartitionReassignments answers each partition with a code and why; what is under way is listed.", Refs: []string{"KIP-455"}, Run: reassignAnswers},
}

func reassign(t *scenario.T, version int16, topic string, partition int32, replicas []int32) int16 {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	rt := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	rp.Partition, rp.Replicas = partition, replicas
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp := scenario.Ask[*kmsg.AlterPartitionAssignmentsResponse](t, version, req)
	t.OK("reassign", resp.ErrorCode)
	return scenario.One(t, "partitions", scenario.One(t, "topics", resp.Topics).Partitions).ErrorCode
}

func reassignNone(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.AlterPartitionAssignments, 0, 1, func(v int16) {
		t.Code("cancel", reassign(t, v, topic, 0, nil), kerr.NoReassignmentInProgress)
	})
	t.Each(kmsg.ListPartitionReassignments, 0, 0, func(v int16) {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		rt := kmsg.NewListPartitionReassignmentsRequestTopic()
		rt.Topic, rt.Partitions = topic, []int32{0}
		req.Topics = append(req.Topics, rt)
		resp := scenario.Ask[*kmsg.ListPartitionReassignmentsResponse](t, v, req)
		t.OK("list", resp.ErrorCode)
		scenario.Equal(t, "topics", len(resp.Topics), 0)
		req.Topics = nil
		for _, rt := range scenario.Ask[*kmsg.ListPartitionReassignmentsResponse](t, v, req).Topics {
			scenario.Equal(t, "the topic is told", rt.Topic == topic, false)
		}
	})
}

func reassignErrors(t *scenario.T) {
	topic := t.Topic(1)
	node := t.Node()
	t.Each(kmsg.AlterPartitionAssignments, 0, 1, func(v int16) {
		t.Code("unknown broker", reassign(t, v, topic, 0, []int32{node + 1000}), kerr.InvalidReplicaAssignment)
		t.Code("no replicas", reassign(t, v, topic, 0, []int32{}), kerr.InvalidReplicaAssignment)
		t.Code("a broker twice", reassign(t, v, topic, 0, []int32{node, node}), kerr.InvalidReplicaAssignment)
		t.Code("unknown partition", reassign(t, v, topic, 5, []int32{node}), kerr.UnknownTopicOrPartition)
		t.Code("unknown topic", reassign(t, v, t.Name("missing"), 0, []int32{node}), kerr.UnknownTopicOrPartition)
	})
}

func reassignSame(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.AlterPartitionAssignments, 0, 1, func(v int16) {
		t.OK("reassign", reassign(t, v, topic, 0, []int32{t.Node()}))
		t.Append(topic, scenario.PlainBatch("a"))
	})
}

func reassignFactor(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.AlterPartitionAssignments, 1, 1, func(v int16) {
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
			resp := scenario.Ask[*kmsg.AlterPartitionAssignmentsResponse](t, v, req)
			t.OK("reassign", resp.ErrorCode)
			scenario.Equal(t, "the number may change", resp.AllowReplicationFactorChange, may)
			partitions := scenario.One(t, "topics", resp.Topics).Partitions
			scenario.Equal(t, "partitions", len(partitions), 2)
			t.OK("the same number", partitions[0].ErrorCode)
			t.Code("none", partitions[1].ErrorCode, kerr.InvalidReplicaAssignment)
		}
	})
}

func reassignAnswers(t *scenario.T) {
	topic, missing := t.Topic(2), t.Name("missing")
	t.Each(kmsg.AlterPartitionAssignments, 0, 1, func(v int16) {
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
		got := scenario.Ask[*kmsg.AlterPartitionAssignmentsResponse](t, v, req)
		refused := func(n int32, e *kerr.Error, says string) kmsg.AlterPartitionAssignmentsResponseTopicPartition {
			return kmsg.AlterPartitionAssignmentsResponseTopicPartition{Partition: n, ErrorCode: e.Code, ErrorMessage: &says}
		}
		want := scenario.FilledPtr(func(r *kmsg.AlterPartitionAssignmentsResponse) {
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
		scenario.Whole(t, "AlterPartitionReassignments", got, want)
	})
	t.Each(kmsg.ListPartitionReassignments, 0, 0, func(v int16) {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.TimeoutMillis = 5000
		req.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: topic, Partitions: []int32{0, 1, 2}}}
		scenario.Whole(t, "ListPartitionReassignments", scenario.Ask[*kmsg.ListPartitionReassignmentsResponse](t, v, req), kmsg.NewPtrListPartitionReassignmentsResponse())
	})
}
