package api

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// operationBits are the operations of each kind of resource, as AclEntry's
// supportedOperations has them, at the bits of AclOperation's codes.
var operationBits = map[string]map[string]int32{
	"TOPIC":   {"READ": 3, "WRITE": 4, "CREATE": 5, "DELETE": 6, "ALTER": 7, "DESCRIBE": 8, "DESCRIBE_CONFIGS": 10, "ALTER_CONFIGS": 11},
	"GROUP":   {"READ": 3, "DELETE": 6, "DESCRIBE": 8, "DESCRIBE_CONFIGS": 10, "ALTER_CONFIGS": 11},
	"CLUSTER": {"CREATE": 5, "ALTER": 7, "DESCRIBE": 8, "CLUSTER_ACTION": 9, "DESCRIBE_CONFIGS": 10, "ALTER_CONFIGS": 11, "IDEMPOTENT_WRITE": 12},
}

// TestAuthorizedOperations: the operations that a client may do are told by a bit each,
// to clients that ask for them, of what they may describe.
func TestAuthorizedOperations(t *testing.T) {
	metadata := func(version int16) *kmsg.MetadataRequest {
		req := metadataOf(version, "t")
		req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = version >= 8, version >= 8 && version <= 10
		return req
	}
	missing := func() *kmsg.MetadataRequest {
		req := metadataOf(12, "none")
		req.IncludeTopicAuthorizedOperations = true
		return req
	}
	topicOf := func(r kmsg.Response) int32 { return r.(*kmsg.MetadataResponse).Topics[0].AuthorizedOperations }
	describe := func(topic string) func() kmsg.Request {
		return func() kmsg.Request {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.Topics, req.ResponsePartitionLimit = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: topic}}, 9
			return req
		}
	}
	described := func(r kmsg.Response) int32 {
		return r.(*kmsg.DescribeTopicPartitionsResponse).Topics[0].AuthorizedOperations
	}
	for name, tc := range map[string]struct {
		req       func() kmsg.Request
		kind, of  string
		bits      func(kmsg.Response) int32
		undecided int32 // What is told to who may not describe it.
	}{
		"Metadata of a topic":       {func() kmsg.Request { return metadata(8) }, "TOPIC", "t", topicOf, unasked},
		"Metadata of a missing one": {func() kmsg.Request { return missing() }, "TOPIC", "none", topicOf, unasked},
		"Metadata of the cluster": {func() kmsg.Request { return metadata(10) }, "CLUSTER", ClusterName, func(r kmsg.Response) int32 {
			return r.(*kmsg.MetadataResponse).AuthorizedOperations
		}, 0},
		"DescribeCluster": {func() kmsg.Request {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.IncludeClusterAuthorizedOperations = true
			return req
		}, "CLUSTER", ClusterName, func(r kmsg.Response) int32 {
			return r.(*kmsg.DescribeClusterResponse).ClusterAuthorizedOperations
		}, 0},
		"DescribeTopicPartitions":                  {describe("t"), "TOPIC", "t", described, unasked},
		"DescribeTopicPartitions of a missing one": {describe("none"), "TOPIC", "none", described, unasked},
		"DescribeGroups": {func() kmsg.Request {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Version, req.Groups, req.IncludeAuthorizedOperations = 3, []string{"g"}, true
			return req
		}, "GROUP", "g", func(r kmsg.Response) int32 { return r.(*kmsg.DescribeGroupsResponse).Groups[0].AuthorizedOperations }, unasked},
		"ConsumerGroupDescribe": {func() kmsg.Request {
			req := kmsg.NewPtrConsumerGroupDescribeRequest()
			req.Groups, req.IncludeAuthorizedOperations = []string{"g"}, true
			return req
		}, "GROUP", "g", func(r kmsg.Response) int32 {
			return r.(*kmsg.ConsumerGroupDescribeResponse).Groups[0].AuthorizedOperations
		}, unasked},
	} {
		t.Run(name, func(t *testing.T) {
			env := rightsNode(t)
			env.AutoCreate = nil
			told := func(grants func(right string) bool) int32 {
				env.Authorize = (&authorizer{grants: grants, asked: map[string]bool{}}).authorize
				return tc.bits(ask(t, env, tc.req()))
			}
			all := int32(0)
			for _, bit := range operationBits[tc.kind] {
				all |= 1 << bit
			}
			if got := told(func(string) bool { return true }); got != all {
				t.Errorf("with all rights %b, want %b", got, all)
			}
			for op, bit := range operationBits[tc.kind] {
				want := all &^ (1 << bit)
				if op == "DESCRIBE" {
					want = tc.undecided
				}
				right := op + " " + tc.kind + " " + tc.of
				if got := told(func(r string) bool { return r != right }); got != want {
					t.Errorf("without %s: %b, want %b", right, got, want)
				}
			}
			other := func(r string) bool { return !strings.HasSuffix(r, " "+tc.of) }
			if got := told(other); got != tc.undecided {
				t.Errorf("with the rights to others only: %b", got)
			}
		})
	}
}

// TestAuthorizedOperationsAreNotToldUnasked: who does not ask, or asks in a version that
// no longer has them, gets none.
func TestAuthorizedOperationsAreNotToldUnasked(t *testing.T) {
	env := rightsNode(t)
	plain := ask(t, env, metadataOf(8, "t")).(*kmsg.MetadataResponse)
	if plain.AuthorizedOperations != unasked || plain.Topics[0].AuthorizedOperations != unasked {
		t.Errorf("Metadata: %d and %d", plain.AuthorizedOperations, plain.Topics[0].AuthorizedOperations)
	}
	groups := kmsg.NewPtrDescribeGroupsRequest()
	groups.Version, groups.Groups = 3, []string{"g"}
	if got := ask(t, env, groups).(*kmsg.DescribeGroupsResponse).Groups[0].AuthorizedOperations; got != unasked {
		t.Errorf("DescribeGroups: %d", got)
	}
	consumers := kmsg.NewPtrConsumerGroupDescribeRequest()
	consumers.Groups = []string{"g"}
	if got := ask(t, env, consumers).(*kmsg.ConsumerGroupDescribeResponse).Groups[0].AuthorizedOperations; got != unasked {
		t.Errorf("ConsumerGroupDescribe: %d", got)
	}
	cluster := ask(t, env, kmsg.NewPtrDescribeClusterRequest()).(*kmsg.DescribeClusterResponse)
	if cluster.ClusterAuthorizedOperations != unasked {
		t.Errorf("DescribeCluster: %d", cluster.ClusterAuthorizedOperations)
	}
}
