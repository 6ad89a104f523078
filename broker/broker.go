// Package broker is Moldau as a library: a Kafka broker in this process.
//
//	b, err := broker.New(broker.Config{Dir: dir, Listen: "127.0.0.1:0"})
//	go b.Run(ctx)
//	<-b.Ready()
//	// clients connect to b.Addr()
//
// It only wires. A request's walk goes through broker/internal/server (sockets),
// api (one file per Kafka API), replica (partitions) and logstore (files); what
// the cluster looks like is decided by coordinator/controller over
// broker/internal/quorum, and what groups do by coordinator/group. Begin with
// broker.go (how these are put together, started and stopped), then
// controlplane.go and groups.go. docs/ARCHITECTURE.md has the whole picture.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/broker/internal/server"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol"
)

// shutdownGrace is how long requests under way may take when the broker stops.
const shutdownGrace = time.Second

// firstRetention is how long after a start retention is applied first. Kafka's
// log.initial.task.delay.ms.
const firstRetention = 30 * time.Second

// Broker is one node: controller and broker. New opens nothing; Run does all.
type Broker struct {
	cfg      Config
	settings *settings
	log      *slog.Logger
	ready    chan struct{}

	mu struct {
		sync.Mutex

		waiting string // What a start waits for; "" once clients are served.
		server  *server.Server
	}
}

// New checks a configuration. The error names the setting and the mend.
func New(cfg Config) (*Broker, error) {
	if cfg.FS == nil {
		cfg.FS = vfs.OS
	}
	if cfg.ListenFunc == nil {
		cfg.ListenFunc = net.Listen
	}
	if cfg.DialFunc == nil {
		cfg.DialFunc = new(net.Dialer).DialContext
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = prometheus.NewRegistry()
	}
	if cfg.Gatherer == nil {
		cfg.Gatherer, _ = cfg.Metrics.(prometheus.Gatherer)
	}
	s, err := resolve(cfg)
	if err != nil {
		return nil, err
	}
	b := &Broker{cfg: cfg, settings: s, log: cfg.Logger, ready: make(chan struct{})}
	b.mu.waiting = "not started"
	return b, nil
}

// Ready is closed when clients are served.
func (b *Broker) Ready() <-chan struct{} { return b.ready }

// Addr is the bound address of the first client listener; nil before Ready.
func (b *Broker) Addr() net.Addr { return b.ListenerAddr(b.settings.listeners[0].Name) }

// ListenerAddr is the bound address of a listener; nil before it is bound.
func (b *Broker) ListenerAddr(name string) net.Addr {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.server == nil {
		return nil
	}
	return b.mu.server.Addr(name)
}

// Waiting says what a start is waiting for; "" once clients are served.
func (b *Broker) Waiting() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.waiting
}

func (b *Broker) await(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.waiting = what
}

// Run runs the broker until ctx ends, and then stops it cleanly: the error is nil,
// also when ctx ends while the broker starts. Any other end is a failure that one
// line describes. It can be called once.
func (b *Broker) Run(ctx context.Context) error {
	for _, w := range b.settings.warnings {
		b.log.Warn("setting has no effect", slog.String("setting", w.Name), slog.String("reason", w.Reason))
	}
	r := &running{Broker: b, fatal: make(chan error, 1)}
	if err := r.open(); err != nil {
		return err
	}
	failure := r.run(ctx)
	err := r.close(failure)
	if cause := context.Cause(ctx); cause != nil && (errors.Is(failure, cause) || errors.Is(failure, ctx.Err())) {
		failure = nil // A start that was no longer wanted.
	}
	return errors.Join(failure, err)
}

// running is a broker while it runs.
type running struct {
	*Broker
	store    *logstore.Store
	meta     logstore.Meta
	control  *controlPlane
	replicas *replica.Manager
	groups   *groupPlane
	txns     *txnPlane
	ids      *api.ProducerIDs
	member   *membership
	fatal    chan error // What no broker survives: a failed metadata log.

	quorum struct {
		stop context.CancelFunc
		done chan struct{}
	}
	loops struct {
		stop context.CancelFunc
		sync.WaitGroup
	}
}

