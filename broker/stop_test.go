package broker

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/memnet"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestFailureWhileStopping: a metadata log that fails after the stop has begun is
// said, and the directory is not marked as cleanly stopped.
func TestFailureWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		fault := vfs.NewFault(disk)
		b, err := New(Config{Dir: "/data", FS: fault, Listen: memAddr, ListenFunc: memnet.New().Listen})
		if err != nil {
			t.Fatal(err)
		}
		r := &running{Broker: b, fatal: make(chan error, 1)}
		if err := r.open(); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.run(ctx) }()
		<-b.Ready()
		stop()
		failure := <-done
		fault.Inject(vfs.Rule{Op: vfs.OpSync, Path: metadataDir + "/*.log", Times: -1, Err: syscall.EIO})
		req := kmsg.NewPtrCreateTopicsRequest()
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "lines", 1, 1
		req.Topics = append(req.Topics, topic)
		if _, err := r.control.Ask(t.Context(), controller.Request{Body: req}); err == nil {
			t.Error("a topic was made on a disk that fails")
		}
		if err := r.close(failure); !errors.Is(err, syscall.EIO) {
			t.Errorf("the stop says %v, want the disk's %v", err, syscall.EIO)
		}
		if _, err := disk.Stat("/data/.kafka_cleanshutdown"); err == nil {
			t.Error("the directory is marked as cleanly stopped")
		}
	})
}

// TestStopBeforeTheStart: whoever ends the context while the broker starts has asked
// for a stop, and gets one.
func TestStopBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		start(t, disk, nil).end()
		for name, ctx := range map[string]func() context.Context{
			"canceled": func() context.Context {
				ctx, stop := context.WithCancel(t.Context())
				stop()
				return ctx
			},
			"with a cause": func() context.Context {
				ctx, stop := context.WithCancelCause(t.Context())
				stop(errors.New("signal: terminated"))
				return ctx
			},
		} {
			b, err := New(Config{Dir: "/data", FS: disk, Listen: memAddr, ListenFunc: memnet.New().Listen})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Run(ctx()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		start(t, disk, nil).end()
	})
}

// TestStopWhileRecovering is case ST03: a stop in the middle of a recovery is no clean
// one, whatever of the logs was open by then, and the next start recovers the rest.
func TestStopWhileRecovering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		w := start(t, disk, nil)
		cl := w.client()
		for _, topic := range []string{"a", "b", "c"} {
			produce(t, cl, topic, 0, 20)
		}
		disk = disk.Crash(rand.New(rand.NewPCG(1, 2)), vfs.CrashKeepAll)
		cl.Close()
		w.end()

		for opened := range 3 {
			fault := vfs.NewFault(disk)
			ctx, stop := context.WithCancel(t.Context())
			logs := map[string]bool{}
			fault.Hook(func(e vfs.Event) {
				if dir := filepath.Dir(e.Path); len(dir) == len("/data/a-0") && strings.HasSuffix(e.Path, ".log") {
					if logs[dir] = true; len(logs) > opened {
						stop()
					}
				}
			})
			b, err := New(Config{
				Dir: "/data", FS: fault, Listen: memAddr, ListenFunc: memnet.New().Listen,
				Settings: map[string]string{"num.recovery.threads.per.data.dir": "1"},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Run(ctx); err != nil {
				t.Errorf("stopped at log %d: %v", opened, err)
			}
			if len(logs) != opened+1 {
				t.Errorf("%d logs were opened, want the stop to come at the %dth", len(logs), opened+1)
			}
			if _, err := disk.Stat("/data/.kafka_cleanshutdown"); err == nil {
				t.Errorf("the directory is marked as cleanly stopped, at log %d of 3", opened)
			}
		}
		w = start(t, disk, nil)
		for _, topic := range []string{"a", "b", "c"} {
			cl := w.client(kgo.ConsumeTopics(topic))
			consume(t, cl, 20)
			cl.Close()
		}
		w.end()
	})
}
