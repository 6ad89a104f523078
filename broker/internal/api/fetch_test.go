package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// want1 is a partition to fetch.
type want1 struct {
	partition int32
	offset    int64
}

// fetchOf is a consumer's request without a session.
func fetchOf(version int16, topic string, id [16]byte, wants ...want1) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = version, 500, 1, 50<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, id
	for _, w := range wants {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = w.partition, w.offset, 1<<20
		t.Partitions = append(t.Partitions, p)
	}
	if len(wants) > 0 {
		req.Topics = append(req.Topics, t)
	}
	return req
}

func askFetch(t *testing.T, n *node1, req *kmsg.FetchRequest) *kmsg.FetchResponse {
	t.Helper()
	return ask(t, n.Env, req).(*kmsg.FetchResponse)
}

// told is what a response says, in short: "0: 3:c 4:d" for records of partition
// 0, "0: error 6" for an error.
func told(t *testing.T, resp *kmsg.FetchResponse) (lines []string) {
	t.Helper()
	if resp.ErrorCode != 0 {
		lines = append(lines, fmt.Sprint("error ", resp.ErrorCode))
	}
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			line := fmt.Sprint(p.Partition, ":")
			if p.ErrorCode != 0 {
				line += fmt.Sprint(" error ", p.ErrorCode)
			}
			for _, v := range valuesIn(t, p.RecordBatches) {
				line += " " + v
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func TestFetchEveryVersion(t *testing.T) {
	n := newNode(t, 1)
	id := n.topic("t", 1, 2)
	n.fill("t", 0, "a", "b", "c")
	n.fill("t", 1, "d")
	for v := int16(4); v <= 18; v++ {
		resp := askFetch(t, n, fetchOf(v, "t", id, want1{0, 1}, want1{1, 0}))
		if diff := cmp.Diff([]string{"0: 1:b 2:c", "1: 0:d"}, told(t, resp)); diff != "" {
			t.Errorf("version %d: %s", v, diff)
		}
		p := resp.Topics[0].Partitions[0]
		if p.HighWatermark != 3 || p.LastStableOffset != 3 || v >= 5 && p.LogStartOffset != 0 || p.AbortedTransactions != nil || p.PreferredReadReplica != -1 {
			t.Errorf("version %d: %+v", v, p)
		}
	}
}

// TestFetchErrors is cases F01 and F07 and their kin: each partition has its own
// answer, under its own number.
func TestFetchErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 2)
		id := n.topic("t", 1, 2)
		there := n.topic("elsewhere", 2, 1, 2)
		n.fill("t", 0, "a", "b", "c")
		epoch := func(current int32) *kmsg.FetchRequest {
			req := fetchOf(12, "t", id, want1{0, 0})
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = current
			return req
		}
		for name, tc := range map[string]struct {
			req  *kmsg.FetchRequest
			want []string
			took time.Duration
		}{
			"at the end":               {fetchOf(12, "t", id, want1{0, 3}), []string{"0:"}, 500 * time.Millisecond},
			"past the end":             {fetchOf(12, "t", id, want1{0, 4}), []string{"0: error 1"}, 0},
			"before the start":         {fetchOf(12, "t", id, want1{0, -1}), []string{"0: error 1"}, 0},
			"one is not there":         {fetchOf(12, "t", id, want1{0, 0}, want1{7, 0}), []string{"0: 0:a 1:b 2:c", "7: error 3"}, 0},
			"none is there":            {fetchOf(12, "t", id, want1{7, 0}), []string{"7: error 3"}, 0},
			"unknown topic":            {fetchOf(12, "nope", id, want1{0, 0}), []string{"0: error 3"}, 0},
			"unknown topic id":         {fetchOf(13, "", [16]byte{7}, want1{0, 0}), []string{"0: error 100"}, 0},
			"another broker's":         {fetchOf(12, "elsewhere", there, want1{0, 0}), []string{"0: error 6"}, 0},
			"an older epoch":           {epoch(4), []string{"0: error 74"}, 0},
			"a newer epoch":            {epoch(6), []string{"0: error 75"}, 0},
			"the epoch":                {epoch(5), []string{"0: 0:a 1:b 2:c"}, 0},
			"nothing is asked":         {fetchOf(12, "t", id), nil, 0},
			"not there beside the end": {fetchOf(12, "t", id, want1{7, 0}, want1{0, 3}), []string{"7: error 3", "0:"}, 500 * time.Millisecond},
		} {
			began := time.Now()
			if diff := cmp.Diff(tc.want, told(t, askFetch(t, n, tc.req))); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if took := time.Since(began); took != tc.took {
				t.Errorf("%s: answered after %v, want %v", name, took, tc.took)
			}
		}
		resp := askFetch(t, n, fetchOf(12, "t", id, want1{0, 4}))
		if p := resp.Topics[0].Partitions[0]; p.HighWatermark != -1 || p.LogStartOffset != -1 || p.LastStableOffset != -1 {
			t.Errorf("out of range: %+v", p)
		}
	})
}

