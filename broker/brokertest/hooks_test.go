package brokertest_test

import (
	"context"
	"errors"
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

// ask sends one request once, over a connection of its own, and answers how long
// that took.
func ask(t *testing.T, mb *brokertest.Cluster, req kmsg.Request, opts ...kgo.Opt) (kmsg.Response, time.Duration, error) {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(mb.Addrs()...), kgo.Dialer(mb.Dial), kgo.RequestRetries(0),
	}, opts...)...)
	if err != nil {
		return nil, 0, err
	}
	defer cl.Close()
	began := time.Now()
	resp, err := cl.SeedBrokers()[0].Request(t.Context(), req)
	return resp, time.Since(began), err
}

func topicsNamed(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

// Each hook does what its name says, to the requests that it is for, as often as
// it is told.
func TestHooks(t *testing.T) {
	const code = 3
	fails := func(resp kmsg.Response) bool {
		return resp.(*kmsg.MetadataResponse).Topics[0].ErrorCode == code
	}
	served := func(resp kmsg.Response) bool {
		return resp.(*kmsg.MetadataResponse).Topics[0].ErrorCode == 0
	}
	type result struct {
		resp kmsg.Response
		took time.Duration
		err  error
	}
	for name, tc := range map[string]struct {
		hook  func(*brokertest.Cluster) *brokertest.Hook
		check func(result) bool
		count int
	}{
		"fail": {
			func(mb *brokertest.Cluster) *brokertest.Hook { return mb.On(kmsg.Metadata).Fail(code) },
			func(r result) bool { return r.err == nil && fails(r.resp) }, 1,
		},
		"another API": {
			func(mb *brokertest.Cluster) *brokertest.Hook { return mb.On(kmsg.Produce, kmsg.Fetch).Fail(code) },
			func(r result) bool { return r.err == nil && served(r.resp) }, 0,
		},
		"another client": {
			func(mb *brokertest.Cluster) *brokertest.Hook { return mb.On().Client("them").Fail(code) },
			func(r result) bool { return r.err == nil && served(r.resp) }, 0,
		},
		"this client": {
			func(mb *brokertest.Cluster) *brokertest.Hook { return mb.On(kmsg.Metadata).Client("us").Fail(code) },
			func(r result) bool { return r.err == nil && fails(r.resp) }, 1,
		},
		"not accepted": {
			func(mb *brokertest.Cluster) *brokertest.Hook {
				return mb.On(kmsg.Metadata).If(func(r *brokertest.Request) bool {
					return len(r.Body.(*kmsg.MetadataRequest).Topics) > 1
				}).Fail(code)
			},
			func(r result) bool { return r.err == nil && served(r.resp) }, 0,
		},
		"no more times": {
			func(mb *brokertest.Cluster) *brokertest.Hook { return mb.On(kmsg.Metadata).Times(0).Fail(code) },
			func(r result) bool { return r.err == nil && served(r.resp) }, 0,
		},
		"removed": {
			func(mb *brokertest.Cluster) *brokertest.Hook {
				h := mb.On(kmsg.Metadata).Fail(code)
				h.Remove()
				return h
			},
			func(r result) bool { return r.err == nil && served(r.resp) }, 0,
		},
		"delay": {
			func(mb *brokertest.Cluster) *brokertest.Hook { return mb.On(kmsg.Metadata).Delay(5 * time.Second) },
			func(r result) bool {
				return r.err == nil && served(r.resp) && r.took >= 5*time.Second && r.took < 6*time.Second
			}, 1,
		},
		"delay longer than the client waits": {
			func(mb *brokertest.Cluster) *brokertest.Hook { return mb.On(kmsg.Metadata).Delay(time.Hour) },
			func(r result) bool { return r.err != nil && r.took < time.Minute }, 1,
		},
		"drop": {
			func(mb *brokertest.Cluster) *brokertest.Hook { return mb.On(kmsg.Metadata).Drop() },
			func(r result) bool { return r.err != nil && r.took < time.Second }, 1,
		},
		"lose the answer": {
			func(mb *brokertest.Cluster) *brokertest.Hook { return mb.On(kmsg.Metadata).LoseAnswer() },
			func(r result) bool { return r.err != nil && r.took < time.Second }, 1,
		},
		"close after the answer": {
			func(mb *brokertest.Cluster) *brokertest.Hook { return mb.On(kmsg.Metadata).CloseAfter() },
			func(r result) bool { return r.err == nil && served(r.resp) }, 1,
		},
		"an answer of one's own": {
			func(mb *brokertest.Cluster) *brokertest.Hook {
				return mb.On(kmsg.Metadata).Handle(func(_ context.Context, r *brokertest.Request) (kmsg.Response, error) {
					resp := r.Body.ResponseKind().(*kmsg.MetadataResponse)
					resp.Topics = []kmsg.MetadataResponseTopic{{ErrorCode: code}}
					return resp, nil
				})
			},
			func(r result) bool { return r.err == nil && fails(r.resp) }, 1,
		},
		"an error of one's own": {
			func(mb *brokertest.Cluster) *brokertest.Hook {
				return mb.On(kmsg.Metadata).Handle(func(context.Context, *brokertest.Request) (kmsg.Response, error) {
					return nil, errors.New("no")
				})
			},
			func(r result) bool { return r.err != nil && r.took < time.Second }, 1,
		},
		"no answer of one's own": {
			func(mb *brokertest.Cluster) *brokertest.Hook {
				return mb.On(kmsg.Metadata).Handle(func(context.Context, *brokertest.Request) (kmsg.Response, error) {
					return nil, nil
				})
			},
			func(r result) bool { return r.err == nil && served(r.resp) }, 1,
		},
		"the broker's answer, changed": {
			func(mb *brokertest.Cluster) *brokertest.Hook {
				return mb.On(kmsg.Metadata).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
					resp, err := r.Serve(ctx)
					if err == nil {
						resp.(*kmsg.MetadataResponse).Topics[0].ErrorCode = code
					}
					return resp, err
				})
			},
			func(r result) bool { return r.err == nil && fails(r.resp) }, 1,
		},
		"the broker's answer, looked at": {
			func(mb *brokertest.Cluster) *brokertest.Hook {
				return mb.On(kmsg.Metadata).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
					_, err := r.Serve(ctx)
					return nil, err
				})
			},
			func(r result) bool { return r.err == nil && served(r.resp) }, 1,
		},
		"the request, changed": {
			func(mb *brokertest.Cluster) *brokertest.Hook {
				return mb.On(kmsg.Metadata).Handle(func(_ context.Context, r *brokertest.Request) (kmsg.Response, error) {
					*r.Body.(*kmsg.MetadataRequest).Topics[0].Topic = "nowhere"
					return nil, nil
				})
			},
			func(r result) bool { return r.err == nil && fails(r.resp) }, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mb := brokertest.Start(t, brokertest.Topic("orders", 1))
				hook := tc.hook(mb)
				req := topicsNamed("orders")
				req.AllowAutoTopicCreation = false
				var r result
				r.resp, r.took, r.err = ask(t, mb, req, kgo.ClientID("us"), kgo.RequestTimeoutOverhead(10*time.Second))
				if !tc.check(r) || hook.Count() != tc.count {
					t.Errorf("%v, %v after %v; the hook took %d requests, want %d", r.resp, r.err, r.took, hook.Count(), tc.count)
				}
			})
		})
	}
}

