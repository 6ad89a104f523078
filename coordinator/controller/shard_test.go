package controller

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

const testCluster = "4L6g3nShT-eMCtK--X86sw"

// cluster is a controller on a log in memory, and the brokers that talk to it.
type cluster struct {
	*coordtest.Machine
	t      testing.TB
	images []*Image // As published.
	epochs map[int32]int64
}

// newCluster starts a controller and registers and unfences brokers 1 to n.
func newCluster(t testing.TB, n int, adjust ...func(*Config)) *cluster {
	c := &cluster{t: t, epochs: map[int32]int64{}}
	cfg := Config{ClusterID: testCluster, NodeID: 1, Schema: Schema{}}
	for _, f := range adjust {
		f(&cfg)
	}
	if cfg.Publish == nil {
		cfg.Publish = func(im *Image) { c.images = append(c.images, im) }
	}
	c.Machine = coordtest.NewMachine(func() coordinator.Shard { return New(cfg) }, 1)
	for id := int32(1); id <= int32(n); id++ {
		c.start(id)
	}
	return c
}

func (c *cluster) shard() *Shard { return c.Shard().(*Shard) }

// image is the last image published.
func (c *cluster) image() *Image {
	if len(c.images) == 0 {
		c.t.Fatal("no image was published")
	}
	return c.images[len(c.images)-1]
}

// ask asks and returns the answer, which must come at once.
func ask[R kmsg.Response](c *cluster, req kmsg.Request) R {
	c.t.Helper()
	return askAs[R](c, Request{Body: req})
}

func askAs[R kmsg.Response](c *cluster, req Request) R {
	c.t.Helper()
	reply, ok := c.Ask(req)
	if !ok || reply.Err != nil {
		c.t.Fatalf("%T: answered %v, %v", req.Body, ok, reply.Err)
	}
	return reply.Body.(R)
}

// registration is what broker id registers with; the first byte of its incarnation
// is run.
func registration(id int32, run byte) *kmsg.BrokerRegistrationRequest {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version = 4
	req.BrokerID, req.ClusterID = id, testCluster
	req.IncarnationID = [16]byte{run, byte(id)}
	req.LogDirs = [][16]byte{{0xd1, byte(id)}}
	req.PreviousBrokerEpoch = -1
	l := kmsg.NewBrokerRegistrationRequestListener()
	l.Name, l.Host, l.Port = "PLAINTEXT", fmt.Sprintf("b%d.example", id), 9092
	req.Listeners = append(req.Listeners, l)
	for name, r := range SupportedFeatures() {
		f := kmsg.NewBrokerRegistrationRequestFeature()
		f.Name, f.MinSupportedVersion, f.MaxSupportedVersion = name, r.Min, r.Max
		req.Features = append(req.Features, f)
	}
	return req
}

// beat is a heartbeat of a broker that has seen everything.
func (c *cluster) beat(id int32, adjust ...func(*kmsg.BrokerHeartbeatRequest)) *kmsg.BrokerHeartbeatResponse {
	c.t.Helper()
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version = 1
	req.BrokerID, req.BrokerEpoch, req.CurrentMetadataOffset = id, c.epochs[id], c.Log.End()-1
	for _, f := range adjust {
		f(req)
	}
	return ask[*kmsg.BrokerHeartbeatResponse](c, req)
}

// start registers and unfences a broker.
func (c *cluster) start(id int32) {
	c.t.Helper()
	resp := ask[*kmsg.BrokerRegistrationResponse](c, registration(id, 1))
	if resp.ErrorCode != 0 {
		c.t.Fatalf("registering broker %d: error %d", id, resp.ErrorCode)
	}
	c.epochs[id] = resp.BrokerEpoch
	if resp := c.beat(id); resp.ErrorCode != 0 || resp.IsFenced {
		c.t.Fatalf("unfencing broker %d: %+v", id, resp)
	}
}

// newTopic describes a topic to be created.
func newTopic(name string, partitions int32, factor int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, factor
	for _, kv := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		key, value, ok := strings.Cut(kv, "=")
		if c.Name = key; ok {
			c.Value = &value
		}
		t.Configs = append(t.Configs, c)
	}
	return t
}

