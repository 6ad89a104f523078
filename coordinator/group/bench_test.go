package group

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// BenchmarkHeartbeat is what a broker does most often for an idle consumer.
func BenchmarkHeartbeat(b *testing.B) {
	s, m := stableGroup(b, 100)
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 4, "g", s.groups["g"].members[50].id, 1
	b.ReportAllocs()
	for b.Loop() {
		s.Step(m, 1, Request{Body: req})
	}
}

// BenchmarkCommit is one commit of ten partitions, decided and replayed.
func BenchmarkCommit(b *testing.B) {
	s, m := stableGroup(b, 100)
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 9, "g", s.groups["g"].members[50].id, 1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = "some-topic"
	for p := range int32(10) {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition = p
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	b.ReportAllocs()
	for b.Loop() {
		replay(b, s, s.Step(m, 1, Request{Body: req}))
	}
}

// BenchmarkRebalance takes a group of 1000 members through one rebalance.
func BenchmarkRebalance(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		stableGroup(b, 1000)
	}
}

func replay(tb testing.TB, s *Shard, eff coordinator.Effects) {
	for n, r := range eff.Records {
		if err := s.Replay(coordinator.At{Offset: int64(n), ProducerID: -1}, r); err != nil {
			tb.Fatal(err)
		}
	}
}

// stableGroup is a shard with one stable group.
func stableGroup(tb testing.TB, size int) (*Shard, coordinator.Moment) {
	s := New(DefaultConfig())
	m := coordinator.Moment{Now: time.Unix(0, 0), Rand: rand.New(rand.NewPCG(1, 1))}
	s.Loaded(m)
	for n := range size {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 3, "g", 10000, 60000
		req.ProtocolType = "consumer"
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription("t")}}
		replay(tb, s, s.Step(m, coordinator.Ticket(n+1), Request{ClientID: fmt.Sprint("c", n), Body: req}))
	}
	for s.groups["g"].state == preparing {
		m.Now = m.Now.Add(3 * time.Second)
		s.Fired(m, timerKey{kind: joinTimer, group: "g"})
	}
	for _, mem := range s.groups["g"].members {
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.Generation, req.MemberID = 3, "g", 1, mem.id
		replay(tb, s, s.Step(m, 1, Request{Body: req}))
	}
	return s, m
}

// stableConsumers is a shard with a group of the consumer protocol of n members,
// who read a topic of n partitions.
func stableConsumers(tb testing.TB, n int) (*Shard, coordinator.Moment, image) {
	s := New(DefaultConfig())
	m := coordinator.Moment{Now: time.Unix(0, 0), Rand: rand.New(rand.NewPCG(1, 1))}
	im := image{version: 1, topics: map[string]Topic{"t": {ID: topicID("t"), Name: "t", Partitions: int32(n)}}}
	for i := range n {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Version, req.Group, req.MemberID = 1, "g", fmt.Sprintf("m%05d", i)
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.Topics = 60000, []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		replay(tb, s, s.Step(m, 1, Request{Cluster: im, Body: req}))
	}
	return s, m, im
}

// BenchmarkConsumerHeartbeat is a heartbeat of a member that has nothing to do.
func BenchmarkConsumerHeartbeat(b *testing.B) {
	s, m, im := stableConsumers(b, 1000)
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.RebalanceTimeoutMillis = 1, "g", "m00999", -1
	req.MemberEpoch = s.groups["g"].consumers.members[req.MemberID].epoch
	b.ReportAllocs()
	for b.Loop() {
		replay(b, s, s.Step(m, 1, Request{Cluster: im, Body: req}))
	}
}

// BenchmarkConsumerJoin is the join of one more member to a group of 1000.
func BenchmarkConsumerJoin(b *testing.B) {
	s, m, im := stableConsumers(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Version, req.Group, req.MemberID = 1, "g", "zz"
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.Topics = 60000, []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		s.Step(m, 1, Request{Cluster: im, Body: req})
	}
}