// Requests meet hooks in the order in which these were made, and one that is at
// its end lets the next have them.
func TestHooksInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		var seen []string
		see := func(what string) *brokertest.Hook {
			return mb.On(kmsg.Metadata).Observe(func(*brokertest.Request) { seen = append(seen, what) })
		}
		see("a")
		mb.On(kmsg.Metadata).Times(1).Fail(1)
		mb.On(kmsg.Metadata).Times(1).Fail(2)
		see("b")
		wrap := mb.On(kmsg.Metadata).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
			seen = append(seen, "(")
			_, err := r.Serve(ctx)
			seen = append(seen, ")")
			return nil, err
		})
		see("c")
		var codes []int16
		for range 3 {
			resp, _, err := ask(t, mb, topicsNamed("orders"))
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, resp.(*kmsg.MetadataResponse).Topics[0].ErrorCode)
		}
		if !slices.Equal(codes, []int16{1, 2, 0}) || strings.Join(seen, "") != "aaab(c)" {
			t.Errorf("codes %d, seen %s", codes, strings.Join(seen, ""))
		}
		wrap.Remove()
		seen = nil
		if _, _, err := ask(t, mb, topicsNamed("orders")); err != nil || strings.Join(seen, "") != "abc" {
			t.Errorf("after one was removed: %s, %v", strings.Join(seen, ""), err)
		}
	})
}

