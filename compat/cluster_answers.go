package compat

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// clusterAnswers are about every field of what is told of the cluster.
var clusterAnswers = []Scenario{
	{ID: "metadata.whole-answer", Says: "Metadata tells brokers, cluster id and every field of topics in every version, of unknown ones their name alone.", Run: metadataAnswers},
	{ID: "metadata.whole-answer.by-id", Says: "Topics asked for by id are told with every field, once each, and unknown ids without a name.", Refs: []string{"KIP-516"}, Since: "3.1", Run: metadataAnswersByID},
	{ID: "metadata.whole-answer.refused", Says: "A Metadata request of version 10 or 11 with an id is INVALID_REQUEST for each topic; from 12 one id makes it pass over names.", Refs: []string{"KIP-516"}, Since: "3.1", Run: metadataRefusals},
	{ID: "cluster.describe.whole-answer", Says: "DescribeCluster tells what Metadata does of brokers, and nothing of endpoints of another type.", Refs: []string{"KIP-700", "KIP-919", "KIP-1073"}, Run: describeClusterAnswers},
	{ID: "cluster.quorum.whole-answer", Says: "DescribeQuorum tells leader, voters and, from version 2, their nodes.", Refs: []string{"KIP-595", "KIP-836", "KIP-853"}, Run: quorumAnswers},
	{ID: "cluster.quorum.whole-answer.refused", Says: "DescribeQuorum that names more than the quorum's partition is answered UNKNOWN_TOPIC_OR_PARTITION for each.", Refs: []string{"KIP-595"}, Run: quorumRefusals},
	{ID: "cluster.topic-partitions.whole-answer", Says: "DescribeTopicPartitions tells every field of topics and partitions, and where the next page begins.", Refs: []string{"KIP-966"}, Since: "3.8", Run: topicPartitionsAnswers},
	{ID: "cluster.log-dirs.whole-answer", Says: "DescribeLogDirs tells every field of the partitions that were asked for.", Refs: []string{"KIP-113", "KIP-827"}, Run: logDirAnswers},
	{ID: "cluster.acls.disabled.whole-answer", Says: "DescribeAcls without an authorizer tells SECURITY_DISABLED and why.", Run: describeACLAnswers},
	{ID: "protocol.api-versions.whole-answer", Says: "An unfit software name is INVALID_REQUEST and nothing else.", Refs: []string{"KIP-511"}, Run: apiVersionsRefused},
}

// notAsked is what is told of authorized operations that were not asked for.
const notAsked = math.MinInt32

// metadataTopic is a topic of this broker alone as Metadata tells it.
func (t *T) metadataTopic(name string, partitions int32) kmsg.MetadataResponseTopic {
	return filled(func(rt *kmsg.MetadataResponseTopic) {
		rt.Topic, rt.TopicID, rt.AuthorizedOperations = &name, t.topicID(name), notAsked
		for p := range partitions {
			rt.Partitions = append(rt.Partitions, filled(func(rp *kmsg.MetadataResponseTopicPartition) {
				rp.Partition, rp.Leader, rp.LeaderEpoch = p, t.Node(), 0
				rp.Replicas, rp.ISR = []int32{t.Node()}, []int32{t.Node()}
			}))
		}
	})
}

// answeredCluster checks what Metadata tells of the cluster, and is an answer with
// it and these topics.
func (t *T) answeredCluster(v int16, got *kmsg.MetadataResponse, topics ...kmsg.MetadataResponseTopic) *kmsg.MetadataResponse {
	t.checkBrokers(v, got)
	for i := range got.Topics {
		slices.SortFunc(got.Topics[i].Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition - b.Partition) })
	}
	b := one(t, "brokers", got.Brokers)
	return filledPtr(func(r *kmsg.MetadataResponse) {
		r.ClusterID, r.ControllerID, r.AuthorizedOperations, r.Topics = got.ClusterID, t.Node(), notAsked, topics
		r.Brokers = []kmsg.MetadataResponseBroker{filled(func(rb *kmsg.MetadataResponseBroker) {
			rb.NodeID, rb.Host, rb.Port, rb.Rack = t.Node(), b.Host, b.Port, b.Rack
		})}
	})
}

