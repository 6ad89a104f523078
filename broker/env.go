package broker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/admin"
	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/broker/internal/session"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/protocol"
	"github.com/moldau-broker/moldau/protocol/config"
)

// env is what the handlers of requests use of this broker.
func (r *running) env(buffers *protocol.Pool) *api.Env {
	reached := map[string]bool{}
	for _, l := range r.settings.listeners {
		reached[l.Name] = l.AdvertisedHost == ""
	}
	layers := func(im *controller.Image) config.Layers { return layersOf(r.settings.static, im, r.meta.NodeID) }
	settings := func() config.Values { return layers(r.control.image.Load()).BrokerValues() }
	slots := int(r.settings.values.Int("max.incremental.fetch.session.cache.slots"))
	if slots == 0 {
		slots = -1 // None, where the zero value is the default.
	}
	env := &api.Env{
		NodeID: r.meta.NodeID, ClusterID: r.meta.ClusterID, Logger: r.log, Buffers: buffers,
		Image:    r.control.image.Load,
		Reached:  func(listener string) bool { return reached[listener] },
		Misled:   (&misled{log: r.log, listeners: r.settings.listeners}).warn,
		Settings: settings,
		Layers:   layers,
		Features: r.features,
		Control:  r.control.Control,
		Quorum:   r.describeQuorum,
		Groups:   r.groups,

		Transactions: r.txns,

		Replicas:      r.replicas,
		Fetches:       api.NewFetches(session.Config{Slots: slots}, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))),
		FetchMaxBytes: int(r.settings.values.Int("fetch.max.bytes")),
		ProducerID:    r.ids.Next,
	}
	if r.settings.values.Bool("auto.create.topics.enable") {
		env.AutoCreate = r.autoCreate
	}
	return env
}

// features are what ApiVersions tells of the cluster.
func (r *running) features() api.Features {
	im := r.control.image.Load()
	f := api.Features{Epoch: im.Offset - 1, Supported: map[string]api.Levels{}, Finalized: im.Features()}
	for name, levels := range supportedFeatures() {
		f.Supported[name] = api.Levels{Min: levels.Min, Max: levels.Max}
	}
	return f
}

// writeMarkers writes markers to this broker's own partitions.
func (r *running) writeMarkers(ctx context.Context, req *kmsg.WriteTxnMarkersRequest) *kmsg.WriteTxnMarkersResponse {
	return api.WriteMarkers(ctx, r.replicas, r.groups, req)
}

// allotProducerIDs asks the controller for a block of producer ids, once this broker
// is registered there.
func (r *running) allotProducerIDs(ctx context.Context) (first int64, count int32, err error) {
	select {
	case <-r.ready:
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = r.meta.NodeID, r.member.epoch
	resp, err := r.control.Ask(ctx, controller.Request{Body: req})
	if err != nil {
		return 0, 0, err
	}
	block := resp.(*kmsg.AllocateProducerIDsResponse)
	return block.ProducerIDStart, block.ProducerIDLen, kerr.ErrorForCode(block.ErrorCode)
}

// describeQuorum is the quorum as DescribeQuorum answers it.
func (r *running) describeQuorum() api.Quorum {
	st := r.control.node.Status()
	q := api.Quorum{LeaderID: st.LeaderID, Epoch: st.Epoch, HighWatermark: st.Committed}
	for _, v := range st.Voters {
		voter := api.QuorumVoter{ID: v.ID, DirectoryID: v.DirectoryID, LogEndOffset: -1}
		if v.ID == st.LeaderID {
			voter.LogEndOffset = st.End
		}
		for _, ep := range v.Endpoints {
			voter.Endpoints = append(voter.Endpoints, api.QuorumEndpoint{Name: ep.Name, Host: ep.Host, Port: ep.Port})
		}
		q.Voters = append(q.Voters, voter)
	}
	return q
}

// autoCreate makes a topic with the broker's defaults.
func (r *running) autoCreate(ctx context.Context, topic string) error {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, -1, -1
	return createTopic(ctx, r.control, t)
}

// topicConfigs tells what a topic's settings mean, in an image.
func (r *running) topicConfigs(im *controller.Image) func(topic string) replica.TopicConfig {
	layers := layersOf(r.settings.static, im, r.meta.NodeID)
	return func(topic string) replica.TopicConfig {
		l := layers
		l.Topic = im.Config(controller.KindTopic, topic)
		cfg := replica.ConfigOf(l.TopicValues())
		cfg.Log.ProducerIDExpiry = l.BrokerValues().Millis("producer.id.expiration.ms")
		cfg.Rules.HeaderOnly = l.BrokerValues()(config.ProduceValidation) == "header"
		return cfg
	}
}

// hostName is this machine's name, for addresses that nobody set.
func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return name
}

// perIP reads max.connections.per.ip.overrides: host:limit pairs.
func perIP(text string) (map[string]int, error) {
	out := map[string]int{}
	for _, item := range nonEmpty(config.SplitList(text)) {
		i := strings.LastIndex(item, ":")
		if i < 0 {
			return nil, &SettingError{"max.connections.per.ip.overrides", item, "each entry is ADDRESS:LIMIT"}
		}
		limit, err := strconv.Atoi(item[i+1:])
		if err != nil || limit < 0 {
			return nil, &SettingError{"max.connections.per.ip.overrides", item, "each entry is ADDRESS:LIMIT"}
		}
		host := strings.Trim(item[:i], "[]")
		ips, err := net.LookupIP(host)
		if err != nil {
			return nil, &SettingError{"max.connections.per.ip.overrides", item, host + " cannot be looked up"}
		}
		for _, ip := range ips {
			out[ip.String()] = limit
		}
	}
	return out, nil
}

// startAdmin serves metrics and health, if that is asked for.
func (r *running) startAdmin() error {
	if r.settings.admin == "" {
		return nil
	}
	l, err := r.cfg.ListenFunc("tcp", r.settings.admin)
	if err != nil {
		return fmt.Errorf("the admin listener cannot have %s: %w; set another by %s", r.settings.admin, err, config.AdminListener)
	}
	ctx, stop := context.WithCancel(context.Background())
	next := r.loops.stop
	r.loops.stop = func() { stop(); next() }
	r.loops.Go(func() {
		if err := admin.Serve(ctx, l, admin.Options{Metrics: r.cfg.Gatherer, Ready: r.Waiting, Logger: r.log}); err != nil {
			r.log.Error("admin listener failed", slog.Any("err", err))
		}
	})
	return nil
}
