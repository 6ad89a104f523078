package controller

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// maxRecords is how many records one request of a client may make. Kafka's bound,
// which keeps a batch below 8 MiB.
const maxRecords = 10_000

// Shard is the active controller. It implements coordinator.Shard and
// coordinator.Publisher; the runtime is its only caller.
//
// Hard state is the embedded journal, which only Replay changes. Soft state is who
// was heard of when, and which images wait for their commit.
type Shard struct {
	*journal
	cfg      Config
	sessions map[int32]*session // By broker.
	joining  map[int32]joining  // By broker.

	waiting   []pending // Images not committed, in the order of offsets.
	marked    int64     // The end that the newest image was made at.
	published int64     // The offset of the last image published; -1.
}

var (
	_ coordinator.Shard     = (*Shard)(nil)
	_ coordinator.Publisher = (*Shard)(nil)
)

// pending is an image that waits until its offset is committed.
type pending struct {
	end     int64
	state   state
	changes *changes
}

// New returns the controller of an empty log.
func New(cfg Config) *Shard {
	cfg = cfg.withDefaults()
	return &Shard{
		journal:   newJournal(cfg.Supported),
		cfg:       cfg,
		sessions:  map[int32]*session{},
		joining:   map[int32]joining{},
		published: -1,
	}
}

// step is one call of Step or Fired: what it may know, and the timers it sets.
type step struct {
	coordinator.Moment
	describable func(topic string) bool
	local       bool
	timers      []coordinator.Timer
}

func (st *step) timer(key any, at time.Time) {
	st.timers = append(st.timers, coordinator.Timer{Key: key, At: at})
}

// Step implements coordinator.Shard. in is a Request.
func (s *Shard) Step(m coordinator.Moment, t coordinator.Ticket, in any) coordinator.Effects {
	s.mark()
	req, ok := in.(Request)
	if !ok {
		panic(fmt.Sprintf("BUG: the controller is asked a %T", in))
	}
	if s.level == 0 {
		// The log has no first records yet: they were refused, and are due again.
		return coordinator.Effects{Replies: []coordinator.Reply{{To: t, Err: coordinator.ErrLoading}}}
	}
	st := &step{Moment: m, describable: req.Describable, local: req.Local}
	var recs []metadata.Record
	var replies []coordinator.Reply
	if r, ok := req.Body.(*kmsg.BrokerRegistrationRequest); ok {
		recs, replies = s.join(st, joining{t, r, req.Local})
	} else {
		var resp kmsg.Response
		recs, resp = s.handle(st, req.Body)
		replies = []coordinator.Reply{{To: t, Body: resp}}
	}
	eff := s.effects(st, recs)
	eff.Replies = replies
	return eff
}

// handle answers one request; the records are what makes the answer true.
func (s *Shard) handle(st *step, body kmsg.Request) ([]metadata.Record, kmsg.Response) {
	switch req := body.(type) {
	case *kmsg.CreateTopicsRequest:
		return answer(s.createTopics(st, req))
	case *kmsg.DeleteTopicsRequest:
		return answer(s.deleteTopics(st, req))
	case *kmsg.CreatePartitionsRequest:
		return answer(s.createPartitions(st, req))
	case *kmsg.AlterConfigsRequest:
		return answer(s.alterConfigs(st, req))
	case *kmsg.IncrementalAlterConfigsRequest:
		return answer(s.incrementalAlterConfigs(st, req))
	case *kmsg.UpdateFeaturesRequest:
		return answer(s.updateFeatures(st, req))
	case *kmsg.ElectLeadersRequest:
		return answer(s.electLeaders(st, req))
	case *kmsg.AlterPartitionAssignmentsRequest:
		return answer(s.reassign(st, req))
	case *kmsg.ListPartitionReassignmentsRequest:
		return answer(s.listReassignments(st, req))
	}
	return s.handleNode(st, body)
}

// handleNode answers what brokers and controllers ask, and what is asked about
// them.
func (s *Shard) handleNode(st *step, body kmsg.Request) ([]metadata.Record, kmsg.Response) {
	switch req := body.(type) {
	case *kmsg.BrokerHeartbeatRequest:
		return answer(s.heartbeat(st, req))
	case *kmsg.UnregisterBrokerRequest:
		return answer(s.unregisterBroker(st, req))
	case *kmsg.ControllerRegistrationRequest:
		return answer(s.registerController(st, req))
	case *kmsg.AllocateProducerIDsRequest:
		return answer(s.allocateProducerIDs(st, req))
	case *kmsg.AlterPartitionRequest:
		return answer(s.alterPartition(st, req))
	case *kmsg.AssignReplicasToDirsRequest:
		return answer(s.assignDirs(st, req))
	}
	panic(fmt.Sprintf("BUG: the controller does not serve %T", body))
}

// answer forgets the type of a response.
func answer[R kmsg.Response](recs []metadata.Record, resp R) ([]metadata.Record, kmsg.Response) {
	return recs, resp
}

