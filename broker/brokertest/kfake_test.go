package brokertest_test

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// The tests of this file do what franz-go's own tests do with kfake, by its
// public surface. docs/brokertest.md has the table of both.

// What a client asks for while it writes and reads, counted by API.
func TestKfakeObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 3))
		var mu sync.Mutex
		counts := map[string]int{}
		mb.On().Observe(func(r *brokertest.Request) {
			mu.Lock()
			defer mu.Unlock()
			counts[r.Key().Name()]++
		})
		cl := client(t, mb, kgo.ConsumeTopics("orders"))
		for range 10 {
			produce(t, cl, "orders", "x")
		}
		consume(t, cl, 10)
		mu.Lock()
		defer mu.Unlock()
		for _, api := range []string{"ApiVersions", "Metadata", "InitProducerID", "Produce", "ListOffsets", "Fetch"} {
			if counts[api] == 0 {
				t.Errorf("no %s among %v", api, counts)
			}
		}
		if counts["Produce"] != 10 {
			t.Errorf("%d Produce requests for 10 records, one at a time", counts["Produce"])
		}
	})
}

// A fetch is held until something was produced: connections do not wait for each
// other.
func TestKfakeSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		produced := make(chan struct{})
		arrived := make(chan struct{})
		mb.On(kmsg.Produce).Times(1).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
			defer close(produced)
			return r.Serve(ctx)
		})
		held := mb.On(kmsg.Fetch).Times(1).Handle(func(ctx context.Context, _ *brokertest.Request) (kmsg.Response, error) {
			close(arrived)
			select {
			case <-produced:
			case <-ctx.Done():
			}
			return nil, nil
		})
		// One that does not wait would be answered at once, with nothing.
		consumer := client(t, mb, kgo.ConsumeTopics("orders"), kgo.FetchMaxWait(10*time.Millisecond))
		read := make(chan []string)
		go func() {
			var got []string
			consumer.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
			read <- got
		}()
		<-arrived
		produce(t, client(t, mb), "orders", "tea")
		if got := <-read; !slices.Equal(got, []string{"tea"}) || held.Count() != 1 {
			t.Errorf("read %q; %d fetches were held", got, held.Count())
		}
	})
}

// A poll of an empty topic ends with its context, in the bubble's time.
func TestKfakePollTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		cl := client(t, mb, kgo.ConsumeTopics("orders"))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		began := time.Now()
		fs := cl.PollFetches(ctx)
		if took := time.Since(began); fs.NumRecords() != 0 || !errors.Is(fs.Err0(), context.DeadlineExceeded) || took != 500*time.Millisecond {
			t.Errorf("%d records, %v after %v", fs.NumRecords(), fs.Err0(), took)
		}
	})
}

// The first answers to Metadata say that a partition has no leader yet, and that
// its epoch is not known. The client asks again until there is one.
func TestKfakeMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 2))
		early := mb.On(kmsg.Metadata).Times(3).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
			resp, err := r.Serve(ctx)
			if err != nil {
				return nil, err
			}
			for _, topic := range resp.(*kmsg.MetadataResponse).Topics {
				for i := range topic.Partitions {
					p := &topic.Partitions[i]
					p.ErrorCode, p.Leader, p.LeaderEpoch = kerr.LeaderNotAvailable.Code, -1, -1
				}
			}
			return resp, nil
		})
		later := mb.On(kmsg.Metadata).Observe(func(*brokertest.Request) {})
		cl := client(t, mb)
		produce(t, cl, "orders", "tea")
		time.Sleep(10 * time.Second)
		produce(t, cl, "orders", "tea")
		// Those behind the first three are the broker's own.
		if got := values(mb, "orders"); got != "tea tea" || early.Count() != 3 || later.Count() != 4 {
			t.Errorf("topic orders holds %q after %d early answers of %d", got, early.Count(), later.Count())
		}
	})
}

// Every connection says whose it is, before anything else.
func TestKfakeSoftwareName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		var mu sync.Mutex
		first := map[string]string{}
		mb.On().Observe(func(r *brokertest.Request) {
			mu.Lock()
			defer mu.Unlock()
			if _, ok := first[r.Peer.String()]; ok {
				return
			}
			first[r.Peer.String()] = r.Key().Name()
			if v, ok := r.Body.(*kmsg.ApiVersionsRequest); ok {
				first[r.Peer.String()] = v.ClientSoftwareName
			}
		})
		cl := client(t, mb, kgo.ConsumeTopics("orders"), kgo.SoftwareNameAndVersion("waiter", "1"))
		produce(t, cl, "orders", "tea")
		consume(t, cl, 1)
		mu.Lock()
		defer mu.Unlock()
		names := slices.Compact(slices.Sorted(maps.Values(first)))
		if len(first) < 2 || !slices.Equal(names, []string{"waiter"}) {
			t.Errorf("%d connections began with %q", len(first), names)
		}
	})
}

