package quorum

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

const dataDir = "/data"

var (
	metaDir   = filepath.Join(dataDir, "__cluster_metadata-0")
	directory = [16]byte{15: 7}
)

func soleVoter() *metadata.Voters {
	return &metadata.Voters{Voters: []metadata.VoterNode{{ID: 1, DirectoryID: directory, MaxKRaftVersion: 1}}}
}

// formatted is a file system with a new cluster's metadata directory.
func formatted(t *testing.T) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	if err := errors.Join(m.MkdirAll(dataDir, 0o755), m.SyncDir("/"), Format(m, metaDir, soleVoter(), nil, 1)); err != nil {
		t.Fatal(err)
	}
	return m
}

// node is a running Node with what is under it.
type node struct {
	*Node
	store *logstore.Store
	stop  func()
}

// start opens the log of a file system and runs its node until the test's end, or
// until stop.
func start(t *testing.T, fsys vfs.FS) *node {
	t.Helper()
	n, err := tryStart(t, fsys)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func tryStart(t *testing.T, fsys vfs.FS) (*node, error) {
	t.Helper()
	return tryStartWith(t, fsys, 100<<20, 7*24*time.Hour)
}

// tryStartWith starts a node whose log and snapshots are kept within the bounds.
func tryStartWith(t *testing.T, fsys vfs.FS, retentionBytes int64, retentionAge time.Duration) (*node, error) {
	t.Helper()
	store, err := logstore.Open(logstore.Options{Dir: dataDir, FS: fsys})
	if err != nil {
		return nil, err
	}
	log, err := store.OpenMetadataLog(logstore.Config{RetentionBytes: -1, RetentionAge: -1})
	if err != nil {
		_ = store.Abandon()
		return nil, err
	}
	n, err := Open(Options{
		Log: log, FS: fsys, NodeID: 1, DirectoryID: directory,
		RetentionBytes: retentionBytes, RetentionAge: retentionAge,
	})
	if err != nil {
		_ = store.Abandon()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	stopped := false
	out := &node{Node: n, store: store, stop: func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
			_ = store.Abandon()
		}
	}}
	t.Cleanup(out.stop)
	return out, nil
}

