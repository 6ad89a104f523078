package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/protocol"
)

func TestMaxConnections(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"of the broker":   func(c *Config) { c.MaxConnections = 2 },
		"of the listener": func(c *Config) { c.Listeners[0].MaxConnections = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, echo, change)
				first, second := r.dial(), r.dial()
				first.wantOpen()
				second.wantOpen()
				third := r.dial() // Waits in the backlog, as Kafka leaves it there.
				third.send(request(kmsg.Metadata, 1, "at last"))
				synctest.Wait()
				if n := r.Connections(); n != 2 {
					t.Fatalf("%d connections", n)
				}
				first.Close()
				third.want(1, "at last")
			})
		})
	}
}

func TestMaxConnectionsPerIP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		r := start(t, echo, func(c *Config) {
			c.MaxConnectionsPerIP = 1
			c.PerIPOverrides = map[string]int{"10.0.0.2": 2, "10.0.0.3": 0}
			c.Metrics = NewMetrics(reg)
		})
		first := r.dialFrom("10.0.0.1")
		first.wantOpen()
		r.dialFrom("10.0.0.1").wantClosed()
		r.dialFrom("10.0.0.2").wantOpen()
		r.dialFrom("10.0.0.2").wantOpen()
		r.dialFrom("10.0.0.2").wantClosed()
		r.dialFrom("10.0.0.3").wantClosed()
		first.wantOpen()
		first.Close()
		synctest.Wait()
		r.dialFrom("10.0.0.1").wantOpen()
		if n := counted(t, reg, "moldau_server_connections_refused_total"); n != 3 {
			t.Errorf("%v refused", n)
		}
	})
}

func TestAcceptRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, echo, func(c *Config) { c.AcceptRate = 10 })
		began := time.Now()
		for range 35 {
			r.dial().wantOpen()
		}
		// Ten at once, and then ten each second.
		if took := time.Since(began).Round(10 * time.Millisecond); took != 2500*time.Millisecond {
			t.Errorf("35 connections took %v", took)
		}
	})
}

func TestAcceptFailuresPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, echo, func(c *Config) {
			listen := c.Listen
			c.Listen = func(network, address string) (net.Listener, error) {
				l, err := listen(network, address)
				return &failing{Listener: l, left: 5}, err
			}
		})
		r.dial().wantOpen()
		if log := r.log.String(); !strings.Contains(log, "cannot accept connections") || !strings.Contains(log, "no descriptor left") {
			t.Errorf("no line about it: %s", log)
		}
	})
}

// failing is a listener whose first Accepts fail.
type failing struct {
	net.Listener
	left int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left > 0 {
		f.left--
		return nil, errors.New("no descriptor left")
	}
	return f.Listener.Accept()
}

func TestRequestLimits(t *testing.T) {
	const sasl = "SASL_PLAINTEXT"
	for name, tc := range map[string]struct {
		protocol string
		key      kmsg.Key
		size     int
		ok       bool
	}{
		"produce of 10 MiB":           {"PLAINTEXT", kmsg.Produce, 10 << 20, true},
		"the largest metadata":        {"PLAINTEXT", kmsg.Metadata, 128 << 20 / protocol.DecodeFactor, true},
		"metadata of more":            {"PLAINTEXT", kmsg.Metadata, 128<<20/protocol.DecodeFactor + 1, false},
		"produce of more than 100":    {"PLAINTEXT", kmsg.Produce, 100<<20 + 1, false},
		"before login":                {sasl, kmsg.SASLAuthenticate, 512 << 10, true},
		"before login, one byte more": {sasl, kmsg.SASLAuthenticate, 512<<10 + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				size := 0
				r := start(t, func(_ context.Context, call *api.Call) (api.Answer, error) {
					body, err := bodyOf(call)
					size = len(body)
					return answerOf(call, nil), err
				}, func(c *Config) { c.Listeners[0].Protocol = tc.protocol })
				c := r.dial()
				frame := request(tc.key, 1, "")
				header := len(frame) - 4
				frame = append(frame, make([]byte, tc.size-header)...)
				binary.BigEndian.PutUint32(frame, uint32(tc.size))
				go c.Write(frame) // Fails when it is refused.
				if !tc.ok {
					c.wantClosed()
					return
				}
				c.want(1, "")
				if size != tc.size-header {
					t.Errorf("body of %d bytes", size)
				}
			})
		})
	}
}

// TestLimitsFollowLogin: once the handler has authenticated a connection, it
// may send what any other may.
func TestLimitsFollowLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(_ context.Context, call *api.Call) (api.Answer, error) {
			call.Conn.Authenticated = true
			return answerOf(call, nil), nil
		}, func(c *Config) { c.Listeners[0].Protocol = "SASL_PLAINTEXT" })
		c := r.dial()
		for i := range int32(2) {
			size := 1000 + int(i)<<20
			c.sendMeanwhile(request(kmsg.Metadata, i, strings.Repeat("x", size)))
			c.want(i, "")
		}
	})
}

func TestBudgetIsSharedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, time.Minute, NewMetrics(nil).QueuedBytes.WithLabelValues("frames"))
		var mu sync.Mutex
		var order []int64
		take := func(n int64, hold time.Duration) {
			got, err := b.acquire(t.Context(), n)
			if err != nil {
				t.Errorf("%d: %v", n, err)
			}
			mu.Lock()
			order = append(order, n)
			mu.Unlock()
			time.Sleep(hold)
			b.release(got)
		}
		go take(60, time.Second)
		synctest.Wait()
		go take(95, time.Second) // Waits for the first.
		synctest.Wait()
		go take(10, time.Second) // Fits, but comes after the one that waits.
		synctest.Wait()
		go take(1000, time.Second) // More than there is: alone.
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := [4]int64(order); got != [4]int64{60, 95, 10, 1000} {
			t.Errorf("order %v", got)
		}
		if b.used() != 0 {
			t.Errorf("%d bytes are lost", b.used())
		}
	})
}

func TestBudgetRefusesInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, 30*time.Second, NewMetrics(nil).QueuedBytes.WithLabelValues("frames"))
		all, _ := b.acquire(t.Context(), 95)
		began := time.Now()
		small := make(chan error)
		go func() {
			time.Sleep(time.Second)
			_, err := b.acquire(t.Context(), 5) // Fits once the one before it gave up.
			small <- err
		}()
		if _, err := b.acquire(t.Context(), 10); !errors.Is(err, errNoBudget) || time.Since(began) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := <-small; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.acquire(ctx, 10); !errors.Is(err, context.Canceled) {
			t.Errorf("%v of a client that left", err)
		}
		b.release(all + 5)
		if b.used() != 0 {
			t.Errorf("%d bytes are lost", b.used())
		}
	})
}

// TestHalfRequestsCannotHoldAllMemory: large requests that stop arriving take
// the whole budget, and are closed when others need it; but not before.
func TestHalfRequestsCannotHoldAllMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, echo, func(c *Config) {
			c.QueuedBytes = 16 << 20
			c.Limits.Produce = 8 << 20
		})
		frame := request(kmsg.Produce, 1, strings.Repeat("x", 5<<20))
		for range 2 { // Four MiB of buffer each.
			r.dial().send(frame[:2<<20])
		}
		time.Sleep(5 * time.Minute)
		if n := r.Connections(); n != 2 {
			t.Fatalf("%d connections, though nobody waited", n)
		}
		c := r.dial()
		began := time.Now()
		body := strings.Repeat("y", 1<<20)
		c.sendMeanwhile(request(kmsg.Produce, 2, body))
		c.want(2, body)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("a good request waited %v", took)
		}
	})
}

// TestBufferLargerThanTheBudget: the buffer of a request is rounded up to a size that
// the pool has. What the reader gives back is what it took, and no request that is
// allowed waits for more memory than there is.
func TestBufferLargerThanTheBudget(t *testing.T) {
	for name, size := range map[string]int{
		"just beyond what a connection has": 90_000,
		"the largest that is allowed":       100_000,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, echo, func(c *Config) {
					c.QueuedBytes = 200_000
					c.Limits.Produce = 100_000
				})
				frame := request(kmsg.Produce, 1, "")
				body := strings.Repeat("x", 4+size-len(frame))
				frame = request(kmsg.Produce, 1, body)
				left := r.dial()
				left.send(frame[:80_000])
				synctest.Wait()
				left.Close()
				c := r.dial()
				began := time.Now()
				go c.Write(frame)
				c.want(1, body)
				synctest.Wait()
				if took := time.Since(began); took > 0 {
					t.Errorf("the request took %v", took)
				}
				if n := r.frames.used(); n != 0 {
					t.Errorf("%d bytes are lost", n)
				}
			})
		})
	}
}

// TestWorstArraysStayInTheBudget sends the requests that grow most in decoding,
// many at once, and wants the decoders to take turns.
func TestWorstArraysStayInTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := new(api.Env)
		var mu sync.Mutex
		decoding, most := int64(0), int64(0)
		add := func(n int64) {
			mu.Lock()
			defer mu.Unlock()
			decoding += n
			most = max(most, decoding)
		}
		var b *budget
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			add(int64(len(call.Body)) * protocol.DecodeFactor)
			time.Sleep(time.Second) // As if decoding took long.
			add(-int64(len(call.Body)) * protocol.DecodeFactor)
			if b.used() < int64(len(call.Body))*protocol.DecodeFactor {
				t.Error("decodes more than the budget has set aside")
			}
			return env.Serve(ctx, call)
		}, func(c *Config) { c.QueuedBytes = 128 << 20 })
		b = r.decoding
		// ApiVersions v3 whose tagged fields are as many as fit.
		tags := bytes.Repeat([]byte{1, 0}, 100_000)
		body := append([]byte{0, 2, 'a', 2, 'b', 0xa0, 0x8d, 0x06}, tags...)
		frame := request(kmsg.ApiVersions, 1, string(body))
		binary.BigEndian.PutUint16(frame[6:], 3)
		for range 10 {
			c := r.dial()
			go c.Write(frame)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if most == 0 || most > 64<<20 {
			t.Errorf("%d bytes of decoded requests at once", most)
		}
		if b.used() != 0 {
			t.Errorf("%d bytes are lost", b.used())
		}
	})
}

func TestRetainGivesBackEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *budget
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			if call.Correlation == 1 {
				call.Retain(5000)
				select {
				case <-time.After(time.Minute):
				case <-ctx.Done():
				}
				if b.used() != 5000 {
					t.Errorf("%d bytes held while the handler waits", b.used())
				}
			}
			return answerOf(call, nil), nil
		}, nil)
		b = r.decoding
		c := r.dial()
		c.send(request(kmsg.JoinGroup, 1, strings.Repeat("x", 50_000)))
		c.want(1, "")
		if b.used() != 0 {
			t.Errorf("%d bytes are lost", b.used())
		}
	})
}

func TestWarner(t *testing.T) {
	var w warner
	now := time.Unix(1000, 0)
	for i := range 25 {
		if _, ok := w.take(now); ok != (i < warnBurst) {
			t.Fatalf("line %d: %v", i, ok)
		}
	}
	if suppressed, ok := w.take(now.Add(warnEvery)); !ok || suppressed != 15 {
		t.Errorf("a second later: %v, %d suppressed", ok, suppressed)
	}
	if _, ok := w.take(now.Add(warnEvery)); ok {
		t.Error("two lines in that second")
	}
	if suppressed, ok := w.take(now.Add(time.Hour)); !ok || suppressed != 1 {
		t.Errorf("an hour later: %v, %d suppressed", ok, suppressed)
	}
}

func TestFatalAt(t *testing.T) {
	for function, want := range map[string]bool{
		module + "logstore.(*Log).Append":               true,
		module + "logstore/internal/segment.Open":       true,
		module + "broker/internal/quorum.(*Node).ready": true,
		module + "logstorex.Open":                       false,
		module + "broker/internal/api.fetch":            false,
		"main.main":                                     false,
	} {
		if got := fatalAt(function); got != want {
			t.Errorf("%s: %v", function, got)
		}
	}
}

func TestIsFatalFindsThePanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		if isFatal() {
			t.Error("a panic of this test is taken for the log store's")
		}
	}()
	write := func(m map[string]int) { m["nil"] = 1 }
	write(nil)
}

// TestRoomForTooMuch: a handler that asks for more than there is in all is refused at
// once, since it would wait for itself.
func TestRoomForTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		r := start(t, func(_ context.Context, call *api.Call) (api.Answer, error) {
			began := time.Now()
			err := call.Reserve(5 << 20)
			if err == nil {
				err = call.Reserve(4 << 20)
			}
			took = time.Since(began)
			return answerOf(call, nil), err
		}, func(c *Config) { c.QueuedBytes = 16 << 20 })
		c := r.dial()
		c.sendMeanwhile(request(kmsg.Metadata, 1, ""))
		c.wantClosed()
		if took > 0 {
			t.Errorf("it waited %v", took)
		}
	})
}

// TestRoomBesideTheDecodedRequest: what a decoded request holds counts with what its
// handler asks for; together more than there is would be waited for in vain.
func TestRoomBesideTheDecodedRequest(t *testing.T) {
	const budget = 8 << 20
	decoding := int64(len(request(kmsg.Metadata, 1, strings.Repeat("x", 50_000)))-4) * protocol.DecodeFactor
	for name, tc := range map[string]struct {
		retained, made int64
		ok             bool
	}{
		"what is left":           {-1, budget - decoding, true},
		"one byte more":          {-1, budget - decoding + 1, false},
		"what was given back":    {5000, budget - 5000, true},
		"one more of the latter": {5000, budget - 5000 + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var took time.Duration
				r := start(t, func(_ context.Context, call *api.Call) (api.Answer, error) {
					if tc.retained >= 0 {
						call.Retain(tc.retained)
					}
					began := time.Now()
					err := call.Reserve(tc.made)
					took = time.Since(began)
					return answerOf(call, nil), err
				}, func(c *Config) { c.QueuedBytes = 2 * budget })
				c := r.dial()
				c.sendMeanwhile(request(kmsg.Metadata, 1, strings.Repeat("x", 50_000)))
				if tc.ok {
					c.want(1, "")
				} else {
					c.wantClosed()
				}
				if took > 0 {
					t.Errorf("it waited %v", took)
				}
				synctest.Wait()
				if n := r.decoding.used(); n != 0 {
					t.Errorf("%d bytes are lost", n)
				}
			})
		})
	}
}