// effects encodes what a step decided.
func (s *Shard) effects(st *step, recs []metadata.Record) coordinator.Effects {
	eff := coordinator.Effects{Timers: st.timers}
	for _, r := range recs {
		eff.Records = append(eff.Records, coordinator.Record{Value: metadata.Encode(r, s.level.VersionOf(r))})
	}
	return eff
}

// Refused implements coordinator.Shard.
func (s *Shard) Refused(m coordinator.Moment, t coordinator.Ticket, in any, err error) coordinator.Effects {
	if t == 0 {
		if in == nil {
			in = activateKey{} // The first records, from Loaded.
		}
		// What was due stays due.
		return coordinator.Effects{Timers: []coordinator.Timer{{Key: in, At: m.Now.Add(time.Second)}}}
	}
	if req, ok := in.(Request).Body.(*kmsg.BrokerRegistrationRequest); ok {
		delete(s.joining, req.BrokerID)
	}
	return coordinator.Effects{Replies: []coordinator.Reply{{To: t, Err: err}}}
}

// The timers; a broker's session is one too (broker.go).
type (
	activateKey struct{} // The first records could not be written.
	balanceKey  struct{}
	uncleanKey  struct{}
)

// Fired implements coordinator.Shard.
func (s *Shard) Fired(m coordinator.Moment, key any) coordinator.Effects {
	s.mark()
	st := &step{Moment: m}
	var recs []metadata.Record
	var replies []coordinator.Reply
	switch key := key.(type) {
	case sessionKey:
		recs = s.sessionDue(st, key)
	case activateKey:
		recs = s.activation()
	case leadKey:
		recs = s.electRest(st)
	case joinKey:
		if j, ok := s.joining[key.id]; ok {
			recs, replies = s.join(st, j)
		}
	case balanceKey:
		st.timer(key, m.Now.Add(s.cfg.BalanceInterval))
		recs = s.balance()
	case uncleanKey:
		st.timer(key, m.Now.Add(s.cfg.UncleanInterval))
		recs = s.electUncleanLeaders()
	default:
		panic(fmt.Sprintf("BUG: the controller has no timer %T", key))
	}
	eff := s.effects(st, recs)
	eff.Replies = replies
	return eff
}

// Replay implements coordinator.Shard.
func (s *Shard) Replay(at coordinator.At, r coordinator.Record) error {
	return s.replay(at.Offset, r.Value)
}

// ReplayMarker implements coordinator.Shard: the metadata log has no producers.
func (s *Shard) ReplayMarker(int64, int16, bool) {}

// Loaded implements coordinator.Shard. An empty log gets its first records here,
// before any request. Every broker gets a full session: the time that passed
// without a controller is not its fault.
func (s *Shard) Loaded(m coordinator.Moment) coordinator.Effects {
	st := &step{Moment: m}
	for b := range values(s.brokers) {
		if !b.Fenced {
			s.session(b).contact = m.Now
			st.timer(sessionKey{b.ID}, m.Now.Add(s.cfg.SessionTimeout))
		}
	}
	if s.cfg.BalanceInterval > 0 {
		st.timer(balanceKey{}, m.Now.Add(s.cfg.BalanceInterval))
	}
	if s.cfg.UncleanInterval > 0 {
		st.timer(uncleanKey{}, m.Now.Add(s.cfg.UncleanInterval))
	}
	return s.effects(st, s.activation())
}

// mark keeps the state as it is as an image to be published, unless nothing
// changed or a metadata transaction is open. It is called before each step, so
// that each batch of the log gets an image of its own.
func (s *Shard) mark() {
	if s.end == s.marked || s.before != nil {
		return
	}
	s.waiting = append(s.waiting, pending{s.end, s.journal.copy(), s.changes})
	s.changes = newChanges()
	s.marked = s.end
}

// Published implements coordinator.Publisher.
func (s *Shard) Published(committed int64) {
	s.mark()
	n := 0
	for n < len(s.waiting) && s.waiting[n].end <= committed {
		n++
	}
	if n == 0 {
		return
	}
	// Of those that are committed by now, one image is enough: the newest.
	newest := s.waiting[n-1]
	all := s.waiting[0].changes
	for _, p := range s.waiting[1:n] {
		if all != nil {
			all.merge(p.changes)
		}
	}
	clear(s.waiting[:n])
	s.waiting = s.waiting[n:]
	offset := newest.end
	if len(s.waiting) == 0 {
		offset = committed // What is between them is not for this shard: control records.
	}
	im := s.image(offset, newest.state)
	im.delta = all.delta(s.published, &im.state)
	s.published = im.Offset
	s.cfg.Publish(im)
}

func (s *Shard) image(offset int64, st state) *Image {
	id, epoch := s.cfg.Leader()
	return &Image{Offset: offset, Epoch: epoch, ClusterID: s.cfg.ClusterID, controller: id, state: st}
}

// Image returns the state as it is, committed or not, as the image of an offset.
// It takes no time that depends on the cluster's size, and its delta is Full.
func (s *Shard) Image(offset int64, epoch int32) *Image {
	im := s.image(offset, s.journal.copy())
	im.Epoch = epoch
	im.delta = &Delta{Since: -1, Full: true}
	return im
}
