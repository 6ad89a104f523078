package quorum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// Options says which log a node keeps, and who it is.
type Options struct {
	Log         *logstore.Log
	FS          vfs.FS
	NodeID      int32
	DirectoryID [16]byte
	Logger      *slog.Logger
	// RetentionBytes and RetentionAge bound what log and snapshots keep beside the
	// newest snapshot; below zero is no bound. Kafka's metadata.max.retention.bytes
	// and .ms.
	RetentionBytes int64
	RetentionAge   time.Duration
}

// Node is one voter of the quorum. Run is its loop; every other method may be
// called from any goroutine once Run runs.
type Node struct {
	opts  Options
	id    uint64
	store *storage
	raft  *raft.RawNode

	work    chan func() // Run on the loop, one at a time.
	stopped chan struct{}

	// Of the loop only.
	leadership *Leadership // nil while another node leads.
	commit     uint64      // Raft index of the last committed entry.
	failed     error       // Why what Raft had ready was not done: the end.

	mu struct {
		sync.Mutex
		status  Status
		changed chan struct{} // Closed and renewed when status changes.
		watch   []func()      // Called when the commit moves.
	}
}

// Status is what DescribeQuorum and others want to know.
type Status struct {
	LeaderID int32 // -1 unknown.
	Epoch    int32
	// Committed is the high watermark: the offset after the last committed record.
	Committed int64
	End       int64
	Voters    []metadata.VoterNode
}

// errStopped says that the loop has ended.
var errStopped = errors.New("the metadata quorum has stopped")

