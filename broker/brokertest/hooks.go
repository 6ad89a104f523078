package brokertest

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
)

// Request is a client's request on its way to the broker.
type Request struct {
	// Body is what the client asks, with its version. A Handler may change it,
	// but for its version, and the broker gets the changed one.
	Body kmsg.Request
	// ClientID is the client's client.id; empty when it has none.
	ClientID string
	// Peer is the client's end of the connection, which tells connections apart.
	Peer net.Addr

	x       *exchange
	rest    int  // Where Serve goes on in the list of hooks.
	handled bool // By a Handler, which may call Serve.
}

// Key is the request's API.
func (r *Request) Key() kmsg.Key { return kmsg.Key(r.Body.Key()) }

// Serve has the request carried out, and returns the answer, decoded: it can be
// looked at, changed and returned. It is nil for a Produce request that wants no
// answer (acks=0). Serve is for a Handler, once at most.
func (r *Request) Serve(ctx context.Context) (kmsg.Response, error) {
	return r.x.serve(ctx, r)
}

// Handler answers requests in the broker's place. It runs on the goroutine of
// the connection, which goes on with its next request when it returns; other
// connections do not wait for it. One that waits has to stop when ctx is done:
// the client is gone then, or the broker stops.
//
// A response is written to the client. An error closes the connection with no
// answer. Neither leaves the answer to the next hook, and in the end to the
// broker; what Serve returned goes to the client then, if it was called.
type Handler func(ctx context.Context, r *Request) (kmsg.Response, error)

// Rule says which requests a hook is for. It is a value: each method returns a
// narrower one.
type Rule struct {
	c      *Cluster
	keys   []kmsg.Key
	client string
	accept func(*Request) bool
	times  int
}

// On begins a hook for requests of these APIs, or of all if none is given. The
// hook is there when one of Rule's last methods (Fail, Delay, Drop, LoseAnswer,
// CloseAfter, Observe, Handle) has returned. Requests meet the hooks in
// the order in which these were made: each answers, or passes the request on.
//
//	mb.On(kmsg.Produce).Times(2).Fail(kerr.NotLeaderForPartition.Code)
func (c *Cluster) On(keys ...kmsg.Key) Rule { return Rule{c: c, keys: keys, times: -1} }

// Times ends the hook after n requests. The default is no end.
func (r Rule) Times(n int) Rule {
	r.times = n
	return r
}

// Client leaves other clients alone, by their client.id.
func (r Rule) Client(id string) Rule {
	r.client = id
	return r
}

// If leaves requests alone of which accept says false. It is called for one
// request at a time.
func (r Rule) If(accept func(*Request) bool) Rule {
	r.accept = accept
	return r
}

// Fail answers with an error code of Kafka's, such as
// kerr.NotLeaderForPartition.Code, wherever the answer has room for one, and does
// not carry the request out. A Produce that wants no answer is dropped, as Kafka
// drops it then.
func (r Rule) Fail(code int16) *Hook {
	return r.add(func(_ context.Context, x *exchange, _ int) (api.Answer, error) {
		return x.answer(failure(x.req.Body, code)), nil
	})
}

// Delay waits before the request is carried out. It is not, when the client has
// gone away or the broker stops meanwhile.
func (r Rule) Delay(d time.Duration) *Hook {
	return r.add(func(ctx context.Context, x *exchange, rest int) (api.Answer, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return x.run(ctx, rest)
		case <-x.call.Conn.Draining:
			return api.Answer{None: true, Close: true}, nil
		case <-ctx.Done():
			return api.Answer{}, context.Cause(ctx)
		}
	})
}

// Drop closes the connection in place of an answer; the request is not carried
// out. (franz-go takes a connection that is closed before its first answer for a
// sign of missing SASL, and gives some requests up then.)
func (r Rule) Drop() *Hook {
	return r.add(func(context.Context, *exchange, int) (api.Answer, error) {
		return api.Answer{None: true, Close: true}, nil
	})
}

// LoseAnswer has the request carried out, and closes the connection in place of
// the answer: the client cannot know.
func (r Rule) LoseAnswer() *Hook {
	return r.add(func(ctx context.Context, x *exchange, rest int) (api.Answer, error) {
		a, err := x.run(ctx, rest)
		if err == nil && a.Release != nil {
			a.Release()
		}
		return api.Answer{None: true, Close: true}, err
	})
}

// CloseAfter closes the connection once the answer is written.
func (r Rule) CloseAfter() *Hook {
	return r.add(func(ctx context.Context, x *exchange, rest int) (api.Answer, error) {
		a, err := x.run(ctx, rest)
		a.Close = true
		return a, err
	})
}

// Observe calls fn with each request, before it is carried out. It runs on the
// goroutine of the connection: what it shares with the test needs a lock, an
// atomic or a channel.
func (r Rule) Observe(fn func(*Request)) *Hook {
	return r.add(func(ctx context.Context, x *exchange, rest int) (api.Answer, error) {
		fn(x.request(rest))
		return x.run(ctx, rest)
	})
}

// Handle lets h answer.
func (r Rule) Handle(h Handler) *Hook {
	return r.add(func(ctx context.Context, x *exchange, rest int) (api.Answer, error) {
		return x.handle(ctx, h, rest)
	})
}

func (r Rule) add(act action) *Hook {
	h := &Hook{hooks: r.c.hooks, rule: r, act: act}
	h.mu.left = r.times
	r.c.hooks.mu.Lock()
	defer r.c.hooks.mu.Unlock()
	r.c.hooks.mu.list = append(slices.Clone(r.c.hooks.mu.list), h)
	return h
}

// action is what a hook does with a request; rest is where the hooks behind it
// begin.
type action func(ctx context.Context, x *exchange, rest int) (api.Answer, error)

// Hook is a rule at work. Any goroutine may use it.
type Hook struct {
	hooks *hooks
	rule  Rule
	act   action

	mu struct {
		sync.Mutex

		count int
		left  int // Negative: without end.
	}
}

// Count is how many requests the hook has taken so far.
func (h *Hook) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.count
}

// Remove ends the hook. Requests that it has taken stay with it.
func (h *Hook) Remove() {
	h.hooks.mu.Lock()
	defer h.hooks.mu.Unlock()
	h.hooks.mu.list = slices.DeleteFunc(slices.Clone(h.hooks.mu.list), func(o *Hook) bool { return o == h })
}

// takes says whether the hook is for a request, and counts it.
func (h *Hook) takes(r *Request) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.left == 0 || (h.rule.client != "" && h.rule.client != r.ClientID) {
		return false
	}
	if h.rule.accept != nil && !h.rule.accept(r) {
		return false
	}
	h.mu.count++
	if h.mu.left > 0 {
		h.mu.left--
	}
	return true
}

// hooks are those of a cluster, oldest first.
type hooks struct {
	// defect fails the test: something is wrong with a hook, or the broker.
	defect func(format string, args ...any)

	mu struct {
		sync.Mutex

		list []*Hook // Replaced, not changed.
	}
}

func (h *hooks) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.list = nil
}

// of returns the hooks for an API.
func (h *hooks) of(key int16) []*Hook {
	h.mu.Lock()
	list := h.mu.list
	h.mu.Unlock()
	var out []*Hook
	for _, hook := range list {
		if len(hook.rule.keys) == 0 || slices.Contains(hook.rule.keys, kmsg.Key(key)) {
			out = append(out, hook)
		}
	}
	return out
}
