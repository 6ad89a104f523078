package api

import (
	"context"
	"iter"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/protocol"
	"github.com/moldau-broker/moldau/protocol/config"
)

// Env is what handlers use of the rest of the broker. It is filled in once, by
// package broker, and not changed while calls are served; any goroutine may
// use it. Tests fill in only what the handler under test needs.
type Env struct {
	// NodeID is this broker's node.id.
	NodeID int32
	// ClusterID is the id that the data directory was formatted with.
	ClusterID string
	// Logger gets what someone may have to act on, never one line per call.
	Logger *slog.Logger
	// Buffers lends memory for encoded responses. Nil allocates it.
	Buffers *protocol.Pool

	// Authorize decides whether a principal may do that to the resource of
	// that kind and name. Nil allows everything, as Kafka does without an
	// authorizer. Handlers call May.
	Authorize func(conn *Conn, op kmsg.ACLOperation, kind kmsg.ACLResourceType, name string) bool
	// Features tells what the cluster has finalized. Nil is a broker without
	// features, of an epoch not known yet.
	Features func() Features

	// Image is the cluster as this broker last heard of it. A handler takes it
	// once and answers from that one.
	Image func() *controller.Image
	// Reached says that clients of a listener are told the address that they
	// themselves reached, because nobody set another.
	Reached func(listener string) bool
	// Misled, if not nil, is told when a client is given an address of loopback
	// and did not come by loopback: unless something forwards its connections, it
	// will look for the broker on its own machine.
	Misled func(conn *Conn, host string)
	// Settings are this broker's settings as they are now.
	Settings func() config.Values
	// Layers are the layers of this broker's settings, without any topic's.
	Layers func(*controller.Image) config.Layers
	// Control asks the controller and waits until what it did is committed and,
	// for at most a second, until this broker serves it.
	Control func(ctx context.Context, req controller.Request) (kmsg.Response, error)
	// AutoCreate makes a topic with the defaults, as naming a missing one may do.
	// Nil when auto.create.topics.enable is false.
	AutoCreate func(ctx context.Context, topic string) error
	// Quorum tells where the metadata quorum stands.
	Quorum func() Quorum
	// Groups is the group coordinator.
	Groups Groups
	// Transactions is the transaction coordinator.
	Transactions Transactions

	// Replicas are the partitions of which this broker has a copy.
	Replicas Replicas
	// Fetches remembers what clients fetch. Nil gives no client a session.
	Fetches *Fetches
	// FetchMaxBytes bounds the records of a Fetch response; 0 is the default of
	// 55 MiB. Kafka's fetch.max.bytes.
	FetchMaxBytes int
	// ProducerID gives out a producer id that nobody had before.
	ProducerID func(ctx context.Context) (int64, error)

	// Audit, if not nil, sees every response that passes through kmsg before
	// it is encoded. Tests use it to hold handlers to rules that no single
	// handler's test would check.
	Audit func(*Call, kmsg.Response)
}

// Replicas is what handlers ask of replica.Manager.
type Replicas interface {
	Partition(topic string, n int32) (*replica.Partition, error)
	Partitions() iter.Seq[*replica.Partition]
	LogDir() replica.LogDir
}

// ClusterName is the name of the one resource of kind cluster.
const ClusterName = "kafka-cluster"

// May says whether the principal of conn may do that to the resource.
func (e *Env) May(conn *Conn, op kmsg.ACLOperation, kind kmsg.ACLResourceType, name string) bool {
	return e.Authorize == nil || e.Authorize(conn, op, kind, name)
}

// MayTopic says whether the principal of conn may do that to the topic.
func (e *Env) MayTopic(conn *Conn, op kmsg.ACLOperation, topic string) bool {
	return e.May(conn, op, kmsg.ACLResourceTypeTopic, topic)
}

// MayGroup says whether the principal of conn may do that to the group.
func (e *Env) MayGroup(conn *Conn, op kmsg.ACLOperation, group string) bool {
	return e.May(conn, op, kmsg.ACLResourceTypeGroup, group)
}

// mayGroups takes apart the groups to which the principal of conn may do that, and those
// to which not.
func (e *Env) mayGroups(conn *Conn, op kmsg.ACLOperation, groups []string) (may, not []string) {
	for _, g := range groups {
		if e.MayGroup(conn, op, g) {
			may = append(may, g)
		} else {
			not = append(not, g)
		}
	}
	return may, not
}

// MayCluster says whether the principal of conn may do that to the cluster.
func (e *Env) MayCluster(conn *Conn, op kmsg.ACLOperation) bool {
	return e.May(conn, op, kmsg.ACLResourceTypeCluster, ClusterName)
}

func (e *Env) features() Features {
	if e.Features == nil {
		return Features{Epoch: -1}
	}
	return e.Features()
}
