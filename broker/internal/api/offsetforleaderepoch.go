package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetForLeaderEpoch serves OffsetForLeaderEpoch (23), versions 0 to 4: where
// the records of a leader epoch end, by which consumers and followers see that
// their log has been cut. Kafka 4 starts at version 2; librdkafka asks exactly
// that one.
func offsetForLeaderEpoch(_ context.Context, env *Env, call *Call, req *kmsg.OffsetForLeaderEpochRequest) (*kmsg.OffsetForLeaderEpochResponse, error) {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	view := env.view(call)
	all := env.MayCluster(call.Conn, kmsg.ACLOperationClusterAction)
	var refused []kmsg.OffsetForLeaderEpochResponseTopic // They come last.
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		may := all || env.MayTopic(call.Conn, kmsg.ACLOperationDescribe, t.Topic)
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, -1, -1
			if !may {
				rp.ErrorCode = kerr.TopicAuthorizationFailed.Code
			} else if r, err := view.named(t.Topic, p.Partition); err != nil {
				rp.ErrorCode = code(err)
			} else if end, err := r.EpochEnd(p.CurrentLeaderEpoch, p.LeaderEpoch, false); err != nil {
				rp.ErrorCode = code(err)
			} else {
				rp.LeaderEpoch, rp.EndOffset = end.Epoch, end.End
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		if may {
			resp.Topics = append(resp.Topics, rt)
		} else {
			refused = append(refused, rt)
		}
	}
	resp.Topics = append(resp.Topics, refused...)
	return resp, nil
}
