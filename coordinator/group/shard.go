package group

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// Request is one client's request to the groups of a shard. The reply is the
// response that belongs to it, in the request's version.
type Request struct {
	// ClientID is that of the request header; it begins the member ids that are
	// made for the client.
	ClientID string
	// ClientHost is shown by DescribeGroups. Kafka writes it as /10.0.0.1.
	ClientHost string
	// Guard is for TxnOffsetCommit: see coordinator.Within.
	Guard uint64
	// Cluster is the image of the cluster that the request is answered from; nil: the
	// last one.
	Cluster Cluster
	// Visible says which topics the principal may know of; nil: all.
	Visible func(topic string) bool
	// Body is one of ConsumerGroupHeartbeat, ConsumerGroupDescribe, JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit,
	// TxnOffsetCommit, OffsetFetch (one group), OffsetDelete, DescribeGroups, ListGroups and
	// DeleteGroups, all of whose groups belong to this shard. It is the shard's from
	// now on.
	Body kmsg.Request
}

// TopicsDeleted says that topics are gone, and their committed offsets with them.
// The reply is nil.
type TopicsDeleted struct {
	Names []string
	// IDs, if not nil, holds the id of each topic of Names. Offsets that were
	// committed for another id stay.
	IDs [][16]byte
}

// Shard is the state machine of the groups in one partition of
// __consumer_offsets. It implements coordinator.Shard, whose rules of calling
// hold.
//
// Invariants, checked by check after every step in tests:
//
//	a group that has a record, an offset or an open transaction is in groups
//	a stable group with a record is what the record says
//	pending and the groups' open partitions name the same transactions
type Shard struct {
	cfg    Config
	loaded bool
	groups map[string]*group
	// pending holds the offsets of open transactions by producer id. Hard state.
	pending map[int64]map[offsetKey]committed
	cleanup cleanup
	skipped map[uint16]bool // Record types that were passed over.
	// replayed counts the records and markers since the load began.
	replayed int64
	cluster  Cluster // The newest that came with a request.

	// One step's scratch. undo says what a refused append means beyond an error to
	// who asked; nil: nothing.
	now     time.Time
	rand    interface{ Uint64() uint64 }
	eff     coordinator.Effects
	written int // Bytes of the keys of eff.Records.
	undo    func(code int16, err error)
	kept    coordinator.Effects // Those of the last step.
}

// offsetKey names a committed offset within a shard.
type offsetKey struct {
	group, topic string
	partition    int32
}

// New returns a shard without groups.
func New(cfg Config) *Shard {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Shard{
		cfg:     cfg,
		cluster: nothing{},
		groups:  make(map[string]*group),
		pending: make(map[int64]map[offsetKey]committed),
	}
}

// Step implements coordinator.Shard. in is a Request, TopicsDeleted or Resolved.
func (s *Shard) Step(m coordinator.Moment, t coordinator.Ticket, in any) coordinator.Effects {
	s.begin(m)
	switch in := in.(type) {
	case Request:
		s.request(t, in)
	case TopicsDeleted:
		s.topicsDeleted(t, in)
	case Resolved:
		s.resolved(t, in)
	default:
		panic(fmt.Sprintf("BUG: group shard was given a %T", in))
	}
	return s.end()
}

func (s *Shard) request(t coordinator.Ticket, rq Request) {
	s.see(rq.Cluster)
	switch req := rq.Body.(type) {
	case *kmsg.ConsumerGroupHeartbeatRequest:
		s.consumerBeat(t, rq, req)
	case *kmsg.ConsumerGroupDescribeRequest:
		s.describeConsumers(t, req)
	case *kmsg.JoinGroupRequest:
		s.join(t, rq, req)
	case *kmsg.SyncGroupRequest:
		s.sync(t, req)
	case *kmsg.HeartbeatRequest:
		s.heartbeat(t, req)
	case *kmsg.LeaveGroupRequest:
		s.leave(t, req)
	case *kmsg.OffsetCommitRequest:
		s.commit(t, req)
	case *kmsg.TxnOffsetCommitRequest:
		s.txnCommit(t, rq.Guard, req)
	case *kmsg.OffsetFetchRequest:
		s.fetch(t, req)
	case *kmsg.OffsetDeleteRequest:
		s.deleteOffsets(t, req)
	case *kmsg.DescribeGroupsRequest:
		s.describe(t, req)
	case *kmsg.ListGroupsRequest:
		s.list(t, req)
	case *kmsg.DeleteGroupsRequest:
		s.deleteGroups(t, req)
	default:
		panic(fmt.Sprintf("BUG: group shard was given a request %T", req))
	}
}

// Refused implements coordinator.Shard. What a step did to soft state stands,
// unless the step said how to take it back; who asked gets an error.
func (s *Shard) Refused(m coordinator.Moment, t coordinator.Ticket, in any, err error) coordinator.Effects {
	undo, kept := s.undo, s.kept
	s.begin(m)
	if undo != nil {
		undo(appendCode(err), err)
	} else {
		s.eff.Timers = kept.Timers
		for _, r := range kept.Replies {
			if r.To != t {
				s.eff.Replies = append(s.eff.Replies, r)
			}
		}
	}
	if t != 0 && !s.answered(t) {
		s.replyRefused(t, in, err)
	}
	// The runtime counts these; while the ISR is short there is one per commit.
	s.cfg.Logger.Debug("group records were refused by the log", slog.Any("err", err))
	return s.end()
}

