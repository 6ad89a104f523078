package broker

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// consumer is a client that reads topics as a member of a group of the consumer
// protocol (KIP-848).
func (w *world) consumer(topics string) *kgo.Client {
	return w.client(kgo.ConsumeRegex(), kgo.ConsumeTopics(topics), kgo.ConsumerGroup("g"),
		kgo.ServerSideBalancer(), kgo.DisableAutoCommit())
}

// poll reads for some time and commits what it has read.
func poll(t *testing.T, cl *kgo.Client, long time.Duration, into map[int]int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	for ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			n, err := strconv.Atoi(string(r.Value))
			if err != nil {
				t.Fatal(err)
			}
			into[n]++
		})
		if err := cl.CommitUncommittedOffsets(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func createTopics(t *testing.T, cl *kgo.Client, partitions int32, names ...string) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range names {
		ct := kmsg.NewCreateTopicsRequestTopic()
		ct.Topic, ct.NumPartitions, ct.ReplicationFactor = name, partitions, 1
		req.Topics = append(req.Topics, ct)
	}
	if _, err := req.RequestWith(t.Context(), cl); err != nil {
		t.Fatal(err)
	}
}

func describeGroup(t *testing.T, cl *kgo.Client) kmsg.ConsumerGroupDescribeResponseGroup {
	t.Helper()
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{"g"}
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Groups[0]
}

// Members of a group of the consumer protocol subscribe to a pattern, share what it
// matches, and go on as the same members after the broker was killed.
func TestConsumerGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		w := start(t, disk, nil)
		p := w.client()
		createTopics(t, p, 2, "lines-a", "lines-b", "other")
		produce(t, p, "lines-a", 0, 20)
		produce(t, p, "lines-b", 20, 40)
		produce(t, p, "other", 99, 100)
		got := make(map[int]int)
		one, two := w.consumer("lines-.*"), w.consumer("lines-.*")
		for range 6 {
			poll(t, one, 5*time.Second, got)
			poll(t, two, 5*time.Second, got)
		}
		g := describeGroup(t, p)
		if g.State != "Stable" || len(g.Members) != 2 {
			t.Fatalf("the group is %+v", g)
		}
		var shares []int
		for _, m := range g.Members {
			n := 0
			for _, a := range m.Assignment.TopicPartitions {
				n += len(a.Partitions)
			}
			shares = append(shares, n)
		}
		if !slices.Equal(shares, []int{2, 2}) {
			t.Errorf("of four partitions the members have %v", shares)
		}

		after := disk.Crash(rand.New(rand.NewPCG(1, 2)), vfs.CrashKeepAll)
		w.end()
		again := startOn(t, w.net, after, nil)
		produce(t, p, "lines-b", 40, 60)
		for range 6 {
			poll(t, one, 5*time.Second, got)
			poll(t, two, 5*time.Second, got)
		}
		if g := describeGroup(t, p); g.State != "Stable" || len(g.Members) != 2 {
			t.Errorf("after the kill the group is %+v", g)
		}
		for n := range 60 {
			if got[n] != 1 {
				t.Errorf("record %d was read %d times", n, got[n])
			}
		}
		if got[99] != 0 {
			t.Error("a topic that the pattern does not match was read")
		}
		for _, cl := range []*kgo.Client{one, two, p} {
			cl.Close()
		}
		again.end()
	})
}
