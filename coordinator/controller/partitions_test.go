package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (c *cluster) grow(topic string, count int32, assignment ...[]int32) refusal {
	c.t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version = 3
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, count
	for _, replicas := range assignment {
		a := kmsg.NewCreatePartitionsRequestTopicAssignment()
		a.Replicas = replicas
		rt.Assignment = append(rt.Assignment, a)
	}
	req.Topics = append(req.Topics, rt)
	r := ask[*kmsg.CreatePartitionsResponse](c, req).Topics[0]
	return refusal{r.ErrorCode, text(r.ErrorMessage)}
}

// TestCreatePartitionsErrors holds codes and messages to those of Apache Kafka
// 4.2.2: a topic of 5 partitions on broker 1.
func TestCreatePartitionsErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		count      int32
		assignment [][]int32
		want       refusal
	}{
		"as many (A01)":           {5, nil, refusal{37, "Topic already has 5 partition(s)."}},
		"fewer (A01)":             {4, nil, refusal{37, "The topic t currently has 5 partition(s); 4 would not be an increase."}},
		"below zero":              {-1, nil, refusal{37, "The topic t currently has 5 partition(s); -1 would not be an increase."}},
		"one assignment too many": {6, [][]int32{{1}, {1}}, refusal{39, "Attempted to add 1 additional partition(s), but only 2 assignment(s) were specified."}},
		"broker twice":            {6, [][]int32{{1, 1}}, refusal{39, "The manual partition assignment includes the broker 1 more than once."}},
		"unknown broker":          {6, [][]int32{{9}}, refusal{39, "The manual partition assignment includes broker 9, but no such broker is registered."}},
		"no broker":               {6, [][]int32{{}}, refusal{39, "The manual partition assignment includes an empty replica list."}},
		"20,000 (A19)":            {20_000, nil, refusal{-1, "<null>"}},
		"2,000,000,000 (A19)":     {2_000_000_000, nil, refusal{-1, "<null>"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			c.create(newTopic("t", 5, 1))
			end := c.Log.End()
			if got := c.grow("t", tc.count, tc.assignment...); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if c.Log.End() != end {
				t.Error("a refused change left records")
			}
		})
	}
}

// TestCreatePartitions: the count is how many there shall be (A01), and their ids go
// on where they ended (A03).
func TestCreatePartitions(t *testing.T) {
	c := newCluster(t, 2)
	c.create(newTopic("t", 2, 2))
	if got := c.grow("nosuch", 3); got != (refusal{3, "<null>"}) {
		t.Errorf("unknown topic: %v", got)
	}
	if got := c.grow("t", 5); got.Code != 0 {
		t.Fatal(got)
	}
	if got := c.grow("t", 6, []int32{2, 1}); got.Code != 0 {
		t.Fatal(got)
	}
	topic, _ := c.image().Topic("t")
	var ids []int32
	for _, p := range topic.Partitions {
		ids = append(ids, p.ID)
		if len(p.Replicas) != 2 {
			t.Errorf("partition %d has the replicas %v", p.ID, p.Replicas)
		}
	}
	if diff := cmp.Diff([]int32{0, 1, 2, 3, 4, 5}, ids); diff != "" {
		t.Errorf("ids (-want +got)\n%s", diff)
	}
	if got := topic.Partitions[5].Leader; got != 2 {
		t.Errorf("partition 5 is led by %d, want 2, which was named first", got)
	}
}

func TestCreatePartitionsDuplicates(t *testing.T) {
	c := newCluster(t, 1)
	c.create(newTopic("t", 1, 1))
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version = 3
	for _, n := range []int32{6, 7} {
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = "t", n
		req.Topics = append(req.Topics, rt)
	}
	resp := ask[*kmsg.CreatePartitionsResponse](c, req)
	if len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 42 || text(resp.Topics[0].ErrorMessage) != "Duplicate topic name." {
		t.Errorf("%+v", resp.Topics)
	}
}
