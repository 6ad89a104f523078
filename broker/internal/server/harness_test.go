package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/broker/internal/memnet"
	"github.com/moldau-broker/moldau/protocol"
)

// handlerFunc is a Handler made of a func.
type handlerFunc func(ctx context.Context, call *api.Call) (api.Answer, error)

func (f handlerFunc) Serve(ctx context.Context, call *api.Call) (api.Answer, error) {
	return f(ctx, call)
}

// echo answers with the correlation number and the body of the request.
func echo(_ context.Context, call *api.Call) (api.Answer, error) {
	body, err := bodyOf(call)
	return answerOf(call, body), err
}

// bodyOf is the body of a request, all of it.
func bodyOf(call *api.Call) ([]byte, error) {
	if call.Stream == nil {
		return call.Body, nil
	}
	body, err := call.Stream.Peek(call.Stream.Left())
	if err == nil {
		call.Stream.Skip(len(body))
	}
	return body, err
}

func answerOf(call *api.Call, body []byte) api.Answer {
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(call.Correlation))
	return api.Answer{Parts: []api.Part{{Bytes: append(frame, body...)}}}
}

// rig is a server on a network in memory.
type rig struct {
	*Server
	t   *testing.T
	net *memnet.Network
	log *lockedBuffer
}

const brokerAddr = "broker:9092"

// start serves h until the test ends.
func start(t *testing.T, h handlerFunc, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, net: memnet.New(), log: new(lockedBuffer)}
	cfg := Config{
		Listeners: []Listener{{Name: "PLAINTEXT", Protocol: "PLAINTEXT", Bind: brokerAddr}},
		Handler:   h,
		Listen:    r.net.Listen,
		Logger:    slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if r.Server, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	for _, l := range cfg.Listeners {
		if err := r.Start(l.Name); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		r.Shutdown(ctx)
	})
	return r
}

// lockedBuffer collects log lines of many goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// client is the other end of a connection.
type client struct {
	net.Conn
	t *testing.T
}

func (r *rig) dial() *client { return r.dialFrom("127.0.0.1") }

func (r *rig) dialFrom(ip string) *client {
	r.t.Helper()
	nc, err := r.net.DialFrom(r.t.Context(), ip, "tcp", brokerAddr)
	if err != nil {
		r.t.Fatal(err)
	}
	c := &client{nc, r.t}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// request is a frame with the header of that API and that body.
func request(key kmsg.Key, correlation int32, body string) []byte {
	h := protocol.RequestHeader{Key: key.Int16(), Correlation: correlation, ClientID: []byte("test")}
	frame := protocol.AppendRequestHeader([]byte{0, 0, 0, 0}, h)
	frame = append(frame, body...)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

func (c *client) send(frames ...[]byte) {
	c.t.Helper()
	if _, err := c.Write(bytes.Join(frames, nil)); err != nil {
		c.t.Fatal(err)
	}
}

// sendMeanwhile sends while the test goes on, for what the network does not buffer.
// Only the test's own goroutine may end the test: a failure here is an error, and what
// the test waits for then does not come.
func (c *client) sendMeanwhile(frames ...[]byte) {
	go func() {
		if _, err := c.Write(bytes.Join(frames, nil)); err != nil {
			c.t.Errorf("send: %v", err)
		}
	}()
}

// want reads an answer and compares it.
func (c *client) want(correlation int32, body string) {
	c.t.Helper()
	frame, err := protocol.ReadFrame(c, 100<<20)
	if err != nil {
		c.t.Fatalf("answer %d: %v", correlation, err)
	}
	if got := int32(binary.BigEndian.Uint32(frame)); got != correlation {
		c.t.Fatalf("answer %d, want %d", got, correlation)
	}
	if got := string(frame[4:]); got != body {
		c.t.Fatalf("answer %d: %.100q, want %.100q", correlation, got, body)
	}
}

// wantClosed reads until the server has closed the connection, and wants
// nothing before that.
func (c *client) wantClosed() {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(time.Hour))
	b, err := io.ReadAll(c)
	if len(b) > 0 {
		c.t.Fatalf("%q instead of the end", b)
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		c.t.Fatal("still open after an hour")
	}
}

// wantOpen checks that a request is still answered.
func (c *client) wantOpen() {
	c.t.Helper()
	c.send(request(kmsg.Metadata, 4711, "alive"))
	c.want(4711, "alive")
}
