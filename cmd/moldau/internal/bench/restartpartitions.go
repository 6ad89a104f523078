package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicsOfCrowd is how many topics many partitions are spread over: Kafka refuses to
// make more than 10,000 records of metadata at once.
const topicsOfCrowd = 10

// crowd is topics with many partitions in all.
type crowd struct {
	topics []string
	sizes  []int
}

// makeCrowd makes topics with n partitions in all. What was made before an error is
// in the crowd.
func makeCrowd(ctx context.Context, t Target, n int) (crowd, error) {
	var c crowd
	for left, topics := n, topicsOfCrowd; topics > 0; topics-- {
		t.Partitions = left / topics
		if left -= t.Partitions; t.Partitions == 0 {
			continue
		}
		name, _, err := t.topic(ctx)
		if err != nil {
			return c, err
		}
		c.topics, c.sizes = append(c.topics, name), append(c.sizes, t.Partitions)
	}
	return c, nil
}

// remover returns what removes them.
func (c crowd) remover(t Target) func(context.Context) {
	return func(ctx context.Context) {
		cl, err := t.client()
		if err != nil {
			return
		}
		defer cl.CloseAllowingRebalance()
		for _, name := range c.topics {
			_, _ = kadm.NewClient(cl).DeleteTopics(ctx, name)
		}
	}
}

// manyPartitions is a restart with partitions of a record each: it is done when the
// broker has answered ListOffsets for all of them.
func manyPartitions(n int) restart {
	return restart{
		name: fmt.Sprintf("%d partitions with a record each", n), done: "offsets of all partitions",
		want:  restartTarget{first: time.Second, done: 5 * time.Second, residentBytes: 200 << 20},
		limit: partitionsLimit,
		fill: func(ctx context.Context, p *peer) (contents, error) {
			t := p.target()
			c, err := makeCrowd(ctx, t, n)
			if err == nil {
				err = c.produce(ctx, t)
			}
			return contents{await: c.await, remove: c.remover(t)}, err
		},
		takes: func(name string) time.Duration {
			if name == nameApache {
				return startTakes(name) + rate(float64(n), 100)
			}
			return startTakes(name) + rate(float64(n), 2000)
		},
	}
}

// partitionsLimit is how long each step may take: Apache Kafka makes some hundred
// partitions a second on a quiet machine, and writes its files when it gets a record.
const partitionsLimit = 15 * time.Minute

// produce sends a record to each partition.
func (c crowd) produce(ctx context.Context, t Target) error {
	cl, err := t.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	var first kgo.FirstErrPromise
	for i, topic := range c.topics {
		for p := range c.sizes[i] {
			cl.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(p), Value: []byte("one")}, first.Promise())
		}
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return first.Err()
}

// await asks for the end of all partitions until each has answered.
func (c crowd) await(ctx context.Context, p *peer) error {
	cl, err := p.target().client()
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	for i := range c.topics {
		if err := askUntil(ctx, func() error { return c.list(ctx, cl, i) }); err != nil {
			return err
		}
	}
	return nil
}

// list asks the broker itself for the ends of one topic: the client waits longer than
// is measured before it tries again.
func (c crowd) list(ctx context.Context, cl *kgo.Client, i int) error {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = c.topics[i]
	for p := range c.sizes[i] {
		partition := kmsg.NewListOffsetsRequestTopicPartition()
		partition.Partition = int32(p)
		partition.Timestamp = -1 // The end.
		topic.Partitions = append(topic.Partitions, partition)
	}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, cl.SeedBrokers()[0])
	if err != nil {
		return err
	}
	seen := 0
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
			if p.Offset != 1 {
				return &wrongError{fmt.Errorf("partition %d of %s ends at %d and not at 1", p.Partition, topic.Topic, p.Offset)}
			}
			seen++
		}
	}
	if seen != c.sizes[i] {
		return &wrongError{fmt.Errorf("ListOffsets answered for %d of %d partitions of %s", seen, c.sizes[i], c.topics[i])}
	}
	return nil
}
