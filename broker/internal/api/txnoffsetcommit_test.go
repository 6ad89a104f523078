package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// TestTxnOffsetCommitOfNoCoordinator is case T21: producers of versions 0 and 1 take
// COORDINATOR_LOAD_IN_PROGRESS for the end, and are told another code.
func TestTxnOffsetCommitOfNoCoordinator(t *testing.T) {
	for err, wants := range map[error]struct{ old, since2 *kerr.Error }{
		coordinator.ErrLoading:        {kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress},
		coordinator.ErrNotCoordinator: {kerr.NotCoordinator, kerr.NotCoordinator},
		coordinator.ErrUnavailable:    {kerr.CoordinatorNotAvailable, kerr.CoordinatorNotAvailable},
	} {
		n := newNode(t, 1)
		n.topic("t", 1, 1)
		n.topic(consumerOffsets, 2, 1)
		n.Groups = failingGroups{err: err}
		init := kmsg.NewPtrInitProducerIDRequest()
		init.TransactionalID, init.TransactionTimeoutMillis, init.ProducerID, init.ProducerEpoch = kmsg.StringPtr("id"), 1000, -1, -1
		who := ask(t, n.Env, init).(*kmsg.InitProducerIDResponse)
		add := kmsg.NewPtrAddOffsetsToTxnRequest()
		add.TransactionalID, add.Group, add.ProducerID, add.ProducerEpoch = "id", "g", who.ProducerID, who.ProducerEpoch
		if got := ask(t, n.Env, add).(*kmsg.AddOffsetsToTxnResponse).ErrorCode; got != 0 {
			t.Fatalf("AddOffsetsToTxn: %d", got)
		}
		for version := range int16(6) {
			req := kmsg.NewPtrTxnOffsetCommitRequest()
			req.Version, req.TransactionalID, req.Group, req.Generation = version, "id", "g", -1
			req.ProducerID, req.ProducerEpoch = who.ProducerID, who.ProducerEpoch
			req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: make([]kmsg.TxnOffsetCommitRequestTopicPartition, 1)}}
			want := wants.since2
			if version < 2 {
				want = wants.old
			}
			got := ask(t, n.Env, req).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
			if got != want.Code {
				t.Errorf("version %d when %v: %d, want %v", version, err, got, want)
			}
		}
	}
}
