package brokertest

import (
	"fmt"
	"log/slog"
	"strings"
)

// Option changes the cluster that Start makes.
type Option func(*options)

// options is what all given options ask for.
type options struct {
	settings  map[string]string
	topics    []topic
	seeds     []seed
	disk      bool
	dir       string
	memoryNet bool
	port      int
	clusterID string
	logger    *slog.Logger
	versions  func(key int16) (int16, bool)
	errs      []error
}

// topic is a topic to be made before Start returns.
type topic struct {
	name       string
	partitions int
	config     map[string]string
}

// seed is records to be written before Start returns.
type seed struct {
	topic   string
	records []Record
}

// defaults are settings that suit a test. All others are Kafka's defaults.
func defaults() map[string]string {
	return map[string]string{
		// A first member is not kept waiting for others: 3 s otherwise.
		"group.initial.rebalance.delay.ms": "0",
		// Each partition of these costs a log and a shard.
		"offsets.topic.num.partitions":                 "1",
		"transaction.state.log.num.partitions":         "1",
		"share.coordinator.state.topic.num.partitions": "1",
		// One broker is enough.
		"offsets.topic.replication.factor":                 "1",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
	}
}

// Topic makes a topic before Start returns. Its settings are lines as
// server.properties has them, "cleanup.policy=compact", by Kafka's names of
// topic configs.
func Topic(name string, partitions int, config ...string) Option {
	return func(o *options) {
		set, err := lines(config)
		if err != nil {
			o.errs = append(o.errs, fmt.Errorf("topic %s: %w", name, err))
		}
		o.topics = append(o.topics, topic{name, partitions, set})
	}
}

// Records writes records to a topic before Start returns. The topic is one of
// Topic's, or it is made with one partition.
func Records(topic string, records ...Record) Option {
	return func(o *options) { o.seeds = append(o.seeds, seed{topic, records}) }
}

// Config sets Kafka's broker settings by lines as server.properties has them:
// "auto.create.topics.enable=false". They win over the defaults for tests, which
// are: no wait for further members of a new group
// (group.initial.rebalance.delay.ms=0), and internal topics of one partition.
func Config(config ...string) Option {
	return func(o *options) {
		set, err := lines(config)
		if err != nil {
			o.errs = append(o.errs, err)
		}
		for name, value := range set {
			o.settings[name] = value
		}
	}
}

// Disk keeps the data in a directory that is removed after the test, not in
// memory: real files, real fsyncs.
func Disk() Option { return func(o *options) { o.disk = true } }

// Dir keeps the data in that directory, which may hold that of an earlier test,
// and is left when the test ends. An empty or missing one is formatted.
func Dir(dir string) Option { return func(o *options) { o.dir = dir } }

// Port listens on a port of the caller's choice; the default is a free one.
func Port(port int) Option { return func(o *options) { o.port = port } }

// MemoryNetwork takes no socket: only Dial reaches the broker. It is the default
// in a testing/synctest bubble, and elsewhere spares ports and time.
func MemoryNetwork() Option { return func(o *options) { o.memoryNet = true } }

// ClusterID is the id of the cluster; the default is a random one. Clients see
// it in Metadata.
func ClusterID(id string) Option { return func(o *options) { o.clusterID = id } }

// Logger gets the broker's log as it is written. The default keeps the last of
// it and shows it when the test has failed.
func Logger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// MaxVersions makes the broker look like an older one: no API is served in a
// version above what lookup says, and those of which it says false not at all.
// kversion.V2_8_0().LookupMaxKeyVersion of franz-go is such a lookup.
func MaxVersions(lookup func(key int16) (highest int16, ok bool)) Option {
	return func(o *options) { o.versions = lookup }
}

// lines reads settings of the form name=value.
func lines(config []string) (map[string]string, error) {
	set := map[string]string{}
	for _, line := range config {
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("setting %q is not of the form name=value", line)
		}
		set[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return set, nil
}