func metadataAnswers(t *T) {
	topic, missing := t.Topic(2), t.name("missing")
	t.each(kmsg.Metadata, 0, 13, func(v int16) {
		req := metadataRequest(topic)
		got := ask[*kmsg.MetadataResponse](t, v, req)
		want := t.metadataTopic(topic, 2)
		whole(t, "a topic", got, t.answeredCluster(v, got, want))
		if v < 4 {
			return // An unknown topic is made.
		}
		unknown := func(name string, e *kerr.Error) kmsg.MetadataResponseTopic {
			return filled(func(rt *kmsg.MetadataResponseTopic) {
				rt.Topic, rt.ErrorCode, rt.AuthorizedOperations = &name, e.Code, notAsked
			})
		}
		all := []kmsg.MetadataResponseTopic{unknown("a b", kerr.InvalidTopicException), unknown(missing, kerr.UnknownTopicOrPartition), want}
		req = metadataRequest(missing, topic, "a b")
		got = t.metadataByName(v, req)
		whole(t, "unknown topics beside it", got, t.answeredCluster(v, got, all...))
		if v < 8 {
			return
		}
		req.IncludeTopicAuthorizedOperations = true
		got = t.metadataByName(v, req)
		for i := range all {
			all[i].AuthorizedOperations = topicOperations
		}
		whole(t, "with operations", got, t.answeredCluster(v, got, all...))
	})
}

// metadataByName is an answer with its topics in order of name.
func (t *T) metadataByName(v int16, req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	got := ask[*kmsg.MetadataResponse](t, v, req)
	slices.SortFunc(got.Topics, func(a, b kmsg.MetadataResponseTopic) int { return strings.Compare(or(a.Topic, ""), or(b.Topic, "")) })
	return got
}

func metadataAnswersByID(t *T) {
	topic := t.Topic(2)
	t.each(kmsg.Metadata, 12, 13, func(v int16) {
		req := kmsg.NewPtrMetadataRequest()
		for _, id := range [][16]byte{{6, 6}, t.topicID(topic), t.topicID(topic)} {
			rt := kmsg.NewMetadataRequestTopic()
			rt.TopicID = id
			req.Topics = append(req.Topics, rt)
		}
		got := t.metadataByName(v, req)
		unknown := filled(func(rt *kmsg.MetadataResponseTopic) {
			rt.TopicID, rt.ErrorCode, rt.AuthorizedOperations = [16]byte{6, 6}, kerr.UnknownTopicID.Code, notAsked
		})
		whole(t, "by id", got, t.answeredCluster(v, got, unknown, t.metadataTopic(topic, 2)))
	})
}

func metadataRefusals(t *T) {
	topic, other := t.Topic(1), t.Topic(1)
	mixed := func(v int16) *kmsg.MetadataResponse {
		req := metadataRequest(other)
		rt := kmsg.NewMetadataRequestTopic()
		rt.TopicID = t.topicID(topic)
		req.Topics = append(req.Topics, rt)
		return t.metadataByName(v, req)
	}
	t.each(kmsg.Metadata, 10, 11, func(v int16) {
		got := mixed(v)
		refused := func(name string, id [16]byte) kmsg.MetadataResponseTopic {
			return filled(func(rt *kmsg.MetadataResponseTopic) {
				rt.ErrorCode, rt.Topic, rt.TopicID, rt.AuthorizedOperations = kerr.InvalidRequest.Code, &name, id, notAsked
			})
		}
		want := filledPtr(func(r *kmsg.MetadataResponse) {
			r.Brokers, r.ClusterID, r.ControllerID, r.AuthorizedOperations = got.Brokers, got.ClusterID, got.ControllerID, notAsked
			r.Topics = []kmsg.MetadataResponseTopic{refused("", t.topicID(topic)), refused(other, [16]byte{})}
		})
		whole(t, "a name and an id", got, want)
	})
	t.each(kmsg.Metadata, 12, 13, func(v int16) {
		got := mixed(v)
		whole(t, "a name and an id", got, t.answeredCluster(v, got, t.metadataTopic(topic, 1)))
	})
}

