package replica

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore"
)

// Apply makes this broker do what the image says: partitions that are assigned to
// it are made, led or followed, others are deleted. cfg tells what a topic's
// settings mean in this image.
//
// What fails concerns single partitions: they are offline, with an error line
// each, and the rest goes on. The error joins them all.
func (m *Manager) Apply(im *controller.Image, cfg func(topic string) TopicConfig) error {
	now := time.Now()
	a := &applying{m: m, im: im, cfg: cfg, now: now, configs: map[string]*TopicConfig{}}
	d := im.Delta()
	if d == nil || d.Full || d.Since != m.apply.offset {
		a.full()
	} else {
		a.delta(d)
	}
	m.apply.offset = im.Offset
	a.flush()
	return errors.Join(a.errs...)
}

// applying is one call of Apply.
type applying struct {
	m   *Manager
	im  *controller.Image
	cfg func(topic string) TopicConfig
	now time.Time
	// configs are those that were asked for; the partitions of a topic share one.
	configs map[string]*TopicConfig
	// unflushed have a new role and records that do not count until they are flushed.
	unflushed []*Partition
	errs      []error
}

// maxFlushes is how many partitions are flushed at once; the disk has its own queue.
const maxFlushes = 16

// flush makes durable what must be before it counts. Apply waits for it: after a
// start whoever asks first would else find the end where it was at the last
// checkpoint, and take that for all there is.
func (a *applying) flush() {
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxFlushes)
	for _, p := range a.unflushed {
		slots <- struct{}{}
		wg.Go(func() {
			_ = p.flush(a.now) // A failure has taken the replica offline.
			<-slots
		})
	}
	wg.Wait()
}

// full takes the image as a whole: at the start, and after images were missed.
func (a *applying) full() {
	a.brokers()
	a.m.table.Range(func(name, _ any) bool {
		if t, ok := a.im.Topic(name.(string)); ok {
			a.forget(t.Name, t.ID)
		} else {
			a.forget(name.(string), [16]byte{})
		}
		return true
	})
	for t := range a.im.Topics() {
		a.topic(t)
	}
	for p := range a.m.Partitions() {
		a.tune(p)
	}
}

// delta takes what has changed since the image before.
func (a *applying) delta(d *controller.Delta) {
	if len(d.Brokers) > 0 {
		a.brokers()
	}
	for _, t := range d.Deleted {
		a.forget(t.Name, [16]byte{}) // One made again under its name is in Created.
	}
	for _, t := range d.Created {
		a.topic(t)
	}
	for _, t := range d.Changed {
		a.topic(t)
	}
	a.tuneChanged(d.Configs)
}

// config is what the settings of a topic mean.
func (a *applying) config(topic string) *TopicConfig {
	cfg := a.configs[topic]
	if cfg == nil {
		cfg = new(TopicConfig)
		*cfg = a.cfg(topic)
		a.configs[topic] = cfg
	}
	return cfg
}

// tuneChanged applies changed settings: a topic's to its partitions, a broker's to all,
// since they are the topics' defaults.
func (a *applying) tuneChanged(changed []controller.ConfigResource) {
	if slices.ContainsFunc(changed, func(r controller.ConfigResource) bool { return r.Kind == controller.KindBroker }) {
		for p := range a.m.Partitions() {
			a.tune(p)
		}
		return
	}
	for _, r := range changed {
		if r.Kind == controller.KindTopic {
			for _, p := range a.replicas(r.Name) {
				a.tune(p)
			}
		}
	}
}

func (a *applying) tune(p *Partition) {
	if cfg := a.config(p.topic); *cfg != p.Config() {
		p.tune(a.now, cfg)
	}
}

// brokers tells the leaders which brokers live.
func (a *applying) brokers() {
	var all state.Brokers
	for b := range a.im.Brokers() {
		all = append(all, state.Broker{ID: b.ID, Epoch: b.Epoch, Fenced: b.Fenced, ShuttingDown: b.ShuttingDown})
	}
	a.m.apply.brokers = all
	for p := range a.m.Partitions() {
		p.step(a.now, all)
	}
}

// replicas are those of a topic that are here, by number.
func (a *applying) replicas(topic string) []*Partition {
	h, ok := a.m.table.Load(topic)
	if !ok {
		return nil
	}
	return slices.SortedFunc(maps.Values(h.(*hosted).partitions), func(x, y *Partition) int { return int(x.number - y.number) })
}

// forget drops what belongs to another topic of that name than id: it was deleted.
func (a *applying) forget(topic string, id [16]byte) {
	if h, ok := a.m.table.Load(topic); !ok || !h.(*hosted).others(id) {
		return
	}
	next := a.m.hosted(topic)
	var gone []*Partition
	for _, p := range a.replicas(topic) {
		if p.id != id {
			gone = append(gone, a.resign(next, p))
		}
	}
	maps.DeleteFunc(next.broken, func(_ int32, off *OfflineError) bool { return off.id != id })
	a.m.publish(topic, next)
	a.drop(gone)
}

