package api

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadataTopic is the one partition of the quorum's log.
const metadataTopic = "__cluster_metadata"

// Quorum is where the metadata quorum stands, as DescribeQuorum answers it.
type Quorum struct {
	LeaderID      int32
	Epoch         int32
	HighWatermark int64
	Voters        []QuorumVoter
}

// QuorumVoter is one voter and how far its log goes.
type QuorumVoter struct {
	ID           int32
	DirectoryID  [16]byte
	LogEndOffset int64 // -1 unknown.
	Endpoints    []QuorumEndpoint
}

// QuorumEndpoint is where a voter is reached.
type QuorumEndpoint struct {
	Name string
	Host string
	Port uint16
}

// describeQuorum serves DescribeQuorum (55), versions 0 to 2: who leads the
// metadata quorum and how far each voter is. Version 1 has the times of fetches, 2
// directory ids, endpoints and messages.
func describeQuorum(_ context.Context, env *Env, call *Call, req *kmsg.DescribeQuorumRequest) (*kmsg.DescribeQuorumResponse, error) {
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	if !env.MayCluster(call.Conn, kmsg.ACLOperationDescribe) {
		resp.ErrorCode, resp.ErrorMessage = kerr.ClusterAuthorizationFailed.Code, denied(kerr.ClusterAuthorizationFailed)
		return resp, nil
	}
	resp.ErrorMessage = kmsg.StringPtr("")
	if !asksForQuorum(req) {
		unknown := kerr.UnknownTopicOrPartition
		for _, t := range req.Topics {
			rt := kmsg.NewDescribeQuorumResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewDescribeQuorumResponseTopicPartition()
				rp.Partition, rp.ErrorCode, rp.ErrorMessage = p.Partition, unknown.Code, &unknown.Description
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil
	}
	q := env.Quorum()
	now := time.Now().UnixMilli()
	rp := kmsg.NewDescribeQuorumResponseTopicPartition()
	rp.ErrorMessage = kmsg.StringPtr("")
	rp.LeaderID, rp.LeaderEpoch, rp.HighWatermark = q.LeaderID, q.Epoch, q.HighWatermark
	if q.LeaderID != env.NodeID {
		rp.ErrorCode = kerr.NotLeaderForPartition.Code
	}
	for _, v := range q.Voters {
		state := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		state.ReplicaID, state.ReplicaDirectoryID, state.LogEndOffset = v.ID, v.DirectoryID, v.LogEndOffset
		if v.ID == q.LeaderID {
			// The leader has always just caught up with itself.
			state.LastFetchTimestamp, state.LastCaughtUpTimestamp = now, now
		}
		rp.CurrentVoters = append(rp.CurrentVoters, state)

		node := kmsg.NewDescribeQuorumResponseNode()
		node.NodeID = v.ID
		for _, ep := range v.Endpoints {
			l := kmsg.NewDescribeQuorumResponseNodeListener()
			l.Name, l.Host, l.Port = ep.Name, ep.Host, ep.Port
			node.Listeners = append(node.Listeners, l)
		}
		resp.Nodes = append(resp.Nodes, node)
	}
	rt := kmsg.NewDescribeQuorumResponseTopic()
	rt.Topic, rt.Partitions = metadataTopic, []kmsg.DescribeQuorumResponseTopicPartition{rp}
	resp.Topics = []kmsg.DescribeQuorumResponseTopic{rt}
	return resp, nil
}

// asksForQuorum reports whether a request names the quorum's partition, and no
// other.
func asksForQuorum(req *kmsg.DescribeQuorumRequest) bool {
	return len(req.Topics) == 1 && req.Topics[0].Topic == metadataTopic &&
		len(req.Topics[0].Partitions) == 1 && req.Topics[0].Partitions[0].Partition == 0
}
