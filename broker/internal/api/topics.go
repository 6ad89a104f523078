package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
)

// createTopics serves CreateTopics (19), versions 0 to 7. The answer comes when the
// topics are committed and this broker serves them. Version 1 can ask to check
// only, 5 answers partitions and settings, 7 topic ids.
func createTopics(ctx context.Context, env *Env, call *Call, req *kmsg.CreateTopicsRequest) (*kmsg.CreateTopicsResponse, error) {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	every := env.MayCluster(call.Conn, kmsg.ACLOperationCreate)
	body := *req
	body.Topics = nil
	for _, t := range req.Topics {
		if every || env.MayTopic(call.Conn, kmsg.ACLOperationCreate, t.Topic) {
			body.Topics = append(body.Topics, t)
			continue
		}
		resp.Topics = append(resp.Topics, refusedTopic(t.Topic, kerr.TopicAuthorizationFailed))
	}
	out, err := env.Control(ctx, controller.Request{Body: &body, Describable: func(topic string) bool {
		return env.MayTopic(call.Conn, kmsg.ACLOperationDescribeConfigs, topic)
	}})
	if err != nil {
		for _, t := range body.Topics {
			resp.Topics = append(resp.Topics, refusedTopic(t.Topic, kerr.TypedErrorForCode(controlCode(err))))
		}
		return resp, ctx.Err()
	}
	resp.Topics = append(resp.Topics, out.(*kmsg.CreateTopicsResponse).Topics...)
	return resp, nil
}

func refusedTopic(name string, err *kerr.Error) kmsg.CreateTopicsResponseTopic {
	rt := kmsg.NewCreateTopicsResponseTopic()
	rt.Topic, rt.ErrorCode, rt.ErrorMessage = name, err.Code, kmsg.StringPtr(err.Description)
	rt.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	return rt
}

// deleteTopics serves DeleteTopics (20), versions 0 to 6. Version 6 can name topics
// by id, and then tells the name only to who may know it.
func deleteTopics(ctx context.Context, env *Env, call *Call, req *kmsg.DeleteTopicsRequest) (*kmsg.DeleteTopicsResponse, error) {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	im := env.Image()
	body := *req
	body.TopicNames, body.Topics = nil, nil
	for _, name := range req.TopicNames {
		if env.MayTopic(call.Conn, kmsg.ACLOperationDelete, name) {
			body.TopicNames = append(body.TopicNames, name)
			continue
		}
		resp.Topics = append(resp.Topics, refusedDelete(&name, [16]byte{}, kerr.TopicAuthorizationFailed.Code))
	}
	for _, t := range req.Topics {
		name := t.Topic
		if topic, ok := im.TopicByID(t.TopicID); ok && name == nil {
			name = &topic.Name
		}
		if name == nil || env.MayTopic(call.Conn, kmsg.ACLOperationDelete, *name) {
			body.Topics = append(body.Topics, t)
			continue
		}
		if !env.MayTopic(call.Conn, kmsg.ACLOperationDescribe, *name) {
			name = t.Topic
		}
		resp.Topics = append(resp.Topics, refusedDelete(name, t.TopicID, kerr.TopicAuthorizationFailed.Code))
	}
	out, err := env.Control(ctx, controller.Request{Body: &body})
	if err != nil {
		for _, name := range body.TopicNames {
			resp.Topics = append(resp.Topics, refusedDelete(&name, [16]byte{}, controlCode(err)))
		}
		for _, t := range body.Topics {
			resp.Topics = append(resp.Topics, refusedDelete(t.Topic, t.TopicID, controlCode(err)))
		}
		return resp, ctx.Err()
	}
	resp.Topics = append(resp.Topics, out.(*kmsg.DeleteTopicsResponse).Topics...)
	return resp, nil
}

func refusedDelete(name *string, id [16]byte, errorCode int16) kmsg.DeleteTopicsResponseTopic {
	rt := kmsg.NewDeleteTopicsResponseTopic()
	rt.Topic, rt.TopicID, rt.ErrorCode = name, id, errorCode
	return rt
}

// createPartitions serves CreatePartitions (37), versions 0 to 3: topics get more
// partitions. The count is what there is afterwards, not what is added.
func createPartitions(ctx context.Context, env *Env, call *Call, req *kmsg.CreatePartitionsRequest) (*kmsg.CreatePartitionsResponse, error) {
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	refuse := func(topic string, errorCode int16) {
		rt := kmsg.NewCreatePartitionsResponseTopic()
		rt.Topic, rt.ErrorCode = topic, errorCode
		rt.ErrorMessage = kmsg.StringPtr(kerr.TypedErrorForCode(errorCode).Description)
		resp.Topics = append(resp.Topics, rt)
	}
	body := *req
	body.Topics = nil
	for _, t := range req.Topics {
		if env.MayTopic(call.Conn, kmsg.ACLOperationAlter, t.Topic) {
			body.Topics = append(body.Topics, t)
		} else {
			refuse(t.Topic, kerr.TopicAuthorizationFailed.Code)
		}
	}
	out, err := env.Control(ctx, controller.Request{Body: &body})
	if err != nil {
		for _, t := range body.Topics {
			refuse(t.Topic, controlCode(err))
		}
		return resp, ctx.Err()
	}
	resp.Topics = append(resp.Topics, out.(*kmsg.CreatePartitionsResponse).Topics...)
	return resp, nil
}
