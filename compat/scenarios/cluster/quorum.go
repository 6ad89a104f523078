package cluster

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// quorumScenarios are about DescribeQuorum.
var quorumScenarios = []scenario.Scenario{
	{ID: "cluster.quorum", Says: "DescribeQuorum tells leader, epoch, high watermark and voters of __cluster_metadata.", Refs: []string{"KIP-595", "KIP-836"}, Run: describeQuorum},
	{ID: "cluster.quorum.errors", Says: "DescribeQuorum of anything but __cluster_metadata-0 is UNKNOWN_TOPIC_OR_PARTITION.", Refs: []string{"KIP-595"}, Run: describeQuorumErrors},
	{ID: "cluster.quorum.whole-answer", Says: "DescribeQuorum tells leader, voters and, from version 2, their nodes.", Refs: []string{"KIP-595", "KIP-836", "KIP-853"}, Run: quorumAnswers},
	{ID: "cluster.quorum.whole-answer.refused", Says: "DescribeQuorum that names more than the quorum's partition is answered UNKNOWN_TOPIC_OR_PARTITION for each.", Refs: []string{"KIP-595"}, Run: quorumRefusals},
}

func quorumRequest(topic string, partition int32) *kmsg.DescribeQuorumRequest {
	req := kmsg.NewPtrDescribeQuorumRequest()
	rt := kmsg.NewDescribeQuorumRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewDescribeQuorumRequestTopicPartition()
	rp.Partition = partition
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

func describeQuorum(t *scenario.T) {
	t.Each(kmsg.DescribeQuorum, 0, 2, func(v int16) {
		resp := scenario.Ask[*kmsg.DescribeQuorumResponse](t, v, quorumRequest("__cluster_metadata", 0))
		t.OK("describe", resp.ErrorCode)
		p := scenario.One(t, "partitions", scenario.One(t, "topics", resp.Topics).Partitions)
		t.OK("partition", p.ErrorCode)
		if p.LeaderID < 0 || p.LeaderEpoch <= 0 || p.HighWatermark <= 0 {
			t.Fatalf("leader %d, epoch %d, high watermark %d", p.LeaderID, p.LeaderEpoch, p.HighWatermark)
		}
		leads := false
		for _, voter := range p.CurrentVoters {
			if voter.ReplicaID == p.LeaderID {
				leads = true
				if voter.LogEndOffset < p.HighWatermark {
					t.Fatalf("the leader's log ends at %d, below the high watermark %d", voter.LogEndOffset, p.HighWatermark)
				}
			}
		}
		scenario.Equal(t, "the leader is a voter", leads, true)
		if v >= 2 && len(resp.Nodes) == 0 {
			t.Fatalf("no node is told")
		}
	})
}

func describeQuorumErrors(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.DescribeQuorum, 0, 2, func(v int16) {
		for _, req := range []*kmsg.DescribeQuorumRequest{quorumRequest(topic, 0), quorumRequest("__cluster_metadata", 1)} {
			resp := scenario.Ask[*kmsg.DescribeQuorumResponse](t, v, req)
			t.OK("describe", resp.ErrorCode)
			p := scenario.One(t, "partitions", scenario.One(t, "topics", resp.Topics).Partitions)
			t.Code("partition", p.ErrorCode, kerr.UnknownTopicOrPartition)
			if v >= 2 {
				t.Text("message", resp.ErrorMessage, "")
				t.Contains("message of the partition", p.ErrorMessage, "does not host")
			}
		}
	})
}

