// Package producer knows what the producers of one partition have written: which
// batch each idempotent producer may send next, which transactions are open, and
// where the last stable offset is held.
//
// A State is fed with the headers of batches, in the order of the log. Check asks
// whether a batch may be appended; Apply, after the append, and in recovery
// without any check, takes it in. It is a deterministic state machine: it reads no
// clock and no file. Begin with state.go, then check.go for the rules, snapshot.go
// for the file that saves a replay of the whole log, and aborted.go for the
// entries of the transaction index.
//
// The rules are Kafka's ProducerStateManager and ProducerAppendInfo (KIP-98,
// KIP-360, KIP-890), sharp edges included, for clients rely on those too: the
// window is five batches, a duplicate must match one of them exactly, and a
// snapshot keeps only the last.
//
// A transaction begins only with a proof that its coordinator knows of it
// (guard.go): one that it does not know would never end.
//
// Not here: the files themselves and when they are written (logstore), error codes
// and asking the coordinator (the broker's API layer).
package producer

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// windowBatches is how many batches of a producer are remembered to recognise
// duplicates. Clients keep at most five requests in flight for this reason.
const windowBatches = 5

// State is the producers of one partition.
//
// All methods are for the partition's owner only, one at a time.
//
// Invariants, checked by check in tests:
//
//	an entry has an open transaction exactly if ongoing has it
//	ongoing and unreplicated are ordered by first offset
//	every offset in it is below mapEnd
type State struct {
	expiry    time.Duration
	producers map[int64]*entry // Nil while there are none: most partitions.

	ongoing      []txn // Open transactions, by first offset.
	unreplicated []txn // Decided, but the marker is not yet below the high watermark.

	mapEnd int64

	verifying map[int64]*verification // By producer id.
	lastGuard Guard                   // The last one that was made.
}

// entry is one producer. It holds no pointer, and 144 bytes: there may be very
// many, since every restart of a client makes a new one.
type entry struct {
	timestampMs      int64
	txnFirst         int64 // The first offset of the open transaction, or -1.
	coordinatorEpoch int32 // Of the last marker, or -1.
	epoch            int16
	n                int8 // How many of window are used, oldest first.
	window           [windowBatches]appended
}

// appended is one batch in a producer's window.
type appended struct {
	lastOffset  int64
	timestampMs int64
	lastSeq     int32
	offsetDelta int32 // The last offset minus the first.
}

func (a appended) firstSeq() int32    { return (a.lastSeq - a.offsetDelta) & math.MaxInt32 }
func (a appended) firstOffset() int64 { return a.lastOffset - int64(a.offsetDelta) }

// txn is one transaction; last is its marker's offset, once it is decided.
type txn struct {
	first, last int64
	producerID  int64
}

func byFirst(a, b txn) int { return cmp.Compare(a.first, b.first) }

// Txn is a transaction that a marker has just completed in this partition.
type Txn struct {
	ProducerID int64
	First      int64 // The offset of its first batch here.
	Last       int64 // The offset of its marker.
	Aborted    bool
	// LastStable is the last stable offset once this transaction is done and
	// replicated: what its entry in the transaction index says.
	LastStable int64
}

// Entry describes one producer, as a snapshot file and DescribeProducers do.
type Entry struct {
	ProducerID       int64
	Epoch            int16
	LastSequence     int32 // Of its last data batch, or -1.
	LastOffset       int64 // Of its last data batch, or -1 if only a marker is known.
	OffsetDelta      int32 // From the first to the last offset of that batch.
	TimestampMs      int64 // Of its last batch or marker.
	CoordinatorEpoch int32 // Of its last marker, or -1.
	TxnFirst         int64 // The first offset of its open transaction, or -1.
}

// Marker is the content of the control batch that ends a transaction.
type Marker struct {
	Abort            bool
	CoordinatorEpoch int32
}

// New makes the state of an empty partition. Expiry is how long a producer is
// remembered after its last batch: Kafka's producer.id.expiration.ms, 24 hours.
func New(expiry time.Duration) *State { return &State{expiry: expiry} }

// SetExpiry changes for how long producers are remembered.
func (s *State) SetExpiry(expiry time.Duration) { s.expiry = expiry }

// MapEnd is the offset up to which batches have been applied, exclusive: the
// number in the name of a snapshot taken now.
func (s *State) MapEnd() int64 { return s.mapEnd }

// SetMapEnd moves MapEnd forward over batches that need not be applied because
// they have no producer id.
func (s *State) SetMapEnd(offset int64) { s.mapEnd = max(s.mapEnd, offset) }

