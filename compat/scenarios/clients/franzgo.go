package clients

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/compat/scenario"
	"github.com/moldau-broker/moldau/compat/scenario/client"
)

// franzgoScenarios are of what users of franz-go see, beside groups.
var franzgoScenarios = []scenario.Scenario{
	{ID: "clients.franz-go.codecs", Says: "franz-go reads what it wrote with every codec: nulls, empty values, headers and times.", Run: franzCodecs},
	{ID: "clients.franz-go.broken-connections", Says: "A producer of franz-go that loses answers with their connections writes each record once, and in order.", Refs: []string{"KIP-98"}, Run: franzBroken},
	{ID: "clients.franz-go.large", Says: "franz-go reads a record that is larger than all limits of its fetches.", Refs: []string{"KIP-74"}, Run: franzLarge},
	{ID: "clients.franz-go.out-of-range", Says: "A consumer of franz-go whose offset was deleted goes on at the start of the log, or says so if it may not.", Run: franzOutOfRange},
	{ID: "clients.franz-go.fenced", Says: "The second producer of a transactional id fences the first, whose records nobody reads who reads what is committed.", Refs: []string{"KIP-98"}, Run: franzFenced},
	{ID: "clients.franz-go.exactly-once", Says: "A group of franz-go that copies a topic in transactions, some aborted and one left open, copies each record once.", Refs: []string{"KIP-447"}, Limit: time.Minute, Run: franzExactlyOnce},
	{ID: "clients.franz-go.admin", Says: "franz-go's admin client makes, changes, describes and deletes topics and groups.", Run: franzAdmin},
}

// franzWrites produces records, which must succeed.
func franzWrites(t *scenario.T, cl *kgo.Client, records ...*kgo.Record) {
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatalf("produce by franz-go: %v", err)
	}
}

// numberedRecords are n records of a topic, of a partition each has in turn, whose
// values are numbers from a first one.
func numberedRecords(topic string, partitions, from, n int) (all []*kgo.Record) {
	for i := range n {
		all = append(all, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: fmt.Append(nil, from+i)})
	}
	return all
}

// inAnyOrder fails unless two lists hold the same, in any order.
func inAnyOrder(t *scenario.T, what string, got, want []string) {
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
	t.Fatalf("%s: %s are missing, %s too many", what, scenario.Plain(missing), scenario.Plain(more))
}

func franzCodecs(t *scenario.T) {
	topic := t.Topic(1)
	start := time.UnixMilli(time.Now().UnixMilli())
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Part(name)
		producer := client.Franz(t, kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(5*time.Millisecond))
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
		reader := client.Franz(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(sent[0].Offset)}}))
		for i, r := range client.FranzReads(t, reader, len(sent)) {
			scenario.Equal(t, fmt.Sprint("record ", i), franzSays(r), franzSays(sent[i]))
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

func franzBroken(t *scenario.T) {
	const n, cuts = 2000, 5
	topic := t.Topic(1)
	lossy := client.NewCutter(t)
	producer := client.Franz(t, kgo.Dialer(lossy.DialContext), kgo.ProducerBatchMaxBytes(2000), kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond }))
	franzWrites(t, producer, numberedRecords(topic, 1, 0, 1)...)
	lossy.Left.Store(cuts)
	franzWrites(t, producer, numberedRecords(topic, 1, 1, n-1)...)
	scenario.Equal(t, "broken connections", lossy.Cuts.Load(), cuts)
	reader := client.Franz(t, kgo.ConsumeTopics(topic))
	scenario.EqualLists(t, "values", client.FranzValues(client.FranzReads(t, reader, n)), client.NumbersFrom(0, n))
	scenario.Equal(t, "end of the log", t.EndOffset(topic), n)
}

func franzLarge(t *scenario.T) {
	const size = 5 << 20
	topic := t.Topic(1, fmt.Sprint("max.message.bytes=", size+1024))
	producer := client.Franz(t, kgo.ProducerBatchMaxBytes(size+1024), kgo.ProducerBatchCompression(kgo.NoCompression()))
	franzWrites(t, producer, &kgo.Record{Topic: topic, Value: make([]byte, size)}, &kgo.Record{Topic: topic, Value: []byte("after")})
	reader := client.Franz(t, kgo.ConsumeTopics(topic), kgo.FetchMaxBytes(64<<10), kgo.FetchMaxPartitionBytes(1<<10))
	got := client.FranzReads(t, reader, 2)
	scenario.Equal(t, "bytes of the large one", len(got[0].Value), size)
	scenario.Equal(t, "the one after it", string(got[1].Value), "after")
}

