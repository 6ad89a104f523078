package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeProducers serves DescribeProducers (61), version 0: the idempotent and
// transactional producers that a partition's leader remembers (KIP-664).
func describeProducers(_ context.Context, env *Env, call *Call, req *kmsg.DescribeProducersRequest) (*kmsg.DescribeProducersResponse, error) {
	resp := kmsg.NewPtrDescribeProducersResponse()
	view := env.view(call)
	for _, t := range req.Topics {
		rt := kmsg.NewDescribeProducersResponseTopic()
		rt.Topic = t.Topic
		may := env.MayTopic(call.Conn, kmsg.ACLOperationRead, t.Topic)
		for _, n := range t.Partitions {
			rp := kmsg.NewDescribeProducersResponseTopicPartition()
			rp.Partition = n
			if !may {
				rp.ErrorCode = kerr.TopicAuthorizationFailed.Code
			} else if rp.ActiveProducers, rp.ErrorCode = view.producers(t.Topic, n); rp.ErrorCode != 0 {
				rp.ErrorMessage = orNull(kerr.ErrorForCode(rp.ErrorCode).Error())
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

func (v clusterView) producers(topic string, n int32) ([]kmsg.DescribeProducersResponseTopicPartitionActiveProducer, int16) {
	r, err := v.named(topic, n)
	if err == nil {
		err = r.Err()
	}
	if err == nil {
		err = r.View().CheckLeader()
	}
	if err != nil {
		return nil, code(err)
	}
	var active []kmsg.DescribeProducersResponseTopicPartitionActiveProducer
	for _, e := range r.Producers() {
		p := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		p.ProducerID, p.ProducerEpoch = e.ProducerID, int32(e.Epoch)
		p.LastSequence, p.LastTimestamp = e.LastSequence, e.TimestampMs
		p.CoordinatorEpoch, p.CurrentTxnStartOffset = e.CoordinatorEpoch, e.TxnFirst
		active = append(active, p)
	}
	return active, 0
}
