package compat

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// clusterScenarios are about the cluster as admin tools see it.
var clusterScenarios = []Scenario{
	{ID: "cluster.describe", Says: "DescribeCluster tells cluster id, brokers and a controller.", Refs: []string{"KIP-700", "nisshi#443", "case A17"}, Run: describeCluster},
	{ID: "cluster.describe.operations", Says: "DescribeCluster tells authorized operations when asked for.", Refs: []string{"KIP-700", "kafka-ui#3141", "case A17"}, Run: describeClusterOperations},
	{ID: "cluster.describe.endpoint-type", Says: "A broker answers for brokers: controllers are MISMATCHED_ENDPOINT_TYPE, others UNSUPPORTED_ENDPOINT_TYPE.", Refs: []string{"KIP-919"}, Since: "3.7", Run: describeClusterEndpoints},
	{ID: "cluster.topic-partitions.paging", Says: "DescribeTopicPartitions tells each partition once over pages, and where the next begins.", Refs: []string{"KIP-966", "franz-go kfake TestDescribeTopicPartitionsCursor", "case O17"}, Since: "3.8", Run: topicPartitionsPaging},
	{ID: "cluster.topic-partitions.topics", Says: "DescribeTopicPartitions tells topics in order of name, unknown ones with an error.", Refs: []string{"KIP-966"}, Since: "3.8", Run: topicPartitionsTopics},
	{ID: "cluster.topic-partitions.cursor", Says: "A cursor at a negative partition is INVALID_REQUEST for each topic.", Refs: []string{"KIP-966"}, Since: "3.8", Run: topicPartitionsCursor},
	{ID: "cluster.topic-partitions.cursor-elsewhere", Says: "A cursor at a topic that is not asked for is INVALID_REQUEST for each topic; where all are asked for it may be at any.", Refs: []string{"KIP-966"}, Since: "3.8", Run: topicPartitionsCursorElsewhere},
	{ID: "cluster.topic-partitions.limit", Says: "A limit of partitions below 1 is 1.", Refs: []string{"KIP-966"}, Since: "3.8", Run: topicPartitionsLimit},
	{ID: "cluster.quorum", Says: "DescribeQuorum tells leader, epoch, high watermark and voters of __cluster_metadata.", Refs: []string{"KIP-595", "KIP-836"}, Run: describeQuorum},
	{ID: "cluster.quorum.errors", Says: "DescribeQuorum of anything but __cluster_metadata-0 is UNKNOWN_TOPIC_OR_PARTITION.", Refs: []string{"KIP-595"}, Run: describeQuorumErrors},
	{ID: "cluster.log-dirs", Says: "DescribeLogDirs tells directories, sizes of partitions, and from version 4 those of the disk.", Refs: []string{"KIP-113", "KIP-827"}, Run: describeLogDirs},
	{ID: "cluster.log-dirs.some", Says: "DescribeLogDirs of named partitions tells those and leaves out unknown ones.", Refs: []string{"KIP-113"}, Run: describeLogDirsSome},
	{ID: "cluster.acls.disabled", Says: "Without an authorizer DescribeAcls is SECURITY_DISABLED.", Refs: []string{"kafka-ui#3820"}, Run: describeACLs},
	{ID: "cluster.features.update", Says: "UpdateFeatures refuses features that are not and levels that are not supported.", Refs: []string{"KIP-584", "KIP-1022"}, Run: updateFeatures},
}

func describeCluster(t *T) {
	t.each(kmsg.DescribeCluster, 0, 2, func(v int16) {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = 1
		resp := ask[*kmsg.DescribeClusterResponse](t, v, req)
		t.ok("describe", resp.ErrorCode)
		if resp.ClusterID == "" {
			t.Fatalf("there is no cluster id")
		}
		if v >= 1 {
			equal(t, "endpoint type", resp.EndpointType, 1)
		}
		ids := map[int32]bool{}
		for _, b := range resp.Brokers {
			ids[b.NodeID] = true
			equal(t, "fenced", b.IsFenced, false)
			if b.Host == "" || b.Port <= 0 {
				t.Fatalf("broker %d at host %q port %d", b.NodeID, b.Host, b.Port)
			}
		}
		equal(t, "this broker is told", ids[t.Node()], true)
		equal(t, "the controller is a broker", ids[resp.ControllerID], true)
		equal(t, "operations not asked for", resp.ClusterAuthorizedOperations, math.MinInt32)
	})
}

func describeClusterOperations(t *T) {
	t.each(kmsg.DescribeCluster, 0, 2, func(v int16) {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType, req.IncludeClusterAuthorizedOperations = 1, true
		got := ask[*kmsg.DescribeClusterResponse](t, v, req).ClusterAuthorizedOperations
		if got&^(1<<13|1<<14) != clusterOperations {
			t.Fatalf("operations: got %b, want %b", got, clusterOperations)
		}
	})
}

