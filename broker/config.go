package broker

import (
	"context"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moldau-broker/moldau/broker/internal/server"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// Config says how a broker runs. Only Dir is needed: the rest of the zero value
// is a cluster of one node that serves PLAINTEXT on localhost:9092.
type Config struct {
	// Dir is the data directory; an empty or missing one is formatted. It wins
	// over Kafka's log.dirs.
	Dir string
	// Listen, when not empty, is the HOST:PORT of the one client listener; port 0
	// takes a free one. It wins over Kafka's listeners and advertised.listeners.
	Listen string
	// Settings are Kafka's broker settings by Kafka's names (server.properties).
	// Names that Kafka does not know are warned about and ignored.
	Settings map[string]string
	// ClusterID is the id that an empty directory is formatted with, and that a
	// formatted one must have. Empty takes what is there, or a random one.
	ClusterID string
	// KeepClusterID lets a formatted directory have another id than ClusterID,
	// which then only formats, as in Kafka's images: that is warned about.
	KeepClusterID bool
	// Topics are made before clients are served, if they are not there. One that
	// cannot be made is an error in the log and nothing else.
	Topics []Topic

	// FS is the file system of Dir. Default vfs.OS.
	FS vfs.FS
	// ListenFunc opens a listener. Default net.Listen.
	ListenFunc func(network, address string) (net.Listener, error)
	// DialFunc connects to another node. Default net.Dialer. Nothing dials while
	// a cluster is one node; it is the only way out for later.
	DialFunc func(ctx context.Context, network, address string) (net.Conn, error)
	// Wrap, if not nil, is given what answers every request of a client and
	// returns what is asked in its place: for looking at requests, or answering
	// some of them. Its types are the broker's own, so only packages below this
	// one can set it.
	Wrap func(server.Handler) server.Handler
	// Logger gets the broker's log. Default: none.
	Logger *slog.Logger
	// Metrics gets the broker's metrics. Default: a registry of its own, which
	// the admin listener serves.
	Metrics prometheus.Registerer
	// Gatherer is what the admin listener serves at /metrics. Default: Metrics,
	// if it is a Gatherer.
	Gatherer prometheus.Gatherer
}

// Topic is a topic to make at the start.
type Topic struct {
	Name       string
	Partitions int32             // 0 is num.partitions.
	Replicas   int16             // 0 is default.replication.factor.
	Configs    map[string]string // By Kafka's names of topic settings.
}
