package controller

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// kafkaLog reads the metadata log of Apache Kafka 4.2.2 that protocol/metadata's
// golden test explains.
func kafkaLog(t testing.TB) (offsets []int64, records []coordinator.Record) {
	t.Helper()
	f, err := os.Open("../../protocol/metadata/testdata/kafka-4.2.2-log.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		part := strings.SplitN(sc.Text(), "\t", 4)
		if part[1] != "record" {
			continue
		}
		offset, err := strconv.ParseInt(part[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		value, err := hex.DecodeString(part[2])
		if err != nil {
			t.Fatal(err)
		}
		offsets = append(offsets, offset)
		records = append(records, coordinator.Record{Value: value})
	}
	return offsets, records
}

// TestKafkaLog replays a log that Kafka wrote, and looks at what it says.
func TestKafkaLog(t *testing.T) {
	offsets, records := kafkaLog(t)
	r := NewReplica(testCluster, nil)
	for i, rec := range records {
		if err := r.Replay(coordinator.At{Offset: offsets[i]}, rec); err != nil {
			t.Fatalf("offset %d: %v", offsets[i], err)
		}
	}
	im, ok := r.Image(offsets[len(offsets)-1]+1, 1, 3)
	if !ok {
		t.Fatal("a transaction is open")
	}
	var topics []string
	for topic := range im.Topics() {
		topics = append(topics, topic.Name+" "+strconv.Itoa(len(topic.Partitions)))
	}
	if diff := cmp.Diff([]string{"golden.one 5", "second-topic 2"}, topics); diff != "" {
		t.Errorf("topics (-want +got)\n%s", diff)
	}
	if got := im.Config(KindTopic, "golden.one"); !cmp.Equal(got, map[string]string{"cleanup.policy": "compact,delete", "min.insync.replicas": "2"}) {
		t.Errorf("settings %v", got)
	}
	b, ok := im.Broker(1)
	if e, has := b.Endpoint("PLAINTEXT"); !ok || !b.Fenced || b.Epoch != 129 || !has || e.Port != 19192 {
		t.Errorf("broker %+v", b)
	}
	// The broker was stopped when the log was taken: no leader, but an eligible one.
	if p, _ := im.Partition("second-topic", 1); p.Leader != -1 || !cmp.Equal(p.ELR, []int32{1}) || !cmp.Equal(p.LastKnownELR, []int32{1}) {
		t.Errorf("partition %+v", p)
	}
	if _, ok := im.Credential(2, "bob"); !ok {
		t.Error("bob's SCRAM-SHA-512 credential is missing")
	}
	if _, ok := im.Credential(1, "bob"); ok {
		t.Error("bob's SCRAM-SHA-256 credential was deleted, and is there")
	}
	if im.Level() != metadata.Level42IV1 || im.NextProducerID() != 1000 || im.Epoch != 3 || im.ControllerID() != 1 {
		t.Errorf("level %s, producer id %d, epoch %d, controller %d", im.Level(), im.NextProducerID(), im.Epoch, im.ControllerID())
	}
}

// TestKafkaLogIsTakenOver: a controller that loads Kafka's log goes on from there.
func TestKafkaLogIsTakenOver(t *testing.T) {
	offsets, records := kafkaLog(t)
	s := New(Config{ClusterID: testCluster, NodeID: 1, Schema: Schema{}})
	for i, rec := range records {
		if err := s.Replay(coordinator.At{Offset: offsets[i]}, rec); err != nil {
			t.Fatalf("offset %d: %v", offsets[i], err)
		}
	}
	if eff := s.Loaded(coordinator.Moment{NextOffset: s.end}); len(eff.Records) != 0 {
		t.Errorf("it begins with %d records", len(eff.Records))
	}
}

// told is a record without what chance and place decide: ids, epochs, addresses.
type told struct {
	topics map[[16]byte]string // Names the topics in the order in which they were made.
	epochs map[int64]int       // Numbers the brokers' epochs in theirs.
}

func (n *told) topic(id [16]byte) string {
	if n.topics[id] == "" {
		n.topics[id] = fmt.Sprintf("topic%d", len(n.topics))
	}
	return n.topics[id]
}

func (n *told) epoch(epoch int64) int {
	if _, ok := n.epochs[epoch]; !ok {
		n.epochs[epoch] = len(n.epochs)
	}
	return n.epochs[epoch]
}

// line prints a record; "" for kinds that this controller does not write, or not
// yet.
func (n *told) line(r metadata.Record) string {
	switch r := r.(type) {
	case *metadata.Topic:
		return fmt.Sprintf("topic %s is %s", r.Name, n.topic(r.TopicID))
	case *metadata.RemoveTopic:
		return "remove " + n.topic(r.TopicID)
	case *metadata.Partition:
		id := n.topic(r.TopicID)
		r.TopicID, r.Directories = [16]byte{}, make([][16]byte, len(r.Directories))
		return fmt.Sprintf("partition of %s %+v", id, *r)
	case *metadata.PartitionChange:
		id := n.topic(r.TopicID)
		r.TopicID = [16]byte{}
		return fmt.Sprintf("change of %s %+v", id, *r)
	case *metadata.BrokerRegistrationChange:
		epoch := n.epoch(r.BrokerEpoch)
		r.BrokerEpoch = 0
		return fmt.Sprintf("broker of epoch %d %+v", epoch, *r)
	case *metadata.RegisterBroker:
		return fmt.Sprintf("broker %d has epoch %d, fenced %v, shutting down %v, %d directory, features %v",
			r.BrokerID, n.epoch(r.BrokerEpoch), r.Fenced, r.InControlledShutdown, len(r.LogDirs), featureRanges(r.Features))
	case *metadata.ProducerIDs:
		return fmt.Sprintf("producer ids up to %d, epoch %d", r.NextProducerID, n.epoch(r.BrokerEpoch))
	case *metadata.Config, *metadata.ClearELR, *metadata.FeatureLevel:
		return showRecord(r)
	}
	return ""
}

// story tells a log. Settings of one request are in an order that means nothing
// (Kafka's is that of a hash): they are sorted.
func story(t *testing.T, records []coordinator.Record) []string {
	t.Helper()
	n := told{map[[16]byte]string{}, map[int64]int{}}
	var lines []string
	configs := 0 // How many of the last lines are settings.
	for _, rec := range records {
		r, err := metadata.Decode(rec.Value)
		if err != nil {
			t.Fatal(err)
		}
		line := n.line(r)
		if line == "" {
			continue
		}
		lines = append(lines, line)
		if _, ok := r.(*metadata.Config); ok {
			configs++
			slices.Sort(lines[len(lines)-configs:])
		} else {
			configs = 0
		}
	}
	return lines
}

// TestSameRecordsAsKafka asks what Apache Kafka 4.2.2 was asked when it wrote the
// golden log, and compares what was written, record by record.
func TestSameRecordsAsKafka(t *testing.T) {
	c := newCluster(t, 1)
	c.create(newTopic("golden.one", 3, 1, "cleanup.policy=compact", "min.insync.replicas=1", "retention.ms=1000000"))
	c.create(newTopic("to-be-deleted", 1, 1))
	c.delete("to-be-deleted")
	c.grow("golden.one", 5)
	c.edit(KindTopic, "golden.one", edit{"min.insync.replicas", 0, "2"}, edit{"cleanup.policy", 2, "delete"}, edit{"retention.ms", 1, "<null>"})
	c.edit(KindBroker, "", edit{"min.insync.replicas", 0, "1"}, edit{"log.cleaner.threads", 0, "1"})
	c.edit(KindBroker, "1", edit{"log.cleaner.threads", 0, "1"})
	for level, kind := range []int8{2, 1} {
		req := kmsg.NewPtrUpdateFeaturesRequest()
		req.Version = 2
		req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: "streams.version", MaxVersionLevel: int16(level), UpgradeType: kind}}
		ask[*kmsg.UpdateFeaturesResponse](c, req)
	}
	ids := kmsg.NewPtrAllocateProducerIDsRequest()
	ids.BrokerID, ids.BrokerEpoch = 1, c.epochs[1]
	ask[*kmsg.AllocateProducerIDsResponse](c, ids)
	c.create(newTopic("second-topic", 2, 1))
	stop := func() {
		for range 2 {
			c.beat(1, func(r *kmsg.BrokerHeartbeatRequest) { r.WantShutdown = true })
		}
	}
	stop()
	req := registration(1, 2)
	req.PreviousBrokerEpoch = c.epochs[1]
	c.epochs[1] = ask[*kmsg.BrokerRegistrationResponse](c, req).BrokerEpoch
	c.beat(1)
	stop()

	_, kafka := kafkaLog(t)
	var ours []coordinator.Record
	err := c.Log.Replay(t.Context(), func(b batch.Batch) error {
		it := b.Records(1 << 20)
		defer it.Close()
		for it.Next() {
			ours = append(ours, coordinator.Record{Value: slices.Clone(it.Record().Value)})
		}
		return it.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(story(t, kafka), story(t, ours)); diff != "" {
		t.Errorf("(-kafka +ours)\n%s", diff)
	}
}
