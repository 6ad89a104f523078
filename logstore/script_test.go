package logstore

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

var update = flag.Bool("update", false, "write the answers of the scripts anew")

// TestScripts runs the scripts in testdata/scripts. A line that begins with "> " is a
// command; what follows is its answer: what it returned, and the calls that change the
// disk, as vfs.Fault traces them. A script is run twice and must answer the same, and
// the directory it leaves must verify.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(text))
			if again := runScript(t, string(text)); got != again {
				t.Errorf("a second run differs\n%s", cmp.Diff(got, again))
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("-want +got\n%s", cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")))
			}
		})
	}
}

// runScript answers every command of a script.
func runScript(t *testing.T, text string) string {
	s := &script{t: t, disk: vfs.NewMem(), now: t0, cfg: Config{
		SegmentBytes: 400, IndexIntervalBytes: 100, Delete: true, RetentionAge: -1, ProducerIDExpiry: 1 << 62,
	}}
	s.open()
	var out strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		command, isCommand := strings.CutPrefix(line, "> ")
		switch {
		case isCommand:
			out.WriteString(line)
			s.fs.StartTrace(dataDir)
			answer := s.run(strings.Fields(command))
			out.WriteString(indent(answer, "  ") + indent(s.fs.TakeTrace(), "    "))
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
			out.WriteString(line)
		}
	}
	s.run([]string{"close"})
	if s.log.onDisk.Load() {
		if err := Verify(s.disk, filepath.Join(dataDir, "t-0"), true); err != nil {
			t.Errorf("the directory that is left: %v", err)
		}
	}
	return out.String()
}

func indent(text, by string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(by + strings.TrimSuffix(line, "\n") + "\n")
	}
	return out.String()
}

type script struct {
	t     *testing.T
	disk  *vfs.Mem
	fs    *vfs.Fault
	cfg   Config
	store *Store
	log   *Log
	now   time.Time
	epoch int32
	seqs  map[int64]int32
}

func (s *script) open() {
	s.fs = vfs.NewFault(s.disk)
	s.store, s.log = openLog(s.t, s.fs, s.cfg)
	s.seqs = map[int64]int32{}
	for _, e := range s.log.Producers() {
		s.seqs[e.ProducerID] = e.LastSequence + 1
	}
}

// run executes one command and returns what it answers.
func (s *script) run(words []string) string {
	arg := func(i int) int64 {
		if i >= len(words) {
			return 0
		}
		n, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil {
			s.t.Fatalf("%v: %v", words, err)
		}
		return n
	}
	var err error
	answer := ""
	switch words[0] {
	case "append": // records, and how many bytes each has
		answer, err = s.append(records(int(max(arg(1), 1)), s.now, strings.Repeat("x", int(arg(2)))))
	case "produce", "txn": // producer, records
		pid := arg(1)
		b := produced(pid, 0, s.seqs[pid], int(max(arg(2), 1)), words[0] == "txn", s.now)
		s.seqs[pid] += b.Count()
		answer, err = s.append(b)
	case "commit", "abort": // producer
		answer, err = s.append(marker(arg(1), 0, words[0] == "commit", s.now))
	case "read": // offset, bytes
		answer, err = s.read(arg(1), int(arg(2)))
	case "hw":
		answer = fmt.Sprintln("changed", s.log.SetHighWatermark(arg(1)))
	case "epoch":
		s.epoch = int32(arg(1))
		s.log.AssignEpoch(s.epoch)
	case "flush":
		err = s.log.Flush()
	case "truncate":
		err = s.log.Truncate(arg(1))
	case "restart-at":
		err = s.log.TruncateFully(arg(1))
	case "advance":
		err = s.log.AdvanceStart(arg(1))
	case "retain": // retention.bytes
		s.cfg.RetentionBytes = arg(1)
		s.log.SetConfig(s.cfg)
		n, e := s.log.Retain(s.now)
		answer, err = fmt.Sprintln("removed", n), e
	case "maintain": // seconds later
		s.now = s.now.Add(time.Duration(arg(1)) * time.Second)
		err = s.store.Maintain(s.now)
	case "aborted": // from, up to
		list, e := s.log.Aborted(arg(1), arg(2))
		answer, err = fmt.Sprintln(list), e
	case "close":
		err = s.store.Close(1)
	case "kill":
		s.disk = s.disk.Crash(rand.New(rand.NewPCG(1, 1)), vfs.CrashKeepAll)
	case "power-cut":
		s.disk = s.disk.Crash(rand.New(rand.NewPCG(1, 1)), vfs.CrashLoseAll)
	case "open":
		s.fs = vfs.NewFault(s.disk)
		s.fs.StartTrace(dataDir)
		keep := s.fs
		s.store, s.log = openLog(s.t, keep, s.cfg)
	case "state":
		answer = s.state()
	default:
		s.t.Fatalf("unknown command %v", words)
	}
	if err != nil {
		answer += fmt.Sprintln("error:", err)
	}
	return answer
}

func (s *script) append(b batch.Batch) (string, error) {
	o := producer.Client
	if b.Control() {
		o = producer.Coordinator
	}
	a, err := s.log.Append(s.now, b, s.epoch, o)
	return fmt.Sprintf("offsets %d to %d, %d bytes\n", a.Base, a.Last, len(b)), err
}

func (s *script) read(from int64, maxBytes int) (string, error) {
	span, err := s.log.Read(from, maxBytes, s.log.End(), true)
	if err != nil {
		return "", err
	}
	defer span.Release()
	buf := make([]byte, span.Len())
	if err := span.Copy(buf); err != nil {
		return "", err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%d bytes of segment %d at %d:", len(buf), span.Mark().Segment, span.Mark().Position)
	for rest := buf; len(rest) > 0; {
		b, after, err := batch.Next(rest)
		if err != nil {
			fmt.Fprintf(&out, " and %d bytes", len(rest))
			break
		}
		fmt.Fprintf(&out, " [%d, %d)", b.BaseOffset(), b.NextOffset())
		rest = after
	}
	return out.String() + "\n", nil
}

func (s *script) state() string {
	l, st := s.log, s.log.state.Load()
	var out strings.Builder
	fmt.Fprintf(&out, "start %d stable %d high watermark %d end %d flushed %d\n", st.start, st.stable.Offset, st.hw.Offset, st.end.Offset, l.Flushed())
	for _, seg := range st.segments {
		fmt.Fprintf(&out, "segment %d: %d bytes\n", seg.Base(), seg.Size())
	}
	for _, e := range l.mu.epochs {
		fmt.Fprintf(&out, "epoch %d from %d\n", e.Epoch, e.Start)
	}
	for _, p := range l.Producers() {
		fmt.Fprintf(&out, "producer %d: sequence %d at offset %d, transaction from %d\n", p.ProducerID, p.LastSequence, p.LastOffset, p.TxnFirst)
	}
	return out.String()
}
