package server

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
)

// waits answers after d, or fails when the connection ends first.
func waits(d time.Duration) handlerFunc {
	return func(ctx context.Context, call *api.Call) (api.Answer, error) {
		select {
		case <-time.After(d):
			return echo(ctx, call)
		case <-ctx.Done():
			return api.Answer{}, ctx.Err()
		}
	}
}

func TestShutdownLetsRequestsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, waits(5*time.Second), nil)
		idle, busy := r.dial(), r.dial()
		busy.send(request(kmsg.Produce, 1, "in flight"))
		synctest.Wait()
		began := time.Now()
		done := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			done <- r.Shutdown(ctx)
		}()
		idle.wantClosed()
		if took := time.Since(began); took != 0 {
			t.Errorf("the silent connection was closed after %v", took)
		}
		if _, err := r.net.Dial(t.Context(), "tcp", brokerAddr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("still accepts: %v", err)
		}
		busy.want(1, "in flight")
		busy.wantClosed()
		if err := <-done; err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestShutdownCutsInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, waits(time.Hour), nil)
		c := r.dial()
		c.send(request(kmsg.Produce, 1, ""))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if err := r.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		c.wantClosed()
		if n := r.Connections(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

func TestDrainingWakesWhoWaitsForRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			select {
			case <-call.Conn.Draining:
				return echo(ctx, call)
			case <-ctx.Done():
				return api.Answer{}, ctx.Err()
			}
		}, nil)
		c := r.dial()
		c.send(request(kmsg.Fetch, 1, "what there is"))
		synctest.Wait()
		go r.Shutdown(t.Context())
		c.want(1, "what there is")
		c.wantClosed()
	})
}

func TestBindBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, echo, func(c *Config) {
			c.Listeners = []Listener{{Name: "A", Protocol: "PLAINTEXT", Bind: "127.0.0.1:0"}}
		})
		again, err := r.Bind("A")
		if err != nil || again.(*net.TCPAddr).Port == 0 || again.String() != r.Addr("A").String() {
			t.Errorf("%v, %v", again, err)
		}
		if err := r.Start("A"); err != nil { // A second time changes nothing.
			t.Error(err)
		}
		if _, err := r.Bind("B"); err == nil {
			t.Error("bound a listener that does not exist")
		}
		r.Shutdown(t.Context())
		if err := r.Start("A"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("started after the end: %v", err)
		}
	})
}

func TestUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var principal string
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			principal = call.Conn.Principal
			return echo(ctx, call)
		}, func(c *Config) {
			c.Listeners[0].Protocol = "SSL"
			c.Listeners[0].Upgrade = func(ctx context.Context, nc net.Conn) (net.Conn, string, error) {
				stop := context.AfterFunc(ctx, func() { nc.SetReadDeadline(time.Unix(1, 0)) })
				defer stop()
				_, err := nc.Read(make([]byte, 5))
				return nc, "User:CN=alice", err
			}
		})
		c := r.dial()
		c.send([]byte("hello"))
		c.wantOpen()
		if principal != "User:CN=alice" {
			t.Errorf("principal %q", principal)
		}
		began := time.Now()
		r.dial().wantClosed()
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("a peer that does not shake hands was closed after %v", took)
		}
	})
}

func TestValidate(t *testing.T) {
	err := Config{Listeners: []Listener{
		{Name: "A", Protocol: "PLAINTEXT"}, {Name: "A", Protocol: "SSL"}, {Name: "B", Protocol: "plain"},
	}}.Validate()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 4 {
		t.Errorf("want four complaints, got %v", err)
	}
}
