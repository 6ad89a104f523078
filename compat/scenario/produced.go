package scenario

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// NoTopic is an id that no topic has.
var NoTopic = [16]byte{5, 5, 5}

// ProducedAnswer is an answer with these partitions, by topic.
func (t *T) ProducedAnswer(topics map[string][]kmsg.ProduceResponseTopicPartition, missing string) *kmsg.ProduceResponse {
	resp := kmsg.NewPtrProduceResponse()
	for name, partitions := range topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID, rt.Partitions = name, NoTopic, partitions
		if name != missing {
			rt.TopicID = t.TopicID(name)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return ProducedInOrder(resp)
}

// ProducedInOrder puts the topics and partitions of an answer in order.
func ProducedInOrder(resp *kmsg.ProduceResponse) *kmsg.ProduceResponse {
	slices.SortFunc(resp.Topics, func(a, b kmsg.ProduceResponseTopic) int { return cmp.Compare(len(a.Partitions), len(b.Partitions)) })
	for _, rt := range resp.Topics {
		slices.SortFunc(rt.Partitions, func(a, b kmsg.ProduceResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	}
	return resp
}

// Written is the answer of a partition that was written to.
func Written(n int32, base, start int64) kmsg.ProduceResponseTopicPartition {
	return Filled(func(p *kmsg.ProduceResponseTopicPartition) {
		p.Partition, p.BaseOffset, p.LogAppendTime, p.LogStartOffset = n, base, -1, start
	})
}

// CalmProduce repeats a Produce until no coordinator asks to be asked again.
func (t *T) CalmProduce(v int16, req *kmsg.ProduceRequest) *kmsg.ProduceResponse {
	return ProducedInOrder(Calm(t, v, req, func(r *kmsg.ProduceResponse) (codes []int16) {
		for _, rt := range r.Topics {
			for _, p := range rt.Partitions {
				codes = append(codes, p.ErrorCode)
			}
		}
		return codes
	}))
}
