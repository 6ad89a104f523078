package controller

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

func names(topics []*Topic) []string {
	var out []string
	for _, t := range topics {
		out = append(out, t.Name)
	}
	return out
}

func (c *cluster) delete(name string) {
	c.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = 5
	req.TopicNames = []string{name}
	if got := ask[*kmsg.DeleteTopicsResponse](c, req).Topics[0].ErrorCode; got != 0 {
		c.t.Fatalf("deleting %s: error %d", name, got)
	}
}

// TestDelta: an image says what differs from the one before.
func TestDelta(t *testing.T) {
	c := newCluster(t, 2)
	if d := c.images[0].Delta(); !d.Full || d.Since != -1 {
		t.Errorf("the first image: %+v", d)
	}
	c.create(newTopic("a", 1, 2, "retention.ms=5"), newTopic("b", 1, 2))
	if d := c.image().Delta(); !cmp.Equal(names(d.Created), []string{"a", "b"}) || d.Changed != nil || d.Deleted != nil ||
		!cmp.Equal(d.Configs, []ConfigResource{{KindTopic, "a"}}) || d.Brokers != nil || d.Features || d.Full {
		t.Errorf("created: %+v", d)
	}
	c.grow("b", 2)
	if d := c.image().Delta(); !cmp.Equal(names(d.Changed), []string{"b"}) || d.Created != nil || len(d.Changed[0].Partitions) != 2 {
		t.Errorf("grown: %+v", d)
	}
	c.delete("a")
	if d := c.image().Delta(); !cmp.Equal(names(d.Deleted), []string{"a"}) || !cmp.Equal(d.Configs, []ConfigResource{{KindTopic, "a"}}) {
		t.Errorf("deleted: %+v", d)
	}
	c.beat(2, func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true })
	if d := c.image().Delta(); !cmp.Equal(d.Brokers, []int32{2}) || !cmp.Equal(names(d.Changed), []string{"b"}) {
		t.Errorf("fenced: %+v", d)
	}
	for i := 1; i < len(c.images); i++ {
		if got, want := c.images[i].Delta().Since, c.images[i-1].Offset; got != want {
			t.Errorf("image %d leads away from %d, the one before is at %d", i, got, want)
		}
	}
}

// TestOnlyCommittedIsPublished: an image never shows what could still be lost, and
// what was published never changes.
func TestOnlyCommittedIsPublished(t *testing.T) {
	c := newCluster(t, 1)
	c.create(newTopic("a", 1, 1))
	before, shown := len(c.images), dump(&c.image().state)
	c.Log.Hold()
	if _, answered := c.Ask(Request{Body: createRequest(newTopic("b", 1, 1))}); answered {
		t.Error("answered before it was committed")
	}
	first := c.Log.End()
	c.Ask(Request{Body: editRequest(KindTopic, "a", edit{"retention.ms", 0, "5"})})
	c.Ask(Request{Body: createRequest(newTopic("c", 1, 1))})
	if len(c.images) != before {
		t.Fatalf("%d images were published of what is not committed", len(c.images)-before)
	}
	c.Log.CommitTo(first)
	c.Ask(Request{Body: kmsg.NewPtrListPartitionReassignmentsRequest()}) // Lets the shard hear of it.
	if im := c.image(); len(c.images) != before+1 || im.Offset != first || im.TopicCount() != 2 || im.Config(KindTopic, "a") != nil {
		t.Errorf("%d images, the last at %d with %d topics", len(c.images)-before, im.Offset, im.TopicCount())
	}
	c.Commit()
	im := c.image()
	if len(c.images) != before+2 || im.Offset != c.Log.End() || im.TopicCount() != 3 || im.Config(KindTopic, "a")["retention.ms"] != "5" {
		t.Errorf("%d images, the last at %d", len(c.images)-before, im.Offset)
	}
	if d := im.Delta(); d.Since != first || !cmp.Equal(names(d.Created), []string{"c"}) || !cmp.Equal(d.Configs, []ConfigResource{{KindTopic, "a"}}) {
		t.Errorf("the delta of two steps: %+v", d)
	}
	if diff := cmp.Diff(shown, dump(&c.images[before-1].state)); diff != "" {
		t.Errorf("an image changed after it was published\n%s", diff)
	}
}

