package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// propose sends an AlterPartition of partition 0 of topic t from a broker.
func (c *cluster) propose(broker int32, isr []int32, adjust ...func(*kmsg.AlterPartitionRequestTopicPartition)) kmsg.AlterPartitionResponseTopicPartition {
	c.t.Helper()
	topic, _ := c.image().Topic("t")
	p := topic.Partitions[0]
	rp := kmsg.NewAlterPartitionRequestTopicPartition()
	rp.LeaderEpoch, rp.PartitionEpoch = p.LeaderEpoch, p.PartitionEpoch
	for _, id := range isr {
		rp.NewEpochISR = append(rp.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: id, BrokerEpoch: c.epochs[id]})
	}
	for _, f := range adjust {
		f(&rp)
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = 3, broker, c.epochs[broker]
	rt := kmsg.NewAlterPartitionRequestTopic()
	rt.TopicID = topic.ID
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return ask[*kmsg.AlterPartitionResponse](c, req).Topics[0].Partitions[0]
}

// TestAlterPartitionChecks goes through the checks in their order: each case fails
// all later ones too, where that is possible.
func TestAlterPartitionChecks(t *testing.T) {
	type part = kmsg.AlterPartitionRequestTopicPartition
	for name, tc := range map[string]struct {
		broker int32
		isr    []int32
		adjust func(*part)
		want   int16
	}{
		"unknown partition":             {2, nil, func(p *part) { p.Partition = 9 }, 3},
		"leader epoch of the future":    {2, nil, func(p *part) { p.LeaderEpoch++ }, 41},
		"partition epoch of the future": {2, nil, func(p *part) { p.PartitionEpoch++ }, 41},
		"old leader epoch":              {2, nil, func(p *part) { p.LeaderEpoch--; p.PartitionEpoch-- }, 74},
		"not the leader":                {2, nil, func(p *part) { p.PartitionEpoch-- }, 42},
		"old partition epoch":           {1, nil, func(p *part) { p.PartitionEpoch-- }, 95},
		"no ISR":                        {1, nil, nil, 42},
		"broker twice":                  {1, []int32{1, 1}, nil, 42},
		"not a replica":                 {1, []int32{1, 4}, nil, 42},
		"without the leader":            {1, []int32{2}, nil, 42},
		"recovering with two":           {1, []int32{1, 2}, func(p *part) { p.LeaderRecoveryState = 1 }, 42},
		"recovering again":              {1, []int32{1}, func(p *part) { p.LeaderRecoveryState = 1 }, 42},
		"member of another epoch":       {1, []int32{1, 2}, func(p *part) { p.NewEpochISR[1].BrokerEpoch++ }, 107},
		"member fenced":                 {1, []int32{1, 3}, nil, 107},
		"epoch not known":               {1, []int32{1, 2}, func(p *part) { p.NewEpochISR[1].BrokerEpoch = -1 }, 0},
		"smaller":                       {1, []int32{1}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 4)
			c.create(assigned("t", map[int32][]int32{0: {1, 2, 3}}, 0))
			c.beat(3, func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true })
			c.edit(KindTopic, "t", edit{"retention.ms", 0, "5"})
			before := c.partition("t", 0)
			if tc.adjust == nil {
				tc.adjust = func(*part) {}
			}
			got := c.propose(tc.broker, tc.isr, tc.adjust)
			if got.ErrorCode != tc.want {
				t.Fatalf("error %d, want %d", got.ErrorCode, tc.want)
			}
			after := c.partition("t", 0)
			if tc.want != 0 && after != before {
				t.Errorf("a refused proposal made %+v of %+v", after, before)
			}
			if tc.want == 0 && (!cmp.Equal(after.ISR, tc.isr) || got.PartitionEpoch != after.PartitionEpoch || !cmp.Equal(got.ISR, after.ISR)) {
				t.Errorf("answered %+v, partition %+v", got, after)
			}
		})
	}
}

func TestAlterPartitionOfUnknownTopic(t *testing.T) {
	c := newCluster(t, 1)
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = 3, 1, c.epochs[1]
	req.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: [16]byte{1}, Partitions: make([]kmsg.AlterPartitionRequestTopicPartition, 1)}}
	if got := ask[*kmsg.AlterPartitionResponse](c, req).Topics[0].Partitions[0].ErrorCode; got != 100 {
		t.Errorf("error %d, want 100", got)
	}
	req.BrokerEpoch++
	if got := ask[*kmsg.AlterPartitionResponse](c, req); got.ErrorCode != 77 {
		t.Errorf("stale broker: error %d, want 77", got.ErrorCode)
	}
}

