package brokertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/broker/internal/server"
	"github.com/moldau-broker/moldau/protocol"
)

// hooked is the broker's handler behind a cluster's hooks.
type hooked struct {
	next  server.Handler
	hooks *hooks
}

// Serve implements server.Handler. A panic of a hook or of the broker fails the
// test: the server goes on after it, and so the test might pass.
func (h *hooked) Serve(ctx context.Context, call *api.Call) (api.Answer, error) {
	defer func() {
		if r := recover(); r != nil {
			h.hooks.defect("panic under a %s request: %v\n%s", kmsg.NameForKey(call.Key), r, debug.Stack())
			panic(r)
		}
	}()
	list := h.hooks.of(call.Key)
	if len(list) == 0 {
		return h.next.Serve(ctx, call)
	}
	call, err := arrived(call)
	if err != nil {
		return api.Answer{}, err
	}
	body, err := decodeRequest(call)
	if err != nil { // The broker knows best what is to be said to that.
		return h.next.Serve(ctx, call)
	}
	x := &exchange{next: h.next, call: call, list: list}
	x.req = Request{Body: body, ClientID: call.Client(), Peer: call.Conn.Peer, x: x}
	return x.run(ctx, 0)
}

// untilDrained returns a context that ends too when the broker begins to stop, so
// that it does not wait for a test's hooks.
func untilDrained(ctx context.Context, draining <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case <-draining:
			cancel()
		case <-done:
		}
	}()
	return ctx, func() { close(done); cancel() }
}

// exchange is one request under way through the hooks. It belongs to the
// goroutine of the connection.
type exchange struct {
	next server.Handler
	call *api.Call
	list []*Hook
	req  Request
	// passed is what came of the Handler's call of Request.Serve, if there was one.
	passed *outcome
}

// outcome is an answer, or the lack of one.
type outcome struct {
	answer api.Answer
	err    error
}

func (x *exchange) request(rest int) *Request {
	x.req.rest = rest
	return &x.req
}

// run gives the request to the first of the remaining hooks that takes it, or to
// the broker.
func (x *exchange) run(ctx context.Context, from int) (api.Answer, error) {
	for i, h := range x.list[from:] {
		if h.takes(&x.req) {
			return h.act(ctx, x, from+i+1)
		}
	}
	return x.next.Serve(ctx, x.call)
}

// handle lets a Handler answer.
func (x *exchange) handle(ctx context.Context, h Handler, rest int) (api.Answer, error) {
	hctx, cancel := untilDrained(ctx, x.call.Conn.Draining)
	defer cancel()
	r := *x.request(rest)
	r.handled = true
	outer := x.passed
	x.passed = nil
	resp, err := h(hctx, &r)
	passed := x.passed
	x.passed = outer
	x.req.Body = r.Body
	switch {
	case err != nil:
		return api.Answer{}, fmt.Errorf("a test's hook closed the connection: %w", err)
	case resp != nil:
		return x.answer(resp), nil
	case passed != nil:
		return passed.answer, passed.err
	}
	x.update()
	return x.run(ctx, rest)
}

// update gives the broker what a Handler made of the request.
func (x *exchange) update() {
	if x.req.Body.GetVersion() != x.call.Version {
		panic(fmt.Sprintf("a hook changed the version of a %s request from %d to %d: a client cannot read the answer",
			kmsg.NameForKey(x.call.Key), x.call.Version, x.req.Body.GetVersion()))
	}
	if body := x.req.Body.AppendTo(nil); !bytes.Equal(body, x.call.Body) {
		call := *x.call
		call.Body = body
		x.call = &call
	}
}

// serve is Request.Serve.
func (x *exchange) serve(ctx context.Context, r *Request) (kmsg.Response, error) {
	switch {
	case !r.handled:
		panic("Request.Serve was called outside of a Handler")
	case x.passed != nil:
		panic("Request.Serve was called twice for one request")
	}
	x.req.Body = r.Body
	x.update()
	a, err := x.run(ctx, r.rest)
	x.passed = &outcome{err: err}
	if err != nil {
		return nil, err
	}
	resp, frame, err := decodeAnswer(x.call, a)
	a.Release = nil
	if !a.None {
		a.Parts = []api.Part{{Bytes: frame}}
	}
	x.passed = &outcome{a, err}
	return resp, err
}

