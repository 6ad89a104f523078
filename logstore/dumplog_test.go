package logstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/codec"
)

// TestKafkaDumpLog has Apache Kafka's kafka-dump-log judge a directory that was written
// here. KAFKA_DUMP_LOG names the script; without it the test is skipped.
func TestKafkaDumpLog(t *testing.T) {
	script := os.Getenv("KAFKA_DUMP_LOG")
	if script == "" {
		t.Skip("KAFKA_DUMP_LOG does not name kafka-dump-log.sh")
	}
	for name, write := range map[string]func(*testing.T, string){"traffic": writeTraffic, "compacted": writeCompacted} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir)
			judge(t, script, dir, name == "traffic")
		})
	}
}

// judge has the tool look at the log t-0 in a data directory. dense says that no offset
// may be missing.
func judge(t *testing.T, script, dir string, dense bool) {
	var files []string
	for _, pattern := range []string{"*.log", "*.index", "*.timeindex", "*.txnindex", "*.snapshot"} {
		found, err := filepath.Glob(filepath.Join(dir, "t-0", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, mode := range [][]string{{"--deep-iteration", "--print-data-log"}, {"--verify-index-only"}, {"--index-sanity-check"}} {
		chosen := files
		if mode[0] != "--deep-iteration" {
			chosen = nil
			for _, f := range files {
				if strings.HasSuffix(f, "index") && !strings.HasSuffix(f, "txnindex") {
					chosen = append(chosen, f)
				}
			}
		}
		cmd := exec.CommandContext(t.Context(), script, append([]string{"--files", strings.Join(chosen, ",")}, mode...)...)
		var complaints strings.Builder
		cmd.Stderr = &complaints
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%v: %v\n%s", mode, err, complaints.String())
		}
		for _, bad := range []string{"Mismatches in", "Found timestamp mismatch", "Found out of order", "not found in", "Non-consecutive", "invalid bytes", "isvalid: false"} {
			if bad == "Non-consecutive" && !dense {
				continue // It says so of every compacted log.
			}
			if strings.Contains(complaints.String()+string(out), bad) {
				t.Errorf("%v complains:\n%s", mode, complaints.String())
			}
		}
		t.Logf("%v: %d bytes, stderr: %s", mode, len(out), complaints.String())
	}
}

// writeTraffic fills the log t-0 with all kinds of batches, cuts and restarts.
func writeTraffic(t *testing.T, dir string) {
	rng := rand.New(rand.NewPCG(3, 4))
	cfg := Config{SegmentBytes: 20000, IndexIntervalBytes: 1000, ProducerIDExpiry: 1 << 62, RetentionAge: -1}
	var s *Store
	var l *Log
	open := func() {
		var err error
		if s, err = Open(Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		if err := s.Load(context.Background(), func(string, int32, [16]byte) (Config, Keep) { return cfg, KeepLog }); err != nil {
			t.Fatal(err)
		}
		var ok bool
		if l, ok = s.Log("t", 0); !ok {
			if l, err = s.Create("t", 0, testID, cfg); err != nil {
				t.Fatal(err)
			}
		}
	}
	open()
	seqs := map[int64]int32{}
	for i := range 1500 {
		at := t0.Add(time.Duration(i*100+rng.IntN(3000)) * time.Millisecond)
		var b batch.Batch
		pid := int64(rng.IntN(4))
		switch n := 1 + rng.IntN(5); rng.IntN(6) {
		case 0, 1:
			bl := batch.NewBuilder(batch.Meta{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, Codec: codec.Codec(rng.IntN(5)), Level: codec.DefaultLevel})
			for j := range n {
				bl.Append(at.UnixMilli()+int64(rng.IntN(50)), nil, fmt.Appendf(nil, "value %d.%d %s", i, j, strings.Repeat("x", rng.IntN(300))))
			}
			b = bl.Build()
		case 2, 3:
			b = produced(pid, 0, seqs[pid], n, false, at)
			seqs[pid] += int32(n)
		case 4:
			pid += 100
			b = produced(pid, 0, seqs[pid], n, true, at)
			seqs[pid] += int32(n)
		case 5:
			b = marker(pid+100, 0, rng.IntN(2) == 0, at)
		}
		o := producer.Client
		if b.Control() {
			o = producer.Coordinator
		}
		if _, err := l.Append(at, b, int32(i/300), o); err != nil {
			t.Fatal(err)
		}
		if i%400 == 399 {
			if i == 799 {
				// A crash: the next start scans.
				if err := s.Abandon(); err != nil {
					t.Fatal(err)
				}
			} else {
				closeStore(t, s)
			}
			open()
		}
	}
	closeStore(t, s)
	if err := Verify(s.fs, l.Dir(), true); err != nil {
		t.Error(err)
	}
}

// writeCompacted fills the log t-0 with all kinds of batches and compacts it.
func writeCompacted(t *testing.T, dir string) {
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	cfg := compacted
	cfg.SegmentBytes = 4000
	l, err := s.Create("t", 0, testID, cfg)
	if err != nil {
		t.Fatal(err)
	}
	rng, m := rand.New(rand.NewPCG(5, 6)), newTable()
	for range 4 {
		for range 300 {
			m.append(t, l, rng.IntN)
		}
		commitAll(l)
		compactNow(s)
	}
	closeStore(t, s)
	if err := Verify(s.fs, l.Dir(), false); err != nil {
		t.Error(err)
	}
}
