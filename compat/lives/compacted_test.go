package lives

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// TestCompactedRuns writes a key again and again between others, so that compaction
// empties whole segments, and reads the topic with a limit that holds a batch: every
// answer brings a record, for some clients take one that does not for a record that is
// larger than their limit, and give the partition up. At Apache Kafka, set
// log.cleaner.backoff.ms to a second.
func TestCompactedRuns(t *testing.T) {
	within(t, time.Minute, func(t *scenario.T) {
		topic := t.Topic(1, "cleanup.policy=compact", "segment.bytes=1048576", "min.cleanable.dirty.ratio=0")
		for i := range 6 {
			for range 4 { // Each batch is a segment.
				t.Append(topic, third("again", "again", "again"))
			}
			t.Append(topic, third("again", "again", fmt.Sprint("key", i)))
		}
		t.Append(topic, third("again", "again", "end")) // The open segment stays as it is.
		want := []string{"key0", "key1", "key2", "key3", "key4", "again", "key5", "again", "again", "end"}
		t.Until("compaction of all but the open segment", func() bool {
			keys, empty := readNarrow(t, topic)
			return slices.Equal(keys, want) && empty == 0
		})
	}, "log.cleaner.backoff.ms=1000")
}

// third is a batch of records that make three of a batch larger than half a segment.
func third(keys ...string) scenario.Batch {
	var b scenario.Batch
	for _, k := range keys {
		b.Records = append(b.Records, scenario.Record{Key: []byte(k), Value: []byte(strings.Repeat("x", 200_000))})
	}
	return b
}

// readNarrow reads a topic from its start to its end with fetches that are no larger
// than a batch, and returns the keys and how many answers brought no record.
func readNarrow(t *scenario.T, topic string) (keys []string, empty int) {
	const limit = 610_000
	version := t.Newest(kmsg.Fetch, 11)
	end := t.EndOffset(topic)
	for at := t.StartOffset(topic); at < end; {
		req := t.FetchRequest(version, topic, scenario.Fetching{Offset: at, MaxBytes: limit})
		req.MaxBytes = limit
		p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, version, req).Topics).Partitions)
		t.OK("fetch of "+topic, p.ErrorCode)
		batches := t.Batches(p.RecordBatches)
		if len(batches) == 0 {
			t.Fatalf("nothing at offset %d of %d", at, end)
		}
		records := t.Records(p.RecordBatches)
		if len(records) == 0 {
			empty++
		}
		for _, r := range records {
			if r.Offset >= at {
				keys = append(keys, string(r.Key))
			}
		}
		last := batches[len(batches)-1]
		at = last.Base + int64(last.LastDelta) + 1
	}
	return keys, empty
}
