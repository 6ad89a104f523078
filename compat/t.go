package compat

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// T is what a scenario is handed: connections to the broker, topics and groups of
// its own, and ways to end. One goroutine uses it.
type T struct {
	target *Target
	ctx    context.Context //nolint:containedctx // The run is the scope of T, as with testing.T.
	prefix string
	serial int

	main     *Conn
	conns    []*Conn
	cleanups []func()
	topicIDs map[string][16]byte

	part      string // Which part of the scenario runs: "v7".
	deviation string
}

// Fatalf ends the scenario as failed.
func (t *T) Fatalf(format string, args ...any) {
	f := &failure{text: fmt.Sprintf(format, args...)}
	if t.part != "" {
		f.text = t.part + ": " + f.text
	}
	f.exchanges = t.exchanges()
	panic(f)
}

// NotApplicable ends the scenario: the broker does not offer what it is about.
func (t *T) NotApplicable(format string, args ...any) {
	panic(&failure{text: fmt.Sprintf(format, args...), notApplicable: true})
}

// Deviates records that the broker did not what Kafka does but what a row of
// docs/deviations.md says, and lets the scenario go on.
func (t *T) Deviates(format string, args ...any) { t.deviation = fmt.Sprintf(format, args...) }

// Part says which part of the scenario runs, which a failure then tells; none if it is
// empty.
func (t *T) Part(name string) { t.part = name }

// Node is the broker's id.
func (t *T) Node() int32 { return t.target.node }

// nodeName is the broker's id as its settings are asked for.
func (t *T) nodeName() string { return strconv.Itoa(int(t.Node())) }

// Addr is the broker's address, for clients that dial themselves, by DialContext.
func (t *T) Addr() string { return t.target.addr }

// DialContext makes a plain connection that the scenario's end does not close.
func (t *T) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return t.target.dial(ctx, network, addr)
}

// Context ends with the scenario's time limit.
func (t *T) Context() context.Context { return t.ctx }

// Advertised are the versions of an API that the broker advertises.
func (t *T) Advertised(key kmsg.Key) kmsg.ApiVersionsResponseApiKey {
	return t.target.versions[key.Int16()]
}

// Conn is the scenario's first connection.
func (t *T) Conn() *Conn {
	if t.main == nil {
		t.main = t.Dial()
	}
	return t.main
}

// Dial makes another connection, which the scenario's end closes.
func (t *T) Dial() *Conn { return t.DialAs("moldau-compat") }

// DialAs makes a connection with a client id of its own.
func (t *T) DialAs(clientID string) *Conn {
	c, err := dial(t.ctx, t.target.dial, t.target.addr, clientID)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	c.answered = t.target.answered
	t.conns = append(t.conns, c)
	return c
}

// cleanup registers what is undone at the end, last first.
func (t *T) cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// name makes a name that nobody else uses.
func (t *T) name(kind string) string {
	t.serial++
	return fmt.Sprintf("%s.%s%d", t.prefix, kind, t.serial)
}

// has says whether the broker advertises that version of an API.
func (t *T) has(key kmsg.Key, version int16) bool {
	k, ok := t.target.versions[key.Int16()]
	return ok && k.MinVersion <= version && version <= k.MaxVersion
}

// newest is the highest advertised version of an API up to limit.
func (t *T) newest(key kmsg.Key, limit int16) int16 {
	k, ok := t.target.versions[key.Int16()]
	if !ok || k.MinVersion > limit {
		t.NotApplicable("%s up to version %d is not advertised", key.Name(), limit)
	}
	return min(limit, k.MaxVersion)
}

// each runs f for every advertised version of an API from lo to hi.
func (t *T) each(key kmsg.Key, lo, hi int16, f func(version int16)) {
	any := false
	for v := lo; v <= hi; v++ {
		if !t.has(key, v) {
			continue
		}
		any = true
		t.part = fmt.Sprintf("%s v%d", key.Name(), v)
		f(v)
	}
	t.part = ""
	if !any {
		t.NotApplicable("%s %d to %d is not advertised", key.Name(), lo, hi)
	}
}

