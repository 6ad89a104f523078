package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestRefusedAmongServed: where in an answer those are that a client may not see or
// change, that there are not, and that are not well-formed, among those that are served;
// as Apache Kafka 4.2 orders them, which within each of these keeps no order.
func TestRefusedAmongServed(t *testing.T) {
	for name, tc := range map[string]struct {
		req     kmsg.Request
		refused []string // Rights.
		want    string
	}{
		"Metadata": {
			creating("deny", "none", "no name/", "t", "deny2", "nocreate", "u", "new"),
			[]string{"DESCRIBE TOPIC deny", "DESCRIBE TOPIC deny2", "CREATE TOPIC nocreate", "CREATE CLUSTER kafka-cluster"},
			`t, u, none UNKNOWN_TOPIC_OR_PARTITION, no name/ INVALID_TOPIC_EXCEPTION, new, nocreate TOPIC_AUTHORIZATION_FAILED, deny TOPIC_AUTHORIZATION_FAILED, deny2 TOPIC_AUTHORIZATION_FAILED`,
		},
		"Metadata that makes nothing": {
			metadataOf(12, "deny", "none", "t", "deny2", "u", "no name/"),
			[]string{"DESCRIBE TOPIC deny", "DESCRIBE TOPIC deny2"},
			`t, u, none UNKNOWN_TOPIC_OR_PARTITION, no name/ INVALID_TOPIC_EXCEPTION, deny TOPIC_AUTHORIZATION_FAILED, deny2 TOPIC_AUTHORIZATION_FAILED`,
		},
		"Metadata by id": {
			metadataByID(1, 77, 2, 78, 3),
			[]string{"DESCRIBE TOPIC t"},
			`id77 UNKNOWN_TOPIC_ID, id78 UNKNOWN_TOPIC_ID, u, r, id1 TOPIC_AUTHORIZATION_FAILED`,
		},
		"ListOffsets": {
			// What is refused is not looked at: it is answered as often as it is named.
			listing("deny 0 0", "t 1 0", "none 0", "deny 1", "deny2", "t 1", "empty", "u 0"),
			[]string{"DESCRIBE TOPIC deny", "DESCRIBE TOPIC deny2"},
			`t 1 INVALID_REQUEST 0, none 0 UNKNOWN_TOPIC_OR_PARTITION, u 0, deny 0 TOPIC_AUTHORIZATION_FAILED 0 TOPIC_AUTHORIZATION_FAILED, deny 1 TOPIC_AUTHORIZATION_FAILED, deny2`,
		},
		"DescribeGroups": {
			&kmsg.DescribeGroupsRequest{Version: 5, Groups: []string{"g", "deny", "h", "", "deny2", "deny"}},
			[]string{"DESCRIBE GROUP deny", "DESCRIBE GROUP deny2"},
			`deny GROUP_AUTHORIZATION_FAILED, deny2 GROUP_AUTHORIZATION_FAILED, deny GROUP_AUTHORIZATION_FAILED, g, h, `,
		},
		"ConsumerGroupDescribe": {
			&kmsg.ConsumerGroupDescribeRequest{Version: 1, Groups: []string{"g", "deny", "h", "", "deny2", "deny", ""}},
			[]string{"DESCRIBE GROUP deny", "DESCRIBE GROUP deny2"},
			`deny GROUP_AUTHORIZATION_FAILED, deny2 GROUP_AUTHORIZATION_FAILED, deny GROUP_AUTHORIZATION_FAILED,  INVALID_GROUP_ID,  INVALID_GROUP_ID, g, h`,
		},
		"DeleteGroups": {
			&kmsg.DeleteGroupsRequest{Version: 2, Groups: []string{"deny", "g", "deny", "h", "deny2", "g"}},
			[]string{"DELETE GROUP deny", "DELETE GROUP deny2"},
			`g, h, deny GROUP_AUTHORIZATION_FAILED, deny2 GROUP_AUTHORIZATION_FAILED`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := rightsNode(t)
			create := env.AutoCreate
			env.AutoCreate = func(ctx context.Context, topic string) error {
				switch topic {
				case "new":
					return create(ctx, topic)
				case "no name/":
					return kerr.InvalidTopicException
				}
				return kerr.InvalidReplicationFactor
			}
			a := &authorizer{asked: map[string]bool{}, grants: func(right string) bool { return !slices.Contains(tc.refused, right) }}
			env.Authorize = a.authorize
			if diff := cmp.Diff(tc.want, inOrder(t, ask(t, env, tc.req))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// inOrder is what an answer is about, and with which code.
func inOrder(t *testing.T, resp kmsg.Response) string {
	var out []string
	add := func(name string, errorCode int16) { out = append(out, name+coded(errorCode)) }
	switch resp := resp.(type) {
	case *kmsg.MetadataResponse:
		for _, rt := range resp.Topics {
			if rt.Topic == nil {
				add(fmt.Sprintf("id%d", rt.TopicID[0]), rt.ErrorCode)
			} else {
				add(*rt.Topic, rt.ErrorCode)
			}
		}
	case *kmsg.ListOffsetsResponse:
		for _, rt := range resp.Topics {
			name := rt.Topic
			for _, p := range rt.Partitions {
				name += fmt.Sprintf(" %d", p.Partition) + coded(p.ErrorCode)
			}
			add(name, 0)
		}
	case *kmsg.DescribeGroupsResponse:
		for _, g := range resp.Groups {
			add(g.Group, g.ErrorCode)
		}
	case *kmsg.ConsumerGroupDescribeResponse:
		for _, g := range resp.Groups {
			add(g.Group, g.ErrorCode)
		}
	case *kmsg.DeleteGroupsResponse:
		for _, g := range resp.Groups {
			add(g.Group, g.ErrorCode)
		}
	default:
		t.Fatalf("%T", resp)
	}
	return strings.Join(out, ", ")
}

func coded(errorCode int16) string {
	if errorCode == 0 {
		return ""
	}
	return " " + kerr.TypedErrorForCode(errorCode).Message
}

func creating(topics ...string) *kmsg.MetadataRequest {
	req := metadataOf(12, topics...)
	req.AllowAutoTopicCreation = true
	return req
}

func metadataByID(ids ...byte) *kmsg.MetadataRequest {
	req := metadataOf(12)
	for _, id := range ids {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{TopicID: [16]byte{id, 0xee}})
	}
	return req
}

// listing asks for the ends of partitions: each topic is its name and their numbers.
func listing(topics ...string) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 7, -1
	for _, topic := range topics {
		words := strings.Fields(topic)
		rt := kmsg.ListOffsetsRequestTopic{Topic: words[0]}
		for _, n := range words[1:] {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp, p.CurrentLeaderEpoch = int32(n[0]-'0'), -1, -1
			rt.Partitions = append(rt.Partitions, p)
		}
		req.Topics = append(req.Topics, rt)
	}
	return req
}
