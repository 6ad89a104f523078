package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// groupsOf is a group coordinator that is asked for nothing but partitions.
type groupsOf struct{ Groups }

func (groupsOf) OffsetsPartition(string) int32 { return 0 }

// txnRequests are requests about transactional id "id", topic "t" and group "g",
// and where their codes are.
func txnRequests() map[string]struct {
	req  kmsg.Request
	code func(kmsg.Response) int16
} {
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID, init.TransactionTimeoutMillis = kmsg.StringPtr("id"), 1000
	init.ProducerID, init.ProducerEpoch = -1, -1
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.TransactionalID, add.Topics = "id", []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	brokers := kmsg.NewPtrAddPartitionsToTxnRequest()
	brokers.Version = 4
	offsets := kmsg.NewPtrAddOffsetsToTxnRequest()
	offsets.TransactionalID, offsets.Group = "id", "g"
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID = "id"
	markers := kmsg.NewPtrWriteTxnMarkersRequest()
	markers.Version = 1
	markers.Markers = []kmsg.WriteTxnMarkersRequestMarker{{Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "t", Partitions: []int32{0}}}}}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.Group, commit.Generation = "id", "g", -1
	commit.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: make([]kmsg.TxnOffsetCommitRequestTopicPartition, 1)}}
	describe := kmsg.NewPtrDescribeTransactionsRequest()
	describe.TransactionalIDs = []string{"id"}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorType, find.CoordinatorKey = 1, 1, "id"
	type request = struct {
		req  kmsg.Request
		code func(kmsg.Response) int16
	}
	return map[string]request{
		"InitProducerId": {init, func(r kmsg.Response) int16 { return r.(*kmsg.InitProducerIDResponse).ErrorCode }},
		"AddPartitionsToTxn": {add, func(r kmsg.Response) int16 {
			return r.(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode
		}},
		"AddPartitionsToTxn of brokers": {brokers, func(r kmsg.Response) int16 { return r.(*kmsg.AddPartitionsToTxnResponse).ErrorCode }},
		"AddOffsetsToTxn":               {offsets, func(r kmsg.Response) int16 { return r.(*kmsg.AddOffsetsToTxnResponse).ErrorCode }},
		"EndTxn":                        {end, func(r kmsg.Response) int16 { return r.(*kmsg.EndTxnResponse).ErrorCode }},
		"WriteTxnMarkers": {markers, func(r kmsg.Response) int16 {
			return r.(*kmsg.WriteTxnMarkersResponse).Markers[0].Topics[0].Partitions[0].ErrorCode
		}},
		"TxnOffsetCommit": {commit, func(r kmsg.Response) int16 {
			return r.(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
		}},
		"DescribeTransactions": {describe, func(r kmsg.Response) int16 {
			return r.(*kmsg.DescribeTransactionsResponse).TransactionStates[0].ErrorCode
		}},
		"FindCoordinator": {find, func(r kmsg.Response) int16 { return r.(*kmsg.FindCoordinatorResponse).ErrorCode }},
	}
}

// TestNoTransactionCoordinator: what is answered when no shard answers.
func TestNoTransactionCoordinator(t *testing.T) {
	for err, want := range map[error]*kerr.Error{
		coordinator.ErrLoading:        kerr.CoordinatorLoadInProgress,
		coordinator.ErrNotCoordinator: kerr.NotCoordinator,
		coordinator.ErrUnavailable:    kerr.CoordinatorNotAvailable,
	} {
		n := newNode(t, 1)
		n.topic("t", 1, 1)
		n.Groups = groupsOf{}
		n.Transactions = &txns{err: err}
		requests := txnRequests()
		for _, name := range []string{"InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "DescribeTransactions"} {
			if got := requests[name].code(ask(t, n.Env, requests[name].req)); got != want.Code {
				t.Errorf("%s when %v: %d, want %v", name, err, got, want)
			}
		}
		list := ask(t, n.Env, kmsg.NewPtrListTransactionsRequest()).(*kmsg.ListTransactionsResponse)
		if list.ErrorCode != want.Code {
			t.Errorf("ListTransactions when %v: %d, want %v", err, list.ErrorCode, want)
		}
	}
}

// TestProduceWithoutCoordinator: a partition that cannot be verified is told so in a
// way that makes clients repeat the request at once.
func TestProduceWithoutCoordinator(t *testing.T) {
	for err, want := range map[error]*kerr.Error{
		coordinator.ErrLoading:        kerr.NotEnoughReplicas,
		coordinator.ErrNotCoordinator: kerr.NotEnoughReplicas,
		coordinator.ErrUnavailable:    kerr.NotEnoughReplicas,
	} {
		n := newNode(t, 1)
		n.topic("t", 1, 1)
		n.Transactions = &txns{err: err}
		m := batch.Plain(0, -1)
		m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = 7, 0, 0, true
		req := produceOf(9, -1, "t", [16]byte{}, recordsOf(m, "x"))
		req.TransactionID = kmsg.StringPtr("id")
		if got := askProduce(t, n, req); got[0].Code != want.Code {
			t.Errorf("when %v: %+v, want %v", err, got[0], want)
		}
	}
}
