package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/protocol/config"
)

// metadata serves Metadata (3), versions 0 to 13: which brokers there are, as
// clients of this listener reach them, and who leads the partitions of the topics
// asked for. Naming a missing topic may create it.
//
// Version 1 tells "all" (null) from "none" (empty), 4 lets the client forbid the
// creation, 8 to 10 carry authorized operations of the cluster, 10 topic ids, and
// 12 asks by id.
func metadata(ctx context.Context, env *Env, call *Call, req *kmsg.MetadataRequest) (*kmsg.MetadataResponse, error) {
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	im := env.Image()
	alive := env.alive(call.Conn, im)
	for _, b := range alive {
		rb := kmsg.NewMetadataResponseBroker()
		rb.NodeID, rb.Rack = b.ID, b.Rack
		rb.Host, rb.Port, _ = env.endpoint(call.Conn, b)
		if b.ID == env.NodeID {
			env.noteMisled(call.Conn, rb.Host)
		}
		resp.Brokers = append(resp.Brokers, rb)
	}
	resp.ClusterID = kmsg.StringPtr(im.ClusterID)
	resp.ControllerID = env.contact(alive)
	resp.AuthorizedOperations = unasked
	if req.IncludeClusterAuthorizedOperations && req.Version >= 8 && req.Version <= 10 {
		resp.AuthorizedOperations = 0
		if env.MayCluster(call.Conn, kmsg.ACLOperationDescribe) {
			resp.AuthorizedOperations = env.authorized(call.Conn, clusterOperations, kmsg.ACLResourceTypeCluster, ClusterName)
		}
	}

	m := metadataTopics{env: env, call: call, req: req, im: im}
	resp.Topics = m.answer(ctx)
	return resp, nil
}

// metadataTopics answers the topics of one Metadata request from one image.
type metadataTopics struct {
	env  *Env
	call *Call
	req  *kmsg.MetadataRequest
	im   *controller.Image
}

func (m *metadataTopics) answer(ctx context.Context) []kmsg.MetadataResponseTopic {
	if m.req.Topics == nil || m.req.Version == 0 && len(m.req.Topics) == 0 {
		return m.all()
	}
	byID := false // One id makes Kafka pass over the names.
	for _, t := range m.req.Topics {
		byID = byID || t.TopicID != [16]byte{}
	}
	for _, t := range m.req.Topics {
		if t.Topic == nil && !byID || m.req.Version < 12 && (t.Topic == nil || byID) {
			return m.refuse()
		}
	}
	if byID {
		return m.byID()
	}
	return m.byName(ctx)
}

// refuse answers INVALID_REQUEST for each topic: one has neither a name nor an id,
// or not what its version asks for. Where Kafka 4.2 expects a name from version 12
// on, it runs into the null and answers UNKNOWN_SERVER_ERROR.
func (m *metadataTopics) refuse() []kmsg.MetadataResponseTopic {
	out := make([]kmsg.MetadataResponseTopic, 0, len(m.req.Topics))
	for _, t := range m.req.Topics {
		rt := m.failed(t.Topic, t.TopicID, kerr.InvalidRequest.Code)
		if rt.Topic == nil {
			rt.Topic = kmsg.StringPtr("")
		}
		out = append(out, rt)
	}
	return out
}

// all answers every topic that the principal may describe.
func (m *metadataTopics) all() []kmsg.MetadataResponseTopic {
	out := []kmsg.MetadataResponseTopic{}
	for t := range m.im.Topics() {
		if m.env.MayTopic(m.call.Conn, kmsg.ACLOperationDescribe, t.Name) {
			out = append(out, m.topic(t))
		}
	}
	return out
}

// byID answers the topics of ids: first those that there are not, and last those that
// the principal may not describe.
func (m *metadataTopics) byID() []kmsg.MetadataResponseTopic {
	var unknown, found, refused []kmsg.MetadataResponseTopic
	seen := map[[16]byte]bool{{}: true}
	for _, asked := range m.req.Topics {
		if seen[asked.TopicID] {
			continue
		}
		seen[asked.TopicID] = true
		t, ok := m.im.TopicByID(asked.TopicID)
		switch {
		case !ok:
			unknown = append(unknown, m.failed(nil, asked.TopicID, kerr.UnknownTopicID.Code))
		case !m.env.MayTopic(m.call.Conn, kmsg.ACLOperationDescribe, t.Name):
			// The name is not told to who may not know it.
			refused = append(refused, m.failed(nil, asked.TopicID, kerr.TopicAuthorizationFailed.Code))
		default:
			found = append(found, m.topic(t))
		}
	}
	return slices.Concat(unknown, found, refused)
}

// byName answers the topics of names: first those that there are, then those that were
// missing, and last those that the principal may not create, or not describe.
func (m *metadataTopics) byName(ctx context.Context) []kmsg.MetadataResponseTopic {
	var missing, uncreated, refused []kmsg.MetadataResponseTopic
	out := []kmsg.MetadataResponseTopic{}
	seen := map[string]bool{}
	for _, asked := range m.req.Topics {
		name := *asked.Topic
		if seen[name] {
			continue // ksqlDB names topics twice; Kafka answers once.
		}
		seen[name] = true
		if !m.env.MayTopic(m.call.Conn, kmsg.ACLOperationDescribe, name) {
			refused = append(refused, m.failed(asked.Topic, [16]byte{}, kerr.TopicAuthorizationFailed.Code))
			continue
		}
		if t, ok := m.im.Topic(name); ok {
			out = append(out, m.topic(t))
			continue
		}
		t, err := m.create(ctx, name)
		if err == nil {
			missing = append(missing, m.topic(t))
			continue
		}
		rt := m.failed(asked.Topic, [16]byte{}, code(err))
		if rt.ErrorCode == kerr.TopicAuthorizationFailed.Code {
			rt.IsInternal = isInternal(name)
			uncreated = append(uncreated, rt)
			continue
		}
		rt.AuthorizedOperations = m.operations(name)
		missing = append(missing, rt)
	}
	return append(out, slices.Concat(missing, uncreated, refused)...)
}

