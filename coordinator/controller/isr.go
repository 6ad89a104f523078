package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// alterPartition serves AlterPartition: a leader proposes the ISR of partitions that
// it leads.
func (s *Shard) alterPartition(_ *step, req *kmsg.AlterPartitionRequest) ([]metadata.Record, *kmsg.AlterPartitionResponse) {
	resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	if _, refusal := s.checkEpoch(req.BrokerID, req.BrokerEpoch); refusal != nil {
		resp.ErrorCode = refusal.code()
		return nil, resp
	}
	var recs []metadata.Record
	for _, rt := range req.Topics {
		out := kmsg.NewAlterPartitionResponseTopic()
		out.TopidID = rt.TopicID
		t, ok := s.topicByID(rt.TopicID)
		for _, rp := range rt.Partitions {
			if req.Version < 3 {
				rp.NewEpochISR = nil
				for _, id := range rp.NewISR {
					rp.NewEpochISR = append(rp.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: id, BrokerEpoch: -1})
				}
			}
			var r *metadata.PartitionChange
			op := kmsg.NewAlterPartitionResponseTopicPartition()
			op.Partition = rp.Partition
			if !ok {
				op.ErrorCode = kerr.UnknownTopicID.Code
			} else if len(recs) == maxRecords {
				op.ErrorCode = kerr.OperationNotAttempted.Code // The leader asks again.
			} else if r = s.proposeISR(req.BrokerID, t, &rp, &op); r != nil {
				recs = append(recs, r)
			}
			out.Partitions = append(out.Partitions, op)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return recs, resp
}

// proposeISR decides about one proposal and fills in its answer.
func (s *Shard) proposeISR(broker int32, t *Topic, rp *kmsg.AlterPartitionRequestTopicPartition, op *kmsg.AlterPartitionResponseTopicPartition) *metadata.PartitionChange {
	p, ok := t.partition(rp.Partition)
	if !ok {
		op.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return nil
	}
	if k := s.checkProposal(broker, p, rp); k != nil {
		op.ErrorCode = k.Code
		return nil
	}
	c := s.change(t, p, s.minISR(t))
	if s.uncleanAllowed(t) {
		c.election = electUnclean
	}
	c.isr = proposedISR(rp)
	c.recovering = rp.LeaderRecoveryState == metadata.Recovering
	r := c.record()
	after := p
	if r != nil {
		var err error
		if after, err = p.merge(r); err != nil {
			panic("BUG: " + err.Error())
		}
		if r.Leader != broker && r.Leader != metadata.LeaderAsBefore {
			// The ISR completed a reassignment that takes the leader away: an error,
			// and yet the change is made.
			op.ErrorCode = kerr.NewLeaderElected.Code
			return r
		}
	}
	op.LeaderID, op.LeaderEpoch, op.PartitionEpoch = after.Leader, after.LeaderEpoch, after.PartitionEpoch
	op.ISR = after.ISR
	op.LeaderRecoveryState = metadata.Recovered
	if after.Recovering {
		op.LeaderRecoveryState = metadata.Recovering
	}
	return r
}

func proposedISR(rp *kmsg.AlterPartitionRequestTopicPartition) []int32 {
	var isr []int32
	for _, m := range rp.NewEpochISR {
		isr = append(isr, m.BrokerID)
	}
	return isr
}

// checkProposal validates a proposed ISR; the order of the checks is Kafka's, and
// leaders rely on it.
func (s *Shard) checkProposal(broker int32, p *Partition, rp *kmsg.AlterPartitionRequestTopicPartition) *kerr.Error {
	isr := proposedISR(rp)
	switch {
	case rp.LeaderEpoch > p.LeaderEpoch, rp.PartitionEpoch > p.PartitionEpoch:
		// The leader knows more than we do: we are no longer the controller.
		return kerr.NotController
	case rp.LeaderEpoch < p.LeaderEpoch:
		return kerr.FencedLeaderEpoch
	case broker != p.Leader:
		return kerr.InvalidRequest
	case rp.PartitionEpoch < p.PartitionEpoch:
		return kerr.InvalidUpdateVersion
	case !containsAll(p.Replicas, isr), hasTwice(isr), !slices.Contains(isr, p.Leader):
		return kerr.InvalidRequest
	case rp.LeaderRecoveryState == metadata.Recovering && len(isr) > 1:
		return kerr.InvalidRequest
	case rp.LeaderRecoveryState == metadata.Recovering && !p.Recovering:
		return kerr.InvalidRequest
	}
	for _, m := range rp.NewEpochISR {
		b, ok := s.brokers.Get(m.BrokerID)
		// An epoch of -1 is from a leader that does not know it.
		if !ok || !b.Active() || m.BrokerEpoch != -1 && m.BrokerEpoch != b.Epoch {
			return kerr.IneligibleReplica
		}
	}
	return nil
}

func hasTwice(ids []int32) bool {
	sorted := slices.Sorted(slices.Values(ids))
	return len(slices.Compact(sorted)) != len(ids)
}

// assignDirs serves AssignReplicasToDirs: a broker of several directories tells
// where it put its replicas (KIP-858).
func (s *Shard) assignDirs(_ *step, req *kmsg.AssignReplicasToDirsRequest) ([]metadata.Record, *kmsg.AssignReplicasToDirsResponse) {
	resp := req.ResponseKind().(*kmsg.AssignReplicasToDirsResponse)
	b, refusal := s.checkEpoch(req.BrokerID, req.BrokerEpoch)
	if refusal == nil && !s.level.Directories() {
		refusal = refuse(kerr.UnsupportedVersion, "Directory assignment is not supported yet.")
	}
	if refusal != nil {
		resp.ErrorCode = refusal.code()
		return nil, resp
	}
	var recs []metadata.Record
	for _, dir := range req.Directories {
		od := kmsg.NewAssignReplicasToDirsResponseDirectory()
		od.ID = dir.ID
		for _, rt := range dir.Topics {
			ot := kmsg.NewAssignReplicasToDirsResponseDirectoryTopic()
			ot.TopicID = rt.TopicID
			for _, rp := range rt.Partitions {
				op := kmsg.NewAssignReplicasToDirsResponseDirectoryTopicPartition()
				op.Partition = rp.Partition
				r, k := metadata.Record(nil), kerr.OperationNotAttempted
				if len(recs) < maxRecords {
					r, k = s.assignDir(b, dir.ID, rt.TopicID, rp.Partition)
				}
				if k != nil {
					op.ErrorCode = k.Code
				}
				if r != nil {
					recs = append(recs, r)
				}
				ot.Partitions = append(ot.Partitions, op)
			}
			od.Topics = append(od.Topics, ot)
		}
		resp.Directories = append(resp.Directories, od)
	}
	return recs, resp
}

func (s *Shard) assignDir(b *Broker, dir, topic [16]byte, partition int32) (metadata.Record, *kerr.Error) {
	t, ok := s.topicByID(topic)
	if !ok {
		return nil, kerr.UnknownTopicID
	}
	p, ok := t.partition(partition)
	if !ok {
		return nil, kerr.UnknownTopicOrPartition
	}
	if !slices.Contains(p.Replicas, b.ID) {
		return nil, kerr.NotLeaderForPartition
	}
	c := s.change(t, p, s.minISR(t))
	c.dirs = map[int32][16]byte{b.ID: dir}
	if !b.hasDir(dir) {
		// Assigned to a directory that failed: as if the broker were fenced for it.
		c.isr = without(p.ISR, []int32{b.ID})
		c.acceptable = s.acceptor(p, func(id int32) bool { return id != b.ID && s.active(id) })
		if s.uncleanAllowed(t) {
			c.election = electUnclean
		}
	}
	if r := c.record(); r != nil {
		return r, nil
	}
	return nil, nil
}