func franzOutOfRange(t *scenario.T) {
	topic := t.Topic(1)
	franzWrites(t, client.Franz(t), numberedRecords(topic, 1, 0, 10)...)
	t.OK("delete records", t.DeleteRecords(topic, 4).ErrorCode)
	at := kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(2)}})
	scenario.EqualLists(t, "values", client.FranzValues(client.FranzReads(t, client.Franz(t, at), 6)), client.NumbersFrom(4, 6))
	strict := client.Franz(t, at, kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	err := strict.PollFetches(t.Context()).Err()
	if !errors.Is(err, kerr.OffsetOutOfRange) {
		t.Fatalf("a consumer that must not reset: got %v, want OFFSET_OUT_OF_RANGE", err)
	}
}

func franzFenced(t *scenario.T) {
	topic, id := t.Topic(1), t.TransactionalID()
	transactional := func() *kgo.Client {
		cl := client.Franz(t, kgo.TransactionalID(id), kgo.TransactionTimeout(time.Minute))
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
	reader := client.Franz(t, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	scenario.EqualLists(t, "committed values", client.FranzValues(client.FranzReads(t, reader, 1)), []string{"of the second"})
}

func franzExactlyOnce(t *scenario.T) {
	const n, partitions = 300, 3
	from, to, group, id := t.Topic(partitions), t.Topic(1), t.Group(), t.TransactionalID()
	franzWrites(t, client.Franz(t, kgo.RecordPartitioner(kgo.ManualPartitioner())), numberedRecords(from, partitions, 0, n)...)
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
		t.Cleanup(s.Close)
		for turn := 1; turn <= lives && copied < n; turn++ {
			copied += franzCopy(t, s, to, turn == lives, turn%3 == 0)
		}
		s.Close()
	}
	reader := client.Franz(t, kgo.ConsumeTopics(to), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	inAnyOrder(t, "copied", client.FranzValues(client.FranzReads(t, reader, n)), client.NumbersFrom(0, n))
}

// franzCopy copies some records in a transaction, and returns how many are committed.
func franzCopy(t *scenario.T, s *kgo.GroupTransactSession, to string, leave, abort bool) int {
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

func franzAdmin(t *scenario.T) {
	admin := kadm.NewClient(client.Franz(t))
	topic, group := t.Name("admin"), t.Group()
	fine := func(what string, err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err := admin.CreateTopic(t.Context(), 2, 1, map[string]*string{"retention.ms": new("1234567")}, topic)
	fine("create a topic", err)
	t.DeleteTopicAtEnd(topic)
	t.Served(topic, 2)
	franzWrites(t, client.Franz(t, kgo.RecordPartitioner(kgo.ManualPartitioner())), numberedRecords(topic, 2, 0, 10)...)

	more, err := admin.CreatePartitions(t.Context(), 1, topic)
	fine("more partitions", err)
	fine("more partitions", more.Error())
	t.Served(topic, 3)
	topics, err := admin.ListTopics(t.Context(), topic)
	fine("list topics", err)
	scenario.Equal(t, "partitions", len(topics[topic].Partitions), 3)

	altered, err := admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: new("7654321")}, {Op: kadm.AppendConfig, Name: "cleanup.policy", Value: new("compact")}}, topic)
	fine("alter settings", err)
	_, err = altered.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	fine("alter settings", err)
	t.Until("the settings", func() bool {
		described, err := admin.DescribeTopicConfigs(t.Context(), topic)
		fine("describe settings", err)
		got := map[string]string{}
		for _, c := range described[0].Configs {
			got[c.Key] = c.MaybeValue()
		}
		return got["retention.ms"] == "7654321" && got["cleanup.policy"] == "delete,compact"
	})

	deleted, err := admin.DeleteRecords(t.Context(), kadm.Offsets{topic: {0: {Topic: topic, Partition: 0, At: 2}}})
	fine("delete records", err)
	fine("delete records", deleted.Error())
	starts, err := admin.ListStartOffsets(t.Context(), topic)
	fine("starts", err)
	ends, err := admin.ListEndOffsets(t.Context(), topic)
	fine("ends", err)
	for p, want := range map[int32][2]int64{0: {2, 5}, 1: {0, 5}, 2: {0, 0}} {
		start, _ := starts.Lookup(topic, p)
		end, _ := ends.Lookup(topic, p)
		scenario.Equal(t, fmt.Sprint("offsets of partition ", p), [2]int64{start.Offset, end.Offset}, want)
	}

	fine("commit", admin.CommitAllOffsets(t.Context(), group, kadm.Offsets{topic: {0: {Topic: topic, Partition: 0, At: 4}, 1: {Topic: topic, Partition: 1, At: 1}}}))
	lags, err := admin.Lag(t.Context(), group)
	fine("lag", err)
	lag := lags[group]
	fine("lag", lag.Error())
	scenario.Equal(t, "lag of the group", lag.Lag.Total(), 5)
	removed, err := admin.DeleteGroups(t.Context(), group)
	fine("delete the group", err)
	fine("delete the group", removed.Error())
	gone, err := admin.DeleteTopics(t.Context(), topic)
	fine("delete the topic", err)
	fine("delete the topic", gone.Error())
	t.Until("the topic's end", func() bool { return !t.TopicExists(topic) })
}
