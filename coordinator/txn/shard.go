package txn

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// Request is one client's request to a shard. The reply is the response that
// belongs to it, in the request's version.
type Request struct {
	// Body is one of InitProducerID (with a transactional id), EndTxn and
	// DescribeTransactions, all of whose ids belong to this shard. It is the shard's
	// from now on.
	Body kmsg.Request
}

// Add asks to put partitions into a transaction, or with VerifyOnly whether they
// are in it. The reply is a *kmsg.AddPartitionsToTxnResponseTransaction, with the
// codes of AddPartitionsToTxn version 2 and later.
type Add struct {
	kmsg.AddPartitionsToTxnRequestTransaction
	// ClientVersion is the version of transactions that the producer follows: 0 if
	// it adds partitions itself (AddPartitionsToTxn up to version 3,
	// AddOffsetsToTxn), 2 if their leader does so for it (version 4 and later).
	ClientVersion int16
}

// Written says that all the Markers of a transaction are written, or will never
// have to be. The reply is nil. It may come late, twice, or from another election.
type Written struct {
	TransactionalID string
	ProducerID      int64
	Epoch           int16
}

// ProducerIDs brings Count producer ids beginning with First, as
// WantProducerIDs asked; none if they could not be had. The reply is nil.
type ProducerIDs struct {
	First int64
	Count int32
}

// Markers is sent by a shard that owes them: the outcome of a transaction, to be
// written to every partition of it. Whoever takes it answers with Written.
type Markers struct {
	TransactionalID string
	ProducerID      int64
	Epoch           int16
	Commit          bool
	// Version is that of transactions, for WriteTxnMarkers: from 2 on a partition
	// insists that the marker's epoch is higher than the transaction's.
	Version int16
	Topics  []Topic
}

// WantProducerIDs is sent by a shard that has run out of producer ids. Whoever
// takes it answers with ProducerIDs; the shard asks only once at a time.
type WantProducerIDs struct {
	Count int32
}

// Shard is the state machine of the transactional ids in one partition of
// __transaction_state. It implements coordinator.Shard, whose rules of calling
// hold.
//
// Invariants, checked by check after every step in tests:
//
//	ongoing names the ids whose status is Ongoing
//	only a preparing or ongoing transaction has partitions
//	only a preparing transaction has a next producer id
//	who waits for producer ids has asked for them
type Shard struct {
	cfg     Config
	ids     map[string]*entry
	ongoing map[string]struct{}

	// Producer ids in stock: [nextID, endID), and who waits for more.
	nextID, endID int64
	waiting       []question
	flags         flags

	// One step's scratch. staged holds what it has decided and not yet written; nil
	// is an id to be forgotten. asked is who is to be answered by it.
	now    time.Time
	eff    coordinator.Effects
	staged map[string]*entry
	asked  []question
	before flags
}

// flags say what is under way. They are set back when a step is refused.
type flags struct {
	scanning bool // The timer that looks for timeouts is set.
	wanting  bool // Producer ids were asked for.
	starved  bool // A timed-out transaction waits for one.
}

// question is an input that somebody waits for.
type question struct {
	ticket coordinator.Ticket
	in     any
}

// New returns a shard without transactional ids.
func New(cfg Config) *Shard {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Version == nil {
		cfg.Version = DefaultConfig().Version
	}
	return &Shard{
		cfg:     cfg,
		ids:     make(map[string]*entry),
		ongoing: make(map[string]struct{}),
		staged:  make(map[string]*entry),
	}
}

// Step implements coordinator.Shard. in is a Request, Add, List,
// Written or ProducerIDs.
func (s *Shard) Step(m coordinator.Moment, t coordinator.Ticket, in any) coordinator.Effects {
	s.begin(m)
	switch in := in.(type) {
	case Written:
		s.markersWritten(in)
		s.reply(t, nil)
	case ProducerIDs:
		s.refill(in)
		s.reply(t, nil)
	default:
		s.ask(question{t, in})
	}
	return s.eff
}

// ask decides what somebody waits for.
func (s *Shard) ask(q question) {
	s.asked = append(s.asked, q)
	switch in := q.in.(type) {
	case Add:
		s.add(q.ticket, in)
	case List:
		s.list(q.ticket, in.Filter)
	case Request:
		switch req := in.Body.(type) {
		case *kmsg.InitProducerIDRequest:
			s.initProducerID(q, req)
		case *kmsg.EndTxnRequest:
			s.endTxn(q, req)
		case *kmsg.DescribeTransactionsRequest:
			s.describe(q.ticket, req)
		default:
			panic(fmt.Sprintf("BUG: transaction shard was given a request %T", req))
		}
	default:
		panic(fmt.Sprintf("BUG: transaction shard was given a %T", in))
	}
}

