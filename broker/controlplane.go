package broker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/quorum"
	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// controlPlane is the controller in this process: the quorum that keeps the
// metadata log, the shard that decides, and the newest image. Any goroutine may
// use it.
type controlPlane struct {
	log         *slog.Logger
	metadataLog *logstore.Log
	node        *quorum.Node
	runtime     *coordinator.Runtime
	image       atomic.Pointer[controller.Image]
	// published gets a token when there is a newer image.
	published chan struct{}

	// snapshotted says when the last snapshot was written, or since when this broker
	// runs, and where the log was then. It is of the snapshot loop only.
	snapshotted struct {
		offset int64
		bytes  int64
		at     time.Time
	}

	mu struct {
		sync.Mutex

		// queue holds the images that this broker does not serve yet, in order. It
		// has no bound: none may be left out, and the shard that publishes must not
		// wait. An admin request waits for its own, at most appliedWait, and images
		// share all that did not change between them.
		queue   []*controller.Image
		applied int64         // Offset of the image that this broker serves.
		moved   chan struct{} // Closed and renewed when applied moves.
	}
}

// appliedWait is the longest that an admin request waits, after it is committed,
// for this broker to serve what it made (design rule 6).
const appliedWait = time.Second

func newControlPlane(s *settings, store *logstore.Store, meta logstore.Meta, cfg Config) (*controlPlane, error) {
	log, err := store.OpenMetadataLog(logstore.Config{
		SegmentBytes:   s.values.Int("metadata.log.segment.bytes"),
		SegmentAge:     s.values.Millis("metadata.log.segment.ms"),
		RetentionBytes: -1, RetentionAge: -1, // Only what a snapshot covers goes.
	})
	if err != nil {
		return nil, err
	}
	c := &controlPlane{log: cfg.Logger, metadataLog: log, published: make(chan struct{}, 1)}
	c.mu.moved = make(chan struct{})
	c.mu.applied = -1
	c.node, err = quorum.Open(quorum.Options{
		Log: log, FS: cfg.FS, NodeID: meta.NodeID, DirectoryID: meta.DirectoryID, Logger: cfg.Logger,
		RetentionBytes: s.values.Int("metadata.max.retention.bytes"),
		RetentionAge:   s.values.Millis("metadata.max.retention.ms"),
	})
	if err != nil {
		return nil, err
	}
	c.runtime = coordinator.New(coordinator.Options{
		Name:    "controller",
		Logger:  cfg.Logger,
		Metrics: coordinator.NewMetrics(cfg.Metrics, "controller"),
		NewShard: func(int32) coordinator.Shard {
			return controller.New(controller.Config{
				NodeID:            s.nodeID,
				ClusterID:         meta.ClusterID,
				Schema:            controller.Schema{Static: s.static},
				NumPartitions:     int32(s.values.Int("num.partitions")),
				ReplicationFactor: int16(s.values.Int("default.replication.factor")),
				MinInsyncReplicas: int(s.values.Int("min.insync.replicas")),
				NoTopicDeletion:   !s.values.Bool("delete.topic.enable"),
				SessionTimeout:    s.values.Millis("broker.session.timeout.ms"),
				Bootstrap:         bootstrapRecords(),
				Supported:         supportedFeatures(),
				Leader: func() (int32, int32) {
					st := c.node.Status()
					return st.LeaderID, st.Epoch
				},
				Publish: c.publish,
			})
		},
	})
	return c, nil
}

// bootstrapRecords is what the metadata log of a new cluster begins with: the
// level of Kafka 4.2's metadata, and no feature that is not served.
func bootstrapRecords() []metadata.Record {
	return []metadata.Record{
		&metadata.FeatureLevel{Name: metadata.FeatureMetadataVersion, FeatureLevel: int16(metadata.Level42IV1)},
		&metadata.FeatureLevel{Name: metadata.FeatureGroup, FeatureLevel: 1},
		&metadata.FeatureLevel{Name: metadata.FeatureTransaction, FeatureLevel: 2},
	}
}

