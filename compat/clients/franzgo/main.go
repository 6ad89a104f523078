// Program franzgo runs the scripts through franz-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/compat/clients/script"
)

const wait = 30 * time.Second

func main() { script.Main(dial) }

func dial(bootstrap string) (script.Client, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.RetryTimeout(15*time.Second), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if err := cl.Ping(ctx); err != nil {
		return nil, err
	}
	return &client{bootstrap, kadm.NewClient(cl)}, nil
}

type client struct {
	bootstrap string
	admin     *kadm.Client
}

func (c *client) Has(string) error { return nil }

func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), wait)
}

func (c *client) Producer(o script.Options) (script.Producer, error) {
	codec := map[string]kgo.CompressionCodec{
		"": kgo.NoCompression(), "none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}[o.Codec]
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.bootstrap), kgo.ProducerBatchCompression(codec),
		kgo.RecordPartitioner(partitioner{kgo.StickyKeyPartitioner(nil)}),
	}
	if o.MaxBytes > 0 {
		opts = append(opts, kgo.ProducerBatchMaxBytes(int32(o.MaxBytes)))
	}
	switch {
	case o.TransactionalID != "":
		opts = append(opts, kgo.TransactionalID(o.TransactionalID), kgo.TransactionTimeout(20*time.Second))
	case !o.Idempotent:
		// Without idempotence, a retry must not overtake.
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	p := &producer{cl}
	if o.TransactionalID != "" {
		// The id is taken with the first use; a second producer has to fence the first.
		ctx, cancel := within()
		defer cancel()
		if _, _, err := cl.ProducerID(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// partitioner honours a record's partition and leaves Any to another.
type partitioner struct{ kgo.Partitioner }

func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	return topicPartitioner{p.Partitioner.ForTopic(topic)}
}

type topicPartitioner struct{ kgo.TopicPartitioner }

func (p topicPartitioner) Partition(r *kgo.Record, n int) int {
	if r.Partition == script.Any {
		return p.TopicPartitioner.Partition(r, n)
	}
	return int(r.Partition)
}

type producer struct{ cl *kgo.Client }

func (p *producer) Send(topic string, records []script.Record) ([]script.Place, error) {
	list := make([]*kgo.Record, len(records))
	for i, r := range records {
		list[i] = &kgo.Record{Topic: topic, Key: r.Key, Value: r.Value, Partition: int32(r.Partition)}
		if r.Timestamp > 0 {
			list[i].Timestamp = time.UnixMilli(r.Timestamp)
		}
		for _, h := range r.Headers {
			list[i].Headers = append(list[i].Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
	}
	ctx, cancel := within()
	defer cancel()
	if err := p.cl.ProduceSync(ctx, list...).FirstErr(); err != nil {
		return nil, err
	}
	places := make([]script.Place, len(list))
	for i, r := range list {
		places[i] = script.Place{Partition: int(r.Partition), Offset: r.Offset}
	}
	return places, nil
}

func (p *producer) Begin() error { return p.cl.BeginTransaction() }

func (p *producer) end(try kgo.TransactionEndTry) error {
	ctx, cancel := within()
	defer cancel()
	return p.cl.EndTransaction(ctx, try)
}

func (p *producer) Commit() error { return p.end(kgo.TryCommit) }
func (p *producer) Abort() error  { return p.end(kgo.TryAbort) }

func (p *producer) SendOffset(m script.Consumer, group, topic string, partition int, offset int64) error {
	ctx, cancel := within()
	defer cancel()
	member, generation := m.(*consumer).cl.GroupMetadata()
	return p.addOffset(ctx, group, member, generation, topic, partition, offset)
}

func (p *producer) Close() error { p.cl.Close(); return nil }

func (c *client) consumer(opts ...kgo.Opt) (*consumer, error) {
	m := &consumer{}
	cl, err := kgo.NewClient(append(opts,
		kgo.SeedBrokers(c.bootstrap), kgo.FetchMaxWait(100*time.Millisecond), kgo.FetchMaxPartitionBytes(8<<20),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	m.cl = cl
	return m, err
}

func (c *client) Reader(topic string, partitions int, committed bool, start int64) (script.Consumer, error) {
	at := map[int32]kgo.Offset{}
	for p := range partitions {
		at[int32(p)] = kgo.NewOffset().At(start)
	}
	level := kgo.ReadUncommitted()
	if committed {
		level = kgo.ReadCommitted()
	}
	return c.consumer(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}), kgo.FetchIsolationLevel(level))
}

func (c *client) Member(group string, topics []string, protocol string) (script.Consumer, error) {
	h := &holding{}
	opts := []kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topics...), kgo.DisableAutoCommit(),
		kgo.SessionTimeout(10 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.OnPartitionsAssigned(h.add), kgo.OnPartitionsRevoked(h.remove), kgo.OnPartitionsLost(h.remove),
	}
	if protocol == "consumer" {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	m, err := c.consumer(opts...)
	if err != nil {
		return nil, err
	}
	m.holding = h
	return m, nil
}

// holding is what a member holds.
type holding struct {
	mu   sync.Mutex
	held []string
}

func (h *holding) change(of map[string][]int32, do func(string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t, ps := range of {
		for _, p := range ps {
			do(fmt.Sprintf("%s/%d", t, p))
		}
	}
}

func (h *holding) add(_ context.Context, _ *kgo.Client, of map[string][]int32) {
	h.change(of, func(p string) { h.held = append(h.held, p) })
}

func (h *holding) remove(_ context.Context, _ *kgo.Client, of map[string][]int32) {
	h.change(of, func(p string) {
		h.held = slices.DeleteFunc(h.held, func(have string) bool { return have == p })
	})
}

type consumer struct {
	cl *kgo.Client
	*holding
}

func (c *consumer) Poll(within time.Duration) ([]script.Record, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	fetches := c.cl.PollFetches(ctx)
	var records []script.Record
	for _, e := range fetches.Errors() {
		if !errors.Is(e.Err, context.DeadlineExceeded) {
			return nil, e.Err
		}
	}
	fetches.EachRecord(func(r *kgo.Record) {
		out := script.Record{Key: r.Key, Value: r.Value, Partition: int(r.Partition), Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli()}
		for _, h := range r.Headers {
			out.Headers = append(out.Headers, script.Header{Key: h.Key, Value: h.Value})
		}
		records = append(records, out)
	})
	return records, nil
}

func (c *consumer) Held() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.held)
}

func (c *consumer) Commit() error {
	ctx, cancel := within()
	defer cancel()
	return c.cl.CommitUncommittedOffsets(ctx)
}

func (c *consumer) CommitAt(topic string, partition int, offset int64) error {
	ctx, cancel := within()
	defer cancel()
	var failed error
	at := map[string]map[int32]kgo.EpochOffset{topic: {int32(partition): {Epoch: -1, Offset: offset}}}
	c.cl.CommitOffsetsSync(ctx, at, committed(&failed))
	return failed
}

func (c *consumer) Close() error { c.cl.Close(); return nil }

func (c *client) ErrorName(err error) string {
	if e := (*kerr.Error)(nil); errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

func (c *client) Fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
}