// create makes a missing topic if request and broker allow it. Apache answers
// UNKNOWN_TOPIC_OR_PARTITION first and creates meanwhile, so that the client asks
// again; here the topic is there before the answer is (docs/deviations.md), and the
// answer tells it unless moldau.auto.create.topics.wait is off.
func (m *metadataTopics) create(ctx context.Context, name string) (*controller.Topic, error) {
	allowed := m.req.AllowAutoTopicCreation || m.req.Version < 4
	if !allowed || m.env.AutoCreate == nil {
		if controller.CheckTopicName(name) != "" {
			return nil, kerr.InvalidTopicException
		}
		return nil, kerr.UnknownTopicOrPartition
	}
	if !m.env.MayCluster(m.call.Conn, kmsg.ACLOperationCreate) && !m.env.MayTopic(m.call.Conn, kmsg.ACLOperationCreate, name) {
		return nil, kerr.TopicAuthorizationFailed
	}
	err := m.env.AutoCreate(ctx, name)
	if t, ok := m.env.Image().Topic(name); ok && m.env.Settings().Bool(config.AutoCreateWait) {
		return t, nil
	}
	if errors.Is(err, kerr.InvalidTopicException) {
		return nil, kerr.InvalidTopicException
	}
	return nil, kerr.UnknownTopicOrPartition
}

// topic answers one topic that there is.
func (m *metadataTopics) topic(t *controller.Topic) kmsg.MetadataResponseTopic {
	rt := m.failed(kmsg.StringPtr(t.Name), t.ID, 0)
	rt.IsInternal = isInternal(t.Name)
	rt.AuthorizedOperations = m.operations(t.Name)
	rt.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(t.Partitions))
	for i, p := range t.Partitions {
		rt.Partitions[i] = m.partition(p)
	}
	return rt
}

// operations are what the principal may do to a topic, if that was asked.
func (m *metadataTopics) operations(name string) int32 {
	if !m.req.IncludeTopicAuthorizedOperations {
		return unasked
	}
	return m.env.authorized(m.call.Conn, topicOperations, kmsg.ACLResourceTypeTopic, name)
}

func (m *metadataTopics) partition(p *controller.Partition) kmsg.MetadataResponseTopicPartition {
	rp := kmsg.NewMetadataResponseTopicPartition()
	rp.Partition, rp.Leader, rp.LeaderEpoch = p.ID, p.Leader, p.LeaderEpoch
	rp.Replicas, rp.ISR = p.Replicas, p.ISR
	rp.OfflineReplicas = m.env.offline(m.call.Conn, m.im, p)
	if m.req.Version == 0 { // Which has no place for those that are offline.
		m.onlyAlive(&rp)
	}
	leader, ok := m.im.Broker(p.Leader)
	if !ok {
		rp.Leader, rp.ErrorCode = -1, kerr.LeaderNotAvailable.Code
	} else if _, _, ok := m.env.endpoint(m.call.Conn, leader); !ok {
		rp.Leader, rp.ErrorCode = -1, kerr.ListenerNotFound.Code
		if m.req.Version < 6 {
			rp.ErrorCode = kerr.LeaderNotAvailable.Code
		}
	}
	return rp
}

// onlyAlive leaves out the replicas whose broker clients cannot reach, and says that
// there are some.
func (m *metadataTopics) onlyAlive(rp *kmsg.MetadataResponseTopicPartition) {
	alive := func(ids []int32) (found []int32) {
		for _, id := range ids {
			if !slices.Contains(rp.OfflineReplicas, id) {
				found = append(found, id)
			}
		}
		if len(found) < len(ids) {
			rp.ErrorCode = kerr.ReplicaNotAvailable.Code
		}
		return found
	}
	rp.Replicas, rp.ISR = alive(rp.Replicas), alive(rp.ISR)
}

// offline lists the replicas of a partition whose broker clients cannot reach.
func (e *Env) offline(c *Conn, im *controller.Image, p *controller.Partition) []int32 {
	var out []int32
	for _, id := range p.Replicas {
		b, ok := im.Broker(id)
		if ok {
			_, _, ok = e.endpoint(c, b)
		}
		if !ok || b.Fenced {
			out = append(out, id)
		}
	}
	return out
}

// failed is an answer of a topic without its partitions.
func (m *metadataTopics) failed(name *string, id [16]byte, errorCode int16) kmsg.MetadataResponseTopic {
	rt := kmsg.NewMetadataResponseTopic()
	rt.Topic, rt.TopicID, rt.ErrorCode, rt.AuthorizedOperations = name, id, errorCode, unasked
	if name == nil && m.req.Version < 12 && errorCode == 0 {
		panic(fmt.Sprintf("BUG: Metadata version %d has a topic without a name", m.req.Version))
	}
	return rt
}