// assigned describes a topic whose partitions are given.
func assigned(name string, parts map[int32][]int32, order ...int32) kmsg.CreateTopicsRequestTopic {
	t := newTopic(name, -1, -1)
	for _, id := range order {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = id, parts[id]
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return t
}

func createRequest(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	req.Topics = topics
	return req
}

// create creates topics, which must succeed.
func (c *cluster) create(topics ...kmsg.CreateTopicsRequestTopic) {
	c.t.Helper()
	for _, t := range ask[*kmsg.CreateTopicsResponse](c, createRequest(topics...)).Topics {
		if t.ErrorCode != 0 {
			c.t.Fatalf("creating %s: %d %s", t.Topic, t.ErrorCode, text(t.ErrorMessage))
		}
	}
}

func (c *cluster) partition(topic string, id int32) *Partition {
	c.t.Helper()
	p, ok := c.image().Partition(topic, id)
	if !ok {
		c.t.Fatalf("no partition %s-%d", topic, id)
	}
	return p
}

func text(s *string) string {
	if s == nil {
		return "<null>"
	}
	return *s
}

// show prints what a state's snapshot holds, one record a line.
func show(s *state) string {
	var out strings.Builder
	for r := range s.records() {
		fmt.Fprintln(&out, showRecord(r))
	}
	return out.String()
}

func showRecord(r metadata.Record) string {
	body, err := json.Marshal(r)
	if err != nil { // A quota that is not a number.
		body = fmt.Appendf(nil, "%x", metadata.Encode(r, r.Key().MaxVersion()))
	}
	return r.Key().String() + " " + string(body)
}

// dump prints all of a state, without the detour by records: what a snapshot forgets
// must show.
func dump(s *state) string {
	var out strings.Builder
	line := func(v any) {
		text, err := json.Marshal(v)
		if err != nil { // A quota that is not a number.
			text = fmt.Appendf(nil, "%+v", v)
		}
		fmt.Fprintf(&out, "%T %s\n", v, text)
	}
	line(s.level)
	line(s.producerID)
	for name, level := range s.features.Scan {
		line([]any{name, level})
	}
	for b := range values(s.brokers) {
		line(b)
	}
	for c := range values(s.controllers) {
		line(c)
	}
	for t := range values(s.topics) {
		line([]any{t.Name, t.ID, len(t.Partitions)})
		for _, p := range t.Partitions {
			n := *p // Null and empty are the same to a partition.
			n.ISR, n.Adding, n.Removing = dense(n.ISR), dense(n.Adding), dense(n.Removing)
			n.ELR, n.LastKnownELR = dense(n.ELR), dense(n.LastKnownELR)
			line(n)
		}
	}
	for key, set := range s.configs.Scan {
		line([]any{key, set})
	}
	for r := range values(s.quotas) {
		line(r)
	}
	for r := range values(s.acls) {
		line(r)
	}
	for r := range values(s.credentials) {
		line(r)
	}
	for r := range values(s.tokens) {
		line(r)
	}
	return out.String()
}

// TestBootstrap compares a new cluster's first records with those of Apache Kafka
// 4.2.2 (its golden log is protocol/metadata/testdata/kafka-4.2.2-log.txt).
func TestBootstrap(t *testing.T) {
	c := newCluster(t, 0)
	want := strings.Join([]string{
		`FEATURE_LEVEL_RECORD {"Name":"metadata.version","FeatureLevel":29}`,
		`FEATURE_LEVEL_RECORD {"Name":"eligible.leader.replicas.version","FeatureLevel":1}`,
		`FEATURE_LEVEL_RECORD {"Name":"group.version","FeatureLevel":1}`,
		`FEATURE_LEVEL_RECORD {"Name":"share.version","FeatureLevel":1}`,
		`FEATURE_LEVEL_RECORD {"Name":"streams.version","FeatureLevel":1}`,
		`FEATURE_LEVEL_RECORD {"Name":"transaction.version","FeatureLevel":2}`,
		`CONFIG_RECORD {"ResourceType":4,"ResourceName":"","Name":"min.insync.replicas","Value":"1"}`,
	}, "\n") + "\n"
	if got := show(&c.image().state); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := c.Log.End(); got != 9 { // With the transaction around them.
		t.Errorf("the log ends at %d, want 9", got)
	}
	c.Failover()
	if got := c.Log.End(); got != 9 {
		t.Errorf("after failover the log ends at %d: it was bootstrapped twice", got)
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
