package compat

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicScenarios are about topics that are there.
var topicScenarios = []Scenario{
	{ID: "topics.delete.versions", Says: "A topic is deleted by name in every version, and by id from 6.", Refs: []string{"KIP-516"}, Run: deleteTopics},
	{ID: "topics.delete.unknown", Says: "An unknown topic is UNKNOWN_TOPIC_OR_PARTITION, an unknown id UNKNOWN_TOPIC_ID.", Refs: []string{"KIP-516"}, Run: deleteUnknown},
	{ID: "topics.delete.name-and-id", Says: "From version 6 a topic is named or identified, not both, not neither, and once.", Refs: []string{"KIP-516"}, Run: deleteNameAndID},
	{ID: "topics.delete.recreate", Says: "A topic made again under its name has another id and no records.", Refs: []string{"embedded-kafka#324", "case ST09"}, Run: deleteAndRecreate},
	{ID: "topics.partitions.sets", Says: "CreatePartitions sets the number; one that is not larger is INVALID_PARTITIONS.", Refs: []string{"redpanda#2393", "case A01"}, Run: partitionsSets},
	{ID: "topics.partitions.ids", Says: "New partitions continue the numbers and are served.", Refs: []string{"franz-go kfake@7cc5185c", "case A03"}, Run: partitionsIDs},
	{ID: "topics.partitions.validate-only", Says: "With validate_only no partition is made.", Run: partitionsValidate},
	{ID: "topics.partitions.errors", Says: "Unknown topics, topics named twice and assignments that do not fit are refused.", Run: partitionsErrors},
	{ID: "topics.delete-records.bounds", Says: "DeleteRecords takes offsets from 0 to the high watermark, which -1 stands for.", Refs: []string{"redpanda PR 22905", "case A21"}, Run: deleteRecordsBounds},
	{ID: "topics.delete-records.errors", Says: "DeleteRecords of what is not there, compacted or internal is refused.", Run: deleteRecordsErrors},
	{ID: "topics.delete-records.twice", Says: "Of a partition named twice DeleteRecords does what is said last, and answers once.", Run: deleteRecordsTwice},
	{ID: "topics.delete-records.versions", Says: "DeleteRecords moves the log start in every version, and not back.", Refs: []string{"KIP-107"}, Run: deleteRecordsVersions},
}

func deleteTopics(t *T) {
	t.each(kmsg.DeleteTopics, 0, 6, func(v int16) {
		name := t.Topic(1)
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames = []string{name}
		req.TimeoutMillis = 5000
		if v >= 6 {
			rt := kmsg.NewDeleteTopicsRequestTopic()
			rt.Topic = &name
			req.Topics = append(req.Topics, rt)
		}
		got := one(t, "topics", ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics)
		t.ok("delete", got.ErrorCode)
		t.text("topic", got.Topic, name)
		t.until("the topic to go", func() bool { return !t.exists(name) })
	})
	t.each(kmsg.DeleteTopics, 6, 6, func(v int16) {
		name := t.Topic(1)
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.TopicID = t.topicID(name)
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Topics = append(req.Topics, rt)
		req.TimeoutMillis = 5000
		got := one(t, "topics", ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics)
		t.ok("delete by id", got.ErrorCode)
		t.text("topic", got.Topic, name)
		equal(t, "id", got.TopicID, rt.TopicID)
		t.until("the topic to go", func() bool { return !t.exists(name) })
	})
}

func deleteUnknown(t *T) {
	name := t.name("missing")
	t.each(kmsg.DeleteTopics, 0, 5, func(v int16) {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames = []string{name}
		t.code("delete", one(t, "topics", ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics).ErrorCode, kerr.UnknownTopicOrPartition)
	})
	t.each(kmsg.DeleteTopics, 6, 6, func(v int16) {
		byName, byID := kmsg.NewDeleteTopicsRequestTopic(), kmsg.NewDeleteTopicsRequestTopic()
		byName.Topic, byID.TopicID = &name, [16]byte{8}
		for want, rt := range map[*kerr.Error]kmsg.DeleteTopicsRequestTopic{kerr.UnknownTopicOrPartition: byName, kerr.UnknownTopicID: byID} {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.Topics = append(req.Topics, rt)
			got := one(t, "topics", ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics)
			t.code("delete", got.ErrorCode, want)
			if got.ErrorMessage == nil {
				t.Fatalf("there is no error message")
			}
		}
	})
}

