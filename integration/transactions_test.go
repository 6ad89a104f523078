package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	txnTopic      = "transactions"
	txnPartitions = 6
	txnRecords    = 8 // Of one transaction, over the partitions.
	txnWriters    = 4
	txnKills      = 5
)

// TestTransactionsAcrossKill: several producers write transactions while the broker
// is killed again and again, and end every fifth by aborting. Whoever reads committed
// records then sees each acknowledged commit once and whole, nothing of an abort, and
// all or nothing of those whose end nobody knows.
func TestTransactionsAcrossKill(t *testing.T) {
	b := newBroker(t)
	b.Start(t)
	createTopic(t, admin(t, b.Addr()), txnTopic, txnPartitions)
	h := newOutcomes()
	var stop atomic.Bool
	var writers sync.WaitGroup
	for w := range txnWriters {
		writers.Go(func() { h.write(t, b.Addr(), w, &stop) })
	}
	for kill := range txnKills {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		seen := h.ended.Load()
		err := until(ctx, "more transactions to end", func() bool { return h.ended.Load() >= seen+200 })
		cancel()
		if err != nil {
			t.Fatalf("after %d kills: %v", kill, err)
		}
		b.Kill(t)
		b.Start(t)
	}
	stop.Store(true)
	writers.Wait()
	h.check(t, readCommitted(t, b.Addr()))
	b.Stop(t)
	dumpLog(t, b.Dir())
}

// outcome is what a writer knows of its transaction.
type outcome int8

const (
	unknown   outcome = iota // Whether it was committed was asked and not answered.
	committed                // It was.
	aborted                  // It was not, nor was it ever asked to be.
)

// outcomes holds what became of every transaction, by its name.
type outcomes struct {
	ended atomic.Int64
	mu    struct {
		sync.Mutex
		byName map[string]outcome
	}
}

func newOutcomes() *outcomes {
	h := new(outcomes)
	h.mu.byName = make(map[string]outcome)
	return h
}

func (h *outcomes) note(name string, o outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.byName[name] = o
	h.ended.Add(1)
}

// write writes transactions until stop. After an error it begins anew with the same
// transactional id, as a restarted application would.
func (h *outcomes) write(t *testing.T, addr string, w int, stop *atomic.Bool) {
	var cl *kgo.Client
	for i := 0; !stop.Load(); i++ {
		if cl == nil {
			var err error
			cl, err = kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(txnTopic),
				kgo.TransactionalID(fmt.Sprint("writer-", w)), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
				kgo.RetryTimeout(20*time.Second))
			if err != nil {
				t.Error(err)
				return
			}
		}
		name := fmt.Sprintf("%d-%d", w, i)
		o, err := transact(t.Context(), cl, name, i%5 != 4)
		h.note(name, o)
		if err != nil {
			cl.Close()
			cl = nil
		}
	}
	if cl != nil {
		cl.Close()
	}
}

// transact writes one transaction. An error means that the client is of no use any
// more.
func transact(ctx context.Context, cl *kgo.Client, name string, commit bool) (outcome, error) {
	if err := cl.BeginTransaction(); err != nil {
		return aborted, err
	}
	var failed atomic.Bool
	for k := range txnRecords {
		cl.Produce(ctx, kgo.StringRecord(fmt.Sprintf("%s/%d", name, k)), func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(true)
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return aborted, err
	}
	if failed.Load() || !commit {
		return aborted, cl.EndTransaction(ctx, kgo.TryAbort)
	}
	if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return unknown, err
	}
	return committed, nil
}

// readCommitted reads all committed records: how often each record of each
// transaction is there.
func readCommitted(t *testing.T, addr string) map[string]map[string]int {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(txnTopic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	seen := make(map[string]map[string]int)
	for {
		// The newest transactions may have yet to time out: whoever waits for nothing
		// for so long has seen all.
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		fs := cl.PollFetches(ctx)
		done := ctx.Err() != nil
		cancel()
		fs.EachRecord(func(r *kgo.Record) {
			name, k, _ := strings.Cut(string(r.Value), "/")
			if seen[name] == nil {
				seen[name] = make(map[string]int)
			}
			seen[name][k]++
		})
		if done {
			return seen
		}
	}
}

// check compares what is there with what writers know.
func (h *outcomes) check(t *testing.T, seen map[string]map[string]int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var count [3]int
	for name, o := range h.mu.byName {
		count[o]++
		there := seen[name]
		switch {
		case o == committed && len(there) != txnRecords:
			t.Errorf("transaction %s is committed, and has %d records of %d", name, len(there), txnRecords)
		case o == aborted && len(there) != 0:
			t.Errorf("transaction %s was never asked to commit, and has %d records", name, len(there))
		case o == unknown && len(there) != 0 && len(there) != txnRecords:
			t.Errorf("transaction %s is torn: %d records of %d", name, len(there), txnRecords)
		}
		for k, n := range there {
			if n != 1 {
				t.Errorf("record %s/%s is there %d times", name, k, n)
			}
		}
	}
	for name := range seen {
		if _, ok := h.mu.byName[name]; !ok {
			t.Errorf("transaction %s was never written", name)
		}
	}
	t.Logf("%d committed, %d aborted, %d unknown", count[committed], count[aborted], count[unknown])
}
