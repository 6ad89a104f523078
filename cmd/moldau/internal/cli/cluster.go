package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func clusterCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "cluster", Short: "Show the nodes, the quorum, and what is not as it should be", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd, func(ctx context.Context, adm admin) error { return a.cluster(ctx, cmd, adm) })
		},
	}
	return a.withFormat(c)
}

func (a *app) cluster(ctx context.Context, cmd *cobra.Command, adm admin) error {
	m, err := adm.Metadata(ctx)
	if err != nil {
		return err
	}
	leads, lagging, leaderless := map[int32]int{}, 0, 0
	m.Topics.EachPartition(func(p kadm.PartitionDetail) {
		leads[p.Leader]++
		if p.Leader < 0 {
			leaderless++
		}
		if len(p.ISR) < len(p.Replicas) {
			lagging++
		}
	})
	leader, voters := quorum(ctx, adm)
	t := newTable("NODE", "HOST", "PORT", "RACK", "LEADS", "QUORUM")
	for _, b := range m.Brokers {
		role := voters[b.NodeID]
		if b.NodeID == leader {
			role = "leader"
		}
		var rack any
		if b.Rack != nil {
			rack = *b.Rack
		}
		t.add(b.NodeID, b.Host, b.Port, rack, leads[b.NodeID], role)
	}
	if a.format != "json" {
		fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: %d brokers, %d topics, %d partitions under-replicated, %d without a leader\n\n",
			m.Cluster, len(m.Brokers), len(m.Topics), lagging, leaderless)
	}
	return a.print(cmd, t)
}

// quorum tells who leads the metadata quorum and who votes. A broker that does
// not say leaves both unknown.
func quorum(ctx context.Context, adm admin) (leader int32, voters map[int32]string) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	voters = map[int32]string{}
	resp, err := req.RequestWith(ctx, adm.raw)
	if err != nil || resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return -1, voters
	}
	p := resp.Topics[0].Partitions[0]
	for _, v := range p.CurrentVoters {
		voters[v.ReplicaID] = "voter"
	}
	return p.LeaderID, voters
}
