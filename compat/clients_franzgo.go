package compat

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// franzProduce are scenarios of what users of franz-go see, beside groups: what a
// whole client makes of many answers, its retries among them.
var franzProduce = []Scenario{
	{ID: "clients.franz-go.codecs", Says: "franz-go reads what it wrote with every codec: nulls, empty values, headers and times.", Run: franzCodecs},
	{ID: "clients.franz-go.broken-connections", Says: "A producer of franz-go that loses answers with their connections writes each record once, and in order.", Refs: []string{"KIP-98"}, Run: franzBroken},
	{ID: "clients.franz-go.large", Says: "franz-go reads a record that is larger than all limits of its fetches.", Refs: []string{"KIP-74"}, Run: franzLarge},
	{ID: "clients.franz-go.out-of-range", Says: "A consumer of franz-go whose offset was deleted goes on at the start of the log, or says so if it may not.", Run: franzOutOfRange},
	{ID: "clients.franz-go.fenced", Says: "The second producer of a transactional id fences the first, whose records nobody reads who reads what is committed.", Refs: []string{"KIP-98"}, Run: franzFenced},
	{ID: "clients.franz-go.exactly-once", Says: "A group of franz-go that copies a topic in transactions, some aborted and one left open, copies each record once.", Refs: []string{"KIP-447"}, Limit: time.Minute, Run: franzExactlyOnce},
}

// franz makes a client of franz-go that the scenario's end closes. It asks often, so
// that nothing waits for its timers.
func franz(t *T, opts ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(t.Addr()), kgo.Dialer(t.DialContext), kgo.ClientID("moldau-compat"),
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, opts...)...)
	if err != nil {
		t.Fatalf("a client of franz-go: %v", err)
	}
	t.cleanup(cl.Close)
	return cl
}

// franzWrites produces records, which must succeed.
func franzWrites(t *T, cl *kgo.Client, records ...*kgo.Record) {
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatalf("produce by franz-go: %v", err)
	}
}

// franzReads polls until there are n records.
func franzReads(t *T, cl *kgo.Client, n int) (got []*kgo.Record) {
	for len(got) < n {
		fetches := cl.PollFetches(t.Context())
		if t.Context().Err() != nil {
			t.Fatalf("%d of %d records came", len(got), n)
		}
		if err := fetches.Err(); err != nil {
			t.Fatalf("poll by franz-go after %d records: %v", len(got), err)
		}
		got = append(got, fetches.Records()...)
	}
	return got
}

// numberedRecords are n records of a topic, of a partition each has in turn, whose
// values are numbers from a first one.
func numberedRecords(topic string, partitions, from, n int) (all []*kgo.Record) {
	for i := range n {
		all = append(all, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: fmt.Append(nil, from+i)})
	}
	return all
}

// numbersFrom are the values of numberedRecords.
func numbersFrom(from, n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(from+i))
	}
	return all
}

// franzValues are the values of records as strings.
func franzValues(records []*kgo.Record) (all []string) {
	for _, r := range records {
		all = append(all, string(r.Value))
	}
	return all
}

// inAnyOrder fails unless two lists hold the same, in any order.
func inAnyOrder(t *T, what string, got, want []string) {
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if slices.Equal(got, want) {
		return
	}
	count := map[string]int{}
	for _, v := range got {
		count[v]++
	}
	for _, v := range want {
		count[v]--
	}
	var missing, more []string
	for _, v := range slices.Compact(append(got, want...)) {
		switch {
		case count[v] < 0:
			missing = append(missing, v)
		case count[v] > 0:
			more = append(more, v)
		}
		count[v] = 0
	}
	t.Fatalf("%s: %s are missing, %s too many", what, plain(missing), plain(more))
}

func franzCodecs(t *T) {
	topic := t.Topic(1)
	start := time.UnixMilli(time.Now().UnixMilli())
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Part(name)
		producer := franz(t, kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(5*time.Millisecond))
		sent := []*kgo.Record{
			{Value: []byte("value")},
			{Key: []byte("key")},
			{Key: []byte{}, Value: []byte{}},
			{Key: []byte("key"), Value: []byte(strings.Repeat("long ", 2000))},
			{Value: []byte("headers"), Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "a", Value: nil}, {Key: "", Value: []byte{}}}},
			{Value: []byte("time"), Timestamp: start.Add(-time.Minute)},
		}
		for _, r := range sent {
			r.Topic = topic
			if r.Timestamp.IsZero() {
				r.Timestamp = start
			}
		}
		franzWrites(t, producer, sent...)
		reader := franz(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(sent[0].Offset)}}))
		for i, r := range franzReads(t, reader, len(sent)) {
			equal(t, fmt.Sprint("record ", i), franzSays(r), franzSays(sent[i]))
		}
	}
	t.Part("")
}

// franzSays prints what a record holds; null is not what is empty.
func franzSays(r *kgo.Record) string {
	out := fmt.Appendf(nil, "%d: %s %s %d", r.Offset, orNull(r.Key), orNull(r.Value), r.Timestamp.UnixMilli())
	for _, h := range r.Headers {
		out = fmt.Appendf(out, " %s=%s", h.Key, orNull(h.Value))
	}
	return string(out)
}

func orNull(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}

