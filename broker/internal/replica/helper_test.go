package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

var (
	id1 = [16]byte{1}
	id2 = [16]byte{2}
)

// cluster is a controller's log and the brokers that follow it.
type cluster struct {
	t      testing.TB
	offset int64
	log    []coordinator.Record
	homes  []*home
	// failing: Apply is expected to fail.
	failing bool
}

// home is one broker: its disk and its partitions.
type home struct {
	c      *cluster
	node   int32
	mem    *vfs.Mem
	fault  *vfs.Fault // Over mem.
	store  *logstore.Store
	m      *Manager
	images *controller.Replica
	cfg    map[string]TopicConfig
	log    bytes.Buffer
	led    []string // What Leadership told.
	asked  []state.Proposal
}

// newCluster returns n brokers with ids from 1, registered and unfenced.
func newCluster(t testing.TB, n int) *cluster {
	c := &cluster{t: t}
	for i := range n {
		h := &home{c: c, node: int32(i + 1), mem: vfs.NewMem(), cfg: map[string]TopicConfig{}}
		h.fault = vfs.NewFault(h.mem)
		h.start()
		c.homes = append(c.homes, h)
	}
	c.commit(&metadata.FeatureLevel{Name: metadata.FeatureMetadataVersion, FeatureLevel: int16(metadata.Level42IV1)})
	for i := range n {
		c.commit(&metadata.RegisterBroker{BrokerID: int32(i + 1), BrokerEpoch: int64(10 + i), LogDirs: [][16]byte{{byte(i + 1)}}})
	}
	t.Cleanup(func() {
		for _, h := range c.homes {
			if err := h.m.Abandon(); err != nil {
				t.Error("closing:", err)
			}
		}
	})
	return c
}

func one(t testing.TB) *home { return newCluster(t, 1).homes[0] }

// start opens the broker's disk and applies what the controller's log says.
func (h *home) start() {
	t := h.c.t
	t.Helper()
	var err error
	h.store, err = logstore.Open(logstore.Options{Dir: "/data", FS: h.fault, Rand: rand.New(rand.NewPCG(1, 2))})
	if err != nil {
		t.Fatal(err)
	}
	h.m = New(Options{
		Store: h.store, NodeID: h.node, Logger: slog.New(slog.NewTextHandler(&h.log, nil)),
		Propose: func(_ *Partition, p state.Proposal) { h.asked = append(h.asked, p) },
		Leadership: func(l Leadership) {
			gone := ""
			if l.Gone {
				gone = " gone"
			}
			h.led = append(h.led, fmt.Sprintf("%s-%d epoch %d leads %v%s", l.Partition.Topic(), l.Partition.Number(), l.Epoch, l.Leads, gone))
		},
	})
	h.images = controller.NewReplica("cluster", nil)
	for i, rec := range h.c.log {
		if err := h.images.Replay(coordinator.At{Offset: int64(i)}, rec); err != nil {
			t.Fatal(err)
		}
	}
	im := h.image()
	if err := h.m.Load(context.Background(), im, h.topicConfig); err != nil {
		t.Fatal(err)
	}
	if err := h.m.Apply(im, h.topicConfig); err != nil {
		t.Fatal(err)
	}
}

func (h *home) image() *controller.Image {
	im, ok := h.images.Image(int64(len(h.c.log)), 1, 1)
	if !ok {
		h.c.t.Fatal("no image")
	}
	return im
}

// commit lets the controller write records, and every broker hear of them.
func (c *cluster) commit(recs ...metadata.Record) { c.commitTo(c.homes, recs...) }

// commitTo is commit with only some of the brokers hearing of it now.
func (c *cluster) commitTo(homes []*home, recs ...metadata.Record) {
	c.t.Helper()
	for _, r := range recs {
		rec := coordinator.Record{Value: metadata.Encode(r, metadata.Level42IV1.VersionOf(r))}
		for _, h := range c.homes {
			if err := h.images.Replay(coordinator.At{Offset: int64(len(c.log))}, rec); err != nil {
				c.t.Fatal(err)
			}
		}
		c.log = append(c.log, rec)
	}
	for _, h := range homes {
		if err := h.m.Apply(h.image(), h.topicConfig); (err != nil) != c.failing {
			c.t.Fatal(err)
		}
	}
}

func defaults() TopicConfig {
	return TopicConfig{
		Log:   logstore.Config{Delete: true},
		Rules: batch.Rules{BeforeMaxMs: math.MaxInt64, AfterMaxMs: 3_600_000, MaxBytes: 1 << 20},
	}
}

func (h *home) topicConfig(topic string) TopicConfig {
	if cfg, ok := h.cfg[topic]; ok {
		return cfg
	}
	return defaults()
}

// topic is the records of a topic with one partition on replicas, led by the first
// of isr.
func topic(name string, id [16]byte, replicas, isr []int32) []metadata.Record {
	return []metadata.Record{
		&metadata.Topic{Name: name, TopicID: id},
		partitionOf(id, 0, replicas, isr, 0),
	}
}

func partitionOf(id [16]byte, n int32, replicas, isr []int32, epoch int32) *metadata.Partition {
	return &metadata.Partition{
		TopicID: id, PartitionID: n, Replicas: replicas, ISR: isr, Leader: isr[0],
		LeaderEpoch: epoch, PartitionEpoch: epoch, Directories: make([][16]byte, len(replicas)),
	}
}

