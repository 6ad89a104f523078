package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestRegistrationErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		adjust func(*kmsg.BrokerRegistrationRequest)
		want   int16
	}{
		"another cluster":            {func(r *kmsg.BrokerRegistrationRequest) { r.ClusterID = "other" }, 104},
		"id in use":                  {func(r *kmsg.BrokerRegistrationRequest) { r.BrokerID = 1 }, 101},
		"ZooKeeper broker":           {func(r *kmsg.BrokerRegistrationRequest) { r.IsMigratingZkBroker = true }, 102},
		"no directory":               {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = nil }, 119},
		"reserved directory":         {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = [][16]byte{{15: 99}} }, 119},
		"first free directory id":    {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = [][16]byte{{15: 100}} }, 0},
		"directory twice":            {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = append(r.LogDirs, r.LogDirs[0]) }, 119},
		"another broker's directory": {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = [][16]byte{{0xd1, 1}} }, 119},
		"level too old": {func(r *kmsg.BrokerRegistrationRequest) {
			for i := range r.Features {
				r.Features[i].MaxSupportedVersion = min(r.Features[i].MaxSupportedVersion, 28)
			}
		}, 35},
		"feature not offered": {func(r *kmsg.BrokerRegistrationRequest) {
			r.Features = slices.DeleteFunc(r.Features, func(f kmsg.BrokerRegistrationRequestFeature) bool { return f.Name == "group.version" })
		}, 35},
		"no metadata.version": {func(r *kmsg.BrokerRegistrationRequest) {
			r.Features = slices.DeleteFunc(r.Features, func(f kmsg.BrokerRegistrationRequestFeature) bool { return f.Name == "metadata.version" })
		}, 119},
		"nothing wrong": {func(*kmsg.BrokerRegistrationRequest) {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			req := registration(2, 9)
			tc.adjust(req)
			resp := ask[*kmsg.BrokerRegistrationResponse](c, req)
			if resp.ErrorCode != tc.want {
				t.Errorf("error %d, want %d", resp.ErrorCode, tc.want)
			}
			if _, ok := c.image().Broker(2); ok != (tc.want == 0) {
				t.Errorf("registered: %v", ok)
			}
		})
	}
}

// TestRegistrationTwice: the same incarnation keeps its epoch, and is not fenced.
func TestRegistrationTwice(t *testing.T) {
	c := newCluster(t, 1)
	resp := ask[*kmsg.BrokerRegistrationResponse](c, registration(1, 1))
	if resp.ErrorCode != 0 || resp.BrokerEpoch != c.epochs[1] {
		t.Errorf("%+v, the epoch was %d", resp, c.epochs[1])
	}
	if b, _ := c.image().Broker(1); b.Fenced {
		t.Error("the broker is fenced")
	}
}

// TestBrokerEpochIsOffset: an epoch is the offset at which it was decided.
func TestBrokerEpochIsOffset(t *testing.T) {
	c := newCluster(t, 0)
	end := c.Log.End()
	if resp := ask[*kmsg.BrokerRegistrationResponse](c, registration(1, 1)); resp.BrokerEpoch != end {
		t.Errorf("epoch %d, the record is at %d", resp.BrokerEpoch, end)
	}
	if b, _ := c.image().Broker(1); !b.Fenced {
		t.Error("a new broker is not fenced")
	}
}

// TestLocalBrokerRegistersAtOnce: after kill -9 of a node that is broker and
// controller, the session of its own last incarnation still runs.
func TestLocalBrokerRegistersAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		id    int32
		local bool
		want  int16
	}{
		"own":                    {1, true, 0},
		"own id, by the network": {1, false, 101},
		"another's id":           {2, true, 101},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2)
			c.Failover()
			resp := askAs[*kmsg.BrokerRegistrationResponse](c, Request{Body: registration(tc.id, 2), Local: tc.local})
			if resp.ErrorCode != tc.want {
				t.Errorf("error %d, want %d", resp.ErrorCode, tc.want)
			}
		})
	}
}

// TestUnfencing: a broker serves once it has seen its own registration.
func TestUnfencing(t *testing.T) {
	c := newCluster(t, 0)
	c.epochs[1] = ask[*kmsg.BrokerRegistrationResponse](c, registration(1, 1)).BrokerEpoch
	behind := c.beat(1, func(r *kmsg.BrokerHeartbeatRequest) { r.CurrentMetadataOffset = c.epochs[1] - 1 })
	if behind.IsCaughtUp || !behind.IsFenced {
		t.Errorf("one record behind: %+v", behind)
	}
	wants := c.beat(1, func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true })
	if !wants.IsCaughtUp || !wants.IsFenced {
		t.Errorf("it wants to stay fenced: %+v", wants)
	}
	if there := c.beat(1); !there.IsCaughtUp || there.IsFenced || there.ShouldShutdown {
		t.Errorf("caught up: %+v", there)
	}
	if b, _ := c.image().Broker(1); b.Fenced {
		t.Error("the image shows it fenced")
	}
	stale := c.beat(1, func(r *kmsg.BrokerHeartbeatRequest) { r.BrokerEpoch-- })
	unknown := c.beat(7)
	if stale.ErrorCode != 77 || unknown.ErrorCode != 77 {
		t.Errorf("stale epoch: %d, unknown broker: %d, want 77", stale.ErrorCode, unknown.ErrorCode)
	}
}

