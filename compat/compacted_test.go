package compat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestCompactedRuns writes a key again and again between others, so that compaction
// empties whole segments, and reads the topic with a limit that holds a batch: every
// answer brings a record, for some clients take one that does not for a record that is
// larger than their limit, and give the partition up. At Apache Kafka, set
// log.cleaner.backoff.ms to a second.
func TestCompactedRuns(t *testing.T) {
	within(t, time.Minute, func(t *T) {
		topic := t.Topic(1, "cleanup.policy=compact", "segment.bytes=1048576", "min.cleanable.dirty.ratio=0")
		for i := range 6 {
			for range 4 { // Each batch is a segment.
				t.append(topic, third("again", "again", "again"))
			}
			t.append(topic, third("again", "again", fmt.Sprint("key", i)))
		}
		t.append(topic, third("again", "again", "end")) // The open segment stays as it is.
		want := []string{"key0", "key1", "key2", "key3", "key4", "again", "key5", "again", "again", "end"}
		t.until("compaction of all but the open segment", func() bool {
			keys, empty := t.readNarrow(topic)
			return slices.Equal(keys, want) && empty == 0
		})
	}, "log.cleaner.backoff.ms=1000")
}

// third is a batch of records that make three of a batch larger than half a segment.
func third(keys ...string) batch {
	var b batch
	for _, k := range keys {
		b.records = append(b.records, record{key: []byte(k), value: []byte(strings.Repeat("x", 200_000))})
	}
	return b
}

// readNarrow reads a topic from its start to its end with fetches that are no larger
// than a batch, and returns the keys and how many answers brought no record.
func (t *T) readNarrow(topic string) (keys []string, empty int) {
	const limit = 610_000
	version := t.newest(kmsg.Fetch, 11)
	end := t.endOffset(topic)
	for at := t.startOffset(topic); at < end; {
		req := t.fetchRequest(version, topic, fetching{offset: at, maxBytes: limit})
		req.MaxBytes = limit
		p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, version, req).Topics).Partitions)
		t.ok("fetch of "+topic, p.ErrorCode)
		batches := t.batches(p.RecordBatches)
		if len(batches) == 0 {
			t.Fatalf("nothing at offset %d of %d", at, end)
		}
		records := t.records(p.RecordBatches)
		if len(records) == 0 {
			empty++
		}
		for _, r := range records {
			if r.offset >= at {
				keys = append(keys, string(r.key))
			}
		}
		last := batches[len(batches)-1]
		at = last.base + int64(last.lastDelta) + 1
	}
	return keys, empty
}