func franzBroken(t *T) {
	const n, cuts = 2000, 5
	topic := t.Topic(1)
	lossy := newCutter(t)
	producer := franz(t, kgo.Dialer(lossy.dialContext), kgo.ProducerBatchMaxBytes(2000), kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond }))
	franzWrites(t, producer, numberedRecords(topic, 1, 0, 1)...)
	lossy.left.Store(cuts)
	franzWrites(t, producer, numberedRecords(topic, 1, 1, n-1)...)
	equal(t, "broken connections", lossy.cuts.Load(), cuts)
	reader := franz(t, kgo.ConsumeTopics(topic))
	equals(t, "values", franzValues(franzReads(t, reader, n)), numbersFrom(0, n))
	equal(t, "end of the log", t.endOffset(topic), n)
}

func franzLarge(t *T) {
	const size = 5 << 20
	topic := t.Topic(1, fmt.Sprint("max.message.bytes=", size+1024))
	producer := franz(t, kgo.ProducerBatchMaxBytes(size+1024), kgo.ProducerBatchCompression(kgo.NoCompression()))
	franzWrites(t, producer, &kgo.Record{Topic: topic, Value: make([]byte, size)}, &kgo.Record{Topic: topic, Value: []byte("after")})
	reader := franz(t, kgo.ConsumeTopics(topic), kgo.FetchMaxBytes(64<<10), kgo.FetchMaxPartitionBytes(1<<10))
	got := franzReads(t, reader, 2)
	equal(t, "bytes of the large one", len(got[0].Value), size)
	equal(t, "the one after it", string(got[1].Value), "after")
}

func franzOutOfRange(t *T) {
	topic := t.Topic(1)
	franzWrites(t, franz(t), numberedRecords(topic, 1, 0, 10)...)
	t.ok("delete records", t.deleteRecords(topic, 4).ErrorCode)
	at := kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(2)}})
	equals(t, "values", franzValues(franzReads(t, franz(t, at), 6)), numbersFrom(4, 6))
	strict := franz(t, at, kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	err := strict.PollFetches(t.Context()).Err()
	if !errors.Is(err, kerr.OffsetOutOfRange) {
		t.Fatalf("a consumer that must not reset: got %v, want OFFSET_OUT_OF_RANGE", err)
	}
}

func franzFenced(t *T) {
	topic, id := t.Topic(1), t.transactionalID()
	transactional := func() *kgo.Client {
		cl := franz(t, kgo.TransactionalID(id), kgo.TransactionTimeout(time.Minute))
		if _, _, err := cl.ProducerID(t.Context()); err != nil {
			t.Fatalf("a producer id: %v", err)
		}
		return cl
	}
	begin := func(cl *kgo.Client, value string) {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatalf("begin: %v", err)
		}
		franzWrites(t, cl, &kgo.Record{Topic: topic, Value: []byte(value)})
	}
	first := transactional()
	begin(first, "of the first")
	second := transactional()
	if err := first.EndTransaction(t.Context(), kgo.TryCommit); !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.ProducerFenced) {
		t.Fatalf("a commit of the fenced one: got %v, want INVALID_PRODUCER_EPOCH or PRODUCER_FENCED", err)
	}
	begin(second, "of the second")
	if err := second.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatalf("a commit of the second: %v", err)
	}
	reader := franz(t, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	equals(t, "committed values", franzValues(franzReads(t, reader, 1)), []string{"of the second"})
}

func franzExactlyOnce(t *T) {
	const n, partitions = 300, 3
	from, to, group, id := t.Topic(partitions), t.Topic(1), t.Group(), t.transactionalID()
	franzWrites(t, franz(t, kgo.RecordPartitioner(kgo.ManualPartitioner())), numberedRecords(from, partitions, 0, n)...)
	copied := 0
	for session, lives := range []int{4, 6, 1 << 30} { // The first two are left in a transaction.
		s, err := kgo.NewGroupTransactSession(
			kgo.SeedBrokers(t.Addr()), kgo.Dialer(t.DialContext), kgo.MetadataMinAge(50*time.Millisecond), kgo.FetchMaxWait(100*time.Millisecond),
			kgo.TransactionalID(id), kgo.ConsumerGroup(group), kgo.ConsumeTopics(from), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.HeartbeatInterval(200*time.Millisecond),
		)
		if err != nil {
			t.Fatalf("session %d: %v", session, err)
		}
		t.cleanup(s.Close)
		for turn := 1; turn <= lives && copied < n; turn++ {
			copied += franzCopy(t, s, to, turn == lives, turn%3 == 0)
		}
		s.Close()
	}
	reader := franz(t, kgo.ConsumeTopics(to), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	inAnyOrder(t, "copied", franzValues(franzReads(t, reader, n)), numbersFrom(0, n))
}

// franzCopy copies some records in a transaction, and returns how many are committed.
func franzCopy(t *T, s *kgo.GroupTransactSession, to string, leave, abort bool) int {
	polled := s.PollRecords(t.Context(), 20)
	if err := polled.Err(); err != nil {
		t.Fatalf("poll: %v", err)
	}
	if err := s.Begin(); err != nil {
		t.Fatalf("begin: %v", err)
	}
	var out []*kgo.Record
	for _, r := range polled.Records() {
		out = append(out, &kgo.Record{Topic: to, Value: r.Value})
	}
	if err := s.ProduceSync(t.Context(), out...).FirstErr(); err != nil {
		t.Fatalf("produce in a transaction: %v", err)
	}
	if leave {
		return 0
	}
	committed, err := s.End(t.Context(), kgo.TransactionEndTry(!abort))
	switch {
	case err != nil:
		t.Fatalf("end of a transaction: %v", err)
	case !committed:
		return 0
	}
	return len(out)
}