// create makes topic "t" with one partition on all brokers, led by the first.
func (c *cluster) create() {
	var all []int32
	for _, h := range c.homes {
		all = append(all, h.node)
	}
	c.commit(topic("t", id1, all, all)...)
}

func (h *home) partition() *Partition {
	h.c.t.Helper()
	p, err := h.m.Partition("t", 0)
	if err != nil {
		h.c.t.Fatal(err)
	}
	return p
}

// values makes a batch with a record for each value.
func values(vs ...string) batch.Batch { return valuesAt(time.Now(), vs...) }

func valuesAt(at time.Time, vs ...string) batch.Batch {
	b := batch.NewBuilder(batch.Plain(0, -1))
	for _, v := range vs {
		b.Append(at.UnixMilli(), []byte("k"), []byte(v))
	}
	return b.Build()
}

func mustProduce(t testing.TB, p *Partition, vs ...string) Appended {
	t.Helper()
	a, err := p.Produce(time.Now(), values(vs...), ProduceOptions{Acks: AcksLeader})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// contents reads the values that a consumer sees from an offset on.
func contents(t testing.TB, p *Partition, from int64, iso Isolation) string {
	t.Helper()
	r, err := p.Read(time.Now(), ReadRequest{Offset: from, CurrentEpoch: -1, LastFetchedEpoch: -1, MaxBytes: 1 << 20, Isolation: iso, AnyReplica: true})
	if err != nil {
		t.Fatal(err)
	}
	return valuesIn(t, bytesOf(t, r))
}

// bytesOf takes the records out of a result, and releases it.
func bytesOf(t testing.TB, r ReadResult) []byte {
	t.Helper()
	buf := make([]byte, r.Span.Len())
	if err := r.Span.Copy(buf); err != nil {
		t.Fatal(err)
	}
	r.Span.Release()
	return buf
}

func batchesIn(t testing.TB, in []byte) (all []batch.Batch) {
	t.Helper()
	for len(in) > 0 {
		b, rest, err := batch.Next(in)
		if err != nil {
			t.Fatal(err)
		}
		all, in = append(all, b), rest
	}
	return all
}

func valuesIn(t testing.TB, in []byte) string {
	t.Helper()
	var out []string
	for len(in) > 0 {
		b, rest, err := batch.Next(in)
		if err != nil {
			t.Fatal(err)
		}
		it := b.Records(1 << 20)
		for it.Next() && !b.Control() {
			out = append(out, string(it.Record().Value))
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
		it.Close()
		in = rest
	}
	return strings.Join(out, " ")
}

// pump lets the replica at f fetch once from the one at l, as far as it wants to.
func pump(t testing.TB, l, f *home) {
	t.Helper()
	follower := f.partition()
	now := time.Now()
	ask, ok := follower.NextFetch(now)
	if !ok {
		return
	}
	r, err := l.partition().Read(now, ReadRequest{
		Offset: ask.Offset, CurrentEpoch: ask.CurrentEpoch, LastFetchedEpoch: ask.LastEpoch,
		MaxBytes: 1 << 20, MinOne: true, Isolation: LogEnd,
		Follower: &FollowerRead{ID: f.node, BrokerEpoch: int64(9 + f.node), LogStart: ask.LogStart},
	})
	got := state.Fetched{Request: ask}
	if err != nil {
		got.Failure = state.Later
		if _, ok := errors.AsType[*OffsetError](err); ok {
			got.Failure = state.OutOfRange
		}
		if follower.Deliver(now, got, nil) {
			follower.DeliverBounds(now, state.Bounds{
				CurrentEpoch: ask.CurrentEpoch, Start: l.partition().LogStart(), End: l.partition().End(),
			})
		}
		return
	}
	got.Diverging, got.HighWatermark, got.LogStart = r.Diverging, r.HighWatermark, r.LogStart
	follower.Deliver(now, got, bytesOf(t, r))
}

// fetchedOK is a leader's answer to ask, with records.
func fetchedOK(ask state.Fetch, hw int64) state.Fetched {
	return state.Fetched{Request: ask, HighWatermark: hw, Records: true}
}

// transactional makes a batch of a transaction.
func transactional(pid int64, seq int32, vs ...string) batch.Batch {
	meta := batch.Plain(0, -1)
	meta.ProducerID, meta.ProducerEpoch, meta.BaseSequence, meta.Transactional = pid, 0, seq, true
	b := batch.NewBuilder(meta)
	for _, v := range vs {
		b.Append(time.Now().UnixMilli(), nil, []byte(v))
	}
	return b.Build()
}

func endTxn(t testing.TB, p *Partition, pid int64, commit bool) {
	t.Helper()
	meta := batch.Plain(0, -1)
	meta.ProducerID, meta.ProducerEpoch, meta.Transactional = pid, 0, true
	_, err := p.Append(time.Now(), batch.EndTxn(meta, commit, 0, time.Now().UnixMilli()), AppendOptions{Acks: AcksAll, Origin: producer.Coordinator})
	if err != nil {
		t.Fatal(err)
	}
}