// topic brings the partitions of one topic to where the image has them.
func (a *applying) topic(t *controller.Topic) {
	a.forget(t.Name, t.ID)
	next := a.m.hosted(t.Name)
	var gone []*Partition
	for _, want := range t.Partitions {
		have := next.partitions[want.ID]
		switch assigned := slices.Contains(want.Replicas, a.m.opt.NodeID); {
		case !assigned && have != nil:
			gone = append(gone, a.resign(next, have))
		case !assigned:
			delete(next.broken, want.ID)
		case have == nil && next.broken[want.ID] == nil:
			a.open(next, t, want.ID)
		}
	}
	a.m.publish(t.Name, next)
	a.drop(gone)
	for _, want := range t.Partitions {
		if p := next.partitions[want.ID]; p != nil {
			a.assign(p, want)
		}
	}
}

// assign gives a partition its role, and tells who wants to know.
func (a *applying) assign(p *Partition, want *controller.Partition) {
	if p.assigned == want {
		return // Another partition of the topic has changed.
	}
	p.assigned = want
	before := p.View()
	if p.step(a.now, state.Assigned{
		Leader: want.Leader, LeaderEpoch: want.LeaderEpoch, PartitionEpoch: want.PartitionEpoch,
		Replicas: want.Replicas, ISR: want.ISR, Adding: want.Adding,
	}) {
		a.unflushed = append(a.unflushed, p)
	}
	after := p.View()
	if before.Role == after.Role && before.LeaderEpoch == after.LeaderEpoch {
		return
	}
	if before.Role == state.Leader {
		a.m.opt.Leadership(Leadership{Partition: p, Epoch: before.LeaderEpoch})
	}
	if after.Role == state.Leader {
		a.m.opt.Leadership(Leadership{Partition: p, Epoch: after.LeaderEpoch, Leads: true})
	}
}

// open makes a replica of the log on disk, or of a new one. One that cannot be
// opened is not tried again before the broker is restarted.
func (a *applying) open(into *hosted, t *controller.Topic, n int32) {
	cfg := a.config(t.Name)
	log, err := a.log(t, n, cfg.Log)
	if err != nil {
		off := &OfflineError{Topic: t.Name, Partition: n, Err: err, id: t.ID}
		a.fail("partition could not be opened, it is offline until restart", off)
		into.broken[n] = off
		return
	}
	p := newPartition(a.m.opt.NodeID, log, cfg, &a.m.opt)
	p.step(a.now, a.m.apply.brokers)
	into.partitions[n] = p
}

// log finds the log of a partition in the store, or makes it. One that is left of
// an earlier topic of that name goes: it has nothing to do with this one.
func (a *applying) log(t *controller.Topic, n int32, cfg logstore.Config) (*logstore.Log, error) {
	if log, ok := a.m.store.Log(t.Name, n); ok {
		if log.TopicID() == t.ID {
			log.SetConfig(cfg)
			return log, nil
		}
		if err := a.m.store.Delete(log); err != nil {
			return nil, err
		}
	}
	return a.m.store.Create(t.Name, n, t.ID, cfg)
}

// resign ends the part that a partition plays and takes it out of what is hosted of
// its topic. Its log goes, by drop, once nobody finds it any more.
func (a *applying) resign(from *hosted, p *Partition) *Partition {
	a.m.resign(a.now, p, true)
	delete(from.partitions, p.number)
	return p
}

// drop removes the logs of partitions that are no longer hosted.
func (a *applying) drop(gone []*Partition) {
	for _, p := range gone {
		if err := a.m.store.Delete(p.log); err != nil {
			a.fail("log of a deleted partition could not be removed", &OfflineError{Topic: p.topic, Partition: p.number, Err: err, id: p.id})
		}
	}
}

func (a *applying) fail(message string, off *OfflineError) {
	a.errs = append(a.errs, off)
	a.m.logger.Error(message, slog.String("topic", off.Topic), slog.Int("partition", int(off.Partition)), //nolint:sloglint // The callers' messages are literals.
		slog.String("dir", a.m.store.Dir()), slog.Any("err", off.Err))
}

// hosted returns a copy of what is hosted of a topic, to be changed and published.
func (m *Manager) hosted(topic string) *hosted {
	h, ok := m.table.Load(topic)
	if !ok {
		return &hosted{partitions: map[int32]*Partition{}, broken: map[int32]*OfflineError{}}
	}
	return &hosted{partitions: maps.Clone(h.(*hosted).partitions), broken: maps.Clone(h.(*hosted).broken)}
}

func (m *Manager) publish(topic string, h *hosted) {
	if len(h.partitions)+len(h.broken) == 0 {
		m.table.Delete(topic)
		return
	}
	m.table.Store(topic, h)
}
