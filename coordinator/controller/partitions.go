package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// createPartitions serves CreatePartitions: count is how many partitions the topic
// shall have, not how many are added. Topics named twice are answered first.
func (s *Shard) createPartitions(st *step, req *kmsg.CreatePartitionsRequest) ([]metadata.Record, *kmsg.CreatePartitionsResponse) {
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	respond := func(name string, refusal *Refusal) {
		rt := kmsg.NewCreatePartitionsResponseTopic()
		rt.Topic, rt.ErrorCode, rt.ErrorMessage = name, refusal.code(), refusal.text()
		resp.Topics = append(resp.Topics, rt)
	}
	times := map[string]int{}
	for _, t := range req.Topics {
		if times[t.Topic]++; times[t.Topic] == 2 {
			respond(t.Topic, refuse(kerr.InvalidRequest, "Duplicate topic name."))
		}
	}
	var recs []metadata.Record
	for i, t := range req.Topics {
		if times[t.Topic] > 1 {
			continue
		}
		r, refusal := s.addPartitions(st, &req.Topics[i], maxRecords-len(recs))
		recs = append(recs, r...)
		respond(t.Topic, refusal)
	}
	if req.ValidateOnly {
		return nil, resp
	}
	return recs, resp
}

// addPartitions decides about one topic. room is how many records there may be.
func (s *Shard) addPartitions(st *step, req *kmsg.CreatePartitionsRequestTopic, room int) ([]metadata.Record, *Refusal) {
	t, ok := s.topics.Get(req.Topic)
	if !ok {
		return nil, refuseSilent(kerr.UnknownTopicOrPartition)
	}
	have := len(t.Partitions)
	switch {
	case int(req.Count) == have:
		return nil, refuse(kerr.InvalidPartitions, "Topic already has %d partition(s).", have)
	case int(req.Count) < have:
		return nil, refuse(kerr.InvalidPartitions,
			"The topic %s currently has %d partition(s); %d would not be an increase.", t.Name, have, req.Count)
	}
	add := int(req.Count) - have
	if req.Assignment != nil && len(req.Assignment) != add {
		return nil, refuse(kerr.InvalidReplicaAssignment,
			"Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", add, len(req.Assignment))
	}
	if add > room {
		// Kafka answers so too: its list of records overflows. The difference is that
		// here nothing is created.
		return nil, refuseSilent(kerr.UnknownServerError)
	}
	factor := len(t.Partitions[0].Replicas)
	var placed [][]int32
	if req.Assignment == nil {
		var why string
		if placed, why = s.place(st.Rand, add, factor); why != "" {
			return nil, refuse(kerr.InvalidReplicationFactor, "%s", why)
		}
	}
	for _, a := range req.Assignment {
		if refusal := s.checkAssignment(a.Replicas, factor); refusal != nil {
			return nil, refusal
		}
		placed = append(placed, a.Replicas)
	}
	var recs []metadata.Record
	for i, replicas := range placed {
		p := s.newPartition(int32(have+i), replicas)
		if p == nil {
			return nil, allFenced(int32(have + i))
		}
		recs = append(recs, s.partitionRecord(t.ID, p))
	}
	return recs, nil
}

// checkAssignment checks replicas that somebody listed. factor is how many there
// must be; -1 is any number.
func (s *Shard) checkAssignment(replicas []int32, factor int) *Refusal {
	const manual = "The manual partition assignment includes "
	if len(replicas) == 0 {
		return refuse(kerr.InvalidReplicaAssignment, manual+"an empty replica list.")
	}
	sorted := slices.Sorted(slices.Values(replicas))
	for i, id := range sorted {
		b, ok := s.brokers.Get(id)
		switch {
		case !ok:
			return refuse(kerr.InvalidReplicaAssignment, manual+"broker %d, but no such broker is registered.", id)
		case !b.takesReplicas():
			return refuse(kerr.InvalidReplicaAssignment, manual+"broker %d, but all its log directories are cordoned.", id)
		case i > 0 && sorted[i-1] == id:
			return refuse(kerr.InvalidReplicaAssignment, manual+"the broker %d more than once.", id)
		}
	}
	if factor >= 0 && len(replicas) != factor {
		return refuse(kerr.InvalidReplicaAssignment, manual+"a partition with %d replica(s), but this is not consistent with previous "+
			"partitions, which have %d replica(s).", len(replicas), factor)
	}
	return nil
}
