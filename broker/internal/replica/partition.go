package replica

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/replica/state"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/producer"
)

// Partition is this broker's copy of one partition. Any goroutine may call its
// exported methods.
type Partition struct {
	topic  string
	number int32
	id     [16]byte // Of the topic.
	log    *logstore.Log
	logger *slog.Logger
	opt    *Options // Of the Manager.

	view     atomic.Pointer[state.View]
	config   atomic.Pointer[TopicConfig]
	offline  atomic.Pointer[OfflineError]
	onCommit atomic.Pointer[func()]
	watches  watches
	started  atomic.Int64          // The log start as the state knows it.
	flushing atomic.Bool           // A flush in the background is on its way.
	assigned *controller.Partition // What was applied last; Apply's own.

	// owner orders what changes the log and the state. It is held over the system
	// calls of this log, but not over a sync.
	owner struct {
		sync.Mutex

		state   *state.State
		waits   map[state.Ticket]chan state.Answer
		tickets state.Ticket
		marks   marks // As they were told to the watches.
		closed  bool
	}
}

// marks are the places of a log that readers wait for.
type marks struct{ start, end, watermark, stable int64 }

func newPartition(node int32, log *logstore.Log, cfg *TopicConfig, o *Options) *Partition {
	p := &Partition{
		topic: log.Topic(), number: log.Partition(), id: log.TopicID(), log: log,
		logger: o.Logger, opt: o,
	}
	p.config.Store(cfg)
	p.started.Store(log.Start())
	p.owner.state = state.New(node, p.stateConfig(cfg), log, state.Log{
		Start: log.Start(), End: log.End().Offset,
		Flushed: log.Flushed(), HighWatermark: log.HighWatermark().Offset,
	})
	p.owner.marks = p.marks()
	p.view.Store(unassigned)
	return p
}

// unassigned is the view of every partition before it gets a role.
var unassigned = &state.View{Leader: -1, LeaderEpoch: -1, PartitionEpoch: -1, EpochStart: -1}

func (p *Partition) stateConfig(cfg *TopicConfig) state.Config {
	return state.Config{
		MinISR: cfg.MinISR, LagTime: p.opt.Timing.LagTime, Backoff: p.opt.Timing.Backoff,
		FlushedOnly: cfg.flushedOnly(),
	}
}

// Topic is the topic's name.
func (p *Partition) Topic() string { return p.topic }

// Number is the partition's number in its topic.
func (p *Partition) Number() int32 { return p.number }

// TopicID is the topic's id.
func (p *Partition) TopicID() [16]byte { return p.id }

// View tells who leads, and in which epoch.
func (p *Partition) View() *state.View { return p.view.Load() }

// Config is what the topic's settings mean.
func (p *Partition) Config() TopicConfig { return *p.config.Load() }

// LogStart is the first offset that may be read.
func (p *Partition) LogStart() int64 { return p.log.Start() }

// End is the offset that the next record gets.
func (p *Partition) End() int64 { return p.log.End().Offset }

// HighWatermark is the first offset that is not committed.
func (p *Partition) HighWatermark() int64 { return p.log.HighWatermark().Offset }

// Stable is the last stable offset: the first that a transaction may undo.
func (p *Partition) Stable() int64 { return p.log.Stable().Offset }

// SizeBytes is the size of the log's batches.
func (p *Partition) SizeBytes() int64 { return p.log.Size() }

// Producers tells what is known of those who wrote to the partition, ordered by
// producer id.
func (p *Partition) Producers() []producer.Entry { return p.log.Producers() }

// Followers tells how far the followers are; none if this broker does not lead.
func (p *Partition) Followers() []state.Progress {
	p.owner.Lock()
	defer p.owner.Unlock()
	return p.owner.state.Followers()
}

// Err says why the replica is offline; nil if it is not.
func (p *Partition) Err() error {
	if off := p.offline.Load(); off != nil {
		return off
	}
	return nil
}

func (p *Partition) attrs(more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{slog.String("topic", p.topic), slog.Int("partition", int(p.number))}, more...)
}

// step carries out one event; it reports whether a flush is due, which the caller
// sees to without the lock.
func (p *Partition) step(now time.Time, ev state.Event) (flush bool) {
	p.owner.Lock()
	defer p.owner.Unlock()
	if p.owner.closed {
		return false
	}
	return p.stepLocked(now, ev).Flush
}

// stepLocked steps the state and does what it wants done, up to what needs the
// network or a sync.
func (p *Partition) stepLocked(now time.Time, ev state.Event) state.Effects {
	eff := p.owner.state.Step(now, ev)
	var what change
	if eff.View {
		v := p.owner.state.View()
		was := p.view.Swap(v)
		if v.Role != was.Role || v.Leader != was.Leader || v.LeaderEpoch != was.LeaderEpoch {
			what |= changedRole
		}
	}
	if eff.AssignEpoch >= 0 {
		p.log.AssignEpoch(eff.AssignEpoch)
	}
	if eff.Truncate.Kind != state.Keep {
		p.truncateLocked(now, eff.Truncate)
	}
	if eff.HighWatermark >= 0 {
		p.log.SetHighWatermark(eff.HighWatermark)
	}
	if eff.AdvanceStart >= 0 {
		if err := p.log.AdvanceStart(eff.AdvanceStart); err != nil {
			_ = p.failLocked(err)
		}
	}
	for _, a := range eff.Answers {
		p.answerLocked(a)
	}
	if eff.Propose != nil && p.opt.Propose != nil {
		p.opt.Metrics.ISRChanges.Inc()
		p.opt.Propose(p, *eff.Propose)
	}
	p.tellLocked(what)
	return eff
}