// ask sends a request on the first connection and returns its response.
func ask[R kmsg.Response](t *T, version int16, req kmsg.Request) R {
	return askOn[R](t, t.Conn(), version, req)
}

// askOn sends a request on a connection and returns its response.
func askOn[R kmsg.Response](t *T, c *Conn, version int16, req kmsg.Request) R {
	if !t.has(kmsg.Key(req.Key()), version) {
		t.NotApplicable("%s version %d is not advertised", kmsg.NameForKey(req.Key()), version)
	}
	req.SetVersion(version)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("%s version %d: %v", kmsg.NameForKey(req.Key()), version, err)
	}
	return resp.(R)
}

// receive reads the response of a request that was sent.
func receive[R kmsg.Response](t *T, c *Conn, p Pending) R {
	resp, err := c.Receive(p)
	if err != nil {
		t.Fatalf("%s: %v", kmsg.NameForKey(p.Request.Key()), err)
	}
	return resp.(R)
}

// send writes a request and does not wait.
func (t *T) send(c *Conn, version int16, req kmsg.Request) Pending {
	req.SetVersion(version)
	p, err := c.Send(req)
	if err != nil {
		t.Fatalf("send %s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return p
}

// code fails unless an error code is the wanted one; nil wants none.
func (t *T) code(what string, got int16, want *kerr.Error) {
	var code int16
	if want != nil {
		code = want.Code
	}
	if got != code {
		t.Fatalf("%s: got error %s, want %s", what, codeName(got), codeName(code))
	}
}

// ok fails unless an error code is none.
func (t *T) ok(what string, got int16) { t.code(what, got, nil) }

// equal fails unless a value is the wanted one.
func equal[V comparable](t *T, what string, got, want V) {
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, plain(got), plain(want))
	}
}

// equals fails unless two lists are the same.
func equals[V comparable](t *T, what string, got, want []V) {
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", what, plain(got), plain(want))
	}
}

// contains fails unless a message has a piece.
func (t *T) contains(what string, got *string, want string) {
	switch {
	case got == nil:
		t.Fatalf("%s: got null, want a text with %q", what, want)
	case !strings.Contains(*got, want):
		t.Fatalf("%s: got %q, want a text with %q", what, *got, want)
	}
}

// text fails unless a nullable string has this value.
func (t *T) text(what string, got *string, want string) {
	switch {
	case got == nil:
		t.Fatalf("%s: got null, want %q", what, want)
	case *got != want:
		t.Fatalf("%s: got %q, want %q", what, *got, want)
	}
}

// one fails unless a list has exactly one element, which it returns.
func one[V any](t *T, what string, list []V) V {
	if len(list) != 1 {
		t.Fatalf("%s: got %d elements, want 1: %v", what, len(list), plain(list))
	}
	return list[0]
}

// closes fails unless the broker closes the connection.
func (t *T) closes(c *Conn) {
	if err := c.Closed(); err != nil {
		t.Fatalf("%v", err)
	}
}

// until asks again and again, a few milliseconds apart, until done says so. The
// scenario's time limit ends it, with what was waited for.
func (t *T) until(what string, done func() bool) {
	wait := 2 * time.Millisecond
	for !done() {
		select {
		case <-t.ctx.Done():
			t.Fatalf("%s did not come to pass", what)
		case <-time.After(wait):
		}
		wait = min(2*wait, 100*time.Millisecond)
	}
}

// pause lets time pass that the broker must see pass.
func (t *T) pause(d time.Duration) {
	select {
	case <-t.ctx.Done():
		t.Fatalf("the time limit came while waiting %v", d)
	case <-time.After(d):
	}
}

// codeName is an error code as a person reads it: its name and the number.
func codeName(code int16) string {
	if code == 0 {
		return "NONE"
	}
	if e := new(kerr.Error); errors.As(kerr.ErrorForCode(code), &e) {
		return fmt.Sprintf("%s (%d)", e.Message, code)
	}
	return fmt.Sprintf("(%d)", code)
}
