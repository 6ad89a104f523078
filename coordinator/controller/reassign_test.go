package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (c *cluster) reassign(topic string, partition int32, replicas []int32, adjust ...func(*kmsg.AlterPartitionAssignmentsRequest)) refusal {
	c.t.Helper()
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Version = 1
	rt := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	rt.Topic = topic
	rt.Partitions = []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: partition, Replicas: replicas}}
	req.Topics = append(req.Topics, rt)
	for _, f := range adjust {
		f(req)
	}
	r := ask[*kmsg.AlterPartitionAssignmentsResponse](c, req).Topics[0].Partitions[0]
	return refusal{r.ErrorCode, text(r.ErrorMessage)}
}

// TestReassignErrors holds codes and messages to those of Apache Kafka 4.2.2.
func TestReassignErrors(t *testing.T) {
	c := newCluster(t, 1)
	c.create(newTopic("t", 1, 1))
	fixed := func(r *kmsg.AlterPartitionAssignmentsRequest) { r.AllowReplicationFactorChange = false }
	for _, tc := range []struct {
		topic     string
		partition int32
		replicas  []int32
		want      refusal
	}{
		{"t", 0, nil, refusal{85, "<null>"}},
		{"t", 0, []int32{}, refusal{39, "The manual partition assignment includes an empty replica list."}},
		{"t", 0, []int32{1, 2}, refusal{39, "The manual partition assignment includes broker 2, but no such broker is registered."}},
		{"t", 0, []int32{1, 1}, refusal{39, "The manual partition assignment includes the broker 1 more than once."}},
		{"t", 99, []int32{1}, refusal{3, "Unable to find partition t:99."}},
		{"nosuch", 0, []int32{1}, refusal{3, "Unable to find a topic named nosuch."}},
		{"t", 0, []int32{1}, refusal{0, "<null>"}},
	} {
		if got := c.reassign(tc.topic, tc.partition, tc.replicas); got != tc.want {
			t.Errorf("%s-%d to %v: %v, want %v", tc.topic, tc.partition, tc.replicas, got, tc.want)
		}
	}
	c.start(2)
	if got := c.reassign("t", 0, []int32{1, 2}, fixed); got != (refusal{38, "The replication factor is changed from 1 to 2"}) {
		t.Error(got)
	}
}

// TestReassign moves a partition from 1,2 to 3,2: it is done when 3 has caught up,
// and the leader that goes is told that it no longer leads.
func TestReassign(t *testing.T) {
	c := newCluster(t, 3)
	c.create(assigned("t", map[int32][]int32{0: {1, 2}}, 0))
	if got := c.reassign("t", 0, []int32{3, 2}); got.Code != 0 {
		t.Fatal(got)
	}
	p := c.partition("t", 0)
	if !cmp.Equal(p.Replicas, []int32{3, 2, 1}) || !cmp.Equal(p.Adding, []int32{3}) || !cmp.Equal(p.Removing, []int32{1}) || p.Leader != 1 || p.LeaderEpoch != 0 {
		t.Fatalf("begun: %+v", p)
	}
	list := kmsg.NewPtrListPartitionReassignmentsRequest()
	got := ask[*kmsg.ListPartitionReassignmentsResponse](c, list).Topics
	if len(got) != 1 || got[0].Topic != "t" || !cmp.Equal(got[0].Partitions[0].AddingReplicas, []int32{3}) || !cmp.Equal(got[0].Partitions[0].RemovingReplicas, []int32{1}) {
		t.Errorf("listed: %+v", got)
	}
	if got := c.propose(1, []int32{1, 2, 3}); got.ErrorCode != 108 {
		t.Errorf("the leader that goes: error %d, want 108", got.ErrorCode)
	}
	p = c.partition("t", 0)
	if !cmp.Equal(p.Replicas, []int32{3, 2}) || !cmp.Equal(p.ISR, []int32{2, 3}) || p.reassigning() || p.Leader != 3 || p.LeaderEpoch != 1 || len(p.Directories) != 2 {
		t.Errorf("done: %+v", p)
	}
	if got := ask[*kmsg.ListPartitionReassignmentsResponse](c, list).Topics; len(got) != 0 {
		t.Errorf("listed: %+v", got)
	}
}

// TestReassignCanceled: who was being added goes; the leader epoch rises, which
// keeps it from fetching.
func TestReassignCanceled(t *testing.T) {
	c := newCluster(t, 3)
	c.create(assigned("t", map[int32][]int32{0: {1, 2}}, 0))
	c.reassign("t", 0, []int32{3, 2})
	if got := c.reassign("t", 0, nil); got.Code != 0 {
		t.Fatal(got)
	}
	p := c.partition("t", 0)
	if !cmp.Equal(p.Replicas, []int32{2, 1}) || !cmp.Equal(p.ISR, []int32{1, 2}) || p.reassigning() || p.Leader != 1 || p.LeaderEpoch != 1 {
		t.Errorf("%+v", p)
	}
}

// TestReassignBack: a new target that is the old one ends the move.
func TestReassignBack(t *testing.T) {
	c := newCluster(t, 3)
	c.create(assigned("t", map[int32][]int32{0: {1, 2}}, 0))
	c.reassign("t", 0, []int32{1, 2, 3})
	if p := c.partition("t", 0); !cmp.Equal(p.Adding, []int32{3}) {
		t.Fatalf("%+v", p)
	}
	c.reassign("t", 0, []int32{1, 2})
	if p := c.partition("t", 0); !cmp.Equal(p.Replicas, []int32{1, 2}) || p.reassigning() {
		t.Errorf("%+v", p)
	}
}

// TestReassignCanceledLate: who was added has caught up, and goes all the same.
func TestReassignCanceledLate(t *testing.T) {
	c := newCluster(t, 4)
	c.create(assigned("t", map[int32][]int32{0: {1, 2}}, 0))
	c.reassign("t", 0, []int32{3, 4})
	c.propose(1, []int32{1, 2, 3}) // 4 has not caught up: the move is not done.
	c.reassign("t", 0, nil)
	if p := c.partition("t", 0); !cmp.Equal(p.ISR, []int32{1, 2}) || !cmp.Equal(p.Replicas, []int32{1, 2}) || p.Leader != 1 || p.reassigning() {
		t.Errorf("%+v", p)
	}
}

// TestReassignShrinks: with fewer replicas the move waits until all that stay are in
// sync: ending it earlier would leave an ISR smaller than it was.
func TestReassignShrinks(t *testing.T) {
	c := newCluster(t, 4)
	c.create(assigned("t", map[int32][]int32{0: {1, 2, 3}}, 0))
	c.propose(1, []int32{1, 2})
	c.reassign("t", 0, []int32{2, 3})
	if p := c.partition("t", 0); !p.reassigning() || len(p.Replicas) != 3 {
		t.Fatalf("3 is not in sync, and it is done: %+v", p)
	}
	if got := c.propose(1, []int32{1, 2, 3}); got.ErrorCode != 108 {
		t.Errorf("error %d, want 108", got.ErrorCode)
	}
	if p := c.partition("t", 0); !cmp.Equal(p.Replicas, []int32{2, 3}) || !cmp.Equal(p.ISR, []int32{2, 3}) || p.reassigning() {
		t.Errorf("%+v", p)
	}
}
