package replica

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// A response may hold batches of a later epoch than it was asked in.
func TestRecordsOfALaterEpochAreCutOff(t *testing.T) {
	a, b := values("a"), values("b")
	a.SetLeaderEpoch(3)
	b.SetLeaderEpoch(4)
	both := slices.Concat([]byte(a), []byte(b))
	for name, tc := range map[string]struct {
		in    []byte
		epoch int32
		want  int
	}{
		"all of it":          {both, 4, len(both)},
		"the first":          {both, 3, len(a)},
		"none":               {both, 2, 0},
		"a batch in part":    {both[:len(a)+10], 3, len(a) + 10},
		"nothing to cut off": {nil, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(upToEpoch(tc.in, tc.epoch)); got != tc.want {
				t.Errorf("%d bytes, want %d", got, tc.want)
			}
		})
	}
}

// A fetch that waited and is read again tells nothing new of the follower.
func TestFetchReadAgainDoesNotCount(t *testing.T) {
	replicated(t, func(t *testing.T, c *cluster) {
		p := c.homes[0].partition()
		read := func(again bool) time.Time {
			_, err := p.Read(time.Now(), ReadRequest{
				CurrentEpoch: -1, LastFetchedEpoch: -1, Isolation: LogEnd,
				Follower: &FollowerRead{ID: 2, BrokerEpoch: 11, Again: again},
			})
			if err != nil {
				t.Fatal(err)
			}
			return p.Followers()[0].LastFetch
		}
		first := read(false)
		time.Sleep(time.Second)
		if again := read(true); !again.Equal(first) {
			t.Errorf("counted at %v, and at %v", first, again)
		}
	})
}

// What was news only, and was not taken, wakes when it becomes more than that.
func TestMarkedThenWoken(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	mustProduce(t, p, "a")
	w := NewWaiter()
	p.Watch(w, Uncommitted, "u")
	if _, err := p.DeleteRecords(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.C():
		t.Fatal("woken by a log start")
	default:
	}
	mustProduce(t, p, "b")
	if woken, tags := heard(w); !woken || len(tags) != 1 {
		t.Errorf("woken %v, changed %v", woken, tags)
	}
}

// An answer that is there counts, even if its asker has given up.
func TestAnswerBeforeContext(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	for i := range int64(50) {
		mustProduce(t, p, "a")
		if low, err := p.DeleteRecords(expired(t), i+1); err != nil || low != i+1 {
			t.Fatal(low, err)
		}
	}
}

// Between two images that were applied lies one that was not.
func TestMissedImage(t *testing.T) {
	h := one(t)
	h.c.create()
	h.c.commitTo(nil, topic("u", id2, []int32{1}, []int32{1})...)
	_ = h.image() // Made for somebody else.
	h.c.commitTo(nil, &metadata.RemoveTopic{TopicID: id1})
	_ = h.image()
	h.c.commit(&metadata.FeatureLevel{Name: "share.version", FeatureLevel: 1})
	if _, err := h.m.Partition("u", 0); err != nil {
		t.Error(err)
	}
	if _, err := h.m.Partition("t", 0); err == nil {
		t.Error("a deleted topic is still here")
	}
}

// What comes late to a partition that has gone does nothing.
func TestAfterTheEnd(t *testing.T) {
	replicated(t, func(t *testing.T, c *cluster) {
		f := c.homes[1].partition()
		ask, ok := f.NextFetch(time.Now())
		if !ok {
			t.Fatal("nothing to fetch")
		}
		c.commit(&metadata.RemoveTopic{TopicID: id1})
		if _, ok := f.NextFetch(time.Now()); ok {
			t.Error("fetches on")
		}
		before := f.View()
		cfg := defaults()
		f.tune(time.Now(), &cfg)
		f.refresh(time.Now())
		if f.Deliver(time.Now(), fetchedOK(ask, 0), values("x")) || f.End() != 0 {
			t.Error("takes records")
		}
		if f.View() != before {
			t.Error("its state was stepped")
		}
	})
}

// A damaged response is not appended, and fetched again after a pause.
func TestDamagedResponse(t *testing.T) {
	replicated(t, func(t *testing.T, c *cluster) {
		a, b := c.homes[0], c.homes[1]
		mustProduce(t, a.partition(), "x")
		f := b.partition()
		ask, _ := f.NextFetch(time.Now())
		bad := values("x")
		bad.SetLeaderEpoch(0)
		bad[len(bad)-1] ^= 1
		f.Deliver(time.Now(), fetchedOK(ask, 1), bad)
		if _, ok := f.NextFetch(time.Now()); ok || f.End() != 0 {
			t.Errorf("fetches at once, log ends at %d", f.End())
		}
		if !strings.Contains(b.log.String(), "could not be appended") {
			t.Errorf("log: %s", b.log.String())
		}
		time.Sleep(time.Second)
		pump(t, a, b)
		if f.End() != 1 || f.Err() != nil {
			t.Errorf("log ends at %d, %v", f.End(), f.Err())
		}
	})
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		c.create()
		h := c.homes[0]
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { h.m.Run(ctx); close(done) }()
		mustProduce(t, h.partition(), "x")
		h.fault.Inject(vfs.Rule{Op: vfs.OpRename, Err: errors.New("read-only"), Times: 30})
		time.Sleep(50 * time.Second)
		cancel()
		<-done
		if len(h.asked) == 0 {
			t.Error("the follower lags, and stays in sync")
		}
		if n := strings.Count(h.log.String(), "maintenance of the data directory failed"); n != 1 {
			t.Errorf("said %d times that maintenance fails:\n%s", n, h.log.String())
		}
		if !strings.Contains(h.log.String(), "works again") {
			t.Error("nobody says that it works again")
		}
	})
}
