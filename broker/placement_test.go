package broker

import (
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestPlacementOnOneNode asks one node for elections and reassignments, which
// cannot change anything, and expects what Kafka answers there.
func TestPlacementOnOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, vfs.NewMem(), nil)
		cl := w.client()
		defer cl.Close()
		adm := kadm.NewClient(cl)
		if _, err := adm.CreateTopic(t.Context(), 2, 1, nil, "t"); err != nil {
			t.Fatal(err)
		}
		elect := kmsg.NewPtrElectLeadersRequest()
		elect.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0, 1, 2}}}
		elected, err := elect.RequestWith(t.Context(), cl)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int16{kerr.ElectionNotNeeded.Code, kerr.ElectionNotNeeded.Code, kerr.UnknownTopicOrPartition.Code} {
			if got := elected.Topics[0].Partitions[i].ErrorCode; got != want {
				t.Errorf("election in t-%d: error %d, want %d", i, got, want)
			}
		}
		move := func(replicas ...int32) int16 {
			req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
			p.Replicas = replicas
			req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "t", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{p}}}
			resp, err := req.RequestWith(t.Context(), cl)
			if err != nil {
				t.Fatal(err)
			}
			return resp.Topics[0].Partitions[0].ErrorCode
		}
		if got := move(1); got != 0 {
			t.Errorf("to where it is: error %d", got)
		}
		if got := move(7); got != kerr.InvalidReplicaAssignment.Code {
			t.Errorf("to an unknown broker: error %d", got)
		}
		if got := move(); got != kerr.NoReassignmentInProgress.Code {
			t.Errorf("cancelled: error %d", got)
		}
		listed, err := kmsg.NewPtrListPartitionReassignmentsRequest().RequestWith(t.Context(), cl)
		if err != nil || listed.ErrorCode != 0 || len(listed.Topics) != 0 {
			t.Errorf("listed %+v, %v", listed, err)
		}
	})
}
