package cluster

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// partitionsScenarios are about DescribeTopicPartitions.
var partitionsScenarios = []scenario.Scenario{
	{ID: "cluster.topic-partitions.paging", Says: "DescribeTopicPartitions tells each partition once over pages, and where the next begins.", Refs: []string{"KIP-966", "franz-go kfake TestDescribeTopicPartitionsCursor", "case O17"}, Since: "3.8", Run: topicPartitionsPaging},
	{ID: "cluster.topic-partitions.topics", Says: "DescribeTopicPartitions tells topics in order of name, unknown ones with an error.", Refs: []string{"KIP-966"}, Since: "3.8", Run: topicPartitionsTopics},
	{ID: "cluster.topic-partitions.cursor", Says: "A cursor at a negative partition is INVALID_REQUEST for each topic.", Refs: []string{"KIP-966"}, Since: "3.8", Run: topicPartitionsCursor},
	{ID: "cluster.topic-partitions.cursor-elsewhere", Says: "A cursor at a topic that is not asked for is INVALID_REQUEST for each topic; where all are asked for it may be at any.", Refs: []string{"KIP-966"}, Since: "3.8", Run: topicPartitionsCursorElsewhere},
	{ID: "cluster.topic-partitions.limit", Says: "A limit of partitions below 1 is 1.", Refs: []string{"KIP-966"}, Since: "3.8", Run: topicPartitionsLimit},
	{ID: "cluster.topic-partitions.whole-answer", Says: "DescribeTopicPartitions tells every field of topics and partitions, and where the next page begins.", Refs: []string{"KIP-966"}, Since: "3.8", Run: topicPartitionsAnswers},
}

func topicPartitions(t *scenario.T, limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, topics ...string) *kmsg.DescribeTopicPartitionsResponse {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit, req.Cursor = limit, cursor
	for _, name := range topics {
		rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
		rt.Topic = name
		req.Topics = append(req.Topics, rt)
	}
	return scenario.Ask[*kmsg.DescribeTopicPartitionsResponse](t, 0, req)
}

func topicPartitionsPaging(t *scenario.T) {
	topic := t.Topic(5)
	var seen []int32
	var cursor *kmsg.DescribeTopicPartitionsRequestCursor
	for range 4 {
		resp := topicPartitions(t, 2, cursor, topic)
		rt := scenario.One(t, "topics", resp.Topics)
		t.OK("topic", rt.ErrorCode)
		t.Text("name", rt.Topic, topic)
		scenario.Equal(t, "id", rt.TopicID, t.TopicID(topic))
		for _, p := range rt.Partitions {
			t.OK("partition", p.ErrorCode)
			scenario.Equal(t, "leader", p.LeaderID, t.Node())
			scenario.Equal(t, "leader epoch", p.LeaderEpoch, 0)
			seen = append(seen, p.Partition)
		}
		if resp.NextCursor == nil {
			break
		}
		scenario.Equal(t, "next topic", resp.NextCursor.Topic, topic)
		scenario.Equal(t, "next partition", resp.NextCursor.Partition, int32(len(seen)))
		c := kmsg.NewDescribeTopicPartitionsRequestCursor()
		c.Topic, c.Partition = resp.NextCursor.Topic, resp.NextCursor.Partition
		cursor = &c
	}
	scenario.EqualLists(t, "partitions", seen, []int32{0, 1, 2, 3, 4})
}

func topicPartitionsTopics(t *scenario.T) {
	a, b, missing := t.Name("a"), t.Name("b"), t.Name("missing")
	t.CreateTopic(a, 2)
	t.CreateTopic(b, 1)
	resp := topicPartitions(t, 100, nil, b, missing, a, "a b")
	var names []string
	for _, rt := range resp.Topics {
		names = append(names, *rt.Topic)
		switch *rt.Topic {
		case missing:
			t.Code("unknown", rt.ErrorCode, kerr.UnknownTopicOrPartition)
		case "a b":
			t.Code("bad name", rt.ErrorCode, kerr.InvalidTopicException)
		default:
			t.OK(*rt.Topic, rt.ErrorCode)
			scenario.Equal(t, "operations", rt.AuthorizedOperations, scenario.TopicOperations)
		}
	}
	scenario.EqualLists(t, "topics", names, []string{"a b", a, b, missing})
	scenario.Equal(t, "next page", resp.NextCursor == nil, true)
	found := 0
	for _, rt := range topicPartitions(t, 2000, nil).Topics {
		if *rt.Topic == a || *rt.Topic == b {
			found++
		}
	}
	scenario.Equal(t, "found among all", found, 2)
}

func topicPartitionsCursor(t *scenario.T) {
	topic := t.Topic(1)
	c := kmsg.NewDescribeTopicPartitionsRequestCursor()
	c.Topic, c.Partition = topic, -1
	rt := scenario.One(t, "topics", topicPartitions(t, 10, &c, topic).Topics)
	t.Text("topic", rt.Topic, topic)
	t.Code("negative partition", rt.ErrorCode, kerr.InvalidRequest)
	scenario.Equal(t, "partitions", len(rt.Partitions), 0)
}

