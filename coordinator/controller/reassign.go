package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// reassign serves AlterPartitionReassignments: replicas move to other brokers, or,
// with null replicas, a move under way is taken back.
func (s *Shard) reassign(_ *step, req *kmsg.AlterPartitionAssignmentsRequest) ([]metadata.Record, *kmsg.AlterPartitionAssignmentsResponse) {
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
	mayResize := req.Version < 1 || req.AllowReplicationFactorChange
	var recs []metadata.Record
	for _, rt := range req.Topics {
		ot := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		ot.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			r, refusal := s.reassignPartition(rt.Topic, rp.Partition, rp.Replicas, mayResize)
			if r != nil {
				recs = append(recs, r)
			}
			op := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			op.Partition, op.ErrorCode, op.ErrorMessage = rp.Partition, refusal.code(), refusal.text()
			ot.Partitions = append(ot.Partitions, op)
		}
		resp.Topics = append(resp.Topics, ot)
	}
	if len(recs) > maxRecords {
		refusal := refuse(kerr.PolicyViolation, "Unable to perform excessively large batch operation.")
		resp.ErrorCode, resp.ErrorMessage, resp.Topics = refusal.code(), refusal.text(), nil
		return nil, resp
	}
	return recs, resp
}

func (s *Shard) reassignPartition(topic string, partition int32, target []int32, mayResize bool) (metadata.Record, *Refusal) {
	t, ok := s.topics.Get(topic)
	if !ok {
		return nil, refuse(kerr.UnknownTopicOrPartition, "Unable to find a topic named %s.", topic)
	}
	p, ok := t.partition(partition)
	if !ok {
		return nil, refuse(kerr.UnknownTopicOrPartition, "Unable to find partition %s:%d.", topic, partition)
	}
	c := s.change(t, p, s.minISR(t))
	var refusal *Refusal
	if target == nil {
		refusal = s.cancel(c, t, p)
	} else {
		refusal = s.move(c, p, target, mayResize)
	}
	if refusal != nil {
		return nil, refusal
	}
	if r := c.record(); r != nil {
		return r, nil
	}
	return nil, nil
}

// cancel takes a move back: who was being added goes, who was being removed stays.
func (s *Shard) cancel(c *change, t *Topic, p *Partition) *Refusal {
	if !p.reassigning() {
		return refuseSilent(kerr.NoReassignmentInProgress)
	}
	unclean := s.uncleanAllowed(t)
	c.replicas, c.isr = without(p.Replicas, p.Adding), without(p.ISR, p.Adding)
	if len(c.isr) == 0 {
		// All that is in sync is on brokers that go: who stays has less.
		if !unclean {
			return refuse(kerr.InvalidReplicaAssignment,
				"Unable to revert partition assignment for %s:%d because it would require an unclean leader election.", t.Name, p.ID)
		}
		c.isr = c.replicas[:1:1]
	}
	c.adding, c.removing = nil, nil
	if unclean {
		c.election = electUnclean
	}
	return nil
}

// move begins a move, or gives one under way another target.
func (s *Shard) move(c *change, p *Partition, target []int32, mayResize bool) *Refusal {
	if refusal := s.checkAssignment(target, -1); refusal != nil {
		return refusal
	}
	if now := len(without(p.Replicas, p.Removing)); !mayResize && now != len(target) {
		return refuse(kerr.InvalidReplicationFactor, "The replication factor is changed from %d to %d", now, len(target))
	}
	removing := slices.Sorted(slices.Values(without(p.Replicas, target)))
	adding := slices.Sorted(slices.Values(without(target, p.Replicas)))
	// Who was being added, and still is wanted, need not be in sync yet.
	for _, id := range p.Adding {
		if slices.Contains(target, id) {
			adding = append(adding, id)
		}
	}
	c.replicas, c.removing, c.adding = slices.Concat(target, removing), removing, adding
	return nil
}

// listReassignments serves ListPartitionReassignments; without topics it lists all
// that are under way.
func (s *Shard) listReassignments(_ *step, req *kmsg.ListPartitionReassignmentsRequest) ([]metadata.Record, *kmsg.ListPartitionReassignmentsResponse) {
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	list := func(t *Topic, wanted func(*Partition) bool) {
		ot := kmsg.NewListPartitionReassignmentsResponseTopic()
		ot.Topic = t.Name
		for _, p := range t.Partitions {
			if !p.reassigning() || !wanted(p) {
				continue
			}
			op := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
			op.Partition, op.Replicas, op.AddingReplicas, op.RemovingReplicas = p.ID, p.Replicas, p.Adding, p.Removing
			ot.Partitions = append(ot.Partitions, op)
		}
		if len(ot.Partitions) > 0 {
			resp.Topics = append(resp.Topics, ot)
		}
	}
	if req.Topics == nil {
		for t := range values(s.topics) {
			list(t, func(*Partition) bool { return true })
		}
		return nil, resp
	}
	for _, rt := range req.Topics {
		if t, ok := s.topics.Get(rt.Topic); ok {
			list(t, func(p *Partition) bool { return slices.Contains(rt.Partitions, p.ID) })
		}
	}
	return nil, resp
}
