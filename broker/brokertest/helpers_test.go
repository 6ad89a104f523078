package brokertest_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The clock of sarama's metrics, one for the process, has no end.
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// client is a franz-go client of a cluster, which reads from the beginning.
func client(t *testing.T, mb *brokertest.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(mb.Addrs()...), kgo.Dialer(mb.Dial),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// member is a client that reads a topic as a member of a group.
func member(t *testing.T, mb *brokertest.Cluster, group, topic string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	// An automatic commit waits for a rebalance on a mutex, and no bubble's time
	// goes on over a mutex.
	return client(t, mb, append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit()}, opts...)...)
}

// produce writes one record and waits for it.
func produce(t *testing.T, cl *kgo.Client, topic, value string) *kgo.Record {
	t.Helper()
	r := kgo.KeySliceRecord(nil, []byte(value))
	r.Topic = topic
	if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return r
}

// consume reads until there are n records and returns their values.
func consume(t *testing.T, cl *kgo.Client, n int) []string {
	t.Helper()
	var got []string
	for len(got) < n {
		fs := cl.PollFetches(t.Context())
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	return got
}

// values are those of a topic's records, by partition and offset.
func values(mb *brokertest.Cluster, topic string) string {
	var out []string
	for _, r := range mb.Records(topic) {
		out = append(out, string(r.Value))
	}
	return strings.Join(out, " ")
}

// recorder is a test that is watched from outside: what it logs, and whether it
// fails.
type recorder struct {
	testing.TB // For what is not replaced below.

	mu       sync.Mutex
	failed   bool
	said     []string
	cleanups []func()
}

// watch runs f as a test.
func watch(t *testing.T, f func(testing.TB)) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	return r
}

func (r *recorder) say(failed bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	r.said = append(r.said, text)
}

func (r *recorder) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.said, "\n")
}

func (r *recorder) Helper()                      {}
func (r *recorder) Cleanup(f func())             { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool                 { r.mu.Lock(); defer r.mu.Unlock(); return r.failed }
func (r *recorder) Log(args ...any)              { r.say(false, fmt.Sprint(args...)) }
func (r *recorder) Error(args ...any)            { r.say(true, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.say(true, fmt.Sprintf(f, args...)) }
func (r *recorder) Fatal(args ...any)            { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(f string, args ...any) { r.Errorf(f, args...); runtime.Goexit() }
