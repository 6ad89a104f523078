package group

import (
	"iter"

	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// Cluster is what groups see of the cluster: one image of it, which never changes.
// It comes with the requests, and the shard keeps the newest.
type Cluster interface {
	// Version grows with each change of the cluster.
	Version() int64
	// Topic finds a topic by its name.
	Topic(name string) (Topic, bool)
	// TopicByID finds a topic by its id.
	TopicByID(id assign.TopicID) (Topic, bool)
	// TopicNames lists all topics, in any order.
	TopicNames() iter.Seq[string]
	// GroupConfig is the settings that somebody made for a group (Kafka's group
	// configs), by name.
	GroupConfig(group string) map[string]string
}

// Topic is one topic of a Cluster.
type Topic struct {
	ID         assign.TopicID
	Name       string
	Partitions int32
	// Racks lists the racks of a partition's replicas.
	Racks func(partition int32) []string
}

// nothing is the cluster that a shard sees before its first request.
type nothing struct{}

func (nothing) Version() int64                         { return -1 }
func (nothing) Topic(string) (Topic, bool)             { return Topic{}, false }
func (nothing) TopicByID(assign.TopicID) (Topic, bool) { return Topic{}, false }
func (nothing) TopicNames() iter.Seq[string]           { return func(func(string) bool) {} }
func (nothing) GroupConfig(string) map[string]string   { return nil }

// see takes a request's image of the cluster, unless a newer one is known.
func (s *Shard) see(c Cluster) {
	if c != nil && c.Version() > s.cluster.Version() {
		s.cluster = c
	}
}