// Two Handlers that both ask for the broker's answer see the same.
func TestHandlersInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		for range 2 {
			mb.On(kmsg.Metadata).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
				resp, err := r.Serve(ctx)
				if err == nil {
					resp.(*kmsg.MetadataResponse).Topics[0].ErrorCode++
				}
				return resp, err
			})
		}
		resp, _, err := ask(t, mb, topicsNamed("orders"))
		if err != nil || resp.(*kmsg.MetadataResponse).Topics[0].ErrorCode != 2 {
			t.Errorf("%v, %v", resp, err)
		}
	})
}

// The answer to a Produce is lost: the client cannot know, asks again, and the
// record is there once, because its producer is idempotent.
func TestLostAnswerOfAProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		lost := mb.On(kmsg.Produce).Times(2).LoseAnswer()
		all := mb.On(kmsg.Produce).Observe(func(*brokertest.Request) {})
		produce(t, client(t, mb), "orders", "a")
		if got := values(mb, "orders"); got != "a" || lost.Count() != 2 || all.Count() != 3 {
			t.Errorf("topic orders holds %q after %d lost answers of %d", got, lost.Count(), all.Count())
		}
	})
}

// A Produce that wants no answer gets none, whatever a hook says. One that fails
// ends the connection, which is all that Kafka can do for its client.
func TestProduceWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		var mu sync.Mutex
		peers := map[string]bool{}
		mb.On(kmsg.Produce).Observe(func(r *brokertest.Request) {
			mu.Lock()
			defer mu.Unlock()
			peers[r.Peer.String()] = true
		})
		mb.On(kmsg.Produce).Times(1).Fail(kerr.NotLeaderForPartition.Code)
		mb.On(kmsg.Produce).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
			resp, err := r.Serve(ctx)
			if resp != nil {
				t.Errorf("the broker answered %v", resp)
			}
			return resp, err
		})
		cl := client(t, mb, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
		for _, value := range []string{"a", "b", "c"} {
			produce(t, cl, "orders", value)
			time.Sleep(time.Second)
		}
		if got := values(mb, "orders"); got != "b c" || len(peers) != 2 {
			t.Errorf("topic orders holds %q; connections: %v", got, peers)
		}
	})
}

// A large Produce reaches the broker in pieces, and hooks as a whole.
func TestHooksOnLargeRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 5 << 20
		mb := brokertest.Start(t, brokertest.Topic("orders", 1, "max.message.bytes=8000000"))
		seen := make(chan int, 10)
		mb.On(kmsg.Produce).Times(1).Fail(kerr.NotLeaderForPartition.Code)
		mb.On(kmsg.Produce).Observe(func(r *brokertest.Request) {
			seen <- len(r.Body.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records)
		})
		mb.On(kmsg.Produce).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) { return r.Serve(ctx) })
		cl := client(t, mb, kgo.ProducerBatchMaxBytes(8_000_000), kgo.ProducerBatchCompression(kgo.NoCompression()))
		for range 2 {
			produce(t, cl, "orders", strings.Repeat("t", size))
			if n := <-seen; n < size {
				t.Errorf("the hook saw %d bytes", n)
			}
		}
		if got := mb.Records("orders"); len(got) != 2 || len(got[1].Value) != size {
			t.Errorf("%d records", len(got))
		}
	})
}

// A consumer reads on over every kind of fault in its fetches.
func TestFaultyFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		for _, value := range []string{"a", "b", "c", "d", "e", "f"} {
			mb.Produce("orders", brokertest.Record{Value: []byte(value)})
		}
		small := kgo.FetchMaxPartitionBytes(1) // A batch each.
		mb.On(kmsg.Fetch).Times(1).Fail(kerr.NotLeaderForPartition.Code)
		mb.On(kmsg.Fetch).Times(1).Drop()
		mb.On(kmsg.Fetch).Times(1).LoseAnswer()
		mb.On(kmsg.Fetch).Times(1).CloseAfter()
		mb.On(kmsg.Fetch).Times(1).Delay(time.Minute)
		last := mb.On(kmsg.Fetch).Times(1).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
			return r.Serve(ctx) // Decoded and encoded again.
		})
		if got := consume(t, client(t, mb, kgo.ConsumeTopics("orders"), small), 6); strings.Join(got, "") != "abcdef" || last.Count() != 1 {
			t.Errorf("read %q", got)
		}
	})
}

