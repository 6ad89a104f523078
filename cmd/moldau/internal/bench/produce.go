package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ProduceLoad says what Produce sends.
type ProduceLoad struct {
	// RecordBytes is the size of each value; there is no key.
	RecordBytes int
	// Compression is none, gzip, snappy, lz4 or zstd.
	Compression string
	// Acks is 0, 1 or -1 for all. With all the producer is idempotent, as
	// clients are by default.
	Acks int
	// Connections is how many clients send, each over a connection of its own.
	Connections int
	// OneByOne has each client wait for the answer before it sends the next
	// record: one record a request.
	OneByOne bool
	// Count is how many records are sent in all. If it is 0, Duration ends it.
	Count    int64
	Duration time.Duration
}

// everyNth is the share of records whose latency is taken: asking for the time
// twice a record would cost more than a small record does.
const everyNth = 16

// Produce sends records and returns when all are acknowledged. Records go to
// the partitions in turn, so that all are written to all the time.
func Produce(ctx context.Context, t Target, load ProduceLoad) (Result, error) {
	topic, remove, err := t.topic(ctx)
	if err != nil {
		return Result{}, err
	}
	defer remove()
	return produceTo(ctx, t, load, topic)
}

func produceTo(ctx context.Context, t Target, load ProduceLoad, topic string) (Result, error) {
	opts, err := load.options(topic)
	if err != nil {
		return Result{}, err
	}
	clients := make([]*kgo.Client, max(load.Connections, 1))
	for i := range clients {
		if clients[i], err = t.client(opts...); err != nil {
			return Result{}, err
		}
		defer clients[i].CloseAllowingRebalance()
	}
	if err := load.first(ctx, clients, max(t.Partitions, 1)); err != nil {
		return Result{}, fmt.Errorf("the first record was not taken by %v: %w", t.Bootstrap, err)
	}
	values := payloads(load.RecordBytes, 1)
	todo := newBudget(load.Count, load.Duration)
	return run(ctx, t.PID, len(clients), func(ctx context.Context, worker int, sum *tally) error {
		if load.OneByOne {
			return sendOneByOne(ctx, clients[worker], values, todo, sum)
		}
		return send(ctx, clients[worker], values, todo, sum)
	})
}

// first sends what is not measured: a record by each client, for which it asks
// for metadata and a producer id, and one to each partition, for which a broker
// makes its files.
func (load ProduceLoad) first(ctx context.Context, clients []*kgo.Client, partitions int) error {
	for i, cl := range clients {
		n := 1
		if i == 0 {
			n = partitions
		}
		for range n {
			if err := cl.ProduceSync(ctx, &kgo.Record{Value: []byte("first")}).FirstErr(); err != nil {
				return err
			}
		}
	}
	return nil
}

// options are those of the clients.
func (load ProduceLoad) options(topic string) ([]kgo.Opt, error) {
	codecs := map[string]kgo.CompressionCodec{
		"":       kgo.NoCompression(),
		"none":   kgo.NoCompression(),
		"gzip":   kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(),
		"lz4":    kgo.Lz4Compression(),
		"zstd":   kgo.ZstdCompression(),
	}
	codec, ok := codecs[load.Compression]
	if !ok {
		return nil, fmt.Errorf("compression %q: use none, gzip, snappy, lz4 or zstd", load.Compression)
	}
	if load.RecordBytes <= 0 || load.Count < 0 || load.Count == 0 && load.Duration <= 0 {
		return nil, errors.New("a load needs a record size, and a count or a duration, above zero")
	}
	opts := []kgo.Opt{
		kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.ProducerBatchCompression(codec),
		kgo.MaxBufferedRecords(1 << 20),
		// Enough to keep the connection busy, and bounded however many clients
		// there are.
		kgo.MaxBufferedBytes(max(64<<20/max(load.Connections, 1), 4<<20)),
	}
	if load.OneByOne {
		opts = append(opts, kgo.ProducerLinger(0))
	}
	switch load.Acks {
	case -1:
		return append(opts, kgo.RequiredAcks(kgo.AllISRAcks())), nil
	case 0:
		return append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite()), nil
	case 1:
		return append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()), nil
	}
	return nil, fmt.Errorf("acks %d: use 0, 1 or -1 (all)", load.Acks)
}

// send keeps a client's buffer full.
func send(ctx context.Context, cl *kgo.Client, values [][]byte, todo *budget, sum *tally) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A client calls its promises one at a time, so that they may share sum.
	acked := func(rec *kgo.Record, err error) {
		if err != nil {
			cancel(fmt.Errorf("a record was not taken: %w", err))
			return
		}
		sum.records++
		sum.bytes += int64(len(rec.Value))
	}
	next := 0
	for ctx.Err() == nil {
		n := todo.take(everyNth)
		if n == 0 {
			break
		}
		for i := range n {
			promise := acked
			if i == 0 {
				start := time.Now()
				promise = func(rec *kgo.Record, err error) {
					sum.latency.Add(time.Since(start))
					acked(rec, err)
				}
			}
			cl.Produce(ctx, &kgo.Record{Value: values[next%len(values)]}, promise)
			next++
		}
	}
	if err := cl.Flush(ctx); err != nil && context.Cause(ctx) == nil {
		return err
	}
	return context.Cause(ctx)
}

// sendOneByOne waits for each record.
func sendOneByOne(ctx context.Context, cl *kgo.Client, values [][]byte, todo *budget, sum *tally) error {
	for next := 0; todo.take(1) == 1; next++ {
		rec := &kgo.Record{Value: values[next%len(values)]}
		start := time.Now()
		if err := cl.ProduceSync(ctx, rec).FirstErr(); err != nil {
			return fmt.Errorf("a record was not taken: %w", err)
		}
		sum.latency.Add(time.Since(start))
		sum.records++
		sum.bytes += int64(len(rec.Value))
	}
	return nil
}
