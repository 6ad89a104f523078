package scenario

import (
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// MetadataOf asks for one topic by name without making it, where that can be said.
func (t *T) MetadataOf(version int16, name string) kmsg.MetadataResponseTopic {
	return One(t, "topics", Ask[*kmsg.MetadataResponse](t, version, MetadataRequest(name)).Topics)
}

// MetadataRequest is a Metadata request of these topics, of none if none is named.
func MetadataRequest(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &name
		req.Topics = append(req.Topics, rt)
	}
	return req
}

// CheckBrokers fails unless Metadata tells this broker, a controller and the cluster id.
func (t *T) CheckBrokers(v int16, resp *kmsg.MetadataResponse) {
	if len(resp.Brokers) == 0 {
		t.Fatalf("no broker is told")
	}
	ids := map[int32]bool{}
	for _, b := range resp.Brokers {
		ids[b.NodeID] = true
		if b.Host == "" || b.Port <= 0 {
			t.Fatalf("broker %d at host %q port %d", b.NodeID, b.Host, b.Port)
		}
	}
	if v >= 1 && !ids[resp.ControllerID] {
		t.Fatalf("controller %d is none of the brokers", resp.ControllerID)
	}
	if v >= 2 && (resp.ClusterID == nil || *resp.ClusterID == "") {
		t.Fatalf("there is no cluster id")
	}
}

// Operations on topics as bits: read, write, create, delete, alter, describe,
// describe configs and alter configs; and on clusters: create, alter, describe,
// cluster action, describe configs, alter configs and idempotent write.
const (
	TopicOperations   = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	ClusterOperations = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
)

// Broker is where Metadata says that this broker is reached.
func (t *T) Broker() kmsg.MetadataResponseBroker {
	resp := Ask[*kmsg.MetadataResponse](t, t.Newest(kmsg.Metadata, 9), MetadataRequest())
	i := slices.IndexFunc(resp.Brokers, func(b kmsg.MetadataResponseBroker) bool { return b.NodeID == t.Node() })
	if i < 0 {
		t.Fatalf("Metadata does not tell broker %d", t.Node())
	}
	return resp.Brokers[i]
}

// NotAsked is what is told of authorized operations that were not asked for.
const NotAsked = math.MinInt32
