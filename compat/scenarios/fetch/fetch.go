package fetch

import (
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// fetchScenarios are about what a fetch returns, and when.
var fetchScenarios = []scenario.Scenario{
	{ID: "fetch.versions", Says: "Fetch returns records, high watermark, stable offset and log start in every version.", Run: fetchVersions},
	{ID: "fetch.at-end", Says: "A fetch at the end is empty; one past it is OFFSET_OUT_OF_RANGE.", Refs: []string{"redpanda#4181", "rskafka PR 150", "case F01"}, Run: fetchAtEnd},
	{ID: "fetch.below-start", Says: "A fetch below the log start is OFFSET_OUT_OF_RANGE with offsets -1.", Run: fetchBelowStart},
	{ID: "fetch.waits", Says: "A fetch of an empty partition is answered after max_wait, empty, or as soon as data comes.", Refs: []string{"nisshi#668", "case F03"}, Run: fetchWaits},
	{ID: "fetch.unknown-partition", Says: "A missing partition is an error entry of its own number.", Refs: []string{"redpanda#126", "case F07"}, Run: fetchUnknownPartition},
	{ID: "fetch.unknown-topic", Says: "A missing topic is UNKNOWN_TOPIC_OR_PARTITION; a missing id UNKNOWN_TOPIC_ID.", Refs: []string{"KIP-516"}, Run: fetchUnknownTopic},
	{ID: "fetch.error-does-not-wait", Says: "A fetch with an error of a partition that is here does not wait; one of a partition that is not does.", Run: fetchErrorDoesNotWait},
	{ID: "fetch.never-times-out", Says: "An idle fetch of several partitions is never REQUEST_TIMED_OUT.", Refs: []string{"kop#604", "redpanda#8688", "case F19"}, Run: fetchNeverTimesOut},
	{ID: "fetch.truncated-to-end", Says: "A partition whose records are all deleted is fetched empty at its start.", Refs: []string{"redpanda#7758", "case F21"}, Run: fetchTruncatedToEnd},
	{ID: "fetch.aborted-list", Says: "The list of aborted transactions is null when uncommitted records are read, and empty when there is none.", Refs: []string{"redpanda PR 18852", "case F05"}, Run: fetchAbortedList},
}

func fetchVersions(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a", "b"))
	t.Append(topic, scenario.PlainBatch("c"))
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		resp := scenario.Ask[*kmsg.FetchResponse](t, v, t.FetchRequest(v, topic, scenario.Fetching{Offset: 0}))
		t.OK("fetch", resp.ErrorCode)
		scenario.Equal(t, "session", resp.SessionID, 0)
		rt := scenario.One(t, "topics", resp.Topics)
		if v < 13 {
			scenario.Equal(t, "topic", rt.Topic, topic)
		} else {
			scenario.Equal(t, "topic id", rt.TopicID, t.TopicID(topic))
		}
		p := scenario.One(t, "partitions", rt.Partitions)
		t.OK("partition", p.ErrorCode)
		scenario.Equal(t, "high watermark", p.HighWatermark, 3)
		scenario.Equal(t, "stable offset", p.LastStableOffset, 3)
		if v >= 5 {
			scenario.Equal(t, "log start", p.LogStartOffset, 0)
		}
		if v >= 11 {
			scenario.Equal(t, "preferred replica", p.PreferredReadReplica, -1)
		}
		scenario.EqualLists(t, "values", scenario.Values(t.Records(p.RecordBatches)), []string{"a", "b", "c"})
		scenario.EqualLists(t, "offsets", scenario.Offsets(t.Records(p.RecordBatches)), []int64{0, 1, 2})
	})
}

func fetchAtEnd(t *scenario.T) {
	topic := t.Topic(1)
	for range 10 {
		t.Append(topic, scenario.PlainBatch("a"))
	}
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		p := t.Fetch(v, topic, 10)
		t.OK("at the end", p.ErrorCode)
		scenario.Equal(t, "bytes", len(p.RecordBatches), 0)
		scenario.Equal(t, "high watermark", p.HighWatermark, 10)
		p = t.Fetch(v, topic, 11)
		t.Code("past the end", p.ErrorCode, kerr.OffsetOutOfRange)
		scenario.Equal(t, "high watermark", p.HighWatermark, -1)
		scenario.Equal(t, "stable offset", p.LastStableOffset, -1)
		scenario.Equal(t, "bytes", len(p.RecordBatches), 0)
	})
}

func fetchBelowStart(t *scenario.T) {
	topic := t.Topic(1)
	for range 5 {
		t.Append(topic, scenario.PlainBatch("a"))
	}
	scenario.Equal(t, "low watermark", t.DeleteRecords(topic, 3).LowWatermark, 3)
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		for _, offset := range []int64{0, 2, -1, -2, math.MinInt64} {
			p := t.Fetch(v, topic, offset)
			t.Code(fmt.Sprintf("offset %d", offset), p.ErrorCode, kerr.OffsetOutOfRange)
			scenario.Equal(t, "high watermark", p.HighWatermark, -1)
			if v >= 5 {
				scenario.Equal(t, "log start", p.LogStartOffset, -1)
			}
		}
		p := t.Fetch(v, topic, 3)
		t.OK("at the start", p.ErrorCode)
		if v >= 5 {
			scenario.Equal(t, "log start", p.LogStartOffset, 3)
		}
	})
}

