package controller

import (
	"math/rand/v2"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// maxPartitionsPerRequest bounds CreateTopics before anything is allocated for it.
const maxPartitionsPerRequest = 10_000

// createTopics serves CreateTopics. Each topic succeeds or fails by itself; those
// named twice and the metadata log's name are answered last, as Kafka does.
func (s *Shard) createTopics(st *step, req *kmsg.CreateTopicsRequest) ([]metadata.Record, *kmsg.CreateTopicsResponse) {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	times := map[string]int{}
	for _, t := range req.Topics {
		times[t.Topic]++
	}
	var wanted []*kmsg.CreateTopicsRequestTopic
	for i, t := range req.Topics {
		if times[t.Topic] == 1 && t.Topic != clusterMetadataTopic {
			wanted = append(wanted, &req.Topics[i])
		}
	}
	if refusal := s.tooManyPartitions(wanted); refusal != nil {
		return nil, refuseTopics(req, resp, refusal)
	}
	var recs []metadata.Record
	for _, t := range wanted {
		r, rt, refusal := s.createTopic(st, t)
		if refusal != nil {
			rt = refusedTopic(t.Topic, refusal)
		}
		recs = append(recs, r...)
		resp.Topics = append(resp.Topics, rt)
	}
	if len(recs) > maxRecords {
		return nil, refuseTopics(req, resp, refuse(kerr.PolicyViolation, "Unable to perform excessively large batch operation."))
	}
	for _, t := range req.Topics {
		switch n := times[t.Topic]; {
		case n > 1:
			times[t.Topic] = 0
			resp.Topics = append(resp.Topics, refusedTopic(t.Topic, refuse(kerr.InvalidRequest, "Duplicate topic name.")))
		case n == 1 && t.Topic == clusterMetadataTopic:
			resp.Topics = append(resp.Topics, refusedTopic(t.Topic,
				refuse(kerr.InvalidRequest, "Creation of internal topic %s is prohibited.", clusterMetadataTopic)))
		}
	}
	if req.ValidateOnly {
		return nil, resp
	}
	return recs, resp
}

func (s *Shard) tooManyPartitions(topics []*kmsg.CreateTopicsRequestTopic) *Refusal {
	var total int64
	for _, t := range topics {
		switch {
		case len(t.ReplicaAssignment) > 0:
			total += int64(len(t.ReplicaAssignment))
		case t.NumPartitions == -1:
			total += int64(s.cfg.NumPartitions)
		default:
			total += max(0, int64(t.NumPartitions))
		}
	}
	if total > maxPartitionsPerRequest {
		return refuse(kerr.PolicyViolation, "Excessively large number of partitions per request.")
	}
	return nil
}

// refuseTopics answers the whole request with one error.
func refuseTopics(req *kmsg.CreateTopicsRequest, resp *kmsg.CreateTopicsResponse, refusal *Refusal) *kmsg.CreateTopicsResponse {
	resp.Topics = nil
	for _, t := range req.Topics {
		resp.Topics = append(resp.Topics, refusedTopic(t.Topic, refusal))
	}
	return resp
}

func refusedTopic(name string, refusal *Refusal) kmsg.CreateTopicsResponseTopic {
	rt := kmsg.NewCreateTopicsResponseTopic()
	rt.Topic, rt.ErrorCode, rt.ErrorMessage = name, refusal.code(), refusal.text()
	rt.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // Null would be another answer.
	return rt
}

// createTopic decides about one topic: its checks are in Kafka's order.
func (s *Shard) createTopic(st *step, t *kmsg.CreateTopicsRequestTopic) ([]metadata.Record, kmsg.CreateTopicsResponseTopic, *Refusal) {
	rt := kmsg.NewCreateTopicsResponseTopic()
	if refusal := s.checkNewTopic(t.Topic); refusal != nil {
		return nil, rt, refusal
	}
	configs, set, refusal := s.newTopicConfigs(t)
	if refusal != nil {
		return nil, rt, refusal
	}
	parts, refusal := s.newPartitions(st.Rand, t)
	if refusal != nil {
		return nil, rt, refusal
	}
	id := s.newTopicID(st.Rand)
	rt.Topic, rt.TopicID = t.Topic, id
	if st.describable == nil || st.describable(t.Topic) {
		rt.NumPartitions, rt.ReplicationFactor = int32(len(parts)), int16(len(parts[0].Replicas))
		rt.Configs = s.cfg.Schema.TopicConfigs(set, s.nodeConfig(), s.clusterConfig())
	} else {
		rt.ConfigErrorCode = kerr.TopicAuthorizationFailed.Code
	}
	recs := slices.Concat([]metadata.Record{&metadata.Topic{Name: t.Topic, TopicID: id}}, configs, s.clearELR(configs))
	for _, p := range parts {
		recs = append(recs, s.partitionRecord(id, p))
	}
	return recs, rt, nil
}

func (s *Shard) checkNewTopic(name string) *Refusal {
	if _, ok := s.topics.Get(name); ok {
		return refuse(kerr.TopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	if other, ok := s.colliding(name); ok {
		return refuse(kerr.InvalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
	}
	if why := CheckTopicName(name); why != "" {
		return refuse(kerr.InvalidTopicException, "%s", why)
	}
	return nil
}

// newPartitions decides where a new topic's partitions are: where the request says,
// or where there is room.
func (s *Shard) newPartitions(rnd *rand.Rand, t *kmsg.CreateTopicsRequestTopic) ([]*Partition, *Refusal) {
	if len(t.ReplicaAssignment) > 0 {
		return s.assignedPartitions(t)
	}
	if t.ReplicationFactor < -1 || t.ReplicationFactor == 0 {
		return nil, refuse(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	}
	if t.NumPartitions < -1 || t.NumPartitions == 0 {
		return nil, refuse(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	count, factor := t.NumPartitions, t.ReplicationFactor
	if count == -1 {
		count = s.cfg.NumPartitions
	}
	if factor == -1 {
		factor = s.cfg.ReplicationFactor
	}
	placed, why := s.place(rnd, int(count), int(factor))
	if why != "" {
		return nil, refuse(kerr.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): %s", factor, why)
	}
	parts := make([]*Partition, len(placed))
	for i, replicas := range placed {
		parts[i] = s.newPartition(int32(i), replicas)
	}
	return parts, nil
}

// assignedPartitions takes the replicas that the request lists.
func (s *Shard) assignedPartitions(t *kmsg.CreateTopicsRequestTopic) ([]*Partition, *Refusal) {
	const manual = "A manual partition assignment was specified, but "
	if t.ReplicationFactor != -1 {
		return nil, refuse(kerr.InvalidRequest, manual+"replication factor was not set to -1.")
	}
	if t.NumPartitions != -1 {
		return nil, refuse(kerr.InvalidRequest, manual+"numPartitions was not set to -1.")
	}
	byID := map[int32]*Partition{}
	factor := -1
	for _, a := range t.ReplicaAssignment {
		if byID[a.Partition] != nil {
			return nil, refuse(kerr.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", a.Partition)
		}
		if refusal := s.checkAssignment(a.Replicas, factor); refusal != nil {
			return nil, refusal
		}
		factor = len(a.Replicas)
		p := s.newPartition(a.Partition, a.Replicas)
		if p == nil {
			return nil, allFenced(a.Partition)
		}
		byID[a.Partition] = p
	}
	parts := make([]*Partition, len(byID))
	for i := range parts {
		if parts[i] = byID[int32(i)]; parts[i] == nil {
			return nil, refuse(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
	}
	return parts, nil
}

func allFenced(partition int32) *Refusal {
	return refuse(kerr.InvalidReplicaAssignment,
		"All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", partition)
}

// newPartition makes a partition whose ISR is all replicas on active brokers; nil
// if there is none.
func (s *Shard) newPartition(id int32, replicas []int32) *Partition {
	p := &Partition{ID: id, Replicas: replicas}
	for _, r := range replicas {
		p.Directories = append(p.Directories, s.defaultDir(r))
		if s.active(r) {
			p.ISR = append(p.ISR, r)
		}
	}
	if len(p.ISR) == 0 {
		return nil
	}
	p.Leader = p.ISR[0]
	return p
}

// newTopicID draws an id as Kafka does: a random UUID whose text does not begin
// with a dash, which shells would take for an option.
func (s *Shard) newTopicID(rnd *rand.Rand) [16]byte {
	for {
		var id [16]byte
		for i := range 2 {
			v := rnd.Uint64()
			for b := range 8 {
				id[8*i+b] = byte(v >> (8 * b))
			}
		}
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		const dash = 62 // Of the 64 characters of base64url.
		if _, taken := s.topicByID(id); !taken && id[0]>>2 != dash {
			return id
		}
	}
}

// deleteTopics serves DeleteTopics, by name (versions up to 5) and by name or id.
func (s *Shard) deleteTopics(_ *step, req *kmsg.DeleteTopicsRequest) ([]metadata.Record, *kmsg.DeleteTopicsResponse) {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	topics := req.Topics
	for _, name := range req.TopicNames {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = new(name)
		topics = append(topics, t)
	}
	if s.cfg.NoTopicDeletion {
		refusal := refuseBare(kerr.TopicDeletionDisabled)
		if req.Version < 3 {
			refusal = refuse(kerr.InvalidRequest, "This version does not support topic deletion.")
		}
		for _, t := range topics {
			resp.Topics = append(resp.Topics, deletedTopic(t.Topic, t.TopicID, refusal))
		}
		return nil, resp
	}
	var recs []metadata.Record
	for _, d := range s.findDeletions(topics) {
		if d.refusal == nil {
			recs = append(recs, &metadata.RemoveTopic{TopicID: d.id})
		}
		resp.Topics = append(resp.Topics, deletedTopic(d.name, d.id, d.refusal))
	}
	if len(recs) > maxRecords {
		resp.Topics = nil
		for _, t := range topics {
			resp.Topics = append(resp.Topics, deletedTopic(t.Topic, t.TopicID,
				refuse(kerr.PolicyViolation, "Unable to perform excessively large batch operation.")))
		}
		return nil, resp
	}
	return recs, resp
}

func deletedTopic(name *string, id [16]byte, refusal *Refusal) kmsg.DeleteTopicsResponseTopic {
	rt := kmsg.NewDeleteTopicsResponseTopic()
	rt.Topic, rt.TopicID, rt.ErrorCode, rt.ErrorMessage = name, id, refusal.code(), refusal.text()
	return rt
}

// deletion is a topic to be deleted, or why it is not.
type deletion struct {
	name    *string
	id      [16]byte
	refusal *Refusal
}

// findDeletions resolves what a DeleteTopics request names. What is named twice is
// answered once.
func (s *Shard) findDeletions(topics []kmsg.DeleteTopicsRequestTopic) []deletion {
	names, ids := map[string]int{}, map[[16]byte]int{}
	for _, t := range topics {
		switch {
		case t.Topic != nil && t.TopicID == [16]byte{}:
			names[*t.Topic]++
		case t.Topic == nil && t.TopicID != [16]byte{}:
			ids[t.TopicID]++
		}
	}
	var out []deletion
	for _, t := range topics {
		var d deletion
		switch {
		case t.Topic == nil && t.TopicID == [16]byte{}:
			d.refusal = refuse(kerr.InvalidRequest, "Neither topic name nor id were specified.")
		case t.Topic != nil && t.TopicID != [16]byte{}:
			d = deletion{t.Topic, t.TopicID, refuse(kerr.InvalidRequest, "You may not specify both topic name and topic id.")}
		case t.Topic == nil:
			n := ids[t.TopicID]
			if ids[t.TopicID] = 0; n == 0 || n == 1 && s.alsoNamed(t.TopicID, topics) {
				continue
			}
			d = s.deleteByID(t.TopicID, n)
		default:
			n := names[*t.Topic]
			if names[*t.Topic] = 0; n == 0 {
				continue
			}
			d = s.deleteByName(t.Topic, n, topics)
		}
		out = append(out, d)
	}
	return out
}

// alsoNamed reports whether the topic with an id is named as well, once: then the
// name is answered, with an error, and nothing deleted.
func (s *Shard) alsoNamed(id [16]byte, topics []kmsg.DeleteTopicsRequestTopic) bool {
	t, ok := s.topicByID(id)
	n := 0
	for _, other := range topics {
		if ok && other.Topic != nil && *other.Topic == t.Name && other.TopicID == [16]byte{} {
			n++
		}
	}
	return n == 1
}

func (s *Shard) deleteByID(id [16]byte, times int) deletion {
	if times > 1 {
		return deletion{nil, id, refuse(kerr.InvalidRequest, "Duplicate topic id.")}
	}
	t, ok := s.topicByID(id)
	if !ok {
		return deletion{nil, id, refuseBare(kerr.UnknownTopicID)}
	}
	return deletion{name: new(t.Name), id: id}
}

func (s *Shard) deleteByName(name *string, times int, topics []kmsg.DeleteTopicsRequestTopic) deletion {
	if times > 1 {
		return deletion{name: name, refusal: refuse(kerr.InvalidRequest, "Duplicate topic name.")}
	}
	t, ok := s.topics.Get(*name)
	if !ok {
		return deletion{name: name, refusal: refuseBare(kerr.UnknownTopicOrPartition)}
	}
	for _, other := range topics {
		if other.Topic == nil && other.TopicID == t.ID {
			return deletion{name, t.ID, refuse(kerr.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")}
		}
	}
	return deletion{name: name, id: t.ID}
}
