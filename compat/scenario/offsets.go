package scenario

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// EndOffset is the high watermark of partition 0.
func (t *T) EndOffset(topic string) int64 { return t.OffsetOf(topic, -1).Offset }

// StartOffset is the log start of partition 0.
func (t *T) StartOffset(topic string) int64 { return t.OffsetOf(topic, -2).Offset }

// OffsetOf looks up the offset of a time, or of a special timestamp, in partition 0.
func (t *T) OffsetOf(topic string, at int64) kmsg.ListOffsetsResponseTopicPartition {
	p := t.ListOffset(t.Newest(kmsg.ListOffsets, 8), topic, at)
	t.OK("ListOffsets", p.ErrorCode)
	return p
}

// ListOffset is OffsetOf of a version, whatever comes.
func (t *T) ListOffset(version int16, topic string, at int64) kmsg.ListOffsetsResponseTopicPartition {
	return t.ListOffsetOf(version, topic, 0, at, -1)
}

// ListOffsetOf is ListOffset of any partition, by who knows of a leader epoch; -1 is
// none.
func (t *T) ListOffsetOf(version int16, topic string, partition int32, at int64, epoch int32) kmsg.ListOffsetsResponseTopicPartition {
	resp := Ask[*kmsg.ListOffsetsResponse](t, version, ListOffsetsRequest(topic, partition, at, epoch))
	return One(t, "partitions", One(t, "topics", resp.Topics).Partitions)
}

// ListOffsetsRequest is a ListOffsets of one partition.
func ListOffsetsRequest(topic string, partition int32, at int64, epoch int32) *kmsg.ListOffsetsRequest {
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

// FindsOffset checks an answer of ListOffsets.
func (t *T) FindsOffset(version int16, topic string, at, wantOffset, wantAt int64) {
	p := t.ListOffset(version, topic, at)
	t.OK(fmt.Sprintf("ListOffsets of %d", at), p.ErrorCode)
	Equal(t, fmt.Sprintf("offset of %d", at), p.Offset, wantOffset)
	Equal(t, fmt.Sprintf("timestamp of %d", at), p.Timestamp, wantAt)
	if version >= 4 {
		epoch := int32(0)
		if wantOffset < 0 {
			epoch = -1
		}
		Equal(t, fmt.Sprintf("leader epoch of %d", at), p.LeaderEpoch, epoch)
	}
}

// EndOfEpoch asks where a leader epoch ends, as who knows of a current one; -1 is none.
func (t *T) EndOfEpoch(version int16, topic string, partition, current, epoch int32) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = partition, current, epoch
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp := Ask[*kmsg.OffsetForLeaderEpochResponse](t, version, req)
	return One(t, "partitions", One(t, "topics", resp.Topics).Partitions)
}