func describeClusterAnswers(t *T) {
	b := t.broker()
	id := ask[*kmsg.MetadataResponse](t, t.newest(kmsg.Metadata, 9), metadataRequest()).ClusterID
	t.each(kmsg.DescribeCluster, 0, 2, func(v int16) {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = 1
		want := filledPtr(func(r *kmsg.DescribeClusterResponse) {
			r.EndpointType, r.ClusterID, r.ControllerID, r.ClusterAuthorizedOperations = 1, *id, t.Node(), notAsked
			r.Brokers = []kmsg.DescribeClusterResponseBroker{filled(func(rb *kmsg.DescribeClusterResponseBroker) {
				rb.NodeID, rb.Host, rb.Port, rb.Rack = b.NodeID, b.Host, b.Port, b.Rack
			})}
		})
		whole(t, "brokers", ask[*kmsg.DescribeClusterResponse](t, v, req), want)
		if v >= 2 {
			req.IncludeFencedBrokers = true
			whole(t, "fenced brokers too", ask[*kmsg.DescribeClusterResponse](t, v, req), want)
		}
		if v < 1 {
			return
		}
		for endpoint, says := range map[int8]string{2: "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER", 3: "Unsupported endpoint type 3", 0: "Unsupported endpoint type 0"} {
			req.EndpointType = endpoint
			whole(t, "endpoints of type "+strconv.Itoa(int(endpoint)), ask[*kmsg.DescribeClusterResponse](t, v, req), filledPtr(func(r *kmsg.DescribeClusterResponse) {
				r.ErrorCode, r.ErrorMessage = kerr.UnsupportedEndpointType.Code, &says
				if endpoint == 2 {
					r.ErrorCode = kerr.MismatchedEndpointType.Code
				}
				r.EndpointType, r.ControllerID, r.ClusterAuthorizedOperations = 1, -1, notAsked
			}))
		}
	})
}

func quorumAnswers(t *T) {
	t.each(kmsg.DescribeQuorum, 0, 2, func(v int16) {
		got := ask[*kmsg.DescribeQuorumResponse](t, v, quorumRequest("__cluster_metadata", 0))
		p := one(t, "partitions", one(t, "topics", got.Topics).Partitions)
		voter := one(t, "voters", p.CurrentVoters)
		if p.LeaderEpoch <= 0 || p.HighWatermark <= 0 || voter.LogEndOffset < p.HighWatermark {
			t.Fatalf("epoch %d, high watermark %d, log end %d", p.LeaderEpoch, p.HighWatermark, voter.LogEndOffset)
		}
		if v >= 1 {
			t.recent("last fetch", voter.LastFetchTimestamp)
			t.recent("last caught up", voter.LastCaughtUpTimestamp)
		}
		want := filledPtr(func(r *kmsg.DescribeQuorumResponse) {
			r.ErrorMessage = new("")
			r.Topics = []kmsg.DescribeQuorumResponseTopic{filled(func(rt *kmsg.DescribeQuorumResponseTopic) {
				rt.Topic = "__cluster_metadata"
				rt.Partitions = []kmsg.DescribeQuorumResponseTopicPartition{filled(func(rp *kmsg.DescribeQuorumResponseTopicPartition) {
					rp.ErrorMessage, rp.LeaderID, rp.LeaderEpoch, rp.HighWatermark = new(""), t.Node(), p.LeaderEpoch, p.HighWatermark
					// The id of its directory is null where the voters are a setting.
					rp.CurrentVoters = []kmsg.DescribeQuorumResponseTopicPartitionReplicaState{filled(func(s *kmsg.DescribeQuorumResponseTopicPartitionReplicaState) {
						s.ReplicaID, s.ReplicaDirectoryID, s.LogEndOffset = t.Node(), voter.ReplicaDirectoryID, voter.LogEndOffset
						s.LastFetchTimestamp, s.LastCaughtUpTimestamp = voter.LastFetchTimestamp, voter.LastCaughtUpTimestamp
					})}
				})}
			})}
			r.Nodes = []kmsg.DescribeQuorumResponseNode{filled(func(n *kmsg.DescribeQuorumResponseNode) { n.NodeID = t.Node() })}
		})
		if v >= 2 {
			for _, l := range one(t, "nodes", got.Nodes).Listeners {
				if l.Name == "" || l.Host == "" || l.Port == 0 {
					t.Fatalf("a listener of the quorum: %s", plain(l))
				}
			}
			want.Nodes[0].Listeners = got.Nodes[0].Listeners
		}
		whole(t, "DescribeQuorum", got, want)
	})
}

