package api

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestDeleteRecords is cases A21, F21 and ST07.
func TestDeleteRecords(t *testing.T) {
	n := newNode(t, 2)
	id := n.topic("t", 1, 1)
	n.topic(consumerOffsets, 2, 1)
	compacted := n.topicConfig("")
	compacted.Log.Delete, compacted.Log.Compact = false, true
	n.config["compacted"] = compacted
	n.topic("compacted", 3, 1)
	n.fill("t", 0, "a", "b", "c")
	for _, tc := range []struct {
		topic  string
		offset int64
		code   int16
		low    int64
	}{
		{"t", 1, 0, 1},
		{"t", 4, kerr.OffsetOutOfRange.Code, -1},
		{"t", -2, kerr.OffsetOutOfRange.Code, -1},
		{"t", -1, 0, 3},
		{"nope", 0, kerr.UnknownTopicOrPartition.Code, -1},
		{consumerOffsets, 0, kerr.InvalidTopicException.Code, -1},
		{"compacted", 0, kerr.PolicyViolation.Code, -1},
	} {
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.Version, req.TimeoutMillis = 2, 1000
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Offset = tc.offset
		req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: tc.topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{p}}}
		got := ask(t, n.Env, req).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
		if got.ErrorCode != tc.code || got.LowWatermark != tc.low {
			t.Errorf("%s %d: %+v", tc.topic, tc.offset, got)
		}
	}
	req := fetchOf(12, "t", id, want1{0, 3})
	req.MaxWaitMillis = 0
	if p := askFetch(t, n, req).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.LogStartOffset != 3 {
		t.Errorf("fetch at the new start: %+v", p)
	}
	if got := askProduce(t, n, produceOf(9, -1, "t", id, records("d"))); got[0] != (produced{0, 3}) {
		t.Errorf("produce after all was deleted: %+v", got)
	}
}

// TestDeleteRecordsTwice: of a partition that is named more than once, what is said
// last is done, and each topic and partition is answered once.
func TestDeleteRecordsTwice(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 2)
	n.topic("u", 2, 1)
	n.fill("t", 0, "a", "b", "c", "d")
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = 2, 1000
	for _, t := range []struct {
		topic string
		parts []kmsg.DeleteRecordsRequestTopicPartition
	}{
		{"t", []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 4}, {Partition: 1}, {Partition: 0, Offset: 3}}},
		{"u", nil},
		{"t", []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 2}}},
	} {
		req.Topics = append(req.Topics, kmsg.DeleteRecordsRequestTopic{Topic: t.topic, Partitions: t.parts})
	}
	got := ask(t, n.Env, req).(*kmsg.DeleteRecordsResponse).Topics
	want := []kmsg.DeleteRecordsResponseTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsResponseTopicPartition{{Partition: 0, LowWatermark: 2}, {Partition: 1}}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreTypes(kmsg.Tags{})); diff != "" {
		t.Error(diff)
	}
	if start := n.partition("t", 0).LogStart(); start != 2 {
		t.Errorf("the log starts at %d, want what was said last, 2", start)
	}
}

// TestDeleteRecordsWaitsForReplicas: a live replica that does not follow keeps the
// answer until the time is up.
func TestDeleteRecordsWaitsForReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 2)
		id := n.topic("t", 1, 1, 1, 2)
		n.fill("t", 0, "a")
		follow := fetchOf(17, "", id, want1{0, 1})
		follow.MaxWaitMillis, follow.ReplicaState.ID, follow.ReplicaState.Epoch = 0, 2, 11
		askFetch(t, n, follow)
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.Version, req.TimeoutMillis = 2, 3000
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Offset = 1
		req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{p}}}
		began := time.Now()
		got := ask(t, n.Env, req).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
		if got.ErrorCode != kerr.RequestTimedOut.Code || time.Since(began) != 3*time.Second {
			t.Errorf("%+v after %v", got, time.Since(began))
		}
	})
}
