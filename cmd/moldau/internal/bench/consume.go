package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ConsumeLoad says what Consume reads.
type ConsumeLoad struct {
	// Consumers is how many clients read, each all of the topic.
	Consumers int
	// Passes is how often each reads it, with a new client each time; 0 is 1.
	Passes int
	// Fill is produced first, not measured, if Target.Topic is empty.
	Fill ProduceLoad
}

// Consume reads a topic from its start to the end it has at the beginning.
// Since nothing is asked of the disk when the topic was just written, it is the
// page cache that is read.
func Consume(ctx context.Context, t Target, load ConsumeLoad) (Result, error) {
	topic, remove, err := t.topic(ctx)
	if err != nil {
		return Result{}, err
	}
	defer remove()
	if t.Topic == "" {
		fill := t
		fill.PID = 0
		if _, err := produceTo(ctx, fill, load.Fill, topic); err != nil {
			return Result{}, fmt.Errorf("filling the topic: %w", err)
		}
	}
	ends, starts, err := t.bounds(ctx, topic)
	if err != nil {
		return Result{}, err
	}
	return run(ctx, t.PID, max(load.Consumers, 1), func(ctx context.Context, _ int, sum *tally) error {
		for range max(load.Passes, 1) {
			if err := t.read(ctx, topic, starts, ends, sum); err != nil {
				return err
			}
		}
		return nil
	})
}

// bounds returns the first offset and the end of each partition that holds
// records.
func (t Target) bounds(ctx context.Context, topic string) (ends map[int32]int64, starts map[int32]kgo.Offset, err error) {
	cl, err := t.client()
	if err != nil {
		return nil, nil, err
	}
	adm := kadm.NewClient(cl)
	defer adm.Close()
	first, err := adm.ListStartOffsets(ctx, topic)
	if err == nil {
		err = first.Error()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the offsets of %s: %w", topic, err)
	}
	last, err := adm.ListEndOffsets(ctx, topic)
	if err == nil {
		err = last.Error()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the offsets of %s: %w", topic, err)
	}
	ends, starts = map[int32]int64{}, map[int32]kgo.Offset{}
	last.Each(func(end kadm.ListedOffset) {
		start, _ := first.Lookup(topic, end.Partition)
		if start.Offset < end.Offset {
			ends[end.Partition] = end.Offset
			starts[end.Partition] = kgo.NewOffset().At(start.Offset)
		}
	})
	if len(ends) == 0 {
		return nil, nil, fmt.Errorf("the topic %s is empty: produce to it first", topic)
	}
	return ends, starts, nil
}

// read consumes until every partition has reached its end.
func (t Target) read(ctx context.Context, topic string, starts map[int32]kgo.Offset, ends map[int32]int64, sum *tally) error {
	fetches := &fetchTimes{}
	cl, err := t.client(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: starts}),
		// The last offset may be a marker's.
		kgo.KeepControlRecords(),
		kgo.WithHooks(fetches),
	)
	if err != nil {
		return err
	}
	defer func() {
		cl.CloseAllowingRebalance()
		fetches.mu.Lock()
		defer fetches.mu.Unlock()
		sum.latency.Merge(&fetches.mu.histogram)
	}()
	for left := len(ends); left > 0; {
		polled := cl.PollFetches(ctx)
		if err := polled.Err0(); err != nil {
			return err
		}
		var failed error
		polled.EachError(func(_ string, p int32, err error) {
			failed = errors.Join(failed, fmt.Errorf("partition %d of %s: %w", p, topic, err))
		})
		if failed != nil {
			return failed
		}
		polled.EachPartition(func(p kgo.FetchTopicPartition) {
			for _, rec := range p.Records {
				sum.records++
				sum.bytes += int64(len(rec.Key) + len(rec.Value))
				if rec.Offset == ends[p.Partition]-1 {
					left--
				}
			}
		})
	}
	return nil
}

// fetchTimes is a hook that takes how long each fetch took.
type fetchTimes struct {
	mu struct {
		sync.Mutex

		histogram Histogram
	}
}

// keyFetch is the number of the Fetch API.
const keyFetch = 1

// OnBrokerE2E is called by the client after each answer.
func (f *fetchTimes) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	if key != keyFetch || e2e.Err() != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.histogram.Add(e2e.DurationE2E())
}

var _ kgo.HookBrokerE2E = (*fetchTimes)(nil)

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