func TestFetchTellsWhoLeads(t *testing.T) {
	n := newNode(t, 2)
	id := n.topic("t", 1, 2, 2)
	for version, want := range map[int16]int32{15: -1, 16: 2} {
		resp := askFetch(t, n, fetchOf(version, "", id, want1{0, 0}, want1{1, 0}))
		for _, p := range resp.Topics[0].Partitions {
			if p.ErrorCode != kerr.NotLeaderForPartition.Code || p.CurrentLeader.LeaderID != want {
				t.Errorf("version %d: %+v", version, p)
			}
		}
		if told := len(resp.Brokers) == 1 && resp.Brokers[0].Host == "host2"; told != (want == 2) {
			t.Errorf("version %d: brokers %+v", version, resp.Brokers)
		}
	}
}

// TestFetchTellsTheEpoch: a client whose epoch is older is told who leads in the one of
// now, and one whose epoch nobody has begun is told nothing.
func TestFetchTellsTheEpoch(t *testing.T) {
	n := newNode(t, 2)
	id := n.topic("t", 1, 1)
	for _, tc := range []struct {
		version int16
		epoch   int32
		code    int16
		leader  int32
	}{
		{15, 4, kerr.FencedLeaderEpoch.Code, -1},
		{16, 4, kerr.FencedLeaderEpoch.Code, 1},
		{16, 6, kerr.UnknownLeaderEpoch.Code, -1},
	} {
		req := fetchOf(tc.version, "", id, want1{0, 0})
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = tc.epoch
		resp := askFetch(t, n, req)
		p := resp.Topics[0].Partitions[0]
		if p.ErrorCode != tc.code || p.CurrentLeader.LeaderID != tc.leader || (p.CurrentLeader.LeaderEpoch == 5) != (tc.leader == 1) {
			t.Errorf("version %d, epoch %d: %+v", tc.version, tc.epoch, p)
		}
		if told := len(resp.Brokers) == 1 && resp.Brokers[0].NodeID == 1; told != (tc.leader == 1) {
			t.Errorf("version %d, epoch %d: brokers %+v", tc.version, tc.epoch, resp.Brokers)
		}
	}
}

// TestFetchWaits is case F03: an empty answer comes when the time is up, and one
// with records at once when there are any.
func TestFetchWaits(t *testing.T) {
	for name, session := range map[string]int32{"without a session": -1, "with one": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t, 1)
				n.topic("t", 1, 2)
				req := fetchOf(12, "t", [16]byte{}, want1{0, 0}, want1{1, 0})
				req.MaxWaitMillis, req.SessionEpoch = 10_000, session
				began := time.Now()
				go func() {
					time.Sleep(3 * time.Second)
					n.fill("t", 1, "late")
				}()
				resp := askFetch(t, n, req)
				if diff := cmp.Diff([]string{"0:", "1: 0:late"}, told(t, resp)); diff != "" || time.Since(began) != 3*time.Second {
					t.Errorf("after %v: %s", time.Since(began), diff)
				}
			})
		})
	}
}

func TestFetchWaitsForEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1)
		n.topic("t", 1, 1)
		size := len(records("x"))
		req := fetchOf(12, "t", [16]byte{}, want1{0, 0})
		req.MaxWaitMillis, req.MinBytes = 10_000, int32(3*size)
		began := time.Now()
		go func() {
			for range 5 {
				time.Sleep(time.Second)
				n.fill("t", 0, "x")
			}
		}()
		resp := askFetch(t, n, req)
		if got := told(t, resp); time.Since(began) != 3*time.Second || len(got) != 1 || got[0] != "0: 0:x 1:x 2:x" {
			t.Errorf("after %v: %v", time.Since(began), got)
		}
		// What cannot be had is not waited for longer than was said.
		req.Topics[0].Partitions[0].FetchOffset, req.MinBytes = 3, 1<<20
		began = time.Now()
		if got := told(t, askFetch(t, n, req)); time.Since(began) != 10*time.Second || len(got) != 1 || got[0] != "0: 3:x 4:x" {
			t.Errorf("after %v: %v", time.Since(began), got)
		}
	})
}