func describeClusterEndpoints(t *T) {
	t.each(kmsg.DescribeCluster, 1, 2, func(v int16) {
		for endpoint, want := range map[int8]*kerr.Error{2: kerr.MismatchedEndpointType, 3: kerr.UnsupportedEndpointType, 0: kerr.UnsupportedEndpointType} {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.EndpointType = endpoint
			resp := ask[*kmsg.DescribeClusterResponse](t, v, req)
			t.code(fmt.Sprint("endpoint type ", endpoint), resp.ErrorCode, want)
			if resp.ErrorMessage == nil {
				t.Fatalf("there is no error message")
			}
		}
	})
}

func (t *T) topicPartitions(limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, topics ...string) *kmsg.DescribeTopicPartitionsResponse {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit, req.Cursor = limit, cursor
	for _, name := range topics {
		rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
		rt.Topic = name
		req.Topics = append(req.Topics, rt)
	}
	return ask[*kmsg.DescribeTopicPartitionsResponse](t, 0, req)
}

func topicPartitionsPaging(t *T) {
	topic := t.Topic(5)
	var seen []int32
	var cursor *kmsg.DescribeTopicPartitionsRequestCursor
	for range 4 {
		resp := t.topicPartitions(2, cursor, topic)
		rt := one(t, "topics", resp.Topics)
		t.ok("topic", rt.ErrorCode)
		t.text("name", rt.Topic, topic)
		equal(t, "id", rt.TopicID, t.topicID(topic))
		for _, p := range rt.Partitions {
			t.ok("partition", p.ErrorCode)
			equal(t, "leader", p.LeaderID, t.Node())
			equal(t, "leader epoch", p.LeaderEpoch, 0)
			seen = append(seen, p.Partition)
		}
		if resp.NextCursor == nil {
			break
		}
		equal(t, "next topic", resp.NextCursor.Topic, topic)
		equal(t, "next partition", resp.NextCursor.Partition, int32(len(seen)))
		c := kmsg.NewDescribeTopicPartitionsRequestCursor()
		c.Topic, c.Partition = resp.NextCursor.Topic, resp.NextCursor.Partition
		cursor = &c
	}
	equals(t, "partitions", seen, []int32{0, 1, 2, 3, 4})
}

func topicPartitionsTopics(t *T) {
	a, b, missing := t.name("a"), t.name("b"), t.name("missing")
	t.create(a, 2)
	t.create(b, 1)
	resp := t.topicPartitions(100, nil, b, missing, a, "a b")
	var names []string
	for _, rt := range resp.Topics {
		names = append(names, *rt.Topic)
		switch *rt.Topic {
		case missing:
			t.code("unknown", rt.ErrorCode, kerr.UnknownTopicOrPartition)
		case "a b":
			t.code("bad name", rt.ErrorCode, kerr.InvalidTopicException)
		default:
			t.ok(*rt.Topic, rt.ErrorCode)
			equal(t, "operations", rt.AuthorizedOperations, topicOperations)
		}
	}
	equals(t, "topics", names, []string{"a b", a, b, missing})
	equal(t, "next page", resp.NextCursor == nil, true)
	found := 0
	for _, rt := range t.topicPartitions(2000, nil).Topics {
		if *rt.Topic == a || *rt.Topic == b {
			found++
		}
	}
	equal(t, "found among all", found, 2)
}

func topicPartitionsCursor(t *T) {
	topic := t.Topic(1)
	c := kmsg.NewDescribeTopicPartitionsRequestCursor()
	c.Topic, c.Partition = topic, -1
	rt := one(t, "topics", t.topicPartitions(10, &c, topic).Topics)
	t.text("topic", rt.Topic, topic)
	t.code("negative partition", rt.ErrorCode, kerr.InvalidRequest)
	equal(t, "partitions", len(rt.Partitions), 0)
}

func topicPartitionsCursorElsewhere(t *T) {
	a, b, c := t.name("a"), t.name("b"), t.name("c")
	for _, name := range []string{a, b, c} {
		t.create(name, 1)
	}
	cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
	for _, at := range []string{b, t.name("missing"), ""} {
		cursor.Topic = at
		resp := t.topicPartitions(10, &cursor, a, c)
		equal(t, "topics", len(resp.Topics), 2)
		for _, rt := range resp.Topics {
			t.code("cursor at "+at, rt.ErrorCode, kerr.InvalidRequest)
			equal(t, "partitions", len(rt.Partitions), 0)
		}
	}
	cursor.Topic = a + "." // Between a and b, and no topic.
	found := false
	for _, rt := range t.topicPartitions(2000, &cursor).Topics {
		t.ok("a topic from the cursor on", rt.ErrorCode)
		found = found || *rt.Topic == b
		equal(t, *rt.Topic+" is before the cursor", *rt.Topic < cursor.Topic, false)
	}
	equal(t, "all topics from the cursor on have the next one", found, true)
}

