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
