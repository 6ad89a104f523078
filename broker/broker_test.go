package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/broker/internal/memnet"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// world is a broker in a bubble: network and disk are in memory.
type world struct {
	*Broker
	t    *testing.T
	net  *memnet.Network
	disk *vfs.Mem
	log  *logLines
	stop context.CancelFunc
	done chan error
}

const memAddr = "127.0.0.1:9092"

// start runs a broker until the test's end or end.
func start(t *testing.T, disk *vfs.Mem, settings map[string]string) *world {
	t.Helper()
	return startOn(t, memnet.New(), disk, settings)
}

// startOn is start on a network where the broker's clients may be already.
func startOn(t *testing.T, net *memnet.Network, disk *vfs.Mem, settings map[string]string) *world {
	t.Helper()
	return startWith(t, net, disk, disk, settings)
}

// startWith is startOn with another way to the disk, such as one with faults.
func startWith(t *testing.T, net *memnet.Network, disk *vfs.Mem, fsys vfs.FS, settings map[string]string) *world {
	t.Helper()
	w := &world{t: t, net: net, disk: disk, log: &logLines{}, done: make(chan error, 1)}
	all := map[string]string{"offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "0"}
	for k, v := range settings {
		all[k] = v
	}
	b, err := New(Config{
		Dir: "/data", Listen: memAddr, Settings: all, FS: fsys, ListenFunc: w.net.Listen,
		Logger: slog.New(slog.NewTextHandler(w.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Broker = b
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go func() { w.done <- b.Run(ctx) }()
	select {
	case <-b.Ready():
	case err := <-w.done:
		t.Fatalf("the broker ended: %v", err)
	}
	t.Cleanup(w.end)
	return w
}

// end stops the broker cleanly.
func (w *world) end() {
	if w.done == nil {
		return
	}
	w.stop()
	if err := <-w.done; err != nil {
		w.t.Errorf("the broker ended: %v", err)
	}
	w.done = nil
}

// client is a franz-go client of the broker.
func (w *world) client(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(memAddr),
		kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
			return w.net.Dial(ctx, network, host)
		}),
		kgo.AllowAutoTopicCreation(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	return cl
}

// member is a client that reads a topic as a member of a group.
func (w *world) member(topic, group string) *kgo.Client {
	// An automatic commit waits for a join on a mutex, and no bubble's time goes on
	// over a mutex.
	return w.client(kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group), kgo.DisableAutoCommit())
}

// logLines collects a log.
type logLines struct {
	mu struct {
		sync.Mutex
		b strings.Builder
	}
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.b.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.b.String()
}

func produce(t *testing.T, cl *kgo.Client, topic string, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		r := &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
}

// consume reads n records and checks that they are those from 0 on.
func consume(t *testing.T, cl *kgo.Client, n int) {
	t.Helper()
	for i := 0; i < n; {
		fs := cl.PollFetches(t.Context())
		if err := fs.Err0(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if string(r.Value) != fmt.Sprint(i) {
				t.Fatalf("record %d holds %q", i, r.Value)
			}
			i++
		})
	}
}

func TestProduceAndConsumeByGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, vfs.NewMem(), nil)
		p := w.client()
		produce(t, p, "lines", 0, 50)
		p.Close()
		c := w.member("lines", "g")
		consume(t, c, 50)
		if err := c.CommitUncommittedOffsets(t.Context()); err != nil {
			t.Error(err)
		}
		c.Close()
		// The group goes on where it was.
		p = w.client()
		produce(t, p, "lines", 50, 51)
		p.Close()
		c = w.member("lines", "g")
		r := c.PollFetches(t.Context()).Records()
		if len(r) != 1 || string(r[0].Value) != "50" {
			t.Errorf("a second member of the group read %v", r)
		}
		c.Close()
		w.end()
	})
}

// A clean stop and a kill both keep all that was acknowledged: records, topics,
// settings, committed offsets. A power cut keeps it with flush.messages=1.
func TestRestart(t *testing.T) {
	for name, tc := range map[string]struct {
		settings map[string]string
		crash    vfs.CrashMode
		clean    bool
	}{
		"clean stop": {clean: true},
		"kill -9":    {crash: vfs.CrashKeepAll},
		"power cut":  {crash: vfs.CrashLoseAll, settings: map[string]string{"log.flush.interval.messages": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := vfs.NewMem()
				w := start(t, disk, tc.settings)
				cl := w.member("lines", "g")
				produce(t, cl, "lines", 0, 20)
				consume(t, cl, 20)
				if err := cl.CommitUncommittedOffsets(t.Context()); err != nil {
					t.Fatal(err)
				}
				var after *vfs.Mem
				if tc.clean {
					cl.Close()
					w.end()
					after = disk
				} else {
					after = disk.Crash(rand.New(rand.NewPCG(1, 2)), tc.crash)
					cl.Close()
					w.end()
				}
				w = start(t, after, tc.settings)
				cl = w.client(kgo.ConsumeTopics("lines"))
				consume(t, cl, 20)
				produce(t, cl, "lines", 20, 21)
				cl.Close()
				cl = w.member("lines", "g")
				r := cl.PollFetches(t.Context()).Records()
				if len(r) != 1 || r[0].Offset != 20 {
					t.Errorf("the group went on with %v, want the record at 20", r)
				}
				cl.Close()
				w.end()
			})
		})
	}
}