func deleteNameAndID(t *T) {
	name := t.Topic(1)
	t.each(kmsg.DeleteTopics, 6, 6, func(v int16) {
		try := func(what string, topics ...kmsg.DeleteTopicsRequestTopic) {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.Topics = topics
			answers := ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics
			equal(t, "answers to "+what, len(answers), 1)
			for _, got := range answers {
				t.code(what, got.ErrorCode, kerr.InvalidRequest)
			}
			equal(t, "it is there", t.exists(name), true)
		}
		both, neither := kmsg.NewDeleteTopicsRequestTopic(), kmsg.NewDeleteTopicsRequestTopic()
		both.Topic, both.TopicID = &name, t.topicID(name)
		byName, byID := kmsg.NewDeleteTopicsRequestTopic(), kmsg.NewDeleteTopicsRequestTopic()
		byName.Topic, byID.TopicID = &name, t.topicID(name)
		try("both", both)
		try("neither", neither)
		try("name twice", byName, byName)
		try("id twice", byID, byID)
		try("name and id of one topic", byName, byID)
	})
}

func deleteAndRecreate(t *T) {
	name := t.Topic(1)
	t.append(name, plainBatch("old"))
	old := t.topicID(name)
	t.ok("delete", t.delete(name))
	t.until("the name to be free", func() bool {
		got := t.tryCreate(t.newest(kmsg.CreateTopics, 5), createTopic(name, 1))
		if got.ErrorCode == kerr.TopicAlreadyExists.Code {
			return false
		}
		t.ok("create", got.ErrorCode)
		return true
	})
	t.ForgetTopicIDs()
	t.served(name, 1)
	t.until("the new one", func() bool { t.ForgetTopicIDs(); return t.topicID(name) != old })
	t.until("its log", func() bool { return t.endOffset(name) == 0 })
	equal(t, "base offset", t.append(name, plainBatch("new")), 0)
	equals(t, "records", values(t.read(name, 0)), []string{"new"})
}

// createPartitions asks for a number of partitions of a topic; change may alter the
// request.
func (t *T) createPartitions(version int16, topic string, count int32, change func(*kmsg.CreatePartitionsRequest)) kmsg.CreatePartitionsResponseTopic {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = 5000
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, count
	req.Topics = append(req.Topics, rt)
	if change != nil {
		change(req)
	}
	got := one(t, "topics", ask[*kmsg.CreatePartitionsResponse](t, version, req).Topics)
	equal(t, "topic", got.Topic, topic)
	return got
}

func partitionsSets(t *T) {
	t.each(kmsg.CreatePartitions, 0, 3, func(v int16) {
		topic := t.Topic(3)
		t.ok("3 to 5", t.createPartitions(v, topic, 5, nil).ErrorCode)
		t.served(topic, 5)
		equal(t, "partitions", len(t.metadataOf(t.newest(kmsg.Metadata, 8), topic).Partitions), 5)
		for _, n := range []int32{5, 4, 0, -1} {
			got := t.createPartitions(v, topic, n, nil)
			t.code(fmt.Sprintf("5 to %d", n), got.ErrorCode, kerr.InvalidPartitions)
			if got.ErrorMessage == nil {
				t.Fatalf("there is no error message")
			}
		}
	})
}

func partitionsIDs(t *T) {
	topic := t.Topic(2)
	t.ok("2 to 5", t.createPartitions(t.newest(kmsg.CreatePartitions, 1), topic, 5, nil).ErrorCode)
	t.served(topic, 5)
	seen := map[int32]bool{}
	for _, p := range t.metadataOf(t.newest(kmsg.Metadata, 8), topic).Partitions {
		seen[p.Partition] = true
	}
	for p := range int32(5) {
		equal(t, fmt.Sprintf("partition %d is there", p), seen[p], true)
	}
	t.appendTo(topic, 4, plainBatch("a"))
}

func partitionsValidate(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.CreatePartitions, 0, 3, func(v int16) {
		validate := func(r *kmsg.CreatePartitionsRequest) { r.ValidateOnly = true }
		t.ok("validate", t.createPartitions(v, topic, 3, validate).ErrorCode)
		t.code("validate less", t.createPartitions(v, topic, 1, validate).ErrorCode, kerr.InvalidPartitions)
		equal(t, "partitions", len(t.metadataOf(t.newest(kmsg.Metadata, 8), topic).Partitions), 1)
	})
}

