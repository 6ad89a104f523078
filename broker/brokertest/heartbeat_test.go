package brokertest_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// Half an hour in the life of a group of three: heartbeats, polls, records now
// and then. In a bubble it is over in less than two seconds.
func TestHalfAnHourOfHeartbeats(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 3))
		beats := mb.On(kmsg.Heartbeat).Observe(func(*brokertest.Request) {})
		joins := mb.On(kmsg.JoinGroup).Observe(func(*brokertest.Request) {})
		var got struct {
			sync.Mutex
			records map[string]int
		}
		got.records = map[string]int{}
		for range 3 {
			c := member(t, mb, "g", "orders")
			go func() {
				for {
					fs := c.PollFetches(t.Context())
					if fs.IsClientClosed() || t.Context().Err() != nil {
						return
					}
					got.Lock()
					fs.EachRecord(func(r *kgo.Record) { got.records[string(r.Value)]++ })
					got.Unlock()
				}
			}()
		}
		time.Sleep(time.Minute) // They find each other.
		settled, beaten := joins.Count(), beats.Count()
		for minute := range 30 {
			mb.Produce("orders", brokertest.Record{Partition: int32(minute % 3), Value: []byte{byte(minute)}})
			time.Sleep(time.Minute)
		}
		// One each 3 s from each of three.
		if n := beats.Count() - beaten; n < 1750 || n > 1850 {
			t.Errorf("%d heartbeats in 30 minutes", n)
		}
		if n := joins.Count() - settled; n != 0 {
			t.Errorf("%d members joined again", n)
		}
		got.Lock()
		defer got.Unlock()
		if len(got.records) != 30 {
			t.Errorf("%d records of 30 were read", len(got.records))
		}
		for r, times := range got.records {
			if times != 1 {
				t.Errorf("record %q was read %d times", r, times)
			}
		}
	})
	if took := time.Since(began); took > 2*time.Second && !raced {
		t.Errorf("it took %v", took)
	}
}
