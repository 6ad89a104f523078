package broker

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

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
	settings *settings
	control  *controlPlane
	runtime  *coordinator.Runtime
	log      *slog.Logger
	// ids takes a run of producer ids, of which none was used before.
	ids     func(ctx context.Context, count int32) (first int64, n int32, err error)
	markers *markerPost
	// count is how many partitions the topic of transactions had when it was seen
	// first. More of them would send ids to shards that know nothing of them.
	count atomic.Pointer[partitionCount]

	ctx  context.Context // Ends when the broker stops.
	stop context.CancelFunc
	work sync.WaitGroup // Goroutines that ask shards.
}

var _ api.Transactions = (*txnPlane)(nil)

// newTxnPlane makes a plane that leads nothing yet. write writes markers to
// partitions of this broker.
func newTxnPlane(s *settings, control *controlPlane, nodeID int32, log *slog.Logger, ids func(context.Context, int32) (int64, int32, error), write writeMarkers) *txnPlane {
	t := &txnPlane{settings: s, control: control, log: log, ids: ids}
	t.ctx, t.stop = context.WithCancel(context.Background())
	t.markers = newMarkerPost(t, nodeID, write)
	cfg := txn.Config{
		MaxTimeout:           s.values.Millis("transaction.max.timeout.ms"),
		AbortInterval:        s.values.Millis("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
		IDExpiration:         s.values.Millis("transactional.id.expiration.ms"),
		IDExpirationInterval: s.values.Millis("transaction.remove.expired.transaction.cleanup.interval.ms"),
		Version:              func() int16 { return control.image.Load().Feature(metadata.FeatureTransaction) },
		Logger:               log,
	}
	t.runtime = coordinator.New(coordinator.Options{
		Name:     "transaction",
		NewShard: func(int32) coordinator.Shard { return txn.New(cfg) },
		Deliver:  t.deliver,
		Logger:   log,
	})
	return t
}

// partitionCount is how many partitions a topic has.
type partitionCount struct {
	topic [16]byte
	n     int32
}

// partitionOf is the partition of __transaction_state that a transactional id
// belongs to. Partitions that are added while the broker runs do not count, as in
// Kafka: the ids stay where they are.
func (t *txnPlane) partitionOf(id string) int32 {
	topic, ok := t.control.image.Load().Topic(transactionsTopic)
	if !ok {
		return coordinator.Partition(id, int32(t.settings.values.Int("transaction.state.log.num.partitions")))
	}
	known := t.count.Load()
	if known == nil || known.topic != topic.ID {
		known = &partitionCount{topic.ID, int32(len(topic.Partitions))}
		t.count.Store(known)
	}
	return coordinator.Partition(id, known.n)
}

// Ask implements api.Transactions.
func (t *txnPlane) Ask(ctx context.Context, id string, in any) (any, error) {
	return t.runtime.Ask(ctx, t.partitionOf(id), in)
}

// AskAll implements api.Transactions.
func (t *txnPlane) AskAll(ctx context.Context, newInput func() any) ([]any, error) {
	return t.runtime.Broadcast(ctx, newInput)
}

// Coordinator implements api.Transactions.
func (t *txnPlane) Coordinator(ctx context.Context, id string) (int32, error) {
	if _, ok := t.control.image.Load().Topic(transactionsTopic); !ok {
		if err := t.create(ctx); err != nil {
			return -1, err
		}
	}
	p, ok := t.control.image.Load().Partition(transactionsTopic, t.partitionOf(id))
	if !ok || p.Leader < 0 {
		return -1, coordinator.ErrUnavailable
	}
	return p.Leader, nil
}

// create makes __transaction_state and waits until its shards are loaded. Kafka
// answers COORDINATOR_NOT_AVAILABLE meanwhile, and clients ask again.
func (t *txnPlane) create(ctx context.Context) error {
	v := t.settings.values
	replicas := internalReplicas(t.control, int16(v.Int("transaction.state.log.replication.factor")))
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = transactionsTopic
	topic.NumPartitions = int32(v.Int("transaction.state.log.num.partitions"))
	topic.ReplicationFactor = replicas
	for _, pair := range [][2]string{
		{"cleanup.policy", "compact"},
		{"compression.type", "uncompressed"},
		{"unclean.leader.election.enable", "false"},
		{"min.insync.replicas", strconv.FormatInt(v.Int("transaction.state.log.min.isr"), 10)},
		{"segment.bytes", v("transaction.state.log.segment.bytes")},
	} {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = pair[0], &pair[1]
		topic.Configs = append(topic.Configs, c)
	}
	if err := createTopic(ctx, t.control, topic); err != nil {
		return err
	}
	return t.runtime.Ready(ctx)
}

// lead takes over, or gives up, the shard of a partition that this broker begins
// or ceases to lead.
func (t *txnPlane) lead(l replica.Leadership) {
	if l.Partition.Topic() != transactionsTopic {
		return
	}
	electOrResign(t.runtime, l)
	if !l.Leads {
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

// close ends the shards. Nothing is written.
func (t *txnPlane) close() {
	t.stop()
	t.runtime.Close()
	t.markers.close()
	t.work.Wait()
}