// TestTransactionIsHidden: no image shows a part of a metadata transaction.
func TestTransactionIsHidden(t *testing.T) {
	r := NewReplica(testCluster, nil)
	var offset int64
	replay := func(recs ...metadata.Record) {
		t.Helper()
		for _, rec := range recs {
			value := metadata.Encode(rec, metadata.Level42IV1.VersionOf(rec))
			if err := r.Replay(coordinator.At{Offset: offset}, coordinator.Record{Value: value}); err != nil {
				t.Fatal(err)
			}
			offset++
		}
	}
	topic := func(n byte) *metadata.Topic {
		return &metadata.Topic{Name: fmt.Sprintf("t%d", n), TopicID: [16]byte{n}}
	}
	replay(&metadata.FeatureLevel{Name: metadata.FeatureMetadataVersion, FeatureLevel: 29}, topic(1))
	if im, ok := r.Image(offset, 1, 1); !ok || im.TopicCount() != 1 {
		t.Fatal("no first image")
	}
	replay(topic(2), &metadata.BeginTransaction{}, topic(3), &metadata.RemoveTopic{TopicID: [16]byte{1}})
	if _, ok := r.Image(offset, 1, 1); ok {
		t.Error("an image in the midst of a transaction")
	}
	replay(&metadata.AbortTransaction{}, topic(4))
	im, ok := r.Image(offset, 1, 1)
	if d := im.Delta(); !ok || im.TopicCount() != 3 || !cmp.Equal(names(d.Created), []string{"t2", "t4"}) || d.Deleted != nil {
		t.Errorf("after the abort: %d topics, %+v", im.TopicCount(), d)
	}
	replay(&metadata.BeginTransaction{}, topic(5), &metadata.RemoveTopic{TopicID: [16]byte{1}}, &metadata.EndTransaction{})
	im, ok = r.Image(offset, 1, 1)
	if d := im.Delta(); !ok || im.TopicCount() != 3 || !cmp.Equal(names(d.Created), []string{"t5"}) || !cmp.Equal(names(d.Deleted), []string{"t1"}) {
		t.Errorf("after the end: %d topics, %+v", im.TopicCount(), d)
	}
}