// Refused implements coordinator.Shard: all that the step had decided is void, and
// everybody who asked in it gets an error.
func (s *Shard) Refused(m coordinator.Moment, t coordinator.Ticket, in any, err error) coordinator.Effects {
	asked := s.asked
	s.flags = s.before
	s.begin(m)
	for _, q := range asked {
		if !slices.ContainsFunc(s.waiting, func(w question) bool { return w.ticket == q.ticket }) {
			s.refuse(q, appendCode(err))
		}
	}
	switch in := in.(type) {
	case Written:
		s.retryCompletion(in.TransactionalID)
		s.reply(t, nil)
	case ProducerIDs:
		s.flags.wanting = false
		if len(s.waiting) > 0 {
			s.want()
		}
		s.reply(t, nil)
	case timerKey:
		switch in.kind {
		case completeTimer:
			s.retryCompletion(in.id)
		case scanTimer:
			s.flags.scanning = false
			s.startScanning()
		case expireTimer:
			s.setTimer(timerKey{kind: expireTimer}, s.cfg.IDExpirationInterval)
		}
	}
	s.cfg.Logger.Warn("record of a transaction was refused by the log", slog.Any("err", err))
	return s.eff
}

// timerKind says what a timer is for.
type timerKind int8

const (
	scanTimer     timerKind = iota // Look for transactions that took too long.
	expireTimer                    // Look for ids that nobody uses.
	completeTimer                  // Try again to write that a transaction is complete.
)

// timerKey is the key of a shard's timers. id is for completeTimer.
type timerKey struct {
	kind timerKind
	id   string
}

// String is for scripts.
func (k timerKey) String() string {
	switch k.kind {
	case scanTimer:
		return "scan"
	case expireTimer:
		return "expire"
	}
	return "complete/" + k.id
}

// Fired implements coordinator.Shard.
func (s *Shard) Fired(m coordinator.Moment, key any) coordinator.Effects {
	s.begin(m)
	switch k := key.(timerKey); k.kind {
	case scanTimer:
		s.flags.scanning = false
		s.scan()
	case expireTimer:
		s.expire()
	case completeTimer:
		if e := s.ids[k.id]; e != nil && e.preparing() && e.written {
			s.complete(e)
		}
	}
	return s.eff
}

// Loaded implements coordinator.Shard: it sends again all markers that are owed,
// for nobody knows which of them the last coordinator got written.
func (s *Shard) Loaded(m coordinator.Moment) coordinator.Effects {
	s.begin(m)
	for _, id := range slices.Sorted(maps.Keys(s.ids)) {
		if e := s.ids[id]; e.preparing() {
			s.eff.Sends = append(s.eff.Sends, e.markers())
		}
	}
	if len(s.ongoing) > 0 {
		s.startScanning()
	}
	s.setTimer(timerKey{kind: expireTimer}, s.cfg.IDExpirationInterval)
	return s.eff
}

func (s *Shard) begin(m coordinator.Moment) {
	s.now = m.Now
	s.eff, s.asked, s.before = coordinator.Effects{}, nil, s.flags
	clear(s.staged)
}

func (s *Shard) nowMs() int64 { return s.now.UnixMilli() }

// get is the entry of an id as this step sees it, nil if there is none.
func (s *Shard) get(id string) *entry {
	if e, ok := s.staged[id]; ok {
		return e
	}
	return s.ids[id]
}

// write makes e the newest of its id, once its record is in the log.
func (s *Shard) write(e *entry) {
	mustFollow(s.get(e.id), e.transaction)
	s.staged[e.id] = e
	s.eff.Records = append(s.eff.Records, e.record(s.cfg.Version()))
}

// reply answers a ticket with a response, or nil.
func (s *Shard) reply(t coordinator.Ticket, body any) {
	s.eff.Replies = append(s.eff.Replies, coordinator.Reply{To: t, Body: body})
}

func (s *Shard) setTimer(key timerKey, d time.Duration) {
	s.eff.Timers = append(s.eff.Timers, coordinator.Timer{Key: key, At: s.now.Add(d)})
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }
