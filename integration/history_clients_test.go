package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/integration/history"
)

// historyRun is what the clients of TestHistory share. A client that has an error
// is closed, and its work goes on with a new one, as an application's would.
type historyRun struct {
	t         *testing.T
	addr      string
	groups    []historyGroup
	began     time.Time
	history   history.History
	processes atomic.Int64
	values    atomic.Int64
}

// now is a time of the history.
func (r *historyRun) now() time.Duration { return time.Since(r.began) }

// random returns a source of numbers of its own for a client.
func (r *historyRun) random(kind, n int) *rand.Rand {
	return rand.New(rand.NewPCG(*historySeed, uint64(kind*100+n+1)))
}

// options are what every client of the run has, and more.
func (r *historyRun) options(more ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{
		kgo.SeedBrokers(r.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RetryTimeout(10 * time.Second), kgo.RecordDeliveryTimeout(10 * time.Second),
	}, more...)
}

// nextProcess returns the number of a new client as a process.
func (r *historyRun) nextProcess() int { return int(r.processes.Add(1)) }

// clients gives work one new client after the other, until the run is over.
func (r *historyRun) clients(ctx context.Context, work func(cl *kgo.Client, process int), opts ...kgo.Opt) {
	for ctx.Err() == nil {
		cl, err := kgo.NewClient(r.options(opts...)...)
		if err != nil { // Its options are wrong, and the next one's would be.
			r.t.Error(err)
			return
		}
		work(cl, r.nextProcess())
		cl.Close()
	}
}

// pause waits between two operations; false: the run is over.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(historyPause):
		return true
	}
}

// records draws what one transaction sends.
func (r *historyRun) records(random *rand.Rand, count int) []*kgo.Record {
	var list []*kgo.Record
	for range count {
		list = append(list, &kgo.Record{
			Topic: historyIn, Partition: random.Int32N(historyPartitions), Value: fmt.Append(nil, "v", r.values.Add(1)),
		})
	}
	return list
}

// sent is what a client was told of records that it sent: no offset where it got an
// error.
func sent(results kgo.ProduceResults) []history.Record {
	var list []history.Record
	for _, res := range results {
		record := history.Record{
			Partition: partitionOf(res.Record.Topic, res.Record.Partition), Offset: -1, Value: string(res.Record.Value),
		}
		for _, h := range res.Record.Headers {
			record.Of = string(h.Value) // The only one: see derive.
		}
		if res.Err == nil {
			record.Offset = res.Record.Offset
		}
		list = append(list, record)
	}
	return list
}

// polled is what a client received.
func polled(fetches kgo.Fetches) []history.Record {
	var list []history.Record
	fetches.EachRecord(func(rec *kgo.Record) { list = append(list, received(rec)) })
	return list
}

func received(rec *kgo.Record) history.Record {
	return history.Record{Partition: partitionOf(rec.Topic, rec.Partition), Offset: rec.Offset, Value: string(rec.Value)}
}

// writeTransactions writes transactions of one to eight records, and aborts every
// fifth.
func (r *historyRun) writeTransactions(ctx context.Context, n int) {
	random := r.random(0, n)
	r.clients(ctx, func(cl *kgo.Client, process int) {
		for pause(ctx) {
			op := history.Op{Process: process, Begin: r.now(), Outcome: history.Aborted}
			err := r.transact(cl, &op, r.records(random, 1+random.IntN(8)), random.IntN(5) != 0)
			op.End = r.now()
			r.history.Add(op)
			if err != nil {
				return
			}
		}
	}, kgo.TransactionalID(fmt.Sprint("writer-", n)), kgo.TransactionTimeout(historyTransactionTimeout))
}

// transact writes one transaction. After an error the client is of no use any more.
// It does not end with the run: an operation is seen to its end.
func (r *historyRun) transact(cl *kgo.Client, op *history.Op, records []*kgo.Record, commit bool) error {
	ctx := r.t.Context()
	if err := cl.BeginTransaction(); err != nil {
		return err
	}
	results := cl.ProduceSync(ctx, records...)
	op.Sends = sent(results)
	if results.FirstErr() != nil || !commit {
		return cl.EndTransaction(ctx, kgo.TryAbort)
	}
	if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
		op.Outcome = history.Unknown
		return err
	}
	op.Outcome = history.Committed
	return nil
}

// writePlain sends records without transactions, one at a time.
func (r *historyRun) writePlain(ctx context.Context) {
	random := r.random(1, 0)
	r.clients(ctx, func(cl *kgo.Client, process int) {
		for pause(ctx) {
			op := history.Op{Process: process, Begin: r.now(), Outcome: history.Committed}
			results := cl.ProduceSync(r.t.Context(), r.records(random, 1)...)
			op.Sends, op.End = sent(results), r.now()
			if results.FirstErr() != nil {
				op.Outcome = history.Unknown
			}
			r.history.Add(op)
			if op.Outcome != history.Committed {
				return
			}
		}
	})
}

