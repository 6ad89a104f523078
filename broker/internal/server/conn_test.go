package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
)

// TestPipelinedRequestsAreAnsweredInOrder is case P15 at this level: requests
// sent back to back are handled one at a time, in order, and so answered. Their
// answers leave together.
func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, handled atomic.Int32
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			if running.Add(1) != 1 {
				t.Error("two requests of one connection at once")
			}
			defer running.Add(-1)
			if n := handled.Add(1); n != call.Correlation {
				t.Errorf("request %d handled as number %d", call.Correlation, n)
			}
			time.Sleep(time.Millisecond)
			return echo(ctx, call)
		}, nil)
		c := r.dial()
		const n = 200
		go func() {
			for i := range n {
				if _, err := c.Write(request(kmsg.Produce, int32(i+1), fmt.Sprint("body ", i+1))); err != nil {
					t.Errorf("send %d: %v", i+1, err)
					return
				}
			}
		}()
		for i := range n {
			c.want(int32(i+1), fmt.Sprint("body ", i+1))
		}
	})
}

func TestSmallAnswersLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			if call.Correlation == 1 {
				<-release
			}
			return echo(ctx, call)
		}, nil)
		c := r.dial()
		c.send(request(kmsg.Metadata, 1, "a"), request(kmsg.Metadata, 2, "b"), request(kmsg.Metadata, 3, "c"))
		synctest.Wait()
		close(release)
		synctest.Wait()
		// All three are in the network's buffer after one write each for the
		// first bytes of nothing: one read must return them all.
		b := make([]byte, 1000)
		if n, err := c.Read(b); err != nil || n != 3*9 {
			t.Errorf("first read has %d bytes, %v, want 27", n, err)
		}
	})
}

// TestHeldAnswersDoNotWaitForASlowOne: an answer that is held back leaves when
// the next request turns out to take its time.
func TestHeldAnswersDoNotWaitForASlowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			if call.Correlation == 2 {
				select {
				case <-time.After(time.Minute):
				case <-ctx.Done():
				}
			}
			return echo(ctx, call)
		}, nil)
		c := r.dial()
		began := time.Now()
		c.send(request(kmsg.Metadata, 1, "quick"), request(kmsg.Fetch, 2, "slow"))
		c.want(1, "quick")
		if took := time.Since(began); took > 0 {
			t.Errorf("the first answer took %v", took)
		}
		c.want(2, "slow")
	})
}

func TestHangUpEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		r := start(t, func(ctx context.Context, _ *api.Call) (api.Answer, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			<-ctx.Done()
			cause = context.Cause(ctx)
			return api.Answer{}, ctx.Err()
		}, nil)
		c := r.dial()
		began := time.Now()
		c.send(request(kmsg.Fetch, 1, ""))
		synctest.Wait()
		c.Close()
		synctest.Wait()
		if !errors.Is(cause, io.EOF) || time.Since(began) != 0 {
			t.Errorf("the wait ended by %v after %v", cause, time.Since(began))
		}
		if n := r.Connections(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

// TestReadAheadLosesNothing sends the next requests while a handler waits: the
// byte that the watch takes from them must reach the parser.
func TestReadAheadLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				t.Errorf("request %d: %v", call.Correlation, context.Cause(ctx))
			}
			return echo(ctx, call)
		}, nil)
		c := r.dial()
		c.send(request(kmsg.Fetch, 1, "one"))
		synctest.Wait()
		second := request(kmsg.Fetch, 2, "two")
		c.send(second[:1])
		synctest.Wait()
		c.send(second[1:], request(kmsg.Fetch, 3, "three"))
		c.want(1, "one")
		c.want(2, "two")
		c.want(3, "three")
		c.wantOpenAfter(time.Hour / 10)
	})
}

func (c *client) wantOpenAfter(d time.Duration) {
	time.Sleep(d)
	c.wantOpen()
}

// TestNoAnswer is case P01 at this level: the next bytes after a request with
// acks=0 answer the request behind it.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			if call.Key == kmsg.Produce.Int16() {
				return api.Answer{None: true}, nil
			}
			return echo(ctx, call)
		}, nil)
		c := r.dial()
		c.send(request(kmsg.Produce, 1, "acks=0"), request(kmsg.Metadata, 2, "m"))
		c.want(2, "m")
	})
}

