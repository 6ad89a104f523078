package broker

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestCompactedTopic writes to a compacted topic, waits for the cleaner, and reads it
// from the beginning, before and after a restart: the latest value of every key, each
// with its own header, at fewer records than were written. Then the policy is changed to
// delete, and records can be deleted (C05, C09).
func TestCompactedTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		settings := map[string]string{"log.cleaner.backoff.ms": "1000"}
		w := start(t, disk, settings)
		cl := w.client()
		createCompacted(t, cl, "table")
		want := map[string]string{}
		for i := range 300 {
			k, v := fmt.Sprint("key", i%17), fmt.Sprint("value", i)
			r := &kgo.Record{
				Topic: "table", Key: []byte(k), Value: []byte(v),
				Headers: []kgo.RecordHeader{{Key: "of", Value: []byte(k + v)}},
			}
			if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
			want[k] = v
			time.Sleep(2 * time.Millisecond) // Each its own segment.
		}
		time.Sleep(10 * time.Second)
		records, got := readTable(t, w, "table", 300)
		if !maps.Equal(got, want) || records > 100 {
			t.Errorf("%d records, %v; want %v", records, got, want)
		}
		if out := w.log.String(); !strings.Contains(out, `msg="log compacted" dir=/data/table-0`) {
			t.Error("the cleaner told nothing")
		}
		cl.Close()
		w.end()
		w = start(t, disk, settings)
		cl = w.client()
		defer cl.Close()
		if again, got := readTable(t, w, "table", 300); again != records || !maps.Equal(got, want) {
			t.Errorf("after a restart %d records, %v", again, got)
		}
		changePolicy(t, cl, "table", "delete")
		deleteBelow(t, cl, "table", 300)
		w.end()
	})
}

// TestCleanerSettings sets what a broker may say of compaction, and counts the rounds over
// a topic that says nothing of its own.
func TestCleanerSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		settings    map[string]string
		wait        time.Duration
		least, most int
	}{
		"as it is":                {nil, 20 * time.Second, 1, 2},
		"not at all":              {map[string]string{"log.cleaner.enable": "false"}, time.Hour, 0, 0},
		"backoff":                 {map[string]string{"log.cleaner.backoff.ms": "600000"}, 9 * time.Minute, 0, 0},
		"backoff is over":         {map[string]string{"log.cleaner.backoff.ms": "600000"}, 11 * time.Minute, 1, 1},
		"ratio that is not met":   {map[string]string{"log.cleaner.min.cleanable.ratio": "1"}, time.Hour, 0, 0},
		"records are too young":   {map[string]string{"log.cleaner.min.compaction.lag.ms": "1800000"}, 29 * time.Minute, 0, 0},
		"and then old enough":     {map[string]string{"log.cleaner.min.compaction.lag.ms": "1800000"}, 31 * time.Minute, 1, 2},
		"records have waited":     {map[string]string{"log.cleaner.min.cleanable.ratio": "1", "log.cleaner.max.compaction.lag.ms": "1800000"}, 31 * time.Minute, 1, 2},
		"memory for few keys":     {map[string]string{"log.cleaner.dedupe.buffer.size": "240"}, 20 * time.Second, 3, 100},
		"a part of little memory": {map[string]string{"log.cleaner.dedupe.buffer.size": "480", "log.cleaner.io.buffer.load.factor": "0.4"}, 20 * time.Second, 3, 100},
		"slowly":                  {map[string]string{"log.cleaner.io.max.bytes.per.second": "100"}, 30 * time.Second, 0, 0},
		"slowly, to the end":      {map[string]string{"log.cleaner.io.max.bytes.per.second": "100"}, 10 * time.Minute, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, vfs.NewMem(), tc.settings)
				defer w.end()
				cl := w.client()
				defer cl.Close()
				createWith(t, cl, "table", map[string]string{"cleanup.policy": "compact", "segment.ms": "1"})
				for i := range 60 {
					r := &kgo.Record{Topic: "table", Key: fmt.Append(nil, i%30), Value: []byte("v")}
					if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
						t.Fatal(err)
					}
					time.Sleep(2 * time.Millisecond) // Each its own segment.
				}
				time.Sleep(tc.wait)
				n := strings.Count(w.log.String(), `msg="log compacted" dir=/data/table-0`)
				if n < tc.least || n > tc.most {
					t.Errorf("%d rounds, want %d to %d", n, tc.least, tc.most)
				}
			})
		})
	}
}

func createCompacted(t *testing.T, cl *kgo.Client, topic string) {
	t.Helper()
	createWith(t, cl, topic, map[string]string{"cleanup.policy": "compact", "segment.bytes": "1048576", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.1"})
}

func createWith(t *testing.T, cl *kgo.Client, topic string, settings map[string]string) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, 1, 1
	for name, value := range settings {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, &value
		rt.Configs = append(rt.Configs, c)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil || resp.Topics[0].ErrorCode != 0 {
		t.Fatal(resp, err)
	}
}

// readTable reads a topic up to the record at offset end-1.
func readTable(t *testing.T, w *world, topic string, end int64) (records int, values map[string]string) {
	t.Helper()
	cl := w.client(kgo.ConsumeTopics(topic))
	defer cl.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	values = map[string]string{}
	for at := int64(0); at < end; {
		f := cl.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("after %d records: %v", records, err)
		}
		f.EachRecord(func(r *kgo.Record) {
			if len(r.Headers) != 1 || string(r.Headers[0].Value) != string(r.Key)+string(r.Value) {
				t.Errorf("record %s=%s has the headers %v", r.Key, r.Value, r.Headers)
			}
			values[string(r.Key)] = string(r.Value)
			records++
			at = r.Offset + 1
		})
	}
	return records, values
}

func changePolicy(t *testing.T, cl *kgo.Client, topic, policy string) {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = "cleanup.policy", &policy
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil || resp.Resources[0].ErrorCode != 0 {
		t.Fatal(resp, err)
	}
}

func deleteBelow(t *testing.T, cl *kgo.Client, topic string, offset int64) {
	t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = topic
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = offset
	rt.Partitions = append(rt.Partitions, p)
	req.Topics = append(req.Topics, rt)
	req.TimeoutMillis = 1000
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 || resp.Topics[0].Partitions[0].LowWatermark != offset {
		t.Fatal(resp, err)
	}
}
