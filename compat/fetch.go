package compat

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var fetchScenarios = []Scenario{
	{ID: "fetch.versions", Says: "Fetch returns records, high watermark, stable offset and log start in every version.", Run: fetchVersions},
	{ID: "fetch.at-end", Says: "A fetch at the end is empty; one past it is OFFSET_OUT_OF_RANGE.", Refs: []string{"redpanda#4181", "rskafka PR 150", "case F01"}, Run: fetchAtEnd},
	{ID: "fetch.below-start", Says: "A fetch below the log start is OFFSET_OUT_OF_RANGE with offsets -1.", Run: fetchBelowStart},
	{ID: "fetch.waits", Says: "A fetch of an empty partition is answered after max_wait, empty, or as soon as data comes.", Refs: []string{"nisshi#668", "case F03"}, Run: fetchWaits},
	{ID: "fetch.min-bytes", Says: "A fetch waits until min_bytes are there.", Run: fetchMinBytes},
	{ID: "fetch.unknown-partition", Says: "A missing partition is an error entry of its own number.", Refs: []string{"redpanda#126", "case F07"}, Run: fetchUnknownPartition},
	{ID: "fetch.unknown-topic", Says: "A missing topic is UNKNOWN_TOPIC_OR_PARTITION; a missing id UNKNOWN_TOPIC_ID.", Refs: []string{"KIP-516"}, Run: fetchUnknownTopic},
	{ID: "fetch.error-does-not-wait", Says: "A fetch with an error of a partition that is here does not wait; one of a partition that is not does.", Run: fetchErrorDoesNotWait},
	{ID: "fetch.never-times-out", Says: "An idle fetch of several partitions is never REQUEST_TIMED_OUT.", Refs: []string{"kop#604", "redpanda#8688", "case F19"}, Run: fetchNeverTimesOut},
	{ID: "fetch.truncated-to-end", Says: "A partition whose records are all deleted is fetched empty at its start.", Refs: []string{"redpanda#7758", "case F21"}, Run: fetchTruncatedToEnd},
	{ID: "fetch.first-batch-whole", Says: "The first batch is returned whole even when it is larger than every limit.", Refs: []string{"KIP-74"}, Run: fetchFirstBatchWhole},
	{ID: "fetch.partition-max-bytes", Says: "Each partition returns at most its own limit.", Refs: []string{"KIP-74"}, Run: fetchPartitionMaxBytes},
	{ID: "fetch.max-bytes", Says: "All partitions together return at most max_bytes.", Refs: []string{"KIP-74"}, Run: fetchMaxBytes},
	{ID: "fetch.middle-of-batch", Says: "A fetch in the middle of a batch returns that batch from its beginning.", Run: fetchMiddleOfBatch},
	{ID: "fetch.epoch.fencing", Says: "A current leader epoch later than the leader's is UNKNOWN_LEADER_EPOCH; its own, and none, are served.", Refs: []string{"KIP-320"}, Run: fetchEpochFencing},
	{ID: "fetch.epoch.diverging", Says: "A fetch past the end of its last fetched epoch is told where that ends; an epoch later than the leader's is OFFSET_OUT_OF_RANGE.", Refs: []string{"KIP-595"}, Run: fetchDiverging},
	{ID: "fetch.zstd-before-v10", Says: "Since nothing is converted down any more, zstd is returned to every version.", Refs: []string{"KIP-110", "KIP-896"}, Since: "4.0", Run: fetchOldZstd},
	{ID: "fetch.aborted-list", Says: "The list of aborted transactions is null when uncommitted records are read, and empty when there is none.", Refs: []string{"redpanda PR 18852", "case F05"}, Run: fetchAbortedList},
	{ID: "fetch.duplicate-partition", Says: "Records of one topic asked for twice are answered, not refused.", Run: fetchTwice},
	{ID: "fetch.leader-epoch-in-batch", Says: "Batches carry the leader epoch that wrote them.", Run: fetchBatchEpoch},
}

