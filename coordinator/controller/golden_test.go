package controller

import (
	"bufio"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// kafkaLog reads the metadata log of Apache Kafka 4.2.2 that protocol/metadata's
// golden test explains.
func kafkaLog(t *testing.T) (offsets []int64, records []coordinator.Record) {
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