// A broker that knows no version of ApiVersions is given up, not asked for ever.
func TestKfakeApiVersionsDowngrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t)
		refused := mb.On(kmsg.ApiVersions).Fail(kerr.UnsupportedVersion.Code)
		cl := client(t, mb)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := cl.Ping(ctx)
		if n := refused.Count(); err == nil || n == 0 || n > 20 {
			t.Errorf("%v after %d refusals", err, n)
		}
	})
}

// Answers that no broker gives: a batch of negative length, one partition twice,
// an offset that cannot be. The client comes through.
func TestKfakeHostileAnswers(t *testing.T) {
	fetched := func(f func(*kmsg.FetchResponse)) brokertest.Handler {
		return func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
			resp, err := r.Serve(ctx)
			if err == nil {
				f(resp.(*kmsg.FetchResponse))
			}
			return resp, err
		}
	}
	for name, tc := range map[string]struct {
		key kmsg.Key
		h   brokertest.Handler
	}{
		"a negative batch length": {kmsg.Fetch, fetched(func(r *kmsg.FetchResponse) {
			bad := slices.Clone(r.Topics[0].Partitions[0].RecordBatches)
			binary.BigEndian.PutUint32(bad[8:], 0x80000000)
			r.Topics[0].Partitions[0].RecordBatches = bad
		})},
		"a broken checksum": {kmsg.Fetch, fetched(func(r *kmsg.FetchResponse) {
			bad := slices.Clone(r.Topics[0].Partitions[0].RecordBatches)
			bad[len(bad)-1] ^= 1
			r.Topics[0].Partitions[0].RecordBatches = bad
		})},
		"no partition at all": {kmsg.Fetch, fetched(func(r *kmsg.FetchResponse) { r.Topics = nil })},
		"a partition twice": {kmsg.Fetch, fetched(func(r *kmsg.FetchResponse) {
			t := &r.Topics[0]
			t.Partitions = append(t.Partitions, t.Partitions[0])
		})},
		"an offset that cannot be": {kmsg.ListOffsets, func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
			resp, err := r.Serve(ctx)
			if err == nil {
				resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset = -7
			}
			return resp, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mb := brokertest.Start(t, brokertest.Records("orders",
					brokertest.Record{Value: []byte("a")}, brokertest.Record{Value: []byte("b")}))
				hostile := mb.On(tc.key).Times(1).Handle(tc.h)
				cl := client(t, mb, kgo.ConsumeTopics("orders"))
				var got []string
				for len(got) < 2 {
					cl.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
				}
				if strings.Join(got, "") != "ab" || hostile.Count() != 1 {
					t.Errorf("read %q", got)
				}
			})
		})
	}
}

// A member whose heartbeats are lost is thrown out when its session ends, and
// another takes its partitions.
func TestKfakeSilentMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		var lost, gained atomic.Int32
		first := member(t, mb, "g", "orders", kgo.ClientID("first"), kgo.SessionTimeout(10*time.Second),
			kgo.OnPartitionsLost(func(context.Context, *kgo.Client, map[string][]int32) { lost.Add(1) }))
		mb.Produce("orders", brokertest.Record{Value: []byte("a")})
		consume(t, first, 1)
		// The first is heard no more, by the coordinator alone.
		mb.On(kmsg.Heartbeat, kmsg.JoinGroup, kmsg.LeaveGroup).Client("first").Drop()
		second := member(t, mb, "g", "orders", kgo.ClientID("second"),
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { gained.Add(int32(len(p["orders"]))) }))
		began := time.Now()
		if got := consume(t, second, 1); got[0] != "a" || gained.Load() != 1 {
			t.Errorf("the second read %q, with %d partitions", got, gained.Load())
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("that took %v", took)
		}
		first.Close()
	})
}

// A JoinGroup is answered with an error of the coordinator's, and the client
// looks for the coordinator again.
func TestKfakeCoordinatorMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Records("orders", brokertest.Record{Value: []byte("a")}))
		moved := mb.On(kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetFetch).Times(3).Fail(kerr.NotCoordinator.Code)
		looked := mb.On(kmsg.FindCoordinator).Observe(func(*brokertest.Request) {})
		if got := consume(t, member(t, mb, "g", "orders"), 1); got[0] != "a" || moved.Count() != 3 || looked.Count() < 2 {
			t.Errorf("read %q; %d refusals, %d looks for the coordinator", got, moved.Count(), looked.Count())
		}
	})
}

