package integration

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var segments = flag.Int("segments", 10_000, "how many segments the long log of BenchmarkFetchAmongSegments has")

// BenchmarkFetchAmongSegments fetches one batch at a random offset, over loopback,
// from a log of ten segments and from one of -segments: finding the segment may not
// cost what the log is long.
func BenchmarkFetchAmongSegments(b *testing.B) {
	m := NewMoldau(b)
	m.Start(b)
	for _, count := range []int{10, *segments} {
		topic := fmt.Sprintf("segments-%d", count)
		fillSegments(b, m, topic, count)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			client, err := kgo.NewClient(kgo.SeedBrokers(m.Addr()))
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			id := topicID(b, client, topic)
			random := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				if err := fetchAt(b, client, id, random.Int64N(int64(count))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fillSegments writes a log of count segments, each of one record: the record's
// time is further from the one before than segment.ms allows.
func fillSegments(b *testing.B, m *Moldau, topic string, count int) {
	b.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(m.Addr()), kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchMaxBytes(512), kgo.ProducerLinger(0), kgo.MaxBufferedRecords(1000),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	ms := "1"
	if _, err := kadm.NewClient(client).CreateTopic(b.Context(), 1, 1, map[string]*string{"segment.ms": &ms}, topic); err != nil {
		b.Fatal(err)
	}

	var failed firstError
	start, value := time.Now().Add(-24*time.Hour), make([]byte, 400) // Two do not fit one batch.
	for n := range count {
		r := &kgo.Record{Value: value, Timestamp: start.Add(time.Duration(n) * 10 * time.Millisecond)}
		client.Produce(b.Context(), r, func(_ *kgo.Record, err error) { failed.add(err) })
	}
	if err := errors.Join(client.Flush(b.Context()), failed.get()); err != nil {
		b.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(m.Dir(), topic+"-0", "*.log"))
	if err != nil {
		b.Fatal(err)
	}
	if len(files) != count {
		b.Fatalf("%s has %d segments, want %d", topic, len(files), count)
	}
}

// fetchAt fetches the batch that holds an offset.
func fetchAt(b *testing.B, client *kgo.Client, topic [16]byte, offset int64) error {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.SessionEpoch = 1, -1 // One batch, no session.
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.FetchOffset, partition.PartitionMaxBytes = offset, 1
	t := kmsg.NewFetchRequestTopic()
	t.TopicID, t.Partitions = topic, []kmsg.FetchRequestTopicPartition{partition}
	req.Topics = []kmsg.FetchRequestTopic{t}
	resp, err := req.RequestWith(b.Context(), client.Broker(1))
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return err
	}
	got := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return err
	}
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(got.RecordBatches); err != nil {
		return err
	}
	if batch.FirstOffset != offset {
		return fmt.Errorf("asked for offset %d, got the batch at %d", offset, batch.FirstOffset)
	}
	return nil
}

// topicID returns the id of a topic, by which Fetch names it.
func topicID(b *testing.B, client *kgo.Client, topic string) [16]byte {
	b.Helper()
	topics, err := kadm.NewClient(client).ListTopics(b.Context(), topic)
	if err = errors.Join(err, topics.Error()); err != nil {
		b.Fatal(err)
	}
	return topics[topic].ID
}