func fetchVersions(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a", "b"))
	t.append(topic, plainBatch("c"))
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		resp := ask[*kmsg.FetchResponse](t, v, t.fetchRequest(v, topic, fetching{offset: 0}))
		t.ok("fetch", resp.ErrorCode)
		equal(t, "session", resp.SessionID, 0)
		rt := one(t, "topics", resp.Topics)
		if v < 13 {
			equal(t, "topic", rt.Topic, topic)
		} else {
			equal(t, "topic id", rt.TopicID, t.topicID(topic))
		}
		p := one(t, "partitions", rt.Partitions)
		t.ok("partition", p.ErrorCode)
		equal(t, "high watermark", p.HighWatermark, 3)
		equal(t, "stable offset", p.LastStableOffset, 3)
		if v >= 5 {
			equal(t, "log start", p.LogStartOffset, 0)
		}
		if v >= 11 {
			equal(t, "preferred replica", p.PreferredReadReplica, -1)
		}
		equals(t, "values", values(t.records(p.RecordBatches)), []string{"a", "b", "c"})
		equals(t, "offsets", offsets(t.records(p.RecordBatches)), []int64{0, 1, 2})
	})
}

func fetchAtEnd(t *T) {
	topic := t.Topic(1)
	for range 10 {
		t.append(topic, plainBatch("a"))
	}
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		p := t.fetch(v, topic, 10)
		t.ok("at the end", p.ErrorCode)
		equal(t, "bytes", len(p.RecordBatches), 0)
		equal(t, "high watermark", p.HighWatermark, 10)
		p = t.fetch(v, topic, 11)
		t.code("past the end", p.ErrorCode, kerr.OffsetOutOfRange)
		equal(t, "high watermark", p.HighWatermark, -1)
		equal(t, "stable offset", p.LastStableOffset, -1)
		equal(t, "bytes", len(p.RecordBatches), 0)
	})
}

func fetchBelowStart(t *T) {
	topic := t.Topic(1)
	for range 5 {
		t.append(topic, plainBatch("a"))
	}
	equal(t, "low watermark", t.deleteRecords(topic, 3).LowWatermark, 3)
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		for _, offset := range []int64{0, 2, -1, -2, math.MinInt64} {
			p := t.fetch(v, topic, offset)
			t.code(fmt.Sprintf("offset %d", offset), p.ErrorCode, kerr.OffsetOutOfRange)
			equal(t, "high watermark", p.HighWatermark, -1)
			if v >= 5 {
				equal(t, "log start", p.LogStartOffset, -1)
			}
		}
		p := t.fetch(v, topic, 3)
		t.ok("at the start", p.ErrorCode)
		if v >= 5 {
			equal(t, "log start", p.LogStartOffset, 3)
		}
	})
}

func fetchWaits(t *T) {
	topic := t.Topic(1)
	version := t.newest(kmsg.Fetch, 11)
	req := t.fetchRequest(version, topic, fetching{offset: 0})
	req.MaxWaitMillis = 500
	began := time.Now()
	resp := ask[*kmsg.FetchResponse](t, version, req)
	took := time.Since(began)
	p := one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
	t.ok("empty", p.ErrorCode)
	equal(t, "bytes", len(p.RecordBatches), 0)
	if took < 450*time.Millisecond || took > 3*time.Second {
		t.Fatalf("answered after %v, want about 500 ms", took)
	}

	req.MaxWaitMillis = 8000
	c := t.Dial()
	began = time.Now()
	pending := t.send(c, version, req)
	t.append(topic, plainBatch("a"))
	p = one(t, "partitions", one(t, "topics", receive[*kmsg.FetchResponse](t, c, pending).Topics).Partitions)
	equals(t, "values", values(t.records(p.RecordBatches)), []string{"a"})
	if took := time.Since(began); took > 4*time.Second {
		t.Fatalf("data came, the answer only after %v", took)
	}
}

func fetchMinBytes(t *T) {
	topic := t.Topic(1)
	version := t.newest(kmsg.Fetch, 11)
	t.append(topic, plainBatch("a"))
	req := t.fetchRequest(version, topic, fetching{offset: 0})
	req.MinBytes, req.MaxWaitMillis = 1000, 400
	began := time.Now()
	p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, version, req).Topics).Partitions)
	if took := time.Since(began); took < 350*time.Millisecond {
		t.Fatalf("answered after %v with %d bytes, want to wait for 1000 or 400 ms", took, len(p.RecordBatches))
	}
	equals(t, "what there is", values(t.records(p.RecordBatches)), []string{"a"})
}

func fetchUnknownPartition(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a"))
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		resp := ask[*kmsg.FetchResponse](t, v, t.fetchRequest(v, topic, fetching{partition: 0}, fetching{partition: 7}))
		got := map[int32]kmsg.FetchResponseTopicPartition{}
		for _, rt := range resp.Topics {
			for _, p := range rt.Partitions {
				got[p.Partition] = p
			}
		}
		equal(t, "partitions", len(got), 2)
		t.ok("partition 0", got[0].ErrorCode)
		t.code("partition 7", got[7].ErrorCode, kerr.UnknownTopicOrPartition)
		equal(t, "high watermark of 7", got[7].HighWatermark, -1)
	})
}