// A hook that waits does not keep the broker from stopping, and ends when its
// client has gone.
func TestWaitingHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		mb.On(kmsg.Metadata).Delay(1000 * time.Hour)
		ended := make(chan error, 10)
		mb.On(kmsg.ListGroups).Handle(func(ctx context.Context, _ *brokertest.Request) (kmsg.Response, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		})
		began := time.Now()
		for _, req := range []kmsg.Request{topicsNamed("orders"), kmsg.NewPtrListGroupsRequest()} {
			if _, took, err := ask(t, mb, req, kgo.RequestTimeoutOverhead(time.Second)); err == nil || took > time.Minute {
				t.Errorf("%s took %v, %v", kmsg.NameForKey(req.Key()), took, err)
			}
		}
		if err := <-ended; err == nil {
			t.Error("the handler's context has not ended")
		}
		go ask(t, mb, topicsNamed("orders"))
		go ask(t, mb, kmsg.NewPtrListGroupsRequest())
		time.Sleep(time.Second / 2)
		mb.Stop()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the broker stopped after %v", took)
		}
	})
}

// An older broker: what is newer is neither advertised nor served.
func TestMaxVersions(t *testing.T) {
	lookup := func(key int16) (int16, bool) {
		switch kmsg.Key(key) {
		case kmsg.ApiVersions:
			return 1, true
		case kmsg.Metadata:
			return 4, true
		case kmsg.Fetch:
			return 1, true // Older than all that is served.
		}
		return 0, false
	}
	mb := brokertest.Start(t, brokertest.MaxVersions(lookup))
	var asked atomic.Int32
	mb.On(kmsg.Metadata).Observe(func(r *brokertest.Request) { asked.Store(int32(r.Body.GetVersion())) })
	resp, _, err := ask(t, mb, kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		t.Fatal(err)
	}
	got := map[int16]int16{}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		got[k.ApiKey] = k.MaxVersion
	}
	if len(got) != 2 || got[18] != 1 || got[3] != 4 {
		t.Errorf("the broker says that it serves %v", got)
	}
	if _, _, err := ask(t, mb, topicsNamed()); err != nil || asked.Load() != 4 {
		t.Errorf("Metadata was asked for in version %d: %v", asked.Load(), err)
	}
	// Clients that do not ask first.
	for _, req := range []kmsg.Request{kmsg.NewPtrListGroupsRequest(), topicsNamed()} {
		req.SetVersion(5)
		conn, err := mb.Dial(t.Context(), "tcp", mb.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s version 5 was answered with %d bytes", kmsg.NameForKey(req.Key()), n)
		}
	}
}

// What is wrong with a hook fails the test, though the broker goes on.
func TestDefectsOfHooks(t *testing.T) {
	for name, tc := range map[string]struct {
		hook func(*brokertest.Cluster)
		want string
	}{
		"a panic": {
			func(mb *brokertest.Cluster) { mb.On().Observe(func(*brokertest.Request) { panic("ouch") }) }, "ouch",
		},
		"Serve twice": {
			func(mb *brokertest.Cluster) {
				mb.On().Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
					if _, err := r.Serve(ctx); err != nil {
						return nil, err
					}
					return r.Serve(ctx)
				})
			}, "twice",
		},
		"Serve by an observer": {
			func(mb *brokertest.Cluster) {
				mb.On().Observe(func(r *brokertest.Request) { r.Serve(context.Background()) })
			}, "outside of a Handler",
		},
		"another version": {
			func(mb *brokertest.Cluster) {
				mb.On(kmsg.Metadata).Handle(func(_ context.Context, r *brokertest.Request) (kmsg.Response, error) {
					r.Body.SetVersion(1)
					return nil, nil
				})
			}, "changed the version",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			r := watch(t, func(tb testing.TB) {
				mb := brokertest.Start(tb)
				tc.hook(mb)
				_, _, err = ask(t, mb, topicsNamed())
			})
			if err == nil || !r.Failed() || !strings.Contains(r.output(), tc.want) {
				t.Errorf("the client got %v, and the test said: %s", err, r.output())
			}
		})
	}
}
