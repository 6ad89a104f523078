package api

import (
	"context"
	"slices"

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
	times := make(map[string]int)
	for _, t := range req.Topics {
		times[t.Topic]++
	}
	body := *req
	body.Topics = nil
	var refused []kmsg.CreateTopicsResponseTopic // They come last.
	for _, t := range req.Topics {
		// What nobody can create, the controller refuses whoever asks.
		if every || times[t.Topic] > 1 || t.Topic == metadataTopic || env.MayTopic(call.Conn, kmsg.ACLOperationCreate, t.Topic) {
			body.Topics = append(body.Topics, t)
			continue
		}
		rt := refusedTopic(t.Topic, kerr.TopicAuthorizationFailed)
		rt.ErrorMessage = kmsg.StringPtr("Authorization failed.")
		refused = append(refused, rt)
	}
	out, err := env.Control(ctx, controller.Request{Body: &body, Describable: func(topic string) bool {
		return env.MayTopic(call.Conn, kmsg.ACLOperationDescribeConfigs, topic)
	}})
	if err != nil {
		for _, t := range body.Topics {
			resp.Topics = append(resp.Topics, refusedTopic(t.Topic, kerr.TypedErrorForCode(controlCode(err))))
		}
		resp.Topics = append(resp.Topics, refused...)
		return resp, ctx.Err()
	}
	resp.Topics = slices.Concat(out.(*kmsg.CreateTopicsResponse).Topics, refused)
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
	body := *req
	body.TopicNames, body.Topics = nil, nil
	may := env.mayDelete(call.Conn, req)
	for _, name := range req.TopicNames {
		if refused := may.byName(name); refused != nil {
			resp.Topics = append(resp.Topics, *refused)
			continue
		}
		body.TopicNames = append(body.TopicNames, name)
	}
	for _, t := range req.Topics {
		if refused := may.topic(t); refused != nil {
			resp.Topics = append(resp.Topics, *refused)
			continue
		}
		body.Topics = append(body.Topics, t)
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

// deletable decides which topics of a DeleteTopics request a client may delete. What
// the controller refuses whoever asks, it is left to.
type deletable struct {
	env   *Env
	conn  *Conn
	im    *controller.Image
	every bool           // It may delete all there are: it has the right to the cluster.
	names map[string]int // How often each is named.
	ids   map[[16]byte]int
}

func (e *Env) mayDelete(c *Conn, req *kmsg.DeleteTopicsRequest) deletable {
	d := deletable{env: e, conn: c, im: e.Image(), names: map[string]int{}, ids: map[[16]byte]int{}}
	d.every = e.MayCluster(c, kmsg.ACLOperationDelete)
	for _, name := range req.TopicNames {
		d.names[name]++
	}
	for _, t := range req.Topics {
		switch {
		case t.Topic == nil:
			d.ids[t.TopicID]++
		case t.TopicID == [16]byte{}:
			d.names[*t.Topic]++
		}
	}
	return d
}

func (d *deletable) may(op kmsg.ACLOperation, name string) bool {
	return d.every || d.env.MayTopic(d.conn, op, name)
}

// topic is the answer of a topic that the client may not delete; nil if it may.
func (d *deletable) topic(t kmsg.DeleteTopicsRequestTopic) *kmsg.DeleteTopicsResponseTopic {
	byID := t.TopicID != [16]byte{}
	switch {
	case t.Topic != nil && !byID:
		return d.byName(*t.Topic)
	case t.Topic == nil && byID:
		return d.byID(t.TopicID)
	}
	return nil // Named twice over, or not at all.
}

// byName tells that a topic is not there only to who may describe it.
func (d *deletable) byName(name string) *kmsg.DeleteTopicsResponseTopic {
	if d.names[name] > 1 {
		return nil
	}
	err := kerr.TopicAuthorizationFailed
	if d.may(kmsg.ACLOperationDescribe, name) {
		if d.may(kmsg.ACLOperationDelete, name) {
			return nil
		}
		if _, ok := d.im.Topic(name); !ok {
			err = kerr.UnknownTopicOrPartition
		}
	}
	return refusedDeletion(&name, [16]byte{}, err)
}

// byID tells the name of a topic only to who may describe it. An id that this broker
// does not know may be one that it has not heard of yet, and whose it is nobody can
// say: it goes to the controller only for who may delete everything.
func (d *deletable) byID(id [16]byte) *kmsg.DeleteTopicsResponseTopic {
	if d.ids[id] > 1 || d.every {
		return nil
	}
	t, ok := d.im.TopicByID(id)
	switch {
	case !ok:
		return refusedDeletion(nil, id, kerr.UnknownTopicID)
	case d.may(kmsg.ACLOperationDelete, t.Name):
		return nil
	case d.may(kmsg.ACLOperationDescribe, t.Name):
		return refusedDeletion(&t.Name, id, kerr.TopicAuthorizationFailed)
	}
	return refusedDeletion(nil, id, kerr.TopicAuthorizationFailed)
}

func refusedDeletion(name *string, id [16]byte, err *kerr.Error) *kmsg.DeleteTopicsResponseTopic {
	rt := refusedDelete(name, id, err.Code)
	rt.ErrorMessage = &err.Description
	if err == kerr.TopicAuthorizationFailed {
		rt.ErrorMessage = denied(err)
	}
	return &rt
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
	times := make(map[string]int)
	for _, t := range req.Topics {
		times[t.Topic]++
	}
	body := *req
	body.Topics = nil
	for _, t := range req.Topics {
		// One that is named twice the controller refuses whoever asks.
		if times[t.Topic] > 1 || env.MayTopic(call.Conn, kmsg.ACLOperationAlter, t.Topic) {
			body.Topics = append(body.Topics, t)
			continue
		}
		rt := kmsg.NewCreatePartitionsResponseTopic()
		rt.Topic, rt.ErrorCode = t.Topic, kerr.TopicAuthorizationFailed.Code
		resp.Topics = append(resp.Topics, rt)
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
