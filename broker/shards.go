package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/controller"
)

// shardPlane is what the coordinators of this process have in common: a topic, and a
// shard for each of its partitions that this broker leads. Any goroutine may use it.
type shardPlane struct {
	// topic is how the topic is made if there is none yet.
	topic   kmsg.CreateTopicsRequestTopic
	control *controlPlane
	runtime *coordinator.Runtime
	log     *slog.Logger
	count   atomic.Pointer[partitionCount] // nil: there was no topic yet.

	ctx  context.Context // Ends when the broker stops.
	stop context.CancelFunc
	work sync.WaitGroup // Goroutines that ask shards.
}

// partitionCount is how many partitions a topic had when it was seen first.
type partitionCount struct {
	topic [16]byte
	n     int32
	seen  int64 // Offset of the image.
}

// newShardPlane makes a plane that leads nothing yet.
func newShardPlane(topic kmsg.CreateTopicsRequestTopic, control *controlPlane, opts coordinator.Options) *shardPlane {
	p := &shardPlane{topic: topic, control: control, log: opts.Logger, runtime: coordinator.New(opts)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// see takes note of the topic that an image has, and returns how many of its
// partitions count. Those that are added while the broker runs do not, as in Kafka:
// keys stay where they are.
func (p *shardPlane) see(im *controller.Image) int32 {
	t, ok := im.Topic(p.topic.Topic)
	if !ok {
		return p.topic.NumPartitions
	}
	for {
		known := p.count.Load()
		if known != nil && (known.topic == t.ID || known.seen >= im.Offset) {
			return known.n
		}
		p.count.CompareAndSwap(known, &partitionCount{topic: t.ID, n: int32(len(t.Partitions)), seen: im.Offset})
	}
}

// partitionOf is the partition that a key belongs to.
func (p *shardPlane) partitionOf(key string) int32 {
	return coordinator.Partition(key, p.see(p.control.image.Load()))
}

// Ask hands an input to the shard of a key and waits for its answer.
func (p *shardPlane) Ask(ctx context.Context, key string, in any) (any, error) {
	return p.runtime.Ask(ctx, p.partitionOf(key), in)
}

// AskAll hands an input to every shard of this broker.
func (p *shardPlane) AskAll(ctx context.Context, newInput func() any) ([]any, error) {
	return p.runtime.Broadcast(ctx, newInput)
}

// Coordinator is the broker that leads the partition of a key. The topic is made if
// there is none yet.
func (p *shardPlane) Coordinator(ctx context.Context, key string) (int32, error) {
	if _, ok := p.control.image.Load().Topic(p.topic.Topic); !ok {
		if err := p.create(ctx); err != nil {
			return -1, err
		}
	}
	at, ok := p.control.image.Load().Partition(p.topic.Topic, p.partitionOf(key))
	if !ok || at.Leader < 0 {
		return -1, coordinator.ErrUnavailable
	}
	return at.Leader, nil
}

// create makes the topic and waits until its shards are loaded. Kafka answers
// COORDINATOR_NOT_AVAILABLE meanwhile, and clients ask again.
func (p *shardPlane) create(ctx context.Context) error {
	t := p.topic
	t.ReplicationFactor = internalReplicas(p.control, t.ReplicationFactor)
	if err := createTopic(ctx, p.control, t); err != nil {
		return err
	}
	return p.runtime.Ready(ctx)
}

// lead takes over, or gives up, the shard of a partition that this broker begins or
// ceases to lead. It reports whether the partition is of the plane's topic.
func (p *shardPlane) lead(l replica.Leadership) bool {
	if l.Partition.Topic() != p.topic.Topic {
		return false
	}
	switch n := l.Partition.Number(); {
	case l.Leads:
		p.runtime.Elect(n, l.Epoch, l.Partition.ShardLog(l.Epoch))
	case l.Gone:
		p.runtime.Resign(n, -1) // A topic made again begins with epoch 0.
	default:
		p.runtime.Resign(n, l.Epoch)
	}
	return true
}

// close ends the shards and what works for them. Nothing is written.
func (p *shardPlane) close() {
	p.stop()
	p.runtime.Close()
	p.work.Wait()
}

// shardTopic is a coordinator's topic as it is made. Of replicas it gets as many as
// there are brokers, if those are fewer.
func shardTopic(name string, partitions, replicas int64, configs ...[2]string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), int16(replicas)
	for _, pair := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = pair[0], &pair[1]
		t.Configs = append(t.Configs, c)
	}
	return t
}

// internalReplicas is how many replicas an internal topic gets: as many as asked for,
// or as there are brokers.
func internalReplicas(control *controlPlane, want int16) int16 {
	alive := int16(0)
	for b := range control.image.Load().Brokers() {
		if !b.Fenced {
			alive++
		}
	}
	return min(want, max(alive, 1))
}

// createTopic makes one topic and waits until this broker serves it. One that is
// there already is no error.
func createTopic(ctx context.Context, control *controlPlane, t kmsg.CreateTopicsRequestTopic) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	req.Topics = []kmsg.CreateTopicsRequestTopic{t}
	resp, err := control.Control(ctx, controller.Request{Body: req})
	if err != nil {
		return err
	}
	rt := resp.(*kmsg.CreateTopicsResponse).Topics[0]
	err = kerr.ErrorForCode(rt.ErrorCode)
	if err == nil || errors.Is(err, kerr.TopicAlreadyExists) {
		return nil
	}
	if rt.ErrorMessage != nil {
		return fmt.Errorf("topic %s was not created: %w: %s", t.Topic, err, *rt.ErrorMessage)
	}
	return fmt.Errorf("topic %s was not created: %w", t.Topic, err)
}
