package replica

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore"
)

// Options say what a Manager works with. Store and NodeID are needed.
type Options struct {
	Store  *logstore.Store
	NodeID int32
	Logger *slog.Logger // Default: none.
	Timing Timing
	// Metrics counts. Default: nobody sees it.
	Metrics *Metrics

	// Propose sends a change of a partition's ISR to the controller, whose answer
	// Partition.Answered gets. It is called under the partition's lock: it must not
	// block, nor call the partition. Default: nothing is proposed.
	Propose func(*Partition, state.Proposal)
	// Leadership is told when this broker begins or ceases to lead a partition, and
	// when a replica leaves it. It is called by Apply, in order, and returns at once.
	// Default: nobody is told.
	Leadership func(Leadership)

	background *sync.WaitGroup
}

// Leadership says that this broker leads a partition in an epoch, or that it does
// no longer.
type Leadership struct {
	Partition *Partition
	Epoch     int32
	Leads     bool
	// Gone says that this broker has no replica any more, whether it led or not: the
	// topic is deleted, or the partition is others'. The epochs of a topic made again
	// under the name begin anew.
	Gone bool
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	if o.Leadership == nil {
		o.Leadership = func(Leadership) {}
	}
	o.Timing = o.Timing.withDefaults()
	o.background = &sync.WaitGroup{}
	return o
}

// Manager holds the replicas of one broker in one data directory. Load comes
// first, then Apply with each image; Apply, Load and Close are called by one
// goroutine at a time, all else by any.
type Manager struct {
	opt    Options
	store  *logstore.Store
	logger *slog.Logger

	// table maps a topic's name to its *hosted. Entries are replaced, not changed.
	table sync.Map

	apply struct { // Of Apply alone.
		offset  int64 // Of the image that was applied last; -1.
		brokers state.Brokers
	}
}

// hosted are the replicas of one topic. It never changes.
type hosted struct {
	partitions map[int32]*Partition
	broken     map[int32]*OfflineError // Those whose log could not be opened.
}

// others says whether something here belongs to another topic of the name than id.
func (h *hosted) others(id [16]byte) bool {
	for _, p := range h.partitions {
		if p.id != id {
			return true
		}
	}
	for _, off := range h.broken {
		if off.id != id {
			return true
		}
	}
	return false
}

// New returns a Manager without partitions.
func New(o Options) *Manager {
	o = o.withDefaults()
	m := &Manager{opt: o, store: o.Store, logger: o.Logger}
	m.apply.offset = -1
	return m
}

// Load opens the logs that are on disk, as far as the image assigns them to this
// broker. Others are set aside as stray. cfg tells what a topic's settings mean.
func (m *Manager) Load(ctx context.Context, im *controller.Image, cfg func(topic string) TopicConfig) error {
	return m.store.Load(ctx, func(topic string, n int32, id [16]byte) (logstore.Config, logstore.Keep) {
		t, ok := im.TopicByID(id)
		if !ok || t.Name != topic {
			return logstore.Config{}, logstore.KeepStray
		}
		if p, ok := t.Partition(n); !ok || !slices.Contains(p.Replicas, m.opt.NodeID) {
			return logstore.Config{}, logstore.KeepStray
		}
		return cfg(topic).Log, logstore.KeepLog
	})
}

// Partition finds a replica. Errors are *UnknownPartitionError, and *OfflineError
// for one whose log could not be opened.
func (m *Manager) Partition(topic string, n int32) (*Partition, error) {
	if h, ok := m.table.Load(topic); ok {
		h := h.(*hosted)
		if p, ok := h.partitions[n]; ok {
			return p, nil
		}
		if off, ok := h.broken[n]; ok {
			return nil, off
		}
	}
	return nil, &UnknownPartitionError{Topic: topic, Partition: n}
}

// Partitions lists the replicas, in no order.
func (m *Manager) Partitions() iter.Seq[*Partition] {
	return func(yield func(*Partition) bool) {
		m.table.Range(func(_, h any) bool {
			for _, p := range h.(*hosted).partitions {
				if !yield(p) {
					return false
				}
			}
			return true
		})
	}
}

// LogDir is the state of a data directory.
type LogDir struct {
	Path string
	// Err says why the size is not known.
	Err error
	// TotalBytes and UsableBytes are of its volume; -1 if not known.
	TotalBytes, UsableBytes int64
}

// LogDir tells of the data directory.
func (m *Manager) LogDir() LogDir {
	d := LogDir{Path: m.store.Dir(), TotalBytes: -1, UsableBytes: -1}
	total, usable, err := m.store.Usage()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		d.Err = err
	default:
		d.TotalBytes, d.UsableBytes = total, usable
	}
	return d
}

// refreshEvery is how often it is looked whether a log start has moved without
// being asked to. It shows in answers of fetch sessions only.
const refreshEvery = 5 * time.Second

// Run does what has to be done by the clock, until ctx ends: maintenance of the
// store each second, and the check for followers that lag each half LagTime.
func (m *Manager) Run(ctx context.Context) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	var refreshed, ticked time.Time
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-every.C:
			failing = m.maintain(now, failing)
			if now.Sub(refreshed) >= refreshEvery {
				refreshed = now
				m.refresh(now)
			}
			if now.Sub(ticked) >= m.opt.Timing.LagTime/2 {
				ticked = now
				m.Tick(now)
			}
		}
	}
}

// maintain says what goes wrong when it begins to, not once a second.
func (m *Manager) maintain(now time.Time, failing bool) bool {
	err := m.store.Maintain(now)
	switch {
	case err != nil && !failing:
		m.logger.Error("maintenance of the data directory failed, it is tried again each second",
			slog.String("dir", m.store.Dir()), slog.String("err", firstLine(err.Error())))
	case err == nil && failing:
		m.logger.Info("maintenance of the data directory works again", slog.String("dir", m.store.Dir()))
	}
	return err != nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (m *Manager) refresh(now time.Time) {
	leaders, offline := 0, 0
	for p := range m.Partitions() {
		p.refresh(now)
		if p.View().Role == state.Leader {
			leaders++
		}
		if p.Err() != nil {
			offline++
		}
	}
	m.table.Range(func(_, h any) bool { offline += len(h.(*hosted).broken); return true })
	m.opt.Metrics.Leaders.Set(float64(leaders))
	m.opt.Metrics.Offline.Set(float64(offline))
}

// Tick looks for followers that lag too long. Run calls it.
func (m *Manager) Tick(now time.Time) {
	for p := range m.Partitions() {
		if v := p.View(); v.Role == state.Leader && len(v.Replicas) > 1 {
			p.step(now, state.Tick{})
		}
	}
}

// Close ends the service of all partitions and closes the store cleanly; the mark
// of the clean stop bears the broker's epoch.
func (m *Manager) Close(brokerEpoch int64) error {
	m.stop()
	return m.store.Close(brokerEpoch)
}

// Abandon is Close without the mark, as after a crash.
func (m *Manager) Abandon() error {
	m.stop()
	return m.store.Abandon()
}

func (m *Manager) stop() {
	now := time.Now()
	for p := range m.Partitions() {
		m.resign(now, p, false)
	}
	m.table.Clear()
	m.opt.background.Wait()
}

// resign ends a partition's service, and tells if it led or is gone.
func (m *Manager) resign(now time.Time, p *Partition, gone bool) {
	v := p.View()
	p.close(now)
	if gone || v.Role == state.Leader {
		m.opt.Leadership(Leadership{Partition: p, Epoch: v.LeaderEpoch, Gone: gone})
	}
}
