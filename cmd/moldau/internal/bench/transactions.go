package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TransactLoad says what Transact commits.
type TransactLoad struct {
	// RecordBytes is the size of each value; there is no key.
	RecordBytes int
	// Records is how many a transaction has.
	Records int
	// Producers is how many clients commit, each with a transactional id, a
	// connection and a partition of its own, one transaction after the other.
	Producers int
	// Count is how many transactions are committed in all.
	Count int64
}

// Transact commits transactions. The latency is of a transaction, from its first
// record until its commit is answered.
func Transact(ctx context.Context, t Target, load TransactLoad) (Result, error) {
	if load.RecordBytes <= 0 || load.Records <= 0 || load.Count <= 0 {
		return Result{}, errors.New("a load needs a record size, records and a count above zero")
	}
	t.Partitions = max(load.Producers, 1)
	topic, remove, err := t.topic(ctx)
	if err != nil {
		return Result{}, err
	}
	defer remove()
	values := payloads(load.RecordBytes, 1)
	clients := make([]*kgo.Client, t.Partitions)
	for i := range clients {
		clients[i], err = t.client(
			kgo.TransactionalID(fmt.Sprintf("%s-%d", topic, i)),
			kgo.DefaultProduceTopic(topic),
			kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.ProducerBatchCompression(kgo.NoCompression()),
		)
		if err != nil {
			return Result{}, err
		}
		defer clients[i].CloseAllowingRebalance()
		// The first asks for metadata, a coordinator and a producer id; it is not
		// measured.
		if err := load.commit(ctx, clients[i], values[:1], i); err != nil {
			return Result{}, fmt.Errorf("the first transaction: %w", err)
		}
	}
	todo := newBudget(load.Count, 0)
	return run(ctx, t.PID, len(clients), func(ctx context.Context, worker int, sum *tally) error {
		for next := 0; todo.take(1) == 1; next++ {
			start := time.Now()
			from := next * load.Records % len(values)
			if err := load.commit(ctx, clients[worker], values[from:], worker); err != nil {
				return fmt.Errorf("a transaction: %w", err)
			}
			sum.latency.Add(time.Since(start))
			sum.records += int64(load.Records)
			sum.bytes += int64(load.Records * load.RecordBytes)
		}
		return nil
	})
}

// commit runs one transaction of records to one partition.
func (load TransactLoad) commit(ctx context.Context, cl *kgo.Client, values [][]byte, partition int) error {
	if err := cl.BeginTransaction(); err != nil {
		return err
	}
	var first kgo.FirstErrPromise
	for i := range load.Records {
		cl.Produce(ctx, &kgo.Record{Partition: int32(partition), Value: values[i%len(values)]}, first.Promise())
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	if err := first.Err(); err != nil {
		return err
	}
	return cl.EndTransaction(ctx, kgo.TryCommit)
}