// Open reads the log of a node. Nothing is voted or written before Run.
func Open(opts Options) (*Node, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	store, err := openStorage(opts.Log, opts.FS)
	if err != nil {
		return nil, err
	}
	n := &Node{
		opts: opts, store: store, id: raftID(opts.NodeID, opts.DirectoryID),
		work: make(chan func()), stopped: make(chan struct{}),
	}
	if ids := raftIDs(store.votersFor(store.last())); !slices.Contains(ids, n.id) {
		return nil, fmt.Errorf("node %d with the directory id of %s is not a voter of the metadata quorum: "+
			"the data directory belongs to another node", opts.NodeID, opts.Log.Dir())
	}
	hs, _, err := store.InitialState()
	if err != nil {
		return nil, err
	}
	n.commit = hs.GetCommit()
	n.mu.changed = make(chan struct{})
	n.mu.status = Status{
		LeaderID: -1, Epoch: int32(hs.GetTerm()),
		Committed: store.endOf(n.commit), End: store.log.End().Offset, Voters: store.votersFor(n.commit).Voters,
	}
	n.raft, err = raft.NewRawNode(&raft.Config{
		ID: n.id, ElectionTick: 10, HeartbeatTick: 1, Storage: store, Applied: n.commit,
		MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 64, MaxCommittedSizePerReady: math.MaxUint64,
		CheckQuorum: true, PreVote: true, DisableProposalForwarding: true,
		Logger: raftLogger{opts.Logger},
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// Run steps Raft until ctx ends or the log fails. A failed log cannot be served
// any further: the error is the process's end.
//
// One voter needs no clock: it elects itself, and there is nobody to send
// heartbeats to, so an idle node does nothing at all.
func (n *Node) Run(ctx context.Context) error {
	defer close(n.stopped)
	if err := n.raft.Campaign(); err != nil {
		return err
	}
	for {
		if err := n.settle(); err != nil {
			return fmt.Errorf("metadata log %s: %w; the broker cannot go on without it", n.opts.Log.Dir(), err)
		}
		select {
		case <-ctx.Done():
			return nil
		case f := <-n.work:
			f()
		}
	}
}

// settle does what Raft has ready, unless that has failed already: then Raft waits
// for the end of what was begun, and must not be asked again.
func (n *Node) settle() error {
	if n.failed != nil {
		return n.failed
	}
	return n.ready()
}

// do runs f on the loop.
func (n *Node) do(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case n.work <- func() { f(); close(done) }:
	case <-n.stopped:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	<-done
	return nil
}

// ready does what Raft has ready, until there is nothing more.
func (n *Node) ready() error {
	for n.raft.HasReady() {
		rd := n.raft.Ready()
		// With a clock in a bubble or not, batches are stamped by whoever proposes
		// them; the log's own bookkeeping is all that reads this time.
		if err := n.store.append(time.Now(), rd.Entries, n.commit); err != nil {
			return err
		}
		if err := n.persist(rd.HardState); err != nil {
			return err
		}
		if err := n.apply(rd.CommittedEntries); err != nil {
			return err
		}
		n.raft.Advance(rd)
		if err := n.lead(); err != nil {
			return err
		}
		n.publish()
	}
	return nil
}

// persist stores term and vote when they change. The commit alone is not worth a
// sync; it rides along.
func (n *Node) persist(hs *raftpb.HardState) error {
	if raft.IsEmptyHardState(hs) {
		return nil
	}
	voted := nodeID(hs.GetVote())
	s := &n.store.hard
	if s.LeaderEpoch == int32(hs.GetTerm()) && s.VotedID == voted {
		return nil
	}
	s.LeaderEpoch, s.VotedID, s.LeaderID = int32(hs.GetTerm()), voted, -1
	s.VotedDirectory = n.directoryOf(hs.GetVote())
	s.CommitOffset = n.store.endOf(max(hs.GetCommit(), n.commit))
	return s.write(n.store.fs, n.store.dir)
}

// directoryOf is the directory id of a voter; zero for an unknown one.
func (n *Node) directoryOf(id uint64) [16]byte {
	for _, v := range n.store.votersFor(n.store.last()).Voters {
		if raftID(v.ID, v.DirectoryID) == id {
			return v.DirectoryID
		}
	}
	return [16]byte{}
}

// apply takes committed entries: changes of voters are Raft's to know, the rest
// is read by whoever replays the log.
func (n *Node) apply(ents []*raftpb.Entry) error {
	for _, e := range ents {
		n.commit = e.GetIndex()
		if e.GetType() != raftpb.EntryConfChangeV2 {
			continue
		}
		var change raftpb.ConfChangeV2
		if err := proto.Unmarshal(e.GetData(), &change); err != nil {
			return err
		}
		n.raft.ApplyConfChange(&change)
		n.store.hard.CommitOffset = n.store.endOf(n.commit)
		if err := n.store.hard.write(n.store.fs, n.store.dir); err != nil {
			return err
		}
	}
	if len(ents) > 0 {
		n.store.log.SetHighWatermark(n.store.endOf(n.commit))
	}
	return nil
}

// lead begins a leadership when Raft has made this node leader, with the record
// that Kafka writes first in each epoch, and ends the one that is over.
func (n *Node) lead() error {
	st := n.raft.BasicStatus()
	epoch := int32(st.GetTerm())
	leads := st.RaftState == raft.StateLeader
	if l := n.leadership; l != nil && (!leads || l.epoch != epoch) {
		n.leadership = nil
	}
	if !leads || n.leadership != nil {
		return nil
	}
	n.leadership = &Leadership{node: n, epoch: epoch}
	voters := n.store.votersFor(n.store.last())
	// Version 0, without directory ids: Kafka writes and reads no other.
	change := &metadata.LeaderChange{LeaderID: n.opts.NodeID}
	for _, v := range voters.Voters {
		change.Voters = append(change.Voters, metadata.Voter{ID: v.ID})
		if v.ID == n.opts.NodeID {
			change.GrantingVoters = append(change.GrantingVoters, metadata.Voter{ID: v.ID})
		}
	}
	now := max(time.Now().UnixMilli(), n.store.lastTimestampMs)
	return n.raft.Propose(controlBatch(now, 0, epoch, change))
}

// publish tells the world where the quorum stands.
func (n *Node) publish() {
	st := n.raft.BasicStatus()
	next := Status{
		LeaderID: nodeID(st.Lead), Epoch: int32(st.GetTerm()),
		Committed: n.store.endOf(n.commit), End: n.store.log.End().Offset, Voters: n.store.votersFor(n.commit).Voters,
	}
	n.mu.Lock()
	moved := next.Committed != n.mu.status.Committed
	n.mu.status = next
	close(n.mu.changed)
	n.mu.changed = make(chan struct{})
	watch := n.mu.watch
	n.mu.Unlock()
	if moved {
		for _, f := range watch {
			f()
		}
	}
}

// Status is where the quorum stands, as far as this node knows.
func (n *Node) Status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.status
}

// Lead waits until this node leads and a record of its epoch is committed.
func (n *Node) Lead(ctx context.Context) (*Leadership, error) {
	for {
		n.mu.Lock()
		changed := n.mu.changed
		n.mu.Unlock()
		var l *Leadership
		err := n.do(ctx, func() {
			if n.leadership == nil {
				return
			}
			if term, err := n.store.Term(n.commit); err == nil && int32(term) == n.leadership.epoch && n.commit > n.store.snap.index {
				l = n.leadership
			}
		})
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-changed:
		case <-n.stopped:
			return nil, errStopped
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// RefusedChangeError says that Raft did not take a change of voters: another one
// was under way.
type RefusedChangeError struct{}

func (*RefusedChangeError) Error() string { return "another change of the voters is not committed yet" }

// ChangeVoters proposes a new set of voters, which differs from the one in force
// by one voter or by endpoints. It returns when the change is in the log.
func (n *Node) ChangeVoters(ctx context.Context, set *metadata.Voters) error {
	var err error
	derr := n.do(ctx, func() { err = n.changeVoters(set) })
	return errors.Join(derr, err)
}

// changeVoters proposes the change; on the loop.
func (n *Node) changeVoters(set *metadata.Voters) error {
	if n.leadership == nil {
		return errNotLeader
	}
	now := max(time.Now().UnixMilli(), n.store.lastTimestampMs)
	b := controlBatch(now, 0, n.leadership.epoch, set)
	before := len(n.store.voters)
	if err := n.raft.ProposeConfChange(changeOf(n.store.votersFor(n.store.last()), set, b)); err != nil {
		return err
	}
	if n.failed = n.ready(); n.failed != nil {
		return n.failed
	}
	// Raft puts an empty entry in place of a change that it refuses.
	for _, v := range n.store.voters[before:] {
		if reflect.DeepEqual(v.set, set) {
			return nil
		}
	}
	return &RefusedChangeError{}
}

// Format writes the snapshot that a new cluster starts from.
func Format(fsys vfs.FS, dir string, voters *metadata.Voters, records [][]byte, nowMs int64) error {
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := fsys.SyncDir(filepath.Dir(dir)); err != nil {
		return err
	}
	c := snapshotContent{id: bootstrapID, voters: voters, records: slices.Values(records)}
	return writeSnapshot(fsys, dir, bootstrapID, c.encode(nowMs))
}

// raftLogger lets Raft's own words through at debug level, and its panics as ours.
type raftLogger struct{ log *slog.Logger }

func (l raftLogger) say(level slog.Level, words string) {
	l.log.LogAttrs(context.Background(), level, "raft", slog.String("says", words))
}

func (l raftLogger) Debug(v ...any)              { l.say(slog.LevelDebug, fmt.Sprint(v...)) }
func (l raftLogger) Debugf(f string, v ...any)   { l.say(slog.LevelDebug, fmt.Sprintf(f, v...)) }
func (l raftLogger) Info(v ...any)               { l.say(slog.LevelDebug, fmt.Sprint(v...)) }
func (l raftLogger) Infof(f string, v ...any)    { l.say(slog.LevelDebug, fmt.Sprintf(f, v...)) }
func (l raftLogger) Warning(v ...any)            { l.say(slog.LevelWarn, fmt.Sprint(v...)) }
func (l raftLogger) Warningf(f string, v ...any) { l.say(slog.LevelWarn, fmt.Sprintf(f, v...)) }
func (l raftLogger) Error(v ...any)              { l.say(slog.LevelError, fmt.Sprint(v...)) }
func (l raftLogger) Errorf(f string, v ...any)   { l.say(slog.LevelError, fmt.Sprintf(f, v...)) }
func (l raftLogger) Fatal(v ...any)              { panic("BUG: raft: " + fmt.Sprint(v...)) }
func (l raftLogger) Fatalf(f string, v ...any)   { panic("BUG: raft: " + fmt.Sprintf(f, v...)) }
func (l raftLogger) Panic(v ...any)              { panic("BUG: raft: " + fmt.Sprint(v...)) }
func (l raftLogger) Panicf(f string, v ...any)   { panic("BUG: raft: " + fmt.Sprintf(f, v...)) }
