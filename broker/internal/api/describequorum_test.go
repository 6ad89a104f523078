package api

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestDescribeQuorum: the quorum's one partition is told of, and no other with it.
func TestDescribeQuorum(t *testing.T) {
	asking := func(topics ...kmsg.DescribeQuorumRequestTopic) kmsg.Request {
		req := kmsg.NewPtrDescribeQuorumRequest()
		req.Version, req.Topics = 2, topics
		return req
	}
	of := func(topic string, partitions ...int32) kmsg.DescribeQuorumRequestTopic {
		rt := kmsg.DescribeQuorumRequestTopic{Topic: topic}
		for _, n := range partitions {
			rt.Partitions = append(rt.Partitions, kmsg.DescribeQuorumRequestTopicPartition{Partition: n})
		}
		return rt
	}
	const unknown = `UNKNOWN_TOPIC_OR_PARTITION ErrorMessage:"This server does not host this topic-partition."`
	const voters = ` CurrentVoters:[{ReplicaID:1 ReplicaDirectoryID:id7 LogEndOffset:9 LastFetchTimestamp:5000 LastCaughtUpTimestamp:5000} {ReplicaID:2 LogEndOffset:-1}]}]}]` +
		` Nodes:[{NodeID:1 Listeners:[{Name:"CONTROLLER" Host:"c" Port:9}]} {NodeID:2}]}`
	for name, tc := range map[string]struct {
		req    kmsg.Request
		nodeID int32
		want   string
	}{
		"at the leader": {asking(of(metadataTopic, 0)), 1, `{ErrorMessage:"" Topics:[{Topic:"__cluster_metadata" Partitions:[{ErrorMessage:"" LeaderID:1 LeaderEpoch:3 HighWatermark:8` + voters},
		"at another": {
			asking(of(metadataTopic, 0)), 2,
			`{ErrorMessage:"" Topics:[{Topic:"__cluster_metadata" Partitions:[{NOT_LEADER_FOR_PARTITION ErrorMessage:"" LeaderID:1 LeaderEpoch:3 HighWatermark:8` + voters,
		},
		"another partition":     {asking(of(metadataTopic, 1)), 1, `{ErrorMessage:"" Topics:[{Topic:"__cluster_metadata" Partitions:[{Partition:1 ` + unknown + `}]}]}`},
		"another partition too": {asking(of(metadataTopic, 0, 1)), 1, `{ErrorMessage:"" Topics:[{Topic:"__cluster_metadata" Partitions:[{` + unknown + `} {Partition:1 ` + unknown + `}]}]}`},
		"another topic":         {asking(of("t", 0)), 1, `{ErrorMessage:"" Topics:[{Topic:"t" Partitions:[{` + unknown + `}]}]}`},
		"another topic too":     {asking(of(metadataTopic, 0), of("t", 0)), 1, `{ErrorMessage:"" Topics:[{Topic:"__cluster_metadata" Partitions:[{` + unknown + `}]} {Topic:"t" Partitions:[{` + unknown + `}]}]}`},
		"nothing":               {asking(), 1, `{ErrorMessage:""}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := &Env{NodeID: tc.nodeID, Quorum: func() Quorum {
					return Quorum{LeaderID: 1, Epoch: 3, HighWatermark: 8, Voters: []QuorumVoter{
						{ID: 1, DirectoryID: [16]byte{7}, LogEndOffset: 9, Endpoints: []QuorumEndpoint{{"CONTROLLER", "c", 9}}},
						{ID: 2, LogEndOffset: -1},
					}}
				}}
				resp := ask(t, env, tc.req).(*kmsg.DescribeQuorumResponse)
				for i := range resp.Topics {
					for j := range resp.Topics[i].Partitions {
						for k := range resp.Topics[i].Partitions[j].CurrentVoters {
							v := &resp.Topics[i].Partitions[j].CurrentVoters[k]
							if v.LastFetchTimestamp == time.Now().UnixMilli() && v.LastCaughtUpTimestamp == v.LastFetchTimestamp {
								v.LastFetchTimestamp, v.LastCaughtUpTimestamp = 5000, 5000 // As the cases have now.
							}
						}
					}
				}
				if diff := cmp.Diff(tc.want, shownAll(resp)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
