package api

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/group"
)

// deletingGroups deletes whatever offset it is asked to, of groups but "none".
type deletingGroups struct{ groupsOf }

func (deletingGroups) Ask(_ context.Context, name string, in any) (any, error) {
	req := in.(group.Request).Body.(*kmsg.OffsetDeleteRequest)
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	if name == "none" {
		resp.ErrorCode = kerr.GroupIDNotFound.Code
		return resp, nil
	}
	for _, t := range req.Topics {
		rt := kmsg.OffsetDeleteResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: p.Partition})
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

// TestOffsetDelete: each topic has one entry in the answer, whoever answered for its
// partitions, and a group that is not there is told alone.
func TestOffsetDelete(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 2)
	n.Groups = deletingGroups{}
	type topic = kmsg.OffsetDeleteRequestTopic
	of := func(name string, partitions ...int32) topic {
		rt := topic{Topic: name}
		for _, p := range partitions {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
		}
		return rt
	}
	for name, tc := range map[string]struct {
		group string
		ask   []topic
		want  []string
	}{
		"there and not there":           {"g", []topic{of("t", 0, 9, 1)}, []string{"t: 9=3 0=0 1=0"}},
		"a topic that is not":           {"g", []topic{of("u", 0), of("t", 1)}, []string{"u: 0=3", "t: 1=0"}},
		"a topic twice":                 {"g", []topic{of("t", 0), of("t", 1, 7)}, []string{"t: 7=3 0=0 1=0"}},
		"nothing there":                 {"g", []topic{of("u", 0)}, []string{"u: 0=3"}},
		"no group, and nothing there":   {"none", []topic{of("u", 0)}, []string{"error 69"}},
		"no group, and something there": {"none", []topic{of("t", 0, 9)}, []string{"error 69"}},
	} {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group, req.Topics = tc.group, tc.ask
		resp := ask(t, n.Env, req).(*kmsg.OffsetDeleteResponse)
		var got []string
		if resp.ErrorCode != 0 {
			got = append(got, fmt.Sprint("error ", resp.ErrorCode))
		}
		for _, rt := range resp.Topics {
			line := rt.Topic + ":"
			for _, p := range rt.Partitions {
				line += fmt.Sprintf(" %d=%d", p.Partition, p.ErrorCode)
			}
			got = append(got, line)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