// Len is how many producers are remembered.
func (s *State) Len() int { return len(s.producers) }

// Apply takes in a batch that has been appended; its offsets are stamped. For a
// control batch the marker says what is in it; nil stands for one that compaction
// has emptied, and for control batches that end no transaction. It returns the
// transaction that the batch completed here, if any.
//
// Nothing is checked: in recovery and on a follower the log is right.
func (s *State) Apply(h batch.Batch, m *Marker) (completed *Txn) {
	s.mapEnd = max(s.mapEnd, h.NextOffset())
	switch {
	case h.ProducerID() < 0:
		return nil
	case !h.Control():
		s.applyData(h)
		return nil
	case m != nil:
		return s.applyMarker(h, *m)
	}
	return nil
}

func (s *State) applyData(h batch.Batch) {
	if h.Transactional() {
		delete(s.verifying, h.ProducerID())
	}
	e := s.entryOf(h.ProducerID())
	e.setEpoch(h.ProducerEpoch())
	e.timestampMs = h.MaxTimestamp()
	e.remember(appended{
		lastOffset:  h.LastOffset(),
		timestampMs: h.MaxTimestamp(),
		lastSeq:     h.LastSequence(),
		offsetDelta: h.LastOffsetDelta(),
	})
	if h.Transactional() && e.txnFirst < 0 {
		e.txnFirst = h.BaseOffset()
		s.begin(txn{first: e.txnFirst, last: -1, producerID: h.ProducerID()})
	}
}

// applyMarker ends the producer's transaction, if one is open. Without one the
// marker still counts: its epochs fence zombies.
func (s *State) applyMarker(h batch.Batch, m Marker) (completed *Txn) {
	s.endVerification(h)
	e := s.entryOf(h.ProducerID())
	if e.txnFirst >= 0 {
		completed = &Txn{ProducerID: h.ProducerID(), First: e.txnFirst, Last: h.BaseOffset(), Aborted: m.Abort}
		s.complete(completed)
	}
	e.setEpoch(h.ProducerEpoch())
	e.coordinatorEpoch = m.CoordinatorEpoch
	e.timestampMs = h.MaxTimestamp()
	e.txnFirst = -1
	return completed
}

// entryOf returns the producer's entry, a new one if it is unknown.
func (s *State) entryOf(producerID int64) *entry {
	if e, ok := s.producers[producerID]; ok {
		return e
	}
	if s.producers == nil {
		s.producers = make(map[int64]*entry)
	}
	e := &entry{epoch: batch.NoProducerEpoch, coordinatorEpoch: -1, timestampMs: batch.NoTimestamp, txnFirst: -1}
	s.producers[producerID] = e
	return e
}

// setEpoch forgets the window when the epoch changes: sequences start again.
func (e *entry) setEpoch(epoch int16) {
	if e.epoch != epoch {
		e.epoch, e.n = epoch, 0
	}
}

func (e *entry) remember(a appended) {
	if e.n == windowBatches {
		copy(e.window[:], e.window[1:])
		e.n--
	}
	e.window[e.n] = a
	e.n++
}

// last returns the newest batch of the producer in its epoch.
func (e *entry) last() (appended, bool) {
	if e.n == 0 {
		return appended{}, false
	}
	return e.window[e.n-1], true
}

// begin adds an open transaction. In a log they come in order; only loading a
// snapshot does not.
func (s *State) begin(t txn) {
	i, _ := slices.BinarySearchFunc(s.ongoing, t, byFirst)
	s.ongoing = slices.Insert(s.ongoing, i, t)
}

// complete moves a transaction from the open to the decided ones.
func (s *State) complete(done *Txn) {
	mine := func(t txn) bool { return t.producerID == done.ProducerID }
	i := slices.IndexFunc(s.ongoing, mine)
	if i < 0 {
		panic(fmt.Sprintf("BUG: producer %d ends a transaction from offset %d that is not open", done.ProducerID, done.First))
	}
	t := s.ongoing[i]
	s.ongoing = slices.Delete(s.ongoing, i, i+1)
	t.last = done.Last
	i, _ = slices.BinarySearchFunc(s.unreplicated, t, byFirst)
	s.unreplicated = slices.Insert(s.unreplicated, i, t)

	done.LastStable = done.Last + 1
	if len(s.ongoing) > 0 {
		done.LastStable = s.ongoing[0].first
	}
}