func fetchUnknownTopic(t *T) {
	name := t.name("missing")
	t.TakeTopicID(name, [16]byte{9, 9, 9})
	t.each(kmsg.Fetch, 4, 12, func(v int16) {
		t.code("fetch", t.fetch(v, name, 0).ErrorCode, kerr.UnknownTopicOrPartition)
	})
	t.each(kmsg.Fetch, 13, 18, func(v int16) {
		t.code("fetch", t.fetch(v, name, 0).ErrorCode, kerr.UnknownTopicID)
	})
	t.TakeTopicID(name, [16]byte{})
	t.each(kmsg.Fetch, 13, 18, func(v int16) {
		t.code("the zero id", t.fetch(v, name, 0).ErrorCode, kerr.UnknownTopicID)
	})
}

func fetchErrorDoesNotWait(t *T) {
	topic := t.Topic(2)
	version := t.newest(kmsg.Fetch, 11)
	took := func(wait int32, parts ...fetching) time.Duration {
		req := t.fetchRequest(version, topic, parts...)
		req.MaxWaitMillis = wait
		began := time.Now()
		ask[*kmsg.FetchResponse](t, version, req)
		return time.Since(began)
	}
	if d := took(8000, fetching{partition: 0}, fetching{partition: 1, offset: 100}); d > 4*time.Second {
		t.Fatalf("with an offset out of range answered only after %v", d)
	}
	if d := took(8000, fetching{partition: 5}); d > 4*time.Second {
		t.Fatalf("with nothing but an unknown partition answered only after %v", d)
	}
	// KafkaApis.handleFetchRequest puts unknown partitions aside before it waits.
	if d := took(300, fetching{partition: 0}, fetching{partition: 5}); d < 250*time.Millisecond {
		t.Fatalf("with an unknown partition beside an idle one answered after %v already", d)
	}
}

func fetchNeverTimesOut(t *T) {
	topic := t.Topic(2)
	version := t.newest(kmsg.Fetch, 11)
	for i := range 1000 {
		req := t.fetchRequest(version, topic, fetching{partition: 0}, fetching{partition: 1})
		if i%100 == 0 {
			req.MaxWaitMillis = 1
		}
		resp := ask[*kmsg.FetchResponse](t, version, req)
		t.ok("fetch", resp.ErrorCode)
		for _, p := range one(t, "topics", resp.Topics).Partitions {
			t.ok("partition", p.ErrorCode)
		}
	}
}

func fetchTruncatedToEnd(t *T) {
	topic := t.Topic(1)
	for range 10 {
		t.append(topic, plainBatch("a"))
	}
	equal(t, "low watermark", t.deleteRecords(topic, 10).LowWatermark, 10)
	t.each(kmsg.Fetch, 5, 18, func(v int16) {
		p := t.fetch(v, topic, 10)
		t.ok("fetch", p.ErrorCode)
		equal(t, "bytes", len(p.RecordBatches), 0)
		equal(t, "log start", p.LogStartOffset, 10)
		equal(t, "high watermark", p.HighWatermark, 10)
	})
}

// big is a batch of one record of about n bytes.
func big(n int) batch {
	return batch{records: []record{{key: []byte("k"), value: slices.Repeat([]byte{'x'}, n)}}}
}

func fetchFirstBatchWhole(t *T) {
	topic := t.Topic(1)
	t.append(topic, big(5000))
	t.append(topic, big(5000))
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.fetchRequest(v, topic, fetching{maxBytes: 1})
		req.MaxBytes = 1
		p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		equals(t, "offsets", offsets(t.records(p.RecordBatches)), []int64{0})
	})
}

func fetchPartitionMaxBytes(t *T) {
	topic := t.Topic(1)
	size := len(big(1000).bytes())
	for range 5 {
		t.append(topic, big(1000))
	}
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.fetchRequest(v, topic, fetching{maxBytes: int32(2*size + size/2)})
		p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		equals(t, "whole batches", offsets(t.records(p.RecordBatches)), []int64{0, 1})
		if len(p.RecordBatches) > 2*size+size/2 {
			t.Fatalf("%d bytes, more than the limit of %d", len(p.RecordBatches), 2*size+size/2)
		}
	})
}

