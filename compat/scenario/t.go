package scenario

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
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
	restarts *restarts // Of a scenario that restarts the broker.

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

// NodeName is the broker's id as its settings are asked for.
func (t *T) NodeName() string { return strconv.Itoa(int(t.Node())) }

// Addr is the broker's address, for clients that dial themselves, by DialContext.
func (t *T) Addr() string { return t.target.addr }

// DialContext makes a plain connection that the scenario's end does not close.
func (t *T) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return t.target.dial(ctx, network, addr)
}

// Context ends with the scenario's time limit.
func (t *T) Context() context.Context { return t.ctx }

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

// Cleanup registers what is undone at the end, last first.
func (t *T) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// Name makes a name that nobody else uses.
func (t *T) Name(kind string) string {
	t.serial++
	return fmt.Sprintf("%s.%s%d", t.prefix, kind, t.serial)
}

// Until asks again and again, a few milliseconds apart, until done says so. The
// scenario's time limit ends it, with what was waited for.
func (t *T) Until(what string, done func() bool) {
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

// Pause lets time pass that the broker must see pass.
func (t *T) Pause(d time.Duration) {
	select {
	case <-t.ctx.Done():
		t.Fatalf("the time limit came while waiting %v", d)
	case <-time.After(d):
	}
}
