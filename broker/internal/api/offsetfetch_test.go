package api

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// failingGroups is a group coordinator that no shard answers for.
type failingGroups struct {
	groupsOf
	err error
}

func (g failingGroups) Ask(context.Context, string, any) (any, error) { return nil, g.err }

// TestOffsetFetchOfNoCoordinator is case G19: a group's error is where clients of
// each version look for it, which below 2 is every partition.
func TestOffsetFetchOfNoCoordinator(t *testing.T) {
	n := newNode(t, 1)
	id := n.topic("t", 1, 2)
	for err, want := range map[error]*kerr.Error{
		coordinator.ErrLoading:        kerr.CoordinatorLoadInProgress,
		coordinator.ErrNotCoordinator: kerr.NotCoordinator,
		coordinator.ErrUnavailable:    kerr.CoordinatorNotAvailable,
	} {
		n.Groups = failingGroups{err: err}
		for version := range int16(11) {
			req := kmsg.NewPtrOffsetFetchRequest()
			req.Version, req.Group = version, "g"
			req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0, 1}}, {Topic: "u", Partitions: []int32{7}}}
			req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g", MemberEpoch: -1, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", TopicID: id, Partitions: []int32{0, 1}}}}}
			resp := ask(t, n.Env, req).(*kmsg.OffsetFetchResponse)
			var got []string
			for _, rt := range resp.Topics {
				for _, p := range rt.Partitions {
					got = append(got, fmt.Sprintf("%s/%d at %d %q: %d", rt.Topic, p.Partition, p.Offset, *p.Metadata, p.ErrorCode))
				}
			}
			for _, g := range resp.Groups {
				got = append(got, fmt.Sprintf("group %s with %d topics: %d", g.Group, len(g.Topics), g.ErrorCode))
			}
			if version >= 2 && version < 8 {
				got = append(got, fmt.Sprintf("all: %d", resp.ErrorCode))
			}
			wanted := []string{fmt.Sprintf("all: %d", want.Code)}
			switch {
			case version < 2:
				wanted = []string{
					fmt.Sprintf(`t/0 at -1 "": %d`, want.Code), fmt.Sprintf(`t/1 at -1 "": %d`, want.Code), fmt.Sprintf(`u/7 at -1 "": %d`, want.Code),
				}
			case version >= 8:
				wanted = []string{fmt.Sprintf("group g with 0 topics: %d", want.Code)}
			}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("version %d when %v: %s", version, err, diff)
			}
		}
	}
}
