package compat

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// storageScenarios are about what shows on the wire of how logs are kept. What
// needs a restart is in tests of package broker.
var storageScenarios = []Scenario{
	{ID: "storage.delete-all-then-produce", Says: "After all records are deleted offsets go on where they were.", Refs: []string{"kfake@d274f51e", "case ST07"}, Run: deleteAllThenProduce},
	{ID: "storage.delete-to-end-again", Says: "A log may be deleted to its end again and again, across segments.", Refs: []string{"redpanda#7758", "redpanda#6956", "case ST15"}, Run: deleteToEndAgain},
	{ID: "storage.segments", Says: "Records are read across many small segments, from any offset.", Run: readAcrossSegments},
	{ID: "storage.segment-ms", Says: "Rolling by time leaves no hole in the offsets.", Refs: []string{"redpanda#11403", "case ST11"}, Run: rollByTime},
	{ID: "storage.delete-records.middle", Says: "After a deletion to the middle of a batch fetches begin there, with the whole batch.", Run: deleteToMiddle},
	{ID: "storage.times-across-segments", Says: "Lookups by time find their record across segments.", Run: timesAcrossSegments},
}

func deleteAllThenProduce(t *T) {
	topic := t.Topic(1)
	for range 10 {
		t.append(topic, plainBatch("a"))
	}
	equal(t, "low watermark", t.deleteRecords(topic, -1).LowWatermark, 10)
	equal(t, "base offset", t.append(topic, plainBatch("b")), 10)
	equals(t, "records", values(t.read(topic, 10)), []string{"b"})
	equal(t, "log start", t.startOffset(topic), 10)
}

func deleteToEndAgain(t *T) {
	topic := t.Topic(1, "segment.bytes=1048576")
	for round := range int64(4) {
		for range 3 {
			t.append(topic, big(700_000))
		}
		end := (round + 1) * 3
		equal(t, "end", t.endOffset(topic), end)
		equal(t, "low watermark", t.deleteRecords(topic, -1).LowWatermark, end)
		equal(t, "start", t.startOffset(topic), end)
		p := t.fetch(t.newest(kmsg.Fetch, 11), topic, end)
		t.ok("fetch", p.ErrorCode)
		equal(t, "bytes", len(p.RecordBatches), 0)
	}
}

func readAcrossSegments(t *T) {
	topic := t.Topic(1, "segment.bytes=1048576")
	const n = 12
	for range n {
		t.append(topic, big(400_000))
	}
	for from := range int64(n) {
		at := from
		for at < n {
			rs := t.read(topic, at)
			if len(rs) == 0 {
				t.Fatalf("nothing at offset %d of %d", at, n)
			}
			for _, r := range rs {
				equal(t, "offset", r.offset, at)
				at++
			}
		}
	}
}

func rollByTime(t *T) {
	topic := t.Topic(1, "segment.ms=50")
	for want := range int64(5) {
		equal(t, "base offset", t.append(topic, plainBatch("a")), want)
		t.pause(80 * time.Millisecond)
	}
	var seen []int64
	for len(seen) < 5 {
		seen = append(seen, offsets(t.read(topic, int64(len(seen))))...)
	}
	equals(t, "offsets", seen, []int64{0, 1, 2, 3, 4})
}

func deleteToMiddle(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a", "b", "c", "d"))
	equal(t, "low watermark", t.deleteRecords(topic, 2).LowWatermark, 2)
	equal(t, "start", t.startOffset(topic), 2)
	equals(t, "offsets", offsets(t.read(topic, 2)), []int64{0, 1, 2, 3})
}

func timesAcrossSegments(t *T) {
	topic := t.OldTopic("segment.bytes=1048576")
	for i := range int64(6) {
		b := big(500_000)
		b.records[0].at = 1000 * (i + 1)
		t.append(topic, b)
	}
	t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
		for i := range int64(6) {
			t.finds(v, topic, 1000*(i+1)-1, i, 1000*(i+1))
		}
		t.finds(v, topic, 6001, -1, -1)
	})
}
