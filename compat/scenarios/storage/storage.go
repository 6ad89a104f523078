package storage

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// All are the scenarios of the area.
var All = []scenario.Scenario{
	{ID: "storage.delete-all-then-produce", Says: "After all records are deleted offsets go on where they were.", Refs: []string{"kfake@d274f51e", "case ST07"}, Run: deleteAllThenProduce},
	{ID: "storage.delete-to-end-again", Says: "A log may be deleted to its end again and again, across segments.", Refs: []string{"redpanda#7758", "redpanda#6956", "case ST15"}, Run: deleteToEndAgain},
	{ID: "storage.segments", Says: "Records are read across many small segments, from any offset.", Run: readAcrossSegments},
	{ID: "storage.segment-ms", Says: "Rolling by time leaves no hole in the offsets.", Refs: []string{"redpanda#11403", "case ST11"}, Run: rollByTime},
	{ID: "storage.delete-records.middle", Says: "After a deletion to the middle of a batch fetches begin there, with the whole batch.", Run: deleteToMiddle},
	{ID: "storage.times-across-segments", Says: "Lookups by time find their record across segments.", Run: timesAcrossSegments},
}

func deleteAllThenProduce(t *scenario.T) {
	topic := t.Topic(1)
	for range 10 {
		t.Append(topic, scenario.PlainBatch("a"))
	}
	scenario.Equal(t, "low watermark", t.DeleteRecords(topic, -1).LowWatermark, 10)
	scenario.Equal(t, "base offset", t.Append(topic, scenario.PlainBatch("b")), 10)
	scenario.EqualLists(t, "records", scenario.Values(t.Read(topic, 10)), []string{"b"})
	scenario.Equal(t, "log start", t.StartOffset(topic), 10)
}

func deleteToEndAgain(t *scenario.T) {
	topic := t.Topic(1, "segment.bytes=1048576")
	for round := range int64(4) {
		for range 3 {
			t.Append(topic, scenario.BigBatch(700_000))
		}
		end := (round + 1) * 3
		scenario.Equal(t, "end", t.EndOffset(topic), end)
		scenario.Equal(t, "low watermark", t.DeleteRecords(topic, -1).LowWatermark, end)
		scenario.Equal(t, "start", t.StartOffset(topic), end)
		p := t.Fetch(t.Newest(kmsg.Fetch, 11), topic, end)
		t.OK("fetch", p.ErrorCode)
		scenario.Equal(t, "bytes", len(p.RecordBatches), 0)
	}
}

func readAcrossSegments(t *scenario.T) {
	topic := t.Topic(1, "segment.bytes=1048576")
	const n = 12
	for range n {
		t.Append(topic, scenario.BigBatch(400_000))
	}
	for from := range int64(n) {
		at := from
		for at < n {
			rs := t.Read(topic, at)
			if len(rs) == 0 {
				t.Fatalf("nothing at offset %d of %d", at, n)
			}
			for _, r := range rs {
				scenario.Equal(t, "offset", r.Offset, at)
				at++
			}
		}
	}
}

func rollByTime(t *scenario.T) {
	topic := t.Topic(1, "segment.ms=50")
	for want := range int64(5) {
		scenario.Equal(t, "base offset", t.Append(topic, scenario.PlainBatch("a")), want)
		t.Pause(80 * time.Millisecond)
	}
	var seen []int64
	for len(seen) < 5 {
		seen = append(seen, scenario.Offsets(t.Read(topic, int64(len(seen))))...)
	}
	scenario.EqualLists(t, "offsets", seen, []int64{0, 1, 2, 3, 4})
}

func deleteToMiddle(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a", "b", "c", "d"))
	scenario.Equal(t, "low watermark", t.DeleteRecords(topic, 2).LowWatermark, 2)
	scenario.Equal(t, "start", t.StartOffset(topic), 2)
	scenario.EqualLists(t, "offsets", scenario.Offsets(t.Read(topic, 2)), []int64{0, 1, 2, 3})
}

func timesAcrossSegments(t *scenario.T) {
	topic := t.OldTopic("segment.bytes=1048576")
	for i := range int64(6) {
		b := scenario.BigBatch(500_000)
		b.Records[0].At = 1000 * (i + 1)
		t.Append(topic, b)
	}
	t.Each(kmsg.ListOffsets, 1, 11, func(v int16) {
		for i := range int64(6) {
			t.FindsOffset(v, topic, 1000*(i+1)-1, i, 1000*(i+1))
		}
		t.FindsOffset(v, topic, 6001, -1, -1)
	})
}