// read polls committed records of all topics, from the beginning on, and begins
// anew now and then.
func (r *historyRun) read(ctx context.Context, n int) {
	random := r.random(2, n)
	r.clients(ctx, func(cl *kgo.Client, process int) {
		for pause(ctx) && random.IntN(300) != 0 {
			op := history.Op{Process: process, Begin: r.now(), Outcome: history.Committed}
			op.Polls, op.End = polled(cl.PollFetches(ctx)), r.now()
			r.history.Add(op)
		}
	}, r.committed()...)
}

// topics are all of the run.
func (r *historyRun) topics() []string {
	topics := []string{historyIn}
	for _, g := range r.groups {
		topics = append(topics, g.out)
	}
	return topics
}

// committed has a client read the committed records of all topics, from the beginning
// on.
func (r *historyRun) committed() []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumeTopics(r.topics()...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	}
}

// process derives a record from each of the input, in transactions that commit the
// group's offsets, aborts every tenth, and leaves and comes back now and then.
func (r *historyRun) process(ctx context.Context, g historyGroup, n int) {
	random := r.random(3, n)
	var moved atomic.Bool
	move := func(context.Context, *kgo.Client, map[string][]int32) { moved.Store(true) }
	opts := r.options(
		kgo.TransactionalID(fmt.Sprintf("%s-%d", g.name, n)), kgo.TransactionTimeout(historyTransactionTimeout),
		kgo.ConsumerGroup(g.name), kgo.ConsumeTopics(historyIn), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(),
		kgo.SessionTimeout(historySession), kgo.HeartbeatInterval(historySession/4),
		kgo.OnPartitionsAssigned(move), kgo.OnPartitionsRevoked(move), kgo.OnPartitionsLost(move),
	)
	for ctx.Err() == nil {
		session, err := kgo.NewGroupTransactSession(append(opts, g.options...)...)
		if err != nil { // Its options are wrong, and the next one's would be.
			r.t.Error(err)
			return
		}
		r.processAs(ctx, session, r.nextProcess(), g.out, random, &moved)
		session.Close()
	}
}

// processAs is process with one session, till it fails or leaves. Moved says that the
// group has given it other partitions since it last looked.
func (r *historyRun) processAs(ctx context.Context, session *kgo.GroupTransactSession, process int, out string,
	random *rand.Rand, moved *atomic.Bool) {
	for pause(ctx) && random.IntN(200) != 0 {
		fetches := session.PollRecords(ctx, 1+random.IntN(30))
		if fetches.NumRecords() == 0 {
			continue
		}
		op := history.Op{Process: process, Begin: r.now(), Outcome: history.Aborted}
		op.Moved, op.Polls = moved.Swap(false), polled(fetches)
		err := r.derive(session, &op, out, random.IntN(10) != 0)
		op.End = r.now()
		r.history.Add(op)
		if err != nil {
			return
		}
		if op.Outcome != history.Committed {
			moved.Store(true) // Back to what is committed.
		}
	}
}

// derive writes what was derived from an operation's records, and ends the
// transaction.
func (r *historyRun) derive(session *kgo.GroupTransactSession, op *history.Op, out string, commit bool) error {
	ctx := r.t.Context()
	if err := session.Begin(); err != nil {
		return err
	}
	var records []*kgo.Record
	for n, in := range op.Polls {
		records = append(records, &kgo.Record{
			Topic: out, Partition: int32(n % historyPartitions), Value: fmt.Append(nil, "d", r.values.Add(1)),
			Headers: []kgo.RecordHeader{{Key: "of", Value: []byte(in.Value)}},
		})
	}
	results := session.ProduceSync(ctx, records...)
	op.Sends = sent(results)
	commit = commit && results.FirstErr() == nil
	committed, err := session.End(ctx, kgo.TransactionEndTry(commit))
	switch {
	case committed:
		op.Outcome = history.Committed
	case err != nil && commit:
		op.Outcome = history.Unknown
	}
	return err
}

// observe asks again and again for the ends of all partitions and the committed
// offsets of all groups.
func (r *historyRun) observe(ctx context.Context) {
	adm := admin(r.t, r.addr)
	for pause(ctx) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		_ = r.observeOnce(ctx, adm) // While the broker is away there is nothing to see.
		cancel()
	}
}

