package scenario

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BigBatch is a batch of one record of about n bytes.
func BigBatch(n int) Batch {
	return Batch{Records: []Record{{Key: []byte("k"), Value: slices.Repeat([]byte{'x'}, n)}}}
}

// Portion is what is produced to one partition.
type Portion struct {
	Partition int32
	Records   []byte
}

// ProduceRequest is a Produce of records to partitions of one topic.
func (t *T) ProduceRequest(version int16, acks int16, topic string, portions ...Portion) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 5000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	if version >= 13 {
		rt.TopicID = t.TopicID(topic)
	}
	for _, p := range portions {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = p.Partition, p.Records
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// Produce sends bytes to partition 0 with acks=all and returns the answer.
func (t *T) Produce(version int16, topic string, records []byte) kmsg.ProduceResponseTopicPartition {
	req := t.ProduceRequest(version, -1, topic, Portion{0, records})
	resp := Ask[*kmsg.ProduceResponse](t, version, req)
	return One(t, "partitions", One(t, "topics", resp.Topics).Partitions)
}

// Append produces a batch to partition 0, which must succeed, and returns its
// first offset.
func (t *T) Append(topic string, b Batch) int64 {
	p := t.Produce(t.Newest(kmsg.Produce, 9), topic, b.Bytes())
	t.OK("produce to "+topic, p.ErrorCode)
	return p.BaseOffset
}

// Fetching is one partition to fetch.
type Fetching struct {
	Partition    int32
	Offset       int64
	MaxBytes     int32 // Default 1 MiB.
	currentEpoch int32 // 0 is "not known" here: raw requests say 0 themselves.
	LastEpoch    int32 // Likewise.
}

// FetchRequest is a fetch that does not wait, without a session.
func (t *T) FetchRequest(version int16, topic string, parts ...Fetching) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, 0, 1, 50<<20
	req.SessionID, req.SessionEpoch = 0, -1
	req.Topics = append(req.Topics, t.FetchTopic(version, topic, parts...))
	return req
}

// FetchTopic is one topic of a fetch.
func (t *T) FetchTopic(version int16, topic string, parts ...Fetching) kmsg.FetchRequestTopic {
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	if version >= 13 {
		rt.TopicID = t.TopicID(topic)
	}
	for _, p := range parts {
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes, rp.LogStartOffset = p.Partition, p.Offset, p.MaxBytes, -1
		rp.CurrentLeaderEpoch, rp.LastFetchedEpoch = -1, -1
		if p.MaxBytes == 0 {
			rp.PartitionMaxBytes = 1 << 20
		}
		if p.currentEpoch != 0 {
			rp.CurrentLeaderEpoch = p.currentEpoch
		}
		if p.LastEpoch != 0 {
			rp.LastFetchedEpoch = p.LastEpoch
		}
		rt.Partitions = append(rt.Partitions, rp)
	}
	return rt
}

// Fetch reads partition 0 from an offset, without waiting.
func (t *T) Fetch(version int16, topic string, offset int64) kmsg.FetchResponseTopicPartition {
	resp := Ask[*kmsg.FetchResponse](t, version, t.FetchRequest(version, topic, Fetching{Offset: offset}))
	t.OK("fetch", resp.ErrorCode)
	return One(t, "partitions", One(t, "topics", resp.Topics).Partitions)
}

// Read returns the records of partition 0 from an offset.
func (t *T) Read(topic string, offset int64) []GotRecord { return t.ReadPartition(topic, 0, offset) }

// ReadPartition returns the records of a partition from an offset.
func (t *T) ReadPartition(topic string, partition int32, offset int64) []GotRecord {
	version := t.Newest(kmsg.Fetch, 11)
	req := t.FetchRequest(version, topic, Fetching{Partition: partition, Offset: offset})
	p := One(t, "partitions", One(t, "topics", Ask[*kmsg.FetchResponse](t, version, req).Topics).Partitions)
	t.OK("fetch of "+topic, p.ErrorCode)
	return t.Records(p.RecordBatches)
}

// ProducerID asks for a producer id without a transactional id.
func (t *T) ProducerID() (id int64, epoch int16) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis = 60000
	version := t.Newest(kmsg.InitProducerID, 4)
	var resp *kmsg.InitProducerIDResponse
	t.Until("a producer id", func() bool {
		resp = Ask[*kmsg.InitProducerIDResponse](t, version, req)
		return resp.ErrorCode != kerr.CoordinatorLoadInProgress.Code && resp.ErrorCode != kerr.CoordinatorNotAvailable.Code
	})
	t.OK("InitProducerId", resp.ErrorCode)
	return resp.ProducerID, resp.ProducerEpoch
}

// DeleteRecords moves the log start of partition 0.
func (t *T) DeleteRecords(topic string, offset int64) kmsg.DeleteRecordsResponseTopicPartition {
	return t.DeleteRecordsAt(t.Newest(kmsg.DeleteRecords, 2), topic, 0, offset)
}

// DeleteRecordsAt moves the log start of a partition.
func (t *T) DeleteRecordsAt(version int16, topic string, partition int32, offset int64) kmsg.DeleteRecordsResponseTopicPartition {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 5000
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewDeleteRecordsRequestTopicPartition()
	rp.Partition, rp.Offset = partition, offset
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp := Ask[*kmsg.DeleteRecordsResponse](t, version, req)
	return One(t, "partitions", One(t, "topics", resp.Topics).Partitions)
}

// ProduceNumbered produces n records of an idempotent producer to partition 0.
func (t *T) ProduceNumbered(topic string, id int64, epoch int16, sequence int32, n int) kmsg.ProduceResponseTopicPartition {
	return t.Produce(t.Newest(kmsg.Produce, 9), topic, NumberedBatch(id, epoch, sequence, n).Bytes())
}
