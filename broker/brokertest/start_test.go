package brokertest_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// What the options ask for is there when Start returns.
func TestStart(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	seeds := []brokertest.Record{
		{Partition: 1, Key: []byte("k"), Value: []byte("first"), Time: at, Headers: []brokertest.Header{{Key: "h", Value: []byte("v")}}},
		{Partition: 2, Time: at}, // Null key, null value.
		{Partition: 1, Value: []byte("second"), Time: at},
	}
	mb := brokertest.Start(t,
		brokertest.Topic("orders", 3, "message.timestamp.type=CreateTime", "segment.ms = 5000"),
		brokertest.Records("orders", seeds...),
		brokertest.Records("notes", brokertest.Record{Value: []byte("x"), Time: at}),
		brokertest.Config("num.partitions=7", "auto.create.topics.enable=false"),
		brokertest.ClusterID("aClusterOfOurOwn000000"),
	)
	want := []brokertest.Record{seeds[0], seeds[2], seeds[1]}
	want[1].Offset = 1
	if diff := cmp.Diff(want, mb.Records("orders")); diff != "" {
		t.Error(diff)
	}
	if got := values(mb, "notes"); got != "x" {
		t.Errorf("topic notes holds %q", got)
	}

	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, r := range []struct {
		kind kmsg.ConfigResourceType
		name string
		keys []string
	}{
		{kmsg.ConfigResourceTypeTopic, "orders", []string{"message.timestamp.type", "segment.ms"}},
		{kmsg.ConfigResourceTypeBroker, "1", []string{"num.partitions", "group.initial.rebalance.delay.ms"}},
	} {
		rr := kmsg.NewDescribeConfigsRequestResource()
		rr.ResourceType, rr.ResourceName, rr.ConfigNames = r.kind, r.name, r.keys
		req.Resources = append(req.Resources, rr)
	}
	resp, err := mb.Do(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range resp.(*kmsg.DescribeConfigsResponse).Resources {
		for _, c := range r.Configs {
			got[c.Name] = *c.Value
		}
	}
	if diff := cmp.Diff(map[string]string{
		"message.timestamp.type": "CreateTime", "segment.ms": "5000", "num.partitions": "7", "group.initial.rebalance.delay.ms": "0",
	}, got); diff != "" {
		t.Error(diff)
	}
	resp, err = mb.Do(t.Context(), kmsg.NewPtrMetadataRequest())
	if err != nil {
		t.Fatal(err)
	}
	if id := resp.(*kmsg.MetadataResponse).ClusterID; id == nil || *id != "aClusterOfOurOwn000000" {
		t.Errorf("the cluster's id is %v", id)
	}
	if err := client(t, mb).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// A broker is ready in under 10 ms. Other tests may take the processors for a
// while, so the best of some starts counts.
func TestStartIsQuick(t *testing.T) {
	best := time.Hour
	for range 20 {
		t.Run("start", func(t *testing.T) {
			began := time.Now()
			brokertest.Start(t, brokertest.Topic("orders", 3))
			best = min(best, time.Since(began))
		})
	}
	if limit := 10 * time.Millisecond; best >= limit && !raced {
		t.Errorf("the quickest of 20 starts took %v, want less than %v", best, limit)
	}
}

// 500 brokers in one binary, many of them at once, each with a client, leave
// nothing behind.
func TestFiveHundred(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("all", func(t *testing.T) {
		for batch := range 25 {
			t.Run(strconv.Itoa(batch), func(t *testing.T) {
				t.Parallel()
				for range 20 {
					mb := brokertest.Start(t, brokertest.Topic("orders", 3))
					mb.Produce("orders", brokertest.Record{Value: []byte("x")})
					if err := client(t, mb).Ping(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	})
	goleak.VerifyNone(t, before)
}

// Each broker is alone, whatever others in the process are called.
func TestNothingIsShared(t *testing.T) {
	one := brokertest.Start(t, brokertest.Topic("orders", 1))
	two := brokertest.Start(t, brokertest.Topic("orders", 1))
	one.Produce("orders", brokertest.Record{Value: []byte("one")})
	two.Produce("orders", brokertest.Record{Value: []byte("two")})
	if a, b := values(one, "orders"), values(two, "orders"); a != "one" || b != "two" || one.Addr() == two.Addr() {
		t.Errorf("%s holds %q, %s holds %q", one.Addr(), a, two.Addr(), b)
	}
}

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		began := time.Now()
		produce(t, client(t, mb), "orders", "a")
		if got := consume(t, client(t, mb, kgo.ConsumeTopics("orders")), 1); got[0] != "a" {
			t.Errorf("read %q", got)
		}
		time.Sleep(time.Hour)
		if took := time.Since(began); took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("an hour took %v", took)
		}
	})
}

func TestMemoryNetwork(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", 1), brokertest.MemoryNetwork(), brokertest.Port(4711))
	if mb.Addr() != "127.0.0.1:4711" {
		t.Errorf("address %s", mb.Addr())
	}
	produce(t, client(t, mb, kgo.SeedBrokers("localhost:4711")), "orders", "a")
	if got := values(mb, "orders"); got != "a" {
		t.Errorf("topic orders holds %q", got)
	}
}

func TestPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	failed := watch(t, func(t testing.TB) { brokertest.Start(t, brokertest.Port(port)) })
	if !failed.Failed() || !strings.Contains(failed.output(), strconv.Itoa(port)) {
		t.Errorf("a port in use: %s", failed.output())
	}
	l.Close()
	mb := brokertest.Start(t, brokertest.Port(port))
	if err := client(t, mb).Ping(t.Context()); err != nil || mb.Addr() != l.Addr().String() {
		t.Errorf("%s, which was to be %s: %v", mb.Addr(), l.Addr(), err)
	}
}

// On disk the data is in files, which are gone after the test.
func TestDisk(t *testing.T) {
	root := t.TempDir()
	t.Setenv("TMPDIR", root)
	logs := func() (n int) {
		if err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".log" {
				n++
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	t.Run("test", func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1), brokertest.Disk())
		mb.Produce("orders", brokertest.Record{Value: []byte("a")})
		if n := logs(); n != 2 { // And the metadata log.
			t.Errorf("%d log files", n)
		}
	})
	left, err := os.ReadDir(root)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A directory of the caller's choice can be used again.
func TestDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, want := range []string{"a", "a a"} {
		t.Run(want, func(t *testing.T) {
			mb := brokertest.Start(t, brokertest.Topic("orders", 1), brokertest.Dir(dir))
			mb.Produce("orders", brokertest.Record{Value: []byte("a")})
			if got := values(mb, "orders"); got != want {
				t.Errorf("topic orders holds %q, want %q", got, want)
			}
		})
	}
	reset := watch(t, func(t testing.TB) { brokertest.Start(t, brokertest.Dir(dir)).Reset() })
	if !reset.Failed() || !strings.Contains(reset.output(), dir) {
		t.Errorf("Reset of a directory of the caller's: %s", reset.output())
	}
}

// A test that passes is silent; one that fails shows the broker's log, the last
// of it when it is long.
func TestLog(t *testing.T) {
	passed := watch(t, func(t testing.TB) {
		brokertest.Start(t, brokertest.Topic("orders", 1)).Restart()
	})
	if passed.Failed() || passed.output() != "" {
		t.Errorf("a test that passed said: %s", passed.output())
	}
	failing := watch(t, func(t testing.TB) {
		mb := brokertest.Start(t)
		for range 90 {
			mb.Restart()
		}
		t.Error("unhappy")
	})
	if out := failing.output(); !strings.Contains(out, "Kafka Server started") || !strings.Contains(out, "older lines are not kept") {
		t.Errorf("a test that failed said: %.2000s", out)
	}
	var b strings.Builder
	own := watch(t, func(t testing.TB) {
		brokertest.Start(t, brokertest.Logger(slog.New(slog.NewTextHandler(&b, nil))))
		t.Error("unhappy")
	})
	if !strings.Contains(b.String(), "Kafka Server started") || own.output() != "unhappy" {
		t.Errorf("with a logger: %q, and in the test: %s", b.String(), own.output())
	}
}

// What cannot be had fails the test with a sentence that says so.
func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		run  func(testing.TB)
		want string
	}{
		"not a setting": {
			func(t testing.TB) { brokertest.Start(t, brokertest.Config("num.partitions")) }, `"num.partitions" is not of the form name=value`,
		},
		"not a value": {
			func(t testing.TB) { brokertest.Start(t, brokertest.Config("num.partitions=many")) }, "num.partitions",
		},
		"not a topic config": {
			func(t testing.TB) { brokertest.Start(t, brokertest.Topic("a", 1, "color=red")) }, "color",
		},
		"no partitions": {func(t testing.TB) { brokertest.Start(t, brokertest.Topic("a", 0)) }, "topic a was not made"},
		"records of no partition": {
			func(t testing.TB) { brokertest.Start(t, brokertest.Records("a", brokertest.Record{Partition: 1})) }, "topic a partition 1",
		},
		"records of no topic":  {func(t testing.TB) { brokertest.Start(t).Records("a") }, "topic a"},
		"producing to nowhere": {func(t testing.TB) { brokertest.Start(t).Produce("a", brokertest.Record{}) }, "topic a"},
		"a power cut on disk":  {func(t testing.TB) { brokertest.Start(t, brokertest.Disk()).Crash() }, "use Kill"},
	} {
		t.Run(name, func(t *testing.T) {
			r := watch(t, tc.run)
			if !r.Failed() || !strings.Contains(r.said[0], tc.want) {
				t.Errorf("it said %q, want something about %q", r.said, tc.want)
			}
		})
	}
}

func TestDo(t *testing.T) {
	mb := brokertest.Start(t)
	if _, err := mb.Do(t.Context(), kmsg.NewPtrControlledShutdownRequest()); err == nil {
		t.Error("an API that is not served was answered")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mb.Stop()
	if _, err := mb.Do(ctx, kmsg.NewPtrMetadataRequest()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("of a broker that is down: %v", err)
	}
}

func BenchmarkStart(b *testing.B) {
	for name, opts := range map[string][]brokertest.Option{
		"sockets": {brokertest.Topic("orders", 3)},
		"memory":  {brokertest.Topic("orders", 3), brokertest.MemoryNetwork()},
		"disk":    {brokertest.Topic("orders", 3), brokertest.Disk()},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				brokertest.Start(b, opts...)
			}
		})
	}
}
