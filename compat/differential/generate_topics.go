package differential

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

var topicActions = []action{
	{kmsg.CreateTopics, 5, (*gen).createTopics},
	{kmsg.DeleteTopics, 3, (*gen).deleteTopics},
	{kmsg.CreatePartitions, 3, (*gen).createPartitions},
	{kmsg.Metadata, 4, (*gen).metadata},
	{kmsg.DescribeTopicPartitions, 3, (*gen).describeTopicPartitions},
}

// createSome makes topics as they should be made.
func (g *gen) createSome(names []string) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10000
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, 1+g.Int32N(3), 1
		if g.one(4) {
			t.Configs = append(t.Configs, g.topicSetting(false))
		}
		g.made[name] = t.NumPartitions
		req.Topics = append(req.Topics, t)
	}
	g.create(req)
}

// create asks for topics; their names are the world's until then.
func (g *gen) create(req *kmsg.CreateTopicsRequest) {
	g.ask(kmsg.CreateTopics, func(v *view, _ int16) kmsg.Request {
		sent := *req
		sent.Topics = nil
		for _, t := range req.Topics {
			t.Topic = v.name(t.Topic)
			sent.Topics = append(sent.Topics, t)
		}
		return &sent
	}, nil)
}

func (g *gen) createTopics() {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis, req.ValidateOnly = 10000, g.one(6)
	for range 1 + g.IntN(2) {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.ReplicationFactor = pick(g, topicNames...), 1
		t.NumPartitions = 1 + g.Int32N(3)
		if g.one(12) {
			t.Topic = pick(g, badTopics...)
		}
		if g.one(8) {
			t.NumPartitions = pick(g, int32(0), -1, -2)
		}
		if g.one(8) {
			t.ReplicationFactor = pick(g, int16(0), -1, 2, -2)
		}
		if g.one(6) {
			t.NumPartitions, t.ReplicationFactor, t.ReplicaAssignment = g.assignment()
		}
		for g.one(3) {
			t.Configs = append(t.Configs, g.topicSetting(g.one(4)))
		}
		if !req.ValidateOnly && g.made[t.Topic] == 0 && t.ReplicationFactor == 1 && t.NumPartitions > 0 {
			g.made[t.Topic] = t.NumPartitions
		}
		req.Topics = append(req.Topics, t)
	}
	g.create(req)
}

// assignment draws replicas that are named, by the one node or by others.
func (g *gen) assignment() (int32, int16, []kmsg.CreateTopicsRequestTopicReplicaAssignment) {
	var all []kmsg.CreateTopicsRequestTopicReplicaAssignment
	first := int32(0)
	if g.one(8) {
		first = 1
	}
	for i := range 1 + g.Int32N(2) {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = first+i, []int32{1}
		if g.one(6) {
			a.Replicas = pick(g, []int32{}, []int32{5}, []int32{1, 1}, []int32{-1})
		}
		all = append(all, a)
	}
	if g.one(8) {
		return 1, -1, all
	}
	return -1, -1, all
}

func (g *gen) deleteTopics() {
	names := g.topicsOf(2)
	if g.one(12) {
		names = append(names, names[0])
	}
	byID, both := g.one(2), g.one(20)
	for _, n := range names {
		delete(g.made, n)
	}
	g.ask(kmsg.DeleteTopics, func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TimeoutMillis = 10000
		for _, n := range names {
			name := v.name(n)
			if version < 6 {
				req.TopicNames = append(req.TopicNames, name)
				continue
			}
			t := kmsg.NewDeleteTopicsRequestTopic()
			if byID || both {
				t.TopicID = v.topicID(n)
			}
			if !byID || both {
				t.Topic = &name
			}
			req.Topics = append(req.Topics, t)
		}
		return req
	}, nil)
}

func (g *gen) createPartitions() {
	names := g.topicsOf(2)
	if g.one(12) {
		names = append(names, names[0])
	}
	var topics []kmsg.CreatePartitionsRequestTopic
	validate := g.one(5)
	for _, n := range names {
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = n, g.made[n]+1
		if g.one(4) {
			t.Count = pick(g, g.made[n], 0, -1, g.made[n]-1)
		}
		if g.one(5) {
			a := kmsg.NewCreatePartitionsRequestTopicAssignment()
			a.Replicas = pick(g, []int32{1}, []int32{1}, []int32{7}, []int32{}, []int32{1, 1})
			t.Assignment = append(t.Assignment, a)
			if g.one(4) {
				t.Assignment = append(t.Assignment, a)
			}
		}
		if !validate && t.Count > g.made[n] && g.made[n] > 0 {
			g.made[n] = t.Count
		}
		topics = append(topics, t)
	}
	g.ask(kmsg.CreatePartitions, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis, req.ValidateOnly = 10000, validate
		for _, t := range topics {
			t.Topic = v.name(t.Topic)
			req.Topics = append(req.Topics, t)
		}
		return req
	}, nil)
}

func (g *gen) metadata() {
	names := g.topicsOf(3)
	all, byID, operations, create := g.one(8), g.one(3), g.one(5), g.one(12)
	g.ask(kmsg.Metadata, func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrMetadataRequest()
		req.AllowAutoTopicCreation = create
		req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = operations, operations
		if all {
			if version > 0 {
				req.Topics = nil
			}
			return req
		}
		for _, n := range names {
			t := kmsg.NewMetadataRequestTopic()
			name := v.name(n)
			t.Topic = &name
			if byID && version >= 12 {
				t.Topic, t.TopicID = nil, v.topicID(n)
			}
			req.Topics = append(req.Topics, t)
		}
		if version < 4 {
			// Such a request makes topics: ask only for what is there.
			req.Topics = nil
		}
		return req
	}, nil)
}

func (g *gen) describeTopicPartitions() {
	names := g.topicsOf(3)
	limit := pick(g, int32(2000), 2000, 1, 2, 3, 0)
	cursor, at := "", int32(0)
	if g.one(3) {
		cursor, at = g.topic(), g.partition(names[0])
	}
	g.ask(kmsg.DescribeTopicPartitions, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit = limit
		for _, n := range names {
			t := kmsg.NewDescribeTopicPartitionsRequestTopic()
			t.Topic = v.name(n)
			req.Topics = append(req.Topics, t)
		}
		if cursor != "" {
			c := kmsg.NewDescribeTopicPartitionsRequestCursor()
			c.Topic, c.Partition = v.name(cursor), at
			req.Cursor = &c
		}
		return req
	}, nil)
}
