package api

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/coordinator/group"
	"github.com/moldau-broker/moldau/coordinator/txn"
	"github.com/moldau-broker/moldau/protocol/config"
)

// rightsNode is node 1 of two with topics t and u, each of one record, and r, of which
// broker 2 has a copy. Its coordinators and its controller do whatever they are asked.
func rightsNode(t *testing.T) *Env {
	n := newNode(t, 2)
	n.topic("t", 1, 1)
	n.topic("u", 2, 1)
	n.topic("r", 3, 1, 1, 2)
	n.topic(consumerOffsets, 4, 1)
	n.fill("t", 0, "x")
	n.fill("u", 0, "y")
	n.Groups, n.Transactions, n.Control = obligingGroups{}, obligingTxns{}, obligingControl
	n.ProducerID = func(context.Context) (int64, error) { return 1000, nil }
	n.Quorum = func() Quorum { return Quorum{LeaderID: 1, Epoch: 3, HighWatermark: 9} }
	n.Layers = func(*controller.Image) config.Layers { return config.Layers{} }
	n.Features = func() Features { return Features{Finalized: map[string]int16{groupFeature: 1}} }
	n.AutoCreate = func(_ context.Context, topic string) error {
		n.topic(topic, 9, 1)
		return nil
	}
	return n.Env
}

// deny refuses everything about one kind of resource.
func deny(kind kmsg.ACLResourceType) func(*Conn, kmsg.ACLOperation, kmsg.ACLResourceType, string) bool {
	return func(_ *Conn, _ kmsg.ACLOperation, k kmsg.ACLResourceType, _ string) bool { return k != kind }
}

// obligingGroups is a coordinator of groups g and h.
type obligingGroups struct{}

func (obligingGroups) AskAll(context.Context, func() any) ([]any, error) {
	return []any{&kmsg.ListGroupsResponse{Groups: []kmsg.ListGroupsResponseGroup{{Group: "h"}, {Group: "g"}}}}, nil
}

func (obligingGroups) OffsetsPartition(string) int32 { return 0 }

func (obligingGroups) Mark(context.Context, int32, coordinator.Marker) error { return nil }

func (obligingGroups) Coordinator(context.Context, string) (int32, error) { return 1, nil }

func (obligingGroups) Ask(_ context.Context, name string, in any) (any, error) {
	rq := in.(group.Request)
	switch resp := rq.Body.ResponseKind().(type) {
	case *kmsg.JoinGroupResponse:
		resp.Generation, resp.MemberID, resp.Protocol = 1, "m", kmsg.StringPtr("range")
		return resp, nil
	case *kmsg.SyncGroupResponse:
		resp.MemberAssignment = []byte{1}
		return resp, nil
	case *kmsg.HeartbeatResponse:
		return resp, nil
	case *kmsg.LeaveGroupResponse:
		return resp, nil
	case *kmsg.DescribeGroupsResponse:
		resp.Groups = []kmsg.DescribeGroupsResponseGroup{{Group: name, State: "Stable"}}
		return resp, nil
	case *kmsg.DeleteGroupsResponse:
		resp.Groups = []kmsg.DeleteGroupsResponseGroup{{Group: name}}
		return resp, nil
	case *kmsg.ConsumerGroupHeartbeatResponse:
		seen := ""
		for _, topic := range []string{"t", "u"} {
			if rq.Visible == nil || rq.Visible(topic) {
				seen += topic
			}
		}
		resp.MemberID = kmsg.StringPtr("sees " + seen)
		return resp, nil
	case *kmsg.ConsumerGroupDescribeResponse:
		m := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		m.SubscribedTopics = []string{"w"}
		m.Assignment.TopicPartitions = []kmsg.AssignmentTopicPartition{{Topic: "t"}}
		m.TargetAssignment.TopicPartitions = []kmsg.AssignmentTopicPartition{{Topic: "u"}}
		g := kmsg.NewConsumerGroupDescribeResponseGroup()
		g.Group, g.State, g.Members = name, "Stable", []kmsg.ConsumerGroupDescribeResponseGroupMember{m}
		resp.Groups = append(resp.Groups, g)
		return resp, nil
	}
	return offsetsOf(rq.Body), nil
}

