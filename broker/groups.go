package broker

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/api"
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
	*shardPlane
	lookups chan struct{} // Holds a token for each that is under way.
}

var _ api.Groups = (*groupPlane)(nil)

func newGroupPlane(s *settings, control *controlPlane, host Config) *groupPlane {
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
		Logger: host.Logger,
	}
	topic := shardTopic(offsetsTopic,
		s.values.Int("offsets.topic.num.partitions"), s.values.Int("offsets.topic.replication.factor"),
		[2]string{"cleanup.policy", "compact"},
		[2]string{"compression.type", "producer"},
		[2]string{"segment.bytes", s.values("offsets.topic.segment.bytes")},
	)
	g := &groupPlane{lookups: make(chan struct{}, maxLookups)}
	g.shardPlane = newShardPlane(topic, control, coordinator.Options{
		Name:     "group",
		NewShard: func(int32) coordinator.Shard { return group.New(cfg) },
		Deliver:  g.lookUp,
		Logger:   host.Logger,
		Metrics:  coordinator.NewMetrics(host.Metrics, "group"),
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
	g.work.Go(func() {
		defer func() { <-g.lookups }()
		// The shard may have moved: who has it now asks for itself.
		_, _ = g.runtime.Ask(g.ctx, partition, message.(group.Resolve).Match())
	})
}

// OffsetsPartition implements api.Groups.
func (g *groupPlane) OffsetsPartition(groupID string) int32 { return g.partitionOf(groupID) }

// Mark implements api.Groups.
func (g *groupPlane) Mark(ctx context.Context, partition int32, m coordinator.Marker) error {
	_, err := g.runtime.Ask(ctx, partition, m)
	return err
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
