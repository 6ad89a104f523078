package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
)

// describeTopicPartitions serves DescribeTopicPartitions (75), version 0: the
// partitions of topics in order of name, a page at a time. The page ends after
// the client's limit of partitions, or the broker's
// max.request.partition.size.limit, and the cursor says where to go on.
func describeTopicPartitions(_ context.Context, env *Env, call *Call, req *kmsg.DescribeTopicPartitionsRequest) (*kmsg.DescribeTopicPartitionsResponse, error) {
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	im := env.Image()
	names, err := pageOfTopics(im, req)
	if err != nil {
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, describedTopic(t.Topic, code(err)))
		}
		return resp, nil
	}
	left := int32(env.Settings().Int("max.request.partition.size.limit"))
	left = max(min(left, req.ResponsePartitionLimit), 1)
	names, hidden := env.describableTopics(call.Conn, names)
	for _, name := range names {
		if left == 0 { // Whether there is such a topic is looked up on the next page.
			cursor := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
			cursor.Topic = name
			resp.NextCursor = &cursor
			break
		}
		t, ok := im.Topic(name)
		if !ok {
			errorCode := kerr.UnknownTopicOrPartition.Code
			if controller.CheckTopicName(name) != "" {
				errorCode = kerr.InvalidTopicException.Code
			}
			rt := describedTopic(name, errorCode)
			rt.IsInternal = isInternal(name)
			rt.AuthorizedOperations = env.authorized(call.Conn, topicOperations, kmsg.ACLResourceTypeTopic, name)
			resp.Topics = append(resp.Topics, rt)
			continue
		}
		first := int32(0)
		if req.Cursor != nil && req.Cursor.Topic == name {
			first = max(req.Cursor.Partition, 0)
		}
		next := first
		rt := describedTopic(name, 0)
		rt.TopicID, rt.IsInternal = t.ID, isInternal(name)
		rt.AuthorizedOperations = env.authorized(call.Conn, topicOperations, kmsg.ACLResourceTypeTopic, name)
		for ; next < int32(len(t.Partitions)) && left > 0; next++ {
			rt.Partitions = append(rt.Partitions, env.describedPartition(call.Conn, im, t.Partitions[next]))
			left--
		}
		if next > first || len(t.Partitions) == 0 || left > 0 {
			resp.Topics = append(resp.Topics, rt)
		}
		if next < int32(len(t.Partitions)) {
			cursor := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
			cursor.Topic, cursor.Partition = name, next
			resp.NextCursor = &cursor
			break
		}
	}
	if len(req.Topics) > 0 { // On each page, behind what there is on it.
		for _, name := range hidden {
			resp.Topics = append(resp.Topics, describedTopic(name, kerr.TopicAuthorizationFailed.Code))
		}
	}
	return resp, nil
}

// describableTopics parts names into those that the client may describe and the rest.
func (e *Env) describableTopics(c *Conn, names []string) (describable, hidden []string) {
	for _, name := range names {
		if e.MayTopic(c, kmsg.ACLOperationDescribe, name) {
			describable = append(describable, name)
		} else {
			hidden = append(hidden, name)
		}
	}
	return describable, hidden
}

// pageOfTopics lists the names asked for, or all, in order and from the cursor on.
// A cursor stands at one of the topics asked for: a client that asks for others
// has mixed up its pages. Where all are asked for, its topic may be gone.
func pageOfTopics(im *controller.Image, req *kmsg.DescribeTopicPartitionsRequest) ([]string, error) {
	var names []string
	for _, t := range req.Topics {
		names = append(names, t.Topic)
	}
	if len(req.Topics) == 0 {
		for t := range im.Topics() {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if req.Cursor == nil {
		return names, nil
	}
	if _, asked := slices.BinarySearch(names, req.Cursor.Topic); !asked && len(req.Topics) > 0 || req.Cursor.Partition < 0 {
		return nil, kerr.InvalidRequest
	}
	return slices.DeleteFunc(names, func(n string) bool { return n < req.Cursor.Topic }), nil
}

func describedTopic(name string, errorCode int16) kmsg.DescribeTopicPartitionsResponseTopic {
	rt := kmsg.NewDescribeTopicPartitionsResponseTopic()
	rt.Topic, rt.ErrorCode = kmsg.StringPtr(name), errorCode
	rt.AuthorizedOperations = unasked
	return rt
}

func (e *Env) describedPartition(c *Conn, im *controller.Image, p *controller.Partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	rp := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	rp.Partition, rp.LeaderEpoch = p.ID, p.LeaderEpoch
	rp.Replicas, rp.ISR = p.Replicas, p.ISR
	rp.EligibleLeaderReplicas, rp.LastKnownELR = notNull(p.ELR), notNull(p.LastKnownELR)
	rp.OfflineReplicas = e.offline(c, im, p)
	rp.LeaderID = -1 // And no error, as Metadata has.
	if leader, ok := im.Broker(p.Leader); ok {
		if _, _, ok := e.endpoint(c, leader); ok {
			rp.LeaderID = p.Leader
		}
	}
	return rp
}

// notNull makes an empty list of a null one.
func notNull(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}
