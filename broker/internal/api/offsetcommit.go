package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/group"
)

// offsetCommit serves OffsetCommit (8), versions 0 to 10: how far a group has
// read. Topics that do not exist, or that the principal may not read, are
// answered here; the coordinator sees the rest. Version 10 names topics by id.
func offsetCommit(ctx context.Context, env *Env, call *Call, req *kmsg.OffsetCommitRequest) (*kmsg.OffsetCommitResponse, error) {
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	refuseAll := func(topics []kmsg.OffsetCommitRequestTopic, errorCode int16) {
		for _, t := range topics {
			resp.Topics = append(resp.Topics, refusedCommit(t, errorCode))
		}
	}
	if !env.MayGroup(call.Conn, kmsg.ACLOperationRead, req.Group) {
		refuseAll(req.Topics, kerr.GroupAuthorizationFailed.Code)
		return resp, nil
	}
	im := env.Image()
	var known []kmsg.OffsetCommitRequestTopic
	for _, t := range req.Topics {
		missing := kerr.UnknownTopicOrPartition.Code
		if req.Version >= 10 {
			missing = kerr.UnknownTopicID.Code
			if topic, ok := im.TopicByID(t.TopicID); ok {
				t.Topic = topic.Name
			}
		}
		topic, ok := im.Topic(t.Topic)
		switch {
		case (req.Version < 10 || t.Topic != "") && !env.MayTopic(call.Conn, kmsg.ACLOperationRead, t.Topic):
			refuseAll([]kmsg.OffsetCommitRequestTopic{t}, kerr.TopicAuthorizationFailed.Code)
		case !ok:
			refuseAll([]kmsg.OffsetCommitRequestTopic{t}, missing)
		default:
			t.TopicID = topic.ID
			there, gone := splitPartitions(t, int32(len(topic.Partitions)))
			if len(gone.Partitions) > 0 {
				refuseAll([]kmsg.OffsetCommitRequestTopic{gone}, kerr.UnknownTopicOrPartition.Code)
			}
			if len(there.Partitions) > 0 {
				known = append(known, there)
			}
		}
	}
	if len(known) == 0 {
		return resp, nil
	}
	body := *req
	body.Topics = known
	out, err := env.Groups.Ask(ctx, req.Group, group.Request{
		ClientID: call.Client(), ClientHost: "/" + call.Conn.Host(), Body: &body,
	})
	if ctx.Err() != nil {
		return resp, ctx.Err()
	}
	if err != nil {
		more := make([]kmsg.OffsetCommitResponseTopic, len(known))
		for i, t := range known {
			more[i] = refusedCommit(t, coordinatorCode(err))
		}
		resp.Topics = mergeCommits(resp.Topics, more)
	} else {
		resp.Topics = mergeCommits(resp.Topics, out.(*kmsg.OffsetCommitResponse).Topics)
	}
	return resp, nil
}

// splitPartitions parts a topic's partitions into those that exist and the rest.
func splitPartitions(t kmsg.OffsetCommitRequestTopic, count int32) (there, gone kmsg.OffsetCommitRequestTopic) {
	there, gone = t, t
	there.Partitions, gone.Partitions = nil, nil
	for _, p := range t.Partitions {
		if p.Partition >= 0 && p.Partition < count {
			there.Partitions = append(there.Partitions, p)
		} else {
			gone.Partitions = append(gone.Partitions, p)
		}
	}
	return there, gone
}

// mergeCommits adds the answers of more topics, one entry a topic.
func mergeCommits(to, more []kmsg.OffsetCommitResponseTopic) []kmsg.OffsetCommitResponseTopic {
	type key struct {
		name string
		id   [16]byte
	}
	places := make(map[key]int, len(to))
	for i, t := range to {
		if _, again := places[key{t.Topic, t.TopicID}]; !again {
			places[key{t.Topic, t.TopicID}] = i
		}
	}
	for _, t := range more {
		i, ok := places[key{t.Topic, t.TopicID}]
		if !ok {
			places[key{t.Topic, t.TopicID}] = len(to)
			to = append(to, t)
			continue
		}
		to[i].Partitions = append(to[i].Partitions, t.Partitions...)
	}
	return to
}

func refusedCommit(t kmsg.OffsetCommitRequestTopic, errorCode int16) kmsg.OffsetCommitResponseTopic {
	rt := kmsg.NewOffsetCommitResponseTopic()
	rt.Topic, rt.TopicID = t.Topic, t.TopicID
	for _, p := range t.Partitions {
		rp := kmsg.NewOffsetCommitResponseTopicPartition()
		rp.Partition, rp.ErrorCode = p.Partition, errorCode
		rt.Partitions = append(rt.Partitions, rp)
	}
	return rt
}
