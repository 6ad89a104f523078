package scenario

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic makes a topic with settings ("retention.ms=1000"), waits until its
// partitions are served, and deletes it at the end.
func (t *T) Topic(partitions int32, settings ...string) string {
	name := t.Name("t")
	t.CreateTopic(name, partitions, settings...)
	return name
}

// OldTopic makes a topic of one partition that keeps records however old they say
// they are.
func (t *T) OldTopic(settings ...string) string {
	return t.Topic(1, append(settings, "retention.ms=-1")...)
}

// CreateTopic makes a topic of a name, waits until its partitions are served, and deletes it
// at the end.
func (t *T) CreateTopic(name string, partitions int32, settings ...string) {
	req := CreateTopicRequest(name, partitions, settings...)
	resp := Ask[*kmsg.CreateTopicsResponse](t, t.Newest(kmsg.CreateTopics, 5), req)
	t.OK("create "+name, One(t, "topics", resp.Topics).ErrorCode)
	t.DeleteTopicAtEnd(name)
	t.Served(name, partitions)
}

// CreateTopicRequest is a CreateTopics of one topic with settings ("retention.ms=1000").
func CreateTopicRequest(name string, partitions int32, settings ...string) *kmsg.CreateTopicsRequest {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	for _, s := range settings {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		key, value, _ := strings.Cut(s, "=")
		c.Name, c.Value = key, &value
		topic.Configs = append(topic.Configs, c)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, topic)
	return req
}

// DeleteTopicAtEnd has a topic deleted at the end, if it is there then.
func (t *T) DeleteTopicAtEnd(name string) {
	t.Cleanup(func() { t.DeleteTopic(name) })
}

// DeleteTopic deletes a topic and returns the code.
func (t *T) DeleteTopic(name string) int16 {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{name}
	req.TimeoutMillis = 10000
	resp := AskOn[*kmsg.DeleteTopicsResponse](t, t.Dial(), t.Newest(kmsg.DeleteTopics, 3), req)
	return One(t, "topics", resp.Topics).ErrorCode
}

// Served waits until the broker serves all partitions of a topic: it may answer
// the creation before it does.
func (t *T) Served(name string, partitions int32) {
	t.Until("partitions of "+name, func() bool {
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID = -1
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = name
		for p := range partitions {
			ask := kmsg.NewListOffsetsRequestTopicPartition()
			ask.Partition, ask.Timestamp = p, -1
			topic.Partitions = append(topic.Partitions, ask)
		}
		req.Topics = append(req.Topics, topic)
		resp := Ask[*kmsg.ListOffsetsResponse](t, t.Newest(kmsg.ListOffsets, 4), req)
		for _, p := range One(t, "topics", resp.Topics).Partitions {
			if p.ErrorCode != 0 {
				return false
			}
		}
		return true
	})
}

// TopicID is a topic's id, by Metadata.
func (t *T) TopicID(name string) [16]byte {
	if id, ok := t.topicIDs[name]; ok {
		return id
	}
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &name
	req.Topics = append(req.Topics, topic)
	resp := Ask[*kmsg.MetadataResponse](t, t.Newest(kmsg.Metadata, 12), req)
	got := One(t, "topics", resp.Topics)
	t.OK("metadata of "+name, got.ErrorCode)
	t.TakeTopicID(name, got.TopicID)
	return got.TopicID
}

// TakeTopicID has the scenario take an id for a topic's from now on, whatever Metadata
// says.
func (t *T) TakeTopicID(name string, id [16]byte) {
	if t.topicIDs == nil {
		t.topicIDs = make(map[string][16]byte)
	}
	t.topicIDs[name] = id
}

// ForgetTopicIDs has the topics' ids looked up anew.
func (t *T) ForgetTopicIDs() { t.topicIDs = nil }

// TryCreateTopic sends one topic and returns its answer.
func (t *T) TryCreateTopic(version int16, req *kmsg.CreateTopicsRequest) kmsg.CreateTopicsResponseTopic {
	resp := Ask[*kmsg.CreateTopicsResponse](t, version, req)
	got := One(t, "topics", resp.Topics)
	Equal(t, "topic", got.Topic, req.Topics[0].Topic)
	return got
}

// TopicExists says whether Metadata knows a topic.
func (t *T) TopicExists(name string) bool {
	code := t.MetadataOf(t.Newest(kmsg.Metadata, 8), name).ErrorCode
	if code != kerr.UnknownTopicOrPartition.Code && code != kerr.InvalidTopicException.Code {
		t.OK("metadata of "+name, code)
	}
	return code == 0
}

// CreatePartitions asks for a number of partitions of a topic; change may alter the
// request.
func (t *T) CreatePartitions(version int16, topic string, count int32, change func(*kmsg.CreatePartitionsRequest)) kmsg.CreatePartitionsResponseTopic {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = 5000
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, count
	req.Topics = append(req.Topics, rt)
	if change != nil {
		change(req)
	}
	got := One(t, "topics", Ask[*kmsg.CreatePartitionsResponse](t, version, req).Topics)
	Equal(t, "topic", got.Topic, topic)
	return got
}