// open takes the directory and the sockets, before anything runs. A port that is
// taken is found before the directory is touched.
func (r *running) open() error {
	if err := r.tryPorts(); err != nil {
		return err
	}
	r.await("opening the data directory")
	store, meta, err := openDirectory(r.cfg, r.settings, logstore.Options{
		Dir: r.settings.dir, FS: r.cfg.FS, Logger: r.log,
		Metrics:               logstore.NewMetrics(r.cfg.Metrics),
		MaxFiles:              maxOpenFiles(),
		LoadThreads:           int(r.settings.values.Int("num.recovery.threads.per.data.dir")),
		HighWatermarkInterval: r.settings.values.Millis("replica.high.watermark.checkpoint.interval.ms"),
		PointsInterval:        r.settings.values.Millis("log.flush.offset.checkpoint.interval.ms"),
		RetentionInterval:     r.settings.values.Millis("log.retention.check.interval.ms"),
		FirstRetention:        firstRetention,
	})
	if err != nil {
		return err
	}
	r.store, r.meta = store, meta
	return nil
}

// tryPorts opens and closes the ports that were asked for by number.
func (r *running) tryPorts() error {
	for _, l := range r.settings.listeners {
		if l.Port == 0 {
			continue
		}
		s, err := r.cfg.ListenFunc("tcp", l.Bind())
		if err != nil {
			return fmt.Errorf("listener %s cannot have %s: %w; stop what uses the port, or set another by --listen or listeners",
				l.Name, l.Bind(), err)
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

// run starts everything, in the order in which each needs the one before, and
// waits for the end.
func (r *running) run(ctx context.Context) error {
	if err := r.startController(ctx); err != nil {
		return err
	}
	if err := r.loadReplicas(ctx); err != nil {
		return err
	}
	if err := r.join(ctx); err != nil {
		return err
	}
	if err := r.serve(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-r.fatal:
		return err
	}
}

// startController starts the quorum and the controller.
func (r *running) startController(ctx context.Context) error {
	r.await("the metadata log")
	var err error
	if r.control, err = newControlPlane(r.settings, r.store, r.meta, r.cfg); err != nil {
		return err
	}
	qctx, stop := context.WithCancel(context.Background())
	r.quorum.stop, r.quorum.done = stop, make(chan struct{})
	go func() {
		defer close(r.quorum.done)
		if err := r.control.node.Run(qctx); err != nil {
			r.fail(err)
		}
	}()
	if err := r.control.lead(ctx); err != nil {
		return r.orFatal(err)
	}
	return nil
}

// fail ends the broker.
func (r *running) fail(err error) {
	select {
	case r.fatal <- err:
	default:
	}
}

// orFatal prefers the reason for which everything ends over its consequence.
func (r *running) orFatal(err error) error {
	select {
	case fatal := <-r.fatal:
		return fatal
	default:
		return err
	}
}

// loadReplicas opens the logs and the group shards, with what the metadata log
// says of them.
func (r *running) loadReplicas(ctx context.Context) error {
	r.await("loading logs")
	r.groups = newGroupPlane(r.settings, r.control, r.cfg)
	r.ids = api.NewProducerIDs(r.allotProducerIDs)
	r.txns = newTxnPlane(r.settings, r.control, r.cfg, r.meta.NodeID, r.ids.Run, r.writeMarkers)
	r.replicas = replica.New(replica.Options{
		Store: r.store, NodeID: r.meta.NodeID, Logger: r.log,
		Timing: replica.Timing{
			LagTime: r.settings.values.Millis("replica.lag.time.max.ms"),
			Backoff: r.settings.values.Millis("replica.fetch.backoff.ms"),
		},
		Metrics: replica.NewMetrics(r.cfg.Metrics),
		Leadership: func(l replica.Leadership) {
			r.groups.lead(l)
			r.txns.lead(l)
		},
	})
	im := r.control.image.Load()
	return r.replicas.Load(ctx, im, r.topicConfigs(im))
}

// join registers this broker, serves what it is assigned, and is let in.
func (r *running) join(ctx context.Context) error {
	r.await("the controller")
	srv, err := r.newServer()
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.mu.server = srv
	r.mu.Unlock()
	r.member = &membership{control: r.control, settings: r.settings, meta: r.meta, log: r.log}
	if r.member.endpoints, err = r.endpoints(srv); err != nil {
		return err
	}
	previous, clean := r.store.CleanShutdown()
	if !clean {
		previous = -1
	}
	if err := r.member.register(ctx, previous); err != nil {
		return r.orFatal(err)
	}
	lctx, stop := context.WithCancel(context.Background())
	r.loops.stop = stop
	r.loops.Go(func() { r.follow(lctx) })
	if err := r.member.unfence(ctx); err != nil {
		return r.orFatal(err)
	}
	r.loops.Go(func() { r.member.keepAlive(lctx) })
	r.loops.Go(func() { r.replicas.Run(lctx) })
	r.loops.Go(func() { r.compact(lctx) })
	r.loops.Go(func() { r.snapshots(lctx) })
	r.await("groups and transactions")
	if err := r.groups.runtime.Ready(ctx); err != nil {
		return err
	}
	return r.txns.runtime.Ready(ctx)
}

// endpoints are the addresses that are registered for this broker's listeners.
// One with a free port is bound now, since the port is part of the address.
func (r *running) endpoints(srv *server.Server) ([]controllerEndpoint, error) {
	var out []controllerEndpoint
	for _, l := range r.settings.listeners {
		ep := controllerEndpoint{listener: l.Name, host: l.AdvertisedHost, port: uint16(l.AdvertisedPort)}
		if ep.port == 0 {
			ep.port = uint16(l.Port)
		}
		if ep.port == 0 {
			addr, err := srv.Bind(l.Name)
			if err != nil {
				return nil, err
			}
			if a, ok := addr.(*net.TCPAddr); ok {
				ep.port = uint16(a.Port)
			}
		}
		if ep.host == "" {
			// Clients are told what they reached; others, this machine's name.
			ep.host = hostName()
		}
		out = append(out, ep)
	}
	return out, nil
}

// serve makes the topics that are to be there, opens the client listeners and
// says so.
func (r *running) serve(ctx context.Context) error {
	r.createTopics(ctx)
	for _, l := range r.settings.listeners {
		if err := r.mu.server.Start(l.Name); err != nil {
			return err
		}
	}
	if err := r.startAdmin(); err != nil {
		return err
	}
	r.await("")
	r.introduce()
	r.announce()
	close(r.ready)
	return nil
}

// announce prints what harnesses wait for, in Kafka's words.
func (r *running) announce() {
	id := r.meta.NodeID
	say := func(line, logger string) {
		r.log.Info(line, slog.String("logger", logger)) //nolint:sloglint // Kafka's own words.
	}
	say(fmt.Sprintf("[BrokerLifecycleManager id=%d] The broker has been unfenced. Transitioning from RECOVERY to RUNNING.", id),
		"kafka.server.BrokerLifecycleManager")
	say(fmt.Sprintf("[KafkaRaftServer nodeId=%d] Kafka Server started", id), "kafka.server.KafkaRaftServer")
	if r.cfg.Settings["zookeeper.connect"] != "" {
		say(fmt.Sprintf("[KafkaServer id=%d] started", id), "kafka.server.KafkaServer")
	}
}

// follow serves each image that the controller publishes, in order.
func (r *running) follow(ctx context.Context) {
	for {
		for _, im := range r.control.take() {
			r.groups.see(im)
			r.txns.see(im)
			// Errors concern single partitions, which are offline then and said so.
			_ = r.replicas.Apply(im, r.topicConfigs(im))
			r.groups.forget(ctx, im.Delta().Deleted)
			r.txns.markers.moved()
			r.control.setApplied(im.Offset)
		}
		select {
		case <-r.control.published:
		case <-ctx.Done():
			return
		}
	}
}

// snapshots keeps the metadata log short.
func (r *running) snapshots(ctx context.Context) {
	every := snapshotEvery{
		bytes: r.settings.values.Int("metadata.log.max.record.bytes.between.snapshots"),
		age:   r.settings.values.Millis("metadata.log.max.snapshot.interval.ms"),
	}
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	failing := false
	for {
		select {
		case now := <-tick.C:
			failing = r.snapshot(ctx, now, every, failing)
		case <-ctx.Done():
			return
		}
	}
}

// snapshot says what goes wrong when it begins to, not each time.
func (r *running) snapshot(ctx context.Context, now time.Time, every snapshotEvery, failing bool) bool {
	err := r.control.maybeSnapshot(ctx, now, every)
	switch {
	case ctx.Err() != nil:
	case err != nil && !failing:
		r.log.Error("metadata snapshot failed, it is tried again every ten seconds", slog.Any("err", err))
	case err == nil && failing:
		r.log.Info("metadata snapshots are written again")
	}
	return err != nil
}

// close stops everything, in the reverse order. After a failure, one of the stop
// itself too, the directory is left as a crash would leave it, so that the next start
// looks closely.
func (r *running) close(failure error) error {
	r.await("stopping")
	began := time.Now()
	if r.mu.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
		if err := r.mu.server.Shutdown(ctx); err != nil {
			r.log.Debug("connections were cut", slog.Any("err", err))
		}
		cancel()
	}
	if r.loops.stop != nil {
		r.loops.stop()
		r.loops.Wait()
	}
	if r.txns != nil {
		r.txns.close()
	}
	if r.groups != nil {
		r.groups.close()
	}
	var err error
	if r.control != nil {
		r.control.close()
		r.quorum.stop()
		<-r.quorum.done
		err = r.orFatal(nil)
	}
	err = errors.Join(err, r.closeStore(failure == nil && err == nil))
	if err == nil {
		r.log.Info("broker stopped", slog.Int64("took_ms", time.Since(began).Milliseconds()))
	}
	return err
}

// closeStore closes the data directory. Without replicas the start was cut short.
func (r *running) closeStore(clean bool) error {
	switch {
	case r.replicas == nil:
		return r.store.Abandon()
	case clean:
		return r.replicas.Close(r.member.epoch)
	}
	return r.replicas.Abandon()
}

// newServer makes the server of the client listeners.
func (r *running) newServer() (*server.Server, error) {
	v := r.settings.values
	buffers := new(protocol.Pool)
	cfg := server.Config{
		Handler: r.handler(buffers), Listen: r.cfg.ListenFunc, Logger: r.log,
		Metrics: server.NewMetrics(r.cfg.Metrics), Buffers: buffers,
		Limits:              protocol.Limits{Produce: int(v.Int("socket.request.max.bytes"))},
		MaxConnections:      zeroIsNone(v.Int("max.connections")),
		MaxConnectionsPerIP: zeroIsNone(v.Int("max.connections.per.ip")),
		AcceptRate:          max(1, int(v.Int("max.connection.creation.rate"))), // Kafka waits a second at most.
		IdleTimeout:         v.Millis("connections.max.idle.ms"),
	}
	if n := v.Int("queued.max.request.bytes"); n > 0 {
		cfg.QueuedBytes = n
	}
	var err error
	if cfg.PerIPOverrides, err = perIP(v("max.connections.per.ip.overrides")); err != nil {
		return nil, err
	}
	if cfg.MaxConnectionsPerIP < 0 && len(cfg.PerIPOverrides) == 0 {
		return nil, &SettingError{"max.connections.per.ip", "0", "nobody could connect; max.connections.per.ip.overrides has to name who may"}
	}
	for _, l := range r.settings.listeners {
		cfg.Listeners = append(cfg.Listeners, server.Listener{Name: l.Name, Protocol: l.Protocol, Bind: l.Bind()})
	}
	return server.New(cfg)
}

// zeroIsNone is a limit of the settings as the server takes it, where zero is the
// default.
func zeroIsNone(limit int64) int {
	if limit == 0 {
		return -1
	}
	return int(limit)
}

// handler is what answers requests.
func (r *running) handler(buffers *protocol.Pool) server.Handler {
	if r.cfg.Wrap == nil {
		return r.env(buffers)
	}
	return r.cfg.Wrap(r.env(buffers))
}

var _ server.Handler = (*api.Env)(nil)
