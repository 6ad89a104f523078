package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// flushing is a broker with a topic of flush.messages=1.
func flushing(t testing.TB) (*home, *Partition) {
	h := one(t)
	cfg := defaults()
	cfg.Log.FlushMessages = 1
	h.cfg["t"] = cfg
	h.c.create()
	return h, h.partition()
}

// Nothing unflushed is read, and nothing acknowledged is lost when the power goes.
func TestFlushBeforeCommit(t *testing.T) {
	h, p := flushing(t)
	var seen []int64
	h.fault.BeforeSync(func(e vfs.Event) {
		if strings.HasSuffix(e.Path, ".log") {
			seen = append(seen, p.HighWatermark())
		}
	})
	for i := range 3 {
		a, err := p.Produce(time.Now(), values(fmt.Sprint(i)), ProduceOptions{Acks: AcksAll})
		if err != nil || p.HighWatermark() != a.Last+1 {
			t.Fatalf("high watermark %d after %+v, %v", p.HighWatermark(), a, err)
		}
	}
	if want := []int64{0, 1, 2}; !cmp.Equal(want, seen) {
		t.Errorf("high watermark at each sync: %v", seen)
	}
	// Power cut: only what was synced survives.
	crashed := h.mem.Crash(rand.New(rand.NewPCG(3, 4)), vfs.CrashLoseAll)
	s, err := logstore.Open(logstore.Options{Dir: "/data", FS: crashed})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Load(t.Context(), func(string, int32, [16]byte) (logstore.Config, logstore.Keep) {
		return logstore.Config{}, logstore.KeepLog
	})
	if err != nil {
		t.Fatal(err)
	}
	if l, ok := s.Log("t", 0); !ok || l.End().Offset != 3 {
		t.Error("records were lost")
	}
	if err := s.Abandon(); err != nil {
		t.Error(err)
	}
}

// Producers that come while a sync runs share the next one.
func TestFlushIsShared(t *testing.T) {
	h, p := flushing(t)
	mustProduce(t, p, "makes the files")
	var syncs atomic.Int32
	entered, release := make(chan struct{}, 100), make(chan struct{})
	h.fault.BeforeSync(func(e vfs.Event) {
		if strings.HasSuffix(e.Path, ".log") {
			syncs.Add(1)
			entered <- struct{}{}
			<-release
		}
	})
	var all sync.WaitGroup
	produce := func(i int) {
		all.Go(func() {
			if _, err := p.Produce(time.Now(), values(fmt.Sprint(i)), ProduceOptions{Acks: AcksAll}); err != nil {
				t.Error(err)
			}
		})
	}
	produce(0)
	<-entered
	for i := range 20 {
		produce(i + 1)
	}
	for p.End() < 22 { // All are in the log, nobody was kept out by the sync.
		runtime.Gosched()
	}
	if got := p.HighWatermark(); got != 1 {
		t.Errorf("high watermark %d during the sync", got)
	}
	close(release)
	all.Wait()
	if got := syncs.Load(); got > 3 || p.HighWatermark() != 22 {
		t.Errorf("%d syncs for 21 producers, high watermark %d", got, p.HighWatermark())
	}
}

func TestFailedSyncTakesThePartitionOffline(t *testing.T) {
	h, p := flushing(t)
	mustProduce(t, p, "good")
	w := NewWaiter()
	p.Watch(w, Uncommitted, nil)
	h.fault.Inject(vfs.Rule{Op: vfs.OpSync, Path: "*.log", Err: errors.New("bad block"), Times: 1})
	var off *OfflineError
	if _, err := p.Produce(time.Now(), values("x"), ProduceOptions{Acks: AcksAll}); !errors.As(err, &off) {
		t.Fatal(err)
	}
	// The second sync would report success; nobody asks for it.
	if _, err := p.Produce(time.Now(), values("y"), ProduceOptions{}); !errors.As(err, &off) {
		t.Error(err)
	}
	if _, err := p.Read(time.Now(), ReadRequest{CurrentEpoch: -1, LastFetchedEpoch: -1}); !errors.As(err, &off) {
		t.Error(err)
	}
	if err := p.WaitCommitted(t.Context(), 2); !errors.As(err, &off) {
		t.Error(err)
	}
	select {
	case <-w.C():
	default:
		t.Error("who watches was not told")
	}
	if log := h.log.String(); !strings.Contains(log, "bad block") || !strings.Contains(log, "/data/t-0") {
		t.Errorf("log: %s", log)
	}
}

func TestFullDiskRefusesAndGoesOn(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	mustProduce(t, p, "a")
	h.fault.Inject(vfs.Rule{Op: vfs.OpWrite, Path: "*.log", Err: errors.New("no space left"), Times: 1})
	var refused *logstore.StorageError
	if _, err := p.Produce(time.Now(), values("x"), ProduceOptions{}); !errors.As(err, &refused) {
		t.Fatal(err)
	}
	mustProduce(t, p, "b")
	if got := contents(t, p, 0, Uncommitted); got != "a b" {
		t.Errorf("log holds %q", got)
	}
}