// supportedFeatures are the levels that this release serves.
func supportedFeatures() map[string]controller.FeatureRange {
	all := controller.SupportedFeatures()
	return map[string]controller.FeatureRange{
		metadata.FeatureMetadataVersion: all[metadata.FeatureMetadataVersion],
		metadata.FeatureKRaftVersion:    all[metadata.FeatureKRaftVersion],
		metadata.FeatureGroup:           all[metadata.FeatureGroup],
		metadata.FeatureTransaction:     all[metadata.FeatureTransaction],
	}
}

// publish takes a newer image. It is called by the shard and returns at once.
func (c *controlPlane) publish(im *controller.Image) {
	c.image.Store(im)
	c.mu.Lock()
	c.mu.queue = append(c.mu.queue, im)
	c.mu.Unlock()
	select {
	case c.published <- struct{}{}:
	default:
	}
}

// take returns the images that were published since the last call.
func (c *controlPlane) take() []*controller.Image {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.mu.queue
	c.mu.queue = nil
	return out
}

// lead waits for the leadership and gives the controller's shard to the runtime.
func (c *controlPlane) lead(ctx context.Context) error {
	l, err := c.node.Lead(ctx)
	if err != nil {
		return err
	}
	c.runtime.Elect(0, l.Epoch(), l)
	if err := c.runtime.Ready(ctx); err != nil {
		return err
	}
	// The shard serves before its first image is committed.
	for c.image.Load() == nil {
		select {
		case <-c.published:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case c.published <- struct{}{}: // For who follows the images.
	default:
	}
	return nil
}

// Ask asks the controller.
func (c *controlPlane) Ask(ctx context.Context, req controller.Request) (kmsg.Response, error) {
	out, err := c.runtime.Ask(ctx, 0, req)
	if err != nil {
		return nil, err
	}
	return out.(kmsg.Response), nil
}

// Control asks the controller and waits until this broker serves what is
// committed by then, at most appliedWait.
func (c *controlPlane) Control(ctx context.Context, req controller.Request) (kmsg.Response, error) {
	resp, err := c.Ask(ctx, req)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, appliedWait)
	defer cancel()
	c.waitApplied(wait, c.image.Load().Offset)
	return resp, nil
}

// waitApplied waits until this broker serves the image of an offset, or ctx ends.
func (c *controlPlane) waitApplied(ctx context.Context, offset int64) {
	for {
		c.mu.Lock()
		applied, moved := c.mu.applied, c.mu.moved
		c.mu.Unlock()
		if applied >= offset {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// setApplied notes that this broker serves the image of an offset.
func (c *controlPlane) setApplied(offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.applied = offset
	close(c.mu.moved)
	c.mu.moved = make(chan struct{})
}

// snapshotEvery bounds what a start has to replay. Kafka's
// metadata.log.max.record.bytes.between.snapshots and
// metadata.log.max.snapshot.interval.ms.
type snapshotEvery struct {
	bytes int64
	age   time.Duration
}

// maybeSnapshot writes a snapshot of the newest image when enough was written
// since the last, or it is old. After a failure the next call tries again.
func (c *controlPlane) maybeSnapshot(ctx context.Context, now time.Time, every snapshotEvery) error {
	logBytes := c.written()
	im := c.image.Load()
	last := &c.snapshotted
	if last.at.IsZero() {
		last.at, last.bytes, last.offset = now, logBytes, im.Offset
		return nil
	}
	old := every.age > 0 && now.Sub(last.at) >= every.age && im.Offset > last.offset
	if logBytes-last.bytes < every.bytes && !old {
		return nil
	}
	records := func(yield func([]byte) bool) {
		for r := range controller.Snapshot(im) {
			if !yield(r.Value) {
				return
			}
		}
	}
	if err := c.node.Snapshot(ctx, im.Offset, now, records); err != nil {
		return fmt.Errorf("metadata snapshot: %w", err)
	}
	// The size is taken anew: with old snapshots goes the log that only they needed.
	last.at, last.bytes, last.offset = now, c.written(), im.Offset
	return nil
}

// written is how large the metadata log is.
func (c *controlPlane) written() int64 { return c.metadataLog.Size() }

// close ends the controller; the quorum's loop ends with its context.
func (c *controlPlane) close() { c.runtime.Close() }
