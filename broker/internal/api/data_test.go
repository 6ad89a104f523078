package api

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/broker/internal/session"
	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/config"
	record "github.com/moldau-broker/moldau/protocol/metadata"
)

// node1 is a broker's partitions in memory, behind the handlers: what a client
// of one node sees. Other brokers are told of and do not run.
type node1 struct {
	*Env
	t       *testing.T
	manager *replica.Manager
	images  *controller.Replica
	offset  int64
	current atomic.Pointer[controller.Image]
	config  map[string]replica.TopicConfig
}

// newNode starts node 1 of the given number of registered brokers.
func newNode(t *testing.T, brokers int) *node1 {
	t.Helper()
	store, err := logstore.Open(logstore.Options{Dir: "/data", FS: vfs.NewMem(), Rand: rand.New(rand.NewPCG(1, 2))})
	if err != nil {
		t.Fatal(err)
	}
	n := &node1{t: t, images: controller.NewReplica("cluster", nil), config: map[string]replica.TopicConfig{}}
	n.manager = replica.New(replica.Options{Store: store, NodeID: 1})
	t.Cleanup(func() {
		if err := n.manager.Abandon(); err != nil {
			t.Error(err)
		}
	})
	n.Env = &Env{
		NodeID: 1, ClusterID: "cluster", Buffers: new(protocol.Pool),
		Image: n.image, Replicas: n.manager, Transactions: newTxns(),
		Settings: func() config.Values { return config.Layers{}.BrokerValues() },
		Fetches:  NewFetches(session.Config{}, rand.New(rand.NewPCG(3, 4))),
		Audit: func(_ *Call, resp kmsg.Response) {
			if found := Unknowns(resp); found != nil {
				t.Errorf("UNKNOWN_SERVER_ERROR: %v", found)
			}
		},
	}
	n.commit(&record.FeatureLevel{Name: record.FeatureMetadataVersion, FeatureLevel: int16(record.Level42IV1)})
	if err := n.manager.Load(t.Context(), n.image(), n.topicConfig); err != nil {
		t.Fatal(err)
	}
	for i := range brokers {
		n.commit(&record.RegisterBroker{
			BrokerID: int32(i + 1), BrokerEpoch: int64(10 + i), LogDirs: [][16]byte{{byte(i + 1)}},
			EndPoints: []record.Endpoint{{Name: "PLAINTEXT", Host: fmt.Sprintf("host%d", i+1), Port: 9092}},
		})
	}
	return n
}

// image is what handlers see; connections ask for it while a test commits.
func (n *node1) image() *controller.Image { return n.current.Load() }

func (n *node1) publish() {
	im, ok := n.images.Image(n.offset, 1, 1)
	if !ok {
		n.t.Fatal("no image")
	}
	n.current.Store(im)
}

// commit writes records of the controller's log, and applies them.
func (n *node1) commit(records ...record.Record) {
	n.t.Helper()
	for _, r := range records {
		rec := coordinator.Record{Value: record.Encode(r, record.Level42IV1.VersionOf(r))}
		if err := n.images.Replay(coordinator.At{Offset: n.offset}, rec); err != nil {
			n.t.Fatal(err)
		}
		n.offset++
	}
	n.publish()
	if err := n.manager.Apply(n.image(), n.topicConfig); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node1) topicConfig(topic string) replica.TopicConfig {
	if cfg, ok := n.config[topic]; ok {
		return cfg
	}
	return replica.TopicConfig{
		Log:   logstore.Config{Delete: true},
		Rules: batch.Rules{BeforeMaxMs: math.MaxInt64, AfterMaxMs: 3_600_000, MaxBytes: 1 << 20},
	}
}

// topic makes a topic whose partitions are on these brokers and led by the first.
func (n *node1) topic(name string, id byte, partitions int, brokers ...int32) [16]byte {
	n.t.Helper()
	if len(brokers) == 0 {
		brokers = []int32{1}
	}
	uuid := [16]byte{id, 0xee}
	records := []record.Record{&record.Topic{Name: name, TopicID: uuid}}
	for i := range partitions {
		records = append(records, &record.Partition{
			TopicID: uuid, PartitionID: int32(i), Replicas: brokers, ISR: brokers, Leader: brokers[0],
			LeaderEpoch: 5, Directories: make([][16]byte, len(brokers)),
		})
	}
	n.commit(records...)
	return uuid
}

func (n *node1) partition(topic string, p int32) *replica.Partition {
	n.t.Helper()
	r, err := n.manager.Partition(topic, p)
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// records is a batch with a record for each value, keyed "k".
func records(values ...string) batch.Batch {
	return recordsOf(batch.Plain(0, -1), values...)
}

func recordsOf(m batch.Meta, values ...string) batch.Batch {
	b := batch.NewBuilder(m)
	for _, v := range values {
		b.Append(time.Now().UnixMilli(), []byte("k"), []byte(v))
	}
	return b.Build()
}

// produceOf is a request that produces the batches, each to the partition of
// its place.
func produceOf(version int16, acks int16, topic string, id [16]byte, batches ...batch.Batch) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, 1000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, id
	for i, b := range batches {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), b
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// fill produces values to a partition, a batch each.
func (n *node1) fill(topic string, p int32, values ...string) {
	n.t.Helper()
	for _, v := range values {
		if _, err := n.partition(topic, p).Produce(time.Now(), records(v), replica.ProduceOptions{Acks: replica.AcksLeader}); err != nil {
			n.t.Fatal(err)
		}
	}
}

// valuesIn are the values of all records in a partition's answer, by offset.
func valuesIn(t *testing.T, in []byte) (values []string) {
	t.Helper()
	for len(in) > 0 {
		b, rest, err := batch.Next(in)
		if err != nil {
			break // Cut at the limit, as Kafka cuts.
		}
		it := b.Records(1 << 20)
		for it.Next() {
			values = append(values, fmt.Sprintf("%d:%s", it.Offset(), it.Record().Value))
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
		it.Close()
		in = rest
	}
	return values
}
