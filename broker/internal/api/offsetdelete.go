package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/group"
)

// offsetDelete serves OffsetDelete (47), version 0: committed offsets of a group go,
// for topics that no member of it subscribes.
func offsetDelete(ctx context.Context, env *Env, call *Call, req *kmsg.OffsetDeleteRequest) (*kmsg.OffsetDeleteResponse, error) {
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	if !env.MayGroup(call.Conn, kmsg.ACLOperationDelete, req.Group) {
		resp.ErrorCode = kerr.GroupAuthorizationFailed.Code
		return resp, nil
	}
	im := env.Image()
	merged := newMerging(func(into *kmsg.OffsetDeleteResponseTopic, more kmsg.OffsetDeleteResponseTopic) {
		into.Partitions = append(into.Partitions, more.Partitions...)
	})
	body := *req
	body.Topics = nil
	for _, t := range req.Topics {
		errorCode := int16(0)
		topic, ok := im.Topic(t.Topic)
		if !env.MayTopic(call.Conn, kmsg.ACLOperationRead, t.Topic) {
			errorCode = kerr.TopicAuthorizationFailed.Code
		} else if !ok {
			errorCode = kerr.UnknownTopicOrPartition.Code
		}
		there, refused := t, kmsg.NewOffsetDeleteResponseTopic()
		there.Partitions, refused.Topic = nil, t.Topic
		for _, p := range t.Partitions {
			if errorCode == 0 && p.Partition >= 0 && int(p.Partition) < len(topic.Partitions) {
				there.Partitions = append(there.Partitions, p)
				continue
			}
			rp := kmsg.NewOffsetDeleteResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, errorCode
			if errorCode == 0 {
				rp.ErrorCode = kerr.UnknownTopicOrPartition.Code
			}
			refused.Partitions = append(refused.Partitions, rp)
		}
		if len(refused.Partitions) > 0 || errorCode != 0 {
			merged.add(t.Topic, refused)
		}
		if len(there.Partitions) > 0 {
			body.Topics = append(body.Topics, there)
		}
	}
	// The group is asked where nothing is left too: whether it is there comes first.
	out, err := env.Groups.Ask(ctx, req.Group, group.Request{ClientID: call.Client(), Body: &body})
	switch {
	case ctx.Err() != nil:
		return resp, ctx.Err()
	case err != nil:
		return &kmsg.OffsetDeleteResponse{Version: resp.Version, ErrorCode: coordinatorCode(err)}, nil
	}
	answered := out.(*kmsg.OffsetDeleteResponse)
	if answered.ErrorCode != 0 {
		return answered, nil // A group-level error stands alone.
	}
	for _, t := range answered.Topics {
		merged.add(t.Topic, t)
	}
	resp.Topics = merged.topics
	return resp, nil
}