// A clean start and stop say less than 15 lines, and among them what harnesses
// wait for.
func TestLogIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, vfs.NewMem(), nil)
		cl := w.client()
		produce(t, cl, "lines", 0, 1)
		cl.Close()
		w.end()
		log := w.log.String()
		if n := strings.Count(log, "\n"); n >= 15 {
			t.Errorf("%d lines:\n%s", n, log)
		}
		for _, line := range []string{
			"[BrokerLifecycleManager id=1] The broker has been unfenced. Transitioning from RECOVERY to RUNNING.",
			"[KafkaRaftServer nodeId=1] Kafka Server started",
		} {
			if strings.Count(log, line) != 1 {
				t.Errorf("%q is not there once:\n%s", line, log)
			}
		}
	})
}

func TestDirectoryOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		start(t, disk, nil).end()
		run := func(c Config) error {
			c.Dir, c.FS, c.Listen, c.ListenFunc = "/data", disk, memAddr, memnet.New().Listen
			b, err := New(c)
			if err != nil {
				return err
			}
			return b.Run(t.Context())
		}
		err := run(Config{ClusterID: "anotherClustersId00000"})
		if e, ok := errors.AsType[*ForeignDirectoryError](err); !ok || e.What != "cluster id" || len(e.There) != 22 ||
			!strings.Contains(err.Error(), e.There) || !strings.Contains(err.Error(), "anotherClustersId00000") {
			t.Errorf("another cluster's directory, case O15: %v", err)
		}
		err = run(Config{Settings: map[string]string{"node.id": "2"}})
		if e, ok := errors.AsType[*ForeignDirectoryError](err); !ok || e.What != "node id" {
			t.Errorf("another node's directory: %v", err)
		}
		if err := vfs.WriteFileAtomic(disk, "/other/thesis.tex", []byte("x")); err == nil {
			t.Fatal("a file was written into a directory that is not there")
		}
		if err := errors.Join(disk.MkdirAll("/other", 0o755), vfs.WriteFileAtomic(disk, "/other/thesis.tex", []byte("x"))); err != nil {
			t.Fatal(err)
		}
		b, err := New(Config{Dir: "/other", FS: disk, Listen: memAddr, ListenFunc: memnet.New().Listen})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := errors.AsType[*NotEmptyError](b.Run(t.Context())); !ok {
			t.Error("a directory of other things was formatted")
		}
	})
}

// TestEmptyRequests: every version of every API that is served is answered in that
// version, and no request of defaults is answered UNKNOWN_SERVER_ERROR.
func TestEmptyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, vfs.NewMem(), nil)
		served := askRaw(t, w, &kmsg.ApiVersionsRequest{Version: 3, ClientSoftwareName: "test", ClientSoftwareVersion: "1"})
		keys := served.(*kmsg.ApiVersionsResponse).ApiKeys
		if len(keys) < 40 {
			t.Fatalf("only %d APIs are served: %v", len(keys), keys)
		}
		for _, k := range keys {
			for v := k.MinVersion; v <= k.MaxVersion; v++ {
				req := kmsg.RequestForKey(k.ApiKey)
				req.SetVersion(v)
				if p, ok := req.(*kmsg.ProduceRequest); ok {
					p.Acks = -1 // With 0, the default, there is no answer.
					if v < 3 {
						// Advertised for old clients' sake alone, as Kafka does.
						if _, _, err := exchange(t.Context(), w, req); !errors.Is(err, io.EOF) {
							t.Errorf("Produce version %d: %v, want a connection that is closed", v, err)
						}
						continue
					}
				}
				askRaw(t, w, req)
			}
		}
		w.end()
	})
}

// askRaw sends a request of the version that it bears over a connection of its own, and
// checks that the answer is one of that version. Clients would choose the version.
func askRaw(t *testing.T, w *world, req kmsg.Request) kmsg.Response {
	t.Helper()
	name := fmt.Sprintf("%s version %d", kmsg.NameForKey(req.Key()), req.GetVersion())
	resp, wire, err := exchange(t.Context(), w, req)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return resp
	}
	if again := resp.AppendTo(nil); !bytes.Equal(wire, again) {
		t.Errorf("%s: the answer is %x, of which the version has %x", name, wire, again)
	}
	for _, field := range api.Unknowns(resp) {
		t.Errorf("%s: UNKNOWN_SERVER_ERROR in %s", name, field)
	}
	return resp
}

// exchange sends a request and reads its answer. wire is the answer without header.
func exchange(ctx context.Context, w *world, req kmsg.Request) (resp kmsg.Response, wire []byte, err error) {
	resp = req.ResponseKind()
	conn, err := w.net.Dial(ctx, "tcp", memAddr)
	if err != nil {
		return resp, nil, err
	}
	defer conn.Close()
	const correlation = 7
	if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, correlation)); err != nil {
		return resp, nil, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		return resp, nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return resp, nil, fmt.Errorf("no answer: %w", err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, frame); err != nil {
		return resp, nil, fmt.Errorf("half an answer: %w", err)
	}
	header := 4
	if resp.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) {
		header = 5
	}
	if len(frame) < header || binary.BigEndian.Uint32(frame) != correlation {
		return resp, nil, fmt.Errorf("the answer %x is not to the request", frame)
	}
	return resp, frame[header:], resp.ReadFrom(frame[header:])
}
