package compat

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic makes a topic with settings ("retention.ms=1000"), waits until its
// partitions are served, and deletes it at the end.
func (t *T) Topic(partitions int32, settings ...string) string {
	name := t.name("t")
	t.create(name, partitions, settings...)
	return name
}

// OldTopic makes a topic of one partition that keeps records however old they say
// they are.
func (t *T) OldTopic(settings ...string) string {
	return t.Topic(1, append(settings, "retention.ms=-1")...)
}

// create makes a topic of a name, waits until its partitions are served, and deletes it
// at the end.
func (t *T) create(name string, partitions int32, settings ...string) {
	req := createTopic(name, partitions, settings...)
	resp := ask[*kmsg.CreateTopicsResponse](t, t.newest(kmsg.CreateTopics, 5), req)
	t.ok("create "+name, one(t, "topics", resp.Topics).ErrorCode)
	t.deleteAtEnd(name)
	t.served(name, partitions)
}

// createTopic is a CreateTopics of one topic with settings ("retention.ms=1000").
func createTopic(name string, partitions int32, settings ...string) *kmsg.CreateTopicsRequest {
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

// deleteAtEnd has a topic deleted at the end, if it is there then.
func (t *T) deleteAtEnd(name string) {
	t.cleanup(func() { t.delete(name) })
}

// delete deletes a topic and returns the code.
func (t *T) delete(name string) int16 {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{name}
	req.TimeoutMillis = 10000
	resp := askOn[*kmsg.DeleteTopicsResponse](t, t.Dial(), t.newest(kmsg.DeleteTopics, 3), req)
	return one(t, "topics", resp.Topics).ErrorCode
}

// served waits until the broker serves all partitions of a topic: it may answer
// the creation before it does.
func (t *T) served(name string, partitions int32) {
	t.until("partitions of "+name, func() bool {
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
		resp := ask[*kmsg.ListOffsetsResponse](t, t.newest(kmsg.ListOffsets, 4), req)
		for _, p := range one(t, "topics", resp.Topics).Partitions {
			if p.ErrorCode != 0 {
				return false
			}
		}
		return true
	})
}

// topicID is a topic's id, by Metadata.
func (t *T) topicID(name string) [16]byte {
	if id, ok := t.topicIDs[name]; ok {
		return id
	}
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &name
	req.Topics = append(req.Topics, topic)
	resp := ask[*kmsg.MetadataResponse](t, t.newest(kmsg.Metadata, 12), req)
	got := one(t, "topics", resp.Topics)
	t.ok("metadata of "+name, got.ErrorCode)
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

// portion is what is produced to one partition.
type portion struct {
	partition int32
	records   []byte
}

// produceRequest is a Produce of records to partitions of one topic.
func (t *T) produceRequest(version int16, acks int16, topic string, portions ...portion) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 5000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	if version >= 13 {
		rt.TopicID = t.topicID(topic)
	}
	for _, p := range portions {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = p.partition, p.records
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// produce sends bytes to partition 0 with acks=all and returns the answer.
func (t *T) produce(version int16, topic string, records []byte) kmsg.ProduceResponseTopicPartition {
	req := t.produceRequest(version, -1, topic, portion{0, records})
	resp := ask[*kmsg.ProduceResponse](t, version, req)
	return one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
}

// append produces a batch to partition 0, which must succeed, and returns its
// first offset.
func (t *T) append(topic string, b batch) int64 {
	p := t.produce(t.newest(kmsg.Produce, 9), topic, b.bytes())
	t.ok("produce to "+topic, p.ErrorCode)
	return p.BaseOffset
}

// fetching is one partition to fetch.
type fetching struct {
	partition    int32
	offset       int64
	maxBytes     int32 // Default 1 MiB.
	currentEpoch int32 // 0 is "not known" here: raw requests say 0 themselves.
	lastEpoch    int32 // Likewise.
}

// fetchRequest is a fetch that does not wait, without a session.
func (t *T) fetchRequest(version int16, topic string, parts ...fetching) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, 0, 1, 50<<20
	req.SessionID, req.SessionEpoch = 0, -1
	req.Topics = append(req.Topics, t.fetchTopic(version, topic, parts...))
	return req
}

// fetchTopic is one topic of a fetch.
func (t *T) fetchTopic(version int16, topic string, parts ...fetching) kmsg.FetchRequestTopic {
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	if version >= 13 {
		rt.TopicID = t.topicID(topic)
	}
	for _, p := range parts {
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes, rp.LogStartOffset = p.partition, p.offset, p.maxBytes, -1
		rp.CurrentLeaderEpoch, rp.LastFetchedEpoch = -1, -1
		if p.maxBytes == 0 {
			rp.PartitionMaxBytes = 1 << 20
		}
		if p.currentEpoch != 0 {
			rp.CurrentLeaderEpoch = p.currentEpoch
		}
		if p.lastEpoch != 0 {
			rp.LastFetchedEpoch = p.lastEpoch
		}
		rt.Partitions = append(rt.Partitions, rp)
	}
	return rt
}

// fetch reads partition 0 from an offset, without waiting.
func (t *T) fetch(version int16, topic string, offset int64) kmsg.FetchResponseTopicPartition {
	resp := ask[*kmsg.FetchResponse](t, version, t.fetchRequest(version, topic, fetching{offset: offset}))
	t.ok("fetch", resp.ErrorCode)
	return one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
}

// read returns the records of partition 0 from an offset.
func (t *T) read(topic string, offset int64) []gotRecord { return t.readPartition(topic, 0, offset) }

// readPartition returns the records of a partition from an offset.
func (t *T) readPartition(topic string, partition int32, offset int64) []gotRecord {
	version := t.newest(kmsg.Fetch, 11)
	req := t.fetchRequest(version, topic, fetching{partition: partition, offset: offset})
	p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, version, req).Topics).Partitions)
	t.ok("fetch of "+topic, p.ErrorCode)
	return t.records(p.RecordBatches)
}

