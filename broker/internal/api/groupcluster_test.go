package api

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	record "github.com/moldau-broker/moldau/protocol/metadata"
)

// TestGroupCluster: what the group coordinator sees of the cluster.
func TestGroupCluster(t *testing.T) {
	n := newNode(t, 1)
	n.commit(&record.RegisterBroker{BrokerID: 2, BrokerEpoch: 22, LogDirs: [][16]byte{{2}}, Rack: kmsg.StringPtr("east")})
	id := n.topic("t", 1, 2, 1, 2)
	n.topic("u", 2, 1)
	n.commit(&record.Config{ResourceType: 32, ResourceName: "g", Name: "consumer.session.timeout.ms", Value: kmsg.StringPtr("9")})
	call := callOf(kmsg.NewPtrHeartbeatRequest())
	rq := n.groupRequest(call, kmsg.NewPtrHeartbeatRequest())
	if rq.ClientID != "test-client" || rq.ClientHost != "/" || rq.Visible != nil {
		t.Errorf("%+v", rq)
	}
	c := rq.Cluster
	if c.Version() != n.image().Offset {
		t.Errorf("version %d of %d", c.Version(), n.image().Offset)
	}
	byName, ok := c.Topic("t")
	byID, ok2 := c.TopicByID(id)
	if !ok || !ok2 || byName.Name != "t" || byID.Name != "t" || byName.ID != id || byName.Partitions != 2 || byID.Partitions != 2 {
		t.Errorf("%+v, %+v", byName, byID)
	}
	if got := byName.Racks(1); !slices.Equal(got, []string{"east"}) {
		t.Errorf("racks %q: broker 1 has none", got)
	}
	if got := byName.Racks(2); got != nil {
		t.Errorf("racks of no partition: %q", got)
	}
	if _, ok := c.Topic("none"); ok {
		t.Error("there is no such topic")
	}
	if _, ok := c.TopicByID([16]byte{9}); ok {
		t.Error("there is no such id")
	}
	if got := slices.Collect(c.TopicNames()); !slices.Equal(got, []string{"t", "u"}) {
		t.Errorf("topics %q", got)
	}
	for name := range c.TopicNames() {
		if name != "t" {
			t.Errorf("%q after the end", name)
		}
		break
	}
	if got := c.GroupConfig("g"); len(got) != 1 || got["consumer.session.timeout.ms"] != "9" {
		t.Errorf("settings of g: %v", got)
	}
	if got := c.GroupConfig("h"); len(got) != 0 {
		t.Errorf("settings of h: %v", got)
	}
	if got := new(Env).groupRequest(call, kmsg.NewPtrHeartbeatRequest()); got.Cluster != nil {
		t.Errorf("a cluster of nothing: %v", got.Cluster)
	}
}
