package api

import (
	"iter"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/coordinator/group"
)

// groupRequest is a request as the group coordinator takes it.
func (e *Env) groupRequest(call *Call, body kmsg.Request) group.Request {
	rq := group.Request{ClientID: call.Client(), ClientHost: "/" + call.Conn.Host(), Body: body}
	if e.Image != nil {
		if im := e.Image(); im != nil {
			rq.Cluster = groupCluster{im}
		}
	}
	if e.Authorize != nil {
		rq.Visible = func(topic string) bool { return e.MayTopic(call.Conn, kmsg.ACLOperationDescribe, topic) }
	}
	return rq
}

// groupCluster is an image as the group coordinator sees it.
type groupCluster struct{ im *controller.Image }

var _ group.Cluster = groupCluster{}

// Version implements group.Cluster.
func (c groupCluster) Version() int64 { return c.im.Offset }

// Topic implements group.Cluster.
func (c groupCluster) Topic(name string) (group.Topic, bool) {
	t, ok := c.im.Topic(name)
	if !ok {
		return group.Topic{}, false
	}
	return c.topic(t), true
}

// TopicByID implements group.Cluster.
func (c groupCluster) TopicByID(id [16]byte) (group.Topic, bool) {
	t, ok := c.im.TopicByID(id)
	if !ok {
		return group.Topic{}, false
	}
	return c.topic(t), true
}

func (c groupCluster) topic(t *controller.Topic) group.Topic {
	return group.Topic{ID: t.ID, Name: t.Name, Partitions: int32(len(t.Partitions)), Racks: func(n int32) (racks []string) {
		p, ok := t.Partition(n)
		if !ok {
			return nil
		}
		for _, id := range p.Replicas {
			if b, ok := c.im.Broker(id); ok && b.Rack != nil {
				racks = append(racks, *b.Rack)
			}
		}
		return racks
	}}
}

// TopicNames implements group.Cluster.
func (c groupCluster) TopicNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for t := range c.im.Topics() {
			if !yield(t.Name) {
				return
			}
		}
	}
}

// GroupConfig implements group.Cluster.
func (c groupCluster) GroupConfig(id string) map[string]string {
	return c.im.Config(controller.KindGroup, id)
}
