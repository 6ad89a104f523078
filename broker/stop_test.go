package broker

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"

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
