package logstore

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestManifestTellsTheSame opens a directory with the manifest and without.
func TestManifestTellsTheSame(t *testing.T) {
	disk := vfs.NewMem()
	cfg := Config{SegmentBytes: 300, ProducerIDExpiry: 1 << 62}
	s, l := openLog(t, disk, cfg)
	l.AssignEpoch(3)
	for i := range int32(10) {
		mustAppend(t, l, produced(1, 0, i*2, 2, i > 5, t0))
	}
	mustAppend(t, l, marker(1, 0, false, t0))
	l.SetHighWatermark(15)
	if err := l.AdvanceStart(5); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)

	open := func(fs vfs.FS, wantOpens bool) [6]any {
		t.Helper()
		fault := vfs.NewFault(fs)
		fault.StartTrace(dataDir, vfs.OpReadDir)
		s, l := openLog(t, fault, cfg)
		if listed := len(fault.TakeTrace()) > len("readdir .\n"); listed != wantOpens {
			t.Errorf("directory listed: %v", listed)
		}
		list, err := l.Aborted(0, 100)
		if err != nil {
			t.Fatal(err)
		}
		got := [6]any{l.Start(), [3]Mark{l.Stable(), l.HighWatermark(), l.End()}, l.mu.epochs, l.Producers(), list, drain(t, l, l.Start(), 1000)}
		mustAppend(t, l, records(1, t0, "after"))
		closeStore(t, s)
		if err := Verify(fs, l.Dir(), true); err != nil {
			t.Error(err)
		}
		return got
	}
	without := disk.Crash(nil, vfs.CrashKeepAll)
	if err := without.Remove(dataDir + "/" + manifestName); err != nil {
		t.Fatal(err)
	}
	damaged := disk.Crash(nil, vfs.CrashKeepAll)
	bytes, err := vfs.ReadFile(damaged, dataDir+"/"+manifestName)
	if err != nil {
		t.Fatal(err)
	}
	bytes[len(bytes)/2]++
	if err := vfs.WriteFileAtomic(damaged, dataDir+"/"+manifestName, bytes); err != nil {
		t.Fatal(err)
	}
	changed := disk.Crash(nil, vfs.CrashKeepAll)
	changed.SetClock(func() time.Time { return t0.Add(1000 * time.Hour) })
	if err := changed.Remove(l.Dir() + "/00000000000000000000.index"); err != nil {
		t.Fatal(err)
	}
	want := open(without, true)
	for name, fs := range map[string]struct {
		*vfs.Mem
		listed bool
	}{"with": {disk, false}, "damaged": {damaged, true}, "directory changed": {changed, true}} {
		if diff := cmp.Diff(want, open(fs.Mem, fs.listed)); diff != "" {
			t.Errorf("%s: (-without manifest +with)\n%s", name, diff)
		}
	}
}

// FuzzManifest: any bytes are a manifest or an error, and a manifest reads back.
func FuzzManifest(f *testing.F) {
	f.Add(encodeManifest(nil))
	f.Add(encodeManifest(map[partitionKey]recorded{{"t", 3}: {
		modTimeNs: 1, topicID: testID, end: 7, producers: true, epochs: checkpoint.Epochs{{Epoch: 1, Start: 2}},
		snapshots: []int64{7}, bases: []int64{0, 5}, files: []segment.Files{{Log: 1, Index: 2, TimeIndex: 3, TxnIndex: -1}, {Log: 1}},
	}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) >= 8 {
			sealManifest(in)
		}
		all, err := decodeManifest(in)
		if err != nil {
			return
		}
		again, err := decodeManifest(encodeManifest(all))
		if diff := cmp.Diff(all, again, cmp.AllowUnexported(recorded{}, partitionKey{})); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// TestEpochWithoutBatchComesBack: the manifest knows a newest epoch that the checkpoint
// file does not, so the first batch of it after a clean start must bring it there.
func TestEpochWithoutBatchComesBack(t *testing.T) {
	fs := vfs.NewMem()
	s, l := openLog(t, fs, Config{})
	appendAt := func(epoch int32) {
		t.Helper()
		if _, err := l.Append(t0, records(1, t0, "v"), epoch, 0); err != nil {
			t.Fatal(err)
		}
	}
	appendAt(0)
	if err := l.Flush(); err != nil { // Writes the file, before the next epoch.
		t.Fatal(err)
	}
	l.AssignEpoch(1)
	closeStore(t, s)

	s, l = openLog(t, fs, Config{})
	if got := l.LastEpoch(); got != 1 {
		t.Errorf("newest epoch %d after a restart, want 1", got)
	}
	appendAt(1)
	closeStore(t, s)
	if err := Verify(fs, l.Dir(), true); err != nil {
		t.Error(err)
	}
}

// TestManifestGoesWithMark: a power cut after the next start leaves no manifest of a stop
// whose mark is gone. Another Kafka may use the directory then, and stop cleanly.
func TestManifestGoesWithMark(t *testing.T) {
	disk := vfs.NewMem()
	s, l := openLog(t, disk, Config{})
	mustAppend(t, l, records(1, t0, "value"))
	closeStore(t, s)
	s = openStore(t, disk, Config{})
	if err := s.Abandon(); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []vfs.CrashMode{vfs.CrashLoseAll, vfs.CrashKeepAll} {
		after := disk.Crash(nil, mode)
		for _, name := range []string{manifestName, checkpoint.CleanShutdown} {
			if _, err := after.Stat(s.path(name)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s after a power cut, %v: %v", name, mode, err)
			}
		}
	}
}
