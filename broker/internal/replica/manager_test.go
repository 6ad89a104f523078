package replica

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/config"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

func TestTopicComesAndGoes(t *testing.T) {
	h := one(t)
	var unknown *UnknownPartitionError
	if _, err := h.m.Partition("t", 0); !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	h.c.create()
	p := h.partition()
	mustProduce(t, p, "a", "b")
	if got := contents(t, p, 0, Uncommitted); got != "a b" {
		t.Errorf("reads %q", got)
	}
	if _, err := h.m.Partition("t", 1); !errors.As(err, &unknown) {
		t.Error("partition 1:", err)
	}
	// More partitions, then the topic goes, and one of the same name comes.
	h.c.commit(partitionOf(id1, 1, []int32{1}, []int32{1}, 0))
	if _, err := h.m.Partition("t", 1); err != nil {
		t.Error(err)
	}
	h.c.commit(&metadata.RemoveTopic{TopicID: id1})
	if _, err := h.m.Partition("t", 0); !errors.As(err, &unknown) {
		t.Error(err)
	}
	var lost *NotLeaderError
	if _, err := p.Produce(time.Now(), values("x"), ProduceOptions{}); !errors.As(err, &lost) {
		t.Error("produce to a deleted partition:", err)
	}
	h.c.commit(topic("t", id2, []int32{1}, []int32{1})...)
	if fresh := h.partition(); fresh.End() != 0 || fresh.TopicID() != id2 {
		t.Error("the new topic has the old one's records")
	}
	want := []string{
		"t-0 epoch 0 leads true", "t-1 epoch 0 leads true", "t-0 epoch 0 leads false gone", "t-1 epoch 0 leads false gone",
		"t-0 epoch 0 leads true",
	}
	wantLed(t, h, want...)
}

// Deleted and made again while this broker was not listening.
func TestTopicReplacedUnseen(t *testing.T) {
	h := one(t)
	h.c.create()
	mustProduce(t, h.partition(), "old")
	recs := append([]metadata.Record{&metadata.RemoveTopic{TopicID: id1}}, topic("t", id2, []int32{1}, []int32{1})...)
	h.c.commit(recs...)
	if got := contents(t, h.partition(), 0, Uncommitted); got != "" {
		t.Errorf("reads %q of the topic before", got)
	}
	wantLed(t, h, "t-0 epoch 0 leads true", "t-0 epoch 0 leads false gone", "t-0 epoch 0 leads true")
}

// wantLed checks what the broker was told of leaderships.
func wantLed(t *testing.T, h *home, want ...string) {
	t.Helper()
	if !slices.Equal(h.led, want) {
		t.Errorf("leadership: %q, want %q", h.led, want)
	}
}

// A replica that leaves is told of also where it does not lead, and when images were
// missed and the next is taken as a whole.
func TestGoneIsTold(t *testing.T) {
	c := newCluster(t, 2)
	c.create()
	c.commit(&metadata.PartitionChange{TopicID: id1, PartitionID: 0, Leader: 2, ISR: []int32{1, 2}})
	recs := append([]metadata.Record{&metadata.RemoveTopic{TopicID: id1}}, topic("t", id2, []int32{1}, []int32{1})...)
	c.commitTo(nil, recs...)
	h := c.homes[0]
	h.image() // Apply does not see it.
	c.commit(&metadata.RegisterBroker{BrokerID: 2, BrokerEpoch: 20, LogDirs: [][16]byte{{2}}})
	wantLed(t, h, "t-0 epoch 0 leads true", "t-0 epoch 0 leads false", "t-0 epoch 1 leads false gone", "t-0 epoch 0 leads true")
}

func TestRestartKeepsWhatIsAssigned(t *testing.T) {
	h := one(t)
	h.c.create()
	h.c.commit(topic("gone", id2, []int32{1}, []int32{1})...)
	mustProduce(t, h.partition(), "a", "b")
	if err := h.m.Close(7); err != nil {
		t.Fatal(err)
	}
	// While it is down, the second topic is deleted.
	rm := &metadata.RemoveTopic{TopicID: id2}
	h.c.commitTo(nil, rm)
	h.start()
	if epoch, clean := h.store.CleanShutdown(); epoch != 7 || !clean {
		t.Error("clean shutdown:", epoch, clean)
	}
	p := h.partition()
	if got := contents(t, p, 0, Uncommitted); got != "a b" {
		t.Errorf("reads %q", got)
	}
	if _, err := h.m.Partition("gone", 0); err == nil {
		t.Error("a deleted topic is back")
	}
	if _, ok := h.store.Log("gone", 0); ok {
		t.Error("its log was opened")
	}
}

func TestReassignedAway(t *testing.T) {
	c := newCluster(t, 2)
	c.create()
	none := int32(2)
	c.commit(&metadata.PartitionChange{TopicID: id1, PartitionID: 0, Leader: none, Replicas: []int32{2}, ISR: []int32{2}, Directories: make([][16]byte, 1)})
	if _, err := c.homes[0].m.Partition("t", 0); err == nil {
		t.Error("still here")
	}
	if _, ok := c.homes[0].store.Log("t", 0); ok {
		t.Error("its log is still here")
	}
	if v := c.homes[1].partition().View(); v.Role != state.Leader || v.LeaderEpoch != 1 {
		t.Errorf("the other broker: %+v", v)
	}
}

