package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Result is one measurement.
type Result struct {
	// Records and Bytes are what went through: values and keys as the
	// application sees them, before compression.
	Records int64         `json:"records"`
	Bytes   int64         `json:"bytes"`
	Elapsed time.Duration `json:"elapsed_ns"`
	// Latency is of each record from Produce to its acknowledgement (produce), of
	// each fetch from request to answer (consume), of each record from Produce
	// until a consumer has it (e2e).
	Latency Latency `json:"latency"`
	// Broker is what the process of Target.PID spent.
	Broker *Usage `json:"broker,omitempty"`
}

const gib = 1 << 30

// RecordsPerSecond is the rate.
func (r Result) RecordsPerSecond() float64 { return per(float64(r.Records), r.Elapsed.Seconds()) }

// BytesPerSecond is the throughput.
func (r Result) BytesPerSecond() float64 { return per(float64(r.Bytes), r.Elapsed.Seconds()) }

// CPUPerGiB is the broker's CPU seconds for 2^30 bytes of records, 0 if its
// process was not watched.
func (r Result) CPUPerGiB() float64 {
	if r.Broker == nil {
		return 0
	}
	return per(r.Broker.CPU.Seconds(), float64(r.Bytes)/gib)
}

// CPUPerRecord is the broker's CPU time for one record, 0 if not watched.
func (r Result) CPUPerRecord() time.Duration {
	if r.Broker == nil || r.Records == 0 {
		return 0
	}
	return r.Broker.CPU / time.Duration(r.Records)
}

func per(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// tally is what one worker adds to a result.
type tally struct {
	records, bytes int64
	latency        Histogram
}

// run starts n workers, waits for all and adds up what they did. ready is
// called once before the clock starts; the first error ends all.
func run(ctx context.Context, pid, n int, work func(ctx context.Context, worker int, t *tally) error) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m, err := watch(pid)
	if err != nil {
		return Result{}, err
	}
	tallies := make([]tally, n)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			if err := work(ctx, i, &tallies[i]); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	r := Result{Elapsed: time.Since(start)}
	r.Broker, err = m.done()
	if cause := context.Cause(ctx); cause != nil {
		return r, errors.Join(cause, err)
	}
	var all Histogram
	for i := range tallies {
		r.Records += tallies[i].records
		r.Bytes += tallies[i].bytes
		all.Merge(&tallies[i].latency)
	}
	r.Latency = all.Latency()
	return r, err
}

// budget says how much is to be done: a number of records shared by all
// workers, or a time.
type budget struct {
	left  atomic.Int64
	until time.Time
}

func newBudget(count int64, d time.Duration) *budget {
	b := &budget{}
	if b.left.Store(count); count == 0 {
		b.until = time.Now().Add(d)
	}
	return b
}

// take returns how many of the wanted records a worker may go on with; 0 ends
// it.
func (b *budget) take(want int64) int64 {
	if !b.until.IsZero() {
		if time.Now().After(b.until) {
			return 0
		}
		return want
	}
	left := b.left.Add(-want)
	return max(min(want, want+left), 0)
}
