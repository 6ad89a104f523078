package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/coordinator/group"
	"github.com/moldau-broker/moldau/protocol/config"
)

// offsetsTopic is where groups and committed offsets are kept.
const offsetsTopic = "__consumer_offsets"

// groupPlane is the group coordinator in this process: a shard for each partition
// of __consumer_offsets that this broker leads.
type groupPlane struct {
	settings *settings
	control  *controlPlane
	runtime  *coordinator.Runtime
	log      *slog.Logger
	lookups  chan struct{} // Holds a token for each that is under way.
}

var _ api.Groups = (*groupPlane)(nil)

func newGroupPlane(s *settings, control *controlPlane, log *slog.Logger) *groupPlane {
	policy := strings.ToLower(s.values("group.consumer.migration.policy"))
	cfg := group.Config{
		InitialRebalanceDelay:  s.values.Millis("group.initial.rebalance.delay.ms"),
		MinSession:             s.values.Millis("group.min.session.timeout.ms"),
		MaxSession:             s.values.Millis("group.max.session.timeout.ms"),
		NewMemberJoinTimeout:   group.DefaultConfig().NewMemberJoinTimeout,
		MaxSize:                int(s.values.Int("group.max.size")),
		OffsetMetadataMaxBytes: int(s.values.Int("offset.metadata.max.bytes")),
		OffsetsRetention:       time.Duration(s.values.Int("offsets.retention.minutes")) * time.Minute,
		RetentionCheckInterval: s.values.Millis("offsets.retention.check.interval.ms"),
		Consumer: group.ConsumerConfig{
			Session:           s.values.Millis("group.consumer.session.timeout.ms"),
			HeartbeatInterval: s.values.Millis("group.consumer.heartbeat.interval.ms"),
			MaxSize:           int(s.values.Int("group.consumer.max.size")),
			Assignors:         nonEmpty(config.SplitList(s.values("group.consumer.assignors"))),
			Upgrade:           policy == "bidirectional" || policy == "upgrade",
			Downgrade:         policy == "bidirectional" || policy == "downgrade",
			RegexRefresh:      group.DefaultConfig().Consumer.RegexRefresh,
		},
		Logger: log,
	}
	g := &groupPlane{settings: s, control: control, log: log, lookups: make(chan struct{}, maxLookups)}
	g.runtime = coordinator.New(coordinator.Options{
		Name:     "group",
		NewShard: func(int32) coordinator.Shard { return group.New(cfg) },
		Deliver:  g.lookUp,
		Logger:   log,
	})
	return g
}

// maxLookups bounds how many groups' patterns are matched at once: it is work for
// the processor alone.
const maxLookups = 4

// lookUp finds the topics that a group's patterns match, and tells its shard. When
// all hands are full the shard asks again.
func (g *groupPlane) lookUp(partition, _ int32, message any) {
	select {
	case g.lookups <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-g.lookups }()
		// The shard may have moved: who has it now asks for itself.
		_, _ = g.runtime.Ask(context.Background(), partition, message.(group.Resolve).Match())
	}()
}

// partitionOf is the partition of __consumer_offsets that a group belongs to.
func (g *groupPlane) partitionOf(groupID string) int32 {
	n := int32(g.settings.values.Int("offsets.topic.num.partitions"))
	if t, ok := g.control.image.Load().Topic(offsetsTopic); ok {
		n = int32(len(t.Partitions))
	}
	return coordinator.Partition(groupID, n)
}

// Ask implements api.Groups.
func (g *groupPlane) Ask(ctx context.Context, groupID string, in any) (any, error) {
	return g.runtime.Ask(ctx, g.partitionOf(groupID), in)
}

// AskAll implements api.Groups.
func (g *groupPlane) AskAll(ctx context.Context, newInput func() any) ([]any, error) {
	return g.runtime.Broadcast(ctx, newInput)
}

// OffsetsPartition implements api.Groups.
func (g *groupPlane) OffsetsPartition(groupID string) int32 { return g.partitionOf(groupID) }

// Mark implements api.Groups.
func (g *groupPlane) Mark(ctx context.Context, partition int32, m coordinator.Marker) error {
	_, err := g.runtime.Ask(ctx, partition, m)
	return err
}

// Coordinator implements api.Groups.
func (g *groupPlane) Coordinator(ctx context.Context, groupID string) (int32, error) {
	if _, ok := g.control.image.Load().Topic(offsetsTopic); !ok {
		if err := g.create(ctx); err != nil {
			return -1, err
		}
	}
	im := g.control.image.Load()
	p, ok := im.Partition(offsetsTopic, g.partitionOf(groupID))
	if !ok || p.Leader < 0 {
		return -1, coordinator.ErrUnavailable
	}
	return p.Leader, nil
}

// create makes __consumer_offsets and waits until its shards are loaded. Kafka
// answers COORDINATOR_NOT_AVAILABLE meanwhile, and clients ask again.
func (g *groupPlane) create(ctx context.Context) error {
	v := g.settings.values
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = offsetsTopic
	t.NumPartitions = int32(v.Int("offsets.topic.num.partitions"))
	t.ReplicationFactor = internalReplicas(g.control, int16(v.Int("offsets.topic.replication.factor")))
	for _, pair := range [][2]string{
		{"cleanup.policy", "compact"},
		{"compression.type", "producer"},
		{"segment.bytes", v("offsets.topic.segment.bytes")},
	} {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = pair[0], &pair[1]
		t.Configs = append(t.Configs, c)
	}
	if err := createTopic(ctx, g.control, t); err != nil {
		return err
	}
	return g.runtime.Ready(ctx)
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

// lead takes over, or gives up, the shard of a partition that this broker begins
// or ceases to lead.
func (g *groupPlane) lead(l replica.Leadership) {
	if l.Partition.Topic() != offsetsTopic {
		return
	}
	electOrResign(g.runtime, l)
}

// electOrResign tells the runtime of shards what became of a partition.
func electOrResign(rt *coordinator.Runtime, l replica.Leadership) {
	switch n := l.Partition.Number(); {
	case l.Leads:
		rt.Elect(n, l.Epoch, l.Partition.ShardLog(l.Epoch))
	case l.Gone:
		rt.Resign(n, -1) // A topic made again begins with epoch 0.
	default:
		rt.Resign(n, l.Epoch)
	}
}

// forget removes what was committed for topics that are deleted.
func (g *groupPlane) forget(ctx context.Context, deleted []*controller.Topic) {
	var gone group.TopicsDeleted
	for _, t := range deleted {
		gone.Names, gone.IDs = append(gone.Names, t.Name), append(gone.IDs, t.ID)
	}
	if len(gone.Names) == 0 {
		return
	}
	if _, err := g.runtime.Broadcast(ctx, func() any { return gone }); err != nil && ctx.Err() == nil {
		g.log.Warn("offsets of deleted topics were not removed", slog.Any("topics", gone.Names), slog.Any("err", err))
	}
}