func quorumRefusals(t *T) {
	t.each(kmsg.DescribeQuorum, 0, 2, func(v int16) {
		two, also := quorumRequest("__cluster_metadata", 0), quorumRequest("__cluster_metadata", 0)
		two.Topics[0].Partitions = append(two.Topics[0].Partitions, kmsg.DescribeQuorumRequestTopicPartition{Partition: 1})
		also.Topics = append(also.Topics, quorumRequest("other", 0).Topics...)
		for _, req := range []*kmsg.DescribeQuorumRequest{quorumRequest("__cluster_metadata", 1), quorumRequest("other", 0), two, also} {
			want := filledPtr(func(r *kmsg.DescribeQuorumResponse) { r.ErrorMessage = new("") })
			for _, topic := range req.Topics {
				rt := kmsg.NewDescribeQuorumResponseTopic()
				rt.Topic = topic.Topic
				for _, n := range topic.Partitions {
					rt.Partitions = append(rt.Partitions, filled(func(rp *kmsg.DescribeQuorumResponseTopicPartition) {
						rp.Partition, rp.ErrorCode, rp.ErrorMessage = n.Partition, kerr.UnknownTopicOrPartition.Code, &kerr.UnknownTopicOrPartition.Description
					}))
				}
				want.Topics = append(want.Topics, rt)
			}
			whole(t, "DescribeQuorum", ask[*kmsg.DescribeQuorumResponse](t, v, req), want)
		}
	})
}

func topicPartitionsAnswers(t *T) {
	a, b, missing := t.name("a"), t.name("b"), t.name("missing")
	t.create(a, 2)
	t.create(b, 3)
	topic := func(name string, first, behind int32) kmsg.DescribeTopicPartitionsResponseTopic {
		return filled(func(rt *kmsg.DescribeTopicPartitionsResponseTopic) {
			rt.Topic, rt.TopicID, rt.AuthorizedOperations = &name, t.topicID(name), topicOperations
			for p := first; p < behind; p++ {
				rt.Partitions = append(rt.Partitions, filled(func(rp *kmsg.DescribeTopicPartitionsResponseTopicPartition) {
					rp.Partition, rp.LeaderID, rp.LeaderEpoch = p, t.Node(), 0
					rp.Replicas, rp.ISR = []int32{t.Node()}, []int32{t.Node()}
					rp.EligibleLeaderReplicas, rp.LastKnownELR = []int32{}, []int32{}
				}))
			}
		})
	}
	unknown := func(name string, e *kerr.Error) kmsg.DescribeTopicPartitionsResponseTopic {
		return filled(func(rt *kmsg.DescribeTopicPartitionsResponseTopic) {
			rt.Topic, rt.ErrorCode, rt.AuthorizedOperations = &name, e.Code, topicOperations
		})
	}
	cursor := func(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
		return filledPtr(func(c *kmsg.DescribeTopicPartitionsResponseNextCursor) { c.Topic, c.Partition = topic, partition })
	}
	answer := func(next *kmsg.DescribeTopicPartitionsResponseNextCursor, topics ...kmsg.DescribeTopicPartitionsResponseTopic) *kmsg.DescribeTopicPartitionsResponse {
		return filledPtr(func(r *kmsg.DescribeTopicPartitionsResponse) { r.NextCursor, r.Topics = next, topics })
	}
	bad := unknown("a b", kerr.InvalidTopicException)
	whole(t, "all", t.topicPartitions(100, nil, b, missing, a, "a b"),
		answer(nil, bad, topic(a, 0, 2), topic(b, 0, 3), unknown(missing, kerr.UnknownTopicOrPartition)))
	whole(t, "as many as there are", t.topicPartitions(5, nil, b, a), answer(nil, topic(a, 0, 2), topic(b, 0, 3)))
	whole(t, "one fewer", t.topicPartitions(4, nil, b, a), answer(cursor(b, 2), topic(a, 0, 2), topic(b, 0, 2)))
	whole(t, "all of the first", t.topicPartitions(2, nil, b, a), answer(cursor(b, 0), topic(a, 0, 2)))
	from := func(topic string, partition int32) *kmsg.DescribeTopicPartitionsRequestCursor {
		return filledPtr(func(c *kmsg.DescribeTopicPartitionsRequestCursor) { c.Topic, c.Partition = topic, partition })
	}
	whole(t, "from a partition on", t.topicPartitions(5, from(b, 1), b, a), answer(nil, topic(b, 1, 3)))
	whole(t, "the last", t.topicPartitions(5, from(b, 2), b, a), answer(nil, topic(b, 2, 3)))
	whole(t, "from behind the last", t.topicPartitions(5, from(a, 2), b, a), answer(nil, topic(a, 2, 2), topic(b, 0, 3)))
	refused := unknown(a, kerr.InvalidRequest)
	refused.AuthorizedOperations = notAsked
	whole(t, "from a negative partition", t.topicPartitions(5, from(a, -1), a), answer(nil, refused))
}