// TestOpenTransactionIsAborted: a successor ends what its predecessor left open.
func TestOpenTransactionIsAborted(t *testing.T) {
	s := New(Config{ClusterID: testCluster, Schema: Schema{}})
	for i, rec := range []metadata.Record{
		&metadata.BeginTransaction{},
		&metadata.FeatureLevel{Name: metadata.FeatureMetadataVersion, FeatureLevel: 29},
	} {
		if err := s.Replay(coordinator.At{Offset: int64(i)}, coordinator.Record{Value: metadata.Encode(rec, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	eff := s.Loaded(coordinator.Moment{NextOffset: s.end})
	for i, rec := range eff.Records {
		if err := s.Replay(coordinator.At{Offset: s.end}, rec); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
	if s.before != nil || s.level != metadata.Level42IV1 || s.feature(metadata.FeatureGroup) != 1 {
		t.Errorf("level %s, group.version %d, a transaction is open: %v", s.level, s.feature(metadata.FeatureGroup), s.before != nil)
	}
}

// TestReplayRefuses: a log that contradicts itself, or that is from the future, is
// not followed.
func TestReplayRefuses(t *testing.T) {
	id := [16]byte{1}
	change := metadata.NewPartitionChange(id, 1)
	for name, recs := range map[string][]metadata.Record{
		"level from the future":        {&metadata.FeatureLevel{Name: metadata.FeatureMetadataVersion, FeatureLevel: 30}},
		"unknown feature":              {&metadata.FeatureLevel{Name: "nosuch.version", FeatureLevel: 1}},
		"topic twice":                  {&metadata.Topic{Name: "a", TopicID: id}, &metadata.Topic{Name: "a", TopicID: [16]byte{2}}},
		"topic id twice":               {&metadata.Topic{Name: "a", TopicID: id}, &metadata.Topic{Name: "b", TopicID: id}},
		"partition of no topic":        {&metadata.Partition{TopicID: id}},
		"partition 1 before 0":         {&metadata.Topic{Name: "a", TopicID: id}, &metadata.Partition{TopicID: id, PartitionID: 1}},
		"directories of others":        {&metadata.Topic{Name: "a", TopicID: id}, &metadata.Partition{TopicID: id, Replicas: []int32{1}, Directories: [][16]byte{{9}, {8}}}},
		"change of no topic":           {change},
		"change of no partition":       {&metadata.Topic{Name: "a", TopicID: id}, change},
		"removal of no topic":          {&metadata.RemoveTopic{TopicID: id}},
		"ELR of no topic":              {&metadata.ClearELR{TopicName: "a"}},
		"producer ids fall":            {&metadata.ProducerIDs{NextProducerID: 5}, &metadata.ProducerIDs{NextProducerID: 5}},
		"change of no broker":          {&metadata.BrokerRegistrationChange{BrokerID: 1}},
		"change of another epoch":      {&metadata.RegisterBroker{BrokerID: 1, BrokerEpoch: 1}, &metadata.FenceBroker{ID: 1, Epoch: 2}},
		"unregistration of no broker":  {&metadata.UnregisterBroker{BrokerID: 1}},
		"unregistration of no control": {&metadata.UnregisterController{ControllerID: 1}},
		"end of no transaction":        {&metadata.EndTransaction{}},
		"transaction in transaction":   {&metadata.BeginTransaction{}, &metadata.BeginTransaction{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReplica(testCluster, nil)
			for i, rec := range recs {
				value := metadata.Encode(rec, metadata.Level42IV1.VersionOf(rec))
				err := r.Replay(coordinator.At{Offset: int64(i)}, coordinator.Record{Value: value})
				if last := i == len(recs)-1; last != (err != nil) {
					t.Errorf("record %d: %v", i, err)
				}
			}
		})
	}
}

// big makes an image of many partitions: topics of 100.
func big(b *testing.B, partitions int) *cluster {
	c := newCluster(b, 3)
	for i := 0; i < partitions; i += 1000 {
		var topics []kmsg.CreateTopicsRequestTopic
		for j := range 10 {
			topics = append(topics, newTopic(fmt.Sprintf("topic-%06d", i/100+j), 100, 3))
		}
		c.create(topics...)
	}
	c.images = nil
	return c
}

// BenchmarkCreateTopic creates one topic, and publishes its image, in clusters of
// two sizes: the larger one must not take longer in proportion.
func BenchmarkCreateTopic(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("partitions=%d", n), func(b *testing.B) {
			c := big(b, n)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.create(newTopic(fmt.Sprintf("new-%09d", i), 1, 1))
			}
		})
	}
}

// BenchmarkImage takes an image of 100,000 partitions.
func BenchmarkImage(b *testing.B) {
	s := big(b, 100_000).shard()
	b.ReportAllocs()
	for b.Loop() {
		s.Image(s.end, 1)
	}
}

// BenchmarkFollow looks at 100,000 partitions for those that a broker leads: what
// each heartbeat of a broker in controlled shutdown costs.
func BenchmarkFollow(b *testing.B) {
	s := big(b, 100_000).shard()
	for b.Loop() {
		if s.leads(99) {
			b.Fatal("broker 99 leads")
		}
	}
}

// BenchmarkReplay loads a log of 100,000 partitions.
func BenchmarkReplay(b *testing.B) {
	s := big(b, 100_000).shard()
	var recs []coordinator.Record
	for r := range Snapshot(s.Image(s.end, 1)) {
		recs = append(recs, r)
	}
	b.ReportAllocs()
	for b.Loop() {
		r := NewReplica(testCluster, nil)
		for i, rec := range recs {
			if err := r.Replay(coordinator.At{Offset: int64(i)}, rec); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestImagesAreReadWhileOthersAreMade: readers need no lock. (It is the race
// detector that would fail it.)
func TestImagesAreReadWhileOthersAreMade(t *testing.T) {
	var latest atomic.Pointer[Image]
	c := newCluster(t, 2, func(cfg *Config) { cfg.Publish = func(im *Image) { latest.Store(im) } })
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				im := latest.Load()
				n := 0
				for topic := range im.Topics() {
					if byID, ok := im.TopicByID(topic.ID); !ok || byID != topic {
						t.Errorf("topic %s is not found by its id", topic.Name)
						return
					}
					im.Config(KindTopic, topic.Name)
					n++
				}
				if n != im.TopicCount() {
					t.Errorf("%d topics are listed, %d there", n, im.TopicCount())
					return
				}
			}
		})
	}
	for i := range 300 {
		c.create(newTopic(fmt.Sprintf("t%d", i), 2, 2, "retention.ms=5"))
		if i >= 50 {
			c.delete(fmt.Sprintf("t%d", i-50))
		}
	}
	close(done)
	readers.Wait()
}