// TestSessionExpires: without heartbeats a broker is fenced after its session, to
// the moment, and its leaderships move.
func TestSessionExpires(t *testing.T) {
	c := newCluster(t, 2)
	c.create(newTopic("t", 4, 2))
	for range 3 {
		c.Tick(3 * time.Second)
		c.beat(1)
	}
	if b, _ := c.image().Broker(2); !b.Fenced {
		t.Fatal("broker 2 is not fenced after 9 seconds")
	}
	if b, _ := c.image().Broker(1); b.Fenced {
		t.Error("broker 1 is fenced")
	}
	topic, _ := c.image().Topic("t")
	for _, p := range topic.Partitions {
		if p.Leader != 1 || !cmp.Equal(p.ISR, []int32{1}) {
			t.Errorf("partition %+v", p)
		}
	}
	c.beat(2) // It is back: unfenced, but not in the ISR before it has caught up.
	if p := c.partition("t", 0); p.Leader != 1 || len(p.ISR) != 1 {
		t.Errorf("partition %+v", p)
	}
}

func TestSessionHoldsOutItsTime(t *testing.T) {
	c := newCluster(t, 1)
	c.Tick(9*time.Second - time.Millisecond)
	if b, _ := c.image().Broker(1); b.Fenced {
		t.Error("fenced before the session ended")
	}
	c.Tick(time.Millisecond)
	if b, _ := c.image().Broker(1); !b.Fenced {
		t.Error("not fenced when the session ended")
	}
}

// TestFailoverGivesFullSessions: the time without a controller is no broker's fault.
func TestFailoverGivesFullSessions(t *testing.T) {
	c := newCluster(t, 1)
	c.Tick(8 * time.Second)
	c.Failover()
	c.Tick(8 * time.Second)
	if b, _ := c.image().Broker(1); b.Fenced {
		t.Error("fenced 8 seconds after failover")
	}
	c.Tick(time.Second)
	if b, _ := c.image().Broker(1); !b.Fenced {
		t.Error("not fenced 9 seconds after failover")
	}
}

// TestControlledShutdown: leaderships move, then the broker may stop once the others
// have seen that.
func TestControlledShutdown(t *testing.T) {
	c := newCluster(t, 2)
	c.create(newTopic("t", 4, 2))
	stop := func(r *kmsg.BrokerHeartbeatRequest) { r.WantShutdown = true }
	if resp := c.beat(2, stop); resp.ShouldShutdown || resp.IsFenced {
		t.Errorf("leaderships were only just moved: %+v", resp)
	}
	if b, _ := c.image().Broker(2); !b.ShuttingDown {
		t.Error("broker 2 is not shutting down")
	}
	topic, _ := c.image().Topic("t")
	for _, p := range topic.Partitions {
		if p.Leader != 1 || slices.Contains(p.ISR, 2) {
			t.Errorf("partition %+v", p)
		}
	}
	if resp := c.beat(2, stop); resp.ShouldShutdown {
		t.Error("broker 1 has not seen it yet")
	}
	c.beat(1)
	if resp := c.beat(2, stop); !resp.ShouldShutdown || !resp.IsFenced {
		t.Errorf("broker 1 has seen it: %+v", resp)
	}
	if resp := c.beat(2, stop); !resp.ShouldShutdown {
		t.Error("asked again it is told something else")
	}
}

// TestLastBrokerStopsAndComesBack is one node's life: its partitions have no leader
// while it is away, and itself again when it is back. The records of the shutdown
// are those that Apache Kafka 4.2.2 wrote.
func TestLastBrokerStopsAndComesBack(t *testing.T) {
	for name, tc := range map[string]struct {
		clean      bool
		recovering bool
	}{
		"cleanly":   {true, false},
		"uncleanly": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			c.create(newTopic("t", 1, 1))
			stop := func(r *kmsg.BrokerHeartbeatRequest) { r.WantShutdown = true }
			c.beat(1, stop)
			p := c.partition("t", 0)
			if p.Leader != -1 || len(p.ISR) != 0 || !cmp.Equal(p.ELR, []int32{1}) || !cmp.Equal(p.LastKnownELR, []int32{1}) {
				t.Fatalf("while it stops: %+v", p)
			}
			if resp := c.beat(1, stop); !resp.ShouldShutdown {
				t.Fatalf("%+v", resp)
			}
			req := registration(1, 2)
			if tc.clean {
				req.PreviousBrokerEpoch = c.epochs[1]
			}
			c.epochs[1] = ask[*kmsg.BrokerRegistrationResponse](c, req).BrokerEpoch
			c.beat(1)
			p = c.partition("t", 0)
			if p.Leader != 1 || !cmp.Equal(p.ISR, []int32{1}) || len(p.ELR) != 0 || p.LeaderEpoch != 2 || p.Recovering != tc.recovering {
				t.Errorf("back: %+v", p)
			}
		})
	}
}

