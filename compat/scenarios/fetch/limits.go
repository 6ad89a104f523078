package fetch

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// limitsScenarios are about how much a fetch returns.
var limitsScenarios = []scenario.Scenario{
	{ID: "fetch.min-bytes", Says: "A fetch waits until min_bytes are there.", Run: fetchMinBytes},
	{ID: "fetch.first-batch-whole", Says: "The first batch is returned whole even when it is larger than every limit.", Refs: []string{"KIP-74"}, Run: fetchFirstBatchWhole},
	{ID: "fetch.partition-max-bytes", Says: "Each partition returns at most its own limit.", Refs: []string{"KIP-74"}, Run: fetchPartitionMaxBytes},
	{ID: "fetch.max-bytes", Says: "All partitions together return at most max_bytes.", Refs: []string{"KIP-74"}, Run: fetchMaxBytes},
	{ID: "fetch.middle-of-batch", Says: "A fetch in the middle of a batch returns that batch from its beginning.", Run: fetchMiddleOfBatch},
	{ID: "fetch.max-bytes-zero", Says: "Limits of 0 bytes still return the first batch.", Refs: []string{"KIP-74"}, Run: fetchZeroBytes},
	{ID: "fetch.limits.cut-first", Says: "A first batch that what is left of the limits would cut is left out, and so are the aborted transactions.", Run: cutFirst}, // Found by a differential run.
}

func fetchMinBytes(t *scenario.T) {
	topic := t.Topic(1)
	version := t.Newest(kmsg.Fetch, 11)
	t.Append(topic, scenario.PlainBatch("a"))
	req := t.FetchRequest(version, topic, scenario.Fetching{Offset: 0})
	req.MinBytes, req.MaxWaitMillis = 1000, 400
	began := time.Now()
	p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, version, req).Topics).Partitions)
	if took := time.Since(began); took < 350*time.Millisecond {
		t.Fatalf("answered after %v with %d bytes, want to wait for 1000 or 400 ms", took, len(p.RecordBatches))
	}
	scenario.EqualLists(t, "what there is", scenario.Values(t.Records(p.RecordBatches)), []string{"a"})
}

func fetchFirstBatchWhole(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.BigBatch(5000))
	t.Append(topic, scenario.BigBatch(5000))
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.FetchRequest(v, topic, scenario.Fetching{MaxBytes: 1})
		req.MaxBytes = 1
		p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		scenario.EqualLists(t, "offsets", scenario.Offsets(t.Records(p.RecordBatches)), []int64{0})
	})
}

func fetchPartitionMaxBytes(t *scenario.T) {
	topic := t.Topic(1)
	size := len(scenario.BigBatch(1000).Bytes())
	for range 5 {
		t.Append(topic, scenario.BigBatch(1000))
	}
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.FetchRequest(v, topic, scenario.Fetching{MaxBytes: int32(2*size + size/2)})
		p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		scenario.EqualLists(t, "whole batches", scenario.Offsets(t.Records(p.RecordBatches)), []int64{0, 1})
		if len(p.RecordBatches) > 2*size+size/2 {
			t.Fatalf("%d bytes, more than the limit of %d", len(p.RecordBatches), 2*size+size/2)
		}
	})
}

func fetchMaxBytes(t *scenario.T) {
	topic := t.Topic(3)
	size := len(scenario.BigBatch(1000).Bytes())
	version := t.Newest(kmsg.Produce, 9)
	for p := range int32(3) {
		scenario.Ask[*kmsg.ProduceResponse](t, version, t.ProduceRequest(version, -1, topic, scenario.Portion{Partition: p, Records: scenario.BigBatch(1000).Bytes()}))
	}
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.FetchRequest(v, topic, scenario.Fetching{Partition: 0}, scenario.Fetching{Partition: 1}, scenario.Fetching{Partition: 2})
		req.MaxBytes = int32(2 * size)
		total := 0
		for _, p := range scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions {
			t.OK("partition", p.ErrorCode)
			total += len(p.RecordBatches)
		}
		scenario.Equal(t, "bytes", total, 2*size)
	})
}

func fetchMiddleOfBatch(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a", "b", "c"))
	for _, codec := range []int16{scenario.CodecNone, scenario.CodecGzip} {
		b := scenario.PlainBatch("d", "e", "f")
		b.Codec = codec
		at := t.Append(topic, b)
		scenario.EqualLists(t, "offsets", scenario.Offsets(t.Read(topic, at+1)), []int64{at, at + 1, at + 2})
	}
}

func fetchZeroBytes(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a"))
	t.Append(topic, scenario.PlainBatch("b"))
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.FetchRequest(v, topic, scenario.Fetching{})
		req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = 0, 0
		p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		t.OK("fetch", p.ErrorCode)
		scenario.EqualLists(t, "values", scenario.Values(t.Records(p.RecordBatches)), []string{"a"})
	})
}

func cutFirst(t *scenario.T) {
	topic := t.Topic(2)
	t.AppendTo(topic, 0, scenario.PlainBatch("a"))
	t.AppendTo(topic, 1, scenario.PlainBatch("b"))
	size := len(t.Fetch(11, topic, 0).RecordBatches)
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		for room, want := range map[int]int{0: 0, 1: 0, size - 1: 0, size: size, size + 1: size} {
			for isolation := range int8(2) {
				// The first answer is whole whatever the limits are; what they leave is the other's.
				req := t.FetchRequest(v, topic, scenario.Fetching{Partition: 1}, scenario.Fetching{Partition: 0})
				req.MaxBytes, req.IsolationLevel = int32(size+room), isolation
				parts := scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions
				other := parts[slices.IndexFunc(parts, func(p kmsg.FetchResponseTopicPartition) bool { return p.Partition == 0 })]
				scenario.Equal(t, fmt.Sprintf("bytes with room for %d of %d", room, size), len(other.RecordBatches), want)
				told := isolation == 1 && (room == 0 || want > 0)
				scenario.Equal(t, fmt.Sprintf("aborted transactions are not null, with room for %d of %d", room, size), other.AbortedTransactions != nil, told)
			}
		}
	})
}