// FirstUnstable is the first offset that a reader of committed data may not see
// yet, and false if every transaction is decided and replicated. A transaction
// that is decided still counts until its marker lies below the high watermark.
// The last stable offset is the smaller of this and the high watermark, and not
// below the log's start, which DeleteRecords may have moved past it.
func (s *State) FirstUnstable() (int64, bool) {
	switch {
	case len(s.ongoing) == 0 && len(s.unreplicated) == 0:
		return 0, false
	case len(s.unreplicated) == 0:
		return s.ongoing[0].first, true
	case len(s.ongoing) == 0:
		return s.unreplicated[0].first, true
	}
	return min(s.ongoing[0].first, s.unreplicated[0].first), true
}

// OnHighWatermark forgets decided transactions whose markers are replicated.
func (s *State) OnHighWatermark(hw int64) {
	s.unreplicated = slices.DeleteFunc(s.unreplicated, func(t txn) bool { return t.last < hw })
}

// AdvanceStart is to be called when records below start are deleted. Producers are
// kept, for their epochs and sequences are still what fences and orders them.
func (s *State) AdvanceStart(start int64) {
	s.OnHighWatermark(start)
	s.SetMapEnd(start)
}

// Expire forgets producers without an open transaction that have written nothing
// for the expiry time, by the timestamps of their batches, and says how many.
func (s *State) Expire(nowMs int64) (expired int) {
	for id, e := range s.producers {
		if s.expired(e.txnFirst, e.timestampMs, nowMs) {
			delete(s.producers, id)
			expired++
		}
	}
	for id, v := range s.verifying {
		if nowMs-v.timestampMs >= s.expiry.Milliseconds() {
			delete(s.verifying, id)
		}
	}
	switch { // A map does not shrink by itself, and a wave of producers may have come and gone.
	case len(s.producers) == 0:
		s.producers = nil
	case expired > 3*len(s.producers):
		s.producers = maps.Clone(s.producers)
	}
	return expired
}

func (s *State) expired(txnFirst, timestampMs, nowMs int64) bool {
	return txnFirst < 0 && nowMs-timestampMs >= s.expiry.Milliseconds()
}

// Entry describes one producer, if it is known.
func (s *State) Entry(producerID int64) (Entry, bool) {
	e, ok := s.producers[producerID]
	if !ok {
		return Entry{}, false
	}
	return e.describe(producerID), true
}

// Entries describes all producers, sorted by id.
func (s *State) Entries() []Entry {
	list := make([]Entry, 0, len(s.producers))
	for id, e := range s.producers {
		list = append(list, e.describe(id))
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	return list
}

func (e *entry) describe(producerID int64) Entry {
	d := Entry{
		ProducerID:       producerID,
		Epoch:            e.epoch,
		LastSequence:     batch.NoSequence,
		LastOffset:       -1,
		TimestampMs:      e.timestampMs,
		CoordinatorEpoch: e.coordinatorEpoch,
		TxnFirst:         e.txnFirst,
	}
	if last, ok := e.last(); ok {
		d.LastSequence, d.LastOffset, d.OffsetDelta = last.lastSeq, last.lastOffset, last.offsetDelta
	}
	return d
}

// Reset forgets everything; batches from end on will follow. It is for a log that
// is emptied, and for one that is cut: then load a snapshot at or below the cut,
// and apply the batches from there.
func (s *State) Reset(end int64) {
	// Guards go on: one that was given before must not fit what is verified later.
	*s = State{expiry: s.expiry, mapEnd: end, lastGuard: s.lastGuard}
}

// Load replaces everything by the entries of a snapshot whose name is end.
// Producers that have expired by nowMs are left out, as Kafka does, so that a
// broker that was long away does not bring them back.
func (s *State) Load(entries []Entry, end, nowMs int64) {
	s.Reset(end)
	for _, d := range entries {
		if s.expired(d.TxnFirst, d.TimestampMs, nowMs) {
			continue
		}
		e := s.entryOf(d.ProducerID)
		e.epoch, e.timestampMs, e.coordinatorEpoch = d.Epoch, d.TimestampMs, d.CoordinatorEpoch
		if d.LastOffset >= 0 {
			e.remember(appended{d.LastOffset, d.TimestampMs, d.LastSequence, d.OffsetDelta})
		}
		if e.txnFirst = d.TxnFirst; e.txnFirst >= 0 {
			s.begin(txn{first: e.txnFirst, last: -1, producerID: d.ProducerID})
		}
	}
}
