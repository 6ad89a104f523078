package marker

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/txn"
)

// Owed says that the coordinator of a partition of __transaction_state, elected in
// the given epoch, owes the markers. It takes the place of what it owed before to
// the same transactional id.
type Owed struct {
	Partition int32
	Epoch     int32
	Markers   txn.Markers
}

// Resigned says that the partition of __transaction_state is not led here in the
// given epoch or before: what its coordinator owed is another's business.
type Resigned struct {
	Partition int32
	Epoch     int32
}

// Answered brings the answer to a Request; a nil Response says that there is none,
// and that the markers may or may not be written.
type Answered struct {
	Request  uint64
	Response *kmsg.WriteTxnMarkersResponse
}

// Moved says that partitions may have got other leaders or may be gone.
type Moved struct{}

// Due says that the time has come that Effects.Wake named.
type Due struct{}

// Request is to be sent to a broker, and answered with Answered.
type Request struct {
	ID     uint64
	Broker int32
	Body   *kmsg.WriteTxnMarkersRequest
}

// Done is to be told to the coordinator of the partition, as Written, if it is still
// led here.
type Done struct {
	Partition int32
	Written   txn.Written
}

// Effects is what a step wants done.
type Effects struct {
	Requests []Request
	Done     []Done
	// Wake is when Due is to come, unless a later step says otherwise; the zero time:
	// never.
	Wake time.Time
}

// Config says what a Sender works with.
type Config struct {
	// Leader is the broker that leads a partition, or -1 if none does now. Not ok: the
	// partition does not exist. Its topic was deleted, and its markers with it.
	Leader func(topic string, partition int32) (broker int32, ok bool)
	// Retry is how long a marker waits after it failed, unless leaders move before.
	// Default 100 ms; Kafka tries again at once.
	Retry time.Duration
	// RequestPartitions is how many partitions one request may hold. Default 5000, a
	// fraction of the largest frame that a broker takes.
	RequestPartitions int
	// InFlight is how many requests may be on the way to one broker. Default 5: each
	// waits for replication, and what comes meanwhile should not wait twice.
	InFlight int
	// Logger gets what becomes of markers. Default: discarded.
	Logger *slog.Logger
}

// Sender sends the markers that the coordinators of one broker owe. It is used by
// one goroutine at a time.
//
// Invariants, checked by check after every step in tests:
//
//	each partition that a transaction waits for is in one queue, in one request, or
//	waits for its retry
//	a broker with a queue has all the requests on the way that it may have
type Sender struct {
	cfg     Config
	jobs    map[jobKey]*job
	brokers map[int32]*broker
	flights map[uint64]*flight
	lastID  uint64
	// later are the markers that wait to be tried again, in order of time: all wait
	// equally long.
	later []delayed
	eff   Effects
}

// jobKey names a transaction: its id within the partition of __transaction_state.
type jobKey struct {
	partition int32
	id        string
}

// job is a transaction that waits for its markers.
type job struct {
	Owed
	left map[partition]struct{} // Not yet known to be written.
}

type partition struct {
	topic string
	n     int32
}

// item is some of a job's partitions. A job that was replaced or dropped leaves its
// items where they are; they are skipped.
type item struct {
	job        *job
	partitions []partition
}

type broker struct {
	inFlight int
	queue    []item
}

type flight struct {
	broker int32
	items  []item
}

type delayed struct {
	at time.Time
	item
}

