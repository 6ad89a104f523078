package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
)

// describeProducers serves DescribeProducers (61), version 0: the idempotent and
// transactional producers that a partition's leader remembers (KIP-664).
func describeProducers(_ context.Context, env *Env, call *Call, req *kmsg.DescribeProducersRequest) (*kmsg.DescribeProducersResponse, error) {
	resp := kmsg.NewPtrDescribeProducersResponse()
	view := env.view(call)
	for _, t := range req.Topics {
		rt := kmsg.NewDescribeProducersResponseTopic()
		rt.Topic = t.Topic
		refusal, message := view.mayDescribeProducers(t.Topic)
		for _, n := range t.Partitions {
			rp := kmsg.NewDescribeProducersResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.ErrorMessage = n, refusal, orNull(message)
			if refusal == 0 {
				rp.ActiveProducers, rp.ErrorCode = view.producers(t.Topic, n)
			}
			if err := call.charge(&rp); err != nil {
				return resp, err
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

// mayDescribeProducers says why nothing is told of any partition of a topic; a
// code of 0 is no reason.
func (v clusterView) mayDescribeProducers(topic string) (refusal int16, message string) {
	if wrong := controller.CheckTopicName(topic); wrong != "" {
		return kerr.InvalidTopicException.Code, wrong
	}
	if !v.env.MayTopic(v.call.Conn, kmsg.ACLOperationRead, topic) {
		return kerr.TopicAuthorizationFailed.Code, *denied(kerr.TopicAuthorizationFailed)
	}
	if _, ok := v.image.Topic(topic); !ok {
		return kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicOrPartition.Description
	}
	return 0, ""
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