func (s *Shard) answered(t coordinator.Ticket) bool {
	return slices.ContainsFunc(s.eff.Replies, func(r coordinator.Reply) bool { return r.To == t })
}

// timerKind says what a timer is for.
type timerKind int8

const (
	sessionTimer timerKind = iota // A member was not heard of.
	joinTimer                     // A rebalance has waited long enough.
	syncTimer                     // So has the assignment.
	cleanupTimer                  // Look for expired offsets.
	topicsTimer                   // Go on with deleted topics.
	revokeTimer                   // A member has not given up its partitions.
)

// timerKey is the key of a shard's timers. group is empty for those that are the
// shard's own, member for those that are a group's: joinTimer and syncTimer are a
// classic group's, but a member's where it is in a group of consumers.
type timerKey struct {
	kind          timerKind
	group, member string
}

// String is for scripts.
func (k timerKey) String() string {
	switch k.kind {
	case sessionTimer:
		return "session/" + k.group + "/" + k.member
	case joinTimer:
		return strings.TrimSuffix("join/"+k.group+"/"+k.member, "/")
	case syncTimer:
		return strings.TrimSuffix("sync/"+k.group+"/"+k.member, "/")
	case topicsTimer:
		return "topics"
	case revokeTimer:
		return "revoke/" + k.group + "/" + k.member
	}
	return "cleanup"
}

// Fired implements coordinator.Shard.
func (s *Shard) Fired(m coordinator.Moment, key any) coordinator.Effects {
	s.begin(m)
	k := key.(timerKey)
	g := s.groups[k.group]
	switch {
	case k.kind == cleanupTimer:
		s.clean()
	case k.kind == topicsTimer:
		s.cleanTopics()
	case g == nil: // It was deleted meanwhile.
	case g.consumers != nil:
		s.consumerTimer(g, k)
	case k.kind == sessionTimer:
		s.sessionExpired(g, k.member)
	case k.kind == joinTimer:
		s.joinExpired(g)
	case k.kind == syncTimer:
		s.syncExpired(g)
	}
	return s.end()
}

// Loaded implements coordinator.Shard: every member gets a full session, for
// nobody could heartbeat to a coordinator that was not there.
func (s *Shard) Loaded(m coordinator.Moment) coordinator.Effects {
	s.begin(m)
	s.loaded = true
	for _, id := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[id]
		if g.consumers != nil {
			s.consumersLoaded(g)
			continue
		}
		for _, mem := range g.members {
			s.resetSession(g, mem)
		}
		if len(g.members) > s.cfg.MaxSize { // The setting has changed.
			s.prepareRebalance(g, "the group is larger than group.max.size")
		}
	}
	s.setTimer(timerKey{kind: cleanupTimer}, s.cfg.RetentionCheckInterval)
	return s.end()
}

func (s *Shard) begin(m coordinator.Moment) {
	s.now, s.rand = m.Now, m.Rand
	s.eff, s.written, s.undo = coordinator.Effects{}, 0, nil
}

func (s *Shard) end() coordinator.Effects {
	s.kept = s.eff
	return s.eff
}

func (s *Shard) nowMs() int64 { return s.now.UnixMilli() }

// reply answers a ticket with a response, or nil.
func (s *Shard) reply(t coordinator.Ticket, body any) {
	s.eff.Replies = append(s.eff.Replies, coordinator.Reply{To: t, Body: body})
}

func (s *Shard) write(recs ...coordinator.Record) {
	s.eff.Records = append(s.eff.Records, recs...)
	for _, r := range recs {
		s.written += len(r.Key)
	}
}

func (s *Shard) setTimer(key timerKey, d time.Duration) {
	s.eff.Timers = append(s.eff.Timers, coordinator.Timer{Key: key, At: s.now.Add(d)})
}

func (s *Shard) cancelTimer(key timerKey) {
	s.eff.Timers = append(s.eff.Timers, coordinator.Timer{Key: key})
}

// newMemberID makes a member id as Kafka does: what the member calls itself, and
// a random UUID.
func (s *Shard) newMemberID(prefix string) string { return prefix + "-" + s.newUUID() }

// newUUID makes a random UUID.
func (s *Shard) newUUID() string {
	hi, lo := s.randomUUID()
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x",
		hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&(1<<48-1))
}

// newConsumerID makes the id of a member of a consumer group that has made none: a
// random UUID as Kafka writes its own, which are never those with a dash.
func (s *Shard) newConsumerID() string {
	for {
		hi, lo := s.randomUUID()
		id := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, hi), lo))
		if !strings.Contains(id, "-") {
			return id
		}
	}
}

func (s *Shard) randomUUID() (hi, lo uint64) {
	hi, lo = s.rand.Uint64(), s.rand.Uint64()
	hi = hi&^0xf000 | 0x4000         // Version 4,
	lo = lo&^(3<<62) | uint64(1)<<63 // variant 1.
	return hi, lo
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }
