package broker

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/broker/internal/hostile"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol"
)

// A night's run: go test -run Hostile ./broker -hostile.mutations=1000000 -v.
var (
	hostileMutations = flag.Int("hostile.mutations", 6000, "damaged requests in TestHostileRequests")
	hostileSeed      = flag.Uint64("hostile.seed", 1, "seed of the first round of TestHostileRequests")
)

// hostileRound is how many damaged requests one broker gets. What they make of it
// lasts, so rounds find what single requests do not; a new one begins before the
// topics that they create make everything slow.
const hostileRound = 2000

// TestHostileRequests gives handlers requests that no honest client sends, of
// every API and version that is served. None may panic, answer what its version
// cannot decode, answer UNKNOWN_SERVER_ERROR where Kafka does not, or allocate
// out of proportion to its size.
func TestHostileRequests(t *testing.T) {
	// All in one bubble: a zstd decoder holds channels, and the pool that it goes back
	// to is the process's. No later bubble may find one of this.
	defer runtime.GC()
	defer runtime.GC()
	synctest.Test(t, func(t *testing.T) {
		var most allocations
		for done, seed := 0, *hostileSeed; done < *hostileMutations; seed++ {
			n := min(hostileRound, *hostileMutations-done)
			s := newSiege(t, seed, &most)
			s.run(n)
			s.stop()
			if t.Failed() {
				t.Fatalf("replay with -hostile.seed=%d -hostile.mutations=%d", seed, n)
			}
			if done += n; done%50_000 == 0 {
				t.Logf("%d of %d mutations, most allocated: %v", done, *hostileMutations, &most)
			}
		}
		t.Logf("%d mutations, most allocated: %v", *hostileMutations, &most)
	})
}

// siege is a broker in memory under hostile requests.
type siege struct {
	t       *testing.T
	rng     *rand.Rand
	fill    *hostile.Filler
	env     *api.Env
	conn    api.Conn
	log     *logLines
	served  []kmsg.ApiVersionsResponseApiKey
	last    hostile.Frame
	most    *allocations
	current string // For messages.
	stop    func()
}

func newSiege(t *testing.T, seed uint64, most *allocations) *siege {
	s := &siege{t: t, rng: rand.New(rand.NewPCG(seed, 17)), log: &logLines{}, most: most}
	s.fill = hostile.NewFiller(s.rng, []string{"t", "u", "absent"}, []string{"g", "h"})
	r, stop := serveInMemory(t, s.log)
	s.stop = stop
	s.env = r.env(new(protocol.Pool))
	peer := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	s.conn = api.Conn{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Authenticated: true, Principal: "User:ANONYMOUS", Peer: peer, Local: peer}
	s.served = s.routes()
	return s
}

// serveInMemory runs a broker that has the topics t and u.
func serveInMemory(t *testing.T, log *logLines) (r *running, stop func()) {
	b, err := New(Config{
		Dir: "/data", FS: vfs.NewMem(), ListenFunc: noListener, Logger: slog.New(slog.NewTextHandler(log, nil)),
		Settings: map[string]string{"offsets.topic.num.partitions": "2", "group.initial.rebalance.delay.ms": "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r = &running{Broker: b, fatal: make(chan error, 1)}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.run(ctx) }()
	select {
	case <-b.Ready():
	case err := <-done:
		t.Fatal(err)
	}
	stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := r.close(nil); err != nil {
			t.Error(err)
		}
	}
	for topic, partitions := range map[string]int32{"t": 1, "u": 3} {
		q := kmsg.NewCreateTopicsRequestTopic()
		q.Topic, q.NumPartitions, q.ReplicationFactor = topic, partitions, 1
		if err := createTopic(ctx, r.control, q); err != nil {
			t.Fatal(err)
		}
	}
	return r, stop
}

// noListener is a network on which nobody calls: requests go to the handlers.
func noListener(_, _ string) (net.Listener, error) {
	return &silent{closed: make(chan struct{})}, nil
}

type silent struct{ closed chan struct{} }

func (s *silent) Accept() (net.Conn, error) { <-s.closed; return nil, net.ErrClosed }
func (s *silent) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}
func (s *silent) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9092} }

// routes asks the broker what it serves.
func (s *siege) routes() []kmsg.ApiVersionsResponseApiKey {
	resp := s.send(hostile.Locate(&kmsg.ApiVersionsRequest{Version: 3, ClientSoftwareName: "siege", ClientSoftwareVersion: "1"}))
	return resp.(*kmsg.ApiVersionsResponse).ApiKeys
}

// run sends n damaged requests. Of each valid one there are several.
func (s *siege) run(n int) {
	for n > 0 && !s.t.Failed() {
		key := s.served[s.rng.IntN(len(s.served))]
		version := key.MinVersion + int16(s.rng.IntN(int(key.MaxVersion-key.MinVersion)+1))
		req := s.fill.Request(key.ApiKey, version)
		frame := hostile.Locate(req)
		s.current = "valid"
		s.send(frame)
		for range min(n, 1+s.rng.IntN(12)) {
			n--
			damaged := frame
			damaged.Body, s.current = hostile.Mutate(s.rng, frame, s.last)
			if s.rng.IntN(20) == 0 { // The body of another version.
				damaged.Version = key.MinVersion + int16(s.rng.IntN(int(key.MaxVersion-key.MinVersion)+1))
			}
			s.send(damaged)
		}
		s.last = frame
	}
	if text := s.log.String(); strings.Contains(text, "level=ERROR") {
		s.t.Errorf("the broker's log has errors:\n%s", text)
	}
}

// patience is how long a client waits before it hangs up.
const patience = 500 * time.Millisecond

// send gives the handlers a request and checks the answer; nil is none.
func (s *siege) send(f hostile.Frame) kmsg.Response {
	ctx, hangUp := context.WithTimeout(context.Background(), patience)
	defer hangUp()
	call := &api.Call{Key: f.Key, Version: f.Version, Correlation: 7, Body: bytes.Clone(f.Body), Conn: &s.conn, Received: time.Now()}
	s.env.Audit = func(_ *api.Call, resp kmsg.Response) { s.audit(f, resp) }
	defer s.explain(f)
	before := allocated()
	answer, err := s.env.Serve(ctx, call)
	grown := allocated() - before
	if limit := uint64(len(f.Body)*protocol.DecodeFactor) + allowance(f.Key); grown > limit {
		s.fail(f, "%d bytes allocated for a request of %d", grown, len(f.Body))
	}
	if grown > s.most.bytes {
		*s.most = allocations{grown, kmsg.NameForKey(f.Key), f.Version, len(f.Body)}
	}
	if answer.Release != nil {
		defer answer.Release()
	}
	if err != nil || answer.None {
		return nil
	}
	return s.decode(f, answer)
}

// allowance is what a request may have allocated however short it is. A few bytes
// may ask for ten thousand partitions, or for all those of a topic to go.
func allowance(key int16) uint64 {
	switch kmsg.Key(key) {
	case kmsg.CreateTopics, kmsg.CreatePartitions, kmsg.DeleteTopics:
		return 512 << 20
	}
	return 64 << 20
}

// explain says which request a panic belongs to.
func (s *siege) explain(f hostile.Frame) {
	if r := recover(); r != nil {
		s.fail(f, "panic: %v\n%s", r, debug.Stack())
	}
}

func (s *siege) fail(f hostile.Frame, format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("%s version %d, %s: %s\n%x", kmsg.NameForKey(f.Key), f.Version, s.current, fmt.Sprintf(format, args...), f.Body)
}

func (s *siege) audit(f hostile.Frame, resp kmsg.Response) {
	if found := api.Unknowns(resp); found != nil {
		s.fail(f, "UNKNOWN_SERVER_ERROR: %v", found)
	}
	s.fill.Learn(resp)
}

// decode reads an answer as a client would.
func (s *siege) decode(f hostile.Frame, answer api.Answer) kmsg.Response {
	var wire []byte
	for _, p := range answer.Parts {
		if p.Span == nil {
			wire = append(wire, p.Bytes...)
			continue
		}
		b := make([]byte, p.Span.Len())
		if _, err := p.Span.ReadAt(b, 0); err != nil {
			s.fail(f, "span: %v", err)
		}
		wire = append(wire, b...)
	}
	resp := kmsg.ResponseForKey(f.Key)
	resp.SetVersion(f.Version)
	header := 8
	if resp.IsFlexible() && f.Key != int16(kmsg.ApiVersions) {
		header++
	}
	if len(wire) < header {
		s.fail(f, "an answer of %d bytes", len(wire))
		return nil
	}
	if err := resp.ReadFrom(wire[header:]); err != nil {
		s.fail(f, "the answer does not decode: %v", err)
		return nil
	}
	s.audit(f, resp)
	return resp
}

// allocations is the most that one request had allocated.
type allocations struct {
	bytes   uint64
	api     string
	version int16
	size    int
}

func (a *allocations) String() string {
	return fmt.Sprintf("%d KiB by %s version %d of %d bytes", a.bytes>>10, a.api, a.version, a.size)
}

// allocated is how much was ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