// endOffset is the high watermark of partition 0.
func (t *T) endOffset(topic string) int64 { return t.offsetOf(topic, -1).Offset }

// startOffset is the log start of partition 0.
func (t *T) startOffset(topic string) int64 { return t.offsetOf(topic, -2).Offset }

// offsetOf looks up the offset of a time, or of a special timestamp, in partition 0.
func (t *T) offsetOf(topic string, at int64) kmsg.ListOffsetsResponseTopicPartition {
	p := t.listOffset(t.newest(kmsg.ListOffsets, 8), topic, at)
	t.ok("ListOffsets", p.ErrorCode)
	return p
}

// listOffset is offsetOf of a version, whatever comes.
func (t *T) listOffset(version int16, topic string, at int64) kmsg.ListOffsetsResponseTopicPartition {
	return t.listOffsetOf(version, topic, 0, at, -1)
}

// listOffsetOf is listOffset of any partition, by who knows of a leader epoch; -1 is
// none.
func (t *T) listOffsetOf(version int16, topic string, partition int32, at int64, epoch int32) kmsg.ListOffsetsResponseTopicPartition {
	resp := ask[*kmsg.ListOffsetsResponse](t, version, listOffsetsRequest(topic, partition, at, epoch))
	return one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
}

// listOffsetsRequest is a ListOffsets of one partition.
func listOffsetsRequest(topic string, partition int32, at int64, epoch int32) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = partition, at, epoch
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

// producerID asks for a producer id without a transactional id.
func (t *T) producerID() (id int64, epoch int16) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis = 60000
	version := t.newest(kmsg.InitProducerID, 4)
	var resp *kmsg.InitProducerIDResponse
	t.until("a producer id", func() bool {
		resp = ask[*kmsg.InitProducerIDResponse](t, version, req)
		return resp.ErrorCode != kerr.CoordinatorLoadInProgress.Code && resp.ErrorCode != kerr.CoordinatorNotAvailable.Code
	})
	t.ok("InitProducerId", resp.ErrorCode)
	return resp.ProducerID, resp.ProducerEpoch
}

// deleteRecords moves the log start of partition 0.
func (t *T) deleteRecords(topic string, offset int64) kmsg.DeleteRecordsResponseTopicPartition {
	return t.deleteRecordsAt(t.newest(kmsg.DeleteRecords, 2), topic, 0, offset)
}

// deleteRecordsAt moves the log start of a partition.
func (t *T) deleteRecordsAt(version int16, topic string, partition int32, offset int64) kmsg.DeleteRecordsResponseTopicPartition {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 5000
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewDeleteRecordsRequestTopicPartition()
	rp.Partition, rp.Offset = partition, offset
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp := ask[*kmsg.DeleteRecordsResponse](t, version, req)
	return one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
}