func (r *historyRun) observeOnce(ctx context.Context, adm *kadm.Client) error {
	stable, err := adm.ListCommittedOffsets(ctx, historyIn) // First: it may not be above what comes later.
	if err != nil {
		return err
	}
	high, err := adm.ListEndOffsets(ctx, historyIn)
	if err = errors.Join(err, stable.Error(), high.Error()); err != nil {
		return err
	}
	high.Each(func(o kadm.ListedOffset) {
		s, _ := stable.Lookup(o.Topic, o.Partition)
		r.history.Mark(history.Mark{Partition: partitionOf(o.Topic, o.Partition), Stable: s.Offset, High: o.Offset})
	})
	for _, g := range r.groups {
		offsets, err := adm.FetchOffsetsForTopics(ctx, g.name, historyIn) // -1 where there is none.
		if err = errors.Join(err, offsets.Error()); err != nil {
			return err
		}
		offsets.Each(func(o kadm.OffsetResponse) {
			r.history.Commit(history.Commit{Group: g.name, Partition: partitionOf(o.Topic, o.Partition), Offset: o.At})
		})
	}
	return nil
}

// finalReader reads what is committed, from the beginning on.
type finalReader struct {
	*historyRun
	cl   *kgo.Client
	adm  *kadm.Client
	seen map[history.Partition][]history.Record
	next map[history.Partition]int64 // The offset behind what was read, markers included.
}

func (r *historyRun) finalReader() *finalReader {
	r.t.Helper()
	// A marker is the last that there is of a transaction.
	cl, err := kgo.NewClient(r.options(append(r.committed(), kgo.KeepControlRecords())...)...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(cl.Close)
	return &finalReader{historyRun: r, cl: cl, adm: kadm.NewClient(cl),
		seen: make(map[history.Partition][]history.Record), next: make(map[history.Partition]int64)}
}

// readAll reads until done holds and there is nothing more, an open transaction
// included. Two minutes are more than any of it takes.
func (f *finalReader) readAll(done func() bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Minute)
	defer cancel()
	for !f.atEnd(ctx) || !done() {
		if ctx.Err() != nil {
			f.t.Errorf("after two minutes without writers there are open transactions or records to process")
			f.explain()
			return
		}
		poll, stop := context.WithTimeout(ctx, time.Second)
		fetches := f.cl.PollFetches(poll)
		stop()
		fetches.EachRecord(f.take)
		fetches.EachError(func(topic string, p int32, err error) {
			if !errors.Is(err, context.DeadlineExceeded) { // Nothing came within the second.
				f.t.Logf("the final reader, %s: %v", partitionOf(topic, p), err)
			}
		})
	}
}

func (f *finalReader) take(rec *kgo.Record) {
	p := partitionOf(rec.Topic, rec.Partition)
	f.next[p] = rec.Offset + 1
	if !rec.Attrs.IsControl() {
		f.seen[p] = append(f.seen[p], received(rec))
	}
}

// atEnd reports that every partition was read to its high watermark.
func (f *finalReader) atEnd(ctx context.Context) bool {
	high, err := f.adm.ListEndOffsets(ctx, f.topics()...)
	if err != nil || high.Error() != nil {
		return false
	}
	behind := 0
	high.Each(func(o kadm.ListedOffset) {
		if f.next[partitionOf(o.Topic, o.Partition)] != o.Offset {
			behind++
		}
	})
	return behind == 0
}

// processed reports that every group has derived as many records as there are.
func (f *finalReader) processed() bool {
	count := func(topic string) (n int) {
		for _, p := range partitionsOf(topic) {
			n += len(f.seen[p])
		}
		return n
	}
	for _, g := range f.groups {
		if count(g.out) < count(historyIn) {
			return false
		}
	}
	return true
}

// explain logs what the broker says of those that hold the others up.
func (f *finalReader) explain() {
	ctx, cancel := context.WithTimeout(f.t.Context(), 10*time.Second)
	defer cancel()
	for _, g := range f.groups {
		described, err := f.adm.DescribeGroups(ctx, g.name)
		f.t.Logf("group %s: %+v, %v", g.name, described[g.name], err)
		for _, stable := range []bool{false, true} {
			req := kmsg.NewPtrOffsetFetchRequest()
			req.RequireStable = stable
			rg := kmsg.NewOffsetFetchRequestGroup()
			rg.Group = g.name
			req.Groups = append(req.Groups, rg)
			resp, err := req.RequestWith(ctx, f.cl)
			f.t.Logf("offsets of %s, stable %v: %+v, %v", g.name, stable, resp, err)
		}
	}
	transactions, err := f.adm.DescribeTransactions(ctx)
	f.t.Logf("transactions: %+v, %v", transactions, err)
	var offsets kadm.TopicsSet
	offsets.Add("__consumer_offsets")
	producers, err := f.adm.DescribeProducers(ctx, offsets)
	for _, p := range producers.SortedPartitions() {
		for _, one := range p.ActiveProducers.Sorted() {
			if one.CurrentTxnStartOffset >= 0 {
				f.t.Logf("open in %s-%d: %+v", p.Topic, p.Partition, one)
			}
		}
	}
	f.t.Logf("producers: %v", err)
}
