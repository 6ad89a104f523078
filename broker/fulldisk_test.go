package broker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/broker/internal/memnet"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestStartOnFullDisk: a start on a disk that has no space left, or none after some
// writes, names the file and takes nothing away: the next one, with space, serves all
// that was there.
func TestStartOnFullDisk(t *testing.T) {
	for n := range 8 { // A start writes five times before clients are served.
		t.Run(fmt.Sprintf("after %d writes", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := vfs.NewMem()
				w := start(t, disk, nil)
				cl := w.client()
				produce(t, cl, "lines", 0, 20)
				offsets := make(kadm.Offsets)
				offsets.AddOffset("lines", 0, 7, -1)
				if err := kadm.NewClient(cl).CommitAllOffsets(t.Context(), "g", offsets); err != nil {
					t.Fatal(err)
				}
				cl.Close()
				w.end()

				before := segments(t, disk, "/data")
				fault := vfs.NewFault(disk)
				fault.Inject(vfs.Rule{Op: vfs.OpWrite, Skip: n, Times: -1, Err: syscall.ENOSPC})
				fault.Inject(vfs.Rule{Op: vfs.OpAllocate, Skip: n, Times: -1, Err: syscall.ENOSPC})
				startFull(t, fault)
				after := segments(t, disk, "/data")
				for name, content := range before {
					if !strings.HasPrefix(after[name], content) {
						t.Errorf("%s does not begin with what it held", name)
					}
				}

				w = start(t, disk, nil)
				cl = w.client(kgo.ConsumeTopics("lines"))
				consume(t, cl, 20)
				got, err := kadm.NewClient(cl).FetchOffsets(t.Context(), "g")
				if err != nil {
					t.Fatal(err)
				}
				if o, ok := got.Lookup("lines", 0); !ok || o.At != 7 {
					t.Errorf("the group has committed %v", got)
				}
				produce(t, cl, "lines", 20, 21)
				cl.Close()
				w.end()
			})
		})
	}
}

// startFull starts a broker on a full disk, and stops it if it serves all the same.
func startFull(t *testing.T, fsys vfs.FS) {
	t.Helper()
	b, err := New(Config{Dir: "/data", FS: fsys, Listen: memAddr, ListenFunc: memnet.New().Listen})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	served := false
	select {
	case <-b.Ready():
		served = true
		stop()
		err = <-done
	case err = <-done:
	}
	switch {
	case err == nil && served:
	case !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/data/"):
		t.Errorf("served %v, and ended with %v; want the file that has no space", served, err)
	}
}

// segments is what the segments of all logs hold, by name.
func segments(t *testing.T, disk vfs.FS, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	logs, err := disk.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		if !log.IsDir() {
			continue
		}
		files, err := disk.ReadDir(filepath.Join(dir, log.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if name := filepath.Join(dir, log.Name(), f.Name()); strings.HasSuffix(name, ".log") {
				b, err := vfs.ReadFile(disk, name)
				if err != nil {
					t.Fatal(err)
				}
				found[name] = string(b)
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("no segments below " + dir)
	}
	return found
}
