package server

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
)

// TestLargeProduceIsHandledWhileItArrives: the handler sees the first bytes of a
// large request before the last was sent.
func TestLargeProduceIsHandledWhileItArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := 0
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			if call.Stream == nil {
				return echo(ctx, call)
			}
			for call.Stream.Left() > 0 {
				n := min(10_000, call.Stream.Left())
				if _, err := call.Stream.Peek(n); err != nil {
					return api.Answer{}, err
				}
				call.Stream.Skip(n)
				seen += n
			}
			select { // Waits, and would see the client leave.
			case <-time.After(time.Second):
				return answerOf(call, []byte("done")), nil
			case <-ctx.Done():
				return api.Answer{}, ctx.Err()
			}
		}, nil)
		c := r.dial()
		body := strings.Repeat("x", 1<<20)
		frame := request(kmsg.Produce, 1, body)
		c.send(frame[:600_000])
		synctest.Wait()
		if seen < 500_000 || seen > 600_000 {
			t.Errorf("the handler has seen %d bytes of 600000", seen)
		}
		c.send(frame[600_000:], request(kmsg.Metadata, 2, "next"))
		c.want(1, "done")
		c.want(2, "next")
		if seen != len(body) {
			t.Errorf("the handler has seen %d bytes of %d", seen, len(body))
		}
		synctest.Wait()
		if n := r.frames.used(); n != 0 {
			t.Errorf("%d bytes of the budget are held", n)
		}
	})
}

// TestHangUpInTheMiddle: a client that leaves in the middle of a large request is
// seen by who reads it, and one that leaves behind it by who waits.
func TestHangUpInTheMiddle(t *testing.T) {
	for name, tc := range map[string]struct {
		sent int
		want error
	}{
		"in the middle": {600_000, io.ErrUnexpectedEOF},
		"behind it":     {-1, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var saw error
				r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
					ctx, cancel := context.WithTimeout(ctx, time.Hour) // Asks for Done before the request has arrived.
					defer cancel()
					if _, saw = bodyOf(call); saw == nil {
						<-ctx.Done()
						saw = context.Cause(ctx)
					}
					return api.Answer{}, saw
				}, nil)
				c := r.dial()
				frame := request(kmsg.Produce, 1, strings.Repeat("x", 1<<20))
				if tc.sent > 0 {
					frame = frame[:tc.sent]
				}
				c.send(frame)
				synctest.Wait()
				c.Close()
				synctest.Wait()
				if !errors.Is(saw, tc.want) || r.Connections() != 0 {
					t.Errorf("the handler saw %v, %d connections left", saw, r.Connections())
				}
			})
		})
	}
}

// TestUnreadRequestIsSkipped: a handler that answers without looking at all of a
// large request does not confuse the next one.
func TestUnreadRequestIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(ctx context.Context, call *api.Call) (api.Answer, error) {
			if call.Stream != nil {
				return answerOf(call, []byte("refused")), nil
			}
			return echo(ctx, call)
		}, nil)
		c := r.dial()
		c.sendMeanwhile(request(kmsg.Produce, 1, strings.Repeat("x", 3<<20)), request(kmsg.Metadata, 2, "next"))
		c.want(1, "refused")
		c.want(2, "next")
	})
}
