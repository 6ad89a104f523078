package replica

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

func TestListOffset(t *testing.T) {
	c := newCluster(t, 2)
	c.create()
	p := c.homes[0].partition()
	at := func(ms int64) time.Time { return time.UnixMilli(1_700_000_000_000 + ms) }
	for _, b := range []batch.Batch{valuesAt(at(10), "a"), valuesAt(at(30), "b"), valuesAt(at(20), "c")} {
		if _, err := p.Append(at(30), b, AppendOptions{Origin: producer.Client}); err != nil {
			t.Fatal(err)
		}
	}
	pump(t, c.homes[0], c.homes[1])
	pump(t, c.homes[0], c.homes[1])
	if _, err := p.Append(at(40), valuesAt(at(40), "not committed"), AppendOptions{Origin: producer.Client}); err != nil {
		t.Fatal(err)
	}
	client := ListOptions{CurrentEpoch: -1, Client: true}
	for name, tc := range map[string]struct {
		ts   int64
		o    ListOptions
		want Listed
	}{
		"latest":                    {Latest, client, Listed{3, -1, 0}},
		"latest of a replica":       {Latest, ListOptions{CurrentEpoch: -1}, Listed{4, -1, 0}},
		"earliest":                  {Earliest, client, Listed{0, -1, 0}},
		"earliest local":            {EarliestLocal, client, Listed{0, -1, 0}},
		"tiered":                    {LatestTiered, client, notListed},
		"pending":                   {EarliestPending, client, notListed},
		"newest, not committed":     {MaxTimestamp, client, notListed},
		"newest of a replica":       {MaxTimestamp, ListOptions{CurrentEpoch: -1}, Listed{3, at(40).UnixMilli(), 0}},
		"first at a time":           {at(10).UnixMilli(), client, Listed{0, at(10).UnixMilli(), 0}},
		"first after a time":        {at(11).UnixMilli(), client, Listed{1, at(30).UnixMilli(), 0}},
		"only beyond the watermark": {at(31).UnixMilli(), client, notListed},
		"none":                      {at(41).UnixMilli(), client, notListed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := p.ListOffset(tc.ts, tc.o)
			if err != nil || got != tc.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A new leader that does not know yet what its predecessor had committed.
func TestListOffsetAfterAnElection(t *testing.T) {
	c := newCluster(t, 2)
	c.create()
	a, b := c.homes[0], c.homes[1]
	mustProduce(t, a.partition(), "x")
	pump(t, a, b) // b has it, and has not heard that it is committed.
	c.commit(&metadata.PartitionChange{TopicID: id1, Leader: 2})
	p := b.partition()
	client := ListOptions{CurrentEpoch: -1, Client: true}
	var not *OffsetNotAvailableError
	for _, ts := range []int64{Latest, MaxTimestamp, 0, time.Now().Add(time.Hour).UnixMilli()} {
		if _, err := p.ListOffset(ts, client); !errors.As(err, &not) || not.EpochStart != 1 {
			t.Error(ts, err)
		}
	}
	if got, err := p.ListOffset(Earliest, client); err != nil || got.Offset != 0 {
		t.Error("earliest:", got, err)
	}
	if got, err := p.ListOffset(Latest, ListOptions{CurrentEpoch: -1}); err != nil || got.Offset != 1 {
		t.Error("latest of a replica:", got, err)
	}
	// A consumer at an offset that it knows as committed is not sent away (B-18).
	if _, err := p.Read(time.Now(), ReadRequest{Offset: 1, CurrentEpoch: -1, LastFetchedEpoch: -1}); err != nil {
		t.Error("read above the watermark:", err)
	}
	pump(t, b, a)
	pump(t, b, a)
	if got, err := p.ListOffset(Latest, client); err != nil || got.Offset != 1 {
		t.Error("when the watermark has come:", got, err)
	}
}

func TestDeleteRecords(t *testing.T) {
	replicated(t, func(t *testing.T, c *cluster) {
		a, b := c.homes[0], c.homes[1]
		p := a.partition()
		mustProduce(t, p, "a", "b", "c")
		pump(t, a, b)
		pump(t, a, b)
		mustProduce(t, p, "not committed")
		var out *OffsetError
		for _, offset := range []int64{4, -2} {
			if _, err := p.DeleteRecords(t.Context(), offset); !errors.As(err, &out) {
				t.Error(offset, err)
			}
		}
		low := make(chan int64, 1)
		go func() {
			n, err := p.DeleteRecords(t.Context(), -1)
			if err != nil {
				t.Error(err)
			}
			low <- n
		}()
		synctest.Wait()
		if p.LogStart() != 3 || len(low) != 0 {
			t.Fatalf("log start %d, answered %d", p.LogStart(), len(low))
		}
		pump(t, a, b)
		pump(t, a, b)
		if got := <-low; got != 3 || b.partition().LogStart() != 3 {
			t.Errorf("low watermark %d, follower's start %d", got, b.partition().LogStart())
		}
		var lost *NotLeaderError
		if _, err := b.partition().DeleteRecords(t.Context(), 0); !errors.As(err, &lost) {
			t.Error(err)
		}
		compacted := defaults()
		compacted.Log.Compact, compacted.Log.Delete = true, false
		p.tune(time.Now(), &compacted)
		var policy *PolicyError
		if _, err := p.DeleteRecords(t.Context(), 0); !errors.As(err, &policy) {
			t.Error(err)
		}
	})
}