func TestUnregister(t *testing.T) {
	c := newCluster(t, 2)
	c.create(newTopic("t", 2, 2))
	unregister := func(id int32) refusal {
		req := kmsg.NewPtrUnregisterBrokerRequest()
		req.BrokerID = id
		resp := ask[*kmsg.UnregisterBrokerResponse](c, req)
		return refusal{resp.ErrorCode, text(resp.ErrorMessage)}
	}
	if got := unregister(88); got != (refusal{102, "Broker ID 88 is not currently registered"}) {
		t.Error(got)
	}
	if got := unregister(2); got.Code != 0 {
		t.Fatal(got)
	}
	if _, ok := c.image().Broker(2); ok {
		t.Error("it is still there")
	}
	if p := c.partition("t", 0); p.Leader != 1 || slices.Contains(p.ISR, 2) {
		t.Errorf("%+v", p)
	}
}

// TestDirectoryFails: replicas in a failed directory leave their ISRs.
func TestDirectoryFails(t *testing.T) {
	c := newCluster(t, 1)
	req := registration(2, 1)
	req.LogDirs = [][16]byte{{0xd1, 2}, {0xd2, 2}}
	c.epochs[2] = ask[*kmsg.BrokerRegistrationResponse](c, req).BrokerEpoch
	c.beat(2)
	c.create(assigned("t", map[int32][]int32{0: {2, 1}}, 0))
	if p := c.partition("t", 0); p.Directories[0] != dirUnassigned || p.Directories[1] != [16]byte{0xd1, 1} {
		t.Fatalf("directories %x", p.Directories)
	}
	assign := kmsg.NewPtrAssignReplicasToDirsRequest()
	assign.BrokerID, assign.BrokerEpoch = 2, c.epochs[2]
	d := kmsg.NewAssignReplicasToDirsRequestDirectory()
	d.ID = [16]byte{0xd2, 2}
	rt := kmsg.NewAssignReplicasToDirsRequestDirectoryTopic()
	topic, _ := c.image().Topic("t")
	rt.TopicID = topic.ID
	rt.Partitions = []kmsg.AssignReplicasToDirsRequestDirectoryTopicPartition{{Partition: 0}, {Partition: 9}}
	d.Topics = append(d.Topics, rt)
	assign.Directories = append(assign.Directories, d)
	out := ask[*kmsg.AssignReplicasToDirsResponse](c, assign).Directories[0].Topics[0].Partitions
	if out[0].ErrorCode != 0 || out[1].ErrorCode != 3 {
		t.Errorf("%+v", out)
	}
	if p := c.partition("t", 0); p.Directories[0] != d.ID || p.Leader != 2 {
		t.Fatalf("%+v", p)
	}
	c.beat(2, func(r *kmsg.BrokerHeartbeatRequest) { r.OfflineLogDirs = [][16]byte{d.ID} })
	if p := c.partition("t", 0); p.Leader != 1 || slices.Contains(p.ISR, 2) {
		t.Errorf("%+v", p)
	}
	if b, _ := c.image().Broker(2); b.Fenced || len(b.Dirs) != 1 {
		t.Errorf("%+v", b)
	}
}

func TestProducerIDs(t *testing.T) {
	c := newCluster(t, 1)
	for want := int64(0); want < 3000; want += 1000 {
		req := kmsg.NewPtrAllocateProducerIDsRequest()
		req.BrokerID, req.BrokerEpoch = 1, c.epochs[1]
		resp := ask[*kmsg.AllocateProducerIDsResponse](c, req)
		if resp.ErrorCode != 0 || resp.ProducerIDStart != want || resp.ProducerIDLen != 1000 {
			t.Errorf("%+v, want from %d", resp, want)
		}
		if want == 1000 {
			c.Failover()
		}
	}
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = 1, c.epochs[1]+1
	if resp := ask[*kmsg.AllocateProducerIDsResponse](c, req); resp.ErrorCode != 77 {
		t.Errorf("a stale epoch: %+v", resp)
	}
}