// New returns a Sender that owes nothing.
func New(cfg Config) *Sender {
	if cfg.Retry <= 0 {
		cfg.Retry = 100 * time.Millisecond
	}
	if cfg.RequestPartitions <= 0 {
		cfg.RequestPartitions = 5000
	}
	if cfg.InFlight <= 0 {
		cfg.InFlight = 5
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Sender{
		cfg:     cfg,
		jobs:    make(map[jobKey]*job),
		brokers: make(map[int32]*broker),
		flights: make(map[uint64]*flight),
	}
}

// Step takes one event: Owed, Resigned, Answered, Moved or Due.
func (s *Sender) Step(now time.Time, event any) Effects {
	s.eff = Effects{}
	switch ev := event.(type) {
	case Owed:
		s.owe(now, ev)
	case Resigned:
		maps.DeleteFunc(s.jobs, func(k jobKey, j *job) bool {
			return k.partition == ev.Partition && j.Epoch <= ev.Epoch
		})
	case Answered:
		s.answered(now, ev)
	case Moved:
		s.retry(now, func(delayed) bool { return true })
	case Due:
	default:
		panic(fmt.Sprintf("BUG: marker sender was given a %T", event))
	}
	s.retry(now, func(d delayed) bool { return !d.at.After(now) })
	s.fill()
	if len(s.later) > 0 {
		s.eff.Wake = s.later[0].at
	}
	return s.eff
}

// Waiting is how many transactions wait for markers.
func (s *Sender) Waiting() int { return len(s.jobs) }

// owe takes a job on. News of an older election come too late.
func (s *Sender) owe(now time.Time, o Owed) {
	key := jobKey{o.Partition, o.Markers.TransactionalID}
	if old := s.jobs[key]; old != nil && old.Epoch > o.Epoch {
		return
	}
	j := &job{Owed: o, left: make(map[partition]struct{})}
	all := item{job: j}
	for _, t := range o.Markers.Topics {
		for _, n := range t.Partitions {
			p := partition{t.Name, n}
			j.left[p] = struct{}{}
			all.partitions = append(all.partitions, p)
		}
	}
	s.jobs[key] = j
	s.route(now, all)
}

// alive says whether the job is still to be done.
func (s *Sender) alive(j *job) bool {
	return s.jobs[jobKey{j.Partition, j.Markers.TransactionalID}] == j
}

// route puts an item's partitions into their leaders' queues. Those without a leader
// wait, and those that do not exist are done.
func (s *Sender) route(now time.Time, it item) {
	if !s.alive(it.job) {
		return
	}
	byLeader := make(map[int32][]partition)
	for _, p := range it.partitions {
		leader, ok := s.cfg.Leader(p.topic, p.n)
		if !ok {
			s.cfg.Logger.Info("marker is not needed: its partition is gone", slog.String("topic", p.topic),
				slog.Int("partition", int(p.n)), slog.String("transactional_id", it.job.Markers.TransactionalID))
			delete(it.job.left, p)
			continue
		}
		byLeader[leader] = append(byLeader[leader], p)
	}
	for _, leader := range slices.Sorted(maps.Keys(byLeader)) {
		part := item{it.job, byLeader[leader]}
		if leader < 0 {
			s.later = append(s.later, delayed{now.Add(s.cfg.Retry), part})
			continue
		}
		b := s.brokers[leader]
		if b == nil {
			b = new(broker)
			s.brokers[leader] = b
		}
		b.queue = append(b.queue, part)
	}
	s.finish(it.job)
}

// finish tells the coordinator of a job of which nothing is left.
func (s *Sender) finish(j *job) {
	if len(j.left) > 0 || !s.alive(j) {
		return
	}
	m := &j.Markers
	delete(s.jobs, jobKey{j.Partition, m.TransactionalID})
	s.eff.Done = append(s.eff.Done, Done{
		Partition: j.Partition,
		Written:   txn.Written{TransactionalID: m.TransactionalID, ProducerID: m.ProducerID, Epoch: m.Epoch},
	})
}

// retry routes anew those that wait and are ready.
func (s *Sender) retry(now time.Time, ready func(delayed) bool) {
	n := 0
	for n < len(s.later) && ready(s.later[n]) {
		n++
	}
	again := s.later[:n]
	s.later = slices.Clone(s.later[n:])
	for _, d := range again {
		s.route(now, d.item)
	}
}

// fill makes requests of the queues, as many as may be on the way.
func (s *Sender) fill() {
	for _, id := range slices.Sorted(maps.Keys(s.brokers)) {
		b := s.brokers[id]
		for b.inFlight < s.cfg.InFlight {
			items := s.take(b)
			if len(items) == 0 {
				break
			}
			s.lastID++
			b.inFlight++
			s.flights[s.lastID] = &flight{id, items}
			s.eff.Requests = append(s.eff.Requests, Request{ID: s.lastID, Broker: id, Body: body(items)})
		}
		if b.inFlight == 0 && len(b.queue) == 0 {
			delete(s.brokers, id)
		}
	}
}

// take takes one request's worth from a queue.
func (s *Sender) take(b *broker) (items []item) {
	room := s.cfg.RequestPartitions
	for room > 0 && len(b.queue) > 0 {
		it := b.queue[0]
		if !s.alive(it.job) {
			b.queue = b.queue[1:]
			continue
		}
		if n := len(it.partitions); n > room {
			b.queue[0].partitions = it.partitions[room:]
			it.partitions = it.partitions[:room]
		} else {
			b.queue = b.queue[1:]
		}
		room -= len(it.partitions)
		items = append(items, it)
	}
	if len(b.queue) == 0 {
		b.queue = nil
	}
	return items
}

// body is the request that holds the items. Its version is the connection's choice:
// one that cannot say the version of transactions says nothing of it.
func body(items []item) *kmsg.WriteTxnMarkersRequest {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = 2
	for _, it := range items {
		m := &it.job.Markers
		rm := kmsg.NewWriteTxnMarkersRequestMarker()
		rm.ProducerID, rm.ProducerEpoch, rm.Committed = m.ProducerID, m.Epoch, m.Commit
		rm.CoordinatorEpoch, rm.TransactionVersion = it.job.Epoch, int8(m.Version)
		for _, p := range it.partitions { // Those of a topic stand together.
			if n := len(rm.Topics); n == 0 || rm.Topics[n-1].Topic != p.topic {
				rt := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
				rt.Topic = p.topic
				rm.Topics = append(rm.Topics, rt)
			}
			rt := &rm.Topics[len(rm.Topics)-1]
			rt.Partitions = append(rt.Partitions, p.n)
		}
		req.Markers = append(req.Markers, rm)
	}
	return req
}
