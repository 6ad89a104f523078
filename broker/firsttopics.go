package broker

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// createTopics makes the topics of Config.Topics that are not there. A topic that
// cannot be made keeps nobody from the others.
func (r *running) createTopics(ctx context.Context) {
	for _, topic := range r.cfg.Topics {
		if _, ok := r.control.image.Load().Topic(topic.Name); ok {
			continue
		}
		if err := createTopic(ctx, r.control, topic.request()); err != nil {
			r.log.Error("a topic that was to be made at the start is missing", slog.String("topic", topic.Name), slog.Any("err", err))
		} else {
			r.log.Info("topic created at the start", slog.String("topic", topic.Name))
		}
	}
}

// request is the topic as CreateTopics asks for it.
func (t Topic) request() kmsg.CreateTopicsRequestTopic {
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.Name, -1, -1
	if t.Partitions > 0 {
		rt.NumPartitions = t.Partitions
	}
	if t.Replicas > 0 {
		rt.ReplicationFactor = t.Replicas
	}
	for _, name := range slices.Sorted(maps.Keys(t.Configs)) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		value := t.Configs[name]
		c.Name, c.Value = name, &value
		rt.Configs = append(rt.Configs, c)
	}
	return rt
}