// TestELRKeepsCleanLeaders: who left the ISR while it was below its bound has all
// that was acknowledged, and may lead again without loss.
func TestELRKeepsCleanLeaders(t *testing.T) {
	c := newCluster(t, 3)
	c.create(assigned("t", map[int32][]int32{0: {1, 2, 3}}, 0))
	c.edit(KindTopic, "t", edit{"min.insync.replicas", 0, "2"})
	fence := func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true }
	check := func(when string, leader int32, isr, elr, last []int32) {
		t.Helper()
		p := c.partition("t", 0)
		if p.Leader != leader || !cmp.Equal(dense(p.ISR), dense(isr)) || !cmp.Equal(dense(p.ELR), dense(elr)) || !cmp.Equal(dense(p.LastKnownELR), dense(last)) || p.Recovering {
			t.Fatalf("%s: %+v", when, p)
		}
	}
	c.beat(3, fence)
	check("3 left, the bound is kept", 1, []int32{1, 2}, nil, nil)
	c.beat(2, fence)
	check("2 left", 1, []int32{1}, []int32{2}, nil)
	c.beat(1, fence)
	check("1 left", -1, nil, []int32{1, 2}, []int32{1})
	c.beat(3)
	check("3 is back, and may not lead", -1, nil, []int32{1, 2}, []int32{1})
	c.beat(2)
	check("2 is back, and leads", 2, []int32{2}, []int32{1}, nil)
	c.propose(2, []int32{2, 3})
	check("3 has caught up", 2, []int32{2, 3}, nil, nil)
}

// TestUncleanElection: where a topic allows it, a replica that lags leads rather
// than none, on its own and marked as recovering.
func TestUncleanElection(t *testing.T) {
	c := newCluster(t, 2)
	c.create(assigned("t", map[int32][]int32{0: {1, 2}}, 0))
	c.propose(1, []int32{1})
	c.beat(1, func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true })
	if p := c.partition("t", 0); p.Leader != -1 {
		t.Fatalf("%+v", p)
	}
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Version, elect.ElectionType = 2, 0
	if got := ask[*kmsg.ElectLeadersResponse](c, elect).Topics[0].Partitions[0].ErrorCode; got != 80 {
		t.Errorf("preferred election: error %d, want 80", got)
	}
	c.edit(KindTopic, "t", edit{"unclean.leader.election.enable", 0, "true"})
	for range 200 { // The timer's turn comes within 5 minutes.
		c.Tick(2 * time.Second)
		c.beat(2)
	}
	p := c.partition("t", 0)
	if p.Leader != 2 || !cmp.Equal(p.ISR, []int32{2}) || len(p.ELR) != 0 || !p.Recovering {
		t.Fatalf("%+v", p)
	}
	if got := c.propose(2, []int32{2}); got.ErrorCode != 0 || got.LeaderRecoveryState != 0 || c.partition("t", 0).Recovering {
		t.Errorf("it has recovered: %+v", got)
	}
}

func TestElectLeaders(t *testing.T) {
	c := newCluster(t, 2)
	c.create(assigned("t", map[int32][]int32{0: {1, 2}, 1: {2, 1}}, 0, 1))
	c.beat(1, func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true })
	c.beat(1)
	if got := c.propose(2, []int32{2, 1}); got.ErrorCode != 0 {
		t.Fatalf("%+v", got)
	}
	elect := func(kind int8, topics ...kmsg.ElectLeadersRequestTopic) *kmsg.ElectLeadersResponse {
		req := kmsg.NewPtrElectLeadersRequest()
		req.Version, req.ElectionType, req.Topics = 2, kind, topics
		return ask[*kmsg.ElectLeadersResponse](c, req)
	}
	of := func(topic string, ids ...int32) kmsg.ElectLeadersRequestTopic {
		return kmsg.ElectLeadersRequestTopic{Topic: topic, Partitions: ids}
	}
	for _, tc := range []struct {
		kind  int8
		topic kmsg.ElectLeadersRequestTopic
		want  refusal
	}{
		{0, of("t", 1), refusal{84, "Leader election not needed for topic partition."}},
		{1, of("t", 0), refusal{84, "Leader election not needed for topic partition."}},
		{0, of("t", 99), refusal{3, "No such partition as t-99"}},
		{0, of("nosuch", 0), refusal{3, "No such topic as nosuch"}},
		{5, of("t", 0), refusal{42, "Unknown election type 5"}},
		{0, of("t", 0), refusal{0, "<null>"}},
	} {
		got := elect(tc.kind, tc.topic).Topics[0].Partitions[0]
		if got := (refusal{got.ErrorCode, text(got.ErrorMessage)}); got != tc.want {
			t.Errorf("type %d, %s %v: %v, want %v", tc.kind, tc.topic.Topic, tc.topic.Partitions, got, tc.want)
		}
	}
	if got := c.partition("t", 0).Leader; got != 1 {
		t.Errorf("leader %d, want the preferred one, 1", got)
	}
	if resp := elect(0); len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 0 {
		t.Errorf("all partitions: %+v", resp.Topics)
	}
	if resp := elect(5); resp.ErrorCode != 42 || len(resp.Topics) != 0 {
		t.Errorf("all partitions, by no known type: %+v", resp)
	}
}

// TestBalance: leadership goes back to the preferred replica by itself.
func TestBalance(t *testing.T) {
	c := newCluster(t, 2)
	c.create(assigned("t", map[int32][]int32{0: {1, 2}}, 0))
	c.beat(1, func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true })
	c.beat(1)
	c.propose(2, []int32{2, 1})
	if got := c.partition("t", 0).Leader; got != 2 {
		t.Fatalf("leader %d", got)
	}
	for range 160 {
		c.Tick(2 * time.Second)
		c.beat(1)
		c.beat(2)
	}
	if got := c.partition("t", 0).Leader; got != 1 {
		t.Errorf("leader %d after 5 minutes, want 1", got)
	}
}