// TestBrokenPeers is cases O03 and O13 and their kin: what cannot be parsed
// closes its own connection, leaves a line that names the peer, and nothing else.
func TestBrokenPeers(t *testing.T) {
	giant := binary.BigEndian.AppendUint32(nil, 1<<31-1)
	longID := request(kmsg.Metadata, 1, "")
	binary.BigEndian.PutUint16(longID[12:], 30000)
	for name, tc := range map[string]struct {
		send []byte
		line string
	}{
		"a frame of 2 GiB":           {giant, "socket.request.max.bytes"},
		"a negative size":            {[]byte{0xff, 0xff, 0xff, 0xff}, "fewer than a request has"},
		"a size of zero":             {[]byte{0, 0, 0, 0}, "fewer than a request has"},
		"TLS on a plain port":        {[]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), "TLS handshake"},
		"a client id of 30000 bytes": {longID, "client id of length 30000"},
		"an unknown API":             {request(999, 1, ""), "unknown API key"},
		"an API refused by Serve":    {request(kmsg.StopReplica, 1, ""), "StopReplica (API key 5) is not served"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
					if call.Key == kmsg.StopReplica.Int16() {
						return api.Answer{}, &api.UnsupportedError{Key: call.Key, Min: -1, Max: -1}
					}
					return echo(ctx, call)
				}, nil)
				bystander := r.dial()
				bystander.wantOpen()
				c := r.dial()
				c.send(tc.send)
				c.wantClosed()
				bystander.wantOpen()
				if log := r.log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, tc.line) || !strings.Contains(log, "peer=127.0.0.1:") {
					t.Errorf("log has no warning with %q and the peer:\n%s", tc.line, log)
				}
			})
		})
	}
}

// TestGoodRequestBeforeABadOneIsAnswered: what was asked properly is answered
// though the connection is about to be closed.
func TestGoodRequestBeforeABadOneIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, echo, nil).dial()
		c.send(request(kmsg.Metadata, 1, "good"), request(999, 2, ""))
		c.want(1, "good")
		c.wantClosed()
	})
}

func TestUnsupportedVersionIsLoggedWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, new(api.Env).Serve, nil)
		c := r.dial()
		frame := request(kmsg.Fetch, 1, "\x00")
		binary.BigEndian.PutUint16(frame[6:], 77)
		c.send(frame)
		c.wantClosed()
		log := r.log.String()
		for _, want := range []string{"api=Fetch", "version=77", "client_id=test", "peer=127.0.0.1:"} {
			if !strings.Contains(log, want) {
				t.Errorf("no %s in %s", want, log)
			}
		}
	})
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	for name, send := range map[string][]byte{
		"after nothing":        nil,
		"after half a size":    {0, 0},
		"after half a request": request(kmsg.Metadata, 1, "abc")[:10],
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, echo, nil).dial()
				began := time.Now()
				c.send(send)
				c.wantClosed()
				if took := time.Since(began); took != 10*time.Minute {
					t.Errorf("closed after %v", took)
				}
			})
		})
	}
	t.Run("but not while a handler works", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
				select {
				case <-time.After(25 * time.Minute):
					return echo(ctx, call)
				case <-ctx.Done():
					return api.Answer{}, context.Cause(ctx)
				}
			}, nil).dial()
			c.send(request(kmsg.JoinGroup, 1, "patience"))
			c.want(1, "patience")
		})
	})
}

func TestResponseThatDoesNotMove(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	handler := func(_ context.Context, call *api.Call) (api.Answer, error) {
		return answerOf(call, []byte(large)), nil
	}
	t.Run("closes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, handler, nil)
			c := r.dial()
			c.send(request(kmsg.Fetch, 1, ""))
			time.Sleep(10*time.Minute - 1)
			synctest.Wait()
			if r.Connections() != 1 {
				t.Fatal("closed too early")
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if r.Connections() != 0 {
				t.Error("still open")
			}
		})
	})
	t.Run("but a slow one may take its time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := start(t, handler, nil).dial()
			c.send(request(kmsg.Fetch, 1, ""))
			b := make([]byte, 50_000)
			for got := 0; got < 8+len(large); {
				time.Sleep(9 * time.Minute)
				n, err := c.Read(b)
				if err != nil {
					t.Fatalf("after %d bytes: %v", got, err)
				}
				got += n
			}
			c.send(request(kmsg.Fetch, 2, ""))
			c.want(2, large)
		})
	})
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			a, err := echo(ctx, call)
			if call.Correlation == 1 {
				a.Throttle = 5 * time.Second
			}
			return a, err
		}, nil)
		c := r.dial()
		began := time.Now()
		c.send(request(kmsg.Produce, 1, "too much"), request(kmsg.Metadata, 2, "next"))
		c.want(1, "too much")
		if took := time.Since(began); took != 0 {
			t.Errorf("the throttled answer took %v", took)
		}
		c.want(2, "next")
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("the next answer took %v", took)
		}

		c = r.dial()
		c.send(request(kmsg.Produce, 1, "too much"))
		c.want(1, "too much")
		c.Close()
		synctest.Wait()
		if n := r.Connections(); n != 1 {
			t.Errorf("%d connections: a muted one does not see that its client left", n)
		}
	})
}

func TestCloseAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			a, err := echo(ctx, call)
			a.Close = true
			return a, err
		}, nil).dial()
		c.send(request(kmsg.SASLHandshake, 1, "no"))
		c.want(1, "no")
		c.wantClosed()
	})
}

func TestDefectCostsOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		metrics := NewMetrics(registry)
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			switch call.Correlation {
			case 1:
				panic("BUG: test: 7 is not 8")
			case 2: // While the watch reads.
				ctx.Done()
				time.Sleep(time.Second)
				panic("BUG: test: 7 is not 9")
			}
			return echo(ctx, call)
		}, func(c *Config) { c.Metrics = metrics })
		bystander := r.dial()
		bystander.wantOpen()
		for i := range int32(2) {
			c := r.dial()
			c.send(request(kmsg.Metadata, i+1, ""))
			c.wantClosed()
		}
		bystander.wantOpen()
		if n := counted(t, registry, "moldau_server_panics_total"); n != 2 {
			t.Errorf("%v panics counted", n)
		}
		log := r.log.String()
		for _, want := range []string{"level=ERROR", "7 is not 8", "7 is not 9", "conn_test.go"} {
			if !strings.Contains(log, want) {
				t.Errorf("no %q in the log", want)
			}
		}
	})
}

func TestHalfRequestsLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // The bubble ends with a panic if a goroutine is left.
		r := start(t, echo, nil)
		frame := request(kmsg.Metadata, 1, strings.Repeat("x", 100_000))
		for i := range 1000 {
			c := r.dial()
			c.Write(frame[:i*50])
			c.Close()
		}
		synctest.Wait()
		if n := r.Connections(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
		if n := r.frames.used() + r.decoding.used(); n != 0 {
			t.Errorf("%d bytes of the budget are lost", n)
		}
	})
}

func TestAnswerIsReleasedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made, released atomic.Int32
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			made.Add(1)
			a := answerOf(call, make([]byte, 100_000))
			a.Release = func() { released.Add(1) }
			if call.Key == kmsg.Fetch.Int16() {
				select {
				case <-ctx.Done(): // Answers all the same, to nobody.
				case <-time.After(time.Hour):
				}
			}
			return a, nil
		}, nil)
		c := r.dial()
		c.send(request(kmsg.Metadata, 1, ""))
		c.want(1, string(make([]byte, 100_000)))
		c.send(request(kmsg.Metadata, 2, "")) // Nobody reads this one to its end.
		synctest.Wait()
		c.Close()
		c = r.dial()
		c.send(request(kmsg.Fetch, 3, ""))
		synctest.Wait()
		c.Close()
		c = r.dial()
		c.send(request(kmsg.Produce, 4, string(make([]byte, 1<<20)))[:500_000]) // Answered before it is all there,
		synctest.Wait()
		c.Close() // which it never is.
		synctest.Wait()
		if made.Load() != 4 || released.Load() != 4 {
			t.Errorf("%d answers, %d released", made.Load(), released.Load())
		}
	})
}

func TestIdleConnectionHoldsNoBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, echo, nil)
		c := r.dial()
		for i := range int32(3) {
			c.send(request(kmsg.Produce, i, strings.Repeat("x", 300_000)))
			c.want(i, strings.Repeat("x", 300_000))
		}
		synctest.Wait()
		for conn := range r.mu.conns {
			if conn.in.Buffered() != 0 || conn.out.held != nil || len(conn.iov) != 0 {
				t.Errorf("holds %d bytes in, %v out", conn.in.Buffered(), conn.out.held)
			}
		}
		if n := r.frames.used() + r.decoding.used(); n != 0 {
			t.Errorf("%d bytes of the budget are held by a silent connection", n)
		}
	})
}
