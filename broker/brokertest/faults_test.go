package brokertest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// What is left after each end of a broker. Not everything that is acknowledged
// survives a power cut, as with Kafka, unless the broker is told to fsync first.
func TestEnds(t *testing.T) {
	fsync := brokertest.Config("log.flush.interval.messages=1")
	for name, tc := range map[string]struct {
		end  func(*brokertest.Cluster)
		opts []brokertest.Option
		want string
	}{
		"stop":                    {(*brokertest.Cluster).Stop, nil, "a b"},
		"stop on disk":            {(*brokertest.Cluster).Stop, []brokertest.Option{brokertest.Disk()}, "a b"},
		"kill -9":                 {(*brokertest.Cluster).Kill, nil, "a b"},
		"kill -9 on disk":         {(*brokertest.Cluster).Kill, []brokertest.Option{brokertest.Disk()}, "a b"},
		"power cut":               {(*brokertest.Cluster).Crash, nil, ""},
		"power cut after fsync":   {(*brokertest.Cluster).Crash, []brokertest.Option{fsync}, "a b"},
		"restart without any end": {func(*brokertest.Cluster) {}, nil, "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mb := brokertest.Start(t, append(tc.opts, brokertest.Topic("orders", 1))...)
			addr := mb.Addr()
			cl := client(t, mb)
			produce(t, cl, "orders", "a")
			produce(t, cl, "orders", "b")
			tc.end(mb)
			mb.Restart()
			if got := values(mb, "orders"); got != tc.want || mb.Addr() != addr {
				t.Errorf("topic orders holds %q at %s, want %q at %s", got, mb.Addr(), tc.want, addr)
			}
			// The same client goes on.
			produce(t, cl, "orders", "c")
		})
	}
}

// Nothing that was acknowledged after the power cut is missing after it: the
// network is gone first. Many records are under way here when it happens.
func TestCrashIsAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1), brokertest.Config("log.flush.interval.messages=1"))
		cl := client(t, mb, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1), kgo.ProducerLinger(0), kgo.RecordRetries(0))
		acked := 0
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				if cl.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("x")}).FirstErr() != nil {
					return
				}
				acked++
				time.Sleep(time.Microsecond) // In the bubble: the test gets its turn.
			}
		}()
		time.Sleep(time.Millisecond)
		mb.Crash()
		cancel()
		<-done
		mb.Restart()
		if got := len(mb.Records("orders")); got < acked || acked == 0 {
			t.Errorf("%d records were acknowledged, %d are there", acked, got)
		}
	})
}

// A group goes on where it was, after each end.
func TestGroupSurvives(t *testing.T) {
	for name, end := range map[string]func(*brokertest.Cluster){
		"stop": (*brokertest.Cluster).Stop, "kill -9": (*brokertest.Cluster).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mb := brokertest.Start(t, brokertest.Topic("orders", 1))
				mb.Produce("orders", brokertest.Record{Value: []byte("a")}, brokertest.Record{Value: []byte("b")})
				c := member(t, mb, "g", "orders")
				consume(t, c, 2)
				if err := c.CommitUncommittedOffsets(t.Context()); err != nil {
					t.Fatal(err)
				}
				end(mb)
				mb.Restart()
				mb.Produce("orders", brokertest.Record{Value: []byte("c")})
				if got := consume(t, c, 1); got[0] != "c" {
					t.Errorf("the member went on with %q", got)
				}
			})
		})
	}
}

// Cut breaks connections and refuses new ones, until Heal.
func TestCut(t *testing.T) {
	for name, opts := range map[string][]brokertest.Option{
		"sockets": {brokertest.Topic("orders", 1)},
		"memory":  {brokertest.Topic("orders", 1), brokertest.MemoryNetwork()},
	} {
		t.Run(name, func(t *testing.T) {
			mb := brokertest.Start(t, opts...)
			conn, err := mb.Dial(t.Context(), "tcp", mb.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			mb.Cut()
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
				t.Errorf("the connection ended with %v", err)
			}
			if reached(t, mb) {
				t.Error("a connection was served while the network was cut")
			}
			// The broker knows nothing of it, and a restart does not mend a network.
			mb.Produce("orders", brokertest.Record{Value: []byte("a")})
			mb.Restart()
			if reached(t, mb) {
				t.Error("a connection was served after a restart, while the network was cut")
			}
			mb.Heal()
			if got := values(mb, "orders"); !reached(t, mb) || got != "a" {
				t.Errorf("after Heal: %q", got)
			}
		})
	}
}

// reached says whether a client is served.
func reached(t *testing.T, mb *brokertest.Cluster) bool {
	t.Helper()
	conn, err := mb.Dial(t.Context(), "tcp", mb.Addr())
	if err != nil {
		return false
	}
	defer conn.Close()
	// ApiVersions version 0 without a client id.
	if _, err := conn.Write([]byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff}); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}

// While the broker is down nobody else gets its port, and nobody is served.
func TestDownHoldsThePort(t *testing.T) {
	mb := brokertest.Start(t)
	mb.Stop()
	if l, err := net.Listen("tcp", mb.Addr()); err == nil {
		l.Close()
		t.Errorf("%s was free", mb.Addr())
	}
	if reached(t, mb) {
		t.Error("a broker that is down served a client")
	}
	mb.Heal() // Not the way to start a broker.
	if reached(t, mb) {
		t.Error("a broker that is down served a client after Heal")
	}
	mb.Restart()
	if !reached(t, mb) {
		t.Error("nobody is served after Restart")
	}
}

// A bubble may have its broker on a disk.
func TestBubbleOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1), brokertest.Disk())
		produce(t, client(t, mb), "orders", "a")
		mb.Kill()
		mb.Restart()
		time.Sleep(time.Hour)
		if got := values(mb, "orders"); got != "a" {
			t.Errorf("topic orders holds %q", got)
		}
	})
}

// The ends may be called by many at once: they take turns.
func TestEndsAtOnce(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", 1))
	done := make(chan struct{})
	for _, f := range []func(){mb.Restart, mb.Cut, mb.Heal, mb.Restart, mb.Kill, mb.Crash, mb.Reset} {
		go func() { f(); done <- struct{}{} }()
	}
	for range 7 {
		<-done
	}
	mb.Heal()
	mb.Restart()
	if !reached(t, mb) {
		t.Error("nobody is served in the end")
	}
}

// Reset leaves what Start makes, and nothing else.
func TestReset(t *testing.T) {
	for name, opts := range map[string][]brokertest.Option{"memory": nil, "disk": {brokertest.Disk()}} {
		t.Run(name, func(t *testing.T) {
			mb := brokertest.Start(t, append(opts,
				brokertest.Topic("orders", 2), brokertest.Records("orders", brokertest.Record{Value: []byte("seed")}))...)
			addr := mb.Addr()
			cl := client(t, mb, kgo.AllowAutoTopicCreation())
			produce(t, cl, "orders", "a")
			produce(t, cl, "others", "b")
			hook := mb.On().Drop()
			mb.Cut()
			mb.Reset()
			if got := values(mb, "orders"); got != "seed" || mb.Addr() != addr {
				t.Errorf("topic orders holds %q at %s", got, mb.Addr())
			}
			dropped := hook.Count()
			if !reached(t, mb) || hook.Count() != dropped {
				t.Error("a hook or the cut lasted over Reset")
			}
			// After a crash, too.
			mb.Kill()
			mb.Reset()
			if !reached(t, mb) {
				t.Error("nobody is served after Kill and Reset")
			}
		})
	}
}
