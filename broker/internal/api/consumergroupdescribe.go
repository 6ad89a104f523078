package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerGroupDescribe serves ConsumerGroupDescribe (69), versions 0 and 1: state,
// members and assignments of groups of the consumer protocol. Version 1 tells which
// protocol each member speaks. Groups that the principal may not describe come first,
// as with Kafka, and then those without an id.
func consumerGroupDescribe(ctx context.Context, env *Env, call *Call, req *kmsg.ConsumerGroupDescribeRequest) (*kmsg.ConsumerGroupDescribeResponse, error) {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	add := func(id string, errorCode int16) {
		g := failedConsumerGroup(id, errorCode)
		g.AuthorizedOperations = unasked
		resp.Groups = append(resp.Groups, g)
	}
	if !env.servesConsumerGroups() {
		for _, id := range req.Groups {
			add(id, kerr.UnsupportedVersion.Code)
		}
		return resp, nil
	}
	may, not := env.mayGroups(call.Conn, kmsg.ACLOperationDescribe, req.Groups)
	for _, id := range not {
		add(id, kerr.GroupAuthorizationFailed.Code)
	}
	for _, id := range may {
		if id == "" { // Whether or not there is a coordinator.
			add(id, kerr.InvalidGroupID.Code)
		}
	}
	for _, id := range may {
		if id == "" {
			continue
		}
		g, err := env.describeConsumerGroup(ctx, call, req, id)
		if err != nil {
			return resp, err
		}
		g.AuthorizedOperations = unasked
		if req.IncludeAuthorizedOperations && g.ErrorCode == 0 {
			g.AuthorizedOperations = env.authorized(call.Conn, groupOperations, kmsg.ACLResourceTypeGroup, id)
		}
		resp.Groups = append(resp.Groups, g)
	}
	return resp, nil
}

func (e *Env) describeConsumerGroup(ctx context.Context, call *Call, req *kmsg.ConsumerGroupDescribeRequest, id string) (kmsg.ConsumerGroupDescribeResponseGroup, error) {
	one := kmsg.NewPtrConsumerGroupDescribeRequest()
	one.Version, one.Groups = req.Version, []string{id}
	out, err := e.Groups.Ask(ctx, id, e.groupRequest(call, one))
	if ctx.Err() != nil {
		return kmsg.ConsumerGroupDescribeResponseGroup{}, ctx.Err()
	}
	if err != nil {
		return failedConsumerGroup(id, coordinatorCode(err)), nil
	}
	g := out.(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
	for _, topic := range describedTopics(g) {
		if !e.MayTopic(call.Conn, kmsg.ACLOperationDescribe, topic) {
			g = failedConsumerGroup(id, kerr.TopicAuthorizationFailed.Code)
			g.ErrorMessage = kmsg.StringPtr("The group has described topic(s) that the client is not authorized to describe.")
			return g, nil
		}
	}
	return g, nil
}

func failedConsumerGroup(id string, errorCode int16) kmsg.ConsumerGroupDescribeResponseGroup {
	g := kmsg.NewConsumerGroupDescribeResponseGroup()
	g.Group, g.ErrorCode = id, errorCode
	return g
}

// describedTopics lists the topics that a group's members read, or are to read. Those
// that they subscribe to and that are nobody's hide nothing from a client.
func describedTopics(g kmsg.ConsumerGroupDescribeResponseGroup) (topics []string) {
	for _, m := range g.Members {
		for _, a := range []kmsg.Assignment{m.Assignment, m.TargetAssignment} {
			for _, t := range a.TopicPartitions {
				topics = append(topics, t.Topic)
			}
		}
	}
	return topics
}