func logDirAnswers(t *T) {
	topic := t.Topic(3)
	size := int64(len(big(1000).bytes()))
	t.append(topic, big(1000))
	t.each(kmsg.DescribeLogDirs, 0, 4, func(v int16) {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: topic, Partitions: []int32{0, 1, 3, -1}}}
		got := ask[*kmsg.DescribeLogDirsResponse](t, v, req)
		d := one(t, "directories", got.Dirs)
		for _, rt := range d.Topics {
			slices.SortFunc(rt.Partitions, func(a, b kmsg.DescribeLogDirsResponseDirTopicPartition) int { return int(a.Partition - b.Partition) })
		}
		if d.Dir == "" || v >= 4 && (d.UsableBytes <= 0 || d.TotalBytes < d.UsableBytes) {
			t.Fatalf("directory %q, %d of %d bytes", d.Dir, d.UsableBytes, d.TotalBytes)
		}
		whole(t, "DescribeLogDirs", got, filledPtr(func(r *kmsg.DescribeLogDirsResponse) {
			r.Dirs = []kmsg.DescribeLogDirsResponseDir{filled(func(rd *kmsg.DescribeLogDirsResponseDir) {
				rd.Dir, rd.TotalBytes, rd.UsableBytes = d.Dir, d.TotalBytes, d.UsableBytes
				rd.Topics = []kmsg.DescribeLogDirsResponseDirTopic{filled(func(rt *kmsg.DescribeLogDirsResponseDirTopic) {
					rt.Topic = topic
					for n, size := range []int64{size, 0} {
						rt.Partitions = append(rt.Partitions, kmsg.DescribeLogDirsResponseDirTopicPartition{Partition: int32(n), Size: size})
					}
				})}
			})}
		}))
	})
}

func describeACLAnswers(t *T) {
	t.each(kmsg.DescribeACLs, 0, 3, func(v int16) {
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
		req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		whole(t, "DescribeACLs", ask[*kmsg.DescribeACLsResponse](t, v, req), filledPtr(func(r *kmsg.DescribeACLsResponse) {
			r.ErrorCode, r.ErrorMessage = kerr.SecurityDisabled.Code, new("No Authorizer is configured on the broker")
		}))
	})
}

func apiVersionsRefused(t *T) {
	t.each(kmsg.ApiVersions, 3, 4, func(v int16) {
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = "-", "1"
		whole(t, "ApiVersions", askOn[*kmsg.ApiVersionsResponse](t, t.Dial(), v, req), filledPtr(func(r *kmsg.ApiVersionsResponse) {
			r.ErrorCode = kerr.InvalidRequest.Code
		}))
	})
}