// answer makes an answer of a response. A Produce that wants none gets none; if
// it failed the connection is closed, as Kafka does, so that the client notices.
func (x *exchange) answer(resp kmsg.Response) api.Answer {
	if p, ok := x.req.Body.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
		return api.Answer{None: true, Close: failed(resp)}
	}
	return encodeAnswer(x.call, resp)
}

// arrived waits for a body that comes in pieces, and gives the call with all of
// it: hooks see whole requests.
func arrived(call *api.Call) (*api.Call, error) {
	if call.Stream == nil {
		return call, nil
	}
	whole := *call
	whole.Stream, whole.Body = nil, make([]byte, 0, call.Stream.Left())
	for call.Stream.Left() > 0 {
		piece, err := call.Stream.Peek(min(call.Stream.Left(), pieceBytes))
		if err != nil {
			return nil, err
		}
		whole.Body = append(whole.Body, piece...)
		call.Stream.Skip(len(piece))
	}
	return &whole, nil
}

// pieceBytes is how much of a large request is taken at a time.
const pieceBytes = 64 << 10

// decodeRequest reads the body of a call.
func decodeRequest(call *api.Call) (req kmsg.Request, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s request: %v", kmsg.NameForKey(call.Key), r)
		}
	}()
	if req = kmsg.RequestForKey(call.Key); req == nil || call.Version > req.MaxVersion() {
		return nil, fmt.Errorf("API key %d version %d is not known", call.Key, call.Version)
	}
	req.SetVersion(call.Version)
	return req, req.ReadFrom(bytes.Clone(call.Body))
}

// decodeAnswer reads an answer, which it uses up, and returns its bytes too. The
// response is nil when there is none.
func decodeAnswer(call *api.Call, a api.Answer) (kmsg.Response, []byte, error) {
	if a.Release != nil {
		defer a.Release()
	}
	if a.None {
		return nil, nil, nil
	}
	var frame []byte
	for _, p := range a.Parts {
		if p.Span == nil {
			frame = append(frame, p.Bytes...)
			continue
		}
		at := len(frame)
		frame = append(frame, make([]byte, p.Span.Len())...)
		if _, err := p.Span.ReadAt(frame[at:], 0); err != nil {
			return nil, nil, err
		}
	}
	resp := kmsg.ResponseForKey(call.Key)
	version := call.Version
	header := len(protocol.AppendResponseHeader(make([]byte, 4), call.Key, version, call.Correlation))
	if call.Key == int16(kmsg.ApiVersions) && unsupported(frame[header:]) {
		version = 0 // Whatever was asked: the client may not know the newer form.
	}
	resp.SetVersion(version)
	if err := resp.ReadFrom(frame[header:]); err != nil {
		return nil, nil, fmt.Errorf("the broker's answer to %s version %d cannot be read: %w", kmsg.NameForKey(call.Key), call.Version, err)
	}
	return resp, frame, nil
}

// unsupported says whether an ApiVersions answer is the one to an unknown version.
func unsupported(body []byte) bool {
	return len(body) >= 2 && binary.BigEndian.Uint16(body) == 35
}

// encodeAnswer makes the answer of a response to a call.
func encodeAnswer(call *api.Call, resp kmsg.Response) api.Answer {
	version := call.Version
	if v, ok := resp.(*kmsg.ApiVersionsResponse); ok && v.ErrorCode == 35 {
		version = 0
	}
	resp.SetVersion(version)
	frame := protocol.AppendResponseHeader(make([]byte, 4), call.Key, version, call.Correlation)
	frame = resp.AppendTo(frame)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	a := api.Answer{Parts: []api.Part{{Bytes: frame}}}
	if t, ok := resp.(kmsg.ThrottleResponse); ok {
		if ms, after := t.Throttle(); after {
			a.Throttle = time.Duration(ms) * time.Millisecond
		}
	}
	return a
}