// tellLocked marks the watches of what has changed since they were told last.
func (p *Partition) tellLocked(what change) {
	m, was := p.marks(), p.owner.marks
	p.owner.marks = m
	if m.end != was.end {
		what |= changedEnd
	}
	if m.watermark != was.watermark {
		what |= changedWatermark
	}
	if m.stable != was.stable {
		what |= changedStable
	}
	if m.start != was.start {
		what |= changedStart
	}
	if what == 0 {
		return
	}
	p.watches.mark(what)
	if f := p.onCommit.Load(); f != nil && what&changedWatermark != 0 {
		(*f)()
	}
}

func (p *Partition) marks() marks {
	return marks{p.log.Start(), p.log.End().Offset, p.log.HighWatermark().Offset, p.log.Stable().Offset}
}

func (p *Partition) truncateLocked(now time.Time, t state.Truncation) {
	if t.BelowHW {
		p.logger.LogAttrs(context.Background(), slog.LevelError,
			"committed records were cut off, the leader was elected without having them",
			p.attrs(slog.Int64("high_watermark", p.log.HighWatermark().Offset), slog.Int64("offset", t.Offset))...)
	}
	var err error
	if t.Kind == state.Fully {
		err = p.log.TruncateFully(t.Offset)
	} else {
		err = p.log.Truncate(t.Offset)
	}
	if err != nil {
		_ = p.failLocked(err)
		return
	}
	p.stepLocked(now, state.Truncated{Start: p.log.Start(), End: p.log.End().Offset})
}

// flush makes the log durable, together with others who want the same, and counts
// what became so.
func (p *Partition) flush(now time.Time) error {
	if err := p.log.Flush(); err != nil {
		return p.fail(err)
	}
	p.step(now, state.Flushed{To: p.log.Flushed()})
	return nil
}

// flushSoon is flush for those who do not wait for it.
func (p *Partition) flushSoon() {
	if p.flushing.Swap(true) {
		return // The one under way looks for more when it is done.
	}
	p.opt.background.Go(func() {
		for again := true; again; {
			end := p.End()
			err := p.flush(time.Now())
			p.flushing.Store(false)
			again = err == nil && p.End() != end && !p.flushing.Swap(true)
		}
	})
}

// fail takes the replica offline if the log refuses to go on, and returns the
// error to answer with.
func (p *Partition) fail(err error) error {
	p.owner.Lock()
	defer p.owner.Unlock()
	return p.failLocked(err)
}

func (p *Partition) failLocked(err error) error {
	if p.log.Err() == nil {
		return err // The disk refused something, and the log is as it was.
	}
	off := &OfflineError{Topic: p.topic, Partition: p.number, Err: err, id: p.id}
	if p.offline.CompareAndSwap(nil, off) {
		p.logger.LogAttrs(context.Background(), slog.LevelError, "partition taken offline, restart the broker when its disk is well",
			p.attrs(slog.String("dir", p.log.Dir()), slog.Int64("log_end", p.End()), slog.Any("err", err))...)
		for t := range p.owner.waits {
			p.answerLocked(state.Answer{Ticket: t, Err: off, LowWatermark: -1})
		}
		p.watches.mark(changedRole)
	}
	return p.offline.Load()
}

// answerLocked tells who waits. One who was told that the replica is offline may
// still be in the state's queue.
func (p *Partition) answerLocked(a state.Answer) {
	if ch, ok := p.owner.waits[a.Ticket]; ok {
		ch <- a // Has room for one, and gets one.
		delete(p.owner.waits, a.Ticket)
	}
}

// close ends the replica's service: who waits is answered, who watches is told.
func (p *Partition) close(now time.Time) {
	p.owner.Lock()
	v := p.view.Load()
	p.stepLocked(now, state.Assigned{
		Leader: -1, LeaderEpoch: v.LeaderEpoch + 1, PartitionEpoch: v.PartitionEpoch + 1, Replicas: v.Replicas,
	})
	p.owner.closed = true
	p.owner.Unlock()
	p.watches.end()
}

// tune applies changed settings.
func (p *Partition) tune(now time.Time, cfg *TopicConfig) {
	p.config.Store(cfg)
	p.owner.Lock()
	p.log.SetConfig(cfg.Log)
	flush := !p.owner.closed && p.stepLocked(now, state.Tuned{Config: p.stateConfig(cfg)}).Flush
	p.owner.Unlock()
	if flush {
		p.flushSoon()
	}
}

// refresh takes in what others did to the log: retention moved its start, or a
// sync in the background failed.
func (p *Partition) refresh(now time.Time) {
	if err := p.log.Err(); err != nil && p.offline.Load() == nil {
		_ = p.fail(err)
	}
	if start := p.log.Start(); start != p.started.Load() {
		p.started.Store(start)
		p.step(now, state.Started{Start: start})
	}
}
