package api

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/controller"
)

// placementRequests ask for changes of where t-0 and t-1 are and who leads them. The
// codes of an answer are that of the whole, and those of the partitions.
func placementRequests() map[string]struct {
	req   kmsg.Request
	codes func(kmsg.Response) []int16
} {
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Version, elect.Topics = 2, []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0, 1}}}
	alter := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	alter.Version = 1
	alter.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "t", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: 0}, {Partition: 1}}}}
	list := kmsg.NewPtrListPartitionReassignmentsRequest()
	type request = struct {
		req   kmsg.Request
		codes func(kmsg.Response) []int16
	}
	return map[string]request{
		"ElectLeaders": {elect, func(r kmsg.Response) []int16 {
			resp := r.(*kmsg.ElectLeadersResponse)
			codes := []int16{resp.ErrorCode}
			for _, p := range resp.Topics[0].Partitions {
				codes = append(codes, p.ErrorCode)
			}
			return codes
		}},
		"AlterPartitionReassignments": {alter, func(r kmsg.Response) []int16 {
			resp := r.(*kmsg.AlterPartitionAssignmentsResponse)
			codes := []int16{resp.ErrorCode}
			for _, p := range resp.Topics[0].Partitions {
				codes = append(codes, p.ErrorCode)
			}
			return codes
		}},
		"ListPartitionReassignments": {list, func(r kmsg.Response) []int16 {
			return []int16{r.(*kmsg.ListPartitionReassignmentsResponse).ErrorCode}
		}},
	}
}

// TestPlacementRefused: who may not, and who asks while there is no controller, is
// told so for the whole and for each partition.
func TestPlacementRefused(t *testing.T) {
	for name, r := range placementRequests() {
		for _, tc := range []struct {
			what    string
			denied  kmsg.ACLResourceType
			control error
			want    int16
		}{
			{"not allowed", kmsg.ACLResourceTypeCluster, nil, kerr.ClusterAuthorizationFailed.Code},
			{"no controller", kmsg.ACLResourceTypeUnknown, coordinator.ErrNotCoordinator, kerr.NotController.Code},
			{"too slow", kmsg.ACLResourceTypeUnknown, context.DeadlineExceeded, kerr.RequestTimedOut.Code},
		} {
			t.Run(name+"/"+tc.what, func(t *testing.T) {
				n := newNode(t, 1)
				n.Authorize = deny(tc.denied)
				n.Control = func(context.Context, controller.Request) (kmsg.Response, error) {
					if tc.control == nil {
						t.Error("the controller was asked")
					}
					return nil, tc.control
				}
				for i, got := range r.codes(ask(t, n.Env, r.req)) {
					if got != tc.want {
						t.Errorf("code %d is %d, want %d", i, got, tc.want)
					}
				}
			})
		}
	}
}
