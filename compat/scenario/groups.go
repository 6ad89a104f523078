package scenario

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetDelete deletes a group's offset and returns the code of the answer and that of
// the partition.
func (t *T) OffsetDelete(group, topic string, partition int32) (top, part int16) {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	rt := kmsg.NewOffsetDeleteRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewOffsetDeleteRequestTopicPartition()
	rp.Partition = partition
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp := Ask[*kmsg.OffsetDeleteResponse](t, 0, req)
	if resp.ErrorCode != 0 {
		return resp.ErrorCode, 0
	}
	return 0, One(t, "partitions", One(t, "topics", resp.Topics).Partitions).ErrorCode
}

// Subscribed makes a member that consumes topics, as consumers say it.
func (t *T) Subscribed(group string, topics ...string) *Member {
	m := t.Member(group)
	m.Kind = "consumer"
	m.Metadata = func(string) []byte {
		s := kmsg.NewConsumerMemberMetadata()
		s.Topics = topics
		return s.AppendTo(nil)
	}
	return m.Settle()
}