// An API that the broker does not serve is served by a hook, and advertised by
// another: a test of a client may be ahead of the broker.
func TestKfakeServeMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t)
		const key = kmsg.DescribeClientQuotas
		req := kmsg.NewPtrDescribeClientQuotasRequest()
		if _, _, err := ask(t, mb, req); err == nil {
			t.Skip("the broker serves this API: take another")
		}
		mb.On(kmsg.ApiVersions).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
			resp, err := r.Serve(ctx)
			if v, ok := resp.(*kmsg.ApiVersionsResponse); ok {
				k := kmsg.NewApiVersionsResponseApiKey()
				k.ApiKey, k.MaxVersion = int16(key), 1
				v.ApiKeys = append(v.ApiKeys, k)
			}
			return resp, err
		})
		mb.On(key).Handle(func(_ context.Context, r *brokertest.Request) (kmsg.Response, error) {
			resp := r.Body.ResponseKind().(*kmsg.DescribeClientQuotasResponse)
			resp.ErrorCode = 42
			return resp, nil
		})
		resp, _, err := ask(t, mb, req)
		if err != nil || resp.(*kmsg.DescribeClientQuotasResponse).ErrorCode != 42 {
			t.Errorf("%v, %v", resp, err)
		}
	})
}

// Transactions: what is committed is read, what is aborted is not, also when the
// coordinator is busy with the one before, or the broker is killed within one.
func TestKfakeTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		busy := mb.On(kmsg.EndTxn, kmsg.AddPartitionsToTxn).Times(3).Fail(kerr.ConcurrentTransactions.Code)
		cl := client(t, mb, kgo.TransactionalID("waiter"), kgo.DefaultProduceTopic("orders"))
		for _, tc := range []struct {
			value string
			end   kgo.TransactionEndTry
			kill  bool
		}{
			{"a", kgo.TryCommit, false}, {"b", kgo.TryAbort, false}, {"c", kgo.TryCommit, true}, {"d", kgo.TryCommit, false},
		} {
			if err := cl.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			produce(t, cl, "orders", tc.value)
			if tc.kill {
				mb.Kill()
				mb.Restart()
			}
			if err := cl.EndTransaction(t.Context(), tc.end); err != nil {
				t.Fatalf("the end of %s: %v", tc.value, err)
			}
		}
		if busy.Count() != 3 {
			t.Errorf("%d requests met a busy coordinator", busy.Count())
		}
		reader := client(t, mb, kgo.ConsumeTopics("orders"), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
		if got := consume(t, reader, 3); strings.Join(got, "") != "acd" {
			t.Errorf("read %q", got)
		}
		if got := values(mb, "orders"); got != "a b c d" {
			t.Errorf("topic orders holds %q", got)
		}
	})
}

// A batch that is sent again, as after a lost answer, gets the offset that it
// had: by raw requests, with no client between.
func TestKfakeDuplicate(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", 1))
	cl := client(t, mb)
	// The client's own request, as it is, again.
	seen := make(chan kmsg.Request, 1)
	mb.On(kmsg.Produce).Times(1).Observe(func(r *brokertest.Request) { seen <- r.Body })
	first := produce(t, cl, "orders", "tea")
	cl.Close()
	resp, err := mb.Do(t.Context(), <-seen)
	if err != nil {
		t.Fatal(err)
	}
	p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.BaseOffset != first.Offset || len(mb.Records("orders")) != 1 {
		t.Errorf("the answer to a duplicate of offset %d: %+v", first.Offset, p)
	}
}

// A hook sees the records of a Produce, compressed or not.
func TestKfakeBatchRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		seen := make(chan []brokertest.Record, 1)
		mb.On(kmsg.Produce).Observe(func(r *brokertest.Request) {
			partition := r.Body.(*kmsg.ProduceRequest).Topics[0].Partitions[0]
			records, err := brokertest.BatchRecords(partition.Records)
			if err != nil {
				t.Error(err)
			}
			seen <- records
		})
		cl := client(t, mb, kgo.ProducerBatchCompression(kgo.ZstdCompression()))
		produce(t, cl, "orders", strings.Repeat("tea", 1000))
		if got := <-seen; len(got) != 1 || len(got[0].Value) != 3000 {
			t.Errorf("the hook saw %v", got)
		}
		if _, err := brokertest.BatchRecords([]byte("tea")); err == nil {
			t.Error("three letters were taken for a batch")
		}
	})
}

// What kfake's TopicInfo and PartitionInfo tell is asked for by the requests that
// Kafka has for it.
func TestKfakePartitionInfo(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", 1), brokertest.Records("orders",
		brokertest.Record{Value: []byte("a")}, brokertest.Record{Value: []byte("b")}))
	resp, err := mb.Do(t.Context(), topicsNamed("orders"))
	if err != nil {
		t.Fatal(err)
	}
	topic := resp.(*kmsg.MetadataResponse).Topics[0]
	if topic.TopicID == [16]byte{} || topic.Partitions[0].Leader != 1 {
		t.Errorf("metadata: %+v", topic)
	}
	req := kmsg.NewPtrFetchRequest()
	req.SessionEpoch = -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = "orders", topic.TopicID
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.PartitionMaxBytes = 1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	if resp, err = mb.Do(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	p := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if p.HighWatermark != 2 || p.LastStableOffset != 2 || p.LogStartOffset != 0 {
		t.Errorf("partition: %+v", p)
	}
}
