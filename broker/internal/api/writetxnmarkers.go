package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// writeTxnMarkers serves WriteTxnMarkers (27), versions 1 and 2: it ends producers'
// transactions in partitions of this broker, by a transaction's coordinator or an
// administrator who aborts a hanging one. Version 2 tells the version of the
// transaction (KIP-1228).
func writeTxnMarkers(ctx context.Context, env *Env, call *Call, req *kmsg.WriteTxnMarkersRequest) (*kmsg.WriteTxnMarkersResponse, error) {
	if !env.MayCluster(call.Conn, kmsg.ACLOperationAlter) && !env.MayCluster(call.Conn, kmsg.ACLOperationClusterAction) {
		resp := req.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
		for _, m := range req.Markers {
			resp.Markers = append(resp.Markers, markerResults(m, func(string, int32) int16 { return kerr.ClusterAuthorizationFailed.Code }))
		}
		return resp, nil
	}
	return WriteMarkers(ctx, env.Replicas, env.Groups, req), ctx.Err()
}

// markersWait is how long markers may take to be committed. Kafka's
// request.timeout.ms, by its default.
const markersWait = 30 * time.Second

// WriteMarkers writes markers to this broker's partitions and waits until they are
// committed. Those to the partitions of groups go through the shards that write
// there, so that the offsets of the transaction count from then on.
func WriteMarkers(ctx context.Context, replicas Replicas, groups Groups, req *kmsg.WriteTxnMarkersRequest) *kmsg.WriteTxnMarkersResponse {
	ctx, cancel := context.WithTimeout(ctx, markersWait)
	defer cancel()
	w := markersWriting{ctx: ctx, replicas: replicas, groups: groups, now: time.Now()}
	resp := req.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
	for _, m := range req.Markers {
		resp.Markers = append(resp.Markers, markerResults(m, func(string, int32) int16 { return 0 }))
	}
	for i, m := range req.Markers {
		for j, t := range m.Topics {
			for k, n := range t.Partitions {
				w.write(m, t.Topic, n, &resp.Markers[i].Topics[j].Partitions[k].ErrorCode)
			}
		}
	}
	for _, c := range w.appended {
		*c.code = code(c.replica.WaitCommitted(ctx, c.end))
	}
	w.marking.Wait()
	return resp
}

// markersWriting is one request of markers under way.
type markersWriting struct {
	ctx      context.Context
	replicas Replicas
	groups   Groups
	now      time.Time
	appended []markerAppended
	marking  sync.WaitGroup // Those that shards write.
}

// markerAppended is a marker that is in the log and not known to be committed.
type markerAppended struct {
	replica *replica.Partition
	end     int64
	code    *int16
}

// write writes one marker; what comes of it is in result after the waiting.
func (w *markersWriting) write(m kmsg.WriteTxnMarkersRequestMarker, topic string, n int32, result *int16) {
	p, err := w.replicas.Partition(topic, n)
	if err != nil {
		*result = kerr.UnknownTopicOrPartition.Code // For Kafka one that is offline is none.
		return
	}
	if topic == consumerOffsets {
		w.marking.Go(func() {
			*result = markCode(w.groups.Mark(w.ctx, n, coordinator.Marker{
				ProducerID: m.ProducerID, Epoch: m.ProducerEpoch, Commit: m.Committed,
				CoordinatorEpoch: m.CoordinatorEpoch, Version: int16(m.TransactionVersion),
			}))
		})
		return
	}
	meta := batch.Plain(0, -1)
	meta.ProducerID, meta.ProducerEpoch = m.ProducerID, m.ProducerEpoch
	b := batch.EndTxn(meta, m.Committed, m.CoordinatorEpoch, w.now.UnixMilli())
	a, err := p.Append(w.now, b, replica.AppendOptions{
		Acks: replica.AcksAll, Origin: producer.Coordinator, TxnVersion: int16(m.TransactionVersion),
	})
	if err != nil {
		*result = code(err)
		return
	}
	w.appended = append(w.appended, markerAppended{p, a.Last + 1, result})
}

// markCode is the code of a marker that a shard was to write. A shard that does not
// answer is for the transaction coordinator a leader that is none.
func markCode(err error) int16 {
	switch {
	case errors.Is(err, coordinator.ErrLoading), errors.Is(err, coordinator.ErrNotCoordinator), errors.Is(err, coordinator.ErrUnavailable):
		return kerr.NotLeaderForPartition.Code
	}
	return code(err)
}

// markerResults answers each partition of a marker with its code.
func markerResults(m kmsg.WriteTxnMarkersRequestMarker, code func(topic string, n int32) int16) kmsg.WriteTxnMarkersResponseMarker {
	rm := kmsg.NewWriteTxnMarkersResponseMarker()
	rm.ProducerID = m.ProducerID
	for _, t := range m.Topics {
		rt := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
		rt.Topic = t.Topic
		for _, n := range t.Partitions {
			rp := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
			rp.Partition, rp.ErrorCode = n, code(t.Topic, n)
			rt.Partitions = append(rt.Partitions, rp)
		}
		rm.Topics = append(rm.Topics, rt)
	}
	return rm
}