// offsetsOf answers requests about offsets, each of which is 5.
func offsetsOf(body kmsg.Request) kmsg.Response {
	switch req := body.(type) {
	case *kmsg.OffsetCommitRequest:
		resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, refusedCommit(t, 0))
		}
		return resp
	case *kmsg.TxnOffsetCommitRequest:
		resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, refusedTxnCommit(t, 0))
		}
		return resp
	case *kmsg.OffsetDeleteRequest:
		resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
		for _, t := range req.Topics {
			rt := kmsg.OffsetDeleteResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: p.Partition})
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	case *kmsg.OffsetFetchRequest:
		g := req.Groups[0]
		if g.Topics == nil {
			g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", Partitions: []int32{0}}, {Topic: "u", Partitions: []int32{0}}}
		}
		out := kmsg.NewOffsetFetchResponseGroup()
		for _, t := range g.Topics {
			rt := kmsg.NewOffsetFetchResponseGroupTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, n := range t.Partitions {
				rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
				rp.Partition, rp.Offset = n, 5
				rt.Partitions = append(rt.Partitions, rp)
			}
			out.Topics = append(out.Topics, rt)
		}
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		resp.Groups = append(resp.Groups, out)
		return resp
	}
	panic(fmt.Sprintf("no answer to %T", body))
}

// obligingTxns is a coordinator of transactional ids a and b.
type obligingTxns struct{}

func (obligingTxns) Coordinator(context.Context, string) (int32, error) { return 1, nil }

func (obligingTxns) AskAll(context.Context, func() any) ([]any, error) {
	return []any{[]kmsg.ListTransactionsResponseTransactionState{{TransactionalID: "b"}, {TransactionalID: "a"}}}, nil
}

func (obligingTxns) Ask(_ context.Context, id string, in any) (any, error) {
	if add, ok := in.(txn.Add); ok {
		return addResults(add.AddPartitionsToTxnRequestTransaction, func(string, int32) int16 { return 0 }), nil
	}
	switch resp := in.(txn.Request).Body.ResponseKind().(type) {
	case *kmsg.InitProducerIDResponse:
		resp.ProducerID, resp.ProducerEpoch = 7, 1
		return resp, nil
	case *kmsg.EndTxnResponse:
		resp.ProducerID, resp.ProducerEpoch = 7, 2
		return resp, nil
	case *kmsg.DescribeTransactionsResponse:
		resp.TransactionStates = []kmsg.DescribeTransactionsResponseTransactionState{{
			TransactionalID: id, State: "Ongoing",
			Topics: []kmsg.DescribeTransactionsResponseTransactionStateTopic{{Topic: "t", Partitions: []int32{0}}, {Topic: "u", Partitions: []int32{0}}},
		}}
		return resp, nil
	}
	panic(fmt.Sprintf("no answer to %T", in))
}

// obligingControl is a controller.
func obligingControl(_ context.Context, rq controller.Request) (kmsg.Response, error) {
	switch req := rq.Body.(type) {
	case *kmsg.CreateTopicsRequest:
		resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
		for _, t := range req.Topics {
			rt := kmsg.NewCreateTopicsResponseTopic()
			rt.Topic, rt.NumPartitions = t.Topic, 1
			if !rq.Describable(t.Topic) {
				rt.ConfigErrorCode = 29
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil
	case *kmsg.DeleteTopicsRequest:
		resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
		for _, name := range req.TopicNames {
			resp.Topics = append(resp.Topics, refusedDelete(&name, [16]byte{}, 0))
		}
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, refusedDelete(t.Topic, t.TopicID, 0))
		}
		return resp, nil
	case *kmsg.CreatePartitionsRequest:
		resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, kmsg.CreatePartitionsResponseTopic{Topic: t.Topic})
		}
		return resp, nil
	case *kmsg.AlterConfigsRequest:
		resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
		for _, r := range req.Resources {
			resp.Resources = append(resp.Resources, kmsg.AlterConfigsResponseResource{ResourceType: r.ResourceType, ResourceName: r.ResourceName})
		}
		return resp, nil
	case *kmsg.IncrementalAlterConfigsRequest:
		resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
		for _, r := range req.Resources {
			resp.Resources = append(resp.Resources, kmsg.IncrementalAlterConfigsResponseResource{ResourceType: r.ResourceType, ResourceName: r.ResourceName})
		}
		return resp, nil
	}
	return rq.Body.ResponseKind(), nil
}
