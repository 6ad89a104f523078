package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/coordinator/controller"
)

// errRecreated says that a topic was deleted and made again: this broker's
// replica is of the one before, or the image is.
var errRecreated = fmt.Errorf("the topic was made again: %w", kerr.NotLeaderForPartition)

// clusterView is one image as the client of one call sees it: which partitions
// there are, and who leads them.
type clusterView struct {
	env   *Env
	call  *Call
	image *controller.Image
}

func (e *Env) view(call *Call) clusterView {
	return clusterView{e, call, e.Image()}
}

// partition finds the replica of a partition on this broker. One that the
// cluster has and this broker does not is another's to answer for.
func (v clusterView) partition(t *controller.Topic, n int32) (*replica.Partition, error) {
	if n < 0 || int(n) >= len(t.Partitions) {
		return nil, kerr.UnknownTopicOrPartition
	}
	p, err := v.env.Replicas.Partition(t.Name, n)
	switch {
	case is[*replica.UnknownPartitionError](err):
		return nil, kerr.NotLeaderForPartition
	case err != nil:
		return nil, err
	case p.TopicID() != t.ID:
		return nil, errRecreated
	}
	return p, nil
}

// named finds the replica of a partition of a topic by the topic's name.
func (v clusterView) named(topic string, n int32) (*replica.Partition, error) {
	t, ok := v.image.Topic(topic)
	if !ok {
		return nil, kerr.UnknownTopicOrPartition
	}
	return v.partition(t, n)
}

// leader tells who leads a partition, and adds where the client reaches that
// broker to nodes, once (KIP-951).
func (v clusterView) leader(topic string, n int32, nodes []node) (leaderHint, []node) {
	p, ok := v.image.Partition(topic, n)
	if !ok {
		return noLeader, nodes
	}
	hint := leaderHint{p.Leader, p.LeaderEpoch}
	for _, have := range nodes {
		if have.id == p.Leader {
			return hint, nodes
		}
	}
	b, ok := v.image.Broker(p.Leader)
	if !ok || b.Fenced {
		return hint, nodes
	}
	if host, port, ok := v.env.endpoint(v.call.Conn, b); ok {
		nodes = append(nodes, node{b.ID, host, port, b.Rack})
	}
	return hint, nodes
}
