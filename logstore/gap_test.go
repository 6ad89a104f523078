package logstore

import (
	"bytes"
	"errors"
	"math"
	"os"
	"syscall"
	"testing"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// farOffset is further above the offsets of a small log than one segment reaches: a
// leader's compaction took away what lay between.
const farOffset = 1 << 33

// stamped makes a batch as a leader stamped it.
func stamped(offset int64, epoch int32, value string) batch.Batch {
	b := records(3, t0, value)
	b.SetBaseOffset(offset)
	b.SetLeaderEpoch(epoch)
	return b
}

// batchesOf returns copies of all batches of a log.
func batchesOf(t testing.TB, l *Log) (all []batch.Batch) {
	t.Helper()
	for b, err := range l.Batches(l.Start(), math.MaxInt64) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.Clone(b))
	}
	return all
}

// TestFailedAppendOverGap: an append that begins a segment beyond a wide gap fails.
// The log is as it was: its next batch may lie in the gap, or beyond it, whoever comes
// next, and however the log is stopped then.
func TestFailedAppendOverGap(t *testing.T) {
	next := map[string]func(*testing.T, *Log) batch.Batch{
		"the same batch": func(t *testing.T, l *Log) batch.Batch { return replicated(t, l, stamped(farOffset, 1, "far")) },
		"another leader's": func(t *testing.T, l *Log) batch.Batch {
			return replicated(t, l, stamped(l.End().Offset, 2, "other"))
		},
		"another leader's, inside the gap": func(t *testing.T, l *Log) batch.Batch {
			return replicated(t, l, stamped(l.End().Offset+100, 2, "other"))
		},
		"its own as a leader": func(t *testing.T, l *Log) batch.Batch {
			b := produced(7, 0, 1, 2, false, t0)
			if _, err := l.Append(t0, b, 2, producer.Client); err != nil {
				t.Fatal(err)
			}
			return b
		},
		"none": func(*testing.T, *Log) batch.Batch { return nil },
	}
	stops := map[string]func(*testing.T, *vfs.Mem, *Store) *vfs.Mem{
		"stop": func(t *testing.T, disk *vfs.Mem, s *Store) *vfs.Mem {
			closeStore(t, s)
			return disk
		},
		"stop without a manifest": func(t *testing.T, disk *vfs.Mem, s *Store) *vfs.Mem {
			closeStore(t, s)
			if err := disk.Remove(dataDir + "/" + manifestName); err != nil {
				t.Fatal(err)
			}
			return disk
		},
		"kill": func(t *testing.T, disk *vfs.Mem, s *Store) *vfs.Mem {
			if err := s.Abandon(); err != nil {
				t.Fatal(err)
			}
			return disk.Crash(nil, vfs.CrashKeepAll)
		},
		"power cut after a flush": func(t *testing.T, disk *vfs.Mem, s *Store) *vfs.Mem {
			l, _ := s.Log("t", 0)
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			return disk.Crash(nil, vfs.CrashLoseAll)
		},
	}
	for _, compacts := range []bool{true, false} {
		for what, appendNext := range next {
			for how, stop := range stops {
				name := what + ", " + how
				if compacts {
					name += ", compacted"
				}
				t.Run(name, func(t *testing.T) {
					disk := vfs.NewMem()
					fs := vfs.NewFault(disk)
					cfg := Config{Compact: compacts, IndexIntervalBytes: 1, ProducerIDExpiry: math.MaxInt64}
					s, l := openLog(t, fs, cfg)
					want := []batch.Batch{produced(7, 0, 0, 1, false, t0)}
					mustAppend(t, l, want[0])
					want = append(want, replicated(t, l, stamped(1, 1, "near")))

					fs.Inject(vfs.Rule{Op: vfs.OpWrite, Path: segment.FileName(farOffset, segment.LogSuffix), Err: syscall.ENOSPC, PartialBytes: 80})
					if err := l.AppendReplica(t0, stamped(farOffset, 1, "far")); !errors.Is(err, syscall.ENOSPC) {
						t.Fatalf("append on a full disk: %v", err)
					}
					if l.End().Offset != 4 || l.Err() != nil {
						t.Fatalf("end %d, failed: %v", l.End().Offset, l.Err())
					}
					if err := s.Maintain(t0); err != nil { // It syncs what was rolled.
						t.Fatal(err)
					}
					if l.Flushed() > l.End().Offset || l.recoveryPoint() > l.End().Offset {
						t.Errorf("flushed up to %d, recovery point %d, end %d", l.Flushed(), l.recoveryPoint(), l.End().Offset)
					}
					if b := appendNext(t, l); b != nil {
						want = append(want, b)
					}
					compareBatches(t, l, want)
					s, l = openLog(t, stop(t, disk, s), cfg)
					compareBatches(t, l, want)
					if got := l.Producers(); len(got) != 1 || got[0].LastSequence != lastSequence(want) {
						t.Errorf("producers after the restart: %+v", got)
					}
					if _, err := l.Append(t0, produced(7, 0, lastSequence(want)+1, 1, false, t0), 2, producer.Client); err != nil {
						t.Error(err)
					}
					closeStore(t, s)
					if err := Verify(s.fs, l.Dir(), false); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

func replicated(t *testing.T, l *Log, b batch.Batch) batch.Batch {
	t.Helper()
	if err := l.AppendReplica(t0, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// lastSequence is the newest sequence of the producer in batches.
func lastSequence(bs []batch.Batch) (seq int32) {
	for _, b := range bs {
		if b.ProducerID() >= 0 {
			seq = b.BaseSequence() + b.LastOffsetDelta()
		}
	}
	return seq
}

// compareBatches reads a log from every offset at which a batch begins.
func compareBatches(t *testing.T, l *Log, want []batch.Batch) {
	t.Helper()
	got := batchesOf(t, l)
	if len(got) != len(want) || l.End().Offset != want[len(want)-1].NextOffset() {
		t.Fatalf("%d batches up to %d, want %d up to %d", len(got), l.End().Offset, len(want), want[len(want)-1].NextOffset())
	}
	for i, b := range want {
		if !bytes.Equal(got[i], b) {
			t.Fatalf("batch %d at %d is not what was appended at %d", i, got[i].BaseOffset(), b.BaseOffset())
		}
		if rest := drain(t, l, b.BaseOffset(), 1000); !bytes.HasPrefix(rest, b) {
			t.Fatalf("read at %d gives something else", b.BaseOffset())
		}
	}
}

// TestGapIsNoHole: a segment that begins beyond a wide gap follows the one before it,
// also after a power cut and in a topic that is not compacted any more.
func TestGapIsNoHole(t *testing.T) {
	disk := vfs.NewMem()
	s, l := openLog(t, disk, Config{})
	want := []batch.Batch{replicated(t, l, stamped(0, 1, "near")), replicated(t, l, stamped(farOffset, 1, "far"))}
	if l.Segments() != 2 {
		t.Fatalf("%d segments", l.Segments())
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := vfs.ReadFile(disk, s.path(checkpoint.RecoveryPoints)); err == nil {
		t.Fatal("there is a recovery point")
	}
	_, l = openLog(t, disk.Crash(nil, vfs.CrashLoseAll), Config{})
	compareBatches(t, l, want)
}

// TestHoleBeforeDamage: a segment lost its end, and the one after it is damaged, in its
// batches or its indexes. The log is cut where the first one ends.
func TestHoleBeforeDamage(t *testing.T) {
	for name, damage := range map[string]struct {
		kind  string
		at    int64
		bytes string
	}{
		"batch of format 0":  {segment.LogSuffix, 16, "\x00"},
		"batch of format 9":  {segment.LogSuffix, 16, "\x09"},
		"length":             {segment.LogSuffix, 8, "\x7f"},
		"offset":             {segment.LogSuffix, 3, "\x02"},
		"offset and its sum": {segment.LogSuffix, 60, "\x02"},
		"index":              {segment.IndexSuffix, 0, "\x00\x00\x00\x01\xff\xff\xff\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewMem()
			cfg := Config{SegmentBytes: 300, IndexIntervalBytes: 1}
			s, l := openLog(t, disk, cfg)
			for l.Segments() < 4 {
				mustAppend(t, l, records(1, t0, "value"))
			}
			if err := s.Abandon(); err != nil {
				t.Fatal(err)
			}
			first, second := l.state.Load().segments[0], l.state.Load().segments[1]
			all := batchesOf(t, l)
			overwrite(t, disk, first.Path(), func(f vfs.File) error { return f.Truncate(int64(len(all[0]))) })
			path := l.join(segment.FileName(second.Base(), damage.kind))
			overwrite(t, disk, path, func(f vfs.File) error {
				_, err := f.WriteAt([]byte(damage.bytes), damage.at)
				return err
			})
			s, l = openLog(t, disk, cfg)
			compareBatches(t, l, all[:1])
			closeStore(t, s)
			if err := Verify(disk, l.Dir(), false); err != nil {
				t.Error(err)
			}
		})
	}
}

func overwrite(t *testing.T, fs vfs.FS, path string, change func(vfs.File) error) {
	t.Helper()
	f, err := fs.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(change(f), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestEmptySegmentBeyondGap: the power goes between the beginning of a segment beyond a
// wide gap and the append for which it was begun.
func TestEmptySegmentBeyondGap(t *testing.T) {
	for _, compacts := range []bool{true, false} {
		disk := vfs.NewMem()
		fs := vfs.NewFault(disk)
		cfg := Config{Compact: compacts}
		_, l := openLog(t, fs, cfg)
		near := replicated(t, l, stamped(0, 1, "near"))
		var after *vfs.Mem
		fs.Hook(func(e vfs.Event) {
			if e.Op == vfs.OpWrite && e.Path == l.join(segment.FileName(farOffset, segment.LogSuffix)) {
				after = disk.Crash(nil, vfs.CrashKeepAll)
			}
		})
		replicated(t, l, stamped(farOffset, 1, "far"))
		s, l := openLog(t, after, cfg)
		// All below the end is there: nothing lies in the gap.
		if end := l.End().Offset; end != near.NextOffset() && (end != farOffset || !compacts) {
			t.Errorf("log ends at %d", end)
		}
		next := replicated(t, l, stamped(farOffset, 1, "far"))
		compareBatches(t, l, []batch.Batch{near, next})
		closeStore(t, s)
		if err := Verify(after, l.Dir(), false); err != nil {
			t.Error(err)
		}
	}
}

// TestSpreadAppend: what one append brings has to fit one segment, whose indexes hold
// offsets in 31 bits. No leader answers more than one segment at once.
func TestSpreadAppend(t *testing.T) {
	for _, empty := range []bool{true, false} {
		disk := vfs.NewMem()
		s, l := openLog(t, disk, Config{Compact: true})
		var want []batch.Batch
		if !empty {
			want = append(want, replicated(t, l, stamped(0, 1, "near")))
		}
		end := l.End().Offset
		fits := append(bytes.Clone(stamped(end, 1, "a")), stamped(end+maxRelative-2, 1, "b")...)
		spread := append(bytes.Clone(stamped(end, 1, "a")), stamped(end+maxRelative-1, 1, "b")...)
		var corrupt *batch.CorruptError
		if err := l.AppendReplica(t0, spread); !errors.As(err, &corrupt) || corrupt.Offset != end+maxRelative-1 {
			t.Errorf("append over 2^31 offsets: %v", err)
		}
		if l.End().Offset != end {
			t.Fatalf("end %d, was %d", l.End().Offset, end)
		}
		if err := l.AppendReplica(t0, fits); err != nil {
			t.Fatal(err)
		}
		compareBatches(t, l, append(want, stamped(end, 1, "a"), stamped(end+maxRelative-2, 1, "b")))
		closeStore(t, s)
		if err := Verify(disk, l.Dir(), false); err != nil {
			t.Error(err)
		}
	}
}

// TestCutBelowGapKeepsMark: the high watermark lies in a gap, and so at the segment after
// it. A truncation takes that segment. What is appended then is not committed.
func TestCutBelowGapKeepsMark(t *testing.T) {
	s, l := openLog(t, vfs.NewMem(), Config{Compact: true})
	defer closeStore(t, s)
	near := replicated(t, l, stamped(0, 1, "near"))
	replicated(t, l, stamped(farOffset, 1, "far"))
	l.SetHighWatermark(5)
	if err := l.Truncate(7); err != nil {
		t.Fatal(err)
	}
	replicated(t, l, stamped(7, 2, "other"))
	for _, upTo := range []Mark{l.HighWatermark(), l.Stable()} {
		span, err := l.Read(0, 1000, upTo, true)
		if err != nil {
			t.Fatal(err)
		}
		if upTo.Offset != 5 || span.Len() != len(near) {
			t.Errorf("%d bytes are read up to %+v, want %d", span.Len(), upTo, len(near))
		}
		span.Release()
	}
}
