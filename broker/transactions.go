package broker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/txn"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// transactionsTopic is where transactional ids are kept.
const transactionsTopic = "__transaction_state"

// retryAsking is how long it takes until a shard whose queue was full is asked
// again.
const retryAsking = 100 * time.Millisecond

// txnPlane is the transaction coordinator in this process: a shard for each
// partition of __transaction_state that this broker leads, and what they ask of the
// world: markers (txnmarkers.go) and producer ids.
type txnPlane struct {
	*shardPlane

	// ids takes a run of producer ids, of which none was used before.
	ids     func(ctx context.Context, count int32) (first int64, n int32, err error)
	markers *markerPost
}

var _ api.Transactions = (*txnPlane)(nil)

// newTxnPlane makes a plane that leads nothing yet. write writes markers to
// partitions of this broker.
func newTxnPlane(s *settings, control *controlPlane, host Config, nodeID int32, ids func(context.Context, int32) (int64, int32, error), write writeMarkers) *txnPlane {
	t := &txnPlane{ids: ids}
	cfg := txn.Config{
		MaxTimeout:           s.values.Millis("transaction.max.timeout.ms"),
		AbortInterval:        s.values.Millis("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
		IDExpiration:         s.values.Millis("transactional.id.expiration.ms"),
		IDExpirationInterval: s.values.Millis("transaction.remove.expired.transaction.cleanup.interval.ms"),
		Version:              func() int16 { return control.image.Load().Feature(metadata.FeatureTransaction) },
		Logger:               host.Logger,
	}
	topic := shardTopic(transactionsTopic,
		s.values.Int("transaction.state.log.num.partitions"), s.values.Int("transaction.state.log.replication.factor"),
		[2]string{"cleanup.policy", "compact"},
		[2]string{"compression.type", "uncompressed"},
		[2]string{"unclean.leader.election.enable", "false"},
		[2]string{"min.insync.replicas", s.values("transaction.state.log.min.isr")},
		[2]string{"segment.bytes", s.values("transaction.state.log.segment.bytes")},
	)
	t.shardPlane = newShardPlane(topic, control, coordinator.Options{
		Name:     "transaction",
		NewShard: func(int32) coordinator.Shard { return txn.New(cfg) },
		Deliver:  t.deliver,
		Logger:   host.Logger,
		Metrics:  coordinator.NewMetrics(host.Metrics, "transaction"),
	})
	t.markers = newMarkerPost(t, nodeID, write)
	return t
}

// lead is shardPlane's, and forgets what a shard owed that is given up.
func (t *txnPlane) lead(l replica.Leadership) {
	if t.shardPlane.lead(l) && !l.Leads {
		t.markers.resigned(l.Partition.Number(), l.Epoch)
	}
}

// deliver takes what a shard sends. It must not wait, nor ask a shard itself.
func (t *txnPlane) deliver(partition, epoch int32, message any) {
	switch m := message.(type) {
	case txn.Markers:
		t.markers.owed(partition, epoch, m)
	case txn.WantProducerIDs:
		t.work.Go(func() {
			first, n, err := t.ids(t.ctx, m.Count)
			if err != nil {
				if t.ctx.Err() == nil {
					t.log.Warn("the controller gave no producer ids; producers ask again", slog.Any("err", err))
				}
				first, n = 0, 0
			}
			t.tell(partition, txn.ProducerIDs{First: first, Count: n})
		})
	}
}

// tell gives a shard an input that must not be lost while it is led here. A shard
// that is loaded again asks for what it needs again.
func (t *txnPlane) tell(partition int32, in any) {
	for {
		_, err := t.runtime.Ask(t.ctx, partition, in)
		if !errors.Is(err, coordinator.ErrUnavailable) || t.ctx.Err() != nil {
			return
		}
		select {
		case <-time.After(retryAsking):
		case <-t.ctx.Done():
			return
		}
	}
}

// close is shardPlane's, once nothing is sent any more.
func (t *txnPlane) close() {
	t.markers.close()
	t.shardPlane.close()
}