func topicPartitionsLimit(t *T) {
	topic := t.Topic(3)
	for _, limit := range []int32{0, -1, -100} {
		resp := t.topicPartitions(limit, nil, topic)
		equal(t, fmt.Sprint("partitions with limit ", limit), len(one(t, "topics", resp.Topics).Partitions), 1)
		if resp.NextCursor == nil {
			t.Fatalf("there is no cursor after the first of three partitions")
		}
		equal(t, "next partition", resp.NextCursor.Partition, 1)
	}
	other := topic + "b"
	t.create(other, 1)
	resp := t.topicPartitions(3, nil, topic, other)
	equal(t, "partitions up to the limit", len(one(t, "topics", resp.Topics).Partitions), 3)
	if resp.NextCursor == nil {
		t.Fatalf("there is no cursor before the second topic")
	}
	equal(t, "next topic", resp.NextCursor.Topic, other)
	equal(t, "next partition", resp.NextCursor.Partition, 0)
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

func describeQuorum(t *T) {
	t.each(kmsg.DescribeQuorum, 0, 2, func(v int16) {
		resp := ask[*kmsg.DescribeQuorumResponse](t, v, quorumRequest("__cluster_metadata", 0))
		t.ok("describe", resp.ErrorCode)
		p := one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
		t.ok("partition", p.ErrorCode)
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
		equal(t, "the leader is a voter", leads, true)
		if v >= 2 && len(resp.Nodes) == 0 {
			t.Fatalf("no node is told")
		}
	})
}

func describeQuorumErrors(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.DescribeQuorum, 0, 2, func(v int16) {
		for _, req := range []*kmsg.DescribeQuorumRequest{quorumRequest(topic, 0), quorumRequest("__cluster_metadata", 1)} {
			resp := ask[*kmsg.DescribeQuorumResponse](t, v, req)
			t.ok("describe", resp.ErrorCode)
			p := one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
			t.code("partition", p.ErrorCode, kerr.UnknownTopicOrPartition)
			if v >= 2 {
				t.text("message", resp.ErrorMessage, "")
				t.contains("message of the partition", p.ErrorMessage, "does not host")
			}
		}
	})
}

func describeLogDirs(t *T) {
	topic := t.Topic(2)
	t.append(topic, big(10000))
	t.each(kmsg.DescribeLogDirs, 0, 4, func(v int16) {
		resp := ask[*kmsg.DescribeLogDirsResponse](t, v, kmsg.NewPtrDescribeLogDirsRequest())
		t.ok("describe", resp.ErrorCode)
		sizes := map[int32]int64{}
		for _, dir := range resp.Dirs {
			t.ok("directory", dir.ErrorCode)
			if dir.Dir == "" {
				t.Fatalf("a directory has no name")
			}
			if v >= 4 && (dir.TotalBytes <= 0 || dir.UsableBytes < 0 || dir.UsableBytes > dir.TotalBytes) {
				t.Fatalf("%d of %d bytes are usable", dir.UsableBytes, dir.TotalBytes)
			}
			for _, rt := range dir.Topics {
				for _, p := range rt.Partitions {
					if rt.Topic == topic {
						sizes[p.Partition] = p.Size
						equal(t, "lag", p.OffsetLag, 0)
						equal(t, "future", p.IsFuture, false)
					}
				}
			}
		}
		equal(t, "partitions", len(sizes), 2)
		equal(t, "size of 0", sizes[0], int64(len(big(10000).bytes())))
		equal(t, "size of 1", sizes[1], 0)
	})
}

func describeLogDirsSome(t *T) {
	topic := t.Topic(2)
	t.each(kmsg.DescribeLogDirs, 0, 4, func(v int16) {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		for name, partitions := range map[string][]int32{topic: {1, 7}, t.name("missing"): {0}} {
			rt := kmsg.NewDescribeLogDirsRequestTopic()
			rt.Topic, rt.Partitions = name, partitions
			req.Topics = append(req.Topics, rt)
		}
		var got []int32
		for _, dir := range ask[*kmsg.DescribeLogDirsResponse](t, v, req).Dirs {
			for _, rt := range dir.Topics {
				equal(t, "topic", rt.Topic, topic)
				for _, p := range rt.Partitions {
					got = append(got, p.Partition)
				}
			}
		}
		equals(t, "partitions", got, []int32{1})
	})
}

func describeACLs(t *T) {
	t.each(kmsg.DescribeACLs, 0, 3, func(v int16) {
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
		req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		resp := ask[*kmsg.DescribeACLsResponse](t, v, req)
		t.code("describe", resp.ErrorCode, kerr.SecurityDisabled)
		if resp.ErrorMessage == nil {
			t.Fatalf("there is no error message")
		}
		equal(t, "resources", len(resp.Resources), 0)
	})
}

func updateFeatures(t *T) {
	t.each(kmsg.UpdateFeatures, 0, 2, func(v int16) {
		for _, f := range []struct {
			name  string
			level int16
		}{{"no.such.feature", 1}, {"metadata.version", 30000}, {"metadata.version", -1}} {
			req := kmsg.NewPtrUpdateFeaturesRequest()
			u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			u.Feature, u.MaxVersionLevel, u.UpgradeType = f.name, f.level, 1
			req.FeatureUpdates = append(req.FeatureUpdates, u)
			req.ValidateOnly = v >= 1
			resp := ask[*kmsg.UpdateFeaturesResponse](t, v, req)
			code := resp.ErrorCode
			for _, r := range resp.Results {
				code = r.ErrorCode
			}
			t.code(fmt.Sprint(f), code, kerr.InvalidUpdateVersion)
		}
	})
}