func (n *node) lead(t *testing.T) *Leadership {
	t.Helper()
	l, err := n.Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func feature(level int) coordinator.Record {
	return coordinator.Record{Value: metadata.Encode(&metadata.FeatureLevel{Name: "f", FeatureLevel: int16(level)}, 0)}
}

// levels lists the feature levels that a replay gives.
func levels(t *testing.T, l *Leadership) []int {
	t.Helper()
	var out []int
	err := l.Replay(t.Context(), func(b batch.Batch) error {
		if b.Control() {
			return nil
		}
		it := b.Records(1 << 20)
		defer it.Close()
		for it.Next() {
			r, err := metadata.Decode(it.Record().Value)
			if err != nil {
				return err
			}
			if f, ok := r.(*metadata.FeatureLevel); ok {
				out = append(out, int(f.FeatureLevel))
			}
		}
		return it.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAppendIsCommittedAndSurvives(t *testing.T) {
	mem := formatted(t)
	n := start(t, mem)
	l := n.lead(t)
	if l.Epoch() != 1 {
		t.Errorf("first epoch %d, want 1", l.Epoch())
	}
	var moves int
	l.OnCommit(func() { moves++ })
	base, err := l.Append(time.UnixMilli(5), []coordinator.Record{feature(1), feature(2)})
	if err != nil {
		t.Fatal(err)
	}
	if l.End() != base+2 || l.Committed() != base+2 {
		t.Errorf("end %d, committed %d, want %d", l.End(), l.Committed(), base+2)
	}
	if moves == 0 {
		t.Error("nobody was told that the commit moved")
	}
	n.stop()

	// A power cut loses nothing that Append returned for, whatever the disk does.
	for _, mode := range vfs.CrashModes() {
		after := mem.Crash(rand.New(rand.NewPCG(1, uint64(mode))), mode)
		m := start(t, after)
		l := m.lead(t)
		if l.Epoch() != 2 {
			t.Errorf("mode %v: epoch %d after a restart, want 2 (C-2)", mode, l.Epoch())
		}
		if diff := cmp.Diff([]int{1, 2}, levels(t, l)); diff != "" {
			t.Errorf("mode %v: %s", mode, diff)
		}
		m.stop()
	}
}

// The log of a new cluster begins with what a Kafka log begins with, and the empty
// entry of each election is a NoOp whose bytes depend on nothing but their place.
func TestElectionRecords(t *testing.T) {
	mem := formatted(t)
	first := start(t, mem)
	first.lead(t)
	first.stop()
	l := start(t, mem).lead(t)
	var got []string
	err := l.Replay(t.Context(), func(b batch.Batch) error {
		it := b.Records(1 << 20)
		defer it.Close()
		for it.Next() {
			if b.Control() {
				typ, _ := batch.ControlType(it.Record().Key)
				r, err := metadata.DecodeControl(typ, it.Record().Value)
				if err != nil {
					return err
				}
				got = append(got, fmt.Sprintf("%d epoch %d %T", it.Offset(), b.LeaderEpoch(), r))
				continue
			}
			r, err := metadata.Decode(it.Record().Value)
			if err != nil {
				return err
			}
			got = append(got, fmt.Sprintf("%d epoch %d %T", it.Offset(), b.LeaderEpoch(), r))
		}
		return it.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0 epoch 1 *metadata.NoOp", "1 epoch 1 *metadata.LeaderChange",
		"2 epoch 2 *metadata.NoOp", "3 epoch 2 *metadata.LeaderChange",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	empty := &raftpb.Entry{Type: raftpb.EntryNormal.Enum(), Index: new(uint64(9)), Term: new(uint64(3))}
	a, err1 := stored(empty, 12, 34)
	b, err2 := stored(empty, 12, 34)
	if err1 != nil || err2 != nil || !slices.Equal(a, b) {
		t.Errorf("an empty entry has several forms: %v %v", err1, err2)
	}
}

// Base offsets are known before records are made: they may contain them.
func TestProposeKnowsItsOffset(t *testing.T) {
	n := start(t, formatted(t))
	l := n.lead(t)
	for range 3 {
		var told int64
		base, err := l.Propose(func(base int64) []byte {
			told = base
			b := batch.NewBuilder(batch.Plain(base, l.Epoch()))
			b.Append(1, nil, metadata.Encode(&metadata.FeatureLevel{Name: "at", FeatureLevel: int16(base)}, 0))
			return b.Build()
		})
		if err != nil || base != told {
			t.Fatalf("stored at %d, told %d, %v", base, told, err)
		}
	}
	if got := levels(t, l); !slices.Equal(got, []int{2, 3, 4}) {
		t.Errorf("records say they are at %v", got)
	}
}

func TestTooLargeIsRefused(t *testing.T) {
	n := start(t, formatted(t))
	l := n.lead(t)
	before := l.End()
	_, err := l.Append(time.UnixMilli(1), make([]coordinator.Record, maxRecords+1))
	if _, ok := errors.AsType[*coordinator.RefusedError](err); !ok {
		t.Errorf("%v, want a refusal", err)
	}
	if l.End() != before {
		t.Errorf("end %d, was %d", l.End(), before)
	}
}

// A full disk refuses what is to be appended, and nothing else: when there is space
// again, all goes on.
func TestFullDiskRefuses(t *testing.T) {
	fs := vfs.NewFault(formatted(t))
	n := start(t, fs)
	l := n.lead(t)
	if _, err := l.Append(time.UnixMilli(1), []coordinator.Record{feature(7)}); err != nil {
		t.Fatal(err)
	}
	fs.Inject(vfs.Rule{Op: vfs.OpAllocate, Path: "*.log", Err: syscall.ENOSPC, Times: 2})
	before := l.End()
	for range 2 {
		_, err := l.Append(time.UnixMilli(2), []coordinator.Record{feature(8)})
		if _, ok := errors.AsType[*coordinator.RefusedError](err); !ok || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v, want a refusal for the full disk", err)
		}
	}
	if base, err := l.Append(time.UnixMilli(3), []coordinator.Record{feature(9)}); err != nil || base != before {
		t.Errorf("appended at %d, %v; want it at %d", base, err, before)
	}
}

// A log that fails after all ends the loop with an error that names the place.
func TestFailedLogEndsTheLoop(t *testing.T) {
	fs := vfs.NewFault(formatted(t))
	store, err := logstore.Open(logstore.Options{Dir: dataDir, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Abandon() // What is left does not matter here.
	log, err := store.OpenMetadataLog(logstore.Config{RetentionBytes: -1, RetentionAge: -1})
	if err != nil {
		t.Fatal(err)
	}
	n, err := Open(Options{Log: log, FS: fs, NodeID: 1, DirectoryID: directory})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- n.Run(t.Context()) }()
	l, err := n.Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fs.Inject(vfs.Rule{Op: vfs.OpWrite, Path: "*.log", Err: syscall.EIO})
	if _, err := l.Append(time.UnixMilli(1), []coordinator.Record{feature(7)}); !errors.Is(err, syscall.EIO) {
		t.Errorf("append: %v", err)
	}
	if err := <-done; !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), metaDir) {
		t.Errorf("the loop ended with %v", err)
	}
}

// A change of voters while one is under way is refused by Raft, which puts an
// empty entry in its place; the log and the index stay in step.
func TestRefusedChange(t *testing.T) {
	mem := formatted(t)
	n := start(t, mem)
	l := n.lead(t)
	moved := soleVoter()
	moved.Voters[0].Endpoints = []metadata.VoterEndpoint{{Name: "CONTROLLER", Host: "h", Port: 9093}}
	again := soleVoter()
	again.Voters[0].Endpoints = []metadata.VoterEndpoint{{Name: "CONTROLLER", Host: "other", Port: 9093}}
	var refused error
	err := n.do(t.Context(), func() {
		// Both are proposed before the first is applied.
		first := controlBatch(5, 0, l.epoch, moved)
		if err := n.raft.ProposeConfChange(changeOf(soleVoter(), moved, first)); err != nil {
			t.Error(err)
		}
		refused = n.changeVoters(again)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*RefusedChangeError](refused); !ok {
		t.Errorf("the second of two changes: %v, want a refusal", refused)
	}
	if got := n.Status().Voters; len(got) != 1 || got[0].Endpoints[0].Host != "h" {
		t.Errorf("voters %+v, want the first change only", got)
	}
	if err := n.ChangeVoters(t.Context(), again); err != nil {
		t.Errorf("a change when none is under way: %v", err)
	}
	if _, err := l.Append(time.UnixMilli(9), []coordinator.Record{feature(3)}); err != nil {
		t.Fatal(err)
	}
	n.stop()
	m := start(t, mem)
	if got := m.Status().Voters; got[0].Endpoints[0].Host != "other" {
		t.Errorf("voters after a restart %+v", got)
	}
	if got := levels(t, m.lead(t)); !slices.Equal(got, []int{3}) {
		t.Errorf("replayed %v", got)
	}
}

// A snapshot replaces the log before it, with the Raft index carried along.
func TestSnapshotAndLostPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := formatted(t)
		n := start(t, mem)
		l := n.lead(t)
		for i := range 5 {
			if _, err := l.Append(time.Now(), []coordinator.Record{feature(i)}); err != nil {
				t.Fatal(err)
			}
		}
		at := l.Committed()
		state := func() iter.Seq[[]byte] { return slices.Values([][]byte{feature(42).Value}) }
		if err := n.Snapshot(t.Context(), at-1, time.Now(), state()); err != nil {
			t.Fatal(err)
		}
		if err := n.Snapshot(t.Context(), at, time.Now().Add(8*24*time.Hour), state()); err != nil {
			t.Fatal(err)
		}
		index := n.Node.store.last()
		if _, err := l.Append(time.Now(), []coordinator.Record{feature(43)}); err != nil {
			t.Fatal(err)
		}
		if got := levels(t, l); !slices.Equal(got, []int{42, 43}) {
			t.Errorf("replayed %v, want the snapshot and what follows", got)
		}
		ids, err := listSnapshots(mem, metaDir)
		if err != nil || len(ids) != 1 || ids[0].Offset != at {
			t.Errorf("snapshots %v, %v; older than 7 days must go", ids, err)
		}
		n.stop()

		m := start(t, mem)
		if got := m.Node.store.snap.index; got != index {
			t.Errorf("index %d after a restart, want %d", got, index)
		}
		if got := levels(t, m.lead(t)); !slices.Equal(got, []int{42, 43}) {
			t.Errorf("replayed after a restart %v", got)
		}
		m.stop()

		// The log is gone, the snapshot stays: the node goes on from it.
		files, err := mem.ReadDir(metaDir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if filepath.Ext(f.Name()) != ".checkpoint" && f.Name() != stateFile {
				if err := mem.Remove(filepath.Join(metaDir, f.Name())); err != nil {
					t.Fatal(err)
				}
			}
		}
		k := start(t, mem)
		l = k.lead(t)
		if got := levels(t, l); !slices.Equal(got, []int{42}) {
			t.Errorf("replayed without the log %v", got)
		}
		if base, err := l.Append(time.Now(), []coordinator.Record{feature(1)}); err != nil || base <= at {
			t.Errorf("appended at %d, %v; the snapshot ends at %d", base, err, at)
		}
	})
}

// Old snapshots go when log and snapshots are larger or older than the bounds, of
// which a negative one is none and zero keeps the newest alone.
func TestRetention(t *testing.T) {
	const unbounded = -1
	for name, tc := range map[string]struct {
		bytes int64
		age   time.Duration
		want  int // Snapshots, with the one of the formatting.
	}{
		"within both":       {1 << 20, time.Hour, 3},
		"too large":         {1, time.Hour, 1},
		"too old":           {1 << 20, time.Second, 1},
		"any age":           {1 << 20, unbounded, 3},
		"any size":          {unbounded, time.Hour, 3},
		"neither":           {unbounded, unbounded, 3},
		"any age, no bytes": {0, unbounded, 1},
		"any size, no age":  {unbounded, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := formatted(t)
				n, err := tryStartWith(t, mem, tc.bytes, tc.age)
				if err != nil {
					t.Fatal(err)
				}
				l := n.lead(t)
				for i := range 2 {
					if _, err := l.Append(time.Now(), []coordinator.Record{feature(i)}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
					state := slices.Values([][]byte{feature(i).Value})
					if err := n.Snapshot(t.Context(), l.Committed(), time.Now(), state); err != nil {
						t.Fatal(err)
					}
				}
				ids, err := listSnapshots(mem, metaDir)
				if err != nil || len(ids) != tc.want {
					t.Errorf("%d snapshots stay, want %d; %v", len(ids), tc.want, err)
				}
			})
		})
	}
}

