package cli

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// consume runs `moldau consume` against a broker in a bubble.
func consume(t *testing.T, mb *brokertest.Cluster, args ...string) (string, error) {
	t.Helper()
	cmd := consumeCommand(&app{bootstrap: mb.Addr(), timeout: 30 * time.Second, dial: mb.Dial})
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// orders are n records in each of two partitions, and what consume prints of them.
func orders(n int) (opts []brokertest.Option, lines []string) {
	opts = []brokertest.Option{brokertest.Topic("orders", 2)}
	for p := range int32(2) {
		for i := range n {
			value := fmt.Sprintf("%d/%d", p, i)
			opts = append(opts, brokertest.Records("orders", brokertest.Record{Partition: p, Value: []byte(value)}))
			lines = append(lines, value)
		}
	}
	return opts, lines
}

// printed compares without regard to the order of partitions.
func printed(t *testing.T, got string, want []string) {
	t.Helper()
	lines := strings.Fields(got)
	slices.Sort(lines)
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(lines, want) {
		t.Errorf("printed %q, want %q", lines, want)
	}
}

// TestConsumeOfASlowBroker: whoever is told that all went well has all of it.
func TestConsumeOfASlowBroker(t *testing.T) {
	for name, args := range map[string][]string{"alone": {"orders"}, "group": {"orders", "-g", "readers"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts, want := orders(3)
				mb := brokertest.Start(t, opts...)
				mb.On(kmsg.Fetch).Delay(7 * time.Second)
				got, err := consume(t, mb, args...)
				if err != nil {
					t.Fatal(err)
				}
				printed(t, got, want)
			})
		})
	}
}

// TestConsumeOfASilentBroker: what did not come is named, and it is an error.
func TestConsumeOfASilentBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts, _ := orders(3)
		mb := brokertest.Start(t, opts...)
		mb.On(kmsg.Fetch).Delay(time.Hour)
		_, err := consume(t, mb, "orders", "-p", "1")
		if err == nil || !strings.Contains(err.Error(), "partition 1 is read up to offset 0 of 3") {
			t.Errorf("error %v", err)
		}
	})
}

// TestConsumeToAnEndWithoutRecords: what was deleted, or compacted away, or never
// is given out, is not waited for.
func TestConsumeToAnEndWithoutRecords(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, mb *brokertest.Cluster)
		args  []string
		want  []string
	}{
		"nothing stands there": {func(_ *testing.T, mb *brokertest.Cluster) {
			mb.On(kmsg.Fetch).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
				resp, err := r.Serve(ctx)
				if err != nil {
					return nil, err
				}
				left := 0
				for i, rt := range resp.(*kmsg.FetchResponse).Topics {
					for j, p := range rt.Partitions {
						if p.Partition == 1 {
							resp.(*kmsg.FetchResponse).Topics[i].Partitions[j].RecordBatches = []byte{}
							continue
						}
						left += len(p.RecordBatches)
					}
				}
				if left == 0 { // As a broker that has nothing.
					wait := time.NewTimer(time.Duration(r.Body.(*kmsg.FetchRequest).MaxWaitMillis) * time.Millisecond)
					defer wait.Stop()
					select {
					case <-wait.C:
					case <-ctx.Done():
					}
				}
				return resp, nil
			})
		}, nil, []string{"0/0", "0/1", "0/2"}},
		"deleted meanwhile": {func(t *testing.T, mb *brokertest.Cluster) {
			mb.On(kmsg.Fetch).Times(1).Observe(func(*brokertest.Request) {
				req := kmsg.NewPtrDeleteRecordsRequest()
				rt := kmsg.NewDeleteRecordsRequestTopic()
				rt.Topic = "orders"
				for p := range int32(2) {
					rp := kmsg.NewDeleteRecordsRequestTopicPartition()
					rp.Partition, rp.Offset = p, 3
					rt.Partitions = append(rt.Partitions, rp)
				}
				req.Topics = append(req.Topics, rt)
				if _, err := mb.Do(t.Context(), req); err != nil {
					t.Error(err)
				}
			})
		}, nil, nil},
		"an aborted transaction": {
			func(t *testing.T, mb *brokertest.Cluster) { transact(t, mb, kgo.TryAbort) },
			[]string{"--read-committed"},
			[]string{"0/0", "0/1", "0/2", "1/0", "1/1", "1/2"},
		},
		"an aborted transaction is read": {
			func(t *testing.T, mb *brokertest.Cluster) { transact(t, mb, kgo.TryAbort) }, nil,
			[]string{"0/0", "0/1", "0/2", "1/0", "1/1", "1/2", "tried"},
		},
		"a transaction": {
			func(t *testing.T, mb *brokertest.Cluster) { transact(t, mb, kgo.TryCommit) },
			[]string{"--read-committed"},
			[]string{"0/0", "0/1", "0/2", "1/0", "1/1", "1/2", "tried"},
		},
	} {
		for _, group := range [][]string{nil, {"-g", "readers"}} {
			t.Run(fmt.Sprint(name, group), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					opts, _ := orders(3)
					mb := brokertest.Start(t, opts...)
					tc.spoil(t, mb)
					began := time.Now()
					got, err := consume(t, mb, slices.Concat([]string{"orders"}, tc.args, group)...)
					if err != nil {
						t.Fatal(err)
					}
					printed(t, got, tc.want)
					if took := time.Since(began); took > 15*time.Second {
						t.Errorf("took %v", took)
					}
				})
			})
		}
	}
}

// transact writes a record to partition 1 in a transaction, and ends it.
func transact(t *testing.T, mb *brokertest.Cluster, how kgo.TransactionEndTry) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(mb.Addr()), kgo.Dialer(mb.Dial), kgo.TransactionalID("tx"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Partition: 1, Value: []byte("tried")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := cl.EndTransaction(t.Context(), how); err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // The markers are written after the answer.
}

// TestConsumeInAGroupGoesOn: a group reads each record once, and at its end there
// is nothing to wait for.
func TestConsumeInAGroupGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts, want := orders(3)
		mb := brokertest.Start(t, opts...)
		first, err := consume(t, mb, "orders", "-g", "readers", "-n", "2")
		if err != nil {
			t.Fatal(err)
		}
		rest, err := consume(t, mb, "orders", "-g", "readers")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Fields(first)); n != 2 {
			t.Errorf("%d lines of 2 were printed", n)
		}
		printed(t, first+rest, want)
		if again, err := consume(t, mb, "orders", "-g", "readers"); err != nil || again != "" {
			t.Errorf("printed again %q, %v", again, err)
		}
	})
}