func fetchWaits(t *scenario.T) {
	topic := t.Topic(1)
	version := t.Newest(kmsg.Fetch, 11)
	req := t.FetchRequest(version, topic, scenario.Fetching{Offset: 0})
	req.MaxWaitMillis = 500
	began := time.Now()
	resp := scenario.Ask[*kmsg.FetchResponse](t, version, req)
	took := time.Since(began)
	p := scenario.One(t, "partitions", scenario.One(t, "topics", resp.Topics).Partitions)
	t.OK("empty", p.ErrorCode)
	scenario.Equal(t, "bytes", len(p.RecordBatches), 0)
	if took < 450*time.Millisecond || took > 3*time.Second {
		t.Fatalf("answered after %v, want about 500 ms", took)
	}

	req.MaxWaitMillis = 8000
	c := t.Dial()
	began = time.Now()
	pending := t.Send(c, version, req)
	t.Append(topic, scenario.PlainBatch("a"))
	p = scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Receive[*kmsg.FetchResponse](t, c, pending).Topics).Partitions)
	scenario.EqualLists(t, "values", scenario.Values(t.Records(p.RecordBatches)), []string{"a"})
	if took := time.Since(began); took > 4*time.Second {
		t.Fatalf("data came, the answer only after %v", took)
	}
}

func fetchUnknownPartition(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a"))
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		resp := scenario.Ask[*kmsg.FetchResponse](t, v, t.FetchRequest(v, topic, scenario.Fetching{Partition: 0}, scenario.Fetching{Partition: 7}))
		got := map[int32]kmsg.FetchResponseTopicPartition{}
		for _, rt := range resp.Topics {
			for _, p := range rt.Partitions {
				got[p.Partition] = p
			}
		}
		scenario.Equal(t, "partitions", len(got), 2)
		t.OK("partition 0", got[0].ErrorCode)
		t.Code("partition 7", got[7].ErrorCode, kerr.UnknownTopicOrPartition)
		scenario.Equal(t, "high watermark of 7", got[7].HighWatermark, -1)
	})
}

func fetchUnknownTopic(t *scenario.T) {
	name := t.Name("missing")
	t.TakeTopicID(name, [16]byte{9, 9, 9})
	t.Each(kmsg.Fetch, 4, 12, func(v int16) {
		t.Code("fetch", t.Fetch(v, name, 0).ErrorCode, kerr.UnknownTopicOrPartition)
	})
	t.Each(kmsg.Fetch, 13, 18, func(v int16) {
		t.Code("fetch", t.Fetch(v, name, 0).ErrorCode, kerr.UnknownTopicID)
	})
	t.TakeTopicID(name, [16]byte{})
	t.Each(kmsg.Fetch, 13, 18, func(v int16) {
		t.Code("the zero id", t.Fetch(v, name, 0).ErrorCode, kerr.UnknownTopicID)
	})
}

func fetchErrorDoesNotWait(t *scenario.T) {
	topic := t.Topic(2)
	version := t.Newest(kmsg.Fetch, 11)
	took := func(wait int32, parts ...scenario.Fetching) time.Duration {
		req := t.FetchRequest(version, topic, parts...)
		req.MaxWaitMillis = wait
		began := time.Now()
		scenario.Ask[*kmsg.FetchResponse](t, version, req)
		return time.Since(began)
	}
	if d := took(8000, scenario.Fetching{Partition: 0}, scenario.Fetching{Partition: 1, Offset: 100}); d > 4*time.Second {
		t.Fatalf("with an offset out of range answered only after %v", d)
	}
	if d := took(8000, scenario.Fetching{Partition: 5}); d > 4*time.Second {
		t.Fatalf("with nothing but an unknown partition answered only after %v", d)
	}
	// KafkaApis.handleFetchRequest puts unknown partitions aside before it waits.
	if d := took(300, scenario.Fetching{Partition: 0}, scenario.Fetching{Partition: 5}); d < 250*time.Millisecond {
		t.Fatalf("with an unknown partition beside an idle one answered after %v already", d)
	}
}

func fetchNeverTimesOut(t *scenario.T) {
	topic := t.Topic(2)
	version := t.Newest(kmsg.Fetch, 11)
	for i := range 1000 {
		req := t.FetchRequest(version, topic, scenario.Fetching{Partition: 0}, scenario.Fetching{Partition: 1})
		if i%100 == 0 {
			req.MaxWaitMillis = 1
		}
		resp := scenario.Ask[*kmsg.FetchResponse](t, version, req)
		t.OK("fetch", resp.ErrorCode)
		for _, p := range scenario.One(t, "topics", resp.Topics).Partitions {
			t.OK("partition", p.ErrorCode)
		}
	}
}

func fetchTruncatedToEnd(t *scenario.T) {
	topic := t.Topic(1)
	for range 10 {
		t.Append(topic, scenario.PlainBatch("a"))
	}
	scenario.Equal(t, "low watermark", t.DeleteRecords(topic, 10).LowWatermark, 10)
	t.Each(kmsg.Fetch, 5, 18, func(v int16) {
		p := t.Fetch(v, topic, 10)
		t.OK("fetch", p.ErrorCode)
		scenario.Equal(t, "bytes", len(p.RecordBatches), 0)
		scenario.Equal(t, "log start", p.LogStartOffset, 10)
		scenario.Equal(t, "high watermark", p.HighWatermark, 10)
	})
}

func fetchAbortedList(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a"))
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.FetchRequest(v, topic, scenario.Fetching{})
		p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		scenario.Equal(t, "uncommitted: null", p.AbortedTransactions == nil, true)
		req.IsolationLevel = 1
		p = scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		scenario.Equal(t, "committed: not null", p.AbortedTransactions != nil, true)
		scenario.Equal(t, "committed: entries", len(p.AbortedTransactions), 0)
		scenario.EqualLists(t, "values", scenario.Values(t.Records(p.RecordBatches)), []string{"a"})
	})
}