func topicPartitionsCursorElsewhere(t *scenario.T) {
	a, b, c := t.Name("a"), t.Name("b"), t.Name("c")
	for _, name := range []string{a, b, c} {
		t.CreateTopic(name, 1)
	}
	cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
	for _, at := range []string{b, t.Name("missing"), ""} {
		cursor.Topic = at
		resp := topicPartitions(t, 10, &cursor, a, c)
		scenario.Equal(t, "topics", len(resp.Topics), 2)
		for _, rt := range resp.Topics {
			t.Code("cursor at "+at, rt.ErrorCode, kerr.InvalidRequest)
			scenario.Equal(t, "partitions", len(rt.Partitions), 0)
		}
	}
	cursor.Topic = a + "." // Between a and b, and no topic.
	found := false
	for _, rt := range topicPartitions(t, 2000, &cursor).Topics {
		t.OK("a topic from the cursor on", rt.ErrorCode)
		found = found || *rt.Topic == b
		scenario.Equal(t, *rt.Topic+" is before the cursor", *rt.Topic < cursor.Topic, false)
	}
	scenario.Equal(t, "all topics from the cursor on have the next one", found, true)
}

func topicPartitionsLimit(t *scenario.T) {
	topic := t.Topic(3)
	for _, limit := range []int32{0, -1, -100} {
		resp := topicPartitions(t, limit, nil, topic)
		scenario.Equal(t, fmt.Sprint("partitions with limit ", limit), len(scenario.One(t, "topics", resp.Topics).Partitions), 1)
		if resp.NextCursor == nil {
			t.Fatalf("there is no cursor after the first of three partitions")
		}
		scenario.Equal(t, "next partition", resp.NextCursor.Partition, 1)
	}
	other := topic + "b"
	t.CreateTopic(other, 1)
	resp := topicPartitions(t, 3, nil, topic, other)
	scenario.Equal(t, "partitions up to the limit", len(scenario.One(t, "topics", resp.Topics).Partitions), 3)
	if resp.NextCursor == nil {
		t.Fatalf("there is no cursor before the second topic")
	}
	scenario.Equal(t, "next topic", resp.NextCursor.Topic, other)
	scenario.Equal(t, "next partition", resp.NextCursor.Partition, 0)
}

func topicPartitionsAnswers(t *scenario.T) {
	a, b, missing := t.Name("a"), t.Name("b"), t.Name("missing")
	t.CreateTopic(a, 2)
	t.CreateTopic(b, 3)
	topic := func(name string, first, behind int32) kmsg.DescribeTopicPartitionsResponseTopic {
		return scenario.Filled(func(rt *kmsg.DescribeTopicPartitionsResponseTopic) {
			rt.Topic, rt.TopicID, rt.AuthorizedOperations = &name, t.TopicID(name), scenario.TopicOperations
			for p := first; p < behind; p++ {
				rt.Partitions = append(rt.Partitions, scenario.Filled(func(rp *kmsg.DescribeTopicPartitionsResponseTopicPartition) {
					rp.Partition, rp.LeaderID, rp.LeaderEpoch = p, t.Node(), 0
					rp.Replicas, rp.ISR = []int32{t.Node()}, []int32{t.Node()}
					rp.EligibleLeaderReplicas, rp.LastKnownELR = []int32{}, []int32{}
				}))
			}
		})
	}
	unknown := func(name string, e *kerr.Error) kmsg.DescribeTopicPartitionsResponseTopic {
		return scenario.Filled(func(rt *kmsg.DescribeTopicPartitionsResponseTopic) {
			rt.Topic, rt.ErrorCode, rt.AuthorizedOperations = &name, e.Code, scenario.TopicOperations
		})
	}
	cursor := func(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
		return scenario.FilledPtr(func(c *kmsg.DescribeTopicPartitionsResponseNextCursor) { c.Topic, c.Partition = topic, partition })
	}
	answer := func(next *kmsg.DescribeTopicPartitionsResponseNextCursor, topics ...kmsg.DescribeTopicPartitionsResponseTopic) *kmsg.DescribeTopicPartitionsResponse {
		return scenario.FilledPtr(func(r *kmsg.DescribeTopicPartitionsResponse) { r.NextCursor, r.Topics = next, topics })
	}
	bad := unknown("a b", kerr.InvalidTopicException)
	scenario.Whole(t, "all", topicPartitions(t, 100, nil, b, missing, a, "a b"),
		answer(nil, bad, topic(a, 0, 2), topic(b, 0, 3), unknown(missing, kerr.UnknownTopicOrPartition)))
	scenario.Whole(t, "as many as there are", topicPartitions(t, 5, nil, b, a), answer(nil, topic(a, 0, 2), topic(b, 0, 3)))
	scenario.Whole(t, "one fewer", topicPartitions(t, 4, nil, b, a), answer(cursor(b, 2), topic(a, 0, 2), topic(b, 0, 2)))
	scenario.Whole(t, "all of the first", topicPartitions(t, 2, nil, b, a), answer(cursor(b, 0), topic(a, 0, 2)))
	from := func(topic string, partition int32) *kmsg.DescribeTopicPartitionsRequestCursor {
		return scenario.FilledPtr(func(c *kmsg.DescribeTopicPartitionsRequestCursor) { c.Topic, c.Partition = topic, partition })
	}
	scenario.Whole(t, "from a partition on", topicPartitions(t, 5, from(b, 1), b, a), answer(nil, topic(b, 1, 3)))
	scenario.Whole(t, "the last", topicPartitions(t, 5, from(b, 2), b, a), answer(nil, topic(b, 2, 3)))
	scenario.Whole(t, "from behind the last", topicPartitions(t, 5, from(a, 2), b, a), answer(nil, topic(a, 2, 2), topic(b, 0, 3)))
	refused := unknown(a, kerr.InvalidRequest)
	refused.AuthorizedOperations = scenario.NotAsked
	scenario.Whole(t, "from a negative partition", topicPartitions(t, 5, from(a, -1), a), answer(nil, refused))
}