func partitionsErrors(t *T) {
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
	t.each(kmsg.CreatePartitions, 0, 3, func(v int16) {
		t.code("unknown", t.createPartitions(v, t.name("missing"), 3, nil).ErrorCode, kerr.UnknownTopicOrPartition)
		t.code("too few assignments", t.createPartitions(v, topic, 3, assign([]int32{node})).ErrorCode, kerr.InvalidReplicaAssignment)
		t.code("too many", t.createPartitions(v, topic, 2, assign([]int32{node}, []int32{node})).ErrorCode, kerr.InvalidReplicaAssignment)
		t.code("no such broker", t.createPartitions(v, topic, 2, assign([]int32{node + 1000})).ErrorCode, kerr.InvalidReplicaAssignment)
		t.code("other replication factor", t.createPartitions(v, topic, 2, assign([]int32{node, node + 1000})).ErrorCode, kerr.InvalidReplicaAssignment)
		req := kmsg.NewPtrCreatePartitionsRequest()
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = topic, 3
		req.Topics = append(req.Topics, rt, rt)
		got := one(t, "topics", ask[*kmsg.CreatePartitionsResponse](t, v, req).Topics)
		equal(t, "topic", got.Topic, topic)
		t.code("twice", got.ErrorCode, kerr.InvalidRequest)
	})
	equal(t, "partitions", len(t.metadataOf(t.newest(kmsg.Metadata, 8), topic).Partitions), 1)
}

func deleteRecordsBounds(t *T) {
	topic := t.Topic(1)
	for range 10 {
		t.append(topic, plainBatch("a"))
	}
	t.each(kmsg.DeleteRecords, 0, 2, func(v int16) {
		for _, offset := range []int64{11, -2, 1 << 40} {
			p := t.deleteRecordsAt(v, topic, 0, offset)
			t.code(fmt.Sprintf("offset %d", offset), p.ErrorCode, kerr.OffsetOutOfRange)
			equal(t, "low watermark", p.LowWatermark, -1)
		}
		for _, offset := range []int64{10, -1} {
			p := t.deleteRecordsAt(v, topic, 0, offset)
			t.ok(fmt.Sprintf("offset %d", offset), p.ErrorCode)
			equal(t, "low watermark", p.LowWatermark, 10)
		}
	})
}

func deleteRecordsErrors(t *T) {
	t.Group() // __consumer_offsets is there.
	topic, compacted, both := t.Topic(1), t.Topic(1, "cleanup.policy=compact"), t.Topic(1, "cleanup.policy=compact,delete")
	t.append(both, plainBatch("a"))
	t.each(kmsg.DeleteRecords, 0, 2, func(v int16) {
		t.code("unknown partition", t.deleteRecordsAt(v, topic, 3, 0).ErrorCode, kerr.UnknownTopicOrPartition)
		t.code("unknown topic", t.deleteRecordsAt(v, t.name("missing"), 0, 0).ErrorCode, kerr.UnknownTopicOrPartition)
		t.code("compacted", t.deleteRecordsAt(v, compacted, 0, 0).ErrorCode, kerr.PolicyViolation)
		t.ok("compacted and deleted", t.deleteRecordsAt(v, both, 0, 1).ErrorCode)
		t.code("internal", t.deleteRecordsAt(v, "__consumer_offsets", 0, 0).ErrorCode, kerr.InvalidTopicException)
	})
}

func deleteRecordsTwice(t *T) {
	t.each(kmsg.DeleteRecords, 0, 2, func(v int16) {
		topic := t.Topic(2)
		for range 5 {
			t.append(topic, plainBatch("a"))
		}
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.TimeoutMillis = 5000
		for _, named := range [][]kmsg.DeleteRecordsRequestTopicPartition{{{Partition: 0, Offset: 4}, {Partition: 1}, {Partition: 0, Offset: 3}}, {}, {{Partition: 0, Offset: 2}}} {
			req.Topics = append(req.Topics, kmsg.DeleteRecordsRequestTopic{Topic: topic, Partitions: named})
		}
		req.Topics = append(req.Topics, kmsg.DeleteRecordsRequestTopic{Topic: t.name("nothing")})
		rt := one(t, "topics", ask[*kmsg.DeleteRecordsResponse](t, v, req).Topics)
		equal(t, "topic", rt.Topic, topic)
		low := map[int32]int64{}
		for _, p := range rt.Partitions {
			t.ok(fmt.Sprint("partition ", p.Partition), p.ErrorCode)
			low[p.Partition] = p.LowWatermark
		}
		equal(t, "answers", len(rt.Partitions), 2)
		equal(t, "low watermark", low[0], 2)
		equal(t, "low watermark of the other", low[1], 0)
		equal(t, "log start", t.startOffset(topic), 2)
	})
}

func deleteRecordsVersions(t *T) {
	topic := t.Topic(1)
	for range 10 {
		t.append(topic, plainBatch("a"))
	}
	start := int64(0)
	t.each(kmsg.DeleteRecords, 0, 2, func(v int16) {
		start += 2
		equal(t, "low watermark", t.deleteRecordsAt(v, topic, 0, start).LowWatermark, start)
		equal(t, "log start", t.startOffset(topic), start)
		p := t.deleteRecordsAt(v, topic, 0, 1)
		t.ok("backwards", p.ErrorCode)
		equal(t, "low watermark", p.LowWatermark, start)
		equal(t, "first record", t.read(topic, start)[0].offset, start)
	})
}