func fetchMaxBytes(t *T) {
	topic := t.Topic(3)
	size := len(big(1000).bytes())
	version := t.newest(kmsg.Produce, 9)
	for p := range int32(3) {
		ask[*kmsg.ProduceResponse](t, version, t.produceRequest(version, -1, topic, portion{p, big(1000).bytes()}))
	}
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.fetchRequest(v, topic, fetching{partition: 0}, fetching{partition: 1}, fetching{partition: 2})
		req.MaxBytes = int32(2 * size)
		total := 0
		for _, p := range one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions {
			t.ok("partition", p.ErrorCode)
			total += len(p.RecordBatches)
		}
		equal(t, "bytes", total, 2*size)
	})
}

func fetchMiddleOfBatch(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a", "b", "c"))
	for _, codec := range []int16{codecNone, codecGzip} {
		b := plainBatch("d", "e", "f")
		b.codec = codec
		at := t.append(topic, b)
		equals(t, "offsets", offsets(t.read(topic, at+1)), []int64{at, at + 1, at + 2})
	}
}

func fetchEpochFencing(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a"))
	t.each(kmsg.Fetch, 9, 18, func(v int16) {
		for epoch, want := range map[int32]*kerr.Error{-1: nil, 0: nil, 1: kerr.UnknownLeaderEpoch, 1000: kerr.UnknownLeaderEpoch} {
			req := t.fetchRequest(v, topic, fetching{})
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
			p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
			t.code(fmt.Sprintf("epoch %d", epoch), p.ErrorCode, want)
		}
	})
}

func fetchDiverging(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a", "b"))
	t.each(kmsg.Fetch, 12, 18, func(v int16) {
		req := t.fetchRequest(v, topic, fetching{offset: 1, lastEpoch: 3})
		p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		// The leader is of epoch 0: it does not know a later one, and so cannot say
		// where it ends (FetchRequest with lastFetchedEpoch, Partition.readRecords).
		t.code("an epoch that never was", p.ErrorCode, kerr.OffsetOutOfRange)
		req = t.fetchRequest(v, topic, fetching{offset: 1})
		req.Topics[0].Partitions[0].LastFetchedEpoch = 0
		p = one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		t.ok("the same epoch", p.ErrorCode)
		equals(t, "offsets", offsets(t.records(p.RecordBatches)), []int64{0, 1})
		equal(t, "diverging epoch", p.DivergingEpoch.Epoch, -1)
		req.Topics[0].Partitions[0].FetchOffset = 5
		p = one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		t.ok("past the end of its epoch", p.ErrorCode)
		equal(t, "bytes", len(p.RecordBatches), 0)
		equal(t, "diverging epoch", p.DivergingEpoch.Epoch, 0)
		equal(t, "diverging end", p.DivergingEpoch.EndOffset, 2)
	})
}

func fetchOldZstd(t *T) {
	topic := t.Topic(1, "compression.type=zstd")
	t.append(topic, plainBatch("a"))
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		p := t.fetch(v, topic, 0)
		t.ok("fetch", p.ErrorCode)
		equals(t, "values", values(t.records(p.RecordBatches)), []string{"a"})
	})
}

func fetchAbortedList(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a"))
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.fetchRequest(v, topic, fetching{})
		p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		equal(t, "uncommitted: null", p.AbortedTransactions == nil, true)
		req.IsolationLevel = 1
		p = one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		equal(t, "committed: not null", p.AbortedTransactions != nil, true)
		equal(t, "committed: entries", len(p.AbortedTransactions), 0)
		equals(t, "values", values(t.records(p.RecordBatches)), []string{"a"})
	})
}

func fetchTwice(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a"))
	version := t.newest(kmsg.Fetch, 11)
	req := t.fetchRequest(version, topic, fetching{}, fetching{})
	resp := ask[*kmsg.FetchResponse](t, version, req)
	t.ok("fetch", resp.ErrorCode)
	t.ok("partition", one(t, "topics", resp.Topics).Partitions[0].ErrorCode)
}

func fetchBatchEpoch(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a"))
	got := one(t, "batches", t.batches(t.fetch(t.newest(kmsg.Fetch, 11), topic, 0).RecordBatches))
	equal(t, "leader epoch", got.leaderEpoch, 0)
	equal(t, "producer id", got.producer, -1)
	equal(t, "producer epoch", got.epoch, -1)
	equal(t, "sequence", got.sequence, -1)
}
