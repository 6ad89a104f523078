package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/group"
)

// offsetFetch serves OffsetFetch (9), versions 0 to 10: how far groups have read.
// Version 2 asks for all topics with null, 8 for several groups, 10 names topics by
// id.
func offsetFetch(ctx context.Context, env *Env, call *Call, req *kmsg.OffsetFetchRequest) (*kmsg.OffsetFetchResponse, error) {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	if req.Version >= 8 {
		for _, g := range req.Groups {
			rg, err := env.fetchOffsets(ctx, call, req, g)
			if err != nil {
				return resp, err
			}
			if err := call.charge(&rg); err != nil {
				return resp, err
			}
			resp.Groups = append(resp.Groups, rg)
		}
		return resp, nil
	}
	one := kmsg.NewOffsetFetchRequestGroup()
	one.Group = req.Group
	for _, t := range req.Topics {
		gt := kmsg.NewOffsetFetchRequestGroupTopic()
		gt.Topic, gt.Partitions = t.Topic, t.Partitions
		one.Topics = append(one.Topics, gt)
	}
	if req.Topics != nil && one.Topics == nil {
		one.Topics = []kmsg.OffsetFetchRequestGroupTopic{} // None, as against all.
	}
	rg, err := env.fetchOffsets(ctx, call, req, one)
	if err != nil {
		return resp, err
	}
	oldOffsetFetch(req, rg, resp)
	return resp, nil
}

// oldOffsetFetch puts one group's answer into the form of the versions below 8.
// Versions 0 and 1 have no place for the group's error but its partitions.
func oldOffsetFetch(req *kmsg.OffsetFetchRequest, rg kmsg.OffsetFetchResponseGroup, resp *kmsg.OffsetFetchResponse) {
	resp.ErrorCode = rg.ErrorCode
	if rg.ErrorCode != 0 && req.Version < 2 {
		for _, t := range req.Topics {
			rt := kmsg.NewOffsetFetchResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetFetchResponseTopicPartition()
				rp.Partition, rp.Offset, rp.ErrorCode = p, -1, rg.ErrorCode
				rp.Metadata = kmsg.StringPtr("")
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return
	}
	for _, t := range rg.Topics {
		rt := kmsg.NewOffsetFetchResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetFetchResponseTopicPartition()
			rp.Partition, rp.Offset, rp.LeaderEpoch = p.Partition, p.Offset, p.LeaderEpoch
			rp.Metadata, rp.ErrorCode = p.Metadata, p.ErrorCode
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
}

// fetchOffsets answers one group in the form of version 8 and later.
func (e *Env) fetchOffsets(ctx context.Context, call *Call, req *kmsg.OffsetFetchRequest, g kmsg.OffsetFetchRequestGroup) (kmsg.OffsetFetchResponseGroup, error) {
	rg := kmsg.NewOffsetFetchResponseGroup()
	rg.Group = g.Group
	if !e.MayGroup(call.Conn, kmsg.ACLOperationDescribe, g.Group) {
		rg.ErrorCode = kerr.GroupAuthorizationFailed.Code
		return rg, nil
	}
	asked, refused := e.fetchable(call, req.Version, g)
	// The group is asked where nothing is left too: what it says of the member comes first.
	out, err := e.Groups.Ask(ctx, g.Group, group.Request{ClientID: call.Client(), Body: oneGroupFetch(req, asked)})
	if ctx.Err() != nil {
		return rg, ctx.Err()
	}
	if err != nil {
		rg.ErrorCode = coordinatorCode(err)
		return rg, nil
	}
	answered := out.(*kmsg.OffsetFetchResponse).Groups[0]
	if answered.ErrorCode != 0 {
		rg.ErrorCode = answered.ErrorCode
		return rg, nil
	}
	im := e.Image()
	for _, t := range answered.Topics {
		if !e.MayTopic(call.Conn, kmsg.ACLOperationDescribe, t.Topic) {
			continue // Of "all topics": what may not be described is not there.
		}
		if req.Version >= 10 && t.TopicID == [16]byte{} {
			topic, ok := im.Topic(t.Topic)
			if !ok {
				continue
			}
			t.TopicID = topic.ID
		}
		rg.Topics = append(rg.Topics, t)
	}
	rg.Topics = append(rg.Topics, refused...)
	return rg, nil
}

// oneGroupFetch is the request that a shard gets: version 8 or later, one group.
func oneGroupFetch(req *kmsg.OffsetFetchRequest, g kmsg.OffsetFetchRequestGroup) *kmsg.OffsetFetchRequest {
	body := kmsg.NewPtrOffsetFetchRequest()
	body.Version, body.RequireStable = max(req.Version, 8), req.RequireStable
	body.Groups = []kmsg.OffsetFetchRequestGroup{g}
	return body
}

// fetchable parts the topics that a group asked for into those that its shard can
// answer and those that are answered here.
func (e *Env) fetchable(call *Call, version int16, g kmsg.OffsetFetchRequestGroup) (asked kmsg.OffsetFetchRequestGroup, refused []kmsg.OffsetFetchResponseGroupTopic) {
	asked = g
	if g.Topics == nil {
		return asked, nil
	}
	asked.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	im := e.Image()
	for _, t := range g.Topics {
		errorCode := int16(0)
		if version >= 10 {
			if topic, ok := im.TopicByID(t.TopicID); ok {
				t.Topic = topic.Name
			} else {
				errorCode = kerr.UnknownTopicID.Code
			}
		}
		if errorCode == 0 && !e.MayTopic(call.Conn, kmsg.ACLOperationDescribe, t.Topic) {
			errorCode = kerr.TopicAuthorizationFailed.Code
		}
		if errorCode == 0 {
			asked.Topics = append(asked.Topics, t)
			continue
		}
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			rp.Partition, rp.Offset, rp.ErrorCode = p, -1, errorCode
			rp.Metadata = kmsg.StringPtr("")
			rt.Partitions = append(rt.Partitions, rp)
		}
		refused = append(refused, rt)
	}
	return asked, refused
}
