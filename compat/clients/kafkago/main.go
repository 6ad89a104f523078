// Program kafkago runs the scripts through segmentio/kafka-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/moldau-broker/moldau/compat/clients/script"
)

const wait = 30 * time.Second

func main() { script.Main(dial) }

func dial(bootstrap string) (script.Client, error) {
	c := &client{bootstrap, &kafka.Client{Addr: kafka.TCP(bootstrap), Timeout: wait}}
	conn, err := kafka.DialContext(context.Background(), "tcp", bootstrap)
	if err != nil {
		return nil, err
	}
	return c, conn.Close()
}

type client struct {
	bootstrap string
	kafka     *kafka.Client
}

func (c *client) Has(feature string) error {
	switch feature {
	case "kip848":
		return script.NotApplicable("kafka-go speaks the classic protocol alone")
	case "idempotent":
		return script.NotApplicable("kafka-go has no idempotent producer")
	case "transactions":
		return script.NotApplicable("kafka-go writes no transactional batches")
	case "nulls":
		return script.NotApplicable("kafka-go reads an empty value as null")
	case "places":
		return script.NotApplicable("a Writer does not tell where records went")
	}
	return nil
}

func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), wait)
}

var codecs = map[string]kafka.Compression{"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}

func (c *client) Producer(o script.Options) (script.Producer, error) {
	w := &kafka.Writer{
		Addr: kafka.TCP(c.bootstrap), Balancer: balancer{&kafka.Hash{}}, RequiredAcks: kafka.RequireAll,
		BatchTimeout: 5 * time.Millisecond, BatchSize: 1000, Compression: codecs[o.Codec],
	}
	if o.MaxBytes > 0 {
		w.BatchBytes = int64(o.MaxBytes)
	}
	return &producer{w: w}, nil
}

// balancer sends a message to the partition that it names, and leaves Any to another.
type balancer struct{ kafka.Balancer }

func (b balancer) Balance(m kafka.Message, partitions ...int) int {
	if p, _ := m.WriterData.(int); p != script.Any {
		return p
	}
	return b.Balancer.Balance(m, partitions...)
}

type producer struct {
	script.NoTransactions

	w *kafka.Writer
}

func (p *producer) Send(topic string, records []script.Record) ([]script.Place, error) {
	list := make([]kafka.Message, len(records))
	for i, r := range records {
		list[i] = kafka.Message{Topic: topic, Key: r.Key, Value: r.Value, WriterData: r.Partition}
		if r.Timestamp > 0 {
			list[i].Time = time.UnixMilli(r.Timestamp)
		}
		for _, h := range r.Headers {
			list[i].Headers = append(list[i].Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
	}
	ctx, cancel := within()
	defer cancel()
	return nil, p.w.WriteMessages(ctx, list...)
}

func (p *producer) Close() error { return p.w.Close() }

// consumer gathers what readers of single partitions read: kafka-go has a reader for
// each, of a group's generation too.
type consumer struct {
	*script.Inbox

	client  *client
	cancel  context.CancelFunc
	readers sync.WaitGroup
	close   func() error

	mu         sync.Mutex
	generation *kafka.Generation // Of a member.
}

func (c *client) consumer() (*consumer, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	return &consumer{Inbox: script.NewInbox(), client: c, cancel: cancel, close: func() error { return nil }}, ctx
}

// read reads a partition until ctx ends.
func (c *consumer) read(ctx context.Context, topic string, partition int, offset int64, level kafka.IsolationLevel) {
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{c.client.bootstrap}, Topic: topic, Partition: partition, IsolationLevel: level,
		MinBytes: 1, MaxBytes: 8 << 20, MaxWait: 100 * time.Millisecond,
	})
	defer func() { _ = r.Close() }()
	err := r.SetOffset(offset)
	for err == nil {
		var m kafka.Message
		if m, err = r.ReadMessage(ctx); err == nil {
			c.Put(ctx.Done(), topic, record(m))
		}
	}
	if ctx.Err() == nil {
		c.Fail(err)
	}
}

func record(m kafka.Message) script.Record {
	r := script.Record{Key: m.Key, Value: m.Value, Partition: m.Partition, Offset: m.Offset, Timestamp: m.Time.UnixMilli()}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, script.Header{Key: h.Key, Value: h.Value})
	}
	return r
}

func (c *client) Reader(topic string, partitions int, committed bool, start int64) (script.Consumer, error) {
	out, ctx := c.consumer()
	level := kafka.ReadUncommitted
	if committed {
		level = kafka.ReadCommitted
	}
	for p := range partitions {
		out.readers.Go(func() { out.read(ctx, topic, p, start, level) })
	}
	return out, nil
}

func (c *client) Member(group string, topics []string, _ string) (script.Consumer, error) {
	g, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: group, Brokers: []string{c.bootstrap}, Topics: topics, StartOffset: kafka.FirstOffset,
		SessionTimeout: 10 * time.Second, HeartbeatInterval: 500 * time.Millisecond, RebalanceTimeout: 10 * time.Second,
		JoinGroupBackoff: 500 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	out, ctx := c.consumer()
	out.close = g.Close
	out.readers.Go(func() {
		for {
			generation, err := g.Next(ctx)
			if ctx.Err() != nil {
				return
			}
			if errors.Is(err, kafka.RebalanceInProgress) {
				continue // Next is what joins again.
			}
			if err != nil {
				out.Fail(err)
				return
			}
			out.live(generation)
		}
	})
	return out, nil
}

// live has a generation's partitions read as long as it lasts.
func (c *consumer) live(g *kafka.Generation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation = g
	var held []string
	for topic, assignments := range g.Assignments {
		for _, a := range assignments {
			held = append(held, fmt.Sprintf("%s/%d", topic, a.ID))
			g.Start(func(ctx context.Context) { c.read(ctx, topic, a.ID, a.Offset, kafka.ReadUncommitted) })
		}
	}
	c.Hold(held)
	// The generation ends when the first of its functions returns, so one waits for it.
	g.Start(func(ctx context.Context) {
		<-ctx.Done()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.generation == g {
			c.generation = nil
			c.Hold(nil)
		}
	})
}

func (c *consumer) commit(offsets map[string]map[int]int64) error {
	c.mu.Lock()
	g := c.generation
	c.mu.Unlock()
	if g == nil {
		return errors.New("there is no generation to commit in")
	}
	return g.CommitOffsets(offsets)
}

func (c *consumer) Commit() error { return c.CommitPolled(c.commit) }

func (c *consumer) CommitAt(topic string, partition int, offset int64) error {
	return c.commit(map[string]map[int]int64{topic: {partition: offset}})
}

func (c *consumer) Close() error {
	c.cancel()
	err := c.close()
	c.readers.Wait()
	return err
}