func quorumAnswers(t *scenario.T) {
	t.Each(kmsg.DescribeQuorum, 0, 2, func(v int16) {
		got := scenario.Ask[*kmsg.DescribeQuorumResponse](t, v, quorumRequest("__cluster_metadata", 0))
		p := scenario.One(t, "partitions", scenario.One(t, "topics", got.Topics).Partitions)
		voter := scenario.One(t, "voters", p.CurrentVoters)
		if p.LeaderEpoch <= 0 || p.HighWatermark <= 0 || voter.LogEndOffset < p.HighWatermark {
			t.Fatalf("epoch %d, high watermark %d, log end %d", p.LeaderEpoch, p.HighWatermark, voter.LogEndOffset)
		}
		if v >= 1 {
			t.Recent("last fetch", voter.LastFetchTimestamp)
			t.Recent("last caught up", voter.LastCaughtUpTimestamp)
		}
		want := scenario.FilledPtr(func(r *kmsg.DescribeQuorumResponse) {
			r.ErrorMessage = new("")
			r.Topics = []kmsg.DescribeQuorumResponseTopic{scenario.Filled(func(rt *kmsg.DescribeQuorumResponseTopic) {
				rt.Topic = "__cluster_metadata"
				rt.Partitions = []kmsg.DescribeQuorumResponseTopicPartition{scenario.Filled(func(rp *kmsg.DescribeQuorumResponseTopicPartition) {
					rp.ErrorMessage, rp.LeaderID, rp.LeaderEpoch, rp.HighWatermark = new(""), t.Node(), p.LeaderEpoch, p.HighWatermark
					// The id of its directory is null where the voters are a setting.
					rp.CurrentVoters = []kmsg.DescribeQuorumResponseTopicPartitionReplicaState{scenario.Filled(func(s *kmsg.DescribeQuorumResponseTopicPartitionReplicaState) {
						s.ReplicaID, s.ReplicaDirectoryID, s.LogEndOffset = t.Node(), voter.ReplicaDirectoryID, voter.LogEndOffset
						s.LastFetchTimestamp, s.LastCaughtUpTimestamp = voter.LastFetchTimestamp, voter.LastCaughtUpTimestamp
					})}
				})}
			})}
			r.Nodes = []kmsg.DescribeQuorumResponseNode{scenario.Filled(func(n *kmsg.DescribeQuorumResponseNode) { n.NodeID = t.Node() })}
		})
		if v >= 2 {
			for _, l := range scenario.One(t, "nodes", got.Nodes).Listeners {
				if l.Name == "" || l.Host == "" || l.Port == 0 {
					t.Fatalf("a listener of the quorum: %s", scenario.Plain(l))
				}
			}
			want.Nodes[0].Listeners = got.Nodes[0].Listeners
		}
		scenario.Whole(t, "DescribeQuorum", got, want)
	})
}

func quorumRefusals(t *scenario.T) {
	t.Each(kmsg.DescribeQuorum, 0, 2, func(v int16) {
		two, also := quorumRequest("__cluster_metadata", 0), quorumRequest("__cluster_metadata", 0)
		two.Topics[0].Partitions = append(two.Topics[0].Partitions, kmsg.DescribeQuorumRequestTopicPartition{Partition: 1})
		also.Topics = append(also.Topics, quorumRequest("other", 0).Topics...)
		for _, req := range []*kmsg.DescribeQuorumRequest{quorumRequest("__cluster_metadata", 1), quorumRequest("other", 0), two, also} {
			want := scenario.FilledPtr(func(r *kmsg.DescribeQuorumResponse) { r.ErrorMessage = new("") })
			for _, topic := range req.Topics {
				rt := kmsg.NewDescribeQuorumResponseTopic()
				rt.Topic = topic.Topic
				for _, n := range topic.Partitions {
					rt.Partitions = append(rt.Partitions, scenario.Filled(func(rp *kmsg.DescribeQuorumResponseTopicPartition) {
						rp.Partition, rp.ErrorCode, rp.ErrorMessage = n.Partition, kerr.UnknownTopicOrPartition.Code, &kerr.UnknownTopicOrPartition.Description
					}))
				}
				want.Topics = append(want.Topics, rt)
			}
			scenario.Whole(t, "DescribeQuorum", scenario.Ask[*kmsg.DescribeQuorumResponse](t, v, req), want)
		}
	})
}
