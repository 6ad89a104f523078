package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// leading counts the partitions that a broker leads.
func (c *cluster) leading(id int32) int {
	n := 0
	for t := range c.image().Topics() {
		for _, p := range t.Partitions {
			if p.Leader == id {
				n++
			}
		}
	}
	return n
}

// TestManyPartitions is one node's life with more partitions than the log takes
// changes at once: whatever happens to the broker happens in several steps, and ends.
func TestManyPartitions(t *testing.T) {
	const partitions = 12_000
	c := newCluster(t, 1)
	for i := range 3 {
		c.create(newTopic(fmt.Sprintf("t%d", i), partitions/3, 1))
	}
	settle := func() {
		for range 4 {
			c.Tick(time.Millisecond)
		}
	}
	check := func(when string, want int) {
		t.Helper()
		if got := c.leading(1); got != want {
			t.Fatalf("%s: it leads %d, want %d", when, got, want)
		}
	}
	restart := func(run byte, previous int64) {
		t.Helper()
		req := registration(1, run)
		req.PreviousBrokerEpoch = previous
		ticket := c.Do(Request{Body: req, Local: true})
		settle()
		reply, ok := c.Replies[ticket]
		if !ok {
			t.Fatal("the registration is not answered")
		}
		resp := reply.Body.(*kmsg.BrokerRegistrationResponse)
		if resp.ErrorCode != 0 {
			t.Fatalf("%+v", resp)
		}
		c.epochs[1] = resp.BrokerEpoch
		if resp := c.beat(1); resp.IsFenced {
			t.Fatalf("%+v", resp)
		}
		settle()
	}
	check("created", partitions)

	stop := func(r *kmsg.BrokerHeartbeatRequest) { r.WantShutdown = true }
	beats := 1
	for ; !c.beat(1, stop).ShouldShutdown; beats++ {
		if beats == 5 {
			t.Fatal("it is not let go")
		}
	}
	check("stopped", 0)
	restart(2, c.epochs[1])
	check("started again", partitions)
	restart(3, -1)
	check("killed and started again", partitions)

	c.Tick(9 * time.Second)
	settle()
	check("its session ended", 0)
	if b, _ := c.image().Broker(1); !b.Fenced {
		t.Error("it is not fenced")
	}
	c.beat(1)
	settle()
	check("heard of again", partitions)
	c.beat(1, func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true })
	if resp := c.beat(1, func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true }); !resp.IsFenced {
		t.Errorf("%+v", resp)
	}
	check("fenced as it wanted", 0)

	err := c.Log.Replay(t.Context(), func(b batch.Batch) error {
		if b.Count() > maxRecords {
			return fmt.Errorf("%d records in the batch at %d", b.Count(), b.BaseOffset())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRegistrationOvertaken: of two incarnations that register at once, the later
// one is it, and the other is told.
func TestRegistrationOvertaken(t *testing.T) {
	c := newCluster(t, 1)
	for i := range 3 {
		c.create(newTopic(fmt.Sprintf("t%d", i), 4000, 1))
	}
	first := c.Do(Request{Body: registration(1, 2), Local: true})
	second := c.Do(Request{Body: registration(1, 3), Local: true})
	for range 4 {
		c.Tick(time.Millisecond)
	}
	for ticket, want := range map[coordinator.Ticket]int16{first: 101, second: 0} {
		reply, ok := c.Replies[ticket]
		if !ok || reply.Body.(*kmsg.BrokerRegistrationResponse).ErrorCode != want {
			t.Errorf("%+v, %v, want %d", reply.Body, ok, want)
		}
	}
	if b, _ := c.image().Broker(1); b.Incarnation[0] != 3 {
		t.Errorf("incarnation %x", b.Incarnation)
	}
}
