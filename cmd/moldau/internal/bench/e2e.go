package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// EndToEndLoad says what EndToEnd sends.
type EndToEndLoad struct {
	// RecordBytes is the size of each value, at least 8.
	RecordBytes int
	// RatePerSecond is how many records are sent a second, evenly.
	RatePerSecond int
	// Duration is how long, after a second of the same load that is not counted.
	Duration time.Duration
	// Acks is as in ProduceLoad.
	Acks int
}

// warmUp is how long EndToEnd runs before it counts.
const warmUp = time.Second

// EndToEnd sends records at a steady rate, without lingering, while a consumer
// waits for them, and takes the time from the call of Produce until the
// consumer has the record. Producer and consumer are clients of their own in
// one process, so that both read the same clock. Sending never waits for the
// broker: a broker that stalls is charged for every record it delays.
func EndToEnd(ctx context.Context, t Target, load EndToEndLoad) (Result, error) {
	if load.RecordBytes < 8 || load.RatePerSecond <= 0 || load.Duration <= 0 {
		return Result{}, fmt.Errorf("a load of %d bytes at %d a second for %v: use at least 8 bytes, a rate and a duration", load.RecordBytes, load.RatePerSecond, load.Duration)
	}
	topic, remove, err := t.topic(ctx)
	if err != nil {
		return Result{}, err
	}
	defer remove()
	produce := ProduceLoad{RecordBytes: load.RecordBytes, Acks: load.Acks, OneByOne: true, Count: 1}
	opts, err := produce.options(topic)
	if err != nil {
		return Result{}, err
	}
	producer, err := t.client(opts...)
	if err != nil {
		return Result{}, err
	}
	defer producer.CloseAllowingRebalance()
	// The consumer reads from the end: a topic of the caller's may hold records.
	consumer, err := t.client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	if err != nil {
		return Result{}, err
	}
	defer consumer.CloseAllowingRebalance()

	if err := untilReceived(ctx, producer, consumer); err != nil {
		return Result{}, err
	}
	total := load.total(warmUp + load.Duration)
	skip := load.total(warmUp)
	r, err := run(ctx, t.PID, 2, func(ctx context.Context, worker int, sum *tally) error {
		if worker == 0 {
			return sendAtRate(ctx, producer, load, total)
		}
		return receive(ctx, consumer, skip, total, sum)
	})
	return r, err
}

func (load EndToEndLoad) total(d time.Duration) int64 {
	return int64(d.Seconds() * float64(load.RatePerSecond))
}

// untilReceived sends records that do not count until one arrives: a consumer
// that starts at the end misses what is sent before it has asked.
func untilReceived(ctx context.Context, producer, consumer *kgo.Client) error {
	for {
		if err := producer.ProduceSync(ctx, &kgo.Record{Value: []byte("first")}).FirstErr(); err != nil {
			return fmt.Errorf("the first record was not taken: %w", err)
		}
		wait, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		got := consumer.PollFetches(wait)
		cancel()
		if got.NumRecords() > 0 || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// sendAtRate sends total records, each with the time it was sent at, in
// nanoseconds from epoch, in its first eight bytes.
func sendAtRate(ctx context.Context, cl *kgo.Client, load EndToEndLoad, total int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	period := time.Second / time.Duration(load.RatePerSecond)
	text := payloads(load.RecordBytes, 1)
	start := time.Now()
	for i := range total {
		if ahead := time.Until(start.Add(time.Duration(i) * period)); ahead > 0 {
			if err := pause(ctx, ahead); err != nil {
				return err
			}
		}
		value := append([]byte(nil), text[int(i)%len(text)]...)
		binary.BigEndian.PutUint64(value, uint64(time.Since(epoch)))
		cl.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				cancel(fmt.Errorf("a record was not taken: %w", err))
			}
		})
	}
	if err := cl.Flush(ctx); err != nil && context.Cause(ctx) == nil {
		return err
	}
	return context.Cause(ctx)
}

// epoch is what the times in records count from: only a difference of two times
// with a monotonic reading is immune to the wall clock being set.
var epoch = time.Now()

// receive takes total records and counts all but the first skip.
func receive(ctx context.Context, cl *kgo.Client, skip, total int64, sum *tally) error {
	for seen := int64(0); seen < total; {
		polled := cl.PollFetches(ctx)
		now := time.Since(epoch)
		if err := polled.Err(); err != nil {
			return err
		}
		polled.EachRecord(func(rec *kgo.Record) {
			if len(rec.Value) < 8 {
				return // One of untilReceived's that came late.
			}
			sum.records++
			sum.bytes += int64(len(rec.Value))
			if seen++; seen > skip {
				sum.latency.Add(now - time.Duration(binary.BigEndian.Uint64(rec.Value)))
			}
		})
	}
	return nil
}