func TestUnusableDirectories(t *testing.T) {
	t.Run("not formatted", func(t *testing.T) {
		_, err := tryStart(t, vfs.NewMem())
		if _, ok := errors.AsType[*UnformattedError](err); !ok {
			t.Errorf("%v, want an *UnformattedError", err)
		}
	})
	t.Run("snapshot without its footer", func(t *testing.T) {
		mem := formatted(t)
		path := filepath.Join(metaDir, bootstrapID.fileName())
		whole, err := vfs.ReadFile(mem, path)
		if err != nil {
			t.Fatal(err)
		}
		first, _, err := batch.Next(whole)
		if err != nil {
			t.Fatal(err)
		}
		if err := vfs.WriteFileAtomic(mem, path, first); err != nil {
			t.Fatal(err)
		}
		if _, err := tryStart(t, mem); err == nil {
			t.Error("it was opened")
		}
	})
	t.Run("another node's", func(t *testing.T) {
		mem := vfs.NewMem()
		other := soleVoter()
		other.Voters[0].DirectoryID = [16]byte{15: 8}
		if err := Format(mem, metaDir, other, nil, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := tryStart(t, mem); err == nil {
			t.Error("it was opened")
		}
	})
}

// controlsOf lists the types of a control batch's records; none of another batch.
func controlsOf(t *testing.T, b batch.Batch) (types []int16) {
	t.Helper()
	if !b.Control() {
		return nil
	}
	it := b.Records(maxControlBytes)
	defer it.Close()
	for it.Next() {
		typ, ok := batch.ControlType(it.Record().Key)
		if !ok {
			t.Fatalf("a control record without a type at %d", it.Offset())
		}
		types = append(types, typ)
	}
	if err := it.Err(); err != nil {
		t.Fatal(err)
	}
	return types
}
