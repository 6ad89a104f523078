package api

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/group"
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

// knowingGroups knows one member, "m", and has offset 5 of every partition.
type knowingGroups struct{ groupsOf }

func (knowingGroups) Ask(_ context.Context, _ string, in any) (any, error) {
	req := in.(group.Request).Body.(*kmsg.OffsetFetchRequest)
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	out := kmsg.NewOffsetFetchResponseGroup()
	if m := req.Groups[0].MemberID; m != nil && *m != "m" {
		out.ErrorCode = kerr.UnknownMemberID.Code
	} else {
		for _, t := range req.Groups[0].Topics {
			rt := kmsg.NewOffsetFetchResponseGroupTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, n := range t.Partitions {
				rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
				rp.Partition, rp.Offset = n, 5
				rt.Partitions = append(rt.Partitions, rp)
			}
			out.Topics = append(out.Topics, rt)
		}
	}
	resp.Groups = append(resp.Groups, out)
	return resp, nil
}

// TestOffsetFetchOfUnknownIDs: what the group says of the member stands alone, also
// where it has no topic left to answer for, and topics that are not there come last.
func TestOffsetFetchOfUnknownIDs(t *testing.T) {
	n := newNode(t, 1)
	id := n.topic("t", 1, 1)
	n.Groups = knowingGroups{}
	missing := [16]byte{9}
	for name, tc := range map[string]struct {
		member string
		topics [][16]byte
		want   []string
	}{
		"nothing left, no such member": {"other", [][16]byte{missing}, []string{"group: 25"}},
		"one left, no such member":     {"other", [][16]byte{missing, id}, []string{"group: 25"}},
		"nothing left":                 {"m", [][16]byte{missing}, []string{"group: 0", "9 at -1: 100"}},
		"one left":                     {"m", [][16]byte{missing, id}, []string{"group: 0", "1 at 5: 0", "9 at -1: 100"}},
	} {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version = 10
		rg := kmsg.NewOffsetFetchRequestGroup()
		rg.Group, rg.MemberID = "g", &tc.member
		for _, id := range tc.topics {
			rg.Topics = append(rg.Topics, kmsg.OffsetFetchRequestGroupTopic{TopicID: id, Partitions: []int32{0}})
		}
		req.Groups = append(req.Groups, rg)
		g := ask(t, n.Env, req).(*kmsg.OffsetFetchResponse).Groups[0]
		got := []string{fmt.Sprint("group: ", g.ErrorCode)}
		for _, rt := range g.Topics {
			got = append(got, fmt.Sprintf("%d at %d: %d", rt.TopicID[0], rt.Partitions[0].Offset, rt.Partitions[0].ErrorCode))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