func TestSettingsApplyLive(t *testing.T) {
	c := newCluster(t, 2)
	c.commit(topic("t", id1, []int32{1, 2}, []int32{1})...)
	h := c.homes[0]
	p := h.partition()
	if _, err := p.Produce(time.Now(), values("a"), ProduceOptions{Acks: AcksAll}); err != nil {
		t.Fatal(err)
	}
	cfg := defaults()
	cfg.MinISR, cfg.Log.RetentionBytes = 2, 12345
	h.cfg["t"] = cfg
	value := "2"
	c.commit(&metadata.Config{ResourceType: 2, ResourceName: "t", Name: config.MinInsyncReplicas, Value: &value})
	var few *NotEnoughReplicasError
	if _, err := p.Produce(time.Now(), values("b"), ProduceOptions{Acks: AcksAll}); !errors.As(err, &few) || few.Appended {
		t.Error("acks=all below the minimum:", err)
	}
	if _, err := p.Produce(time.Now(), values("b"), ProduceOptions{Acks: AcksLeader}); err != nil {
		t.Error("acks=1 below the minimum:", err)
	}
	if got := p.log.Config().RetentionBytes; got != 12345 {
		t.Error("retention.bytes:", got)
	}
	// A broker's default concerns every topic.
	delete(h.cfg, "t")
	c.commit(&metadata.Config{ResourceType: 4, ResourceName: "", Name: config.MinInsyncReplicas, Value: &value})
	if _, err := p.Produce(time.Now(), values("c"), ProduceOptions{Acks: AcksAll}); err != nil {
		t.Error("the minimum is still 2:", err)
	}
}

// The store holds a log of that name from another topic, which cannot be deleted.
func TestLogThatCannotBeOpened(t *testing.T) {
	h := one(t)
	old, err := h.store.Create("t", 0, id2, defaults().Log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Append(time.Now(), values("x"), 0, producer.Client); err != nil {
		t.Fatal(err)
	}
	h.fault.Inject(vfs.Rule{Op: vfs.OpRename, Err: errors.New("broken disk"), Times: 1})
	h.c.failing = true
	h.c.create()
	var off *OfflineError
	if _, err := h.m.Partition("t", 0); !errors.As(err, &off) {
		t.Fatal("not offline:", err)
	}
	if !strings.Contains(h.log.String(), "broken disk") || !strings.Contains(h.log.String(), "level=ERROR") {
		t.Errorf("log: %s", h.log.String())
	}
	h.m.refresh(time.Now())
	if got := gauge(t, h.m.opt.Metrics.Offline); got != 1 {
		t.Error("offline:", got)
	}
	// The topic goes, and one of its name comes: it has nothing to do with that.
	h.c.failing = false
	h.c.commit(&metadata.RemoveTopic{TopicID: id1})
	var unknown *UnknownPartitionError
	if _, err := h.m.Partition("t", 0); !errors.As(err, &unknown) {
		t.Error("after the topic went:", err)
	}
	h.c.commit(topic("t", [16]byte{4}, []int32{1}, []int32{1})...)
	if _, err := h.m.Partition("t", 0); err != nil {
		t.Error("a new topic of that name:", err)
	}
	// The others go on.
	h.c.failing = false
	h.c.commit(topic("u", [16]byte{3}, []int32{1}, []int32{1})...)
	if _, err := h.m.Partition("u", 0); err != nil {
		t.Error(err)
	}
}

func gauge(t *testing.T, g prometheus.Metric) float64 {
	t.Helper()
	var out dto.Metric
	if err := g.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetGauge().GetValue()
}

func TestConfigOf(t *testing.T) {
	c := ConfigOf(config.Layers{}.TopicValues())
	if c.MinISR != 1 || !c.Log.Delete || c.Log.Compact || c.Log.SegmentBytes != 1<<30 || c.Log.RetentionAge != 7*24*time.Hour ||
		c.Log.RetentionBytes != -1 || c.Log.FlushInterval != 0 || c.Rules.MaxBytes != 1048588 || c.Rules.Recompress || c.flushedOnly() {
		t.Errorf("defaults: %+v", c)
	}
	if err := c.Log.Validate(); err != nil {
		t.Error(err)
	}
	c = ConfigOf(config.Layers{Topic: map[string]string{
		config.CleanupPolicy: "compact,delete", config.CompressionType: "gzip", config.CompressionGzipLevel: "3",
		config.RetentionMs: "0", config.RetentionBytes: "0", config.FlushMessages: "1", config.FlushMs: "0",
		config.MessageTimestampType: "LogAppendTime", config.MinInsyncReplicas: "2",
	}}.TopicValues())
	if !c.Log.Compact || !c.Log.Delete || !c.Rules.Compacted || !c.Rules.Recompress || c.Rules.Level != 3 || !c.Rules.LogAppendTime ||
		c.Log.RetentionAge != 1 || c.Log.RetentionBytes != 1 || c.Log.FlushInterval != 1 || !c.flushedOnly() || c.MinISR != 2 {
		t.Errorf("set: %+v", c)
	}
	for _, name := range []string{"uncompressed", "zstd", "lz4", "snappy", "producer"} {
		c := ConfigOf(config.Layers{Topic: map[string]string{config.CompressionType: name}}.TopicValues())
		if c.Rules.Recompress != (name != "producer") {
			t.Error(name, c.Rules)
		}
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(all).Lint(); err != nil || len(problems) > 0 {
		t.Error(err, problems)
	}
	h := one(t)
	h.m.opt.Metrics = m
	h.c.create()
	h.m.refresh(time.Now())
	if got := gauge(t, m.Leaders); got != 1 {
		t.Error("leaders:", got)
	}
}

func BenchmarkLookup(b *testing.B) {
	h := one(b)
	h.c.create()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.m.Partition("t", 0); err != nil {
			b.Fatal(err)
		}
	}
}