// TestFetchCountsTheCutBatch: a batch that the partition's limit cuts counts for the
// minimum, as in Kafka (ReplicaManager.fetchMessages). Otherwise a consumer whose
// fetch.min.bytes is close to max.partition.fetch.bytes waits out each fetch.
func TestFetchCountsTheCutBatch(t *testing.T) {
	for name, value := range map[string]string{"small batches": "x", "large batches": strings.Repeat("x", 100<<10)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t, 1)
				n.topic("t", 1, 1)
				n.fill("t", 0, value, value, value, value)
				size := int32(len(records(value)))
				req := fetchOf(12, "t", [16]byte{}, want1{0, 0})
				req.MaxWaitMillis, req.MinBytes = 10_000, 2*size+size/2
				req.Topics[0].Partitions[0].PartitionMaxBytes = 2*size + size/2
				began := time.Now()
				resp := askFetch(t, n, req)
				if got := len(resp.Topics[0].Partitions[0].RecordBatches); time.Since(began) != 0 || got != int(req.MinBytes) {
					t.Errorf("%d bytes after %v, want %d at once", got, time.Since(began), req.MinBytes)
				}
			})
		})
	}
}

func TestFetchLimits(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 3)
	size := int32(len(records("a")))
	for p := range int32(3) {
		n.fill("t", p, "a", "b", "c", "d")
	}
	all := []want1{{0, 0}, {1, 0}, {2, 0}}
	for name, tc := range map[string]struct {
		maxBytes, partBytes int32
		want                []string
	}{
		"of the response":    {3 * size, 1 << 20, []string{"0: 0:a 1:b 2:c", "1:", "2:"}},
		"across partitions":  {5 * size, 1 << 20, []string{"0: 0:a 1:b 2:c 3:d", "1: 0:a", "2:"}},
		"of each partition":  {1 << 20, 2 * size, []string{"0: 0:a 1:b", "1: 0:a 1:b", "2: 0:a 1:b"}},
		"the first is whole": {1, 1, []string{"0: 0:a", "1:", "2:"}},
		"may end in a batch": {1 << 20, 2*size + 7, []string{"0: 0:a 1:b", "1: 0:a 1:b", "2: 0:a 1:b"}},
		"none":               {0, 0, []string{"0: 0:a", "1:", "2:"}},
	} {
		t.Run(name, func(t *testing.T) {
			req := fetchOf(12, "t", [16]byte{}, all...)
			req.MaxBytes, req.MaxWaitMillis = tc.maxBytes, 0
			for i := range req.Topics[0].Partitions {
				req.Topics[0].Partitions[i].PartitionMaxBytes = tc.partBytes
			}
			if diff := cmp.Diff(tc.want, told(t, askFetch(t, n, req))); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("of the broker", func(t *testing.T) {
		n.FetchMaxBytes = int(2 * size)
		if diff := cmp.Diff([]string{"0: 0:a 1:b", "1:", "2:"}, told(t, askFetch(t, n, fetchOf(12, "t", [16]byte{}, all...)))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFetchEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1)
		n.topic("t", 1, 1)
		call := callOf(fetchOf(12, "t", [16]byte{}, want1{0, 0}))
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		time.AfterFunc(100*time.Millisecond, func() { cancel(gone) })
		if _, err := n.Serve(ctx, call); !errors.Is(err, gone) {
			t.Errorf("error %v", err)
		}
		drain := make(chan struct{})
		call = callOf(fetchOf(12, "t", [16]byte{}, want1{0, 0}))
		call.Conn.Draining = drain
		time.AfterFunc(100*time.Millisecond, func() { close(drain) })
		began := time.Now()
		answer, err := n.Serve(t.Context(), call)
		if err != nil || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		answer.Release()
	})
}

// TestFetchCommitted is cases F05 and T01: a reader of committed records sees
// nothing past an open transaction, and is told which records to skip.
func TestFetchCommitted(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 1)
	n.topic("filler", 2, 1)
	n.fill("filler", 0, "x")
	m := batch.Plain(0, -1)
	m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = 7, 0, 0, true
	p := n.partition("t", 0)
	appendTo := func(b batch.Batch, o producer.Origin) {
		t.Helper()
		if _, err := p.Append(time.Now(), b, replica.AppendOptions{Acks: replica.AcksLeader, Origin: o, Guard: producer.Trusted}); err != nil {
			t.Fatal(err)
		}
	}
	appendTo(recordsOf(m, "open"), producer.Client)
	n.fill("t", 0, "plain")
	fetch := func(isolation int8) (*kmsg.FetchResponseTopicPartition, string) {
		req := fetchOf(12, "t", [16]byte{}, want1{0, 0})
		req.IsolationLevel, req.MaxWaitMillis = isolation, 0
		resp := askFetch(t, n, req)
		return &resp.Topics[0].Partitions[0], told(t, resp)[0]
	}
	if got, line := fetch(1); line != "0:" || got.LastStableOffset != 0 || got.HighWatermark != 2 || got.AbortedTransactions == nil {
		t.Errorf("committed, open: %q %+v", line, got)
	}
	if got, line := fetch(0); line != "0: 0:open 1:plain" || got.AbortedTransactions != nil {
		t.Errorf("uncommitted, open: %q %+v", line, got)
	}
	end := batch.Plain(0, -1)
	end.ProducerID, end.ProducerEpoch = 7, 0
	appendTo(batch.EndTxn(end, false, 1, time.Now().UnixMilli()), producer.Coordinator)
	got, _ := fetch(1)
	if got.LastStableOffset != 3 || len(got.AbortedTransactions) != 1 || got.AbortedTransactions[0].ProducerID != 7 || got.AbortedTransactions[0].FirstOffset != 0 {
		t.Errorf("committed, aborted: %+v", got)
	}
	if got, _ := fetch(0); got.AbortedTransactions != nil {
		t.Errorf("uncommitted, aborted: %+v", got)
	}
	for offset, want := range map[int64]int{0: 1, 2: 1, 3: 0} {
		req := fetchOf(12, "t", [16]byte{}, want1{0, offset})
		req.IsolationLevel, req.MaxWaitMillis = 1, 0
		req.Topics[0].Partitions[0].PartitionMaxBytes = 0
		filler := fetchOf(12, "filler", [16]byte{}, want1{0, 0})
		req.Topics = append(filler.Topics, req.Topics...)
		resp := askFetch(t, n, req)
		if got := resp.Topics[1].Partitions[0]; len(got.RecordBatches) != 0 || got.AbortedTransactions == nil || len(got.AbortedTransactions) != want {
			t.Errorf("no room for records from %d on: %+v, want %d aborted transactions", offset, got, want)
		}
	}
}

// TestFetchOfFollowers: what a follower fetches moves the high watermark; it
// needs the right to act for the cluster.
func TestFetchOfFollowers(t *testing.T) {
	n := newNode(t, 2)
	id := n.topic("t", 1, 1, 1, 2)
	n.fill("t", 0, "a", "b")
	follower := func(version int16, offset int64) *kmsg.FetchResponse {
		req := fetchOf(version, "t", id, want1{0, offset})
		req.MaxWaitMillis, req.ReplicaID = 0, 2
		req.ReplicaState.ID, req.ReplicaState.Epoch = 2, 11
		return askFetch(t, n, req)
	}
	for _, v := range []int16{12, 17} {
		if diff := cmp.Diff([]string{"0: 0:a 1:b"}, told(t, follower(v, 0))); diff != "" {
			t.Errorf("version %d, past the high watermark: %s", v, diff)
		}
	}
	if hw := n.partition("t", 0).HighWatermark(); hw != 0 {
		t.Errorf("high watermark %d before the follower has anything", hw)
	}
	follower(17, 2)
	if hw := n.partition("t", 0).HighWatermark(); hw != 2 {
		t.Errorf("high watermark %d", hw)
	}
	n.Authorize = func(_ *Conn, op kmsg.ACLOperation, _ kmsg.ACLResourceType, _ string) bool {
		return op != kmsg.ACLOperationClusterAction
	}
	if diff := cmp.Diff([]string{"0: error 29"}, told(t, follower(17, 2))); diff != "" {
		t.Errorf("without the right: %s", diff)
	}
}

func TestFetchDiverges(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 1)
	n.fill("t", 0, "a", "b")
	req := fetchOf(12, "t", [16]byte{}, want1{0, 2})
	req.Topics[0].Partitions[0].LastFetchedEpoch = 4
	p := askFetch(t, n, req).Topics[0].Partitions[0]
	// Epoch 4 has no records here: the logs part where epoch 5 begins.
	if p.ErrorCode != 0 || len(p.RecordBatches) > 0 || p.DivergingEpoch.EndOffset != 0 {
		t.Errorf("%+v", p)
	}
}

func TestFetchNeedsTheRight(t *testing.T) {
	n := newNode(t, 1)
	id := n.topic("t", 1, 1)
	n.fill("t", 0, "secret")
	n.Authorize = func(_ *Conn, op kmsg.ACLOperation, _ kmsg.ACLResourceType, _ string) bool {
		return op != kmsg.ACLOperationRead
	}
	for _, v := range []int16{12, 13} {
		if diff := cmp.Diff([]string{"0: error 29"}, told(t, askFetch(t, n, fetchOf(v, "t", id, want1{0, 0})))); diff != "" {
			t.Errorf("version %d: %s", v, diff)
		}
	}
}
