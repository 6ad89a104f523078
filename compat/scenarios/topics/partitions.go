package topics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// partitionsScenarios are about CreatePartitions and DescribeTopicPartitions.
var partitionsScenarios = []scenario.Scenario{
	{ID: "topics.partitions.sets", Says: "CreatePartitions sets the number; one that is not larger is INVALID_PARTITIONS.", Refs: []string{"redpanda#2393", "case A01"}, Run: partitionsSets},
	{ID: "topics.partitions.ids", Says: "New partitions continue the numbers and are served.", Refs: []string{"franz-go kfake@7cc5185c", "case A03"}, Run: partitionsIDs},
	{ID: "topics.partitions.validate-only", Says: "With validate_only no partition is made.", Run: partitionsValidate},
	{ID: "topics.partitions.errors", Says: "Unknown topics, topics named twice and assignments that do not fit are refused.", Run: partitionsErrors},
	{ID: "topics.partitions.whole-answer", Says: "CreatePartitions answers each topic with a code and why in every version.", Run: partitionsAnswers},
	{ID: "topics.describe-partitions.limit-before-unknown", Says: "When the limit of partitions is reached, the cursor names the next topic whether there is one or not.", Refs: []string{"KIP-966"}, Since: "3.8", Run: limitBeforeUnknown}, // Found by a differential run.
}

func partitionsSets(t *scenario.T) {
	t.Each(kmsg.CreatePartitions, 0, 3, func(v int16) {
		topic := t.Topic(3)
		t.OK("3 to 5", t.CreatePartitions(v, topic, 5, nil).ErrorCode)
		t.Served(topic, 5)
		scenario.Equal(t, "partitions", len(t.MetadataOf(t.Newest(kmsg.Metadata, 8), topic).Partitions), 5)
		for _, n := range []int32{5, 4, 0, -1} {
			got := t.CreatePartitions(v, topic, n, nil)
			t.Code(fmt.Sprintf("5 to %d", n), got.ErrorCode, kerr.InvalidPartitions)
			if got.ErrorMessage == nil {
				t.Fatalf("there is no error message")
			}
		}
	})
}

func partitionsIDs(t *scenario.T) {
	topic := t.Topic(2)
	t.OK("2 to 5", t.CreatePartitions(t.Newest(kmsg.CreatePartitions, 1), topic, 5, nil).ErrorCode)
	t.Served(topic, 5)
	seen := map[int32]bool{}
	for _, p := range t.MetadataOf(t.Newest(kmsg.Metadata, 8), topic).Partitions {
		seen[p.Partition] = true
	}
	for p := range int32(5) {
		scenario.Equal(t, fmt.Sprintf("partition %d is there", p), seen[p], true)
	}
	t.AppendTo(topic, 4, scenario.PlainBatch("a"))
}

func partitionsValidate(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.CreatePartitions, 0, 3, func(v int16) {
		validate := func(r *kmsg.CreatePartitionsRequest) { r.ValidateOnly = true }
		t.OK("validate", t.CreatePartitions(v, topic, 3, validate).ErrorCode)
		t.Code("validate less", t.CreatePartitions(v, topic, 1, validate).ErrorCode, kerr.InvalidPartitions)
		scenario.Equal(t, "partitions", len(t.MetadataOf(t.Newest(kmsg.Metadata, 8), topic).Partitions), 1)
	})
}

func partitionsErrors(t *scenario.T) {
	topic := t.Topic(1)
	node := t.Node()
	assign := func(replicas ...[]int32) func(*kmsg.CreatePartitionsRequest) {
		return func(r *kmsg.CreatePartitionsRequest) {
			for _, rs := range replicas {
				a := kmsg.NewCreatePartitionsRequestTopicAssignment()
				a.Replicas = rs
				r.Topics[0].Assignment = append(r.Topics[0].Assignment, a)
			}
		}
	}
	t.Each(kmsg.CreatePartitions, 0, 3, func(v int16) {
		t.Code("unknown", t.CreatePartitions(v, t.Name("missing"), 3, nil).ErrorCode, kerr.UnknownTopicOrPartition)
		t.Code("too few assignments", t.CreatePartitions(v, topic, 3, assign([]int32{node})).ErrorCode, kerr.InvalidReplicaAssignment)
		t.Code("too many", t.CreatePartitions(v, topic, 2, assign([]int32{node}, []int32{node})).ErrorCode, kerr.InvalidReplicaAssignment)
		t.Code("no such broker", t.CreatePartitions(v, topic, 2, assign([]int32{node + 1000})).ErrorCode, kerr.InvalidReplicaAssignment)
		t.Code("other replication factor", t.CreatePartitions(v, topic, 2, assign([]int32{node, node + 1000})).ErrorCode, kerr.InvalidReplicaAssignment)
		req := kmsg.NewPtrCreatePartitionsRequest()
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = topic, 3
		req.Topics = append(req.Topics, rt, rt)
		got := scenario.One(t, "topics", scenario.Ask[*kmsg.CreatePartitionsResponse](t, v, req).Topics)
		scenario.Equal(t, "topic", got.Topic, topic)
		t.Code("twice", got.ErrorCode, kerr.InvalidRequest)
	})
	scenario.Equal(t, "partitions", len(t.MetadataOf(t.Newest(kmsg.Metadata, 8), topic).Partitions), 1)
}

func partitionsAnswers(t *scenario.T) {
	t.Each(kmsg.CreatePartitions, 0, 3, func(v int16) {
		name, same, missing := t.Topic(1), t.Topic(2), t.Name("missing")
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis = 5000
		for topic, count := range map[string]int32{name: 2, same: 2, missing: 2} {
			req.Topics = append(req.Topics, kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: count})
		}
		got := scenario.Ask[*kmsg.CreatePartitionsResponse](t, v, req)
		want := kmsg.NewPtrCreatePartitionsResponse()
		want.Topics = []kmsg.CreatePartitionsResponseTopic{
			{Topic: name},
			{Topic: same, ErrorCode: kerr.InvalidPartitions.Code, ErrorMessage: new("Topic already has 2 partition(s).")},
			{Topic: missing, ErrorCode: kerr.UnknownTopicOrPartition.Code},
		}
		for _, r := range []*kmsg.CreatePartitionsResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.CreatePartitionsResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
		}
		scenario.Whole(t, "CreatePartitions", got, want)
	})
}

func limitBeforeUnknown(t *scenario.T) {
	topic := t.Topic(2)
	missing := topic + "-missing" // It comes next.
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = 2
	for _, name := range []string{missing, topic} {
		rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
		rt.Topic = name
		req.Topics = append(req.Topics, rt)
	}
	resp := scenario.Ask[*kmsg.DescribeTopicPartitionsResponse](t, 0, req)
	got := scenario.One(t, "topics", resp.Topics)
	scenario.Equal(t, "partitions", len(got.Partitions), 2)
	if resp.NextCursor == nil {
		t.Fatalf("there is no cursor")
	}
	scenario.Equal(t, "the cursor's topic", resp.NextCursor.Topic, missing)
	scenario.Equal(t, "the cursor's partition", resp.NextCursor.Partition, 0)
}
