package broker

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/txn"
	"github.com/moldau-broker/moldau/coordinator/txn/marker"
)

// writeMarkers writes markers to partitions of this broker and waits until they are
// committed.
type writeMarkers func(context.Context, *kmsg.WriteTxnMarkersRequest) *kmsg.WriteTxnMarkersResponse

// markerPost carries the markers that this broker's transaction coordinators owe:
// the shell of marker.Sender. Any goroutine may use it.
type markerPost struct {
	txns   *txnPlane
	nodeID int32
	write  writeMarkers

	mu struct {
		sync.Mutex

		sender *marker.Sender
		alarm  *time.Timer // For marker.Due; nil: not set yet.
		closed bool
	}
}

func newMarkerPost(t *txnPlane, nodeID int32, write writeMarkers) *markerPost {
	m := &markerPost{txns: t, nodeID: nodeID, write: write}
	m.mu.sender = marker.New(marker.Config{
		Leader: func(topic string, n int32) (int32, bool) {
			p, ok := t.control.image.Load().Partition(topic, n)
			if !ok {
				return -1, false
			}
			return p.Leader, true
		},
		Logger: t.log,
	})
	return m
}

// owed takes what a shard owes.
func (m *markerPost) owed(partition, epoch int32, owes txn.Markers) {
	m.step(marker.Owed{Partition: partition, Epoch: epoch, Markers: owes})
}

// resigned forgets what the shard of a partition owed.
func (m *markerPost) resigned(partition, epoch int32) {
	m.step(marker.Resigned{Partition: partition, Epoch: epoch})
}

// moved is the news that there is another image: markers that wait may have another
// way to go, or none.
func (m *markerPost) moved() {
	m.mu.Lock()
	waiting := m.mu.sender.Waiting()
	m.mu.Unlock()
	if waiting > 0 {
		m.step(marker.Moved{})
	}
}

// step lets the sender decide, and has it done by goroutines: whoever is here may
// hold a shard.
func (m *markerPost) step(event any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		return
	}
	eff := m.mu.sender.Step(time.Now(), event)
	for _, q := range eff.Requests {
		m.txns.work.Go(func() { m.send(q) })
	}
	for _, d := range eff.Done {
		m.txns.work.Go(func() { m.txns.tell(d.Partition, d.Written) })
	}
	switch {
	case eff.Wake.IsZero() && m.mu.alarm == nil:
	case eff.Wake.IsZero():
		m.mu.alarm.Stop()
	case m.mu.alarm == nil:
		m.mu.alarm = time.AfterFunc(time.Until(eff.Wake), func() { m.step(marker.Due{}) })
	default:
		m.mu.alarm.Reset(time.Until(eff.Wake))
	}
}

// send carries one request and brings the answer. A cluster of one node has only
// this broker to send to; to any other there is no answer, and its markers wait.
func (m *markerPost) send(q marker.Request) {
	var resp *kmsg.WriteTxnMarkersResponse
	if q.Broker == m.nodeID {
		resp = m.write(m.txns.ctx, q.Body)
	}
	m.step(marker.Answered{Request: q.ID, Response: resp})
}

// close ends the sending. What is owed is sent again after the next start.
func (m *markerPost) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.closed = true
	if m.mu.alarm != nil {
		m.mu.alarm.Stop()
	}
}
